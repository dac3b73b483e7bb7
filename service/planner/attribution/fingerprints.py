"""Which partitioner wrote a topic, and with how many partitions: keys and their partitions → the classes that explain them.

A *candidate* is a class of partitioners (``equivalents``) at a partition count n. A candidate that did not write a pair (key,
partition) explains it with the probability 1/n. So a few pairs rule out most candidates, but one pair is never proof.
``service.planner.attribution.mixtures`` separates several classes that wrote one topic.

If the count is not known, every possible count is tried with the first SAMPLE distinct pairs, and the likeliest counts with all
pairs. One hash of a key serves all counts.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from service.core.budget import check_time
from service.core.errors import InvalidQuestion
from service.core.keys.columns import Column
from service.core.model import Bools, Float64s, Int32s, Int64s
from service.core.partitioners.model import Partitioner
from service.planner.attribution.equivalents import (
    PartitionerClass,
    PartitionerClasses,
    classify,
    hash_all,
    probe_keys,
    probe_numbers,
    rank,
    unlisted,
    whole_numbers,
)
from service.planner.attribution.mixtures import (
    NEVER,
    SIGNIFICANCE,
    Interval,
    Mixture,
    Patterns,
    intervals,
    likelihoods,
    log_likelihood,
    log_tail,
    samples_until,
    smallest,
    unmix,
)
from service.planner.attribution.observations import (
    EMPTY_KEY,
    NO_KEY,
    KeyObservations,
    find_pairs,
    find_patterns,
    first_rows,
    matches,
    sample,
)
from service.planner.attribution.transformations import Growth, before_growth, find_growth, find_serialization, serialized

SAMPLE: Final = 2048
"""Distinct pairs with which every partition count is tried."""

STEP: Final = 1 << 26
"""Pairs × classes × partition counts that are tried between two looks at the time: some 50 ms."""

COUNTS: Final = 8
"""Partition counts that are tried with all pairs."""

MAX_CLASSES: Final = 60
"""Most classes; ``explained_by`` has a bit for each."""

UNRELATED: Final = 0.1
"""Classes of which fewer than this share of the hashes are the same can both have written a topic that grew."""

WORSE: Final = math.log(1000)
"""A candidate whose log-likelihood is lower than the best by more than this is ruled out."""

MOSTLY: Final = 0.5
"""If chance has a larger share than this, what is left to decide is not who wrote the records."""

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
    intervals : of the share of each component of the mixture, 95%; last, of chance_share
    examples : for each component of the mixture, the first rows that it explains and no other does; last, those that none does
    writers : for each component of the mixture, or else the first candidate, the names of all partitioners that put every key
        where it does at this partition count; those in use first
    by_count : if one writer explains pairs with several counts or an earlier one, (count, pairs, pairs with it alone) of each
        count, the latest first; pairs are those that no later count explains
    observations : the observations, with the keys as they were hashed
    transformation : as what the keys were hashed; None: as they were given
    transformations_tried : how many transformations were tried because the keys as given explain nothing
    """

    verdict: str
    partitioners: PartitionerClasses
    count_open: bool
    hypotheses: int
    mixture: Mixture
    candidates: tuple[Candidate, ...]
    candidates_count: int
    more_samples: int | None
    intervals: tuple[Interval, ...]
    examples: tuple[tuple[int, ...], ...]
    writers: tuple[tuple[str, ...], ...]
    by_count: tuple[tuple[int, int, int], ...]
    observations: KeyObservations
    transformation: str | None = None
    transformations_tried: int = 0

    @property
    def earlier_counts(self) -> tuple[int, ...]:
        """The partition counts that the topic had before it grew, ascending; empty if no writer used one."""
        counts = {self.partitioners.classes[part.class_index].partitions_count for part in self.mixture.components}
        return tuple(sorted(count for count in counts if count is not None))

    @property
    def count_found(self) -> bool:
        """Does the answer say how many partitions the topic has now?"""
        parts = self.mixture.components
        now = any(self.partitioners.classes[part.class_index].partitions_count is None for part in parts)
        return not self.count_open or (now if parts else self.candidates_count > 0)

    @property
    def unexplained_share(self) -> float:
        """The share of the observations that no partitioner explains."""
        if not self.mixture.components:
            return 1.0
        return self.mixture.chance_share if self.mixture.unexplained else 0.0

    @property
    def leaves_pairs(self) -> bool:
        """Is there any pair that no partitioner explains which may have written some?"""
        if self.mixture.components:
            return self.mixture.unexplained > 0
        return self.candidates[0].pairs < self.candidates[0].of


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

    def log_likelihoods(self) -> Float64s:
        """float64[classes, counts], of all pairs, if the class and chance placed them in the likeliest proportion."""
        k, n, partitions = self.explained.astype(float), self.decided[:, None].astype(float), self.counts.astype(float)
        with np.errstate(divide="ignore", invalid="ignore"):
            # A share is never negative: a class that explains less than chance does wrote nothing.
            share = np.maximum(np.where(n > 0, k / n, 0), 1 / partitions)
            explained = np.where(k > 0, k * np.log(share), 0)
            others = np.where(n > k, (n - k) * np.log((1 - share) / (partitions - 1)), 0)
        result: Float64s = explained + others - (self.total - n) * np.log(partitions)
        return result


