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
    """Exchanges of sets of items, so that fewer move and more are near their holders (``core.assignors.balanced.nearer``).

    weights : of each item, heaviest first; may, near, claims : of each item the members that may have it, that are on its racks,
    and that claim it; claimed : does any member, even one that may not have it? could : can it be near anybody?
    widths : of each item, its racks and claimants; topics : its kind of topic
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
        topics: Sequence[int],
    ) -> None:
        self.weights, self.capacities, self.may, self.near = weights, capacities, may, near
        self.claims, self.claimed, self.could, self.widths, self.topics = claims, claimed, could, widths, topics

    def run(self, holders: list[int], loads: list[int], steps: int) -> None:
        """Exchange items. holders, loads : updated"""
        self.holders, members = holders, len(loads)
        limits = self._limits(loads)
        passes = idle = 0
        while idle < 3 and steps > 0:
            improved = False
            for apart in range(1, members):
                steps -= members - apart
                for one in range(members - apart):
                    other = one + apart
                    if steps <= 0 or not any(self._may_gain(item) for item, its in enumerate(holders) if its in (one, other)):
                        continue
                    ours, theirs = self._offer(one, other, passes), self._offer(other, one, passes)
                    steps -= self._steps(one, other) + self._steps(other, one)
                    if not any(gain > 0 for _, gain in ours + theirs):
                        continue
                    steps -= (1 << len(ours)) + (1 << len(theirs))
                    room = limits[one] - loads[one], limits[other] - loads[other]
                    gain, given, taken = self._best(ours, theirs, room, -1 if idle else 0)
                    if limits[one] != limits[other] and self.capacities[one] == self.capacities[other]:
                        room = limits[other] - loads[one], limits[one] - loads[other]
                        swapped = self._best(ours, theirs, room, -1 if idle else 0)
                        if swapped[0] > gain:
                            gain, given, taken = swapped
                            limits[one], limits[other] = limits[other], limits[one]
                    improved |= gain > 0
                    for item, source, target in [(item, one, other) for item in given] + [(item, other, one) for item in taken]:
                        holders[item] = target
                        loads[source] -= self.weights[item]
                        loads[target] += self.weights[item]
            passes += 1
            idle = 0 if improved else idle + 1

    def _limits(self, loads: list[int]) -> list[int]:
        most = max(load / capacity for load, capacity in zip(loads, self.capacities, strict=True))
        limits = []
        for load, capacity in zip(loads, self.capacities, strict=True):
            trials = (load + load // 10_000, max(load, int(most * capacity)), load)
            limits.append(next(limit for limit in trials if limit / capacity <= most))
        return limits

    def _moves(self, item: int, member: int) -> int:
        return int(self.claimed[item] and member not in self.claims[item])

    def _may_gain(self, item: int) -> bool:
        holder = self.holders[item]
        returns = self._moves(item, holder) and bool(self.claims[item])
        return returns or (self.could[item] and holder not in self.near[item])

    def _held(self, member: int, other: int) -> list[int]:
        return [item for item, holder in enumerate(self.holders) if holder == member and other in self.may[item]]

    def _steps(self, member: int, other: int) -> int:
        topics = [topic for topic, holder in zip(self.topics, self.holders, strict=True) if holder == member]
        kinds = sum(topic != before for topic, before in zip(topics, [None, *topics], strict=False))
        return len(topics) + 8 * kinds + sum(self.widths[item] // 8 for item in self._held(member, other))

    def _offer(self, member: int, other: int, passes: int) -> list[tuple[int, int]]:
        """Items and their gains: eight, those that gain first, and of those that lose three."""
        gains = {
            item: 64 * (self._moves(item, member) - self._moves(item, other))
            + (other in self.near[item])
            - (member in self.near[item])
            for item in self._held(member, other)
        }
        offered: list[int] = []
        for some in (
            [item for item, gain in gains.items() if gain > 0],
            [item for item, gain in gains.items() if gain == 0],
            [item for item, gain in gains.items() if gain < 0],
        ):
            most = min(len(some), 8 - len(offered), 3 if some and gains[some[0]] < 0 else 8)
            skipped = passes * most % len(some) if len(some) > most else 0
            turned = some[skipped:] + some[:skipped]
            offered += turned[:most]
        return [(item, gains[item]) for item in sorted(offered)]

    def _best(
        self, ours: list[tuple[int, int]], theirs: list[tuple[int, int]], room: tuple[int, int], best: int
    ) -> tuple[int, list[int], list[int]]:
        """The gain, if more than ``best``, of the sets to give and to take. room : of the giver, and of the other"""
        found = best, 0, 0
        takes = self._sets(theirs)
        for weight, gain, mask in self._sets(ours):
            within = [each for each in takes if weight - room[1] <= each[0] <= weight + room[0]]
            if within:
                _, more, taken = max(reversed(within), key=lambda each: each[1])
                if gain + more > found[0] and mask | taken:
                    found = gain + more, mask, taken
        given, taken = (
            [item for place, (item, _) in enumerate(some) if mask >> place & 1]
            for some, mask in zip((ours, theirs), found[1:], strict=True)
        )
        return found[0], given, taken

    def _sets(self, offered: list[tuple[int, int]]) -> list[tuple[int, int, int]]:
        """Weight, gain and mask of all sets, by weight and mask."""
        sets = []
        for mask in range(1 << len(offered)):
            some = [each for place, each in enumerate(offered) if mask >> place & 1]
            sets.append((sum(self.weights[item] for item, _ in some), sum(gain for _, gain in some), mask))
        return sorted(sets, key=lambda each: (each[0], each[2]))
