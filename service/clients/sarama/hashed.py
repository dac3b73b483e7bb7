"""sarama's range until 1.34 and roundrobin until 1.27: topic by topic, over its subscribers by a hash of topic and member_id.

The hash is FNV-1a of 32 bits over code points. Of two members with the same hash the order of Go's map decides who comes first,
here that of the request. The previous assignment, racks and instance_ids play no part.

Source: balanceStrategy.Plan, BalanceStrategyRange, BalanceStrategyRoundRobin and balanceStrategyHashValue in balance_strategy.go
(sarama 1.27.0, 1.34.0).
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from service.core.assignors.classic.members import topic_subscribers
from service.core.clock import check_time, reserve_in_turn
from service.core.model import NONE, Assignment, Group, Int32s, Ragged
from service.core.ragged import grouped, rows_and_places

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
