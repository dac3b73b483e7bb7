"""Replicas of each topic evened out, while copies and the replicas of each broker stay as they are.

Two partitions of different topics swap brokers: one replaces a by b, the other b by a. That is done as long as it lowers the sum
of squares of (replicas of a topic on a broker) ÷ weight, over all topics and brokers.
"""

from collections.abc import Callable
from typing import Final

import numpy as np

from service.core.kernels import inner_kernel, kernel
from service.core.model import NONE, Int32s, Int64s
from service.core.reassignments.exchanges import IMPOSSIBLE, ReplicaSets, breadth, exchange, exchange_cost
from service.core.reassignments.turns import DONE, MORE, TURN, in_turns

MOST: Final = 20_000_000_000
"""What is looked at in all, in about a minute."""


def even_out_topics(s: ReplicaSets, topics: Int32s, check: Callable[[], None]) -> None:
    """Swap brokers between partitions. topics : int32[partitions of the state]"""
    counts = np.zeros((int(topics.max(initial=-1)) + 1, len(s.loads)), np.int64)
    np.add.at(counts, (topics[s.row_of], s.members), 1)
    progress = np.zeros(2, np.int64)
    in_turns(s, lambda: _swap(s, topics, counts, progress), check, MOST)


@kernel
def _swap(s: ReplicaSets, topics: Int32s, counts: Int64s, progress: Int64s) -> int:
    """Make swaps until none improves anything. DONE or MORE.

    progress : int64[2]   the next partition, and how many partitions in a row had no swap; kept between calls
    """
    partitions = len(topics)
    while progress[1] < partitions:
        if s.work[0] > TURN:
            return MORE
        s.work[0] += 1
        partition = progress[0] % partitions
        swapped = False
        for i in range(s.offsets[partition], s.offsets[partition + 1]):
            a = int(s.members[i])
            for b in range(len(s.loads)):
                gain = _gain(counts, s.weights, topics[partition], a, b)
                s.work[0] += 1
                if gain <= 0.0:
                    continue
                s.work[0] += breadth(s, partition)
                cost = exchange_cost(s, partition, a, b)
                if cost == IMPOSSIBLE or (cost > 0 and not s.paid[0]):
                    continue
                other = _partner(s, topics, counts, partition, (a, b), cost, gain)
                if other == NONE:
                    continue
                _exchange(s, topics, counts, partition, a, b)
                _exchange(s, topics, counts, other, b, a)
                swapped = True
                break
            if swapped:
                break
        progress[0] = partition if swapped else partition + 1
        progress[1] = 0 if swapped else progress[1] + 1
    return DONE


@inner_kernel
def _exchange(s: ReplicaSets, topics: Int32s, counts: Int64s, partition: int, a: int, b: int) -> None:
    exchange(s, partition, a, b)
    counts[topics[partition], a] -= 1
    counts[topics[partition], b] += 1


@inner_kernel
def _gain(counts: Int64s, weights: Int64s, topic: int, a: int, b: int) -> float:
    """By how much the sum falls if a replica of the topic goes from a to b."""
    return float((2.0 * counts[topic, a] - 1.0) / weights[a] - (2.0 * counts[topic, b] + 1.0) / weights[b])


@inner_kernel
def _partner(
    s: ReplicaSets, topics: Int32s, counts: Int64s, partition: int, brokers: tuple[int, int], cost: int, gain: float
) -> int:
    """A partition of another topic that replaces b by a without losing what the first gains; NONE if none."""
    a, b = brokers
    place = s.first[b]
    while place != NONE:
        other = s.row_of[place]
        place = s.after[place]
        s.work[0] += 1
        if topics[other] == topics[partition] or gain + _gain(counts, s.weights, topics[other], b, a) <= 1e-9 * gain:
            continue
        s.work[0] += breadth(s, other)
        back = exchange_cost(s, other, b, a)
        if back != IMPOSSIBLE and back + cost <= 0:
            return int(other)
    return NONE
