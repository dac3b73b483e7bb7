"""Groups of the streams protocol (KIP-1071): StreamsGroupDescribe.

Kafka Streams assigns tasks, not partitions: task ``i`` of a subtopology reads partition ``i`` of each of its source topics. So a
member owns the partitions of its active tasks.
"""

from typing import Any, Final

from service.core.documents import Json

Sources = dict[str, dict[str, int]]
"""Subtopology → its source topics with their partition counts; internal topics that repartition records are among them."""

_KINDS: Final = ("active", "standby", "warmup")


def streams_group(group: Any, partitions_counts: dict[str, int]) -> Json:
    """The document of a described group. partitions_counts : of all topics that are known"""
    subtopologies = (group.topology and group.topology.subtopologies) or ()
    topologies = [
        {
            "subtopology_id": each.subtopology_id,
            "source_topic_names": sorted({*each.source_topics, *(topic.name for topic in each.repartition_source_topics)}),
            "changelog_topic_names": sorted(topic.name for topic in each.state_changelog_topics),
        }
        for each in subtopologies
    ]
    sources = {
        each["subtopology_id"]: {name: partitions_counts.get(name, 0) for name in each["source_topic_names"]}
        for each in topologies
    }
    return {
        "group_id": group.group_id,
        "group_protocol": "streams",
        "group_state": group.group_state,
        "group_epoch": group.group_epoch,
        "assignment_epoch": group.assignment_epoch,
        "subtopologies": topologies,
        "members": [_member(member, sources) for member in reversed(group.members)],
    }


def _member(member: Any, sources: Sources) -> Json:
    return {
        "member_id": member.member_id,
        "instance_id": member.instance_id,
        "client_id": member.client_id,
        "host": member.client_host,
        "rack_id": member.rack_id or None,
        "member_epoch": member.member_epoch,
        "process_id": member.process_id,
        "topic_names": sorted({name for topics in sources.values() for name in topics}),
        "owned_partitions": _partitions(member.target_assignment.active_tasks, sources),
        "assigned_partitions": _partitions(member.assignment.active_tasks, sources),
        "target_tasks": _tasks(member.target_assignment),
        "tasks": _tasks(member.assignment),
    }


def _tasks(assignment: Any) -> Json:
    return {
        kind: [
            {"subtopology_id": task.subtopology_id, "partition_ids": sorted(task.partitions)}
            for task in sorted(getattr(assignment, f"{kind}_tasks"), key=lambda task: task.subtopology_id)
        ]
        for kind in _KINDS
    }


def _partitions(active_tasks: Any, sources: Sources) -> list[Json]:
    """The partitions that tasks read, by topic."""
    by_topic: dict[str, set[int]] = {}
    for task in active_tasks:
        for name, count in sources.get(task.subtopology_id, {}).items():
            by_topic.setdefault(name, set()).update(i for i in task.partitions if i < count)
    return [{"topic_name": name, "partition_ids": sorted(by_topic[name])} for name in sorted(by_topic) if by_topic[name]]
