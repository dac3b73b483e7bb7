"""sarama, for Go: also what Telegraf, Redpanda Console and many exporters are made with.

Source: balance_strategy.go, balance_strategy_cooperative_sticky.go of each of RELEASES.
"""

from bisect import bisect_left
from collections.abc import Sequence
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt

from service.clients.names import by_bytes, by_member_id
from service.core.assignors.classic.members import topic_subscribers
from service.core.assignors.model import Assignor
from service.core.budget import check_time, reserve_in_turn
from service.core.errors import KafkaAssignorFails
from service.core.model import NONE, Assignment, Group, Int32s, Ragged
from service.core.ragged import grouped, rows_and_places
from service.core.registry import Implementation, Later

# sarama's roundrobin: all partitions dealt in turn, in the order of their names as texts.
#
# *Algorithm*: that of Kafka's, but members stand in the order of their member_ids, and the partitions in that of the texts
# ``topic-partition_id``: t-10 comes before t-2.
#
# Source: roundRobinBalancer in balance_strategy.go (sarama 1.61.1). The previous assignment and racks play no part.

# sarama's range until 1.34 and roundrobin until 1.27: topic by topic, over its subscribers by a hash of topic and member_id.
#
# The hash is FNV-1a of 32 bits over code points. Of two members with the same hash the order of Go's map decides who comes
# first, here that of the request. The previous assignment, racks and instance_ids play no part.
#
# Source: balanceStrategy.Plan, BalanceStrategyRange, BalanceStrategyRoundRobin and balanceStrategyHashValue in
# balance_strategy.go (sarama 1.27.0, 1.34.0).

Hashes = npt.NDArray[np.uint32]

PARTITION_BYTES: Final = 40
SUBSCRIPTION_BYTES: Final = 80

BASIS: Final = np.uint32(2_166_136_261)
PRIME: Final = np.uint32(16_777_619)


def ranges(group: Group) -> Assignment:
    """Ragged member → partitions, ascending. A run ends where its exact end, i/n of the partitions, rounds to."""
    subscribers = _by_hash(group)
    topics, places = rows_and_places(subscribers.offsets)
    counts, lengths = group.topics.partitions_counts(), subscribers.lengths()
    steps = counts[topics] / lengths[topics]
    starts, stops = (np.floor(at * steps + 0.5).astype(np.int32) for at in (places, places + 1))
    owners = np.full(group.topics.partitions_count, NONE, np.int32)
    owners[np.repeat(lengths > 0, counts)] = np.repeat(subscribers.values, stops - starts)
    return Assignment(grouped(owners, len(group)))


def turns(group: Group) -> Assignment:
    """Ragged member → partitions, ascending. Each topic begins with its first subscriber."""
    subscribers = _by_hash(group)
    topics, ids = rows_and_places(group.topics.first)
    owners = np.full(group.topics.partitions_count, NONE, np.int32)
    lengths = subscribers.lengths()[topics]
    read = lengths > 0
    owners[read] = subscribers.values[subscribers.offsets[topics[read]] + ids[read] % lengths[read]]
    return Assignment(grouped(owners, len(group)))


def _by_hash(group: Group) -> Ragged:
    """Ragged topic → its subscribers, by hash."""
    reserve_in_turn(PARTITION_BYTES * group.topics.partitions_count + SUBSCRIPTION_BYTES * len(group.subscriptions.values))
    subscribers = topic_subscribers(group, np.arange(len(group), dtype=np.int32))
    topics = subscribers.row_of_each_value()
    names = group.topics.names
    of_topics = _folded(np.full(len(names), BASIS), names, np.arange(len(names), dtype=np.int32))
    hashes = _folded(of_topics[topics], group.member_ids, subscribers.values)
    return Ragged(subscribers.offsets, subscribers.values[np.lexsort((hashes, topics))])


