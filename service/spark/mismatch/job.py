"""``mismatch``: which partitioner wrote a topic, and what is not where the expected one would have put it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import click
import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from service.core.attribution.fingerprints import MAX_CLASSES, fingerprint
from service.core.attribution.mixtures import unmix
from service.core.attribution.observations import observe
from service.core.errors import InvalidQuestion
from service.core.keys.columns import FORMATS
from service.core.partitioners import PARTITIONERS
from service.spark.errors import WrongSource
from service.spark.io.key_columns import check_format, check_keys, is_text, read_keys
from service.spark.io.scan import Input, scanned
from service.spark.job import Job, Outcome
from service.spark.mismatch import report
from service.spark.mismatch.scan import MismatchScan, merged, patterns, read_partitions, settled
from service.spark.parameters import READ_OPTIONS, SOURCE
from service.spark.report import number, share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

    from service.core.attribution.equivalents import PartitionerClass
    from service.core.attribution.mixtures import Mixture
    from service.spark.io.sources import Source
    from service.spark.job import Pipeline
    from service.spark.mismatch.scan import Part

LOOKED_AT: Final = 20_000
"""Records, drawn at random, that say how many partitions there are, where nobody does."""

SEED: Final = 20_261_121
MOST_COUNTS: Final = 4
"""So many times the largest partition seen are tried as partition counts."""


def check(*, expected: str, partitioners: tuple[str, ...], **_: Any) -> None:
    """Raise UnknownStrategy for a partitioner that is not there."""
    for name in (expected, *partitioners):
        PARTITIONERS[name]


def run(
    pipeline: Pipeline,
    *,
    source: Source,
    key_column: str,
    key_format: str | None,
    partition_column: str,
    partitions_count: int | None,
    expected: str,
    partitioners: tuple[str, ...],
    **_: Any,
) -> Outcome:
    """Count the partitions if nobody has, then scan the source once."""
    looked = Input.of(pipeline.spark, source, (key_column, partition_column))
    key_format = check_format(looked.schema.field(key_column).type, key_format)
    kind = looked.schema.field(partition_column).type
    if not (pa.types.is_integer(kind) or is_text(kind)):
        raise WrongSource(f"{source}: the column {partition_column!r} of {kind} holds no partitions")
    names = tuple(dict.fromkeys((*(partitioners or (each.name for each in PARTITIONERS)), expected)))
    scan = MismatchScan(key_column, key_format, partition_column, partitions_count or 1, expected, names, looked.corrupt)
    writers = scan.writers()
    scan.expected_writer(writers)  # refuses one that looks at no key
    if len(writers.classes) > MAX_CLASSES:
        raise InvalidQuestion(f"{len(writers.classes)} different writers; at most {MAX_CLASSES} can be told apart")
    check_keys(looked.first(), (key_column,), "", key_format, source)
    if partitions_count is None:
        with pipeline.progress(f"counting the partitions of {source}"):
            scan = replace(scan, partitions_count=_partitions_count(looked.frame, scan, source))
    with pipeline.progress(f"scanning {source}"):
        part, rejected = scanned(looked, scan, merged, pipeline.sink)
    summary = _summary(scan, part, rejected, counted=partitions_count is None)
    tables = {
        "partitions.parquet": pa.table(
            {"partition_id": np.arange(len(part.records), dtype=np.int32), "records": part.records, "misplaced": part.misplaced}
        ),
        "examples.parquet": pa.Table.from_pylist(summary["examples"]),
    }
    headline = {
        "records": f"{number(summary['records'])}, {number(summary['keyless'])} of them without a key",
        "verdict": report.verdict(summary),
        f"not where {expected} puts them": f"{number(summary['misplaced'])} ({share(summary['misplaced_share'])})",
        "set aside": number(sum(rejected.values())),
    }
    return Outcome(summary, tables, report.report(summary, part, str(source)), headline)


def _partitions_count(frame: DataFrame, scan: MismatchScan, source: Source) -> int:
    """The likeliest partition count, from a sample: that of the largest partition seen, unless the writers speak for more."""
    partition = F.col(scan.partition_column).try_cast("int")
    kept = frame.where(partition.isNotNull() & (partition >= 0))
    top = kept.agg(F.max(partition)).first()
    if top is None or top[0] is None:
        raise WrongSource(f"{source}: no record has a partition in the column {scan.partition_column!r}")
    least = int(top[0]) + 1
    some = kept.where(F.col(scan.key_column).isNotNull()).orderBy(F.rand(SEED)).limit(LOOKED_AT)
    sample = some.select(scan.key_column, scan.partition_column).toArrow().combine_chunks()
    if not sample.num_rows:
        return least
    batch = sample.to_batches()[0]
    column, bad = read_keys(batch.column(0), scan.key_format)
    if bad is not None:
        batch = batch.filter(pa.compute.invert(bad))
        column = read_keys(batch.column(0), scan.key_format)[0]
    if not batch.num_rows:
        return least
    partitions = np.asarray(read_partitions(batch.column(1))).astype(np.int32)
    chosen = [PARTITIONERS[name] for name in scan.partitioners]
    observations = observe(column, scan.key_format, partitions)
    found = fingerprint(chosen, observations, range(least, max(MOST_COUNTS * least, least + 64)))
    return found.mixture.partitions_count if found.mixture.components else least


def _summary(scan: MismatchScan, part: Part, rejected: dict[str, int], *, counted: bool) -> dict[str, Any]:
    keyed, misplaced = int(part.records.sum()), int(part.misplaced.sum())
    writers = settled(scan, part)
    group = scan.writers()
    return {
        "job": "mismatch",
        "records": keyed + part.keyless,
        "keyless": part.keyless,
        "rejected": rejected,
        "key_format": scan.key_format,
        "partitions_count": scan.partitions_count,
        "partitions_count_found": counted,
        "expected": scan.expected,
        "misplaced": misplaced,
        "misplaced_share": misplaced / keyed if keyed else 0.0,
        "undecided": part.undecided,
        "different_pairs": {"placed": part.right.distinct, "misplaced": part.wrong.distinct},
        **_verdict(unmix(patterns(part, writers, scan.partitions_count), len(writers)) if keyed else None, writers),
        "writers": _writers(part, writers),
        "ignoring_keys": list(group.ignoring_keys),
        "excluded": [{"partitioner": name, "reason": reason} for name, reason in group.excluded],
        "examples": [
            {
                "key": key,
                "partition_id": where,
                "expected_partition_id": expected,
                "explained_by": [writer.names[0] for writer, i in writers if bits >> i & 1],
            }
            for key, where, expected, bits in part.examples.values()
        ],
    }


def _verdict(mixture: Mixture | None, writers: Sequence[tuple[PartitionerClass, int]]) -> dict[str, Any]:
    """Who wrote it. mixture : None if no record has a key"""
    if mixture is None:
        return {"verdict": "none", "mixture": [], "chance_share": 0.0, "unexplained_pairs": 0}
    alone = len(mixture.components) == 1 and not mixture.unexplained
    return {
        "verdict": "identified" if alone else "mixture" if mixture.components else "unexplained",
        "mixture": [
            {
                "partitioners": list(writers[each.class_index][0].names),
                "share": each.share,
                "pairs": each.pairs,
                "of": each.of,
                "log_chance": each.log_chance,
            }
            for each in mixture.components
        ],
        "chance_share": mixture.chance_share,
        "unexplained_pairs": mixture.unexplained,
    }


def _writers(part: Part, writers: Sequence[tuple[PartitionerClass, int]]) -> list[dict[str, Any]]:
    """How many records each explains, those that explain most of what they decide first."""
    by_share = sorted(writers, key=lambda each: -part.explained[each[1]] / max(part.decided[each[1]], 1))
    return [
        {"partitioners": list(writer.names), "explained": int(part.explained[i]), "of": int(part.decided[i])}
        for writer, i in by_share
    ]


JOB: Final = Job(
    name="mismatch",
    summary="Which partitioner wrote a topic, and which records are not where the expected one puts them.\n\n"
    "SOURCE is a path, table:NAME, FORMAT:PATH or kafka://host:port/topic.",
    parameters=(
        READ_OPTIONS,
        click.Argument(["source"], type=SOURCE),
        click.Option(["--key-column"], default="key", show_default=True),
        click.Option(
            ["--key-format"], type=click.Choice(FORMATS), help="How a key becomes bytes; default: as its column's type."
        ),
        click.Option(["--partition-column"], default="partition", show_default=True, help="The partition that a record is on."),
        click.Option(
            ["--partitions-count"], type=click.IntRange(1), help="Of the topic; default: found out, by a scan of its own."
        ),
        click.Option(
            ["--expected"], default="java", show_default=True, help="The partitioner that should have written all of it."
        ),
        click.Option(["--partitioner", "partitioners"], multiple=True, help="Those that may have written it; default: all."),
    ),
    run=run,
    check=check,
)
