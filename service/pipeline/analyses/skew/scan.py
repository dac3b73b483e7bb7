"""The scan of ``skew``: batches of records in, the load of every partition of every count out. Executors run this.

Each task adds its batches to one ``KeyCounter`` of the core and returns it as bytes. Their size depends on the partitions and on
``max_keys``, never on the number of keys.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from service.core.errors import InvalidQuestion
from service.core.keys.columns import SERIALIZED
from service.decisions.partition_counts import partitioner_names
from service.decisions.rows import MOST, is_text
from service.pipeline.analyses.results import partial, rejects, without_corrupt
from service.pipeline.analyses.skew import MAX_KEYS
from service.pipeline.files.key_columns import is_bytes, joined, misfit, read_keys
from service.pipeline.files.rejected import as_texts, no_number, no_value
from service.pipeline.files.types import integers
from service.planner.sizing.counter import ONE_RECORD, KeyCounter, hashing_rule, key_hashes_of
from service.planner.sizing.distinct_keys import DistinctKeys

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from service.core.model import Int64s, Keys

SAMPLE_KEYS: Final = 4096
"""Most keys of a KeySample."""


@dataclass(frozen=True)
class SkewScan:
    """What ``skew`` does with each record.

    key_columns : their texts, joined by ``separator``, are the key; a single column is the key as it is
    key_format : one of the core's
    records_column : the number of records that each row stands for, an integer; None: one
    size_columns : columns that add up to a record's bytes: the length of strings and bytes (of a null 0, as of a tombstone), the
        value of integers, without which a row is rejected
    untyped : whether the columns are of CSV, where a text of digits is an integer
    corrupt : the column of the rows that Spark could not read as records; None where there is none
    partitioners, partitions_counts, current, max_keys : as in the core's KeyCounter
    """

    key_columns: tuple[str, ...]
    key_format: str
    partitioners: tuple[str, ...]
    partitions_counts: tuple[int, ...]
    current: int | None = None
    separator: str = "-"
    records_column: str | None = None
    size_columns: tuple[str, ...] = ()
    untyped: bool = False
    corrupt: str | None = None
    max_keys: int = MAX_KEYS

    @property
    def columns(self) -> list[str]:
        """The columns to read, each once."""
        others = (self.records_column, self.corrupt)
        return list(dict.fromkeys((*self.key_columns, *self.size_columns, *(name for name in others if name is not None))))

    def of_batches(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of ``results.SCHEMA`` for a task's batches."""
        result = SkewResult.of_nothing(self)
        rejected = 0
        for batch in batches:
            for rows in self.add(result, batch):
                rejected += rows.num_rows
                yield rows
        yield partial(result, rejected)

    def add(self, result: SkewResult, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Add a batch to ``result``; gives the rejected rows."""
        if self.corrupt:
            batch, corrupt = without_corrupt(batch, self.corrupt)
            yield from corrupt
        for name in self.size_columns:
            for bad, reason in _without_size(batch.column(name), name):
                shown = [*dict.fromkeys((*self.key_columns, *self.size_columns))]
                yield rejects(as_texts(batch.filter(bad).select(shown)), reason)
                batch = batch.filter(pc.invert(bad))
        key = joined([batch.column(name) for name in self.key_columns], self.separator)
        column, bad = read_keys(key, self.key_format)
        if bad is not None:
            misfits = key.filter(bad)
            if pa.types.is_binary(misfits.type) or pa.types.is_large_binary(misfits.type):
                misfits = pa.array([value.hex() for value in misfits.to_pylist()], pa.string())
            yield rejects(misfits, misfit(self.key_format))
            batch, key = batch.filter(pc.invert(bad)), key.filter(pc.invert(bad))
            column = read_keys(key, self.key_format)[0]
        if batch.num_rows:
            records = None if self.records_column is None else np.array(batch.column(self.records_column), np.int64)
            sizes, serialized = self._sizes(batch), SERIALIZED.run(column, self.key_format)
            key_hashes = key_hashes_of(serialized)
            result.counts.add(column, self.key_format, records, sizes, key_hashes)
            result.sample.add(serialized, key_hashes, records, sizes)

    def _sizes(self, batch: pa.RecordBatch) -> Int64s | None:
        """int64[n], each record's bytes; None without size columns."""
        if not self.size_columns:
            return None
        total = np.zeros(batch.num_rows, np.int64)
        for name in self.size_columns:
            column = batch.column(name)
            if _has_length(column.type):
                lengths = pc.binary_length(column).cast(pa.int64())
                column = pc.coalesce(integers(column), lengths) if self.untyped else lengths
            else:
                column = integers(column)
            total += np.maximum(pc.fill_null(column, 0).to_numpy(zero_copy_only=False), 0)
        return total


@dataclass
class KeySample:
    """A few thousand keys that stand for all: the sample of ``DistinctKeys``, smaller, and with the bytes of each key.

    names : key hash → the key's bytes
    """

    held: DistinctKeys = field(default_factory=lambda: DistinctKeys(functions=0, max_keys=SAMPLE_KEYS))
    names: dict[int, bytes] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether it has every key."""
        return self.held.level == 0

    @property
    def weights(self) -> dict[bytes, list[int]]:
        """Key → its records and bytes."""
        key_hashes, weights, _ = self.held.entries()
        return {self.names[key]: of for key, of in zip(key_hashes.tolist(), weights.tolist(), strict=True)}

    def add(self, keys: Keys, key_hashes: Int64s, records: Int64s | None, sizes: Int64s | None) -> None:
        """Add rows: their serialized keys, int64[n] key hashes, and int64[n] records and bytes. Null keys are skipped.

        records, sizes : None: each row is one record, of unknown size
        """
        weights = ONE_RECORD[None]
        if records is not None or sizes is not None:
            weights = np.ones((len(keys), 2), np.int64) if records is None else np.repeat(records[:, None], 2, axis=1)
            weights[:, 1] = 0 if sizes is None else sizes
        if keys.valid is None:
            rows = sampled = self.held.sample(key_hashes, weights, [])
        else:
            present = np.flatnonzero(keys.valid)
            key_hashes = key_hashes[present]
            sampled = self.held.sample(key_hashes, weights if len(weights) == 1 else weights[present], [])
            rows = present[sampled]
        texts = [keys.data[keys.offsets[row] : keys.offsets[row + 1]].tobytes() for row in rows.tolist()]
        self._name(dict(zip(key_hashes[sampled].tolist(), texts, strict=True)))

    def merge(self, other: KeySample) -> None:
        """Add the records of another sample."""
        self.held.merge_sample(other.held)
        key_hashes = np.array([*other.names], np.int64)
        self._name({key: other.names[key] for key in key_hashes[self.held.holds(key_hashes)].tolist()})

    def _name(self, names: dict[int, bytes]) -> None:
        """Add names, and drop those of keys that have left the sample."""
        self.names |= names
        if len(self.names) > self.held.held:
            key_hashes = np.array([*self.names], np.int64)
            self.names = {key: self.names[key] for key in key_hashes[self.held.holds(key_hashes)].tolist()}


@dataclass
class SkewResult:
    """What a task computed, or several, merged."""

    counts: KeyCounter
    sample: KeySample

    @staticmethod
    def of_nothing(scan: SkewScan) -> SkewResult:
        """The result without any record."""
        return SkewResult(KeyCounter(scan.partitioners, scan.partitions_counts, scan.current, scan.max_keys), KeySample())

    def merge(self, other: SkewResult) -> None:
        """Add the result of other records."""
        self.counts.merge(other.counts)
        self.sample.merge(other.sample)


def check_partitioners(partitioners: Sequence[str], key_format: str | None) -> tuple[str, ...]:
    """Their full names. Raises InvalidQuestion as ``partitioner_names``, and for one that does not accept that format."""
    names = tuple(partitioner_names(partitioners))
    for name in names:
        formats = hashing_rule(name).encoding.formats
        if key_format is not None and key_format not in formats:
            raise InvalidQuestion(f"The partitioner {name} does not accept {key_format} keys; it accepts {', '.join(formats)}.")
    return names


def _has_length(kind: pa.DataType) -> bool:
    return is_text(kind) or is_bytes(kind)


def _without_size(column: pa.Array, name: str) -> Iterator[tuple[pa.Array, str]]:
    """bool[n] of the rows that have no size in a column of numbers, and the reason; first, if any, those without a value."""
    if _has_length(column.type):
        return
    if column.null_count:
        yield pc.is_null(column), no_value(name)
        column = column.drop_null()
    sizes = integers(column)
    bad = pc.fill_null(pc.or_(pc.less(sizes, 0), pc.greater(sizes, MOST)), True)
    if bad.true_count:
        yield bad, no_number(name)
