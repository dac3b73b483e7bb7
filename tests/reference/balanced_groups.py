"""The best assignment of a group, by trying every one: partition by partition, every vector of loads that can come about."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def best(
    readers: Sequence[set[int]], claims: Sequence[set[int]], near: Sequence[set[int]], members: int
) -> tuple[tuple[int, ...], int, int] | None:
    """The best loads, most first, the fewest moves with such loads, and with so few moves the most partitions read nearby.

    readers : of each partition the members that may have it, at least one; claims : those that claim it
    near : those that are on a rack of its replicas
    """
    reached = {(0,) * members: (0, 0)}  # loads → (moves, read elsewhere)
    for some, claimants, close in zip(readers, claims, near, strict=True):
        after: dict[tuple[int, ...], tuple[int, int]] = {}
        for loads, (moves, elsewhere) in reached.items():
            for member in some:
                more = (*loads[:member], loads[member] + 1, *loads[member + 1 :])
                cost = (moves + (bool(claimants) and member not in claimants), elsewhere + (member not in close))
                after[more] = min(after.get(more, cost), cost)
        reached = after
    ranked = {loads: tuple(sorted(loads, reverse=True)) for loads in reached}
    even = min(ranked.values())  # the least in this order is the least majorised, if there is one
    assert all(_majorises(each, even) for each in set(ranked.values()))
    moves, elsewhere = min(cost for loads, cost in reached.items() if ranked[loads] == even)
    return even, moves, len(readers) - elsewhere


def _majorises(loads: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return all(sum(loads[:k]) >= sum(other[:k]) for k in range(len(loads) + 1))


def best_weighted(
    readers: Sequence[set[int]],
    claims: Sequence[set[int]],
    near: Sequence[set[int]],
    weights: Sequence[int],
    capacities: Sequence[int],
) -> tuple[list[Fraction], int, int]:
    """The best loads ÷ capacity, largest first, then the fewest moves, then the most partitions read nearby.

    weights : of each partition; capacities : of each member; the others as in ``best``
    """
    members = range(len(capacities))
    scores = []
    for holders in product(*readers):
        loads = [sum(weight for weight, holder in zip(weights, holders, strict=True) if holder == m) for m in members]
        ratios = sorted((Fraction(load, capacity) for load, capacity in zip(loads, capacities, strict=True)), reverse=True)
        moves = sum(bool(claimants) and holder not in claimants for claimants, holder in zip(claims, holders, strict=True))
        elsewhere = sum(holder not in close for close, holder in zip(near, holders, strict=True))
        scores.append((ratios, moves, elsewhere))
    ratios, moves, elsewhere = min(scores)
    return ratios, moves, len(readers) - elsewhere


def best_within(
    readers: Sequence[set[int]],
    claims: Sequence[set[int]],
    near: Sequence[set[int]],
    weights: Sequence[float] | None,
    capacities: Sequence[float],
    most: int,
) -> list[tuple[tuple[float, ...], int, int] | None]:
    """For each number of moves up to ``most`` the best loads, the moves and the partitions read elsewhere; None: too few moves.

    weights : of each partition, and then loads ÷ capacity are largest first; None: the largest load and the sum of squares
    """
    members = range(len(capacities))
    fewest: dict[int, tuple[tuple[float, ...], int, int]] = {}
    for holders in product(*readers):
        loads = [0.0 for _ in members]
        for holder, weight in zip(holders, [1] * len(holders) if weights is None else weights, strict=True):
            loads[holder] += weight
        ratios = sorted((load / capacity for load, capacity in zip(loads, capacities, strict=True)), reverse=True)
        even = tuple(ratios) if weights is not None else (ratios[0], sum(load**2 for load in loads))
        moves = sum(bool(claimants) and holder not in claimants for claimants, holder in zip(claims, holders, strict=True))
        score = even, moves, sum(holder not in close for close, holder in zip(near, holders, strict=True))
        fewest[moves] = min(fewest.get(moves, score), score)
    return [min((score for moves, score in fewest.items() if moves <= k), default=None) for k in range(most + 1)]


def spread(
    weights: Sequence[int],
    readers: Sequence[set[int]],
    owners: Sequence[int],
    capacities: Sequence[float],
    holders: list[int],
    loads: list[int],
    bound: float,
) -> None:
    """Give what nobody (-1) holds to the subscriber that is then least loaded, looking at all. holders, loads : updated

    weights, owners, readers : of each item, heaviest first; an owner gets it back within ``bound``
    """
    counts = [holders.count(member) for member in range(len(loads))]
    for item, weight in enumerate(weights):
        if holders[item] >= 0:
            continue
        after = {
            member: (loads[member] + weight) / capacities[member] for member in sorted({*readers[item], owners[item]} - {-1})
        }
        chosen = owners[item]
        if chosen < 0 or after[chosen] > bound:
            chosen = min(readers[item], key=lambda member: (after[member], counts[member], member))
        holders[item] = chosen
        loads[chosen] += weight
        counts[chosen] += 1
