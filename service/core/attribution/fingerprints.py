"""Which partitioner wrote this, and to how many partitions: where keys were seen → the writers that explain it.

A *candidate* is a writer (``equivalents``) at a partition count n. One that did not write a pair (key, partition)
explains it with the probability 1/n; so a few pairs rule most candidates out, but one pair is never proof. Several writers of one
topic are told apart by ``service.core.attribution.mixtures``.

Where the count is not given, every possible one is tried with the first SAMPLE different pairs, and the few likeliest with all of
them. One hash of a key serves all counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from service.core.attribution import observations as seen
from service.core.attribution.binomial import NEVER, log_tail, samples_until, smallest
from service.core.attribution.equivalents import hash_all, writers_of
from service.core.attribution.mixtures import SIGNIFICANCE, Mixture, Patterns, fit, unmix
from service.core.attribution.probe_keys import probes
from service.core.errors import InvalidQuestion

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from service.core.attribution.equivalents import Writer, Writers
    from service.core.attribution.observations import Observations
    from service.core.model import Int32s, Int64s
    from service.core.partitioners.model import Partitioner

    Floats = npt.NDArray[np.float64]

SAMPLE: Final = 2048
"""Different pairs that every partition count is tried with."""

COUNTS: Final = 8
"""Partition counts that are tried with all pairs."""

WRITERS: Final = 60
"""Most writers; ``explained_by`` has a bit for each."""

WORSE: Final = math.log(1000)
"""A candidate whose likelihood is that of the best divided by more is ruled out."""

DOUBT: Final = 0.01
"""The probability that another candidate is still not ruled out after as many samples as are said to be needed."""


@dataclass(frozen=True)
class Candidate:
    """A writer at a partition count.

    pairs, of : different pairs that it explains, of those of which it says anything
    log_chance : natural logarithm of the probability that chance alone explains as many
    ruled_out : is it, by what was seen?
    more_samples : how many rule it out if the first candidate is right; NEVER if none do; None if it is out, or in the answer
    """

    writer: int
    partitions_count: int
    pairs: int
    of: int
    log_chance: float
    ruled_out: bool
    more_samples: int | None


@dataclass(frozen=True)
class Fingerprint:
    """What the observations say.

    verdict : "identified" (one writer, which explains everything), "mixture", "undecided" or "unexplained"
    count_open : were several partition counts possible?
    hypotheses : writers × partition counts that were tried
    mixture : the writers found, at the likeliest partition count
    candidates : the likeliest first; where several counts are possible, only those that are not ruled out
    candidates_count : how many are not ruled out
    more_samples : how many leave one answer; 0 if there is one; NEVER if none do; None if nothing explains what was seen
    examples : for each part of the mixture the first rows that it explains and no other part; last, those that none does
    """

    verdict: str
    group: Writers
    count_open: bool
    hypotheses: int
    mixture: Mixture
    candidates: tuple[Candidate, ...]
    candidates_count: int
    more_samples: int | None
    examples: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Trials:
    """Every writer at every partition count, by what it explains.

    counts : int64[counts]
    explained : int64[writers, counts], different pairs
    decided : int64[writers], the pairs of which the writer says anything; total : all of them
    """

    counts: Int64s
    explained: Int64s
    decided: Int64s
    total: int

    def log_likelihoods(self) -> Floats:
        """float64[writers, counts], of all pairs, if the writer and chance made them in the likeliest proportion."""
        k, n, partitions = self.explained.astype(float), self.decided[:, None].astype(float), self.counts.astype(float)
        with np.errstate(divide="ignore", invalid="ignore"):
            # No part is less than none: a writer that explains less than chance would is not there.
            share = np.maximum(np.where(n > 0, k / n, 0), 1 / partitions)
            explained = np.where(k > 0, k * np.log(share), 0)
            others = np.where(n > k, (n - k) * np.log((1 - share) / (partitions - 1)), 0)
        result: Floats = explained + others - (self.total - n) * np.log(partitions)
        return result


@dataclass(frozen=True)
class Case:
    """What a verdict is about: the observations, what was tried, and the mixture at the likeliest count."""

    observations: Observations
    writers: tuple[Writer, ...]
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
    """The writers that explain where keys were seen.

    partitions_counts : those that are possible, all above the largest partition seen
    Raises InvalidQuestion if no partitioner hashes such keys.
    """
    kinds = observations.kinds
    has_null, has_empty = bool((kinds == seen.NO_KEY).any()), bool((kinds == seen.EMPTY_KEY).any())
    group = writers_of(partitioners, observations.key_format, has_null=has_null, has_empty=has_empty)
    writers = group.writers
    if not 0 < len(writers) <= WRITERS:
        raise InvalidQuestion(
            f"they hash such keys in {len(writers)} ways; from 1 to {WRITERS} can be told apart", "partitioners"
        )
    hypotheses = len(writers) * len(partitions_counts)
    trials = _try(writers, observations, partitions_counts)
    order = np.lexsort((trials.counts, -trials.log_likelihoods().max(axis=0)))
    shortlist = [int(n) for n in trials.counts[order[:COUNTS]]]
    patterns = seen.patterns(writers, observations, shortlist)
    mixtures = {n: unmix(patterns[n], hypotheses) for n in shortlist}
    found = [n for n in shortlist if mixtures[n].parts] or shortlist[:1]
    best = max(found, key=lambda n: mixtures[n].log_likelihood - _price(mixtures[n], observations.pairs))
    if observations.pairs > SAMPLE:
        trials = _of_all_pairs(patterns)
    case = Case(observations, writers, hypotheses, patterns[best], mixtures[best], trials)
    return _judge(case, group, None if len(partitions_counts) == 1 else most_candidates, most_examples)


def _try(writers: tuple[Writer, ...], observations: Observations, partitions_counts: range) -> Trials:
    dividends, partitions = seen.sample(writers, observations, SAMPLE)
    counts = np.arange(partitions_counts.start, partitions_counts.stop, dtype=np.int64)
    decided = np.count_nonzero(~np.isnan(dividends), axis=1).astype(np.int64)
    return Trials(counts, seen.matches(dividends, partitions, counts), decided, len(partitions))


def _of_all_pairs(patterns: dict[int, Patterns]) -> Trials:
    """The shortlist's trials with all pairs, not only the sample."""
    counts = np.array(sorted(patterns), np.int64)
    one = patterns[int(counts[0])]
    explained = np.stack([patterns[int(n)].pairs @ patterns[int(n)].explained for n in counts], axis=1)
    return Trials(counts, explained, one.pairs @ ~one.undecided, int(one.pairs.sum()))


