"""The first scan of ``mismatch`` if the number of partitions is not given: the largest one, and a sample of the records.

Executors run this.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from service.pipeline.analyses.mismatch.scan import MismatchScan
from service.pipeline.analyses.results import partial
from service.pipeline.files.types import integers

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

    def add(self, keys: pa.Array, partitions: pa.Array, draws: pa.Array) -> None:
        """Add records, some without a key."""
        if len(partitions):
            records = pa.table([keys, partitions, draws], ["key", "partition", "draw"]).drop_null()
            self.merge(RecordSample(pc.max(partitions).as_py(), _smallest(records)))

    def merge(self, other: Self) -> None:
        """Add those of other records."""
        self.seen += other.seen
        samples = [sample for sample in (self, other) if sample.largest is not None and sample.records is not None]
        if samples:
            self.largest = max(sample.largest for sample in samples if sample.largest is not None)
            self.records = _smallest(pa.concat_tables([sample.records for sample in samples], promote_options="permissive"))


def _smallest(records: pa.Table) -> pa.Table:
    if len(records) <= SAMPLE_RECORDS:
        return records
    return records.take(pc.select_k_unstable(records, SAMPLE_RECORDS, [("draw", "ascending")]))


@dataclass(frozen=True)
class CountScan:
    """What is done with each record. scan : the one that follows, here with the most partitions that may be counted"""

    scan: MismatchScan

    @property
    def columns(self) -> list[str]:
        """The columns to read."""
        return self.scan.columns

    def of_batches(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of ``results.SCHEMA`` for a task's batches. The scan that follows rejects rows."""
        result = RecordSample()
        random = np.random.default_rng(SEED)
        for batch in batches:
            result.seen += batch.num_rows
            readable, _ = self.scan.readable(batch)
            partitions = integers(readable.column(self.scan.partition_column))
            result.add(readable.column(self.scan.key_column), partitions, pa.array(random.random(readable.num_rows)))
        yield partial(result, 0)
