"""Predicted against actual: is each group assigned, and each topic placed, as Kafka would?

A group's assignment is what is ``expected`` of up to two questions:

============== ========================================================================================================
replay         classic groups: what the leader computed from what the members sent when they joined, perhaps without knowing
               a topic's newest partitions yet; by the assignor of each library that may lead the group
steady         what the next rebalance would give the same members; it moves nothing if Kafka has computed the assignment
============== ========================================================================================================

Groups of Kafka Connect are checked by ``connect.verification``.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Final, Literal

import pyarrow as pa

from service.core.budget import Budget
from service.core.documents import Json
from service.core.errors import AllocatorError, InvalidQuestion
from service.core.model import Cluster, Ragged
from service.core.printable import counted
from service.decisions.groups.answer import MAX_DIFFERENCES, GroupComparison, answer
from service.decisions.groups.question import GroupQuestion, of_rows
from service.decisions.groups.tables import difference_rows
from service.decisions.placements.answer import BROKER, PLACEMENT, read_cluster, read_placement
from service.descriptions.bodies import group_assignment, picked, placement_audit, with_lag
from service.descriptions.leaders import Leader, clients_of, leader_of
from service.descriptions.model import Description
from service.descriptions.subscriptions import rows_of
from service.live.connect import check_connect_group
from service.live.findings import Finding
from service.planner.placement_audits import audit, history
from service.strategies import GROUP_PROTOCOLS, PLACERS, REMOTE
from service.wire.connect_protocol import CONNECT

OLDER_TOPICS: Final = 6
"""Topics of which both the current and an older partition count are tried: as many as the service has combinations for."""
PLACERS_OF_KAFKA: Final = ("striped", "rack-aware", "rack-unaware")
"""What Kafka places topics by: the controller's first, then those of earlier clusters with ZooKeeper."""
_WHO: Final = ("member_id", "instance_id", "rack_id", "topic_names")


def check_groups(snapshot: Json, group_ids: Sequence[str]) -> Iterator[Finding]:
    """A finding for each group with members, and for each that is named. group_ids : those to check; none of them means all"""
    description = Description.of_snapshot(snapshot)
    counts = {topic["topic_name"]: topic["partitions_count"] for topic in snapshot["topics"]}
    for group in snapshot["groups"]:
        if group_ids and group["group_id"] not in group_ids:
            continue
        reason = _why_not_checked(group)
        if reason is None and not group["members"] and group_ids:
            reason = "It has no members."
        if reason is None and group["members"]:
            try:
                is_connect = group["group_protocol"] == CONNECT
                yield check_connect_group(group) if is_connect else _check_group(group, description, counts)
            except AllocatorError as refusal:
                reason = str(refusal)
        if reason is not None:
            yield Finding("group", group["group_id"], group.get("assignor", ""), "not_checked", reason)


def missing(snapshot: Json, kind: Literal["group", "topic"], names: Sequence[str]) -> Iterator[Finding]:
    """A finding for each name that the snapshot has no group or topic of, with the reason in ``not_known``."""
    part, key = f"{kind}s", "group_id" if kind == "group" else "topic_name"
    there = {entry[key] for entry in snapshot[part]}
    for name in dict.fromkeys(names):
        if name not in there:
            entries = [entry for entry in snapshot.get("not_known", ()) if entry["field"] in (part, f"{part}[]")]
            reasons = [entry["reason"] for entry in entries if name in entry.get("names", (name,))]
            yield Finding(kind, name, "", "not_checked", "; ".join(reasons) or f"The snapshot has no such {kind}.")


def check_topics(snapshot: Json, topic_names: Sequence[str]) -> Iterator[Finding]:
    """A finding for each topic: could Kafka have placed it this way? topic_names : those to check; none of them means all"""
    description, cluster = Description("snapshot", tuple(snapshot["brokers"])), None
    for topic in snapshot["topics"]:
        name = topic["topic_name"]
        if topic_names and name not in topic_names:
            continue
        try:
            body = placement_audit(replace(description, topics=(topic,)), name)
        except InvalidQuestion as refusal:
            yield Finding("topic", name, PLACERS_OF_KAFKA[0], "not_checked", str(refusal))
            continue
        if cluster is None:
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
            return Finding("topic", name, placer, "alike", f"the placer can draw it if it was {history(result.other_history)}")
    broken = audits[0].broken_rule
    return Finding("topic", name, PLACERS_OF_KAFKA[0], "differs", f"{broken.rule}: {broken.detail}" if broken else "")


