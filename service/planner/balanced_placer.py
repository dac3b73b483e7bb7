"""``balanced``: places a topic where it evens out the cluster as it is. No class of Kafka's does this.

*Rules*, in this order:

1. Each partition is on different unfenced brokers, and on as many racks as there can be; brokers without a rack share one.
2. Brokers end within a tenth of the mean (``TOLERANCE``), the replicas that they already have included, or as near as 1. allows:
   the least sum of (distance from this band)² ÷ weight.
3. Among such placements the topic itself is spread: the least sum of (its replicas on a broker)² ÷ weight. So a broker that is a
   little emptier than others does not get several replicas of it.
4. Among these, the least sum of (all replicas of a broker)² ÷ weight.
5. Leaders likewise by 2. and 3., as far as the chosen replicas allow.

*Algorithm*: the replicas of the brokers come first, one after the other, each to the broker whose sums grow least. With the
limits of 1. (a partition has at most one replica on a broker, and at most one, or at least one, on a rack) this is optimal, since
the costs are convex and the limits are nested. Any such numbers can be placed: the replicas, rack by rack, are dealt to the
partitions in turn, so that a rack deals no partition a second one before each has its first (McNaughton's wrap-around rule).
Leaders are then chosen likewise, and
where the replicas do not allow it, along paths of exchanges (``service.planner.reassignments.search.paths``).

Ties go to the broker with the lower id. Nothing is drawn. Plain-Python twin, by trying everything: tests/reference/balanced.py.
"""

from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

import numpy as np

from service.core.errors import IllegalArgument, InvalidReplicationFactor
from service.core.jvm.random import JavaRandom
from service.core.kernels import borrowing_kernel, inner_kernel, kernel
from service.core.model import NONE, Cluster, Int32s, Int64s, PlacementRequest, Ragged, ranks_of
from service.core.placers.admin_utils import check_counts
from service.planner.reassignments.evenness import band
from service.planner.reassignments.leaders import to_front
from service.planner.reassignments.model import Brokers
from service.planner.reassignments.search.exchanges import link, list_exchanges
from service.planner.reassignments.search.paths import improve
from service.planner.reassignments.sets import integer_weights, leader_state

TOLERANCE: Final = 0.1
"""Within this share of the mean the spread of the topic comes first: Cruise Control's threshold of balance is the same."""


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
    now, ranks = cluster.load.replicas[brokers], ranks_of(np.argsort(cluster.broker_ids[brokers], kind="stable"))
    numbers = _numbers(now, _band(now, weights, partitions * factor), weights, racks, ranks, partitions, factor)
    dealt = _dealt(numbers, racks, interleaved=factor <= racks[-1] + 1)
    return _led(cluster, np.ascontiguousarray(brokers[dealt].reshape(factor, partitions).T))


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


def _band(loads: Int64s, weights: Int64s, more: int) -> tuple[Int64s, Int64s]:
    """int64[brokers] twice, the least and the most that brokers are to have with ``more`` replicas."""
    total = loads.copy()
    total[:1] += more  # for the mean, it does not matter where they go
    return band(np.ones(len(loads), np.bool_), weights, total, TOLERANCE)


def _led(cluster: Cluster, placement: Int32s) -> Int32s:
    """The placement with the leaders as even as it allows, those of the cluster's other partitions included."""
    load, partitions = cluster.load, len(placement)
    weights = integer_weights(load.weights)
    usable = np.flatnonzero(~cluster.fenced)
    low, high = np.zeros(len(cluster), np.int64), np.zeros(len(cluster), np.int64)
    low[usable], high[usable] = _band(load.leaders[usable], weights[usable], partitions)
    _lead(placement, load.leaders, (low, high), weights)
    one_rack, ranks = np.zeros(len(usable), np.int32), np.arange(len(usable), dtype=np.int32)
    ideal = np.zeros(len(cluster), np.int64)
    around = low[usable], high[usable]
    ideal[usable] = _numbers(load.leaders[usable], around, weights[usable], one_rack, ranks, partitions, 1)

    def judged(leaders: Int64s) -> tuple[Fraction, Fraction]:
        loads = load.leaders + leaders
        distances = np.maximum(0, np.maximum(low - loads, loads - high)) * (high > 0)  # from the band; 0 for what cannot change
        return _unevenness(distances, weights), _unevenness(leaders, weights)

    leaders = np.bincount(placement[:, 0], minlength=len(cluster))
    return placement if judged(leaders) == judged(ideal) else _elected(cluster, placement, (low, high))


def _elected(cluster: Cluster, placement: Int32s, around: tuple[Int64s, Int64s]) -> Int32s:
    """The placement with leaders chosen along paths of exchanges: into the band, then the evenest of the topic within it."""
    partitions, factor = placement.shape
    offsets = np.arange(partitions + 1, dtype=np.int32) * factor
    choices = Ragged(offsets.astype(np.int32), np.ascontiguousarray(placement).ravel())
    nobody = np.full(partitions, NONE, np.int32)
    brokers = replace(Brokers.of(cluster), weights=cluster.load.weights)
    state = leader_state(brokers, choices, nobody, cluster.load.leaders.astype(np.int64))
    state.low[:], state.high[:], state.base[:] = *around, cluster.load.leaders
    state.parts[:] = 2 * partitions + 2, 1  # more than any spread of the topic weighs
    state.members[:] = placement[:, 0]
    state.loads[:] += np.bincount(placement[:, 0], minlength=len(cluster))
    link(state)
    list_exchanges(state)
    improve(state, even_first=False)
    return to_front(choices, state.members).values.reshape(partitions, factor)


