"""The scan of ``mismatch``: records with their partitions in, which partitioners explain them out. Executors run this.

The result of a task does not grow with its records: counts for each writer, and two samples of the distinct (key, partition)
pairs, one of the pairs that the expected partitioner explains and one of the others, so that a rare wrong writer is not lost
among the pairs of the right one.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from service.core.errors import InvalidQuestion
from service.core.keys.columns import SERIALIZED
from service.core.model import Bools, Float64s, Int32s, Int64s
from service.core.partitioners import PARTITIONERS
from service.core.partitioners.murmur3 import cassandra_tokens
from service.pipeline.analyses.results import partial, rejects, without_corrupt
from service.pipeline.files.key_columns import misfit, read_keys
from service.pipeline.files.rejected import as_text, as_texts
from service.pipeline.files.types import integers
from service.planner.attribution.equivalents import (
    UNDECIDED,
    PartitionerClass,
    PartitionerClasses,
    classify,
    has_null_and_empty,
    hash_all,
)
from service.planner.attribution.fingerprints import SAMPLE, earlier_classes
from service.planner.attribution.mixtures import Pairs, Patterns

UInt64s = npt.NDArray[np.uint64]

PAIRS: Final = 2**15
"""Distinct pairs of each sample, at most."""


@dataclass
class PairSample:
    """The distinct pairs with the smallest hashes.

    hashes : uint64[at most PAIRS], ascending
    keys : int64[...], the 64-bit hash of the pair's key
    explained, undecided : int64[...], a bit for each writer: it puts the key there; it does not derive the partition from the key
    places : int32[..., 1 + hash functions], the partition, and the key's hash by each function of the writers
    times : int64[...], occurrences of the pair
    full : whether there were more pairs
    """

    hashes: UInt64s = field(default_factory=lambda: np.empty(0, np.uint64))
    keys: Int64s = field(default_factory=lambda: np.empty(0, np.int64))
    explained: Int64s = field(default_factory=lambda: np.empty(0, np.int64))
    undecided: Int64s = field(default_factory=lambda: np.empty(0, np.int64))
    places: Int32s | None = None
    times: Int64s = field(default_factory=lambda: np.empty(0, np.int64))
    full: bool = False

    def add(self, hashes: UInt64s, keys: Int64s, explained: Int64s, undecided: Int64s, places: Int32s, times: Int64s) -> None:
        """Add pairs, possibly repeated; all arrays [n], places [n, 1 + hash functions]."""
        if self.full:
            near = hashes <= self.hashes[-1]
            hashes, keys, explained, undecided, times = (each[near] for each in (hashes, keys, explained, undecided, times))
            places = places[near]
        everything = np.concatenate([self.hashes, hashes])
        kept, first, rank = np.unique(everything, return_index=True, return_inverse=True)
        counts = np.zeros(len(kept), np.int64)
        np.add.at(counts, rank, np.concatenate([self.times, times]))
        self.full = self.full or len(kept) > PAIRS
        first = first[:PAIRS]
        self.hashes, self.times = kept[:PAIRS], counts[:PAIRS]
        self.keys = np.concatenate([self.keys, keys])[first]
        self.explained = np.concatenate([self.explained, explained])[first]
        self.undecided = np.concatenate([self.undecided, undecided])[first]
        self.places = (places if self.places is None else np.concatenate([self.places, places]))[first]

    def merge(self, other: Self) -> None:
        """Add another sample. What a full sample left out has larger hashes than its PAIRS pairs, so it is not missed."""
        if other.places is not None:
            self.add(other.hashes, other.keys, other.explained, other.undecided, other.places, other.times)
        self.full = self.full or other.full

    @property
    def distinct(self) -> int:
        """The number of distinct pairs; an estimate (to about 1/√PAIRS) if there are more than the sample holds."""
        if not self.full:
            return len(self.hashes)
        return round((len(self.hashes) - 1) / (int(self.hashes[-1]) + 1) * 2**64)


BITS: Final = 32
"""Bits of the hashes that are sampled."""

MOST_BITS: Final = 63
"""Writers, with those at earlier partition counts, that have a bit in a sample."""

EXAMPLES: Final = 20
"""Most misplaced records in the result."""

KEYS: Final = 2_000
"""Keys in the result, with their partitions."""

_GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)
_MIX: Final = np.uint64(0xBF58476D1CE4E5B9)


@dataclass
class MismatchResult:
    """What a task computed, or several, merged.

    records, misplaced : int64[partitions], the records on each partition; those that the expected partitioner puts elsewhere
    keyless : records without a key, for which any partition is right
    empty : batches with an empty key
    undecided : records whose partition the expected partitioner does not derive from the key
    explained, decided : int64[writers], records that each writer puts where they are; records that it places by their key
    right, wrong : the samples
    examples : misplaced records, smallest hash first: hash, key, partition, expected partition, bits of the writers
    keys : likewise of all records: hash, key and partition, of which other bytes may be tried
    """

    records: Int64s
    misplaced: Int64s
    explained: Int64s
    decided: Int64s
    keyless: int = 0
    empty: int = 0
    undecided: int = 0
    right: PairSample = field(default_factory=PairSample)
    wrong: PairSample = field(default_factory=PairSample)
    examples: dict[int, tuple[str, int, int, int]] = field(default_factory=dict)
    keys: dict[int, tuple[Any, int]] = field(default_factory=dict)

    def merge(self, other: Self) -> None:
        """Add the result of other records."""
        for name in ("records", "misplaced", "explained", "decided"):
            getattr(self, name)[:] += getattr(other, name)
        for name in ("keyless", "empty", "undecided"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.right.merge(other.right)
        self.wrong.merge(other.wrong)
        self.examples = _smallest(self.examples | other.examples, EXAMPLES)
        self.keys = _smallest(self.keys | other.keys, KEYS)


@dataclass(frozen=True)
class MismatchScan:
    """What ``mismatch`` does with each record.

    corrupt : the column of the rows that Spark could not read as records; None where there is none
    expected : the partitioner that should have placed every record
    partitioners : the names of all that may have
    """

    key_column: str
    key_format: str
    partition_column: str
    partitions_count: int
    expected: str
    partitioners: tuple[str, ...]
    corrupt: str | None = None

    @property
    def columns(self) -> list[str]:
        """The columns to read."""
        return [self.key_column, self.partition_column, *([self.corrupt] if self.corrupt else [])]

    def writers(self, *, has_empty: bool = True) -> PartitionerClasses:
        """The partitioners by what they do with keys of the format; has_empty : tell apart those that differ on empty keys"""
        chosen = [PARTITIONERS[name] for name in self.partitioners]
        return classify(chosen, self.key_format, has_null=False, has_empty=has_empty)

    def expected_writer(self, writers: PartitionerClasses) -> int:
        """The index of the expected partitioner's writer; raises InvalidQuestion if it ignores keys of the format."""
        for i, writer in enumerate(writers.classes):
            if self.expected in writer.names:
                return i
        why = dict(writers.excluded).get(self.expected, "ignores keys: any partition is right")
        raise InvalidQuestion(f"The partitioner {self.expected} {why}.")

    def of_batches(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of ``results.SCHEMA`` for a task's batches."""
        writers = self.writers()
        expected = self.expected_writer(writers)
        n, w = self.partitions_count, len(writers.classes)
        result = MismatchResult(np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(w, np.int64), np.zeros(w, np.int64))
        rejected = 0
        for batch in batches:
            readable, rejected_rows = self.readable(batch)
            rejected += sum(rows.num_rows for rows in rejected_rows)
            yield from rejected_rows
            if readable.num_rows:
                self._add(result, writers, expected, readable)
        yield partial(result, rejected)

    def readable(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, list[pa.RecordBatch]]:
        """The readable rows, and the rejected ones with their reasons."""
        rejected = []
        if self.corrupt:
            batch, corrupt = without_corrupt(batch, self.corrupt)
            rejected += corrupt
            batch = batch.drop_columns([self.corrupt])
        partitions = integers(batch.column(self.partition_column))
        fits = pc.fill_null(pc.and_(pc.greater_equal(partitions, 0), pc.less(partitions, self.partitions_count)), False)
        bad_key = read_keys(batch.column(self.key_column), self.key_format)[1]
        if fits.true_count < len(fits):
            reason = f"no partition below {self.partitions_count}"
            rejected.append(rejects(as_texts(batch.filter(pc.invert(fits))), reason))
        if bad_key is not None:
            bad_key = pc.and_(bad_key, fits)
            rejected.append(rejects(as_texts(batch.filter(bad_key)), misfit(self.key_format)))
            fits = pc.and_(fits, pc.invert(bad_key))
        return (batch if fits.true_count == len(fits) else batch.filter(fits)), rejected

    def _add(self, result: MismatchResult, writers: PartitionerClasses, expected: int, batch: pa.RecordBatch) -> None:
        """Add readable rows."""
        keyless = batch.column(self.key_column).null_count
        if keyless:
            result.keyless += keyless
            batch = batch.filter(pc.is_valid(batch.column(self.key_column)))
        if not batch.num_rows:
            return
        column = read_keys(batch.column(self.key_column), self.key_format)[0]
        where = np.asarray(integers(batch.column(self.partition_column))).astype(np.int32)
        result.empty += int(has_null_and_empty(column)[1])
        key_hashes = hash_all(writers.classes, column, self.key_format)
        theirs = key_hashes.partitions(self.partitions_count)
        explains, undecided = theirs == where, theirs == UNDECIDED
        result.explained += explains.sum(axis=1)
        result.decided += len(where) - undecided.sum(axis=1)
        result.undecided += int(undecided[expected].sum())
        wrong = ~(explains[expected] | undecided[expected])
        result.records += np.bincount(where, minlength=self.partitions_count)
        result.misplaced += np.bincount(where[wrong], minlength=self.partitions_count)
        tokens = np.asarray(cassandra_tokens(SERIALIZED.run(column, self.key_format)), np.int64)
        hashes = _pair_hashes(tokens, where)
        explained_bits, undecided_bits = _bits(explains), _bits(undecided)
        by_function = dict(zip(_functions(writers.classes), key_hashes.hashes, strict=True))  # in the order of the writers
        places = np.stack([where, *(of for each, of in by_function.items() if each is not None)], axis=1)
        times = np.ones(len(where), np.int64)
        for rows, sample in ((~wrong, result.right), (wrong, result.wrong)):
            if rows.any():
                sample.add(hashes[rows], tokens[rows], explained_bits[rows], undecided_bits[rows], places[rows], times[rows])
        nearest = _nearest(np.arange(len(where)), hashes, result.keys, KEYS)
        if len(nearest):
            keys = batch.column(self.key_column).take(pa.array(nearest)).to_pylist()
            found = zip(keys, where[nearest].tolist(), strict=True)
            result.keys = _smallest(result.keys | dict(zip(hashes[nearest].tolist(), found, strict=True)), KEYS)
        nearest = _nearest(np.flatnonzero(wrong), hashes, result.examples, EXAMPLES)
        if len(nearest):
            keys = map(as_text, batch.column(self.key_column).take(pa.array(nearest)).to_pylist())
            of_rows = (each[nearest].tolist() for each in (where, theirs[expected], explained_bits))
            examples = dict(zip(hashes[nearest].tolist(), zip(keys, *of_rows, strict=True), strict=True))
            result.examples = _smallest(result.examples | examples, EXAMPLES)


def _nearest(rows: npt.NDArray[Any], hashes: UInt64s, kept: Mapping[int, Any], most: int) -> Int64s:
    """Of these rows those of the ``most`` smallest hashes, one each; below the largest kept, if as many are. kept : ascending"""
    if len(kept) == most:
        rows = rows[hashes[rows] < np.uint64(next(reversed(kept)))]
    nearest: Int64s = rows[np.unique(hashes[rows], return_index=True)[1][:most]]
    return nearest


def _smallest(kept: dict[int, Any], most: int) -> dict[int, Any]:
    """Those of the smallest hashes, ascending."""
    return dict(sorted(kept.items(), key=itemgetter(0))[:most])


def settled(scan: MismatchScan, result: MismatchResult) -> tuple[tuple[PartitionerClass, int], ...]:
    """The writers that the scanned keys can tell apart, each with its index among those of the scan."""
    places = {name: i for i, writer in enumerate(scan.writers().classes) for name in writer.names}
    return tuple((writer, places[writer.names[0]]) for writer in scan.writers(has_empty=result.empty > 0).classes)


def add_earlier_counts(
    scan: MismatchScan, result: MismatchResult, writers: Sequence[tuple[PartitionerClass, int]]
) -> tuple[tuple[PartitionerClass, int], ...]:
    """The writers, and those with a partition count that the topic probably had before it grew, whose bits the samples get.

    writers : as ``settled`` gives them
    """
    samples = [sample for sample in (result.right, result.wrong) if sample.places is not None]
    columns = _functions([each for each, _ in writers])
    functions = [each for each in dict.fromkeys(_functions(scan.writers().classes)) if each is not None]
    known = [(each, bit, 1 + functions.index(of)) for (each, bit), of in zip(writers, columns, strict=True) if of is not None]

    def dividends(sample: PairSample, few: slice) -> Float64s:
        result = np.stack([each.rule.sign.before_modulo(sample.places[few, at].astype(np.int64)) for each, _, at in known])  # type: ignore[index]
        bits = np.array([bit for _, bit, _ in known])
        return np.where(sample.undecided[few] >> bits[:, None] & 1, np.nan, result)

    if not len(result.wrong.hashes) or not known:
        return tuple(writers)
    few = slice(0, SAMPLE // 2)
    partitions = np.concatenate([sample.places[few, 0] for sample in samples])  # type: ignore[index]
    classes = tuple(each for each, _, _ in known)
    counts = range(scan.partitions_count, scan.partitions_count + 1)
    sampled = np.concatenate([dividends(sample, few) for sample in samples], axis=1)
    grown = earlier_classes(classes, sampled, partitions, counts)[0][: MOST_BITS - len(scan.writers().classes)]
    added = tuple((each, len(scan.writers().classes) + i) for i, (each, _) in enumerate(grown))
    for sample in samples:
        all_dividends = dividends(sample, slice(0, len(sample.hashes)))
        for (each, bit), (_, k) in zip(added, grown, strict=True):
            sample.explained |= (all_dividends[k] % each.partitions_count == sample.places[:, 0]).astype(np.int64) << bit  # type: ignore[index]
    return (*writers, *added)


def _functions(classes: Sequence[PartitionerClass]) -> list[tuple[Any, Any] | None]:
    """For each class its encoding and hash; None if the hash is wider than 32 bits."""
    return [(each.rule.encoding.run, each.rule.hash) if each.rule.hash.bits == BITS else None for each in classes]


def patterns(
    result: MismatchResult, writers: Sequence[tuple[PartitionerClass, int]], partitions_count: int
) -> tuple[Patterns, Pairs]:
    """The pairs by the writers that explain them, each sample scaled to all pairs that it stands for; needs a record with a key.

    writers : as ``settled`` gives them
    Returns also the sampled pairs, each with its key and the number of records that it stands for.
    """
    misplaced = result.misplaced.sum()
    columns: list[tuple[npt.NDArray[Any], ...]] = []
    for sample, records in ((result.right, result.records.sum() - misplaced), (result.wrong, misplaced)):
        if len(sample.hashes):
            each = np.full(len(sample.hashes), sample.distinct / len(sample.hashes))
            observations = sample.times * (records / sample.times.sum())
            columns.append((sample.keys, sample.explained, sample.undecided, each, observations))
    tokens, explained, undecided, pairs, observations = (np.concatenate(column) for column in zip(*columns, strict=True))
    kinds, rank = np.unique(np.stack([explained, undecided]), axis=1, return_inverse=True)
    rank = rank.ravel()
    keys = np.unique(tokens, return_inverse=True)[1].astype(np.int32)
    bits = np.array([i for _, i in writers])
    by_writers = Patterns(
        partitions_count,
        (kinds[0][:, None] >> bits & 1).astype(np.bool_),
        (kinds[1][:, None] >> bits & 1).astype(np.bool_),
        np.rint(np.bincount(rank, pairs)).astype(np.int64),
        np.rint(np.bincount(rank, observations)).astype(np.int64),
    )
    return by_writers, Pairs(keys, rank, observations)


def _pair_hashes(tokens: Int64s, partitions: Int32s) -> UInt64s:
    """uint64[n], evenly distributed: the key's 64-bit hash, mixed with the partition."""
    mixed = tokens.view(np.uint64) ^ (partitions.astype(np.uint64) * _GOLDEN)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * _MIX
    spread: UInt64s = mixed ^ (mixed >> np.uint64(31))
    return spread


def _bits(flags: Bools) -> Int64s:
    """int64[n] of bool[writers, n]: writer i is bit i."""
    total = np.zeros(flags.shape[1], np.int64)
    for i, row in enumerate(flags):
        total |= row.astype(np.int64) << i
    return total


SAMPLE_RECORDS: Final = 20_000
"""Records with a key, drawn at random."""

SEED: Final = 20_261_121


@dataclass
class RecordSample:
    """What a task found, or several, merged.

    seen : records, also those that the scan that follows rejects
    largest : the largest partition; None without records that are not rejected
    records : ``key``, ``partition`` (int64) and ``draw``, a random number, of the SAMPLE_RECORDS records with the smallest draws
    """

    largest: int | None = None
    records: pa.Table | None = None
    seen: int = 0

    def merge(self, other: Self) -> None:
        """Add those of other records."""
        self.seen += other.seen
        samples = [sample for sample in (self, other) if sample.largest is not None and sample.records is not None]
        if samples:
            self.largest = max(sample.largest for sample in samples if sample.largest is not None)
            self.records = _smallest_draws(pa.concat_tables([sample.records for sample in samples], promote_options="permissive"))


def _smallest_draws(records: pa.Table) -> pa.Table:
    if len(records) <= SAMPLE_RECORDS:
        return records
    return records.take(pc.select_k_unstable(records, SAMPLE_RECORDS, [("draw", "ascending")]))


class CountScan(MismatchScan):
    """The scan before, if the number of partitions is not known: of the largest partition, and of a sample of the records.

    partitions_count : the most that may be counted
    """

    def of_batches(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of ``results.SCHEMA`` for a task's batches. The scan that follows rejects rows."""
        result = RecordSample()
        random = np.random.default_rng(SEED)
        for batch in batches:
            found = RecordSample(seen=batch.num_rows)
            readable, _ = self.readable(batch)
            if readable.num_rows:
                partitions = integers(readable.column(self.partition_column))
                columns = [readable.column(self.key_column), partitions, pa.array(random.random(readable.num_rows))]
                found.largest = pc.max(partitions).as_py()
                found.records = pa.table(columns, ["key", "partition", "draw"]).drop_null()
            result.merge(found)
        yield partial(result, 0)
