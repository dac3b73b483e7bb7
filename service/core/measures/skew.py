"""How even a result is."""

import numpy as np

from service.core.frozen import frozen
from service.core.kernels import brief_kernel
from service.core.model import Float64s, Int32s, Int64s, Ragged


@frozen
class Spread:
    """Evenness of the loads of partitions, members or brokers.

    min, max : integers of counts, floats of loads
    skew : max ÷ mean; 1.0 is perfectly even, and is the skew of an empty result.
    """

    min: float
    max: float
    mean: float
    stddev: float
    skew: float


def spread(loads: Int32s | Int64s | Float64s, holders: int | None = None) -> Spread:
    """The spread of some loads.

    loads : int32[...] or int64[...] counts, float64[...] weights   the load of each holder (partition, member or broker)
    holders : the number of holders, if ``loads`` leaves out those with no load; default: ``len(loads)``
    """
    holders = len(loads) if holders is None else holders
    weighted = loads.dtype == np.float64
    if holders == 0:
        zero = 0.0 if weighted else 0
        return Spread(zero, zero, 0.0, 0.0, 1.0)
    if weighted:
        least, most, total, squares = _moments_of_weights(loads.astype(np.float64, copy=False), holders)
    else:
        least, most, total, squares = _moments(loads.astype(np.int64, copy=False), holders)
    return _spread(least, most, total, squares, holders)


def distribution(indices: Int32s, holders: int) -> tuple[Int64s, Spread]:
    """int64[holders], how often each index occurs, and the spread of that; indices outside ``[0, holders)`` are skipped.

    indices : int32[...]; holders : at least one
    """
    counts = occurrences(indices, holders)
    return counts, spread(counts)


def _spread(least: float, most: float, total: float, squares: float, holders: int) -> Spread:
    mean = total / holders
    return Spread(least, most, mean, (squares / holders) ** 0.5, most / mean if total else 1.0)


def weighted_load(rows: Ragged, weights: Float64s) -> Float64s:
    """float64[len(rows)], the total weight of the values of each row; a value beyond ``weights`` has no weight."""
    holders, known = rows.row_of_each_value(), rows.values < len(weights)
    return np.bincount(holders[known], weights[rows.values[known]], len(rows)).astype(np.float64, copy=False)


def _moments_of_weights(loads: Float64s, holders: int) -> tuple[float, float, float, float]:
    """The result of ``_moments``, for weights."""
    absent, total = holders - len(loads), float(loads.sum())
    mean = total / holders
    squares = float(((loads - mean) ** 2).sum()) + absent * mean * mean
    return 0.0 if absent else float(loads.min()), float(loads.max(initial=0.0)), total, squares


@brief_kernel
def _moments(counts: Int64s, holders: int) -> tuple[int, int, int, float]:
    """Least, most, total, and the sum of the squared distances from the mean. Holders that ``counts`` leaves out have 0."""
    absent = holders - len(counts)
    least = counts[0] if absent == 0 else np.int64(0)
    most = total = np.int64(0)
    for count in counts:
        total += count
        least = min(least, count)
        most = max(most, count)
    mean = total / holders
    squares = absent * mean * mean
    for count in counts:
        squares += (count - mean) * (count - mean)
    return int(least), int(most), int(total), float(squares)


@brief_kernel
def occurrences(indices: Int32s, holders: int) -> Int64s:
    """int64[holders], how often each index occurs; indices outside ``[0, holders)`` are skipped."""
    counts = np.zeros(holders, np.int64)
    for index in indices:
        if 0 <= index < holders:
            counts[index] += 1
    return counts