@dataclass(frozen=True)
class Case:
    """What a verdict is based on: the observations, the trials, and the mixture at the likeliest count."""

    observations: KeyObservations
    probes: Column
    classes: tuple[PartitionerClass, ...]
    hypotheses: int
    patterns: Patterns
    mixture: Mixture
    trials: Trials


def fingerprint(
    partitioners: Iterable[Partitioner],
    observations: KeyObservations,
    partitions_counts: range,
    most_candidates: int = 20,
    most_examples: int = 3,
    *,
    schema_ids: Sequence[int] | None = None,
    all_suspects: bool = False,
) -> Fingerprint:
    """The classes that explain where keys were seen; if none does, those that explain it with other bytes of the keys.

    partitions_counts : those that are possible, all above the largest partition in the observations
    schema_ids : those that may stand before the keys; None: small ones
    all_suspects : are the partitioners not given? Then those that do not write to Kafka are excluded; and if the others leave
        records unexplained, also what no client in the list does is considered
    Raises InvalidQuestion if no partitioner hashes such keys.
    """
    partitioners = tuple(partitioners)
    most = None if len(partitions_counts) == 1 else most_candidates
    search = WriterSearch(partitioners, partitions_counts, most, most_examples, all_suspects=all_suspects)
    result = search.explain(observations)
    if result.mixture.components or not result.leaves_pairs or observations.keys < 2:
        return result
    likeliest, tried, hypotheses = find_serialization(
        search.classes_of("bytes", observations), observations, partitions_counts, schema_ids, result.hypotheses
    )
    result = replace(result, transformations_tried=tried, hypotheses=hypotheses)
    other = serialized(observations, likeliest) if likeliest else None
    wider = replace(search, hypotheses=hypotheses).explain(other) if other else result
    return replace(wider, transformation=likeliest.name) if likeliest and wider.mixture.components else result


