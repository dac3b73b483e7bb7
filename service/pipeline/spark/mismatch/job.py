"""``mismatch``: which partitioner wrote a topic, and which records the expected one would have put elsewhere."""

from typing import Any

from service.pipeline.analyses.mismatch.outcome import mismatch
from service.pipeline.analyses.outcome import Outcome
from service.pipeline.spark.io.scan import ScanSource
from service.pipeline.spark.io.sources import Source
from service.pipeline.spark.job import Pipeline
from service.pipeline.spark.mismatch.options import columns
from service.pipeline.spark.records import SparkRecords


def run(pipeline: Pipeline, *, source: Source, **options: Any) -> Outcome:
    """Scan the source, twice if the partition count is not given."""
    del options["topic"]  # it is for those who read the results
    scan_source = ScanSource.of(pipeline.spark, source, columns(**options))
    return mismatch(SparkRecords(pipeline, scan_source), **options)
