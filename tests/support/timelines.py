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
    for record in document["records"]:
        record["name"] = record["name"].replace("SHARE_GROUP", "CONSUMER_GROUP")
    return document


def client_of(recorded: Document, member_id: str) -> str:
    """The client that had this member id."""
    return next((name for name, ids in recorded["member_ids"].items() if member_id in ids), member_id)


def question(recorded: Document) -> Document:
    """The request, with the recorded ids, and each member joining, leaving and returning when it did.

    A client needs some time to start and to close. Without it the events would come at other times than the broker saw them.
    """
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
    if request["group_protocol"] == "share":  # SimpleAssignor's order of partitions hangs on the topic's id
        request["topics"][0]["topic_id"] = next(iter(_topic_names(recorded)))
    changes = [one for event in request["events"] for one in _as_it_was(event, recorded)]
    events = [{**event, "at_ms": event["at_ms"] - start} for event in changes]
    timing = {
        "poll_interval_ms": 0,
        **request["timing"],
    }  # the recorded clients poll all the time, unless the recording says more
    return {**request, "members": [], "events": [*joins, *events], "timing": timing, "detail": "assignments"}


def _as_it_was(event: Document, recorded: Document) -> list[Document]:
    """An event with the recorded ids and times; a rolling restart becomes one restart after the other."""
    ids, joined = recorded["member_ids"], _first_joins(recorded)
    if "member" in event:
        member_id = ids[event["member"]["member_id"]][0]
        return [{**event, "at_ms": joined[member_id], "member": {**event["member"], "member_id": member_id}}]
    if event["type"] == "rolling_restart":
        step = event["down_ms"] + event["pause_ms"]
        return [_restart(recorded, name, event["at_ms"] + i * step) for i, name in enumerate(ids)]
    if event["type"] == "member_restarts":
        return [_restart(recorded, event["member_id"], event["at_ms"])]
    if event["type"] == "assignor_changes":
        restarts = max(map(len, ids.values()))
        new_ids = [own[i] for i in range(1, restarts) for own in ids.values()]
        return [{**event, **_bounces(recorded), "new_member_ids": new_ids}]
    if "member_id" in event:
        member_id = ids[event["member_id"]][0]
        at_ms = _departures(recorded).get(member_id) if event["type"] == "member_leaves" else None
        return [{**event, "at_ms": at_ms or event["at_ms"], "member_id": member_id}]
    return [event]


def _restart(recorded: Document, name: str, at_ms: int) -> Document:
    """A restart as it was. at_ms : when a member leaves that tells nobody"""
    own = recorded["member_ids"][name]
    left = _departures(recorded).get(own[0], at_ms)
    down_ms = _starts(recorded)[name][1] - left
    return {"at_ms": left, "type": "member_restarts", "member_id": own[0], "down_ms": down_ms, "new_member_id": own[1]}


def _bounces(recorded: Document) -> dict[str, int]:
    """When the bounces began, and how long members were away and up on average."""
    departures = [at_ms for at_ms, _ in recorded.get("stops", ())] or sorted(_departures(recorded).values())
    left = [at for at in departures if at >= recorded["request"]["events"][0]["at_ms"]]
    back = sorted(at for own in _starts(recorded).values() for at in own[1:])
    left = left[: len(back)]
    away = sum(back) - sum(left)
    up = sum(left[1:]) - sum(back[:-1])
    return {"at_ms": left[0], "down_ms": round(away / len(back)), "pause_ms": round(up / (len(back) - 1))}


def _departures(recorded: Document) -> dict[str, int]:
    """When each member id left, of those that said so."""
    pattern = r"[Mm]ember (\S+) (?:with instance id \S+ )?(?:has left group through|left the (?:consumer|share)|temporarily left)"
    found = ((at_ms, re.search(pattern, line)) for at_ms, line in recorded["log"])
    return {one.group(1): at_ms for at_ms, one in found if one}


def _starts(recorded: Document) -> dict[str, list[int]]:
    """When each client sent the first request to its coordinator after each start."""
    starts: dict[str, list[int]] = {}
    begins: set[str] = set()
    for at_ms, api, client, _, _ in recorded["requests"]:
        if api == "FindCoordinator":
            begins.add(client)
        elif client in begins and api in ("JoinGroup", "ConsumerGroupHeartbeat", "ShareGroupHeartbeat"):
            begins.remove(client)
            starts.setdefault(client, []).append(at_ms)
    return starts


