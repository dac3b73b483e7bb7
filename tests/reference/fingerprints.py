"""Chance, evidence and mixtures, by plain counting."""

from __future__ import annotations

import math
from fractions import Fraction


def tail(successes: int, trials: int, probability: Fraction) -> Fraction:
    """P(X ≥ successes) of a binomial X, exactly."""
    return sum(
        (math.comb(trials, k) * probability**k * (1 - probability) ** (trials - k) for k in range(max(successes, 0), trials + 1)),
        Fraction(0),
    )


def matches(dividends: list[list[int | None]], partitions: list[int], counts: list[int]) -> list[list[int]]:
    """How often each writer's dividend, modulo each count, is the partition."""
    return [
        [sum(d is not None and d % n == p for d, p in zip(row, partitions, strict=True)) for n in counts] for row in dividends
    ]


def log_likelihood(explained: list[list[bool]], shares: list[float], partitions_count: int) -> float:
    """Of pairs, each with the writers that explain it, if writers of these shares, and chance with the rest, made them."""
    chance = 1 - sum(shares)
    return sum(
        math.log(sum(share for share, does in zip(shares, row, strict=True) if does) + chance / partitions_count)
        for row in explained
    )


def samples_until(agreements: list[float], doubt: float) -> int:
    """How many samples leave so little doubt, counted up from none."""
    samples = 0
    while sum(agreement**samples for agreement in agreements) > doubt:
        samples += 1
    return samples
