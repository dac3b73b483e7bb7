"""kafka-go's balancers in plain Python, on the body of a request."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

from tests.reference.clients.librdkafka import Answer, Body, subscribes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def by_topic(body: Body) -> Iterator[tuple[str, int, list[str]]]:
    """Each topic's name, number of partitions, and subscribers in the order of their member_ids."""
    for topic in body["topics"]:
        members = sorted(member["member_id"] for member in body["members"] if subscribes(member, topic))
        yield topic["topic_name"], topic["partitions_count"], members


def range_(body: Body) -> Answer:
    """RangeGroupBalancer.AssignGroups."""
    answer: Answer = {member["member_id"]: [] for member in body["members"]}
    for topic, count, members in by_topic(body):
        for i, member in enumerate(members):
            answer[member] += [(topic, id_) for id_ in range(i * count // len(members), (i + 1) * count // len(members))]
    return answer


def roundrobin(body: Body) -> Answer:
    """RoundRobinGroupBalancer.AssignGroups."""
    answer: Answer = {member["member_id"]: [] for member in body["members"]}
    for topic, count, members in by_topic(body):
        for i, member in enumerate(members):
            answer[member] += [(topic, id_) for id_ in range(i, count, len(members))]
    return answer


def rack_affinity(body: Body) -> Answer:
    """RackAffinityGroupBalancer.AssignGroups: what all orders of the racks have in common."""
    answer: Answer = {member["member_id"]: [] for member in body["members"]}
    for topic in body["topics"]:
        members = {m["member_id"]: m.get("rack_id") or "" for m in body["members"] if subscribes(m, topic)}
        leaders = [(replicas or [""])[0] for replicas in topic.get("partition_racks") or [[]] * topic["partitions_count"]]
        racks = sorted(set(leaders))
        for member in members:
            runs = [
                run[member]
                for first in permutations(racks)
                for second in permutations(racks)
                for run in [one_topic(members, leaders, first, second)]
            ]
            answer[member] += [(topic["topic_name"], i) for i in sorted(set(runs[0]).intersection(*runs))]
    return answer


def one_topic(members: dict[str, str], leaders: list[str], first: Sequence[str], second: Sequence[str]) -> dict[str, list[int]]:
    """One topic (assignTopic).

    members : member_id → rack; leaders : the rack of each partition; first, second : the racks in Go's orders
    """
    target, remainder = divmod(len(leaders), len(members))
    given: dict[str, list[int]] = {member: [] for member in members}
    left = {rack: [i for i, leader in enumerate(leaders) if leader == rack] for rack in first}
    for rack in first:
        here = [member for member, of_member in members.items() if of_member == rack]
        if not here:
            continue
        each = min(len(left[rack]) // len(here), target)
        for member in here:
            given[member] += left[rack][:each]
            del left[rack][:each]
        more = len(left[rack])
        if each == target:
            more = min(more, remainder, len(here))
            remainder -= more
        for i in range(more):
            given[here[i]].append(left[rack][i])
        del left[rack][:more]
    remaining = [i for rack in second for i in left[rack]]
    for member, ids in given.items():
        lacking = target - len(ids)
        if lacking >= 0 and remainder > 0:
            lacking, remainder = lacking + 1, remainder - 1
        given[member] = ids + remaining[: max(0, lacking)]
        del remaining[: max(0, lacking)]
    return given
