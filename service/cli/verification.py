"""Predicted against actual: is each group assigned, and each topic placed, as Kafka would?

A group is asked about in up to three ways, and is alike if one of them gives its assignment:

============== ========================================================================================================
replay         classic groups: what the leader computed from what the members sent when they joined
steady         what the next rebalance would give the same members; it moves nothing if Kafka has computed the assignment
older topics   replay, if the leader did not know a topic's newest partitions yet
============== ========================================================================================================
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal

from service.cli.local_client import Refused

Json = dict[str, Any]
Ask = Callable[[str, Json], Json]
"""Posts a body to a path and gives the answer; raises Refused."""

Verdict = Literal["alike", "differs", "not_checked"]
Owners = dict[tuple[str, int], tuple[str, ...]]
"""(topic_name, partition_id) → the members that own it, sorted; only a share group's partition has more than one"""

LISTED: Final = 20
"""Differences that a finding lists."""
JAVA_ASSIGNMENT: Final = 3
"""The version of the assignments that Kafka's own client writes since 3.5."""
_BODY_MEMBER: Final = ("member_id", "instance_id", "rack_id", "topic_names")


@dataclass(frozen=True)
class Finding:
    """The outcome for one group or topic.

    kind : "group", "topic" or "keys"
    by : the assignor, the placer or the partitioner
    differences : the first LISTED of them, of differences_count
    """

    kind: str
    name: str
    by: str
    verdict: Verdict
    reason: str
    differences_count: int = 0
    differences: list[Json] = field(default_factory=list)

    def document(self) -> Json:
        """The finding as JSON."""
        return asdict(self)


def check_groups(snapshot: Json, ask: Ask) -> Iterator[Finding]:
    """A finding for each group with members."""
    topics = {topic["topic_name"]: topic for topic in snapshot["topics"]}
    racks = {broker["broker_id"]: broker.get("rack_id") for broker in snapshot["brokers"]}
    for group in snapshot["groups"]:
        reason = _why_not_checked(group, topics)
        if reason is not None:
            yield Finding("group", group["group_id"], group.get("assignor", ""), "not_checked", reason)
        elif group["members"]:
            try:
                yield _check_group(group, topics, racks, ask)
            except Refused as refusal:
                yield Finding("group", group["group_id"], group["assignor"], "not_checked", str(refusal))


def _why_not_checked(group: Json, topics: dict[str, Json]) -> str | None:
    if "members" not in group:
        state = group.get("group_state")
        return f"Its members are not known; its state is {state}." if state else "Its members are not known."
    if group["members"] and "assignor" not in group:
        return "Its assignor is not known."
    if group.get("group_epoch") != group.get("assignment_epoch"):
        return f"The coordinator has not assigned epoch {group['group_epoch']} yet."
    if group.get("metadata_hash") == 0 and group["group_protocol"] == "consumer":
        return "The coordinator does not know the group's topics yet."
    subscribed = {name for member in group["members"] for name in member["topic_names"]}
    if group["members"] and not subscribed & topics.keys():
        return "None of its topics is in the snapshot."
    return None


def _check_group(group: Json, topics: dict[str, Json], racks: dict[int, str | None], ask: Ask) -> Finding:
    actual = owners(group["members"])
    counts = {name: topic["partitions_count"] for name, topic in topics.items()}
    steady = group_body(group, topics, racks)
    classic = group["group_protocol"] == "classic"
    expected: Owners = {}
    if classic:
        replay = steady | {"members": [_joining_member(member) for member in group["members"]]}
        expected = _predicted(replay, ask)
        if expected == actual:
            return _alike(group, "as its leader computed it")
    at_rest = _predicted(steady, ask)
    if at_rest == actual:
        return _alike(
            group, "; ".join(filter(None, (_progress(group), "the next rebalance would move nothing", _foreign(group))))
        )
    if classic:
        older = _older_counts(actual, counts)
        if older and _predicted(replay | {"topics": _with_counts(replay["topics"], older)}, ask) == actual:
            seen = ", ".join(f"{count} of {counts[name]} partitions of {name}" for name, count in older.items())
            return _alike(group, f"as its leader computed it when it knew {seen}")
    return _differs(group, actual, expected if classic else at_rest)