def _why_not_checked(group: Json) -> str | None:
    protocol, members, epoch = group["group_protocol"], group.get("members"), group.get("assignment_epoch")
    if protocol not in (*GROUP_PROTOCOLS, CONNECT):
        return f"Groups of the {protocol} protocol are not checked."
    if members is None:
        state = group.get("group_state")
        return f"Its members are not known; its state is {state}." if state else "Its members are not known."
    reasons = {
        "Its assignor is not known.": members and "assignor" not in group,
        f"The coordinator has not assigned epoch {group.get('group_epoch')} yet.": group.get("group_epoch") != epoch,
        "The coordinator does not know the group's topics yet.": protocol == "consumer" and group.get("metadata_hash") == 0,
    }
    if protocol == "share":
        # Brokers describe what each member of a share group has, not its target: until its next heartbeat, the old assignment.
        behind = sum(member.get("member_epoch", epoch) != epoch for member in members)
        members_behind = counted(behind, "member does", "members do")
        reasons[f"{members_behind} not have the assignment of epoch {epoch} yet."] = behind > 0
    return next((reason for reason, holds in reasons.items() if holds), None)


def _check_group(group: Json, description: Description, counts: dict[str, int]) -> Finding:
    """By the assignor of each library that may lead the group, until one explains the assignment.

    counts : the partitions of each topic
    """
    leader, refusals, findings = leader_of(group), list[AllocatorError](), list[Finding]()
    for client in leader.candidates if leader else (None,):
        release = leader.release if leader and client == leader.client else None
        steady = group_assignment(description, group["group_id"], client=client, client_version=release)
        try:
            finding = _check_as(group, steady, counts)
            if finding.verdict == "differs" and group["assignor"] in REMOTE:
                finding = _check_weighed(group, steady, description) or finding
        except AllocatorError as refusal:  # that library fails on this group
            refusals.append(refusal)
            continue
        findings.append(replace(finding, by=group["assignor"] if client in (None, "java") else f"{client}:{group['assignor']}"))
        if finding.verdict != "differs":
            break
    if not findings:
        raise refusals[0]
    last = findings[-1] if findings[-1].verdict != "differs" else findings[0]
    return replace(last, reason="; ".join((last.reason, *_who_assigns(group, leader))))


def _who_assigns(group: Json, leader: Leader | None) -> Iterator[str]:
    """Which library leads a classic group, unless Kafka's own surely does; and what follows if its members use several."""
    if leader is None:
        return
    if leader.client != "java" or leader.release or (len(leader.candidates) > 1 and leader.because):
        yield leader.sentence
    clients = clients_of(group)
    if len(clients) < 2:
        return
    yield f"its members use {' and '.join(sorted(clients))}, and each would assign the group differently as its leader"
    refusing = [client for client in ("kafka-python", "librdkafka") if client in clients]
    if refusing and group["assignor"] in ("range", "roundrobin"):  # both have these, which are eager
        refuse = f"{' and '.join(refusing)} {'refuse' if refusing[1:] else 'refuses'} lists of eager and cooperative assignors"
        yield f"as {refuse}, it cannot change to cooperative-sticky by restarts"


def _check_as(group: Json, steady: Json, counts: dict[str, int]) -> Finding:
    """By one library's assignor. steady : the body for the next rebalance"""
    expected = _expected(group)
    classic, (owned, _) = group["group_protocol"] == "classic", rows_of(group)
    question = of_rows(**steady, expected=expected)
    comparisons = []
    if classic:
        joining = of_rows(**{**steady, "members": [_joining_member(member) for member in group["members"]]}, expected=expected)
        comparisons.append(_compared(replace(joining, counts=_candidates(steady, owned))))
        if not len(comparisons[0].differences):
            return _alike(group, comparisons[0], _leader_view(comparisons[0].counts, counts))
    elif group["group_protocol"] == "share":
        waiting = sum(topic["partitions_count"] - len(owned.get(topic["topic_name"], ())) for topic in steady["topics"])
        if waiting > 0:
            partitions = counted(waiting, "partition has", "partitions have")
            reason = f"{partitions} no member yet; a share group assigns a partition once its state is initialized"
            return Finding("group", group["group_id"], group["assignor"], "not_checked", reason)
    comparisons.append(_compared(question))
    if not len(comparisons[-1].differences):
        reason = "; ".join(filter(None, (_progress(group), "the next rebalance would move nothing")))
        return _alike(group, comparisons[-1], reason)
    return _differs(group, comparisons[0])