def _price(mixture: Mixture, pairs: int) -> float:
    """What a mixture's writers have to explain before it beats one of fewer (Schwarz's criterion)."""
    return 0.5 * len(mixture.parts) * math.log(max(pairs, 1))


def _judge(case: Case, group: Writers, most_candidates: int | None, most_examples: int) -> Fingerprint:
    trials, mixture = case.trials, case.mixture
    likelihoods = trials.log_likelihoods()
    column = int(np.searchsorted(trials.counts, mixture.partitions_count))
    answer = [part.writer for part in mixture.parts] or [int(likelihoods[:, column].argmax())]
    mine = np.zeros(likelihoods.shape, np.bool_)
    mine[answer, column] = True
    surviving = _surviving(case, likelihoods >= max(mixture.log_likelihood, likelihoods[answer[0], column]) - WORSE)
    surviving[:, column] |= mine[:, column] & (len(mixture.parts) > 0)
    agreeing = _agreements(case, answer[0])
    for part in mixture.parts if len(mixture.parts) > 1 else ():
        for writer in _understudies(case, answer, part.writer):
            surviving[writer, column] = True
            agreeing[writer, column] = 1 - part.share * (1 - _agreements(case, part.writer)[writer, column])
    rivals = surviving & ~mine
    rank = np.lexsort(
        (np.broadcast_to(trials.counts, mine.shape).ravel(), -likelihoods.ravel(), ~surviving.ravel(), ~mine.ravel())
    )
    listed = rank if most_candidates is None else rank[(surviving | mine).ravel()[rank]][:most_candidates]
    candidates = tuple(
        _candidate(trials, w, c, ruled_out=not surviving[w, c], agreeing=float(agreeing[w, c]) if rivals[w, c] else None)
        for w, c in (divmod(int(i), len(trials.counts)) for i in listed)
    )
    more = _more_samples(case, candidates[0], agreeing[rivals])
    verdict = _verdict(case, candidates[0], more)
    return Fingerprint(
        verdict, group, most_candidates is not None, case.hypotheses, mixture, candidates, int(surviving.sum()),
        None if verdict == "unexplained" else more, _examples(case, most_examples),
    )  # fmt: skip


