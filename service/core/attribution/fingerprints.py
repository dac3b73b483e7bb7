"""Which partitioner wrote a topic, and with how many partitions: keys and their partitions → the classes that explain them.

A *candidate* is a class of partitioners (``equivalents``) at a partition count n. A candidate that did not write a pair (key,
partition) explains it with the probability 1/n. So a few pairs rule out most candidates, but one pair is never proof.
``service.core.attribution.mixtures`` separates several classes that wrote one topic.

If the count is not known, every possible count is tried with the first SAMPLE distinct pairs, and the likeliest counts with all
pairs. One hash of a key serves all counts.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from service.core.attribution.binomial import NEVER, log_tail, samples_until, smallest
from service.core.attribution.equivalents import PartitionerClass, PartitionerClasses, classify, hash_all
from service.core.attribution.mixtures import SIGNIFICANCE, Mixture, Patterns, fit, unmix
from service.core.attribution.observations import EMPTY_KEY, NO_KEY, Observations, find_patterns, first_rows, matches, sample
from service.core.attribution.probe_keys import probe_keys
from service.core.errors import InvalidQuestion
from service.core.model import Int32s, Int64s
from service.core.partitioners.model import Partitioner

Floats = npt.NDArray[np.float64]

SAMPLE: Final = 2048
"""Distinct pairs with which every partition count is tried."""

COUNTS: Final = 8
"""Partition counts that are tried with all pairs."""

MAX_CLASSES: Final = 60
"""Most classes; ``explained_by`` has a bit for each."""

WORSE: Final = math.log(1000)
"""A candidate whose log-likelihood is lower than the best by more than this is ruled out."""

DOUBT: Final = 0.01
"""The probability that another candidate is still possible after the number of samples given in the answer."""


@dataclass(frozen=True)
class Candidate:
    """A class at a partition count.

    pairs, of : distinct pairs that it explains, of those whose partition in the class depends on the key
    log_chance : natural logarithm of the probability that chance alone explains as many
    ruled_out : do the observations rule it out?
    more_samples : how many rule it out if the first candidate is right, or NEVER; None if it is ruled out or part of the answer
    """

    class_index: int
    partitions_count: int
    pairs: int
    of: int
    log_chance: float
    ruled_out: bool
    more_samples: int | None


@dataclass(frozen=True)
class Fingerprint:
    """Who wrote the observed records.

    verdict : "identified" (one class explains everything), "mixture", "undecided" or "unexplained"
    partitioners : the partitioners by class, and those that cannot be the answer
    count_open : were several partition counts possible?
    hypotheses : the number of classes × partition counts
    mixture : the classes at the likeliest partition count
    candidates : the likeliest first; where several counts are possible, only those that are not ruled out
    candidates_count : how many are not ruled out
    more_samples : how many leave one answer; 0 if there is one; NEVER if no number does; None if nothing explains the records
    examples : for each component of the mixture, the first rows that it explains and no other does; last, those that none does
    """

    verdict: str
    partitioners: PartitionerClasses
    count_open: bool
    hypotheses: int
    mixture: Mixture
    candidates: tuple[Candidate, ...]
    candidates_count: int
    more_samples: int | None
    examples: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Trials:
    """How many pairs each class explains at each partition count.

    counts : int64[counts]
    explained : int64[classes, counts], distinct pairs
    decided : int64[classes], the pairs whose partition in the class depends on the key; total : all pairs
    """

    counts: Int64s
    explained: Int64s
    decided: Int64s
    total: int

    def log_likelihoods(self) -> Floats:
        """float64[classes, counts], of all pairs, if the class and chance placed them in the likeliest proportion."""
        k, n, partitions = self.explained.astype(float), self.decided[:, None].astype(float), self.counts.astype(float)
        with np.errstate(divide="ignore", invalid="ignore"):
            # A share is never negative: a class that explains less than chance does wrote nothing.
            share = np.maximum(np.where(n > 0, k / n, 0), 1 / partitions)
            explained = np.where(k > 0, k * np.log(share), 0)
            others = np.where(n > k, (n - k) * np.log((1 - share) / (partitions - 1)), 0)
        result: Floats = explained + others - (self.total - n) * np.log(partitions)
        return result


@dataclass(frozen=True)
class Case:
    """What a verdict is based on: the observations, the trials, and the mixture at the likeliest count."""

    observations: Observations
    classes: tuple[PartitionerClass, ...]
    hypotheses: int
    patterns: Patterns
    mixture: Mixture
    trials: Trials


def fingerprint(
    partitioners: Iterable[Partitioner],
    observations: Observations,
    partitions_counts: range,
    most_candidates: int = 20,
    most_examples: int = 3,
) -> Fingerprint:
    """The classes that explain where keys were seen.

    partitions_counts : those that are possible, all above the largest partition in the observations
    Raises InvalidQuestion if no partitioner hashes such keys.
    """
    kinds = observations.kinds
    has_null, has_empty = bool((kinds == NO_KEY).any()), bool((kinds == EMPTY_KEY).any())
    classified = classify(partitioners, observations.key_format, has_null=has_null, has_empty=has_empty)
    classes = classified.classes
    if not 0 < len(classes) <= MAX_CLASSES:
        raise InvalidQuestion(
            f"they hash such keys in {len(classes)} ways; at least 1 and at most {MAX_CLASSES} can be compared", "partitioners"
        )
    hypotheses = len(classes) * len(partitions_counts)
    trials = _try(classes, observations, partitions_counts)
    order = np.lexsort((trials.counts, -trials.log_likelihoods().max(axis=0)))
    shortlist = [int(n) for n in trials.counts[order[:COUNTS]]]
    patterns = find_patterns(classes, observations, shortlist)
    mixtures = {n: unmix(patterns[n], hypotheses) for n in shortlist}
    explaining = [n for n in shortlist if mixtures[n].components] or shortlist[:1]
    best = max(explaining, key=lambda n: mixtures[n].log_likelihood - _price(mixtures[n], observations.pairs))
    if observations.pairs > SAMPLE:
        trials = _of_all_pairs(patterns)
    case = Case(observations, classes, hypotheses, patterns[best], mixtures[best], trials)
    return _judge(case, classified, None if len(partitions_counts) == 1 else most_candidates, most_examples)


def _try(classes: tuple[PartitionerClass, ...], observations: Observations, partitions_counts: range) -> Trials:
    dividends, partitions = sample(classes, observations, SAMPLE)
    counts = np.arange(partitions_counts.start, partitions_counts.stop, dtype=np.int64)
    decided = np.count_nonzero(~np.isnan(dividends), axis=1).astype(np.int64)
    return Trials(counts, matches(dividends, partitions, counts), decided, len(partitions))


def _of_all_pairs(patterns: dict[int, Patterns]) -> Trials:
    """The shortlist's trials with all pairs, not only the sample."""
    counts = np.array(sorted(patterns), np.int64)
    one = patterns[int(counts[0])]
    explained = np.stack([patterns[int(n)].pairs @ patterns[int(n)].explained for n in counts], axis=1)
    return Trials(counts, explained, one.pairs @ ~one.undecided, int(one.pairs.sum()))


