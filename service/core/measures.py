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
    """Evenness of what holders (partitions, members, brokers) have.

    min, max : integers of counts, floats of loads
    skew : max ÷ mean; 1.0 is perfectly even, and so is nothing at all.
    """

    min: float
    max: float
    mean: float
    stddev: float
    skew: float


def spread(held: Int32s | Int64s | Float64s, holders: int | None = None) -> Spread:
    """The spread of ``held``.

    held : int32[...] or int64[...] counts, float64[...] loads   what each holder has
    holders : how many holders there are, when those with nothing are left out of ``held``; default: ``len(held)``
    """
    holders = len(held) if holders is None else holders
    loads = held.dtype == np.float64
    if holders == 0:
        nothing = 0.0 if loads else 0
        return Spread(nothing, nothing, 0.0, 0.0, 1.0)
    if loads:
        least, most, total, squares = _moments_of_loads(held.astype(np.float64, copy=False), holders)
    else:
        least, most, total, squares = _moments(held.astype(np.int64, copy=False), holders)
    mean = total / holders
    return Spread(least, most, mean, (squares / holders) ** 0.5, most / mean if total else 1.0)


def weighted_load(rows: Ragged, weights: Float64s) -> Float64s:
    """float64[len(rows)], what the values of each row weigh together; a value beyond ``weights`` weighs nothing."""
    holders, known = rows.row_of_each_value(), rows.values < len(weights)
    return np.bincount(holders[known], weights[rows.values[known]], len(rows)).astype(np.float64, copy=False)


def _moments_of_loads(loads: Float64s, holders: int) -> tuple[float, float, float, float]:
    """What ``_moments`` gives, of loads."""
    absent, total = holders - len(loads), float(loads.sum())
    mean = total / holders
    squares = float(((loads - mean) ** 2).sum()) + absent * mean * mean
    return 0.0 if absent else float(loads.min()), float(loads.max(initial=0.0)), total, squares


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
