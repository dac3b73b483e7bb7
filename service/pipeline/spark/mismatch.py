"""``mismatch``: which partitioner wrote a topic, and which records the expected one would have put elsewhere."""

from typing import Any

from service.pipeline.analyses.mismatch.outcome import mismatch
from service.pipeline.analyses.results import Outcome
from service.pipeline.spark.io.scan import ScanSource
from service.pipeline.spark.io.sinks import Pipeline
from service.pipeline.spark.io.sources import Source
from service.pipeline.spark.jobs import MISMATCH


def run(pipeline: Pipeline, *, source: Source, **options: Any) -> Outcome:
    """Scan the source, twice if the partition count is not given."""
    del options["topic"]  # it is for those who read the results
    return mismatch(ScanSource.of(pipeline, source, MISMATCH.columns(source=source, **options)), **options)
