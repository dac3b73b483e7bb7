"""A topic written by several classes of partitioners: which classes, and the share of each.

The *pairs* are the distinct (key, partition) that were seen. All that matters about a pair is which classes explain it, so pairs
with the same pattern are one row.

Goals
    Name the classes that explain more pairs than chance does, and no others; estimate their shares.
Method
    Greedy, with an exact test. A class that did not write a pair explains it with the probability 1/n, where n is the partition
    count, because its hash is unrelated to the hash that placed the pair. So of u pairs that the classes chosen so far do not
    explain, it explains a binomial number, k. As long as P(X ≥ k), times the number of hypotheses, is at most SIGNIFICANCE for
    any class, the class with the smallest is added. At the end, classes that the others make unnecessary are dropped.
    The shares, of records, are those of the maximum likelihood (``shares``). The rest is what classes explain only by chance:
    records whose partition the caller named, or that were placed by a partitioner that ignores keys.
"""

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from service.core.clock import check_time
from service.core.model import Bools, Int64s
from service.planner.attribution.shares import Floats, merged, most_likely

SIGNIFICANCE: Final = 0.001
"""Highest probability under chance of a result that counts as more than chance."""


@dataclass(frozen=True)
class Patterns:
    """The pairs by the classes that explain them, at one partition count.

    explained : bool[patterns, classes]
    undecided : bool[patterns, classes], where the class may put the record on any partition
    pairs, observations : int64[patterns], distinct pairs, and how often they were seen
    """

    partitions_count: int
    explained: Bools
    undecided: Bools
    pairs: Int64s
    observations: Int64s


@dataclass(frozen=True)
class Component:
    """A class in a mixture.

    pairs, of : how many pairs it explains of those that the other classes leave
    log_chance : natural logarithm of the probability that chance alone explains as many
    share : of the observations, by maximum likelihood
    """

    class_index: int
    pairs: int
    of: int
    log_chance: float
    share: float


@dataclass(frozen=True)
class Mixture:
    """The classes that wrote a topic.

    components : the classes, the largest share first; empty if no class explains more than chance does
    chance_share : of the observations, those that no class wrote; 0 if assuming some does not raise the likelihood
    unexplained : pairs that no component explains
    log_likelihood : of all pairs, natural logarithm
    """

    partitions_count: int
    components: tuple[Component, ...]
    chance_share: float
    unexplained: int
    log_likelihood: float


def unmix(patterns: Patterns, hypotheses: int) -> Mixture:
    """The classes that wrote the pairs.

    hypotheses : the number of classes and partition counts that were tried
    """
    chosen: list[int] = []
    allowed = math.log(SIGNIFICANCE / max(hypotheses, 1))
    while True:
        check_time()
        tests = {k: _test(patterns, chosen, k) for k in range(patterns.explained.shape[1]) if k not in chosen}
        best = min(tests, key=lambda k: (tests[k][2], k), default=None)
        if best is None or tests[best][2] > allowed:
            break
        chosen.append(best)
    for k in list(chosen):
        others = [other for other in chosen if other != k]
        if others and _test(patterns, others, k)[2] > allowed:
            chosen = others
    shares = most_likely(likelihoods(patterns, chosen), patterns.observations)
    components = [
        Component(k, *_test(patterns, [other for other in chosen if other != k], k), share=float(share))
        for k, share in zip(chosen, shares, strict=False)
    ]
    components.sort(key=lambda component: (-component.share, component.class_index))
    unexplained = int(patterns.pairs[_left(patterns, chosen)].sum())
    likelihood = log_likelihood(patterns, chosen)
    return Mixture(patterns.partitions_count, tuple(components), float(shares[-1]), unexplained, likelihood)


def _left(patterns: Patterns, classes: list[int]) -> Bools:
    """bool[patterns], those that none of these classes explains, and whose partition depends on the key in all of them."""
    covered: Bools = patterns.explained[:, classes] | patterns.undecided[:, classes]
    return np.logical_not(covered.any(axis=1))


def _test(patterns: Patterns, chosen: list[int], another: int) -> tuple[int, int, float]:
    """How many of the pairs left by the chosen classes another class explains, of how many, and the log of that chance."""
    left = _left(patterns, chosen) & ~patterns.undecided[:, another]
    trials = int(patterns.pairs[left].sum())
    successes = int(patterns.pairs[left & patterns.explained[:, another]].sum())
    # The key is on none of the partitions where the chosen classes put it; chance picks one of the others.
    partitions = patterns.partitions_count - len(chosen)
    return successes, trials, log_tail(successes, trials, 1 / partitions) if partitions > 1 else 0.0


def likelihoods(patterns: Patterns, classes: list[int]) -> Floats:
    """float64[patterns, classes + 1], the probability of a pair's partition if a class, or last chance, placed the record."""
    chance = 1 / patterns.partitions_count
    result = np.full((len(patterns.pairs), len(classes) + 1), chance)
    result[:, :-1] = np.where(patterns.undecided[:, classes], chance, patterns.explained[:, classes])
    return result


def log_likelihood(patterns: Patterns, classes: list[int]) -> float:
    """The natural logarithm of the highest likelihood of the distinct pairs: a repeated pair is not new evidence."""
    of_patterns, pairs = merged(likelihoods(patterns, classes), patterns.pairs)
    return float(pairs @ np.log(of_patterns @ most_likely(of_patterns, pairs)))


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
