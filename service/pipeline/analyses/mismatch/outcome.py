"""Which partitioner wrote a topic, and which records the expected one would have put elsewhere."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from service.core.errors import InvalidQuestion
from service.core.partitioners import PARTITIONERS
from service.core.printable import all_of, counted, share
from service.decisions.partitions import chosen
from service.decisions.rows import is_text
from service.pipeline.analyses.mismatch.scan import (
    CountScan,
    MismatchResult,
    MismatchScan,
    RecordSample,
    add_earlier_counts,
    patterns,
    settled,
)
from service.pipeline.analyses.results import Outcome, Records
from service.pipeline.files.key_columns import check_format, check_keys, read_keys
from service.pipeline.files.rejected import WrongTable
from service.planner.attribution.equivalents import rank
from service.planner.attribution.fingerprints import MAX_CLASSES, MOSTLY, fingerprint
from service.planner.attribution.mixtures import Pairs, Patterns, intervals, likelihoods, unmix
from service.planner.attribution.observations import observe
from service.report.figures import number
from service.report.folders import REJECTED_ROWS
from service.report.pages import COLORS, INK, Figure, FigureRow, Report, Section, Table, chart, partition_axis

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from service.core.model import Int64s
    from service.planner.attribution.equivalents import PartitionerClass

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

SHOWN: Final = 3
"""Partitioners that are named for each writer; the others are counted."""

BARS: Final = 512
"""Most bars of a chart, as more take Matplotlib minutes; with more partitions, each bar is the largest of several."""

NOTICED: Final = 0.0005
"""A share of records that no partitioner explains is mentioned if it is larger."""


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
        counting = CountScan(**{**vars(scan), "partitions_count": MOST_PARTITIONS})
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
        f"misplaced, if {expected} is expected": f"{number(summary['misplaced'])} ({_misplaced(summary)})",
        "rejected records": number(sum(rejected.values())),
    }
    partitions = {"partition_id": np.arange(len(result.records), dtype=np.int32), "records": result.records}
    tables = {
        "partitions.parquet": pa.table(partitions | {"misplaced": result.misplaced}),
        "examples.parquet": pa.Table.from_pylist(summary["examples"]),
    }
    return Outcome(summary, tables, _report(summary, result, records.name), headline)


def suspects(partitioners: Sequence[str], expected: str) -> tuple[str, ...]:
    """The full names of all that may have written the topic: ``partitioners``, by default all that do, and the expected one.

    Raises InvalidQuestion for one that does not exist, and as ``chosen``.
    """
    given = chosen(partitioners) or [each for each in PARTITIONERS if each.writes_to_kafka and each.hashes_record_key]
    return tuple(dict.fromkeys(each.name for each in (*given, PARTITIONERS[expected])))


def _partitions_count(sample: RecordSample, scan: MismatchScan, name: str) -> int:
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
    observations = observe(column, scan.key_format, partitions)
    counts = range(least, max(LARGEST_COUNT * least, least + 64))[:MOST_COUNTS]
    mixture = fingerprint([PARTITIONERS[name] for name in scan.partitioners], observations, counts).mixture
    return mixture.partitions_count if mixture.components else least


def _summary(scan: MismatchScan, result: MismatchResult, rejected: dict[str, int], *, found: bool) -> dict[str, Any]:
    keyed, misplaced = int(result.records.sum()), int(result.misplaced.sum())
    writers = settled(scan, result)
    with_earlier, group = add_earlier_counts(scan, result, writers), scan.writers()
    by_pair = dict(zip(result.wrong.hashes.tolist(), result.wrong.explained.tolist(), strict=True))
    by_share = sorted(writers, key=lambda each: -result.explained[each[1]] / max(result.decided[each[1]], 1))
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
        "writers": [
            {"partitioners": list(writer.names), "explained": int(result.explained[i]), "of": int(result.decided[i])}
            for writer, i in by_share
        ],
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
    same = np.ones(len(writers), np.bool_)
    for of in (patterns.explained, patterns.undecided):
        same &= (of == of[:, [class_index]]).all(axis=0)
    names = dict.fromkeys(name for k in np.flatnonzero(same).tolist() for name in writers[k][0].names)
    return sorted(names, key=lambda name: rank(PARTITIONERS[name]))


def _try_other_bytes(kind: pa.DataType, scan: MismatchScan, result: MismatchResult, summary: dict[str, Any]) -> None:
    """Say in the summary as what else the keys may have been hashed, by a sample, where nothing explains them as given.

    Of few pairs not even that is known: the verdict becomes ``undecided``. kind : of the column of keys
    """
    keys, partitions = zip(*result.keys.values(), strict=True)
    column, _ = read_keys(pa.array(keys, kind), scan.key_format)
    observations = observe(column, scan.key_format, np.array(partitions, np.int32))
    counts = range(scan.partitions_count, scan.partitions_count + 1)
    found = fingerprint([PARTITIONERS[name] for name in scan.partitioners], observations, counts)
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


# ---- in words and pictures ---------------------------------------------------------------------------------------------


def conclusion(summary: dict[str, Any]) -> str:
    """Such as ``Written by: 99.9% java … (99.8% to 99.9%), 0.10% librdkafka:consistent … (0.07% to 0.15%).``"""
    if summary["verdict"] == "none":
        return "No record has a key."
    if summary["verdict"] == "undecided":
        if summary["partitions_count"] == 1:
            return "With one partition, where records are does not tell who wrote them."
        pairs = sum(summary["different_pairs"].values())
        return f"Too few different pairs of key and partition ({pairs:,}) to tell who wrote the records."
    if summary["verdict"] == "unexplained":
        reasons = "for example, because a serializer changed the keys' bytes: the command fingerprint tries the usual ones"
        return f"No partitioner explains the records at this partition count, {reasons}."
    parts = [f"{share(part['share'])} {_writer(summary, part)} ({_interval(part)})" for part in summary["mixture"]]
    if summary["chance_share"] > NOTICED:
        unexplained = f"{share(summary['chance_share'])} explained by no partitioner"
        parts.insert(0 if summary["chance_share"] > MOSTLY else len(parts), unexplained)
    earlier = sorted({part["partitions_count"] for part in summary["mixture"]} - {summary["partitions_count"]})
    counts = " to ".join(map(str, (*earlier, summary["partitions_count"])))
    keyed = counted(summary["records"] - summary["keyless"], "record")
    of = f"Of {keyed} with a key ({summary['keyless']:,} have none): " if summary["keyless"] else "Written by: "
    return f"{of}{', '.join(parts)}{f'; the topic probably grew from {counts} partitions' if earlier else ''}."


def _writer(summary: dict[str, Any], part: dict[str, Any]) -> str:
    """A part of the mixture, with its partition count if the topic had another one before it grew."""
    count = part["partitions_count"]
    return _named(part["partitioners"]) + (f" with {counted(count, 'partition')}" if count != summary["partitions_count"] else "")


def _interval(part: dict[str, Any]) -> str:
    """The 95% interval of a share."""
    return f"{share(part['share_low'])} to {share(part['share_high'])}"


def _named(partitioners: list[str]) -> str:
    """The first of a writer's partitioners, which no key can tell apart."""
    more = len(partitioners) - SHOWN
    return " / ".join(partitioners[:SHOWN]) + (f" / {more} more" if more > 0 else "")


