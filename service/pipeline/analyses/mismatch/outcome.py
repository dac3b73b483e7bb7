"""Which partitioner wrote a topic, and which records the expected one would have put elsewhere."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pyarrow as pa

from service.core.errors import InvalidQuestion
from service.core.model import Int64s
from service.core.partitioners import PARTITIONERS
from service.core.printable import all_of, counted
from service.decisions.partitions import chosen
from service.decisions.rows import is_text
from service.pipeline.analyses.mismatch import count_scan, report
from service.pipeline.analyses.mismatch.conclusions import conclusion
from service.pipeline.analyses.mismatch.scan import MismatchResult, MismatchScan, add_earlier_counts, patterns, settled
from service.pipeline.analyses.outcome import Outcome, Records
from service.pipeline.files.errors import WrongTable
from service.pipeline.files.key_columns import check_format, check_keys, read_keys
from service.planner.attribution.equivalents import PartitionerClass, rank
from service.planner.attribution.fingerprints import MAX_CLASSES, fingerprint
from service.planner.attribution.mixtures import Pairs, Patterns, intervals, likelihoods, unmix
from service.planner.attribution.observations import observe
from service.report.figures import number

MOST_PARTITIONS: Final = 1_000_000
"""Most partitions that are counted; a row with a higher one is rejected, as it would take the memory of as many."""

NO_VERDICT: Final = {
    "verdict": "none", "mixture": [], "chance_share": 0.0, "chance_share_low": 0.0, "chance_share_high": 0.0,
    "unexplained_pairs": 0,
}  # fmt: skip
"""If no record has a key."""

LARGEST_COUNT: Final = 4
"""Partition counts are tried up to this multiple of the smallest possible one."""

MOST_COUNTS: Final = 100_000
"""Most partition counts that are tried: some seconds of CPU."""

STRAY_SHARE: Final = 0.01
"""A partition far above all others with at most this share of the records is probably an error."""


def mismatch(
    records: Records,
    *,
    key_column: str,
    key_format: str | None,
    partition_column: str,
    partitions_count: int | None,
    expected: str,
    partitioners: tuple[str, ...],
    **_: Any,
) -> Outcome:
    """Estimate the partition count if it is not given, from a scan of its own, then scan the records."""
    key_format = check_format(records.schema.field(key_column).type, key_format)
    kind = records.schema.field(partition_column).type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind) or is_text(kind)):
        raise WrongTable(f"{records.name}: The column {partition_column!r} is {kind}; partitions are integers.")
    names, expected = suspects(partitioners, expected), PARTITIONERS.full_name(expected)
    scan = MismatchScan(key_column, key_format, partition_column, partitions_count or 1, expected, names, records.corrupt)
    writers = scan.writers()
    scan.expected_writer(writers)  # raises for one that ignores keys
    if len(writers.classes) > MAX_CLASSES:
        raise InvalidQuestion(f"{len(writers.classes)} distinct writers; at most {MAX_CLASSES} can be distinguished.")
    check_keys(records.first(), (key_column,), "", key_format, records.name)
    if partitions_count is None:
        counting = count_scan.CountScan(replace(scan, partitions_count=MOST_PARTITIONS))
        sample, _ = records.scan(counting, "counting the partitions of")
        scan = replace(scan, partitions_count=_partitions_count(sample, scan, records.name))
    result, rejected = records.scan(scan, "scanning")
    if not (result.keyless or result.records.any() or rejected):
        raise WrongTable.without_records(records.name)
    summary = _summary(scan, result, rejected, found=partitions_count is None)
    if summary["verdict"] == "unexplained":
        _try_other_bytes(records.schema.field(key_column).type, scan, result, summary)
    summary = {"job": "mismatch", "conclusion": conclusion(summary), **summary}
    headline = {
        "records": f"{number(summary['records'])}, {number(summary['keyless'])} of them without a key",
        f"misplaced, if {expected} is expected": f"{number(summary['misplaced'])} ({report.misplaced(summary)})",
        "rejected records": number(sum(rejected.values())),
    }
    return Outcome(summary, _tables(result, summary), report.report(summary, result, records.name), headline)


def _try_other_bytes(kind: pa.DataType, scan: MismatchScan, result: MismatchResult, summary: dict[str, Any]) -> None:
    """Say in the summary as what else the keys may have been hashed, by a sample, where nothing explains them as given.

    Of few pairs not even that is known: the verdict becomes ``undecided``. kind : of the column of keys
    """
    keys, partitions = zip(*result.keys.values(), strict=True)
    column, _ = read_keys(pa.array(keys, kind), scan.key_format)
    observations = observe(column, scan.key_format, np.array(partitions, np.int32))
    chosen = [PARTITIONERS[name] for name in scan.partitioners]
    found = fingerprint(chosen, observations, range(scan.partitions_count, scan.partitions_count + 1))
    summary["key_transformation"] = found.transformation
    if found.verdict == "undecided":
        summary["verdict"] = found.verdict
        return
    if found.transformation is None:
        tried = f"{found.transformations_tried:,} other ways to make bytes of these keys, for example JSON strings with quotes"
        summary["warnings"].append(f"Nor does any of {tried}; keys may be Avro or Protobuf, of which the raw bytes tell more.")
        return
    writers = all_of([names[0] for names in found.writers], len(found.writers))
    explained = sum(each.pairs for each in found.mixture.components)
    of = f"{explained:,} of {counted(observations.pairs, 'different pair')} of a sample"
    summary["warnings"].append(f"The keys were not hashed as given: as {found.transformation}, {writers} explains {of}.")


def suspects(partitioners: Sequence[str], expected: str) -> tuple[str, ...]:
    """The full names of all that may have written the topic: ``partitioners``, by default all that do, and the expected one.

    Raises InvalidQuestion for one that does not exist, and as ``chosen``.
    """
    given = chosen(partitioners) or [each for each in PARTITIONERS if each.writes_to_kafka and each.hashes_record_key]
    return tuple(dict.fromkeys(each.name for each in (*given, PARTITIONERS[expected])))


def _tables(result: MismatchResult, summary: dict[str, Any]) -> dict[str, pa.Table]:
    partitions = {"partition_id": np.arange(len(result.records), dtype=np.int32), "records": result.records}
    return {
        "partitions.parquet": pa.table(partitions | {"misplaced": result.misplaced}),
        "examples.parquet": pa.Table.from_pylist(summary["examples"]),
    }


def _partitions_count(sample: count_scan.RecordSample, scan: MismatchScan, name: str) -> int:
    """The likeliest partition count: the largest partition + 1, unless the writers suggest more."""
    if not sample.seen:
        raise WrongTable.without_records(name)
    if sample.largest is None or sample.records is None:
        raise WrongTable(f"{name}: The column {scan.partition_column!r} has no partitions.")
    least = sample.largest + 1
    if not sample.records.num_rows:
        return least
    column, _ = read_keys(sample.records["key"].combine_chunks(), scan.key_format)
    partitions = np.asarray(sample.records["partition"]).astype(np.int32)
    chosen = [PARTITIONERS[name] for name in scan.partitioners]
    observations = observe(column, scan.key_format, partitions)
    counts = range(least, max(LARGEST_COUNT * least, least + 64))[:MOST_COUNTS]
    mixture = fingerprint(chosen, observations, counts).mixture
    return mixture.partitions_count if mixture.components else least


def _summary(scan: MismatchScan, result: MismatchResult, rejected: dict[str, int], *, found: bool) -> dict[str, Any]:
    keyed, misplaced = int(result.records.sum()), int(result.misplaced.sum())
    writers = settled(scan, result)
    with_earlier, group = add_earlier_counts(scan, result, writers), scan.writers()
    by_pair = dict(zip(result.wrong.hashes.tolist(), result.wrong.explained.tolist(), strict=True))
    return {
        "job": "mismatch",
        "records": keyed + result.keyless,
        "keyless": result.keyless,
        "rejected": rejected,
        "key_format": scan.key_format,
        "partitions_count": scan.partitions_count,
        "partitions_count_found": found,
        "expected": scan.expected,
        "misplaced": misplaced,
        "misplaced_share": misplaced / keyed if keyed else 0.0,
        "undecided": result.undecided,
        "different_pairs": {"placed": result.right.distinct, "misplaced": result.wrong.distinct},
        **(_verdict(*patterns(result, with_earlier, scan.partitions_count), with_earlier) if keyed else NO_VERDICT),
        "writers": _writers(result, writers),
        "warnings": _stray(result.records) if found else [],
        "ignoring_keys": list(group.ignoring_keys),
        "excluded": [{"partitioner": name, "reason": reason} for name, reason in group.excluded],
        "examples": [
            {
                "key": key,
                "partition_id": where,
                "expected_partition_id": expected,
                "explained_by": [writer.label for writer, i in with_earlier if by_pair.get(pair, bits) >> i & 1],
            }
            for pair, (key, where, expected, bits) in result.examples.items()
        ],
    }


def _stray(records: Int64s) -> list[str]:
    """A warning if hardly any record is on the largest partition, and it is more than twice as large as all others with records.

    Keys that a hash distributes over so many partitions would not leave most of them empty.

    records : int64[partitions], with a key
    """
    seen = np.flatnonzero(records)
    if len(seen) < 2 or seen[-1] <= 2 * seen[-2] + 1 or records[seen[-1]] > STRAY_SHARE * records.sum():
        return []
    largest, count = int(seen[-1]), int(seen[-2]) + 1
    of = f"{counted(int(records[largest]), 'record')} on partition {largest}"
    return [f"{of}, all others below {count}: if that is an error, set the partition count to {count}."]


def _verdict(patterns: Patterns, pairs: Pairs, writers: Sequence[tuple[PartitionerClass, int]]) -> dict[str, Any]:
    """Which partitioners wrote it."""
    mixture = unmix(patterns, len(writers))
    classes = [each.class_index for each in mixture.components]
    alone = len({writers[k][0].names for k in classes}) == 1 and not mixture.unexplained
    shares = np.array([*(each.share for each in mixture.components), mixture.chance_share])
    *bounds, (chance_low, chance_high) = intervals(likelihoods(patterns, classes), shares, pairs)
    return {
        "verdict": "identified" if alone else "mixture" if mixture.components else "unexplained",
        "mixture": [
            {
                "partitioners": _alike(patterns, writers, each.class_index),
                "partitions_count": writers[each.class_index][0].partitions_count or patterns.partitions_count,
                "share": each.share,
                "share_low": low,
                "share_high": high,
                "pairs": each.pairs,
                "of": each.of,
                "log_chance": each.log_chance,
            }
            for each, (low, high) in zip(mixture.components, bounds, strict=True)
        ],
        "chance_share": mixture.chance_share,
        "chance_share_low": chance_low,
        "chance_share_high": chance_high,
        "unexplained_pairs": mixture.unexplained,
    }


def _alike(patterns: Patterns, writers: Sequence[tuple[PartitionerClass, int]], class_index: int) -> list[str]:
    """The partitioners that explain the same pairs as a writer, those in use first."""
    same = [
        k
        for k in range(len(writers))
        if (patterns.explained[:, k] == patterns.explained[:, class_index]).all()
        and (patterns.undecided[:, k] == patterns.undecided[:, class_index]).all()
    ]
    names = dict.fromkeys(name for k in same for name in writers[k][0].names)
    return sorted(names, key=lambda name: rank(PARTITIONERS[name]))


def _writers(result: MismatchResult, writers: Sequence[tuple[PartitionerClass, int]]) -> list[dict[str, Any]]:
    """The number of records that each explains, largest share first."""
    by_share = sorted(writers, key=lambda each: -result.explained[each[1]] / max(result.decided[each[1]], 1))
    return [
        {"partitioners": list(writer.names), "explained": int(result.explained[i]), "of": int(result.decided[i])}
        for writer, i in by_share
    ]
