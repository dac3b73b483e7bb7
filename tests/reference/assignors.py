"""Kafka's range and roundrobin in plain Python, on the body of a request, step by step as their description has it.

Each gives member_id → its (topic_name, partition_id). Slow, and meant to be read.
"""

from __future__ import annotations

from typing import Any

Body = dict[str, Any]
Given = dict[str, list[tuple[str, int]]]


def utf16(name: str) -> list[int]:
    """Java compares strings by these units."""
    units = name.encode("utf-16-be")
    return [256 * high + low for high, low in zip(units[::2], units[1::2], strict=True)]


def static_first(members: list[Body]) -> list[Body]:
    """Static members by instance_id, then the others by member_id."""
    static = [m for m in members if m.get("instance_id") is not None]
    dynamic = [m for m in members if m.get("instance_id") is None]
    return sorted(static, key=lambda m: utf16(m["instance_id"])) + sorted(dynamic, key=lambda m: utf16(m["member_id"]))


def subscribes(member: Body, topic: Body) -> bool:
    """To every topic, if the member names none."""
    names = member.get("topic_names")
    return names is None or topic["topic_name"] in names


def roundrobin(body: Body) -> Given:
    """Each partition to the next member of the circle that subscribes to its topic."""
    circle = static_first(body["members"])
    given: Given = {m["member_id"]: [] for m in circle}
    at = 0
    for topic in sorted(body["topics"], key=lambda t: utf16(t["topic_name"])):
        if not any(subscribes(m, topic) for m in circle):
            continue
        for partition_id in range(topic["partitions_count"]):
            while not subscribes(circle[at % len(circle)], topic):
                at += 1
            given[circle[at % len(circle)]["member_id"]].append((topic["topic_name"], partition_id))
            at += 1
    return given


class RangeTopic:
    """A topic while range assigns it."""

    def __init__(self, topic: Body, members: list[Body]) -> None:
        self.name = topic["topic_name"]
        self.count = topic["partitions_count"]
        self.consumers = [m for m in members if subscribes(m, topic)]
        lists = topic.get("partition_racks") or [[]] * self.count
        self.racks = [{rack for rack in replicas if rack} for replicas in lists]
        self.quota, self.extra = divmod(self.count, len(self.consumers))
        self.unassigned = list(range(self.count))
        self.given: dict[str, list[int]] = {m["member_id"]: [] for m in self.consumers}

    @property
    def consumer_racks(self) -> set[str]:
        """Where its consumers are."""
        return {m["rack_id"] for m in self.consumers if m.get("rack_id")}

    @property
    def rack_aware(self) -> bool:
        """Do racks matter?"""
        union = set().union(*self.racks)
        return bool(self.consumer_racks & union) and any(racks != union for racks in self.racks)

    @property
    def kind(self) -> tuple[list[str], int]:
        """Topics of one kind are matched together."""
        return [m["member_id"] for m in self.consumers], self.count if self.consumer_racks else 0

    def room(self, member: Body) -> int:
        """How many partitions the member may still get."""
        return max(0, self.quota + (self.extra > 0) - len(self.given[member["member_id"]]))

    def matches(self, member: Body, partition_id: int) -> bool:
        """Is there a replica on the member's rack?"""
        return not member.get("rack_id") or member["rack_id"] in self.racks[partition_id]

    def give(self, member: Body, partition_ids: list[int]) -> None:
        """Assign; who gets more than its quota uses up one extra."""
        if partition_ids:
            self.given[member["member_id"]] += partition_ids
            self.unassigned = [i for i in self.unassigned if i not in partition_ids]
            self.extra -= len(self.given[member["member_id"]]) > self.quota


def range_(body: Body) -> Given:
    """Of each topic a run of partitions to each subscriber, racks first where they matter."""
    members = static_first(body["members"])
    topics = [RangeTopic(t, members) for t in body["topics"] if any(subscribes(m, t) for m in members)]
    if any(topic.rack_aware for topic in topics):
        for kind in _kinds(topics):
            if len(kind) > 1:
                _match_together(kind)
            elif kind[0].rack_aware:
                _match_alone(kind[0])
    for topic in topics:
        for member in topic.consumers:
            topic.give(member, topic.unassigned[: topic.room(member)])
    given: Given = {m["member_id"]: [] for m in members}
    for topic in topics:
        for member_id, partition_ids in topic.given.items():
            given[member_id] += [(topic.name, i) for i in partition_ids]
    return given


def _kinds(topics: list[RangeTopic]) -> list[list[RangeTopic]]:
    kinds: list[list[RangeTopic]] = []
    for topic in topics:
        for kind in kinds:
            if kind[0].kind == topic.kind:
                kind.append(topic)
                break
        else:
            kinds.append([topic])
    return kinds


def _match_alone(topic: RangeTopic) -> None:
    for member in topic.consumers:
        fitting = [i for i in topic.unassigned if topic.matches(member, i)]
        topic.give(member, fitting[: topic.room(member)])


def _match_together(topics: list[RangeTopic]) -> None:
    remaining = list(topics[0].consumers)
    for partition_id in range(topics[0].kind[1]):
        for member in remaining:
            if all(topic.matches(member, partition_id) and topic.room(member) for topic in topics):
                for topic in topics:
                    topic.give(member, [partition_id])
                if not any(topic.room(member) for topic in topics):
                    remaining.remove(member)
                break