def _check_weighed(group: Json, steady: Json, description: Description) -> Finding | None:
    """Alike, if the next rebalance of ``RemoteAssignor`` would move nothing where partitions weigh their lag and 1."""
    topics = with_lag(steady["topics"], description, group["group_id"])
    for topic in topics:
        if "lag" not in topic:
            return None
        ends = topic["lag"]["log_end_offsets"]
        topic["lag"] = {**topic["lag"], "log_end_offsets": [end if end is None else end + 1 for end in ends]}
    comparison = _compared(of_rows(**{**steady, "topics": topics}, expected=_expected(group)))
    if len(comparison.differences):
        return None
    return _alike(group, comparison, "by consumer lag, the next rebalance would move nothing")


def _compared(question: GroupQuestion) -> GroupComparison:
    """How the group's next assignment differs from the one that it has."""
    comparison = answer(question, Budget()).comparison
    if comparison is None:
        raise TypeError("the question expects no assignment")
    return comparison


def _joining_member(member: Json) -> Json:
    """The member as it joined, before the assignment that it has now."""
    sent = member.get("subscription", {})  # other tools' snapshots may lack it
    return picked(member, _WHO) | picked(sent, ("owned_partitions", "generation_id"))


def _expected(group: Json) -> list[Json]:
    """The assignment that the group has."""
    return [{"member_id": each["member_id"], "partitions": each["owned_partitions"]} for each in group["members"]]


def _candidates(steady: Json, owned: dict[str, set[int]]) -> tuple[dict[str, int], ...]:
    """Where no member owns a topic's last partitions, its count and that of those before, which the leader may have seen."""
    lists: dict[str, list[int]] = {}
    for topic in steady["topics"]:
        known_count, count = max(owned.get(topic["topic_name"], ()), default=-1) + 1, topic["partitions_count"]
        if 0 < known_count < count:
            lists[topic["topic_name"]] = [count, known_count] if len(lists) < OLDER_TOPICS else [known_count]
    return tuple(dict(zip(lists, counts, strict=True)) for counts in product(*lists.values()))


def _leader_view(tried: dict[str, int], counts: dict[str, int]) -> str:
    older = ", ".join(
        f"{count} of {counted(counts[name], 'partition')} of {name}" for name, count in tried.items() if count < counts[name]
    )
    return f"as its leader computed it when it knew {older}" if older else "as its leader computed it"


def _alike(group: Json, comparison: GroupComparison, reason: str) -> Finding:
    if comparison.left_open:
        reason += f", as far as it does not leave to chance who gets {counted(comparison.left_open, 'partition')}"
    return Finding("group", group["group_id"], group["assignor"], "alike", reason)


def _progress(group: Json) -> str:
    """How far the members of a consumer or share group have come to their target."""
    behind = sum(
        member.get("assigned_partitions", member["owned_partitions"]) != member["owned_partitions"] for member in group["members"]
    )
    return f"{counted(behind, 'member has', 'members have')} not reached the target yet" if behind else ""


def _differs(group: Json, comparison: GroupComparison) -> Finding:
    rows = difference_rows(comparison.expected, comparison.differences, MAX_DIFFERENCES)
    differences = [{**row, "member_ids": row["expected_member_ids"], "expected_member_ids": row["member_ids"]} for row in rows]
    count = len(comparison.differences)
    return Finding("group", group["group_id"], group["assignor"], "differs", _why(group), count, differences)


def _why(group: Json) -> str:
    """The likeliest reason why a group is not assigned as Kafka would."""
    if group["group_protocol"] != "classic":
        return _progress(group) or "the next rebalance would move partitions"
    old = [member["member_id"] for member in group["members"] if member.get("subscription", {}).get("version", 1) < 1]
    if old:
        return f"{counted(len(old), 'member sends', 'members send')} an old subscription, without owned partitions"
    if group["assignor"] in REMOTE:
        return "neither by numbers nor by consumer lag as computed now; its leader may have had other lags, or no answer"
    return "not as the assignor of this name computes it"
