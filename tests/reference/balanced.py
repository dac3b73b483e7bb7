"""The most even placement, by trying every one."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def unevenness(counts: Iterable[int], weights: list[int]) -> Fraction:
    """The sum of count² ÷ weight."""
    return sum((Fraction(count**2, weight) for count, weight in zip(counts, weights, strict=True)), Fraction())


def least_unevenness(
    racks: list[int], fenced: set[int], weights: list[int], loads: list[int], partitions: int, factor: int
) -> Fraction:
    """Of the replicas, over all placements on as many racks as there can be. racks, weights, loads : of each broker"""
    usable = [broker for broker in range(len(racks)) if broker not in fenced]
    most_racks = min(factor, len({racks[broker] for broker in usable}))
    sets = [one for one in combinations(usable, factor) if len({racks[broker] for broker in one}) == most_racks]
    totals = {tuple(loads)}
    for _ in range(partitions):
        totals = {tuple(total + (broker in one) for broker, total in enumerate(before)) for before in totals for one in sets}
    return min(unevenness(total, weights) for total in totals)


def least_uneven_leaders(placement: list[list[int]], weights: list[int], leaders: list[int]) -> Fraction:
    """Of the leaders, over all choices of a leader for each partition."""
    choices = product(*placement)
    return min(
        unevenness([leaders[broker] + choice.count(broker) for broker in range(len(leaders))], weights) for choice in choices
    )
