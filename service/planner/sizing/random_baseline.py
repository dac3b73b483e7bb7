"""The skew that chance alone gives: all keys placed on random partitions, again and again.

A good hash is no more even than that, and hot keys make any hash less even. So the band depends on the number of keys and on the
weight of each. The heaviest keys are placed one by one. The many light keys together make a load that is close to a multiple of a
Poisson number with the same mean and variance (exactly that, for large counts, if all weigh the same). With many partitions,
those without a heavy key are not drawn one by one: the largest of m such loads is the quantile U^(1/m).

The seed is fixed, so that the same input has the same result.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt
from numba import njit

from service.core.kernels import inner_kernel, kernel
from service.core.model import Float64s, Int64s

HEAVY: Final = 512
"""Most keys that are placed one by one."""

FEW: Final = 64
"""Up to this many partitions, the load of each is drawn."""

THROWS: Final = 2000
"""How often all keys are placed with up to FEW partitions; half as often with more."""

COVERED: Final = (0.005, 0.995)
"""The band's ends, as quantiles."""


@dataclass(frozen=True, eq=False)
class Weights:
    """The weights of some keys.

    heavy : float64[at most HEAVY + 1], the heaviest keys, descending
    rest, rest_squares : the sum of the other keys' weights, and of their squares
    """

    heavy: Float64s
    rest: float
    rest_squares: float

    @staticmethod
    def of(weights: Int64s | Float64s, times: float = 1.0, heavy: Float64s | None = None) -> Weights:
        """These weights.

        times : the number of keys that each stands for
        heavy : further keys, descending; None: these weights are all keys, and include the heaviest
        """
        weights = weights.astype(np.float64)
        if heavy is None:
            at = max(len(weights) - HEAVY, 0)
            weights = np.partition(weights, at) if at else weights
            heavy, weights = -np.sort(-weights[at:]), weights[:at]
        return Weights(heavy, float(weights.sum()) * times, float((weights * weights).sum()) * times)

    @staticmethod
    def equal(count: int) -> Weights:
        """Keys of equal weight. count : their number"""
        if count <= HEAVY:
            return Weights(np.ones(count), 0.0, 0.0)
        return Weights(np.ones(1), count - 1.0, count - 1.0)  # one by itself, for ``least_maximum``

    def and_one(self, weight: float) -> Weights:
        """These and one more key, unless its weight is 0."""
        return replace(self, heavy=-np.sort(-np.append(self.heavy, float(weight)))) if weight else self

    def divided(self, weight: float) -> tuple[int, Weights]:
        """The number of keys that weigh more than this, and the other keys. ``rest`` counts as keys of equal weight."""
        lighter = self.heavy[self.heavy <= weight]
        heavier = len(self.heavy) - len(lighter)
        if len(lighter) or self.rest_squares <= weight * self.rest:
            return heavier, replace(self, heavy=lighter)
        return heavier + round(self.rest**2 / self.rest_squares), Weights(lighter, 0.0, 0.0)

    def least_maximum(self, partitions_count: int) -> float:
        """A lower bound of the fullest partition's load, whatever the partitioner; 0.0 without keys.

        Of the j × partitions_count + 1 heaviest keys, some partition has at least j + 1. So its load is at least that of the
        lightest j + 1 of these: for j = 0 that of the heaviest key (Martello and Toth's bound for scheduling on identical
        machines). Considers ``heavy`` only. Plain-Python twin: tests/reference/random_baseline.py.
        """
        before = np.concatenate([[0.0], np.cumsum(self.heavy)])
        last = np.arange(0, len(self.heavy), partitions_count)
        return float((before[last + 1] - before[last - np.arange(len(last))]).max(initial=0.0))

    @property
    def total(self) -> float:
        """The total weight."""
        return float(self.heavy.sum()) + self.rest


@dataclass(frozen=True)
class RandomSkew:
    """The skew (max ÷ mean) that chance gives: its mean, and the band ``low`` … ``high`` of 99 in 100 cases."""

    mean: float
    low: float
    high: float


