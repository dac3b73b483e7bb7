"""kafka-python's and aiokafka's assignors, called as their group leaders do: ``python -m tests.support.python_leader LIBRARY``.

The release is the one that Python finds. Questions and answers are those of ``tests/support/go/leader``; what members say goes
through the library's own bytes. The order of Python's sets is the process's, so further runs of one process give the same answer.
"""

from __future__ import annotations

import json
import logging
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

Body = dict[str, Any]
Plan = dict[str, dict[str, list[int]]]


def claims(member: Body) -> list[tuple[str, list[int]]]:
    """What the member owns, topic by topic."""
    by_topic: dict[str, list[int]] = {}
    for row in member.get("owned_partitions", ()):
        by_topic.setdefault(row["topic_name"], []).extend(row["partition_ids"])
    return list(by_topic.items())


def counts(cluster: Any, request: Body) -> Any:
    """The library's metadata of the cluster, with the topics' partitions."""
    cluster._partitions = {topic["topic_name"]: dict.fromkeys(range(topic["partitions_count"])) for topic in request["topics"]}
    return cluster


def kafka_python() -> Callable[[str, Body], Any]:
    """member_id → its assignment, as the library answers."""
    from kafka import __version__  # noqa: PLC0415 - of this library alone

    return kafka_python_2("kafka") if int(__version__.partition(".")[0]) < 3 else kafka_python_3()


def kafka_python_3() -> Callable[[str, Body], Any]:
    """The same since 3.0.0."""
    from kafka.cluster import ClusterMetadata  # noqa: PLC0415 - of this library alone
    from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor  # noqa: PLC0415
    from kafka.coordinator.assignors.range import RangePartitionAssignor  # noqa: PLC0415
    from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor  # noqa: PLC0415
    from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor  # noqa: PLC0415
    from kafka.protocol.consumer.group import JoinGroupResponse  # noqa: PLC0415
    from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment, ConsumerProtocolSubscription  # noqa: PLC0415

    assignors: tuple[Any, ...] = (
        RangePartitionAssignor, RoundRobinPartitionAssignor, StickyPartitionAssignor, CooperativeStickyAssignor,
    )  # fmt: skip

    def joined(assignor: Any, member: Body) -> Any:
        if "owned_partitions" in member:
            received = ConsumerProtocolAssignment(assignor.version, claims(member), b"").encode()
            assignor.on_assignment(ConsumerProtocolAssignment.decode(received), member.get("generation_id", -1))
        metadata = ConsumerProtocolSubscription.decode(assignor.metadata(set(member["topic_names"])).encode())
        return JoinGroupResponse.JoinGroupResponseMember(
            member_id=member["member_id"], group_instance_id=member.get("instance_id"), metadata=metadata
        )

    def run(name: str, request: Body) -> Any:
        (assignor,) = (each for each in assignors if each.name == name)
        members = [joined(assignor(), member) for member in request["members"]]
        return assignor().assign(counts(ClusterMetadata(), request), members)

    return run


def kafka_python_2(package: str) -> Callable[[str, Body], Any]:
    """The same before 3.0.0, and of its fork, aiokafka. Their assignors keep a member's state in the class."""
    assignors = import_module(f"{package}.coordinator.assignors")
    cluster = import_module(f"{package}.cluster")
    protocol = import_module(f"{package}.coordinator.protocol")
    names = "ConsumerProtocolMemberAssignment", "ConsumerProtocolMemberMetadata"
    received = getattr(protocol, f"{names[0]}_v0", None) or getattr(protocol, names[0])

    def through_bytes(struct: Any) -> Any:
        return type(struct).decode(struct.encode())

    def class_of(name: str) -> Any:
        module = "sticky.sticky_assignor" if name == "sticky" else name
        of_name = {"range": "RangePartitionAssignor", "roundrobin": "RoundRobinPartitionAssignor"}
        return getattr(import_module(f"{assignors.__name__}.{module}"), of_name.get(name, "StickyPartitionAssignor"))

    def joined(assignor: Any, member: Body) -> Any:
        of_process = type("OfProcess", (assignor,), {})
        if "owned_partitions" in member or member.get("generation_id", -1) >= 0:
            of_process.on_assignment(through_bytes(received(assignor.version, claims(member), b"")))
            if assignor.name == "sticky":
                of_process.on_generation_assignment(member.get("generation_id", -1))
        sent = through_bytes(of_process.metadata(frozenset(member["topic_names"])))
        if not hasattr(protocol, f"{names[1]}_v0"):
            return sent
        of_member = import_module(f"{package}.coordinator.subscription").Subscription
        return of_member(sent, member.get("instance_id"))

    def run(name: str, request: Body) -> Any:
        assignor = class_of(name)
        members = {member["member_id"]: joined(assignor, member) for member in request["members"]}
        return assignor.assign(counts(cluster.ClusterMetadata(), request), members)

    return run


def plan(assigned: Any) -> Plan:
    """The library's answer, after it has been encoded as the leader does."""
    found: Plan = {}
    for member, assignment in assigned.items():
        assignment.encode()
        topics = found.setdefault(member, {})
        for topic, ids in assignment.assignment:
            topics.setdefault(topic, []).extend(ids)
    return found


def main(library: str) -> None:
    logging.disable()
    run = kafka_python() if library == "kafka-python" else kafka_python_2(library)
    for line in sys.stdin:
        question = json.loads(line)
        try:
            answer: Body = {"answers": [plan(run(question["assignor"], question["request"]))]}
        except Exception as error:  # noqa: BLE001 - whatever the library throws
            answer = {"error": {"message": f"{type(error).__name__}: {error}"}}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
