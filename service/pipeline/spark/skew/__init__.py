"""``skew``: how evenly several partitioners and partition counts would distribute the records, in one scan."""

from typing import Any

from service.pipeline.analyses.results import Outcome
from service.pipeline.analyses.skew.outcome import scan_of, skew
from service.pipeline.analyses.skew.scan import SkewScan
from service.pipeline.spark.io.scan import ScanSource
from service.pipeline.spark.io.sinks import Pipeline
from service.pipeline.spark.io.sources import Source
from service.pipeline.spark.jobs import SKEW
from service.planner.sizing.plans import CountLimits, Rates


def run(pipeline: Pipeline, *, source: Source, follow: bool, **options: Any) -> Outcome | None:
    """Scan the source once; None after following a topic."""
    if follow:
        from service.pipeline.spark.skew.follow import follow as run_follow  # noqa: PLC0415 - the stream needs more modules

        run_follow(pipeline, source, **options)
        return None
    limits = CountLimits(
        options["max_partition_records_per_second"], options["max_partition_bytes_per_second"], options["max_skew"]
    )
    return skew(*prepare(pipeline, source, options), limits, Rates(), options["duration_seconds"])


def prepare(pipeline: Pipeline, source: Source, options: dict[str, Any]) -> tuple[ScanSource, SkewScan]:
    """The source and its scan, once its columns exist and hold keys of the format. Raises WrongSource or InvalidQuestion."""
    key_columns = options["key_columns"] or ("key",)
    names = SKEW.columns(source=source, **options)
    records = ScanSource.of(pipeline, source, names)
    return records, scan_of(
        records,
        key_columns=tuple(key_columns),
        separator=options["key_separator"],
        size_columns=names[len(key_columns) :],
        untyped=source.format == "csv",
        **{name: options[name] for name in ("key_format", "partitioners", "partitions_counts", "current", "max_keys")},
    )