def _price(mixture: Mixture, pairs: int) -> float:
    """The log-likelihood that a mixture must gain to beat one of fewer classes (Schwarz's criterion)."""
    return 0.5 * len(mixture.components) * math.log(max(pairs, 1))


def _judge(case: Case, classified: PartitionerClasses, most_candidates: int | None, most_examples: int) -> Fingerprint:
    trials, mixture = case.trials, case.mixture
    likelihoods = trials.log_likelihoods()
    column = int(np.searchsorted(trials.counts, mixture.partitions_count))
    answer = [component.class_index for component in mixture.components] or [int(likelihoods[:, column].argmax())]
    in_answer = np.zeros(likelihoods.shape, np.bool_)
    in_answer[answer, column] = True
    surviving = _surviving(case, likelihoods >= max(mixture.log_likelihood, likelihoods[answer[0], column]) - WORSE)
    surviving[:, column] |= in_answer[:, column] & (len(mixture.components) > 0)
    agreeing = _agreements(case, answer[0])
    for component in mixture.components if len(mixture.components) > 1 else ():
        for k in _substitutes(case, answer, component.class_index):
            surviving[k, column] = True
            agreeing[k, column] = 1 - component.share * (1 - _agreements(case, component.class_index)[k, column])
    rivals = surviving & ~in_answer
    rank = np.lexsort(
        (np.broadcast_to(trials.counts, rivals.shape).ravel(), -likelihoods.ravel(), ~surviving.ravel(), ~in_answer.ravel())
    )
    listed = rank if most_candidates is None else rank[(surviving | in_answer).ravel()[rank]][:most_candidates]
    candidates = tuple(
        _candidate(trials, k, c, ruled_out=not surviving[k, c], agreeing=float(agreeing[k, c]) if rivals[k, c] else None)
        for k, c in (divmod(int(i), len(trials.counts)) for i in listed)
    )
    more = _more_samples(case, candidates[0], agreeing[rivals])
    verdict = _verdict(case, candidates[0], more)
    return Fingerprint(
        verdict, classified, most_candidates is not None, case.hypotheses, mixture, candidates, int(surviving.sum()),
        None if verdict == "unexplained" else more, _examples(case, most_examples),
    )  # fmt: skip


