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

from service.core.budget import check_time
from service.core.model import Bools, Float64s, Int32s, Int64s

# The shares of several writers in the records that they wrote, and an interval for each.
#
# The likelihood of a record is the mixture of what each component, a class of partitioners or chance, makes of its pair (key,
# partition). The shares are those of the maximum likelihood over records.
#
# Intervals Each is a 95% interval for the share in what the writers write, of which the records are a sample. It assumes that
# the classes are the right ones, and that *keys* are independent draws. It does not assume that records are: a service may be
# the only writer of its keys. So the records of a key count as one draw (the sandwich estimate of the variance, with keys as
# clusters). If every record has its own writer, a key's records show it, and the interval comes out as narrow as for
# independent records. If several components explain a pair, its records may all be of one of them: this adds to the variance,
# as far as the records of other keys have one writer each. The interval is Wilson's score interval for as many independent
# records as give this variance. So it stays within [0, 1], and it is not empty at a share of 0 or 1, where each key counts as
# one record. A few keys with most of the records make the interval wide, and less reliable.

Interval = tuple[float, float]

ROUNDS: Final = 500
"""Most rounds of the search for the maximum likelihood; Newton's method usually needs fewer than twenty."""

LEAST_STEP: Final = 0.1
"""The part of a share that a round of Newton's method leaves at least."""

LEVELS: Final = 3
"""A pattern is certain in a component, impossible, or as likely as by chance."""

FEW_CODES: Final = 2**20
"""Codes up to which patterns are counted by code, which takes a tenth of the time of sorting them."""

Z: Final = 1.959963984540054
"""The quantile of the normal distribution for a two-sided interval of 95%."""


@dataclass(frozen=True)
class Pairs:
    """Distinct pairs, by key.

    keys : int32[pairs], an index of the key, the same for equal keys
    patterns : int64[pairs], the row of the pair's pattern
    times : float64[pairs], how often the pair was seen
    """

    keys: Int32s
    patterns: Int64s
    times: Float64s


def merged(likelihoods: Float64s, counts: Int64s) -> tuple[Float64s, Int64s]:
    """The distinct rows, and how much they count together.

    Patterns that differ only in classes that are no component count as one: there may be 500,000, and hundreds of rounds.
    likelihoods, counts : as ``most_likely`` has them
    """
    codes, most = np.zeros(len(likelihoods), np.int64), 1
    for column in likelihoods[:, :-1].T:
        if most > np.iinfo(np.int64).max // LEVELS:
            seen, codes = np.unique(codes, return_inverse=True)
            most = len(seen)
        codes = LEVELS * codes + (column > 0) + (column == 1)
        most *= LEVELS
    if most > FEW_CODES:
        codes = np.unique(codes, return_inverse=True)[1]
        most = int(codes.max(initial=0)) + 1
    rows = np.zeros(most, np.int64)
    rows[codes] = np.arange(1, len(codes) + 1)
    present = np.flatnonzero(rows)
    return likelihoods[rows[present] - 1], np.bincount(codes, counts, most)[present].astype(np.int64)


def most_likely(likelihoods: Float64s, counts: Int64s) -> Float64s:
    """float64[components], the shares of maximum likelihood.

    likelihoods : float64[patterns, components], the probability of the pattern's partitions in each component: 0, 1 or that of
        chance, which is the last component
    counts : int64[patterns], of what the shares are: records, or distinct pairs
    """
    likelihoods, counts = merged(likelihoods, counts)
    weights = counts / max(int(counts.sum()), 1)
    if likelihoods[:, :-1].any(axis=1).all():
        # First without chance: it gets no share, not even a rounding error, unless the likelihood rises with it.
        shares = _climb(likelihoods[:, :-1], weights)
        if weights @ (likelihoods[:, -1] / (likelihoods[:, :-1] @ shares)) <= 1 + 1e-9:
            return np.append(shares, 0.0)
    return _climb(likelihoods, weights)