def _first_joins(recorded: Document) -> dict[str, int]:
    """When each member id first joined, by the broker's log."""
    joined: dict[str, int] = {}
    pattern = (
        r"(?:Pending dynamic member with id (\S+) joins"
        r"|[Mm]ember (\S+) (?:with instance id \S+ )?joins the (?:consumer|share)"
        r"|new member id (\S+) for this)"
    )
    for at_ms, line in recorded["log"]:
        found = re.search(pattern, line)
        if found:
            joined.setdefault(next(group for group in found.groups() if group), at_ms)
    return joined


def steps(recorded: Document) -> list[Step]:
    """What the broker wrote: each generation with members, or each target assignment."""
    start = min(_first_joins(recorded).values())
    found: list[Step] = []
    raised_ms = 0
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
            began_ms = raised_ms if recorded["request"]["group_protocol"] == "share" else at_ms
            found.append(Step(began_ms, value["assignmentEpoch"], _by_client(recorded, target)))
        elif record["name"] == "CONSUMER_GROUP_METADATA":
            raised_ms = at_ms
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
    first = first_ids(answer)
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
        times = {one["state"]: one["at_ms"] for one in rebalance["states"][::-1]}
        at_ms = rebalance["stable_at_ms"] if classic else times.get("Reconciling", rebalance["at_ms"])
        if rows or not classic:
            found.append(Step(at_ms, rebalance["generation_id" if classic else "group_epoch"], rows))
    return found


def unnamed(step: Step, *, by_client: bool = True) -> Any:
    """A step's assignment without the topics' names, which records of target assignments lack."""
    rows = {client: sorted(i for _, i in parts) for client, parts in step.rows.items()}
    return rows if by_client else sorted(map(len, rows.values()))


def idle_times(recorded: Document) -> list[tuple[int, int]]:
    """When each partition got a member again, and how many ms it had none, by the members' assignments.

    A member of the consumer protocol that goes on has stopped to fetch what it revokes a poll before.
    """
    found: list[tuple[int, int]] = []
    free_since: dict[int, int] = {}
    has: dict[str, set[int]] = {}
    poll_ms = recorded["request"]["timing"]["poll_interval_ms"] * (recorded["request"]["group_protocol"] == "consumer")
    for at_ms, client, ids in recorded["reads"]:
        before, has[client] = has.get(client, set()), set(ids)
        for i in before - has[client]:
            free_since[i] = at_ms - (poll_ms if ids else 0)
        found += [(at_ms, at_ms - free_since[i]) for i in sorted(has[client] - before) if i in free_since]
    return found


BUMPS: Final = (
    r"(?<!re-)joins the (?:consumer|share)|(?<!temporarily )left the (?:consumer|share)|left group|fenced"
    r"|updated its subscribed topics"
)
"""The broker's log lines for what raises the epoch of a consumer group."""
SLOWEST_MS: Final = 500
"""More than a coordinator takes for one request."""
MODERN_STATES: Final = {"Assigning", "Reconciling", "Stable"}
CLASSIC_STATES: Final = {
    r"Preparing to rebalance group": "PreparingRebalance",
    r"Stabilized group": "CompletingRebalance",
    r"Assignment received from leader": "Stable",
    r"is now empty": "Empty",
}
"""The broker's log lines for the states that a classic group enters."""


def states(recorded: Document) -> list[tuple[int, str]]:
    """The states in which the group was for a while, by the broker's log and, in the consumer protocol, by its records."""
    start = min(_first_joins(recorded).values())
    found = [
        (at_ms - start, state)
        for at_ms, line in recorded["log"]
        for words, state in CLASSIC_STATES.items()
        if re.search(words, line)
    ]
    return lasting(found + [(at_ms - start, state) for at_ms, state in _consumer_states(recorded)])


