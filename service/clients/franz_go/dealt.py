"""Who certainly gets which free partition if all members subscribe to all topics, and racks do not count.

It is certain who gets the first, the second … of what is free, but the topics come in any order. The n-th free partition of a
topic gets the place n plus a sum of what other topics have free; all multiples of their greatest common divisor are taken for
such sums, which they mostly are. It is certain whose the partition is if all places that it may get are the same member's.

Source: newBalancer, assignUnassignedAndInitGraph in sticky.go (franz-go 1.22.2).
"""

from __future__ import annotations

import numpy as np

from service.clients.franz_go.fill import heapify, sift_down
from service.clients.franz_go.state import OPEN
from service.core.kernels import kernel
from service.core.model import NONE, Int32s


def deal(owners: Int32s, topics: Int32s, topic_of: Int32s, first: Int32s, sizes: Int32s) -> None:
    """Give members what is free, or OPEN where it is not certain who gets it; updates ``owners`` and ``sizes``.

    owners : int32[partitions]   who keeps each, or NONE
    topics : int32[...]          the topics with subscribers
    topic_of : int32[partitions]; first : int32[topics + 1]
    sizes : int32[members]       how many each keeps
    """
    counts = np.bincount(topic_of[owners == NONE], minlength=len(first) - 1)[topics]
    takers = _takers(sizes, int(counts.sum()))
    # Of topics that have as many free as others, all see the same sums.
    steps = {count: _step(counts[counts > 0], count) for count in np.unique(counts[counts > 0]).tolist()}
    ends = {step: _ends(takers, max(1, step)) for step in set(steps.values())}
    for topic, count in zip(topics.tolist(), counts.tolist(), strict=True):
        if count:
            _settle(owners[first[topic] : first[topic + 1]], takers, ends[steps[count]], len(takers) - count)


def _step(counts: np.ndarray[tuple[int], np.dtype[np.int64]], count: int) -> int:
    """The greatest common divisor of what topics have free but one that has so many; 0 without any other."""
    others = np.delete(counts, np.flatnonzero(counts == count)[0])
    return int(np.gcd.reduce(others))


@kernel
def _takers(sizes: Int32s, count: int) -> Int32s:
    """Who gets the first, the second … of so many: int32[count]; updates ``sizes``."""
    heap = np.arange(len(sizes)).astype(np.int32)
    heapify(heap, sizes)
    takers = np.empty(count, np.int32)
    for i in range(count):
        takers[i] = heap[0]
        sizes[heap[0]] += 1
        sift_down(heap, sizes, 0)
    return takers


def _ends(takers: Int32s, step: int) -> Int32s:
    """From each place on, the last in steps of this length up to which all are the same member's: int32[places]."""
    rows = -(-len(takers) // step)
    padded = np.full(rows * step, NONE, np.int32)
    padded[: len(takers)] = takers
    grid = padded.reshape(rows, step)
    places = np.arange(rows * step, dtype=np.int32).reshape(rows, step)
    places[:-1][grid[:-1] == grid[1:]] = rows * step
    return np.minimum.accumulate(places[::-1])[::-1].ravel()[: len(takers)]


@kernel
def _settle(owners: Int32s, takers: Int32s, ends: Int32s, most_before: int) -> None:
    """Write the certain takers of a topic's free partitions, or OPEN.

    owners : int32[partitions of the topic]; takers, ends : int32[places] each
    most_before : how many free partitions other topics have
    """
    place = 0
    for partition in range(len(owners)):
        if owners[partition] == NONE:
            owners[partition] = takers[place] if ends[place] >= place + most_before else OPEN
            place += 1
