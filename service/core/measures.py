"""How even a result is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from service.core.model import Float64s, Int32s, Int64s, Ragged


@dataclass(frozen=True)
class Spread:
    """Evenness of counts over their holders (partitions, members, brokers).

    skew : max ÷ mean; 1.0 is perfectly even, and so is nothing at all.
    """

    min: int
    max: int
    mean: float
    stddev: float
    skew: float


@dataclass(frozen=True)
class WeightedSpread:
    """Evenness of loads that need not be integers, otherwise as Spread."""

    min: float
    max: float
    mean: float
    stddev: float
    skew: float


def spread(counts: Int32s | Int64s, holders: int | None = None) -> Spread:
    """The spread of ``counts``.

    counts : int32[...] or int64[...]   what each holder has
    holders : how many holders there are, when those with nothing are left out of ``counts``; default: ``len(counts)``
    """
    holders = len(counts) if holders is None else holders
    if holders == 0:
        return Spread(0, 0, 0.0, 0.0, 1.0)
    least, most, total, squares = _moments(counts.astype(np.int64, copy=False), holders)
    mean = total / holders
    return Spread(least, most, mean, (squares / holders) ** 0.5, most / mean if total else 1.0)


def weighted_load(rows: Ragged, weights: Float64s) -> Float64s:
    """float64[len(rows)], what the values of each row weigh together; a value beyond ``weights`` weighs nothing."""
    holders, known = rows.row_of_each_value(), rows.values < len(weights)
    return np.bincount(holders[known], weights[rows.values[known]], len(rows)).astype(np.float64, copy=False)


def weighted_spread(loads: Float64s) -> WeightedSpread:
    """The evenness of loads. loads : float64[...]"""
    if len(loads) == 0:
        return WeightedSpread(0.0, 0.0, 0.0, 0.0, 1.0)
    mean = float(loads.mean())
    most = float(loads.max())
    return WeightedSpread(float(loads.min()), most, mean, float(loads.std()), most / mean if mean else 1.0)


# These two hold on to the GIL: they take a millisecond for a million, and for one key to give it up would cost more than they do.


@njit(cache=True)
def _moments(counts: Int64s, holders: int) -> tuple[int, int, int, float]:
    """Least, most, total, and the sum of the squared distances from the mean; those left out of ``counts`` have 0."""
    absent = holders - len(counts)
    least = most = np.int64(0)
    if absent == 0:
        least = counts.min()
    total = np.int64(0)
    for count in counts:
        total += count
        most = max(most, count)
    mean = total / holders
    squares = absent * mean * mean
    for count in counts:
        squares += (count - mean) ** 2
    return int(least), int(most), int(total), float(squares)


@njit(cache=True)
def occurrences(indices: Int32s, holders: int) -> Int64s:
    """int64[holders], how often each index occurs; one that is not in ``[0, holders)`` is passed over."""
    counts = np.zeros(holders, np.int64)
    for index in indices:
        if 0 <= index < holders:
            counts[index] += 1
    return counts