def _misplaced(summary: dict[str, Any]) -> str:
    """The share of the misplaced records, and whether a former partition count explains all of them."""
    is_expected = summary["verdict"] == "identified" and summary["expected"] in summary["mixture"][0]["partitioners"]
    grown = is_expected and any(part["partitions_count"] != summary["partitions_count"] for part in summary["mixture"])
    return share(summary["misplaced_share"]) + (", all as before the topic grew" if grown else "")


def _report(summary: dict[str, Any], result: MismatchResult, source: str) -> Report:
    misplaced, expected = summary["misplaced"], summary["expected"]
    how = "estimated" if summary["partitions_count_found"] else "given"
    tone = "bad" if misplaced else "good"
    at_a_glance = (
        Figure("records", number(summary["records"]), f"{number(summary['keyless'])} without a key"),
        Figure("partitions", number(summary["partitions_count"]), how),
        Figure(f"misplaced, if {expected} is expected", number(misplaced), _misplaced(summary), tone),
        Figure("rejected records", number(sum(summary["rejected"].values())), f"in {REJECTED_ROWS}"),
    )

    def draw(axes: Axes) -> None:
        n = len(result.misplaced)
        if n <= BARS:
            axes.bar(np.arange(n), result.misplaced, color=COLORS[1], width=0.8)
        else:
            edges = np.linspace(0, n, BARS + 1).astype(int)
            axes.stairs(np.maximum.reduceat(result.misplaced, edges[:-1]), edges - 0.5, color=COLORS[1], fill=True)
        axes.set_ylabel("misplaced records")
        partition_axis(axes, n)

    columns = ("key", "partition", f"partition by {expected}", "explained by")
    examples = [
        (row["key"], *map(number, (row["partition_id"], row["expected_partition_id"])), ", ".join(row["explained_by"][:4]) or "—")
        for row in summary["examples"]
    ]
    sections = (
        Section("At a glance", (FigureRow(at_a_glance),)),
        _writers(summary),
        Section("Misplaced records by partition", (chart(draw),)),
        *((Section("Examples of misplaced records", (Table(columns, examples),)),) if examples else ()),
    )
    return Report("Mismatch", source, sections, " ".join((summary["conclusion"], *summary["warnings"])))


