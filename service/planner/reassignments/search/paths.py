"""Cheapest paths of exchanges from broker to broker, and what they improve.

A path a → b takes one replica from a and gives one to b; the brokers between keep their number. Its cost is the copies that it
adds. Three improvements use such paths, and each stops when no path improves, which proves the optimum:

* ``relieve``: as long as a broker has more than ``most``, the cheapest path from such a broker to one with room. Along cheapest
  paths the copies stay the fewest for that many replicas in excess (successive shortest paths).
* ``even_out``: from the broker whose last replica weighs most to a broker for which one more weighs less. The sum of squares of
  replicas ÷ weight falls by (2a - 1) ÷ weight of a - (2b + 1) ÷ weight of b. With a band (``ReplicaSets.low``)
  within which replicas weigh nothing, that holds for the distances from it.
* ``save_copies``: paths of negative cost that leave this sum as it is.

Source: Ford and Fulkerson; Ahuja, Magnanti and Orlin, Network Flows, on convex costs and negative cycles.
"""

from typing import Final

import numpy as np

from service.core.kernels import borrowing_kernel, inner_kernel, kernel
from service.core.model import NONE, Bools, Int32s, Int64s
from service.planner.reassignments.search.exchanges import (
    DONE,
    IMPOSSIBLE,
    MORE,
    STUCK,
    TURN,
    ReplicaSets,
    exchange,
    exchange_cost,
    find,
    in_turns,
    list_exchanges,
)

FAR: Final = np.int64(1) << np.int64(60)
_COST: Final = np.int64(1) << np.int64(24)
"""A key is cost × _COST + number of exchanges: among the cheapest paths the shortest, which uses no partition twice."""


@kernel
def search(s: ReplicaSets, sources: Bools, closed: Bools, key: Int64s, previous: Int32s) -> int:
    """Fill ``key`` and ``previous``, int64 and int32[brokers]; returns NONE, or a broker on a cycle of negative cost.

    sources, closed : bool[brokers]   where paths begin; which brokers they avoid
    """
    brokers = len(s.loads)
    queue = np.empty(brokers + 1, np.int32)
    queued = np.zeros(brokers, np.bool_)
    at = end = 0
    for broker in range(brokers):
        key[broker] = FAR
        previous[broker] = NONE
        if sources[broker]:
            key[broker] = 0
            queue[end] = broker
            queued[broker] = True
            end += 1
    while at != end:
        a = queue[at]
        at = (at + 1) % (brokers + 1)
        queued[a] = False
        base = key[a] + 1
        row = s.cheapest[a]
        s.work[0] += brokers
        for b in range(brokers):
            if row[b] == IMPOSSIBLE or base + row[b] * _COST >= key[b] or closed[b]:
                continue
            key[b] = base + row[b] * _COST
            previous[b] = a
            if key[b] & (_COST - 1) > brokers:
                return b
            if not queued[b]:
                queued[b] = True
                queue[end] = b
                end = (end + 1) % (brokers + 1)
    return NONE


@borrowing_kernel
def cost_of(key: int) -> int:
    """The cost in a key."""
    return key >> 24


@inner_kernel
def path_to(sink: int, previous: Int32s) -> Int64s:
    """int64[...], the brokers of the path, the source first."""
    length = 0
    broker = sink
    while previous[broker] != NONE:
        broker = previous[broker]
        length += 1
    path = np.empty(length + 1, np.int64)
    broker = sink
    for i in range(length, -1, -1):
        path[i] = broker
        broker = previous[broker]
    return path


@inner_kernel
def carry_out(s: ReplicaSets, path: Int64s) -> bool:
    """Carry out the exchanges of the path. False if one of them proved unavailable; then nothing has changed."""
    partitions = find_all(s, path)
    return len(partitions) == len(path) - 1 and exchange_all(s, path, partitions)


@inner_kernel
def find_all(s: ReplicaSets, path: Int64s) -> Int64s:
    """int64[...], a partition for each exchange of the path; fewer if one of them proved unavailable."""
    partitions = np.empty(len(path) - 1, np.int64)
    for i in range(len(partitions)):
        possible = s.cheapest[path[i], path[i + 1]] != IMPOSSIBLE
        partitions[i] = find(s, path[i], path[i + 1]) if possible else NONE
        if partitions[i] == NONE:
            return partitions[:i]
    return partitions


@inner_kernel
def exchange_all(s: ReplicaSets, path: Int64s, partitions: Int64s) -> bool:
    """Carry out the exchanges with these partitions. False if one makes another impossible; then nothing has changed."""
    costs = np.empty(len(partitions), np.int64)
    for i in range(len(partitions)):
        costs[i] = s.cheapest[path[i], path[i + 1]]
    for i in range(len(partitions)):
        if exchange_cost(s, partitions[i], path[i], path[i + 1]) != costs[i]:
            for j in range(i - 1, -1, -1):
                exchange(s, partitions[j], path[j + 1], path[j])
            return False
        exchange(s, partitions[i], path[i], path[i + 1])
    return True


