"""How likely a result is by chance alone, and how many samples rule chance out."""

import math
from bisect import bisect_left
from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt

NEVER: Final = -1
"""No number of samples is enough."""

MOST: Final = 1 << 40
"""The largest number of samples that is tried."""


def log_tail(successes: int, trials: int, probability: float) -> float:
    """The natural logarithm of P(X ≥ successes) for a binomial X, exact to about ten digits however small it is."""
    if successes <= 0:
        return 0.0
    if successes > trials:
        return -math.inf
    if probability >= 1:
        return 0.0
    from scipy.special import betainc  # noqa: PLC0415 - takes half a second, and most requests do not need it

    tail = float(betainc(successes, trials - successes + 1, probability))
    if tail > 1e-280:
        return math.log(tail)
    # Too small for a float: the first term times a geometric series, which bounds the terms that follow.
    first = (
        math.lgamma(trials + 1) - math.lgamma(successes + 1) - math.lgamma(trials - successes + 1)
        + successes * math.log(probability) + (trials - successes) * math.log1p(-probability)
    )  # fmt: skip
    ratio = (trials - successes) / (successes + 1) * probability / (1 - probability)
    return first - math.log1p(-ratio)


def smallest(test: Callable[[int], bool], start: int = 0) -> int:
    """The smallest number from ``start`` on for which a monotonic predicate is true, or NEVER."""
    if test(start):
        return start
    step = 1
    while not test(start + step):
        step *= 2
        if step > MOST:
            return NEVER
    low = start + step // 2 + 1
    return low + bisect_left(range(low, start + step), True, key=test)


def samples_until(agreements: npt.NDArray[np.float64], doubt: float) -> int:
    """How many samples reduce the probability that any rival still agrees with all of them to ``doubt``, or NEVER.

    agreements : float64[rivals], the share of keys that each rival puts where the truth does
    """
    if (agreements >= 1).any():
        return NEVER
    return smallest(lambda samples: bool(np.power(agreements, samples).sum() <= doubt))
