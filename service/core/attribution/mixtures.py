"""Several writers in one topic: who they are, and who wrote how much.

The *pairs* are the different (key, partition) that were seen. What matters of a pair is which writers explain it, so pairs with
the same pattern are one row.

Goals
    Name the writers whose part in it is no chance, and no other; estimate their shares.
Method
    Greedy, with an exact test. A writer that did not write a pair explains it with the probability 1/n, n being the partition
    count, as its hash has nothing to do with the one that did. So of u pairs that the writers found so far do not explain,
    it explains a binomial number, k. As long as P(X ≥ k), times the number of hypotheses that were tried, is at most
    SIGNIFICANCE for some writer, that with the smallest is added; in the end those are dropped that the others make needless.
    The shares are then those of the greatest likelihood (expectation-maximisation), the rest being what no writer explains but
    by chance: records whose partition the caller named, or that a partitioner placed which looks at no key.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from service.core.attribution.binomial import log_tail

if TYPE_CHECKING:
    import numpy.typing as npt

    from service.core.model import Bools, Int64s

SIGNIFICANCE: Final = 0.001
"""What chance may do at most, for something to be said to be no chance."""

ROUNDS: Final = 500
"""Most rounds of expectation-maximisation; the shares settle long before."""


@dataclass(frozen=True)
class Patterns:
    """The pairs by who explains them, at one partition count.

    explained : bool[patterns, writers]
    undecided : bool[patterns, writers], where the writer might put the record on any partition
    pairs, observations : int64[patterns], different pairs, and how often they were seen
    """

    partitions_count: int
    explained: Bools
    undecided: Bools
    pairs: Int64s
    observations: Int64s

    def score(self, writer: int) -> tuple[int, int]:
        """The pairs that the writer explains, and those of which it says anything."""
        explained, decided = self.explained[:, writer], ~self.undecided[:, writer]
        return int(self.pairs[explained].sum()), int(self.pairs[decided].sum())


@dataclass(frozen=True)
class Part:
    """A writer's part in a mixture.

    pairs, of : how many pairs it explains of those that the other writers leave
    log_chance : natural logarithm of the probability that chance alone does that
    share : of the observations, by the greatest likelihood
    """

    writer: int
    pairs: int
    of: int
    log_chance: float
    share: float


@dataclass(frozen=True)
class Mixture:
    """The writers of a topic.

    parts : the writers, the greatest share first; none where none is more than chance
    chance_share : of the observations, what nobody explains but by chance
    unexplained : pairs that no writer explains
    log_likelihood : of all pairs, natural logarithm
    """

    partitions_count: int
    parts: tuple[Part, ...]
    chance_share: float
    unexplained: int
    log_likelihood: float


def unmix(patterns: Patterns, hypotheses: int) -> Mixture:
    """The writers of the pairs. hypotheses : how many writers and partition counts were tried"""
    found: list[int] = []
    allowed = math.log(SIGNIFICANCE / max(hypotheses, 1))
    while True:
        tests = {w: _test(patterns, found, w) for w in range(patterns.explained.shape[1]) if w not in found}
        best = min(tests, key=lambda w: (tests[w][2], w), default=None)
        if best is None or tests[best][2] > allowed:
            break
        found.append(best)
    for writer in list(found):
        others = [w for w in found if w != writer]
        if others and _test(patterns, others, writer)[2] > allowed:
            found = others
    weights, likelihood = fit(patterns, found)
    parts = [
        Part(writer, *_test(patterns, [w for w in found if w != writer], writer), share=float(share))
        for writer, share in zip(found, weights, strict=False)
    ]
    parts.sort(key=lambda part: (-part.share, part.writer))
    left = ~(patterns.explained[:, found].any(axis=1) | patterns.undecided[:, found].any(axis=1))
    return Mixture(
        patterns.partitions_count, tuple(parts), float(weights[-1]), int(patterns.pairs[left].sum()), likelihood
    )  # fmt: skip


def _test(patterns: Patterns, found: list[int], writer: int) -> tuple[int, int, float]:
    """Of the pairs that the writers found leave, how many another one explains; of how many; and the chance of that, log."""
    left = ~(patterns.explained[:, found].any(axis=1) | patterns.undecided[:, found].any(axis=1))
    left &= ~patterns.undecided[:, writer]
    trials = int(patterns.pairs[left].sum())
    successes = int(patterns.pairs[left & patterns.explained[:, writer]].sum())
    # Where those found do not put the key, one partition in at least so many is the writer's.
    partitions = patterns.partitions_count - len(found)
    return successes, trials, log_tail(successes, trials, 1 / partitions) if partitions > 1 else 0.0


def fit(patterns: Patterns, writers: list[int]) -> tuple[npt.NDArray[np.float64], float]:
    """The shares of the greatest likelihood: float64[writers + 1], the last being chance; and that likelihood's logarithm.

    The likelihood is that of the different pairs, for the same one again is no new evidence; the shares are of the observations.
    """
    chance = 1 / patterns.partitions_count
    likelihood = np.full((len(patterns.pairs), len(writers) + 1), chance)
    undecided = patterns.undecided[:, writers]
    likelihood[:, :-1] = np.where(undecided, chance, patterns.explained[:, writers])
    total = max(int(patterns.pairs.sum()), 1)
    weights = np.full(len(writers) + 1, 1 / (len(writers) + 1))
    for _ in range(ROUNDS):
        joint = likelihood * weights
        updated = patterns.pairs @ (joint / joint.sum(axis=1, keepdims=True)) / total
        settled = np.abs(updated - weights).max() < 1e-9
        weights = updated
        if settled:
            break
    joint = likelihood * weights
    of_each = joint.sum(axis=1, keepdims=True)
    shares = patterns.observations @ (joint / of_each) / max(int(patterns.observations.sum()), 1)
    return shares, float(patterns.pairs @ np.log(of_each[:, 0]))