@dataclass(frozen=True)
class WriterSearch:
    """What is searched. hypotheses : the number of those tried before; the others as of ``fingerprint``"""

    partitioners: tuple[Partitioner, ...]
    partitions_counts: range
    most_candidates: int | None
    most_examples: int
    all_suspects: bool
    hypotheses: int = 0

    def classes_of(self, key_format: str, observations: KeyObservations) -> PartitionerClasses:
        """The partitioners by what they do with keys of the format, and records without."""
        has_null, has_empty = (bool((observations.kinds == kind).any()) for kind in (NO_KEY, EMPTY_KEY))
        return classify(self.partitioners, key_format, has_null=has_null, has_empty=has_empty, only_kafka=self.all_suspects)

    def explain(self, observations: KeyObservations) -> Fingerprint:
        """The classes that explain the observations; first with earlier partition counts, then with what no client does."""
        column, key_format = observations.column, observations.key_format
        classified = self.classes_of(key_format, observations)
        if not 0 < len(classified.classes) <= MAX_CLASSES:
            raise InvalidQuestion(
                f"These partitioners hash such keys in {len(classified.classes)} ways; 1 to {MAX_CLASSES} can be compared.",
                "partitioners",
            )
        ranks = {partitioner.name: rank(partitioner) for partitioner in self.partitioners}

        def judge(classified: PartitionerClasses, probes: Column, counts: range) -> Fingerprint:
            hypotheses = self.hypotheses + len(classified.classes) * len(self.partitions_counts)
            case = _case(classified.classes, observations, counts, hypotheses, probes)
            return _judge(case, classified, ranks, self.most_candidates, self.most_examples)

        probes = probe_keys(key_format)
        result = judge(classified, probes, self.partitions_counts)
        if result.leaves_pairs or len(result.mixture.components) > 1:
            of_sample = sample(classified.classes, observations, SAMPLE)
            earlier, now = earlier_classes(classified.classes, *of_sample, self.partitions_counts)
            grown = replace(classified, classes=(*classified.classes, *(each for each, _ in earlier))[:MAX_CLASSES])
            wider = judge(grown, probes, range(now, now + 1)) if len(grown.classes) > len(classified.classes) else result
            if wider.earlier_counts:
                result, classified = wider, grown
        if not self.all_suspects or not result.leaves_pairs:
            return result
        others = unlisted(classified.classes, column, key_format, MAX_CLASSES - len(classified.classes))
        if whole_numbers(column, key_format) is not None:
            probes = probe_numbers(key_format)
        wider = judge(replace(classified, classes=(*classified.classes, *others)), probes, self.partitions_counts)
        return (
            wider if any(not wider.partitioners.classes[part.class_index].names for part in wider.mixture.components) else result
        )


def earlier_classes(
    classes: tuple[PartitionerClass, ...], dividends: Float64s, partitions: Int32s, partitions_counts: range
) -> tuple[list[tuple[PartitionerClass, int]], int]:
    """The classes at earlier counts that may have written some pairs, each with its index; and the likeliest count now.

    dividends : float64[classes, n]; partitions : int32[n], where the keys were seen
    """
    kept: list[Growth] = []
    for each in find_growth(dividends, partitions, partitions_counts, len(classes) * len(partitions_counts)):
        # A class that often has the same hash, or the same by another sign rule, explains some of the same pairs.
        if all(np.mean(dividends[each.class_index] == dividends[other.class_index]) < UNRELATED for other in kept):
            kept.append(each)
    now = max([partitions_counts.start, *(count for each in kept[:1] for count in each.counts)])
    return [(before_growth(classes[k], count), k) for k, counts, _ in kept for count in counts if count < now], now


def _case(
    classes: tuple[PartitionerClass, ...],
    observations: KeyObservations,
    partitions_counts: range,
    hypotheses: int,
    probes: Column,
) -> Case:
    trials = _try(classes, observations, partitions_counts)
    order = np.lexsort((trials.counts, -trials.log_likelihoods().max(axis=0)))
    shortlist = [int(n) for n in trials.counts[order[:COUNTS]]]
    patterns = find_patterns(classes, observations, shortlist)
    mixtures = {n: unmix(patterns[n], hypotheses) for n in shortlist}
    explaining = [n for n in shortlist if mixtures[n].components] or shortlist[:1]
    price = 0.5 * math.log(max(observations.pairs, 1))  # of each class, in log-likelihood: Schwarz's criterion
    best = max(explaining, key=lambda n: mixtures[n].log_likelihood - price * len(mixtures[n].components))
    if observations.pairs > SAMPLE:
        counts, one = np.array(sorted(patterns), np.int64), patterns[min(patterns)]
        explained = np.stack([patterns[n].pairs @ patterns[n].explained for n in sorted(patterns)], axis=1)
        trials = Trials(counts, explained, one.pairs @ ~one.undecided, int(one.pairs.sum()))
    return Case(observations, probes, classes, hypotheses, patterns[best], mixtures[best], trials)


