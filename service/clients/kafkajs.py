"""kafkajs: its group leader's RoundRobinAssigner.

The leader deals the topics that it subscribes to itself, in the order in which it names them, to all members, by member_id as
JavaScript sorts strings; it does not look at other members' subscriptions. A member drops what it does not subscribe to, so that
no member reads it; nor does anybody read topics to which only others than the leader subscribe.

Source: src/consumer/assigners/roundRobinAssigner, src/consumer/consumerGroup.js (kafkajs 2.2.4). The previous assignment, racks
and instance_ids play no part.
"""

from typing import Final

import numpy as np

from service.core.assignors.model import Assignor
from service.core.model import NONE, Assignment, Group, Int32s
from service.core.ragged import grouped
from service.core.registry import Implementation


def assign(group: Group) -> Assignment:
    """Ragged member → partitions, ascending. The first member is the leader."""
    owners = np.full(group.topics.partitions_count, NONE, np.int32)
    dealt = _dealt(group)
    owners[dealt] = np.resize(group.by_id, len(dealt))
    return Assignment(grouped(owners, len(group)))


def warnings(group: Group) -> list[str]:
    """What depends on the leader, and what no member reads, if the members' subscriptions differ."""
    rows = [group.subscriptions.row(member).tobytes() for member in range(len(group))]
    if len(set(rows)) <= 1:
        return []
    sentence = (
        "kafkajs's leader assigns the topics of its own subscription, in the order in which it names them, to all members. These "
        "do not name the same topics in the same order, so the answer depends on who leads; it is that of the first member. "
        "Members drop partitions of topics to which they do not subscribe."
    )
    return [sentence]


def _dealt(group: Group) -> Int32s:
    """int32[...], the partitions that the leader deals, in its order."""
    topics, first = group.topics, group.topics.first
    if len(group) == 0:
        return np.empty(0, np.int32)
    leaders = group.subscriptions.row(0)
    leaders = leaders[leaders < len(topics)]
    counts = topics.partitions_counts()[leaders]
    starts = np.repeat(first[leaders] - np.cumsum(counts) + counts, counts)
    return (starts + np.arange(len(starts))).astype(np.int32)


ASSIGNORS: Final[tuple[Assignor, ...]] = (
    Assignor(
        name="kafkajs:RoundRobinAssigner",
        run=assign,
        implementation=Implementation("kafkajs", "2.2.4", "PartitionAssigners.roundRobin"),
        client_releases=("2.2.4",),
        summary="The topics of the leader are dealt to all members in turn, whether these subscribe to them or not.",
        warnings=warnings,
        setting="partitionAssigners: [PartitionAssigners.roundRobin]",
        is_default=True,
    ),
)
