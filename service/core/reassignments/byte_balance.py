"""Bytes: evened out by single exchanges, and brought below ``capacity_bytes``. Good, but not proven: sizes make it a packing
problem.
"""

from typing import Final

from service.core.kernels import inner_kernel, kernel
from service.core.model import NONE, Bools, Int64s
from service.core.reassignments.curve import Record, mark
from service.core.reassignments.exchanges import IMPOSSIBLE, ReplicaSets, breadth, exchange_cost, replace_broker
from service.core.reassignments.model import NO_LIMIT
from service.core.reassignments.turns import DONE, MORE, STUCK, TURN

EXCEEDED: Final = -1
"""Instead of a number of moves: some broker exceeds its capacity whatever moves."""

_ROUNDING: Final = 1e-9
"""What an exchange gains at least, as a share of what it takes from a broker: so rounding makes no exchange go back and forth."""


@kernel
def byte_loads(s: ReplicaSets, sizes: Int64s, loads: Int64s) -> None:
    """Add the bytes of the sets to ``loads``. sizes : int64[partitions of the state]"""
    for partition in range(len(s.offsets) - 1):
        for i in range(s.offsets[partition], s.offsets[partition + 1]):
            loads[s.members[i]] += sizes[partition]


@kernel
def fit_capacities(s: ReplicaSets, sizes: Int64s, loads: Int64s, capacities: Int64s, moves: Int64s) -> int:
    """Move replicas from the broker that exceeds its capacity most to others with room. DONE, MORE, or STUCK if some exceeds.

    First come exchanges without a copy, then the smallest replica that suffices, otherwise the largest; it goes to the broker
    with the most room for its weight. moves : int64[1], counted up, at most twice the replicas; kept between calls
    """
    while moves[0] <= 2 * len(s.members):
        if s.work[0] > TURN:
            return MORE
        a = int(NONE)
        for broker in range(len(loads)):
            over = loads[broker] - capacities[broker]
            if over > 0 and s.first[broker] != NONE and (a == NONE or over > loads[a] - capacities[a]):
                a = broker
        if a == NONE:
            return DONE
        partition, b = _to_fit(s, sizes, loads, capacities, a)
        if partition == NONE:
            return STUCK
        moves[0] += 1
        replace_broker(s, partition, a, b)
        loads[a] -= sizes[partition]
        loads[b] += sizes[partition]
    return STUCK


@inner_kernel
def _to_fit(s: ReplicaSets, sizes: Int64s, loads: Int64s, capacities: Int64s, a: int) -> tuple[int, int]:
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
        s.work[0] += len(loads) * breadth(s, partition)
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
    s: ReplicaSets, record: Record, band: tuple[Int64s, Int64s], most_cost: int, exhausted: Bools, exchanged: Int64s
) -> int:
    """Lower the sum of squares of bytes ÷ weight by the best single exchange of the fullest broker. DONE or MORE.

    band : int64[brokers] twice: an exchange takes from a broker above the second or gives to one below the first
    most_cost : of an exchange; exhausted : bool[brokers], those that no exchange relieves
    exchanged : int64[2], exchanges since ``exhausted`` was cleared, and in all, at most four times the replicas
    All are kept between calls.
    """
    loads, sizes = record.loads, record.sizes
    while exchanged[1] < 4 * len(s.members):
        if s.work[0] > TURN:
            return MORE
        s.work[0] += len(loads)
        if record.points[0] == 0:
            mark(record, loads, s.weights, s.usable)
        a = int(NONE)
        for broker in range(len(loads)):
            fuller = a == NONE or loads[broker] / s.weights[broker] > loads[a] / s.weights[a]
            if fuller and not exhausted[broker] and s.first[broker] != NONE:
                a = broker
        if a == NONE:
            if exchanged[0] == 0:
                return DONE
            exhausted[:] = False  # another broker's exchange may have given it a way
            exchanged[0] = 0
            continue
        partition, b = _best(s, record, band, most_cost, a)
        if partition == NONE:
            exhausted[a] = True
            continue
        cost = exchange_cost(s, partition, a, b)
        replace_broker(s, partition, a, b)
        exchanged[:] += 1
        loads[a] -= sizes[partition]
        loads[b] += sizes[partition]
        record.copied[0] += cost
        record.copied[1] += cost * sizes[partition]
        mark(record, loads, s.weights, s.usable)
    return DONE


@inner_kernel
def _best(s: ReplicaSets, record: Record, band: tuple[Int64s, Int64s], most_cost: int, a: int) -> tuple[int, int]:
    """The exchange of a that gains most, or with a limit of bytes most per byte."""
    loads, low, high = record.loads, band[0], band[1]
    left, left_bytes = record.limits[0] - record.copied[0], record.limits[1] - record.copied[1]
    best, target = NONE, NONE
    best_gain = 0.0
    place = s.first[a]
    while place != NONE:
        partition = s.row_of[place]
        size = float(record.sizes[partition])
        place = s.after[place]
        s.work[0] += len(loads)
        relief = size * (2.0 * loads[a] - size) / s.weights[a]
        for b in range(len(loads)):
            gain = relief - size * (2.0 * loads[b] + size) / s.weights[b]
            if (
                gain <= _ROUNDING * relief
                or loads[b] + record.sizes[partition] > record.capacities[b]
                or s.loads[b] >= s.most[b]
                or not (loads[a] > high[a] or loads[b] < low[b] or high[a] < 0)
            ):
                continue
            if record.limits[1] < NO_LIMIT:
                gain /= size
            if gain <= best_gain:
                continue
            s.work[0] += breadth(s, partition)
            cost = exchange_cost(s, partition, a, b)
            if cost <= most_cost and cost <= left and cost * record.sizes[partition] <= left_bytes:
                best, target, best_gain = partition, b, gain
    return best, target