@inner_kernel
def cancel(s: ReplicaSets, broker: int, previous: Int32s) -> bool:
    """Carry out the exchanges of the negative cycle that precedes ``broker``; False if one of them proved unavailable."""
    for _ in range(len(s.loads)):
        broker = previous[broker]
    length = 1
    other = previous[broker]
    while other != broker:
        other = previous[other]
        length += 1
    path = np.empty(length + 1, np.int64)
    for i in range(length, -1, -1):
        path[i] = broker
        broker = previous[broker]
    return carry_out(s, path)


@borrowing_kernel
def last_weighs(s: ReplicaSets, a: int) -> int:
    """What the last replica on a adds to the sum, times a's weight."""
    return _step(s, a, s.loads[a] - 1)


@borrowing_kernel
def next_weighs(s: ReplicaSets, b: int) -> int:
    """What one more replica on b would add to the sum, times b's weight."""
    return _step(s, b, s.loads[b])


@borrowing_kernel
def _step(s: ReplicaSets, broker: int, load: int) -> int:
    """By how much the broker's part of the sum grows from this load to the next."""
    from_band = np.int64(0)
    if load >= s.high[broker]:
        from_band = 2 * (load - s.high[broker]) + 1
    elif load < s.low[broker]:
        from_band = 2 * (load - s.low[broker]) + 1
    return int(s.parts[0] * from_band + s.parts[1] * (2 * (load - s.base[broker]) + 1))


@borrowing_kernel
def lighter(s: ReplicaSets, b: int, a: int) -> bool:
    """Is one more replica on b less of a load than the last one on a?"""
    return bool(next_weighs(s, b) * s.weights[a] < last_weighs(s, a) * s.weights[b])


@kernel
def relieve(s: ReplicaSets) -> int:
    """Take replicas from brokers that have more than ``most``, along the cheapest paths. DONE, MORE or STUCK."""
    brokers = len(s.loads)
    closed = np.zeros(brokers, np.bool_)
    key, previous = np.empty(brokers, np.int64), np.empty(brokers, np.int32)
    while s.work[0] <= TURN:
        sources = (s.loads > s.most) & (s.first != NONE)
        if not (s.loads > s.most).any():
            return DONE
        on_cycle = search(s, sources, closed, key, previous)
        if on_cycle != NONE:
            cancel(s, on_cycle, previous)
            continue
        sink = int(NONE)
        for b in range(brokers):
            if key[b] < FAR and s.loads[b] < s.most[b] and (sink == NONE or key[b] < key[sink]):
                sink = b
        if sink == NONE:
            return STUCK
        carry_out(s, path_to(sink, previous))
    return MORE


@kernel
def even_out(s: ReplicaSets, most_cost: int, ideal: Int64s, exhausted: Bools) -> int:  # noqa: C901 (a kernel)
    """Lower the sum of squares of replicas ÷ weight by paths of at most this cost each. DONE or MORE.

    ideal : int64[brokers]   about the replicas of each at the optimum: as long as both ends are on either side of it, several
        replicas go along the paths of one search
    exhausted : bool[brokers]   brokers with no way to improve; all False at the start, and kept between calls

    If no exchange has a negative cost or all costs may be paid, nothing that can be reached from an exhausted broker is of any
    use to one with less load: its whole reach is left out from then on. Otherwise a change elsewhere may give it a way again.
    """
    brokers = len(s.loads)
    lasting = most_cost > 0 or not s.paid[0]
    sources, none = np.zeros(brokers, np.bool_), np.zeros(brokers, np.bool_)
    key, previous = np.empty(brokers, np.int64), np.empty(brokers, np.int32)
    while s.work[0] <= TURN:
        source = int(NONE)
        for a in range(brokers):
            if not exhausted[a] and s.first[a] != NONE and (source == NONE or _heavier(s, a, source)):
                source = a
        if source == NONE:
            return DONE
        sources[:] = False
        sources[source] = True
        on_cycle = search(s, sources, exhausted if lasting else none, key, previous)
        if on_cycle != NONE:
            cancel(s, on_cycle, previous)
            continue
        sink = _best_sink(s, source, most_cost, ideal, key)
        if sink == NONE:
            if lasting:
                exhausted |= key < FAR
            exhausted[source] = True
            continue
        if not lasting:
            exhausted[:] = False
        while sink != NONE:
            if not carry_out(s, path_to(sink, previous)):
                key[sink] = FAR
            sink = _next_sink(s, source, most_cost, ideal, key, previous)
    return MORE


