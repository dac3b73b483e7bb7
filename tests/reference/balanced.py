"""The placement of ``balanced``, by trying every one."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from math import ceil, floor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def unevenness(counts: Iterable[int], weights: list[int]) -> Fraction:
    """The sum of count² ÷ weight."""
    return sum((Fraction(count**2, weight) for count, weight in zip(counts, weights, strict=True)), Fraction())


def judged(totals: Iterable[int], loads: list[int], weights: list[int], usable: list[int]) -> tuple[Fraction, ...]:
    """The sums of squares ÷ weight of the distances from a tenth around the mean, of what is new, and of all."""
    totals = list(totals)
    mean = Fraction(sum(totals[b] for b in usable), sum(weights[b] for b in usable))
    new = [total - load for total, load in zip(totals, loads, strict=True)]
    away = []
    for b in usable:
        low, high = floor(mean * weights[b] * Fraction(9, 10)), ceil(mean * weights[b] * Fraction(11, 10))
        away.append(max(0, low - totals[b], totals[b] - high))
    of_usable = [weights[b] for b in usable]
    return tuple(unevenness(counts, of_usable) for counts in (away, [new[b] for b in usable], [totals[b] for b in usable]))


def best_replicas(
    racks: list[int], fenced: set[int], weights: list[int], loads: list[int], partitions: int, factor: int
) -> tuple[Fraction, ...]:
    """The least of all placements on as many racks as there can be. racks, weights, loads : of each broker"""
    usable = [broker for broker in range(len(racks)) if broker not in fenced]
    most_racks = min(factor, len({racks[broker] for broker in usable}))
    sets = [one for one in combinations(usable, factor) if len({racks[broker] for broker in one}) == most_racks]
    totals = {tuple(loads)}
    for _ in range(partitions):
        totals = {tuple(total + (broker in one) for broker, total in enumerate(before)) for before in totals for one in sets}
    return min(judged(total, loads, weights, usable) for total in totals)


def best_leaders(placement: list[list[int]], fenced: set[int], weights: list[int], leaders: list[int]) -> tuple[Fraction, ...]:
    """The least over all choices of a leader for each partition; without the last sum."""
    usable = [broker for broker in range(len(leaders)) if broker not in fenced]
    return min(
        judged([leaders[broker] + choice.count(broker) for broker in range(len(leaders))], leaders, weights, usable)[:2]
        for choice in product(*placement)
    )
