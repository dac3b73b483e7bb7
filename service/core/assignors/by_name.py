"""Assignors written in names: dicts in, dicts out, as Kafka's ConsumerPartitionAssignor has them; for plug-ins.

Source of the shape: org.apache.kafka.clients.consumer.internals.AbstractPartitionAssignor.assign.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from service.core.model import NONE, Assignment, Group, Int32s, Ragged
from service.core.registry import BrokenRule

TopicPartition = tuple[str, int]


@dataclass(frozen=True)
class Subscription:
    """What a member says of itself (ConsumerPartitionAssignor.Subscription).

    owned_partitions : (topic name, partition id) of each, existing or not
    generation_id : the generation that the member was last in; -1 for none
    """

    topics: list[str]
    owned_partitions: list[TopicPartition]
    generation_id: int
    rack_id: str | None
    group_instance_id: str | None


def by_name(
    assign: Callable[[dict[str, int], dict[str, Subscription]], Mapping[str, Iterable[TopicPartition]]],
) -> Callable[[Group], Assignment]:
    """An assignor's ``run`` from a function of names.

    assign : ``assign(partitions_per_topic, subscriptions)``, by topic name and by member_id (members in request order), returns
        the (topic name, partition id) of each partition of each member; a member that it leaves out gets none
    The result raises BrokenRule for members and partitions that do not exist.
    """

    def run(group: Group) -> Assignment:
        names = group.topics.names
        counts = dict(zip(names, group.topics.partitions_counts().tolist(), strict=True))
        assigned = dict(assign(counts, _subscriptions(group)))
        first = dict(zip(names, group.topics.first.tolist(), strict=False))
        rows: list[list[int]] = []
        for member in group.member_ids:
            rows.append([])
            for topic, partition_id in assigned.pop(member, ()):
                if not 0 <= partition_id < counts.get(topic, 0):
                    raise BrokenRule(
                        f"partition {partition_id} of topic {topic!r}, assigned to member {member!r}, does not exist"
                    )
                rows[-1].append(first[topic] + partition_id)
        if assigned:
            raise BrokenRule(f"member {next(iter(assigned))!r} does not exist")
        offsets = np.cumsum([0, *map(len, rows)], dtype=np.int32)
        return Assignment(Ragged(offsets, np.array([partition for row in rows for partition in row], np.int32)))

    return run


def _subscriptions(group: Group) -> dict[str, Subscription]:
    topic_names = group.topic_names

    def owned(partitions: Int32s) -> list[TopicPartition]:
        topics, ids = group.topic_partitions(partitions)
        return [(topic_names[topic], partition_id) for topic, partition_id in zip(topics.tolist(), ids.tolist(), strict=True)]

    return {
        member_id: Subscription(
            topics=[topic_names[topic] for topic in group.subscriptions.row(member)],
            owned_partitions=owned(group.owned.row(member)),
            generation_id=int(group.generations[member]),
            rack_id=None if group.racks[member] == NONE else group.rack_ids[group.racks[member]],
            group_instance_id=group.instance_ids[member],
        )
        for member, member_id in enumerate(group.member_ids)
    }