def group_body(group: Json, topics: dict[str, Json], racks: dict[int, str | None]) -> Json:
    """The body of ``POST /v1/group-assignments`` for the next rebalance of a group."""
    names = sorted({name for member in group["members"] for name in member["topic_names"]} & topics.keys())
    with_racks = any(member.get("rack_id") for member in group["members"]) and any(racks.values())
    return {
        "group_protocol": group["group_protocol"],
        "assignor": group["assignor"],
        "topics": [_body_topic(topics[name], racks if with_racks else {}) for name in names],
        "members": [_body_member(member, member["owned_partitions"], group.get("generation_id")) for member in group["members"]],
    }


def _body_topic(topic: Json, racks: dict[int, str | None]) -> Json:
    body: Json = {name: topic[name] for name in ("topic_name", "topic_id", "partitions_count") if name in topic}
    if racks:
        body["partition_racks"] = [
            [rack for broker in placement["replicas"] if (rack := racks.get(broker)) is not None]
            for placement in topic["placements"]
        ]
    return body


def _body_member(member: Json, owned: list[Json], generation_id: int | None) -> Json:
    body = {name: member[name] for name in _BODY_MEMBER if member.get(name) is not None}
    return body | {"owned_partitions": owned} | ({} if generation_id is None else {"generation_id": generation_id})


def _joining_member(member: Json) -> Json:
    """The member as it joined, before the assignment that it has now."""
    sent = member["subscription"]
    return _body_member(member, sent["owned_partitions"], sent.get("generation_id"))


def _with_counts(topics: Sequence[Json], counts: dict[str, int]) -> list[Json]:
    changed = []
    for topic in topics:
        count = counts.get(topic["topic_name"], topic["partitions_count"])
        racks = {"partition_racks": topic["partition_racks"][:count]} if "partition_racks" in topic else {}
        changed.append(topic | {"partitions_count": count} | racks)
    return changed


def _older_counts(actual: Owners, counts: dict[str, int]) -> dict[str, int]:
    """Topics whose last partitions nobody owns, with the number of those before."""
    owned: Counter[str] = Counter()
    for topic_name, partition_id in actual:
        owned[topic_name] = max(owned[topic_name], partition_id + 1)
    return {name: count for name, count in owned.items() if count < counts.get(name, 0)}


def owners(assignments: Sequence[Json]) -> Owners:
    """Who owns each partition. assignments : a snapshot's members, or the ``assignments`` of an answer"""
    members: dict[tuple[str, int], list[str]] = {}
    for one in assignments:
        for part in one["partitions"] if "partitions" in one else one["owned_partitions"]:
            for partition_id in part["partition_ids"]:
                members.setdefault((part["topic_name"], partition_id), []).append(one["member_id"])
    return {partition: tuple(sorted(ids)) for partition, ids in members.items()}


def _predicted(body: Json, ask: Ask) -> Owners:
    return owners(ask("/v1/group-assignments", body)["assignments"])


def _alike(group: Json, reason: str) -> Finding:
    return Finding("group", group["group_id"], group["assignor"], "alike", reason)


def _progress(group: Json) -> str:
    """How far the members of a consumer or share group have come to their target."""
    behind = sum(
        member.get("assigned_partitions", member["owned_partitions"]) != member["owned_partitions"] for member in group["members"]
    )
    return f"{behind} members have not reached their target yet" if behind else ""


def _foreign(group: Json) -> str:
    """Who has assigned a classic group, if not Kafka's own client."""
    version = group.get("assignment_version", JAVA_ASSIGNMENT)
    if version >= JAVA_ASSIGNMENT:
        return ""
    return f"its leader is not Kafka's own client (it wrote version {version}), but librdkafka or another with its own assignors"


def _differs(group: Json, actual: Owners, expected: Owners) -> Finding:
    differing = sorted(
        partition for partition in actual.keys() | expected.keys() if actual.get(partition) != expected.get(partition)
    )
    rows = [
        {
            "topic_name": topic_name,
            "partition_id": partition_id,
            "member_ids": list(actual.get((topic_name, partition_id), ())),
            "expected_member_ids": list(expected.get((topic_name, partition_id), ())),
        }
        for topic_name, partition_id in differing[:LISTED]
    ]
    return Finding("group", group["group_id"], group["assignor"], "differs", _why(group), len(differing), rows)


def _why(group: Json) -> str:
    """The likeliest reason why a group is not assigned as Kafka would."""
    if group["group_protocol"] != "classic":
        return _progress(group) or "the next rebalance would move partitions"
    if _foreign(group):
        return _foreign(group)
    old = [member["member_id"] for member in group["members"] if member["subscription"]["version"] < 1]
    if old:
        return f"{len(old)} members send an old subscription, without the partitions that they own"
    return "not as the assignor of this name computes it"
