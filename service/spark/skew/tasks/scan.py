"""The scan of ``skew``: batches of records in, what lies on every partition of every count out. Executors run this.

Each task adds its batches to one ``Counts`` of the core and gives it away as bytes. Its size depends on the partitions and on
``max_keys``, never on how many keys went in.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from service.core.errors import InvalidQuestion
from service.core.keys.columns import SERIALIZED
from service.core.sizing.counter import Counts, fingerprints_of, hashing
from service.spark.io.key_columns import joined, read_keys
from service.spark.io.rejected_rows import partial, rejects
from service.spark.skew.key_sample import KeySample

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from service.core.model import Int64s

CODEC: Final = "lz4"
MAX_KEYS: Final = 2**16
"""Most different keys of which each is known; with more the different keys of a partition are estimated from so many."""


@dataclass(frozen=True)
class Scan:
    """What is asked about every record.

    key_columns : their texts, joined by ``separator``, are the key; one alone is the key as it is
    key_format : one of the core's
    size_columns : columns whose sizes make a record's bytes: of texts and bytes their length, of integers their value
    corrupt : the column that holds what could not be read as a record; None where there is none
    partitioners, partitions_counts, current, max_keys : as the core's Counts has them
    """

    key_columns: tuple[str, ...]
    key_format: str
    partitioners: tuple[str, ...]
    partitions_counts: tuple[int, ...]
    current: int | None = None
    separator: str = "-"
    size_columns: tuple[str, ...] = ()
    corrupt: str | None = None
    max_keys: int = MAX_KEYS

    @property
    def columns(self) -> list[str]:
        """What has to be read, each once."""
        return list(dict.fromkeys((*self.key_columns, *self.size_columns, *([self.corrupt] if self.corrupt else []))))

    def counts(self) -> Counts:
        """Counts of nothing yet."""
        return Counts(self.partitioners, self.partitions_counts, self.current, self.max_keys)

    def of_batches(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of ``quarantine.RESULT`` for a task's batches."""
        part = Part(self.counts(), KeySample())
        rejected = 0
        for batch in batches:
            for rows in self.add(part, batch):
                rejected += rows.num_rows
                yield rows
        yield partial(part.packed(), rejected)

    def add(self, part: Part, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Add a batch; gives the rows that had to be set aside."""
        if self.corrupt:
            corrupt = batch.column(self.corrupt)
            if corrupt.null_count < len(corrupt):
                yield rejects(corrupt.drop_null(), "not readable as a record")
                batch = batch.filter(pc.is_null(corrupt))
        key = joined([batch.column(name) for name in self.key_columns], self.separator)
        column, bad = read_keys(key, self.key_format)
        if bad is not None:
            yield rejects(_text(key.filter(bad)), f"no {self.key_format} key")
            batch, key = batch.filter(pc.invert(bad)), key.filter(pc.invert(bad))
            column = read_keys(key, self.key_format)[0]
        if batch.num_rows:
            sizes, serialized = self._sizes(batch), SERIALIZED.run(column, self.key_format)
            fingerprints = fingerprints_of(serialized)
            part.counts.add(column, self.key_format, None, sizes, fingerprints)
            part.sample.add(serialized, fingerprints, sizes)

    def _sizes(self, batch: pa.RecordBatch) -> Int64s | None:
        """int64[n], each record's bytes; None where they are not asked for."""
        if not self.size_columns:
            return None
        total = np.zeros(batch.num_rows, np.int64)
        for name in self.size_columns:
            column = batch.column(name)
            if not pa.types.is_integer(column.type):
                column = pc.binary_length(column)
            total += np.maximum(pc.fill_null(column, 0).to_numpy(zero_copy_only=False), 0)
        return total


@dataclass
class Part:
    """What some of the records came to."""

    counts: Counts
    sample: KeySample

    def merge(self, other: Part) -> None:
        """Add what other records came to."""
        self.counts.merge(other.counts)
        self.sample.merge(other.sample)

    def packed(self) -> bytes:
        """As bytes: mostly free slots, which compress to nothing."""
        data = pickle.dumps(self, pickle.HIGHEST_PROTOCOL)
        squeezed: bytes = pa.compress(data, CODEC, asbytes=True)
        return len(data).to_bytes(8, "big") + squeezed

    @staticmethod
    def unpacked(data: bytes) -> Part:
        """The part that ``packed`` gave."""
        found: Part = pickle.loads(pa.decompress(data[8:], int.from_bytes(data[:8], "big"), CODEC, asbytes=True))  # noqa: S301 - our own
        return found


def merged(parts: Iterable[bytes]) -> Part:
    """All packed parts together; at least one."""
    found = map(Part.unpacked, parts)
    whole = next(found)
    for part in found:
        whole.merge(part)
    return whole


def check_partitioners(names: Sequence[str], key_format: str | None) -> None:
    """Raise InvalidQuestion for a partitioner that is not there, hashes no keys, or takes none of that format."""
    for name in names:
        formats = hashing(name).encoding.formats
        if key_format is not None and key_format not in formats:
            raise InvalidQuestion(f"the partitioner {name} takes no {key_format} keys, but {', '.join(formats)}")


def _text(column: pa.Array) -> pa.Array:
    """Whatever a key was, as text."""
    if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
        return pa.array([value.hex() for value in column.to_pylist()], pa.string())
    return column.cast(pa.string())
