"""Earlier partition counts of a topic that grew.

Kafka moves no record when partitions are added, so a record is where its writer's hash modulo the count *of its time* put it. A
class at an earlier count explains a pair on one of its m partitions by chance with the probability 1/m. Growth is by far the
commonest reason why a writer explains most pairs but not all, and a hash modulo one count agrees with the same hash by other sign
rules modulo another far more often than unrelated hashes do. So earlier counts are considered before further writers.

For each class greedily, as in ``mixtures``: the count that explains most beyond chance, then the one that explains most of the
rest. Counts of one class are no independent hypotheses, so only what the chosen counts leave is evidence of another.
"""

import math
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from service.core.clock import check_time
from service.core.model import Int32s, Int64s
from service.core.partitioners.hashing_rule import Sign
from service.planner.attribution.equivalents import PartitionerClass
from service.planner.attribution.mixtures import SIGNIFICANCE
from service.planner.attribution.observations import matches
from service.planner.attribution.shares import Floats

MOST_CLASSES: Final = 8
"""Classes whose counts are looked for: those with the strongest evidence."""

MOST_TRIED: Final = 100_001
"""Counts of more partitions than any topic has are not tried: each takes memory and time for every class."""

MOST_COUNTS: Final = 5
"""Counts of one class: a topic that grew four times."""


STEP: Final = 1 << 25
"""Pairs × classes × partition counts that are tried between two looks at the time."""


class Growth(NamedTuple):
    """The partition counts, ascending, at which a class explains more pairs than chance does.

    log_chance : the sum of the logarithms of what chance gives each of them
    """

    class_index: int
    counts: tuple[int, ...]
    log_chance: float


def find_growth(dividends: Floats, partitions: Int32s, counts: range, hypotheses: int) -> list[Growth]:
    """The classes that may have written pairs, each with all counts that it needs to explain them; the likeliest first.

    dividends : float64[classes, n], as ``Hashes.dividends``; partitions : int32[n], where the keys were seen
    counts : those that the topic may have now
    """
    if counts.stop > MOST_TRIED:
        return []
    tried = np.arange(1, counts.stop, dtype=np.int64)
    allowed = math.log(SIGNIFICANCE / (hypotheses + len(dividends) * counts.start))
    strongest, at_once = np.zeros(len(dividends)), max(1, STEP // max(1, dividends.size))
    for start in range(0, len(tried), at_once):
        check_time()
        for some in (partitions >= 0, partitions > 0):
            evidence = evidence_of(dividends[:, some], partitions[some], tried[start : start + at_once])
            strongest = np.minimum(strongest, evidence.min(axis=1))
    found = []
    for k in np.argsort(strongest, kind="stable")[:MOST_CLASSES].tolist():
        decided = ~np.isnan(dividends[k])
        of_class = dividends[k, decided], partitions[decided], tried, allowed
        counts_of, log_chance, left = _cover(*of_class)
        if left:
            from_one = _cover(*of_class, from_one=True)
            counts_of, log_chance, left = from_one if not from_one[2] else (counts_of, log_chance, left)
        if counts_of:
            found.append(Growth(k, tuple(counts_of), log_chance))
    return sorted(found, key=lambda each: (each.log_chance, each.class_index))


def before_growth(each: PartitionerClass, partitions_count: int) -> PartitionerClass:
    """What the class did while the topic had that count."""
    sign = each.rule.sign
    earlier = Sign(
        sign.name,
        f"{sign.rule}, n being {partitions_count}",
        lambda hashes, _: sign.run(hashes, partitions_count),
        lambda value: sign.before_modulo(value) % partitions_count,
    )
    return PartitionerClass(each.names, replace(each.rule, sign=earlier), partitions_count)


def _cover(
    dividends: Floats, partitions: Int32s, tried: Int64s, allowed: float, *, from_one: bool = False
) -> tuple[list[int], float, int]:
    """The counts of a class, ascending, their log_chance, and how many pairs they leave. from_one : was the first count 1?

    At that count, partition 0 says nothing about keys; so the others are covered first, and all that is left must be on it.
    """
    left = partitions >= from_one
    chosen: list[int] = []
    log_chance = 0.0
    while len(chosen) < MOST_COUNTS and left.any() and (rest := 1 - sum(1 / count for count in chosen)) > 0:
        check_time()
        evidence = evidence_of(dividends[left][None], partitions[left], tried, rest)[0]
        best = int(evidence.argmin())
        if evidence[best] > allowed:
            break
        chosen.append(int(tried[best]))
        log_chance += float(evidence[best])
        left &= ~_explained(dividends, partitions, chosen[-1])
    if not chosen:
        return [], 0.0, len(partitions)
    left = np.logical_and.reduce([~_explained(dividends, partitions, count) for count in chosen])
    if from_one:
        of_first = -math.log(max(chosen)) * np.count_nonzero(left)
        if (partitions[left] > 0).any() or of_first > allowed:
            return [], 0.0, len(partitions)
        return [1, *sorted(chosen)], log_chance + of_first, 0
    return sorted(chosen), log_chance, int(np.count_nonzero(left))


def _explained(dividends: Floats, partitions: Int32s, count: int) -> npt.NDArray[np.bool_]:
    explained: npt.NDArray[np.bool_] = dividends % count == partitions
    return explained


def evidence_of(dividends: Floats, partitions: Int32s, counts: Int64s, rest: float = 1.0) -> Floats:
    """float64[classes, counts], Chernoff's upper bound of the log of the probability that chance explains as many pairs.

    rest : the share of its partitions at which chance may put a key that earlier choices do not explain
    """
    explained = matches(np.ascontiguousarray(dividends), partitions, counts, np.ones((len(dividends), len(counts)), np.bool_))
    # Only pairs on partitions below a count can be evidence of it.
    pairs = np.array([np.searchsorted(np.sort(partitions[~np.isnan(row)]), counts) for row in dividends])
    chance = np.minimum(1 / (counts * rest), 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = explained / pairs
        hits = np.where(share > 0, share * np.log(share / chance), 0)
        misses = np.where(share < 1, (1 - share) * np.log((1 - share) / (1 - chance)), 0)
        bounds: Floats = np.where(share > chance, -pairs * (hits + misses), 0.0)
    return bounds