@borrowing_kernel
def _best_sink(s: ReplicaSets, source: int, most_cost: int, ideal: Int64s, key: Int64s) -> int:
    """Where a replica of the source goes by a path of at most this cost; NONE if it improves nothing anywhere."""
    sink = int(NONE)
    s.work[0] += len(s.loads)
    for b in range(len(s.loads)):
        possible = key[b] < FAR and s.loads[b] < s.most[b] and cost_of(key[b]) <= most_cost and lighter(s, b, source)
        if possible and (sink == NONE or _better_sink(s, b, sink, ideal, key)):
            sink = b
    return sink


@borrowing_kernel
def _next_sink(s: ReplicaSets, source: int, most_cost: int, ideal: Int64s, key: Int64s, previous: Int32s) -> int:
    """The sink of another path of the same search that is still there, as long as both ends are on either side of the ideal."""
    while s.loads[source] > ideal[source]:
        sink = _best_sink(s, source, most_cost, ideal, key)
        if sink == NONE or s.loads[sink] >= ideal[sink]:
            break
        broker, cost = sink, cost_of(key[sink])
        while previous[broker] != NONE:
            cost -= s.cheapest[previous[broker], broker]
            broker = previous[broker]
        if cost == 0:  # of the path as it is now
            return sink
        key[sink] = FAR
    return int(NONE)


@borrowing_kernel
def _better_sink(s: ReplicaSets, a: int, b: int, ideal: Int64s, key: Int64s) -> bool:
    """First those below the ideal, which are sinks at the optimum too; then the cheapest; then the least filled."""
    below_a, below_b = s.loads[a] < ideal[a], s.loads[b] < ideal[b]
    if below_a != below_b:
        return bool(below_a)
    if cost_of(key[a]) != cost_of(key[b]):
        return cost_of(key[a]) < cost_of(key[b])
    return bool(next_weighs(s, a) * s.weights[b] < next_weighs(s, b) * s.weights[a])


@borrowing_kernel
def _heavier(s: ReplicaSets, a: int, b: int) -> bool:
    return bool(last_weighs(s, a) * s.weights[b] > last_weighs(s, b) * s.weights[a])


@kernel
def save_copies(s: ReplicaSets, exhausted: Bools) -> int:  # noqa: C901 (a kernel)
    """Save copies by paths of negative cost that leave the sum of squares as it is. DONE or MORE.

    exhausted : bool[brokers]   as for ``even_out``
    """
    brokers = len(s.loads)
    closed = np.zeros(brokers, np.bool_)
    sources = np.zeros(brokers, np.bool_)
    key, previous = np.empty(brokers, np.int64), np.empty(brokers, np.int32)
    while s.work[0] <= TURN:
        example = NONE
        for a in range(brokers):
            if not exhausted[a] and s.first[a] != NONE:
                example = a
                break
        if example == NONE:
            return DONE
        for a in range(brokers):
            sources[a] = s.first[a] != NONE and not _heavier(s, a, example) and not _heavier(s, example, a)
        on_cycle = search(s, sources, closed, key, previous)
        if on_cycle != NONE:
            cancel(s, on_cycle, previous)
            continue
        last, weight = last_weighs(s, example), s.weights[example]
        sink = int(NONE)
        for b in range(brokers):
            as_even = next_weighs(s, b) * weight == last * s.weights[b]
            if key[b] < 0 and as_even and s.loads[b] < s.most[b] and (sink == NONE or key[b] < key[sink]):
                sink = b
        if sink == NONE:
            exhausted |= sources
        elif carry_out(s, path_to(sink, previous)):
            exhausted[:] = False
    return MORE


MOST: Final = 40_000_000_000
"""What one improvement looks at, in about a minute. Then the sets stay as they are, unproven."""

ANY_COST: Final = 2**30


def improve(s: ReplicaSets, *, even_first: bool) -> bool:
    """Even out the loads at any cost, then with the fewest copies; or without a copy. Returns whether that is optimal."""
    weights = np.where(s.usable, s.weights, 0).astype(np.float64)
    ideal = np.floor(s.loads[s.usable].sum() * weights / max(1.0, weights.sum())).astype(np.int64)
    exhausted = np.zeros(len(s.loads), np.bool_)
    most_cost = ANY_COST if even_first else 0
    if in_turns(s, lambda: even_out(s, most_cost, ideal, exhausted), MOST) != DONE:
        return False
    if not even_first:
        return True
    exhausted[:] = False
    return in_turns(s, lambda: save_copies(s, exhausted), MOST) == DONE


def relieve_all(s: ReplicaSets) -> int:
    """Bring every broker to its ``most``. DONE; STUCK if the rules forbid it; MORE if it took too long to tell.

    Considers exchanges of cost 1 only if it has to.
    """
    result = DONE if (s.loads <= s.most).all() else in_turns(s, lambda: relieve(s), MOST)
    if result == DONE or s.paid[0]:
        return result
    s.paid[0] = True
    list_exchanges(s)
    return in_turns(s, lambda: relieve(s), MOST)
