"""``balanced``: places a topic where it evens out the cluster as it is. No class of Kafka's does this.

*Rules*, in this order:

1. Each partition is on different unfenced brokers, and on as many racks as there can be; brokers without a rack share one.
2. Replicas are as even as 1. allows: the least sum of replicas² ÷ weight over the brokers, those that they already have included.
3. Leaders likewise, as even as the chosen replicas allow.

*Algorithm*: the replicas of the brokers come first, one after the other, each to the broker whose sum grows least. With the
limits of 1. (a partition has at most one replica on a broker, and at most one, or at least one, on a rack) this is optimal, since
the cost is convex and the limits are nested. Any such numbers can be placed: the replicas, rack by rack, are dealt to the
partitions in turn, so that a rack deals no partition a second one before each has its first (McNaughton's wrap-around rule).
Leaders are then chosen by
``service.core.reassignments.leaders``.

Ties go to the broker with the lower id. Nothing is drawn. Plain-Python twin, by trying everything: tests/reference/balanced.py.
"""

from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from service.core.errors import IllegalArgument, InvalidReplicationFactor
from service.core.jvm.random import JavaRandom
from service.core.kernels import inner_kernel, kernel
from service.core.model import NONE, Cluster, Int32s, Int64s, PlacementRequest, Ragged
from service.core.placers.admin_utils import check_counts
from service.core.reassignments.leaders import elect
from service.core.reassignments.model import Brokers, Placements
from service.core.reassignments.sets import integer_weights


def place(cluster: Cluster, request: PlacementRequest, _: JavaRandom) -> Int32s:
    """The most even placement. Returns int32[partitions, replication_factor], indices of brokers, the leader in column 0.

    Raises what AdminUtils raises for counts that cannot be, and InvalidReplicationFactor for too few unfenced brokers.
    """
    check_counts(cluster, request)
    factor, partitions = request.replication_factor, request.partitions_count
    usable = np.flatnonzero(~cluster.fenced).astype(np.int32)
    if factor > len(usable):
        raise InvalidReplicationFactor(f"Replication factor: {factor} larger than unfenced brokers: {len(usable)}.")
    if partitions * factor > np.iinfo(np.int32).max:
        raise IllegalArgument(f"{partitions} partitions with {factor} replicas are more than {np.iinfo(np.int32).max} replicas")
    racks = np.unique(cluster.racks[usable], return_inverse=True)[1].astype(np.int32)
    # By rack, then by id: the order in which replicas are dealt, and in which ties are decided.
    order = np.lexsort((cluster.broker_ids[usable], racks))
    brokers, racks = usable[order], racks[order]
    weights = integer_weights(cluster.load.weights[brokers])
    numbers = _numbers(cluster.load.replicas[brokers], weights, racks, _ranks(cluster.broker_ids[brokers]), partitions, factor)
    dealt = _dealt(numbers, racks, interleaved=factor <= racks[-1] + 1)
    return _led(cluster, np.ascontiguousarray(brokers[dealt].reshape(factor, partitions).T))


def _ranks(ids: Int32s) -> Int32s:
    """int32[...], the place of each id in ascending order."""
    ranks = np.empty(len(ids), np.int32)
    ranks[np.argsort(ids, kind="stable")] = np.arange(len(ids), dtype=np.int32)
    return ranks


def _dealt(numbers: Int64s, racks: Int32s, *, interleaved: bool) -> Int32s:
    """int32[replicas], the broker of each replica in the order in which they are dealt, rack by rack.

    interleaved : a rack deals each partition one replica at most. Then its brokers take turns, each rack in another order from
        turn to turn, so that brokers share partitions with many others. Otherwise each broker's replicas are dealt in a row.
    """
    brokers = np.repeat(np.arange(len(numbers), dtype=np.int32), numbers)
    if not interleaved:
        return brokers
    turns = np.arange(len(brokers)) - np.repeat(np.cumsum(numbers) - numbers, numbers)
    sizes = np.bincount(racks)
    within = np.arange(len(racks)) - (np.cumsum(sizes) - sizes)[racks]
    rotated = (within[brokers] + turns * racks[brokers]) % sizes[racks[brokers]]
    return brokers[np.lexsort((rotated, (2 * turns + 1) / (2 * numbers[brokers]), racks[brokers]))]


