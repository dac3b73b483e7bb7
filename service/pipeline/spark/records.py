"""The records of a source, as analyses scan them: on Spark's executors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from service.pipeline.spark.io.scan import ScanSource, run_scan

if TYPE_CHECKING:
    import pyarrow as pa

    from service.pipeline.analyses.results import Scan
    from service.pipeline.spark.job import Pipeline


@dataclass(frozen=True)
class SparkRecords:
    """Records that executors scan. Rejected rows become a table of the job's results."""

    pipeline: Pipeline
    source: ScanSource

    @property
    def name(self) -> str:
        """As the user names them."""
        return str(self.source.source)

    @property
    def schema(self) -> pa.Schema:
        """The columns at least that are read. Raises WrongSource."""
        return self.source.schema

    @property
    def corrupt(self) -> str | None:
        """The column of the rows that Spark could not read as records; None where there is none."""
        return self.source.corrupt

    def first(self) -> list[pa.RecordBatch]:
        """A few records; none of a topic. Raises WrongSource."""
        return self.source.first()

    def scan(self, scan: Scan, what: str) -> tuple[Any, dict[str, int]]:
        """What ``scan`` computes of all records, and the number of rejected rows by reason."""
        if self.pipeline.estimates:
            click.echo(self.source.estimate(scan), err=True)
        with self.pipeline.progress(f"{what} {self.name}", self.source.reading):
            return run_scan(self.source, scan, self.pipeline.sink)