def _try(classes: tuple[PartitionerClass, ...], observations: KeyObservations, partitions_counts: range) -> Trials:
    dividends, partitions = sample(classes, observations, SAMPLE)
    counts = np.arange(partitions_counts.start, partitions_counts.stop, dtype=np.int64)
    decided = np.count_nonzero(~np.isnan(dividends), axis=1).astype(np.int64)
    at_once = max(1, STEP // max(1, dividends.size))
    matching = []
    for start in range(0, len(counts), at_once):
        check_time()
        step = counts[start : start + at_once]
        matching.append(matches(dividends, partitions, step, np.ones((len(classes), len(step)), np.bool_)))
    return Trials(counts, np.hstack(matching), decided, len(partitions))


def _judge(
    case: Case,
    classified: PartitionerClasses,
    ranks: Mapping[str, tuple[bool, bool]],
    most_candidates: int | None,
    most_examples: int,
) -> Fingerprint:
    trials, mixture = case.trials, case.mixture
    likelihoods = trials.log_likelihoods()
    column = int(np.searchsorted(trials.counts, mixture.partitions_count))
    answer = [component.class_index for component in mixture.components] or [int(likelihoods[:, column].argmax())]
    in_answer = np.zeros(likelihoods.shape, np.bool_)
    in_answer[answer, column] = True
    surviving = _surviving(case, likelihoods >= max(mixture.log_likelihood, likelihoods[answer[0], column]) - WORSE)
    surviving[:, column] |= in_answer[:, column] & (len(mixture.components) > 0)
    tried = surviving.copy()
    tried[:, column] = True
    agreements = {k: _agreements(case, k, tried) for k in answer}
    agreeing = agreements[answer[0]].copy()
    for component in mixture.components if len(mixture.components) > 1 else ():
        for k in _substitutes(case, answer, component.class_index):
            surviving[k, column] = True
            agreeing[k, column] = 1 - component.share * (1 - agreements[component.class_index][k, column])
    rivals = surviving & ~in_answer
    rank_of = np.lexsort(
        (np.broadcast_to(trials.counts, rivals.shape).ravel(), -likelihoods.ravel(), ~surviving.ravel(), ~in_answer.ravel())
    )
    listed = rank_of if most_candidates is None else rank_of[(surviving | in_answer).ravel()[rank_of]][:most_candidates]
    candidates = tuple(
        _candidate(trials, k, c, ruled_out=not surviving[k, c], agreeing=float(agreeing[k, c]) if rivals[k, c] else None)
        for k, c in (divmod(int(i), len(trials.counts)) for i in listed)
    )
    # What no key tells from a part of the answer is part of it.
    alike = {k: [int(j) for j in np.flatnonzero(rivals[:, column]) if agreements[k][j, column] >= 1] for k in answer}
    apart = rivals.copy()
    apart[[j for others in alike.values() for j in others], column] = False
    more = _more_samples(case, candidates[0], agreeing[apart])
    verdict = _verdict(case, candidates[0], more)
    missed = trials.decided - trials.explained[:, column]
    namesakes = {k: [k, *(j for j in alike[k] if missed[j] <= missed[k])] for k in answer}
    writers = tuple(
        tuple(sorted((name for j in namesakes[k] for name in case.classes[j].names), key=lambda name: ranks[name]))
        for k in answer
    )
    return Fingerprint(
        verdict, classified, most_candidates is not None, case.hypotheses, mixture, candidates, int(surviving.sum()),
        None if verdict == "unexplained" else more, _intervals(case), _examples(case, most_examples), writers, _by_count(case),
        case.observations,
    )  # fmt: skip


def _surviving(case: Case, likely: Bools) -> Bools:
    """Those of the likely candidates (bool[classes, counts]) that no pair contradicts, or that explain more than chance does."""
    trials, allowed = case.trials, math.log(SIGNIFICANCE / case.hypotheses)
    surviving: Bools = likely & (trials.explained == trials.decided[:, None])
    for k, c in zip(*np.nonzero(likely & ~surviving & (trials.explained > 0)), strict=True):
        pairs, decided = int(trials.explained[k, c]), int(trials.decided[k])
        surviving[k, c] = log_tail(pairs, decided, 1 / int(trials.counts[c])) <= allowed
    return surviving


def _candidate(trials: Trials, k: int, c: int, *, ruled_out: bool, agreeing: float | None) -> Candidate:
    n, pairs, decided = int(trials.counts[c]), int(trials.explained[k, c]), int(trials.decided[k])
    more = None if agreeing is None else samples_until(np.array([agreeing]), DOUBT)
    return Candidate(k, n, pairs, decided, log_tail(pairs, decided, 1 / n), ruled_out, more)


def _agreements(case: Case, class_index: int, tried: Bools) -> Float64s:
    """float64[classes, counts]: the share of random keys that each puts where this class does at the likeliest count.

    tried : bool[classes, counts]; 0 where False. Few candidates survive, and of all of them this would take most of the time.
    """
    hashes = hash_all(case.classes, case.probes, case.observations.key_format)
    partitions = hashes.partitions(case.mixture.partitions_count)[class_index]
    return matches(hashes.dividends(), partitions, case.trials.counts, tried) / len(partitions)


def _substitutes(case: Case, answer: list[int], class_index: int) -> list[int]:
    """The classes that explain the records nearly as well in the place of this one."""
    others = [k for k in answer if k != class_index]
    enough = case.mixture.log_likelihood - WORSE
    return [k for k in range(len(case.classes)) if k not in answer and log_likelihood(case.patterns, [*others, k]) >= enough]


def _more_samples(case: Case, first: Candidate, agreeing: Float64s) -> int:
    """How many more samples leave one answer if the first candidate is right, or NEVER."""
    allowed = math.log(SIGNIFICANCE / case.hypotheses)
    chance = 1 / first.partitions_count
    proof = 0
    if not case.mixture.components and first.pairs < first.of:
        # As many as tell from chance what wrote two fifths of them.
        enough = smallest(lambda pairs: log_tail(2 * pairs // 5, pairs, chance) <= allowed, start=1)
        proof = max(0, enough - case.observations.pairs)
    elif not case.mixture.components:
        proof = smallest(lambda more: log_tail(first.pairs + more, first.of + more, chance) <= allowed)
    separation = samples_until(agreeing, DOUBT)
    another_key = max(0, 2 - case.observations.keys)  # one sample is never proof
    return NEVER if NEVER in (proof, separation) else max(proof, separation, another_key)


def _writers_count(case: Case) -> int:
    """How many writers the mixture has; one that used several partition counts is one."""
    classes = [case.classes[component.class_index] for component in case.mixture.components]
    return len({(each.names, each.rule.hash, each.rule.sign.name) for each in classes})


def _by_count(case: Case) -> tuple[tuple[int, int, int], ...]:
    """See ``Fingerprint``."""
    patterns, indices = case.patterns, [component.class_index for component in case.mixture.components]
    counts = {k: case.classes[k].partitions_count for k in indices}
    if not any(counts.values()) or _writers_count(case) > 1:
        return ()
    latest = sorted(((count or patterns.partitions_count, k) for k, count in counts.items()), reverse=True)
    left, found = np.ones(len(patterns.pairs), np.bool_), []
    for count, k in latest:
        explained = patterns.explained[:, k]
        alone = explained & ~patterns.explained[:, [j for j in indices if j != k]].any(axis=1)
        found.append((count, int(patterns.pairs[explained & left].sum()), int(patterns.pairs[alone].sum())))
        left &= ~explained
    return tuple(found)


def _verdict(case: Case, first: Candidate, more: int) -> str:
    mixture = case.mixture
    if mixture.components:
        if more == 0:
            return "identified" if _writers_count(case) == 1 and mixture.unexplained == 0 else "mixture"
        return "unexplained" if mixture.unexplained and mixture.chance_share > MOSTLY else "undecided"
    return "undecided" if first.pairs == first.of or more else "unexplained"


def _intervals(case: Case) -> tuple[Interval, ...]:
    mixture = case.mixture
    classes = tuple(case.classes[component.class_index] for component in mixture.components)
    patterns, pairs = find_pairs(classes, case.observations, mixture.partitions_count)
    shares = np.array([*(component.share for component in mixture.components), mixture.chance_share])
    return intervals(likelihoods(patterns, list(range(len(classes)))), shares, pairs)


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


def explain(result: Fingerprint) -> Int32s:
    """int32[classes, n]: where each class puts each key at the likeliest partition count, or ``equivalents.UNDECIDED``."""
    observations = result.observations
    hashes = hash_all(result.partitioners.classes, observations.column, observations.key_format)
    return hashes.partitions(result.mixture.partitions_count)[:, observations.pair_indices]
