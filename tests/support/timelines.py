"""Recorded timelines (``tests/vectors/timelines``) as questions, and what the broker did as what the answer must be."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

Document = dict[str, Any]
FOLDER: Final = Path(__file__).parents[1] / "vectors" / "timelines"
Rows = dict[str, list[tuple[str, int]]]
"""Of each client, what it is assigned: topic and partition id."""


@dataclass(frozen=True)
class Step:
    """A generation or target assignment, and when the broker wrote it."""

    at_ms: int
    epoch: int
    rows: Rows


def recording(name: str) -> Document:
    """A recording."""
    document: Document = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return document


def client_of(recorded: Document, member_id: str) -> str:
    """The client that had this member id."""
    return next((name for name, ids in recorded["member_ids"].items() if member_id in ids), member_id)


def question(recorded: Document) -> Document:
    """The request, with the recorded ids, and the first members joining when they did."""
    request = json.loads(json.dumps(recorded["request"]))
    ids = {name: list(own) for name, own in recorded["member_ids"].items()}
    joined = _first_joins(recorded)
    start = min(joined.values())
    own_topics = [topic["topic_name"] for topic in request["topics"]]
    joins = []
    for member in sorted(request["members"], key=lambda member: joined[ids[member["member_id"]][0]]):
        member_id = ids[member["member_id"]][0]
        joining = {"topic_names": own_topics, **member, "member_id": member_id}
        joins.append({"at_ms": joined[member_id] - start, "type": "member_joins", "member": joining})
    events = [_with_ids({**event, "at_ms": event["at_ms"] - start}, ids) for event in request["events"]]
    return {**request, "members": [], "events": [*joins, *(one for event in events for one in event)], "detail": "assignments"}


def _first_joins(recorded: Document) -> dict[str, int]:
    """When each member id first joined, by the broker's log."""
    joined: dict[str, int] = {}
    pattern = (
        r"(?:Pending dynamic member with id (\S+) joins"
        r"|[Mm]ember (\S+) (?:with instance id \S+ )?joins the consumer"
        r"|new member id (\S+) for this)"
    )
    for at_ms, line in recorded["log"]:
        found = re.search(pattern, line)
        if found:
            joined.setdefault(next(group for group in found.groups() if group), at_ms)
    return joined


def _with_ids(event: Document, ids: dict[str, list[str]]) -> list[Document]:
    """An event with the recorded ids; a rolling restart becomes one restart after the other."""
    if "member" in event:
        event = {**event, "member": {**event["member"], "member_id": ids[event["member"]["member_id"]][0]}}
    if event["type"] == "rolling_restart":
        step = event["down_ms"] + event["pause_ms"]
        return [
            {"at_ms": event["at_ms"] + i * step, "type": "member_restarts", "member_id": own[0], "down_ms": event["down_ms"]}
            | {"new_member_id": own[1]}
            for i, own in enumerate(ids.values())
        ]
    if "member_id" in event:
        own = ids[event["member_id"]]
        if event["type"] == "member_restarts":
            event = {**event, "new_member_id": own[1]}
        event = {**event, "member_id": own[0]}
    return [event]


def steps(recorded: Document) -> list[Step]:
    """What the broker wrote: each generation with members, or each target assignment."""
    start = min(_first_joins(recorded).values())
    found: list[Step] = []
    target: dict[str, list[tuple[str, int]]] = {}
    topics = _topic_names(recorded)
    for record in recorded["records"]:
        value, at_ms = record["value"], record["at_ms"] - start
        if record["name"] == "GROUP_METADATA" and value is not None and value["generation"] > 0 and value["members"]:
            rows = {m["member_id"]: sorted((t, i) for t, i in m["assignment"]) for m in value["members"]}
            if not found or found[-1].epoch != value["generation"]:
                found.append(Step(at_ms, value["generation"], _by_client(recorded, rows)))
        elif record["name"] == "CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER":
            target.pop(record["memberId"], None)
            if value is not None:
                parts = value["topicPartitions"]
                target[record["memberId"]] = sorted((topics[part["topicId"]], i) for part in parts for i in part["partitions"])
        elif record["name"] == "CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA" and value is not None:
            if found and found[-1].epoch >= value["assignmentEpoch"]:
                continue  # the group's conversion: its last generation becomes its target assignment
            found.append(Step(at_ms, value["assignmentEpoch"], _by_client(recorded, target)))
    return found


def _topic_names(recorded: Document) -> dict[str, str]:
    """Topic ids have no names in the records: the topics by the order in which their ids first appear there."""
    ids: dict[str, str] = {}
    for record in recorded["records"]:
        if record["name"] == "CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER" and record["value"] is not None:
            for part in record["value"]["topicPartitions"]:
                ids.setdefault(part["topicId"], f"T{len(ids)}")
    return ids


def _by_client(recorded: Document, rows: dict[str, list[tuple[str, int]]]) -> Rows:
    return {client_of(recorded, member_id): parts for member_id, parts in rows.items() if parts}


def answered(recorded: Document, answer: Document) -> list[Step]:
    """The same of an answer. A member id that was derived stands for the client whose first id it names."""
    first = {one["member_id"]: one["first_member_id"] for one in answer["derived_member_ids"]}
    found = []
    for rebalance in answer["rebalances"]:
        rows = {
            client_of(recorded, first.get(one["member_id"], one["member_id"])): sorted(
                (part["topic_name"], i) for part in one["partitions"] for i in part["partition_ids"]
            )
            for one in rebalance["assignments"]
            if one["partitions"]
        }
        classic = rebalance["group_protocol"] == "classic"
        times = {one["state"]: one["at_ms"] for one in rebalance["states"]}
        at_ms = rebalance["stable_at_ms"] if classic else times.get("Reconciling", rebalance["at_ms"])
        if rows or not classic:
            found.append(Step(at_ms, rebalance["generation_id" if classic else "group_epoch"], rows))
    return found


def unnamed(step: Step, *, by_client: bool = True) -> Any:
    """A step's assignment without the topics' names, which records of target assignments lack."""
    rows = {client: sorted(i for _, i in parts) for client, parts in step.rows.items()}
    return rows if by_client else sorted(map(len, rows.values()))