def random_skew(weights: Weights, partitions_count: int) -> RandomSkew:
    """The skew if every key were on a random partition."""
    if partitions_count == 1 or weights.total <= 0:
        return RandomSkew(1.0, 1.0, 1.0)
    # The light keys as ``number`` keys of weight ``each``.
    each = weights.rest_squares / weights.rest if weights.rest else 0.0
    number = weights.rest / each if each else 0.0
    if partitions_count <= FEW:
        maxima = heaviest_of_few(weights.heavy, each, number, partitions_count, THROWS)
    else:
        maxima, untouched = heaviest_touched(weights.heavy, each, number, partitions_count, THROWS // 2)
        if number:
            uniform = (np.arange(len(maxima)) + 0.5) / len(maxima)
            light = _poisson_quantiles(uniform ** (1 / np.maximum(untouched, 1)), number / partitions_count)
            maxima = np.maximum(maxima, each * light)
    skews = maxima * (partitions_count / weights.total)
    low, high = np.quantile(skews, COVERED)
    return RandomSkew(float(skews.mean()), max(1.0, float(low)), float(high))


def _poisson_quantiles(probabilities: Float64s, mean: float) -> Float64s:
    """The least k with P(Poisson(mean) ≤ k) at or above each probability."""
    from scipy.special import pdtr, pdtrik  # noqa: PLC0415 - takes half a second, and most requests do not need it

    k = np.ceil(pdtrik(probabilities, mean))
    below = np.maximum(k - 1, 0)
    quantiles: Float64s = np.where(pdtr(below, mean) >= probabilities, below, k)
    return quantiles


@njit(nogil=True, cache=True, inline="always")
def _next(state: npt.NDArray[np.uint64]) -> np.uint64:
    """SplitMix64 (Steele, Lea and Flood, 2014): 64 random bits."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.uint64(z ^ (z >> np.uint64(31)))


@njit(nogil=True, cache=True, inline="always")
def _uniform(state: npt.NDArray[np.uint64]) -> float:
    """A random number in (0, 1)."""
    return float((np.float64(_next(state) >> np.uint64(11)) + 0.5) * 2.0**-53)


@njit(nogil=True, cache=True, inline="always")
def _partition(state: npt.NDArray[np.uint64], n: int) -> int:
    return int(((_next(state) >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@inner_kernel
def _normal(state: npt.NDArray[np.uint64]) -> float:
    """A normal number (Box and Muller)."""
    return float(np.sqrt(-2.0 * np.log(_uniform(state))) * np.cos(2.0 * np.pi * _uniform(state)))


@kernel
def heaviest_of_few(heavy: Float64s, each: float, number: float, n: int, throws: int) -> Float64s:
    """float64[throws], the largest load of n partitions.

    heavy : float64[...]; each, number : the light keys' common weight and their number
    The light loads always add up to the same: their normal numbers have their mean subtracted, which correlates them as needed.
    Plain-Python twin: tests/reference/random_baseline.py, which draws other random numbers.
    """
    state = np.full(1, n, np.uint64)
    maxima = np.empty(throws)
    loads, normals = np.empty(n), np.empty(n)
    mean = number / n
    for throw in range(throws):
        loads[:] = 0.0
        if number > 0:
            for p in range(n):
                normals[p] = _normal(state)
            middle = normals.mean()
            for p in range(n):
                z = normals[p] - middle
                loads[p] = each * max(0.0, np.floor(mean + np.sqrt(mean) * z + (z * z - 1) / 6 + 0.5))
        for weight in heavy:
            loads[_partition(state, n)] += weight
        maxima[throw] = loads.max()
    return maxima


@kernel
def heaviest_touched(heavy: Float64s, each: float, number: float, n: int, throws: int) -> tuple[Float64s, Float64s]:
    """The largest load of those of n partitions that have a heavy key.

    heavy, each, number : as above. Returns float64[throws] twice: that load, and the number of partitions without a heavy key.
    Poisson numbers are Knuth's below 16; above, normal numbers with Poisson's skewness (Cornish and Fisher).
    """
    state = np.full(1, n, np.uint64)
    maxima, untouched = np.zeros(throws), np.empty(throws)
    loads = np.zeros(n)
    touched = np.empty(len(heavy), np.int64)
    mean = number / n
    for throw in range(throws):
        count = 0
        for weight in heavy:
            p = _partition(state, n)
            if weight > 0.0 and loads[p] == 0.0:
                touched[count] = p
                count += 1
            loads[p] += weight
        for i in range(count):
            count_of_light = 0.0
            if number > 0 and mean < 16:
                product, limit = _uniform(state), np.exp(-mean)
                while product > limit:
                    product *= _uniform(state)
                    count_of_light += 1.0
            elif number > 0:
                z = _normal(state)
                count_of_light = max(0.0, np.floor(mean + np.sqrt(mean) * z + (z * z - 1) / 6 + 0.5))
            maxima[throw] = max(maxima[throw], loads[touched[i]] + each * count_of_light)
            loads[touched[i]] = 0.0
        untouched[throw] = n - count
    return maxima, untouched
