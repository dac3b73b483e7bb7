"""kafka-python's range and roundrobin in plain Python, on the body of a request."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from tests.reference.clients.librdkafka import Answer, Body, subscribes


def in_order(members: list[Body]) -> list[Body]:
    """The last run of static members by instance_id, then the last run of dynamic ones by member_id."""
    runs = {static: list(run) for static, run in groupby(members, lambda m: m.get("instance_id") is not None)}

    def key(member: Body) -> Any:
        return member.get("instance_id"), member["member_id"]

    return sorted(runs.get(True, []), key=key) + sorted(runs.get(False, []), key=lambda m: m["member_id"])


def range_(body: Body) -> Answer:
    """RangePartitionAssignor.assign."""
    answer: Answer = {member["member_id"]: [] for member in body["members"]}
    for topic in body["topics"]:
        members = in_order([member for member in body["members"] if subscribes(member, topic)])
        ids = list(range(topic["partitions_count"]))
        for i, member in enumerate(members):
            share = len(ids) // (len(members) - i) + (len(ids) % (len(members) - i) > 0)
            answer[member["member_id"]] += [(topic["topic_name"], id_) for id_ in ids[:share]]
            del ids[:share]
    return answer


def roundrobin(body: Body) -> Answer | str:
    """RoundRobinPartitionAssignor.assign, or the message of its KeyError."""
    answer: Answer = {member["member_id"]: [] for member in body["members"]}
    circle = in_order(body["members"])
    at = 0
    for topic in sorted(body["topics"], key=lambda topic: topic["topic_name"].encode("utf-16-be")):
        for partition_id in range(topic["partitions_count"] if any(subscribes(m, topic) for m in body["members"]) else 0):
            if not subscribes(circle[at % len(circle)], topic):
                following = circle[(at + 1) % len(circle)]
                return str((following.get("instance_id"), following["member_id"]))
            answer[circle[at % len(circle)]["member_id"]].append((topic["topic_name"], partition_id))
            at += 1
    return answer
