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
COST_BIT: Final = 24
_COST: Final = np.int64(1) << np.int64(COST_BIT)
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
def weighs(s: ReplicaSets, broker: int, load: int) -> int:
    """What one replica more than this load adds to the sum, times the broker's weight."""
    from_band = np.int64(0)
    if load >= s.high[broker]:
        from_band = 2 * (load - s.high[broker]) + 1
    elif load < s.low[broker]:
        from_band = 2 * (load - s.low[broker]) + 1
    return int(s.parts[0] * from_band + s.parts[1] * (2 * (load - s.base[broker]) + 1))


@borrowing_kernel
def is_lighter(s: ReplicaSets, b: int, load_b: int, a: int, load_a: int) -> bool:
    """Does one replica more than its load add less on b than on a?"""
    return bool(weighs(s, b, load_b) * s.weights[a] < weighs(s, a, load_a) * s.weights[b])


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
def even_out(s: ReplicaSets, most_cost: int, ideal: Int64s, exhausted: Bools) -> int:  # noqa: C901, PLR0912 (a kernel)
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
            if exhausted[a] or s.first[a] == NONE:
                continue
            if source == NONE or is_lighter(s, source, s.loads[source] - 1, a, s.loads[a] - 1):
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
            # Another path of the same search that is still there, as long as both ends are on either side of the ideal.
            sink = int(NONE)
            while sink == NONE and s.loads[source] > ideal[source]:
                sink = _best_sink(s, source, most_cost, ideal, key)
                if sink == NONE:
                    break
                if s.loads[sink] >= ideal[sink]:
                    sink = int(NONE)
                    break
                broker, cost = sink, key[sink] >> COST_BIT
                while previous[broker] != NONE:
                    cost -= s.cheapest[previous[broker], broker]
                    broker = previous[broker]
                if cost != 0:  # of the path as it is now
                    key[sink] = FAR
                    sink = int(NONE)
    return MORE


@borrowing_kernel
def _best_sink(s: ReplicaSets, source: int, most_cost: int, ideal: Int64s, key: Int64s) -> int:
    """Where a replica of the source goes by a path of at most this cost; NONE if it improves nothing anywhere.

    First those below the ideal, which are sinks at the optimum too; then the cheapest; then the least filled.
    """
    sink = int(NONE)
    s.work[0] += len(s.loads)
    for b in range(len(s.loads)):
        possible = key[b] < FAR and s.loads[b] < s.most[b] and key[b] >> COST_BIT <= most_cost
        if not possible or not is_lighter(s, b, s.loads[b], source, s.loads[source] - 1):
            continue
        better = sink == NONE
        if sink != NONE:
            below, dearer = s.loads[b] < ideal[b], (key[b] >> COST_BIT) - (key[sink] >> COST_BIT)
            if below != (s.loads[sink] < ideal[sink]):
                better = below
            elif dearer != 0:
                better = dearer < 0
            else:
                better = is_lighter(s, b, s.loads[b], sink, s.loads[sink])
        if better:
            sink = b
    return sink


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
        last, weight = weighs(s, example, s.loads[example] - 1), s.weights[example]
        for a in range(brokers):
            sources[a] = s.first[a] != NONE and weighs(s, a, s.loads[a] - 1) * weight == last * s.weights[a]
        on_cycle = search(s, sources, closed, key, previous)
        if on_cycle != NONE:
            cancel(s, on_cycle, previous)
            continue
        sink = int(NONE)
        for b in range(brokers):
            as_even = weighs(s, b, s.loads[b]) * weight == last * s.weights[b]
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
