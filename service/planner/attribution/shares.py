"""The shares of several writers in the records that they wrote, and an interval for each.

The likelihood of a record is the mixture of what each component, a class of partitioners or chance, makes of its pair (key,
partition). The shares are those of the maximum likelihood over records.

Intervals
    Each is a 95% interval for the share in what the writers write, of which the records are a sample. It assumes that the
    classes are the right ones, and that *keys* are independent draws. It does not assume that records are: a service may be the
    only writer of its keys. So the records of a key count as one draw (the sandwich estimate of the variance, with keys as
    clusters). If every record has its own writer, a key's records show it, and the interval comes out as narrow as for
    independent records. If several components explain a pair, its records may all be of one of them: this adds to the variance,
    as far as the records of other keys have one writer each. The interval is Wilson's score interval for as many independent
    records as give this variance. So it stays within [0, 1], and it is not empty at a share of 0 or 1, where each key counts as
    one record.
    A few keys with most of the records make the interval wide, and less reliable.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from service.core.clock import check_time
from service.core.model import Int32s, Int64s

Floats = npt.NDArray[np.float64]

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
    times: Floats


def merged(likelihoods: Floats, counts: Int64s) -> tuple[Floats, Int64s]:
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


def most_likely(likelihoods: Floats, counts: Int64s) -> Floats:
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


def _climb(likelihoods: Floats, weights: Floats) -> Floats:
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


def _information(scores: Floats, weights: Floats) -> Floats:
    """float64[components, components], the negative second derivatives of the log-likelihood of a record."""
    return scores.T @ (weights[:, None] * scores)


def intervals(likelihoods: Floats, shares: Floats, pairs: Pairs) -> tuple[Interval, ...]:
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