def _writers(summary: dict[str, Any]) -> Section:
    """Who wrote the records, and what each partitioner would explain alone."""
    shares = _share_of_each(summary)
    rows = [
        (_named(each["partitioners"]), number(each["explained"]), share(each["explained"] / each["of"]) if each["of"] else "—")
        for each in summary["writers"]
    ]
    of_shares = (
        "Shares of the records with a key, with 95% intervals. Keys count as independent of each other; the records of a key "
        "need not be, because a service may be the only writer of its keys. "
    )
    chance = (
        f"{of_shares if shares else ''}A partitioner that wrote none of the records explains about "
        f"one in {summary['partitions_count']} by chance, so what each would explain alone is more than its share."
    )
    folded = "Show what each partitioner would explain alone" if shares else ""
    alone = Table(("equivalent partitioners", "records explained", "share"), rows, folded=folded)
    if not shares:
        return Section("Records that each partitioner explains", (alone,), chance)
    parts = [(name, share(each["share"]), _interval(each)) for name, each in shares.items()]
    table = Table(("equivalent partitioners", "share of the records", "95% interval"), parts)
    drawing = chart(lambda axes: _draw_shares(axes, shares), height=0.9 + 0.3 * len(shares))
    return Section("Who wrote the records", (drawing, table, alone), chance)


def _share_of_each(summary: dict[str, Any]) -> dict[str, dict[str, float]]:
    """The shares of the verdict, of the same records and so adding up to 1; empty if no partitioner explains them."""
    shares = {_writer(summary, each): each for each in summary["mixture"]}
    if shares and summary["chance_share"] > NOTICED:
        shares["explained by no partitioner"] = {name: summary[f"chance_{name}"] for name in ("share", "share_low", "share_high")}
    return shares


def _draw_shares(axes: Axes, shares: dict[str, dict[str, float]]) -> None:
    share_of, low, high = (
        np.array([100 * each[name] for each in shares.values()]) for name in ("share", "share_low", "share_high")
    )
    axes.barh(list(shares), share_of, color=COLORS[0], height=0.62)
    for row, (width, end) in enumerate(zip(share_of, high, strict=True)):
        axes.text(end + 1, row, f"{width:.3g}%", va="center")
    axes.errorbar(share_of, np.arange(len(shares)), xerr=[share_of - low, high - share_of], fmt="none", ecolor=INK, elinewidth=1)
    axes.invert_yaxis()
    axes.set(xlim=(0, 112), xlabel="share of the records with a key, %")
    axes.grid(axis="y", visible=False)
