"""librdkafka's assignors, written plainly: lists and dicts, a body in, ``member_id → [(topic_name, partition_id)]`` out."""

from __future__ import annotations

from collections import defaultdict
from functools import cmp_to_key
from typing import Any

Body = dict[str, Any]
Answer = dict[str, list[tuple[str, int]]]


def compare(one: Body, two: Body) -> int:
    """rd_kafka_group_member_cmp, which need not be an order."""
    both_static = one.get("instance_id") is not None and two.get("instance_id") is not None
    field = "instance_id" if both_static else "member_id"
    left, right = one[field].encode(), two[field].encode()
    return (left > right) - (left < right)


def qsort(members: list[Body]) -> list[Body]:
    """As glibc sorts: it merges halves."""
    if len(members) <= 1:
        return members
    first, second = qsort(members[: len(members) // 2]), qsort(members[len(members) // 2 :])
    merged = []
    while first and second:
        merged.append((first if compare(first[0], second[0]) <= 0 else second).pop(0))
    return merged + first + second


def comparison_is_order(members: list[Body]) -> bool:
    """Does every pair of the sorted members stand in order?"""
    in_order = sorted(members, key=cmp_to_key(compare))
    return all(compare(one, two) < 0 for i, one in enumerate(in_order) for two in in_order[i + 1 :])


def subscribes(member: Body, topic: Body) -> bool:
    """Does the member subscribe to the topic?"""
    return member.get("topic_names") is None or topic["topic_name"] in member["topic_names"]


def roundrobin(body: Body) -> Answer:
    """rd_kafka_roundrobin_assignor_assign_cb."""
    members = qsort(body["members"])
    answer: Answer = {member["member_id"]: [] for member in members}
    at = -1
    for topic in sorted(body["topics"], key=lambda topic: topic["topic_name"].encode("utf-16-be")):
        if any(subscribes(member, topic) for member in members):
            for partition_id in range(topic["partitions_count"]):
                at = (at + 1) % len(members)
                while not subscribes(members[at], topic):
                    at = (at + 1) % len(members)
                answer[members[at]["member_id"]].append((topic["topic_name"], partition_id))
    return answer


def range_(body: Body, *, racks: bool = True) -> Answer:
    """rd_kafka_range_assignor_assign_cb; racks : as since 2.3.0?"""
    answer: Answer = {member["member_id"]: [] for member in body["members"]}
    sets = defaultdict(list)
    for topic in body["topics"]:
        members = qsort([member for member in body["members"] if subscribes(member, topic)])
        if members:
            sets[(*(member["member_id"] for member in members), topic["partitions_count"])].append((topic, members))
    for together in sets.values():
        topics, members = [topic for topic, _ in together], together[0][1]
        owner: dict[int, str] = {}
        room = Room(members, topics[0]["partitions_count"])
        if racks and len(topics) > 1:
            assign_co_partitioned(owner, room, members, [of(topic) for topic in topics])
        elif racks and racks_matter(topics[0], members):
            assign_ranges(owner, room, members, of(topics[0]))
        assign_ranges(owner, room, members, None)
        for topic in topics:
            for partition_id, member_id in owner.items():
                answer[member_id].append((topic["topic_name"], partition_id))
    return answer


class Room:
    """How many more partitions of a topic each member may get."""

    def __init__(self, members: list[Body], partitions_count: int) -> None:
        self.partitions_count = partitions_count
        self.quota, self.extra = divmod(partitions_count, len(members))
        self.taken = dict.fromkeys((member["member_id"] for member in members), 0)

    def of(self, member: Body) -> int:
        """The member's room as it is now."""
        return self.quota + (self.extra > 0) - self.taken[member["member_id"]]

    def taken_by(self, member: Body) -> str:
        """One partition less of room; returns the member_id."""
        self.taken[member["member_id"]] += 1
        self.extra -= self.taken[member["member_id"]] > self.quota
        member_id: str = member["member_id"]
        return member_id


def of(topic: Body) -> list[set[str]]:
    """The racks of each partition."""
    return [{rack for rack in racks if rack} for racks in topic.get("partition_racks") or [[]] * topic["partitions_count"]]


def racks_matter(topic: Body, members: list[Body]) -> bool:
    """rd_kafka_use_rack_aware_assignment for one topic."""
    every = set().union(*of(topic))
    return bool(every & {member.get("rack_id") for member in members}) and any(racks != every for racks in of(topic))


def assign_co_partitioned(owner: dict[int, str], room: Room, members: list[Body], racks: list[list[set[str]]]) -> None:
    """rd_kafka_assign_co_partitioned. racks : topic by topic, of each partition"""
    for partition_id in range(room.partitions_count):
        for member in members:
            if member.get("rack_id") and all(member["rack_id"] in each[partition_id] for each in racks) and room.of(member) > 0:
                owner[partition_id] = room.taken_by(member)
                break


def assign_ranges(owner: dict[int, str], room: Room, members: list[Body], racks: list[set[str]] | None) -> None:
    """rd_kafka_assign_ranges. racks : of each partition; None: they do not count"""
    for member in members:
        most = room.of(member)
        free = [i for i in range(room.partitions_count) if i not in owner]
        if racks is not None and member.get("rack_id"):
            free = [i for i in free if member["rack_id"] in racks[i]]
        for partition_id in free[: max(0, most)]:
            owner[partition_id] = room.taken_by(member)