def _surviving(case: Case, likely: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Of the likely candidates, those that no pair contradicts, or that explain more than chance does.

    likely : bool[classes, counts]
    """
    trials, allowed = case.trials, math.log(SIGNIFICANCE / case.hypotheses)
    surviving: npt.NDArray[np.bool_] = likely & (trials.explained == trials.decided[:, None])
    for k, c in zip(*np.nonzero(likely & ~surviving & (trials.explained > 0)), strict=True):
        pairs, decided = int(trials.explained[k, c]), int(trials.decided[k])
        surviving[k, c] = log_tail(pairs, decided, 1 / int(trials.counts[c])) <= allowed
    return surviving


def _candidate(trials: Trials, k: int, c: int, *, ruled_out: bool, agreeing: float | None) -> Candidate:
    n, pairs, decided = int(trials.counts[c]), int(trials.explained[k, c]), int(trials.decided[k])
    more = None if agreeing is None else samples_until(np.array([agreeing]), DOUBT)
    return Candidate(k, n, pairs, decided, log_tail(pairs, decided, 1 / n), ruled_out, more)


def _agreements(case: Case, class_index: int) -> Floats:
    """float64[classes, counts]: the share of random keys that each puts where this class does at the likeliest count."""
    column = probe_keys(case.observations.key_format)
    hashes = hash_all(case.classes, column, case.observations.key_format)
    partitions = hashes.partitions(case.mixture.partitions_count)[class_index]
    return matches(hashes.dividends(), partitions, case.trials.counts) / len(partitions)


def _substitutes(case: Case, answer: list[int], class_index: int) -> list[int]:
    """The classes that explain the records nearly as well in the place of this one."""
    others = [k for k in answer if k != class_index]
    enough = case.mixture.log_likelihood - WORSE
    return [k for k in range(len(case.classes)) if k not in answer and fit(case.patterns, [*others, k])[1] >= enough]


def _more_samples(case: Case, first: Candidate, agreeing: Floats) -> int:
    """How many more samples leave one answer if the first candidate is right, or NEVER."""
    allowed = math.log(SIGNIFICANCE / case.hypotheses)
    chance = 1 / first.partitions_count
    proof = 0
    if not case.mixture.components:
        proof = smallest(lambda more: log_tail(first.pairs + more, first.of + more, chance) <= allowed)
    separation = samples_until(agreeing, DOUBT)
    another_key = max(0, 2 - case.observations.keys)  # one sample is never proof
    return NEVER if NEVER in (proof, separation) else max(proof, separation, another_key)


def _verdict(case: Case, first: Candidate, more: int) -> str:
    if case.mixture.components:
        if more != 0:
            return "undecided"
        return "identified" if len(case.mixture.components) == 1 and case.mixture.unexplained == 0 else "mixture"
    # Would the best candidate be more than chance if it explained everything?
    allowed = math.log(SIGNIFICANCE / case.hypotheses)
    enough = log_tail(first.of, first.of, 1 / first.partitions_count) <= allowed
    return "unexplained" if enough and first.pairs < first.of else "undecided"


def _examples(case: Case, most: int) -> tuple[tuple[int, ...], ...]:
    bits = [1 << component.class_index for component in case.mixture.components]
    masks = [(sum(bits), bit) for bit in bits]
    # Without an unexplained pair, the search for one would go through all observations.
    if case.mixture.unexplained:
        masks.append((sum(bits), 0))
    rows = first_rows(case.classes, case.observations, case.mixture.partitions_count, masks, most)
    if not case.mixture.unexplained:
        rows.append([])
    return tuple(map(tuple, rows))


def explain(result: Fingerprint, observations: Observations) -> Int32s:
    """int32[classes, n]: where each class puts each key at the likeliest partition count, or ``equivalents.UNDECIDED``."""
    hashes = hash_all(result.partitioners.classes, observations.column, observations.key_format)
    return hashes.partitions(result.mixture.partitions_count)