def _climb(likelihoods: Float64s, weights: Float64s) -> Float64s:
    """float64[components], adding up to 1: the shares with the highest weights @ log(likelihoods @ shares), a concave function.

    Each round takes Newton's step, no further than leaves a part of each share, or, if that does not lead as high, the step of
    expectation-maximisation, which always leads uphill.
    likelihoods : no row of zeros; weights : float64[patterns], adding up to 1
    """
    shares = np.full(likelihoods.shape[1], 1 / likelihoods.shape[1])
    for _ in range(ROUNDS):
        check_time()
        scores = likelihoods / (likelihoods @ shares)[:, None]
        slopes = weights @ scores
        updated = shares * slopes
        step = np.linalg.pinv(_information(scores, weights), hermitian=True) @ (slopes - 1)
        falls = step < (LEAST_STEP - 1) * shares
        newton = shares + step * ((LEAST_STEP - 1) * shares[falls] / step[falls]).min(initial=1)
        updated = max(updated, newton / newton.sum(), key=lambda each: float(weights @ np.log(likelihoods @ each)))
        change = np.abs(updated - shares).max()
        shares = updated
        if change < 1e-12:
            break
    return shares


def _information(scores: Float64s, weights: Float64s) -> Float64s:
    """float64[components, components], the negative second derivatives of the log-likelihood of a record."""
    return scores.T @ (weights[:, None] * scores)


def intervals(likelihoods: Float64s, shares: Float64s, pairs: Pairs) -> tuple[Interval, ...]:
    """The 95% interval of each share, as the module's docstring describes. likelihoods, shares : as ``most_likely`` has them"""
    total = float(pairs.times.sum())
    weights = np.bincount(pairs.patterns, pairs.times, len(likelihoods)) / total
    positive = np.flatnonzero(shares > 0)
    scores = likelihoods[:, positive] / (likelihoods @ shares)[:, None]
    influences = (scores - 1) @ np.linalg.pinv(_information(scores, weights), hermitian=True)
    variances = np.zeros(len(shares))
    for component, score, influence in zip(positive, scores.T, influences.T, strict=True):
        written = score * shares[component]  # the probability that this component wrote a pair of the pattern
        of_pairs = pairs.times * influence[pairs.patterns] / total
        of_keys = np.bincount(pairs.keys, of_pairs)
        together = float((of_keys**2).sum())
        apart = float((np.bincount(pairs.keys, np.abs(of_pairs)) ** 2).sum())
        open_pairs = float((pairs.times / total) ** 2 @ (written * (1 - written))[pairs.patterns])
        variances[component] = together + (open_pairs * together / apart if apart else 0)
    keys = int(np.count_nonzero(np.bincount(pairs.keys)))
    return tuple(
        wilson(share, share * (1 - share) / variance if variance > 0 and 0 < share < 1 else keys)
        for share, variance in zip(shares.tolist(), variances.tolist(), strict=True)
    )


def wilson(share: float, trials: float) -> Interval:
    """Wilson's 95% score interval for a probability, given a share of ``trials`` independent trials, which need not be whole."""
    center = share + Z**2 / (2 * trials)
    margin = Z * math.sqrt(max(0.0, share * (1 - share) / trials) + Z**2 / (4 * trials**2))
    scale = 1 + Z**2 / trials
    return (max(0.0, (center - margin) / scale) if share > 0 else 0.0, min(1.0, (center + margin) / scale) if share < 1 else 1.0)


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


def likelihoods(patterns: Patterns, classes: list[int]) -> Float64s:
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


def samples_until(agreements: Float64s, doubt: float) -> int:
    """How many samples reduce the probability that any rival still agrees with all of them to ``doubt``, or NEVER.

    agreements : float64[rivals], the share of keys that each rival puts where the truth does
    """
    if (agreements >= 1).any():
        return NEVER
    return smallest(lambda samples: bool(np.power(agreements, samples).sum() <= doubt))