def _unevenness(counts: Int64s, weights: Int64s) -> Fraction:
    """The sum of count² ÷ weight over the brokers."""
    return sum((Fraction(count**2, weight) for count, weight in zip(counts.tolist(), weights.tolist(), strict=True)), Fraction())


@kernel
def _lead(placement: Int32s, loads: Int64s, around: tuple[Int64s, Int64s], weights: Int64s) -> None:
    """Put in front of each partition the broker whose leaders grow the sums least: a start that is nearly even.

    loads : int64[brokers], the leaders that they have; weights : int64[brokers]
    """
    leaders = np.zeros(len(loads), np.int64)
    for row in placement:
        first = 0
        for replica in range(1, len(row)):
            if _grows(row[replica], row[first], loads, around[0], around[1], weights, leaders) < 0:
                first = replica
        row[0], row[first] = row[first], row[0]
        leaders[row[0]] += 1


@kernel
def _numbers(
    loads: Int64s, around: tuple[Int64s, Int64s], weights: Int64s, racks: Int32s, ranks: Int32s, partitions: int, factor: int
) -> Int64s:
    """int64[brokers], how many replicas each broker gets.

    loads : int64[brokers], what they have; around : int64[brokers] twice, the band that they are to be in
    weights : int64[brokers]; racks : int32[brokers], ascending from 0
    ranks : int32[brokers], decides ties
    """
    racks_count = racks[-1] + 1
    low, high = around
    numbers, of_rack = np.zeros(len(loads), np.int64), np.zeros(racks_count, np.int64)
    shares = loads, low, high, weights, racks, ranks, numbers, of_rack
    left = partitions * factor
    if factor > racks_count:  # each rack has a replica of each partition
        for rack in range(racks_count):
            left -= _give(shares, rack, partitions, partitions, partitions)
        _give(shares, NONE, left, partitions, partitions * factor)
    else:
        _give(shares, NONE, left, partitions, partitions)
    return numbers


@inner_kernel
def _give(shares: tuple[Any, ...], only: int, replicas: int, most: int, most_of_rack: int) -> int:
    """Give replicas one by one where the sums grow least, on the rack ``only`` or all, with the most of a broker and a rack.

    shares : ``loads``, the band, ``weights``, ``racks`` and ``ranks`` as for ``_numbers``; how many replicas each broker and each
        rack gets, int64[brokers] and int64[racks], written
    """
    loads, low, high, weights, racks, ranks, numbers, of_rack = shares
    heap = np.empty(len(racks), np.int32)
    size = 0
    for broker in range(len(racks)):
        if only == NONE or only == racks[broker]:
            heap[size] = broker
            size += 1
    for place in range(size // 2 - 1, -1, -1):
        _sink(heap, size, place, loads, low, high, weights, ranks, numbers)
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
        _sink(heap, size, 0, loads, low, high, weights, ranks, numbers)
    return count


@inner_kernel
def _sink(
    heap: Int32s, size: int, place: int, loads: Int64s, low: Int64s, high: Int64s, weights: Int64s, ranks: Int32s, numbers: Int64s
) -> None:
    """Restore the heap below this place. A tuple, whose references are counted at each step, would take ten times as long."""
    while True:
        first = place
        for child in (2 * place + 1, 2 * place + 2):
            if child < size:
                a, b = heap[child], heap[first]
                grows = _grows(a, b, loads, low, high, weights, numbers)
                if grows < 0 or (grows == 0 and ranks[a] < ranks[b]):
                    first = child
        if first == place:
            return
        heap[place], heap[first] = heap[first], heap[place]
        place = first


@borrowing_kernel
def _grows(a: int, b: int, loads: Int64s, low: Int64s, high: Int64s, weights: Int64s, numbers: Int64s) -> int:
    """Below 0 if the sums, in their order, grow less by one more on broker a than by one more on b; 0 if they grow as much."""
    total_a, total_b = loads[a] + numbers[a], loads[b] + numbers[b]
    grows = _leaves(total_a, low[a], high[a]) * weights[b] - _leaves(total_b, low[b], high[b]) * weights[a]
    if grows == 0:
        grows = (2 * numbers[a] + 1) * weights[b] - (2 * numbers[b] + 1) * weights[a]
    if grows == 0:
        grows = (2 * total_a + 1) * weights[b] - (2 * total_b + 1) * weights[a]
    return int(grows)


@borrowing_kernel
def _leaves(load: int, low: int, high: int) -> int:
    """By how much the square of the distance from the band grows with one more."""
    if load >= high:
        return int(2 * (load - high) + 1)
    return int(2 * (load - low) + 1) if load < low else 0
