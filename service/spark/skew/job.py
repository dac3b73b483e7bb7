"""``skew``: how evenly several partitioners and partition counts would distribute the records, in one scan."""

from typing import Any

import pyarrow as pa

from service.analyses.skew import report
from service.analyses.skew.answer import answer_from, request, summary, tables
from service.analyses.skew.scan import SkewScan, check_partitioners, merged
from service.core.sizing.plans import Limits, check_not_empty
from service.decisions.texts import is_text
from service.files.key_columns import check_format, check_keys, is_bytes
from service.spark.errors import WrongSource
from service.spark.io.scan import ScanSource, run_scan
from service.spark.io.sources import Source
from service.spark.job import Outcome, Pipeline
from service.spark.skew.options import columns


def run(pipeline: Pipeline, *, source: Source, follow: bool, **options: Any) -> Outcome | None:
    """Scan the source once; None after following a topic."""
    if follow:
        from service.spark.skew.follow import follow as run_follow  # noqa: PLC0415 - the stream needs more modules

        run_follow(pipeline, source, **options)
        return None
    scan_source, scan = prepare(pipeline, source, options)
    with pipeline.progress(f"scanning {source}"):
        result, rejected = run_scan(scan_source, scan, merged, pipeline.sink)
    check_not_empty(result.counts)
    limits = Limits(options["max_partition_records_per_second"], options["max_partition_bytes_per_second"], options["max_skew"])
    answer = answer_from(result, rejected, scan.key_format, limits, options["duration_seconds"])
    return Outcome(
        summary(answer),
        tables(answer),
        report.report(answer, str(source), scan),
        report.headline(answer),
        {"partition-count-plans.json": request(answer)},
        within_limits=all(not each.smallest or each.recommended is not None for each in answer.reach),
    )


def prepare(pipeline: Pipeline, source: Source, options: dict[str, Any]) -> tuple[ScanSource, SkewScan]:
    """The source and its scan, once its columns exist and hold keys of the format.

    Raises WrongSource or InvalidQuestion.
    """
    key_columns = options["key_columns"] or ("key",)
    names = columns(source=source, **options)
    sizes = names[len(key_columns) :]
    scan_source = ScanSource.of(pipeline.spark, source, names)
    kind = scan_source.schema.field(key_columns[0]).type if len(key_columns) == 1 else pa.string()
    key_format = check_format(kind, options["key_format"])
    check_partitioners(options["partitioners"], key_format)
    _check_sizes(scan_source.schema, sizes, source)
    check_keys(scan_source.first(), key_columns, options["key_separator"], key_format, source)
    return scan_source, SkewScan(
        key_columns=tuple(key_columns),
        key_format=key_format,
        partitioners=tuple(options["partitioners"]),
        partitions_counts=options["partitions_counts"],
        current=options["current"],
        separator=options["key_separator"],
        size_columns=tuple(sizes),
        corrupt=scan_source.corrupt,
        max_keys=options["max_keys"],
    )


def _check_sizes(schema: pa.Schema, names: tuple[str, ...], source: Source) -> None:
    for name in names:
        kind = schema.field(name).type
        if not (pa.types.is_integer(kind) or is_text(kind) or is_bytes(kind)):
            raise WrongSource(
                f"{source}: The column {name!r} is {kind}, which has no size; only integers, strings and bytes have one."
            )
