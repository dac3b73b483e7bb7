"""kafkajs: its group leader's RoundRobinAssigner.

The leader deals the topics that it subscribes to itself, in the order in which it names them, to all members, by member_id as
JavaScript sorts strings. Until 1.12 each topic began with the first member again, so that topics of one partition all went to
that member. It does not look at other members' subscriptions. A member drops what it does not subscribe to, so that no member
reads it; nor does anybody read topics to which only others than the leader subscribe.

Source: src/consumer/assigners/roundRobinAssigner, src/consumer/consumerGroup.js (kafkajs 1.8.1 to 2.2.4). The previous
assignment, racks and instance_ids play no part.
"""

from functools import partial
from typing import Final

import numpy as np

from service.core.assignors.model import Assignor
from service.core.model import NONE, Assignment, Group, Int32s
from service.core.ragged import grouped
from service.core.registry import Implementation


def assign(group: Group, *, by_topic: bool = False) -> Assignment:
    """Ragged member → partitions, ascending. The first member is the leader.

    by_topic : does each topic begin with the first member, as until 1.12?
    """
    dealt = _dealt(group)
    turns = group.topic_partitions(dealt)[1] if by_topic else np.arange(len(dealt))  # places round the circle of members
    owners = np.full(group.topics.partitions_count, NONE, np.int32)
    owners[dealt] = group.by_id[turns % max(1, len(group))]
    return Assignment(grouped(owners, len(group)))


def warnings(group: Group, *, in_order: bool = True) -> list[str]:
    """What depends on the leader, and what no member reads, if subscriptions differ. in_order : also in their order?"""
    rows = [group.subscriptions.row(member) for member in range(len(group))]
    if len({(row if in_order else np.sort(row)).tobytes() for row in rows}) <= 1:
        return []
    order, same = (", in the order in which it names them,", " in the same order") if in_order else ("", "")
    sentence = (
        f"kafkajs's leader assigns the topics of its own subscription{order} to all members. These do not name the same topics"
        f"{same}, so the answer depends on who leads; it is that of the first member. Members drop partitions of topics to which "
        "they do not subscribe."
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
        client_releases=("1.8.1", "1.12.0", "1.13.0", "1.16.0", "2.0.0", "2.2.4"),
        forms={"1.13.0": {}, "1.8.1": {"run": partial(assign, by_topic=True), "warnings": partial(warnings, in_order=False)}},
        summary="The topics of the leader are dealt to all members in turn, whether these subscribe to them or not.",
        warnings=warnings,
        setting="partitionAssigners: [PartitionAssigners.roundRobin]",
        is_default=True,
    ),
)