def _folded(hashes: Hashes, texts: Sequence[str], which: Int32s) -> Hashes:
    """The hashes after one text each: uint32[n]. which : int32[n], its index"""
    codes = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.uint32)
    lengths = np.array([len(text) for text in texts], np.int32)
    starts, lengths = (np.cumsum(lengths) - lengths)[which], lengths[which]
    for i in range(lengths.max(initial=0)):
        check_time()
        longer = np.flatnonzero(lengths > i)
        hashes[longer] = (hashes[longer] ^ codes[starts[longer] + i]) * PRIME
    return hashes


TEXT_BYTES: Final = 210
"""Most memory for the text of each partition, beside the name of its topic, and for its place. Measured: 190."""


def assign_in_turn(group: Group) -> Assignment:
    """Ragged member → partitions, ascending. Raises KafkaAssignorFails for a group without subscriptions."""
    if len(group.subscriptions.values) == 0:
        raise KafkaAssignorFails(
            "error",
            "members and topics are not provided",
            cause="no member subscribes to a topic",
            remedy="name at least one member with a topic",
            library="sarama",
        )
    order = by_bytes(group.member_ids)
    subscribers = topic_subscribers(group, order)
    topic_of = group.topics.topic_of
    topics = list(zip(group.topics.names, group.topics.partitions_counts().tolist(), strict=True))
    reserve_in_turn(sum(count * (TEXT_BYTES + len(name)) for name, count in topics))
    texts = [f"{name}-{i}" for name, count in topics for i in range(count)]
    check_time()
    sequence = by_bytes(texts)
    check_time()
    circles = [subscribers.row(topic).tolist() for topic in range(len(subscribers))]
    members, owners, at = order.tolist(), np.full(len(sequence), NONE, np.int32), 0
    for partition, topic in zip(sequence.tolist(), topic_of[sequence].tolist(), strict=True):
        if circles[topic]:
            position = circles[topic][bisect_left(circles[topic], at) % len(circles[topic])]
            owners[partition] = members[position]
            at = position + 1
    return Assignment(grouped(owners, len(group)))


classic_ranges = Later("service.core.assignors.classic.range")
sticky = Later("service.clients.sarama.sticky")

RELEASES: Final = ("1.27.0", "1.28.0", "1.34.0", "1.35.0", "1.43.3", "1.60.0", "1.61.1")

ASSIGNORS: Final[tuple[Assignor, ...]] = (
    Assignor(
        name="sarama:range",
        run=partial(classic_ranges.ranges_by, by_member_id),
        implementation=Implementation("sarama", RELEASES[-1], "NewBalanceStrategyRange"),
        client_releases=RELEASES,
        forms={"1.35.0": {}, "1.27.0": {"run": ranges}},
        summary="Kafka's range without racks, over members sorted by member_id, static or not.",
        setting="Consumer.Group.Rebalance.GroupStrategies: NewBalanceStrategyRange()",
        is_default=True,
    ),
    Assignor(
        name="sarama:roundrobin",
        run=assign_in_turn,
        implementation=Implementation("sarama", RELEASES[-1], "NewBalanceStrategyRoundRobin"),
        client_releases=RELEASES,
        forms={"1.28.0": {}, "1.27.0": {"run": turns}},
        summary="Kafka's roundrobin, but partitions are sorted by name as text: t-10 before t-2.",
        setting="Consumer.Group.Rebalance.GroupStrategies: NewBalanceStrategyRoundRobin()",
    ),
    Assignor(
        name="sarama:sticky",
        run=sticky.assign,
        implementation=Implementation("sarama", RELEASES[-1], "NewBalanceStrategySticky"),
        client_releases=RELEASES,
        summary="Members keep what they own as far as the group can be even; chance decides who gets free partitions.",
        setting="Consumer.Group.Rebalance.GroupStrategies: NewBalanceStrategySticky()",
    ),
    Assignor(
        name="sarama:cooperative-sticky",
        run=sticky.assign_cooperatively,
        implementation=Implementation("sarama", RELEASES[-1], "NewBalanceStrategyCooperativeSticky"),
        client_releases=RELEASES[-1:],
        summary="As its sticky, but a moved partition stays unassigned until its previous owner has revoked it.",
        setting="Consumer.Group.Rebalance.GroupStrategies: NewBalanceStrategyCooperativeSticky()",
    ),
)
