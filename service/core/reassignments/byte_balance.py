"""Bytes: evened out by single exchanges, and brought below ``capacity_bytes``. Good, but not proven: sizes make it a packing
problem.
"""

from typing import Final

from service.core.kernels import inner_kernel, kernel
from service.core.model import NONE, Bools, Int64s
from service.core.reassignments.exchanges import IMPOSSIBLE, State, exchange, exchange_cost

DONE: Final = -1

_ROUNDING: Final = 1e-9
"""What an exchange gains at least, as a share of what it takes from a broker: so rounding makes no exchange go back and forth."""


@kernel
def byte_loads(s: State, sizes: Int64s, loads: Int64s) -> None:
    """Add the bytes of the sets to ``loads``. sizes : int64[partitions of the state]"""
    for partition in range(len(s.offsets) - 1):
        for i in range(s.offsets[partition], s.offsets[partition + 1]):
            loads[s.members[i]] += sizes[partition]


@kernel
def fit_capacities(s: State, sizes: Int64s, loads: Int64s, capacities: Int64s) -> int:
    """Move replicas from the broker that exceeds its capacity most to others with room; returns the moves, or DONE if some
    exceeds.

    First come exchanges without a copy, then the smallest replica that suffices, otherwise the largest; it goes to the broker
    with the most room for its weight.
    """
    for moves in range(2 * len(s.members) + 1):
        a = int(NONE)
        for broker in range(len(loads)):
            over = loads[broker] - capacities[broker]
            if over > 0 and s.first[broker] != NONE and (a == NONE or over > loads[a] - capacities[a]):
                a = broker
        if a == NONE:
            return moves
        partition, b = _to_fit(s, sizes, loads, capacities, a)
        if partition == NONE:
            return DONE
        exchange(s, partition, a, b)
        loads[a] -= sizes[partition]
        loads[b] += sizes[partition]
    return DONE


@inner_kernel
def _to_fit(s: State, sizes: Int64s, loads: Int64s, capacities: Int64s, a: int) -> tuple[int, int]:
    over = loads[a] - capacities[a]
    best, target = NONE, NONE
    best_rank = (0, 0, 0, 0)
    place = s.first[a]
    while place != NONE:
        partition = s.row_of[place]
        size = sizes[partition]
        place = s.after[place]
        if size == 0:
            continue
        for b in range(len(loads)):
            if loads[b] + size > capacities[b] or s.loads[b] >= s.most[b]:
                continue
            cost = exchange_cost(s, partition, a, b)
            if cost == IMPOSSIBLE:
                continue
            enough = size >= over
            rank = (cost, 0 if enough else 1, size if enough else -size, loads[b] // s.weights[b])
            if best == NONE or rank < best_rank:
                best, target, best_rank = partition, b, rank
    return best, target


@kernel
def balance_bytes(
    s: State, sizes: Int64s, loads: Int64s, capacities: Int64s, most_cost: int, exhausted: Bools, exchanged: Bools, steps: int
) -> bool:
    """Lower the sum of squares of bytes ÷ weight by the best single exchange of the fullest broker; does none lower it any more?

    most_cost : of an exchange; exhausted : bool[brokers], those that no exchange relieves; exchanged : bool[1]; both are kept
    between calls; steps : exchanges
    """
    for _ in range(steps):
        a = int(NONE)
        for broker in range(len(loads)):
            fuller = a == NONE or loads[broker] / s.weights[broker] > loads[a] / s.weights[a]
            if fuller and not exhausted[broker] and s.first[broker] != NONE:
                a = broker
        if a == NONE:
            if not exchanged[0]:
                return True
            exhausted[:] = False  # another broker's exchange may have given it a way
            exchanged[0] = False
            continue
        partition, b = _best(s, sizes, loads, capacities, most_cost, a)
        if partition == NONE:
            exhausted[a] = True
            continue
        exchange(s, partition, a, b)
        exchanged[0] = True
        loads[a] -= sizes[partition]
        loads[b] += sizes[partition]
    return False


@inner_kernel
def _best(s: State, sizes: Int64s, loads: Int64s, capacities: Int64s, most_cost: int, a: int) -> tuple[int, int]:
    best, target = NONE, NONE
    best_gain = 0.0
    place = s.first[a]
    while place != NONE:
        partition = s.row_of[place]
        size = float(sizes[partition])
        place = s.after[place]
        relief = size * (2.0 * loads[a] - size) / s.weights[a]
        for b in range(len(loads)):
            gain = relief - size * (2.0 * loads[b] + size) / s.weights[b]
            if (
                gain <= max(best_gain, _ROUNDING * relief)
                or loads[b] + sizes[partition] > capacities[b]
                or s.loads[b] >= s.most[b]
            ):
                continue
            if exchange_cost(s, partition, a, b) <= most_cost:
                best, target, best_gain = partition, b, gain
    return best, target
