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


def most_near(
    readers: Sequence[set[int]],
    claims: Sequence[set[int]],
    near: Sequence[set[int]],
    weights: Sequence[float],
    capacities: Sequence[float],
    limits: tuple[float, int],
) -> int:
    """The most partitions that any assignment reads nearby within limits of the largest load ÷ capacity and of the moves."""
    most = 0
    for holders in product(*readers):
        loads = [0.0 for _ in capacities]
        for holder, weight in zip(holders, weights, strict=True):
            loads[holder] += weight
        moves = sum(bool(claimants) and holder not in claimants for claimants, holder in zip(claims, holders, strict=True))
        largest = max(load / capacity for load, capacity in zip(loads, capacities, strict=True))
        if largest <= limits[0] and moves <= limits[1]:
            most = max(most, sum(holder in close for close, holder in zip(near, holders, strict=True)))
    return most


class Nearer:
    """Exchanges of items for ones about as heavy, so that more are near their holders (``core.assignors.balanced.nearer``).

    weights : of each item, heaviest first; may, near, claims : of each item the members that may have it, that are on its racks,
    and that claim it; claimed : does any member, even one that may not have it? could : can it be near anybody?
    widths : of each item, its racks and claimants
    """

    def __init__(
        self,
        weights: Sequence[int],
        capacities: Sequence[float],
        may: Sequence[set[int]],
        near: Sequence[set[int]],
        claims: Sequence[set[int]],
        claimed: Sequence[bool],
        could: Sequence[bool],
        widths: Sequence[int],
    ) -> None:
        self.weights, self.capacities, self.may, self.near = weights, capacities, may, near
        self.claims, self.claimed, self.could, self.widths = claims, claimed, could, widths

    def run(self, holders: list[int], loads: list[int], steps: int) -> None:
        """Exchange items. holders, loads : updated"""
        self.holders, self.loads = holders, loads
        self.limits = [load + load // 10_000 for load in loads]
        self.most = max(self._ratio(member) for member in range(len(loads)))
        improved = True
        while improved and steps > 0:
            improved = False
            self.growth = max(limit - load for limit, load in zip(self.limits, loads, strict=True))
            self.least = min(loads)
            away = [0] * len(loads)
            for item, holder in enumerate(holders):
                for member in self.claims[item] if self._moves(item, holder) else ():
                    away[member] += 1
            far = sum(self._may_gain(item, away) for item in range(len(holders)))
            steps -= 2 * len(holders)
            for item in range(len(holders)):
                if steps <= 0:
                    break
                if self._may_gain(item, away):
                    other, took = self._partner(item, max(64, steps // max(far, 1)))
                    steps -= took
                    if other is not None:
                        improved = True
                        difference = self.weights[item] - self.weights[other]
                        loads[holders[item]] -= difference
                        loads[holders[other]] += difference
                        holders[item], holders[other] = holders[other], holders[item]
                        for member in (holders[item], holders[other]):
                            self.growth = max(self.growth, self.limits[member] - loads[member])
                            self.least = min(self.least, loads[member])

    def _ratio(self, member: int, more: int = 0) -> float:
        return (self.loads[member] + more) / self.capacities[member]

    def _moves(self, item: int, member: int) -> int:
        return int(self.claimed[item] and member not in self.claims[item])

    def _may_gain(self, item: int, away: list[int]) -> bool:
        holder = self.holders[item]
        if not self.could[item] or holder in self.near[item]:
            return False
        return len(self.claims[item]) != 1 or self._moves(item, holder) > 0 or away[holder] > 0

    def _partner(self, item: int, looks: int) -> tuple[int | None, int]:
        member, loads = self.holders[item], self.loads
        own = int(self.most * self.capacities[member]) - loads[member]
        room = int(max(self.growth, self._ratio(member) * max(self.capacities) - self.least))
        apart = [(weight - self.weights[item], other) for other, weight in enumerate(self.weights) if other != item]
        within = [(gap, other) for gap, other in apart if (gap <= own if other < item else -gap <= room)]
        took = 0
        for _, other in sorted(within, key=lambda each: (abs(each[0]), abs(each[1] - item), each[1])):
            if took >= looks:
                break
            took += 1 + (self.widths[item] + self.widths[other]) // 8
            if self._may_exchange(item, other):
                return other, took
        return None, took

    def _may_exchange(self, item: int, other: int) -> bool:
        member, its = self.holders[item], self.holders[other]
        if member == its or its not in self.near[item] or not {its} & self.may[item] or member not in self.may[other]:
            return False
        if its in self.near[other] and member not in self.near[other]:
            return False
        difference = self.weights[item] - self.weights[other]
        grows, falls = (its, member) if difference > 0 else (member, its)
        ratio = self._ratio(grows, abs(difference))
        if ratio > self.most or (self.loads[grows] + abs(difference) > self.limits[grows] and ratio > self._ratio(falls)):
            return False
        before = self._moves(item, member) + self._moves(other, its)
        return self._moves(item, its) + self._moves(other, member) <= before