def _led(cluster: Cluster, placement: Int32s) -> Int32s:
    """The placement with the leaders as even as it allows, those of the cluster's other partitions included."""
    load, (partitions, factor) = cluster.load, placement.shape
    weights = integer_weights(load.weights)
    _lead(placement, load.leaders.copy(), weights)
    usable = np.flatnonzero(~cluster.fenced)
    one_rack, ranks = np.zeros(len(usable), np.int32), np.arange(len(usable), dtype=np.int32)
    ideal = load.leaders.copy()
    ideal[usable] += _numbers(load.leaders[usable], weights[usable], one_rack, ranks, partitions, 1)
    leaders = load.leaders + np.bincount(placement[:, 0], minlength=len(cluster))
    if _unevenness(leaders, weights) == _unevenness(ideal, weights):
        return placement
    led = np.repeat(np.arange(len(cluster), dtype=np.int32), load.leaders)
    offsets = np.concatenate([np.arange(len(led)), len(led) + np.arange(partitions + 1) * factor]).astype(np.int32)
    replicas = Ragged(offsets, np.concatenate([led, placement.ravel()]))
    count = len(led) + partitions
    zeros = np.zeros(count, np.int32)
    placements = Placements(("",), zeros, zeros, replicas, replicas.lengths(), None, None, np.arange(count) < len(led))
    brokers = replace(Brokers.of(cluster), weights=load.weights)
    elected = elect(brokers, placements, replicas, "balance", lambda: None)
    return elected.values[len(led) :].reshape(partitions, factor)


def _unevenness(counts: Int64s, weights: Int64s) -> Fraction:
    """The sum of count² ÷ weight over the brokers."""
    return sum((Fraction(count**2, weight) for count, weight in zip(counts.tolist(), weights.tolist(), strict=True)), Fraction())


@kernel
def _lead(placement: Int32s, leaders: Int64s, weights: Int64s) -> None:
    """Put in front of each partition the broker whose leaders grow the sum least: a start that is nearly even.

    leaders : int64[brokers], what they have, counted up; weights : int64[brokers]
    """
    for row in placement:
        first = 0
        for replica in range(1, len(row)):
            a, b = row[replica], row[first]
            if (2 * leaders[a] + 1) * weights[b] < (2 * leaders[b] + 1) * weights[a]:
                first = replica
        row[0], row[first] = row[first], row[0]
        leaders[row[0]] += 1


class _Shares(NamedTuple):
    """What the brokers get so far.

    loads, weights, racks, ranks : as for ``_numbers``
    numbers, of_rack : int64[brokers], int64[racks], how many replicas each gets; written
    """

    loads: Int64s
    weights: Int64s
    racks: Int32s
    ranks: Int32s
    numbers: Int64s
    of_rack: Int64s


@kernel
def _numbers(loads: Int64s, weights: Int64s, racks: Int32s, ranks: Int32s, partitions: int, factor: int) -> Int64s:
    """int64[brokers], how many replicas each broker gets.

    loads : int64[brokers], what they have; weights : int64[brokers]; racks : int32[brokers], ascending from 0
    ranks : int32[brokers], decides ties
    """
    racks_count = racks[-1] + 1
    shares = _Shares(loads, weights, racks, ranks, np.zeros(len(loads), np.int64), np.zeros(racks_count, np.int64))
    left = partitions * factor
    if factor > racks_count:  # each rack has a replica of each partition
        for rack in range(racks_count):
            left -= _give(shares, rack, partitions, partitions, partitions)
        _give(shares, NONE, left, partitions, partitions * factor)
    else:
        _give(shares, NONE, left, partitions, partitions)
    return shares.numbers


@kernel
def _give(shares: _Shares, only: int, replicas: int, most: int, most_of_rack: int) -> int:
    """Give replicas one by one where the sum grows least, to the brokers of the rack ``only``, or of all; returns how many.

    most, most_of_rack : replicas of a broker and of a rack
    """
    loads, weights, racks, ranks, numbers, of_rack = shares
    heap = np.empty(len(racks), np.int32)
    size = 0
    for broker in range(len(racks)):
        if only == NONE or only == racks[broker]:
            heap[size] = broker
            size += 1
    for place in range(size // 2 - 1, -1, -1):
        _sink(heap, size, place, loads, weights, ranks, numbers)
    count = 0
    while count < replicas and size > 0:
        broker = heap[0]
        if numbers[broker] < most and of_rack[racks[broker]] < most_of_rack:
            numbers[broker] += 1
            of_rack[racks[broker]] += 1
            count += 1
        else:
            size -= 1
            heap[0] = heap[size]
        _sink(heap, size, 0, loads, weights, ranks, numbers)
    return count


@inner_kernel
def _sink(heap: Int32s, size: int, place: int, loads: Int64s, weights: Int64s, ranks: Int32s, numbers: Int64s) -> None:
    """Restore the heap below this place. ``_Shares``, whose references are counted at each step, would take ten times as long."""
    while True:
        first = place
        for child in (2 * place + 1, 2 * place + 2):
            if child < size and _before(heap[child], heap[first], loads, weights, ranks, numbers):
                first = child
        if first == place:
            return
        heap[place], heap[first] = heap[first], heap[place]
        place = first


@inner_kernel
def _before(a: int, b: int, loads: Int64s, weights: Int64s, ranks: Int32s, numbers: Int64s) -> bool:
    """Does the sum grow less, or as much and a decides ties, if broker a gets a replica instead of b?"""
    grows_a, grows_b = (2 * (loads[a] + numbers[a]) + 1) * weights[b], (2 * (loads[b] + numbers[b]) + 1) * weights[a]
    return bool(grows_a < grows_b or (grows_a == grows_b and ranks[a] < ranks[b]))
