"""Predicted against actual: is each group assigned, and each topic placed, as Kafka would?

A group is asked about in up to three ways, and is alike if one of them gives its assignment:

============== ========================================================================================================
replay         classic groups: what the leader computed from what the members sent when they joined
steady         what the next rebalance would give the same members; it moves nothing if Kafka has computed the assignment
older topics   replay, if the leader did not know a topic's newest partitions yet
============== ========================================================================================================
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, Literal

import pyarrow as pa

from service.arrow.clusters import BROKER, PLACEMENT, read_cluster, read_placement
from service.cli.local_client import Refused
from service.core.descriptions.bodies import group_assignment, picked, placement_audit
from service.core.descriptions.model import Description
from service.core.errors import InvalidQuestion
from service.core.model import Cluster, Ragged
from service.core.placement_audits.audit import audit
from service.core.placers import PLACERS

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
PLACERS_OF_KAFKA: Final = ("striped", "rack-aware", "rack-unaware")
"""What Kafka places topics by: the controller's first, then those of earlier clusters with ZooKeeper."""
_WHO: Final = ("member_id", "instance_id", "rack_id", "topic_names")


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


def check_groups(snapshot: Json, group_ids: Sequence[str], ask: Ask) -> Iterator[Finding]:
    """A finding for each group with members. group_ids : those to check; none of them means all"""
    description = Description("snapshot", *(tuple(snapshot[part]) for part in ("brokers", "topics", "groups")))
    counts = {topic["topic_name"]: topic["partitions_count"] for topic in snapshot["topics"]}
    for group in snapshot["groups"]:
        if group_ids and group["group_id"] not in group_ids:
            continue
        reason = _why_not_checked(group)
        if reason is None and group["members"]:
            try:
                yield _check_group(group, group_assignment(description, group["group_id"]), counts, ask)
            except (Refused, InvalidQuestion) as refusal:
                reason = str(refusal)
        if reason is not None:
            yield Finding("group", group["group_id"], group.get("assignor", ""), "not_checked", reason)


def check_topics(snapshot: Json, topic_names: Sequence[str]) -> Iterator[Finding]:
    """A finding for each topic: could Kafka have placed it so? topic_names : those to check; none of them means all"""
    description = Description("snapshot", tuple(snapshot["brokers"]))
    for topic in snapshot["topics"]:
        name = topic["topic_name"]
        if topic_names and name not in topic_names:
            continue
        try:
            body = placement_audit(replace(description, topics=(topic,)), name)
        except InvalidQuestion as refusal:
            yield Finding("topic", name, PLACERS_OF_KAFKA[0], "not_checked", str(refusal))
            continue
        cluster = read_cluster(pa.array(body["brokers"], BROKER))
        _, placement = read_placement(pa.array(body["placements"], PLACEMENT), cluster)
        yield _check_topic(name, cluster, placement)


def _check_topic(name: str, cluster: Cluster, placement: Ragged) -> Finding:
    audits = []
    for placer in PLACERS_OF_KAFKA:
        audits.append(audit(PLACERS[placer], cluster, placement, 0, ()))
        if audits[-1].broken_rule is None:
            return Finding("topic", name, placer, "alike", "the placer can draw it")
    for placer, result in zip(PLACERS_OF_KAFKA, audits, strict=True):
        if result.other_history:
            return Finding("topic", name, placer, "alike", "the placer can draw it, if partitions or brokers were added later")
    broken = audits[0].broken_rule
    return Finding("topic", name, PLACERS_OF_KAFKA[0], "differs", f"{broken.rule}: {broken.detail}" if broken else "")


def _why_not_checked(group: Json) -> str | None:
    if "members" not in group:
        state = group.get("group_state")
        return f"Its members are not known; its state is {state}." if state else "Its members are not known."
    if group["members"] and "assignor" not in group:
        return "Its assignor is not known."
    if group.get("group_epoch") != group.get("assignment_epoch"):
        return f"The coordinator has not assigned epoch {group['group_epoch']} yet."
    if group.get("metadata_hash") == 0 and group["group_protocol"] == "consumer":
        return "The coordinator does not know the group's topics yet."
    if group["group_protocol"] == "share":
        # Brokers describe what each member of a share group has, not its target: until its next heartbeat, the old assignment.
        epoch = group.get("assignment_epoch")
        behind = sum(member.get("member_epoch", epoch) != epoch for member in group["members"])
        if behind:
            return f"{behind} members do not have the assignment of epoch {epoch} yet."
    return None


def _check_group(group: Json, steady: Json, counts: dict[str, int], ask: Ask) -> Finding:
    """Steady : the body for the next rebalance; counts : the partitions of each topic"""
    actual = owners(group["members"])
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
    if group["group_protocol"] == "share" and at_rest.keys() - actual.keys():
        waiting = len(at_rest.keys() - actual.keys())
        reason = f"{waiting} partitions have no member yet; a share group assigns a partition once its state is initialized"
        return Finding("group", group["group_id"], group["assignor"], "not_checked", reason)
    if classic:
        older = _older_counts(actual, counts)
        if older and _predicted(replay | {"topics": _with_counts(replay["topics"], older)}, ask) == actual:
            seen = ", ".join(f"{count} of {counts[name]} partitions of {name}" for name, count in older.items())
            return _alike(group, f"as its leader computed it when it knew {seen}")
    return _differs(group, actual, expected if classic else at_rest)


def _joining_member(member: Json) -> Json:
    """The member as it joined, before the assignment that it has now."""
    sent = member["subscription"]
    return picked(member, _WHO) | picked(sent, ("owned_partitions", "generation_id"))


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