def _surviving(case: Case, likely: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Of the candidates that are likely enough, those that no pair contradicts, or that explain more than chance does.

    likely : bool[writers, counts]
    """
    trials, allowed = case.trials, math.log(SIGNIFICANCE / case.hypotheses)
    surviving: npt.NDArray[np.bool_] = likely & (trials.explained == trials.decided[:, None])
    for w, c in zip(*np.nonzero(likely & ~surviving & (trials.explained > 0)), strict=True):
        pairs, decided = int(trials.explained[w, c]), int(trials.decided[w])
        surviving[w, c] = log_tail(pairs, decided, 1 / int(trials.counts[c])) <= allowed
    return surviving


def _candidate(trials: Trials, w: int, c: int, *, ruled_out: bool, agreeing: float | None) -> Candidate:
    n, pairs, decided = int(trials.counts[c]), int(trials.explained[w, c]), int(trials.decided[w])
    more = None if agreeing is None else samples_until(np.array([agreeing]), DOUBT)
    return Candidate(w, n, pairs, decided, log_tail(pairs, decided, 1 / n), ruled_out, more)


def _agreements(case: Case, writer: int) -> Floats:
    """float64[writers, counts]: the share of random keys that each puts where this writer does at the likeliest count."""
    column = probes(case.observations.key_format)
    hashes = hash_all(case.writers, column, case.observations.key_format)
    partitions = hashes.partitions(case.mixture.partitions_count)[writer]
    return seen.matches(hashes.dividends(), partitions, case.trials.counts) / len(partitions)


def _understudies(case: Case, answer: list[int], writer: int) -> list[int]:
    """The writers that would do in the mixture instead of this one."""
    others = [w for w in answer if w != writer]
    enough = case.mixture.log_likelihood - WORSE
    return [w for w in range(len(case.writers)) if w not in answer and fit(case.patterns, [*others, w])[1] >= enough]


def _more_samples(case: Case, first: Candidate, agreeing: Floats) -> int:
    """How many samples more leave one answer, if the first candidate's is right; NEVER if none do."""
    allowed = math.log(SIGNIFICANCE / case.hypotheses)
    chance = 1 / first.partitions_count
    proof = 0
    if not case.mixture.parts:
        proof = smallest(lambda more: log_tail(first.pairs + more, first.of + more, chance) <= allowed)
    telling = samples_until(agreeing, DOUBT)
    another_key = max(0, 2 - case.observations.keys)  # one sample is never proof
    return NEVER if NEVER in (proof, telling) else max(proof, telling, another_key)


def _verdict(case: Case, first: Candidate, more: int) -> str:
    if case.mixture.parts:
        if more != 0:
            return "undecided"
        return "identified" if len(case.mixture.parts) == 1 and case.mixture.unexplained == 0 else "mixture"
    # Would the best have stood out, if it had explained everything?
    allowed = math.log(SIGNIFICANCE / case.hypotheses)
    enough = log_tail(first.of, first.of, 1 / first.partitions_count) <= allowed
    return "unexplained" if enough and first.pairs < first.of else "undecided"


def _examples(case: Case, most: int) -> tuple[tuple[int, ...], ...]:
    parts = case.mixture.parts
    every = sum(1 << part.writer for part in parts)
    masks = [(every, 1 << part.writer) for part in parts]
    # A search for what is not there would go through all observations.
    if case.mixture.unexplained:
        masks.append((every, 0))
    rows = seen.first_rows(case.writers, case.observations, case.mixture.partitions_count, masks, most)
    if not case.mixture.unexplained:
        rows.append([])
    return tuple(tuple(found) for found in rows)


def explain(found: Fingerprint, observations: Observations) -> Int32s:
    """int32[writers, n]: where each writer puts each key at the likeliest partition count; ``equivalents.UNDECIDED``."""
    hashes = hash_all(found.group.writers, observations.column, observations.key_format)
    return hashes.partitions(found.mixture.partitions_count)