def lasting(states: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """The states that lasted. The records of one request are written at once, though each by itself changes the state."""
    found: list[tuple[int, str]] = []
    for at_ms, state in states:
        if found and found[-1][0] == at_ms and {found[-1][1], state} <= MODERN_STATES:
            found.pop()
        if not found or found[-1][1] != state:
            found.append((at_ms, state))
    return found


def _consumer_state(members: dict[str, tuple[int, int]], epoch: int, target: int) -> str:
    """The group's state. members : of each its epoch, and its state, 0 if it has what it was assigned"""
    if not members:
        return "Empty"
    if epoch > target:
        return "Assigning"
    return "Stable" if all(one == (target, 0) for one in members.values()) else "Reconciling"


def _consumer_states(recorded: Document) -> list[tuple[int, str]]:
    """The same of a consumer group, after each record: ConsumerGroup.maybeUpdateGroupState."""
    members: dict[str, tuple[int, int]] = {}
    shares = recorded["request"]["group_protocol"] == "share"
    epoch = target = 0
    found: list[tuple[int, str]] = []
    for record in recorded["records"]:
        name, value = record["name"], record["value"]
        if not name.startswith("CONSUMER_GROUP"):
            continue
        if name == "CONSUMER_GROUP_METADATA" and value is not None:
            epoch = value["epoch"]
        elif name == "CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA" and value is not None:
            target = value["assignmentEpoch"]
        elif name == "CONSUMER_GROUP_MEMBER_METADATA":
            members.setdefault(record["memberId"], (0, 0))
            if value is None:
                del members[record["memberId"]]
        elif name == "CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT" and value is not None:
            members[record["memberId"]] = (value["memberEpoch"], value["state"])
        state = _consumer_state(members, epoch, target)
        if shares and members:
            state = "Stable"  # a share group has no other state with members: ShareGroup.maybeUpdateGroupState
        if state != (found[-1][1] if found else "Empty"):
            found.append((record["at_ms"], state))
    return found


def reasons(recorded: Document) -> list[str]:
    """Why each rebalance began, in the words of the broker's log, members by the names of their clients."""
    found: list[str] = []
    causes: list[tuple[int, str]] = []
    pending = ""
    for at_ms, line in recorded["log"]:
        text = re.sub(r"^(\[[^]]*\] )*", "", line)
        classic = re.search(r"\(reason: (.*)\)\.$", line)
        if classic:
            found.append(classic.group(1))
        elif re.search(BUMPS, text):
            causes.append((at_ms, text))
        elif "Bumped group epoch" in text:
            of_the_request = (cause for cause_ms, cause in causes if cause_ms > at_ms - SLOWEST_MS)
            pending = pending or next(of_the_request, text)
            causes = []
        elif "Computed a new target" in text:
            found.append(pending or causes[0][1])
            pending, causes = "", []
    return [by_names(recorded, text, {}) for text in found]


def by_names(recorded: Document, text: str, derived: dict[str, str]) -> str:
    """A reason with the clients' names for their members' ids. derived : the first id of those that the answer has made up

    Which of several members that revoke partitions begins the second rebalance is left to chance, and the hash of the topics'
    metadata hangs on their random ids.
    """
    for member_id, first in derived.items():
        text = text.replace(member_id, client_of(recorded, first))
    for name, ids in recorded["member_ids"].items():
        for member_id in ids:
            text = text.replace(member_id, name)
    text = re.sub(r".*(?=need to revoke partitions and re-join)", "", text)
    return re.sub(r" with metadata hash.*", "", text)


def requests(recorded: Document) -> dict[str, list[str]]:
    """The requests of each client with their errors, in order, but for heartbeats and requests for metadata.

    A client whose coordinator is still loading its partitions asks for it again; such requests in a row count once.
    """
    found: dict[str, list[str]] = {}
    for _, api, client, error, _ in recorded["requests"]:
        own = found.setdefault(client, [])
        if api not in ("Heartbeat", "Metadata") and not (api == "FindCoordinator" and own[-1:] == [api]):
            own.append(f"{api} {error}".strip())
    return found


def answered_requests(recorded: Document, answer: Document) -> dict[str, list[str]]:
    """The same of an answer."""
    derived = first_ids(answer)
    found: dict[str, list[str]] = {}
    rows = (one for rebalance in answer["rebalances"] for one in rebalance["requests"])
    for one in sorted(rows, key=lambda one: one["at_ms"]):
        client = client_of(recorded, derived.get(one["member_id"], one["member_id"]))
        found.setdefault(client, []).append(f"{one['request']} {one.get('error', '')}".strip())
    return found


def first_ids(answer: Document) -> dict[str, str]:
    """Of each id that the answer has made up, the first id of its client."""
    return {one["member_id"]: one["first_member_id"] for one in answer["derived_member_ids"]}


def answered_states(answer: Document) -> list[tuple[int, str]]:
    """The states of an answer that last."""
    return lasting([(one["at_ms"], one["state"]) for rebalance in answer["rebalances"] for one in rebalance["states"]])


def answered_reasons(recorded: Document, answer: Document) -> list[str]:
    """Why each rebalance of an answer began."""
    derived = first_ids(answer)
    return [by_names(recorded, rebalance["reason"], derived) for rebalance in answer["rebalances"]]
