"""``mismatch``: who wrote a topic, and what is not where it should be."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from service.cli import main
from service.core.errors import InvalidQuestion
from service.core.keys.columns import strings
from service.pipeline.analyses.mismatch import scan as mismatch_scan
from service.pipeline.analyses.mismatch.scan import MismatchResult, MismatchScan, PairSample, patterns, settled
from service.pipeline.analyses.results import merged
from service.pipeline.spark.jobs import MISMATCH
from service.planner.attribution.equivalents import hash_all
from service.planner.attribution.mixtures import unmix
from tests.support.questions import SUSPECTS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.broker import Broker

NAMES = tuple(partitioner.name for partitioner in SUSPECTS)
CRC32, JAVA = "librdkafka:consistent_random", "java"


def scan(partitions_count: int, expected: str = JAVA, key_format: str = "string") -> MismatchScan:
    return MismatchScan("key", key_format, "partition", partitions_count, expected, NAMES)


def partitions_by(partitioner: str, keys: list[str], count: int) -> np.ndarray[Any, np.dtype[np.int32]]:
    job = MismatchScan("key", "string", "partition", count, partitioner, (partitioner,))
    return hash_all(job.writers().classes, strings(keys), "string").partitions(count)[0]


def scanned(job: MismatchScan, *tables: pa.Table) -> tuple[MismatchResult, list[dict[str, Any]]]:
    """The merged result of tasks with a table each, and their rejected rows."""
    results = [row for table in tables for batch in job.of_batches(iter(table.to_batches(1000))) for row in batch.to_pylist()]
    return merged([row["partial"] for row in results if row["partial"]]), [row for row in results if row["reason"]]


def test_a_rare_wrong_writer_is_named_with_its_share() -> None:
    """One record in 500 of 50,000 by librdkafka's default: its name, its records, its examples, whoever counted what."""
    keys = [f"key-{i}" for i in range(50_000)]
    java, other = (partitions_by(name, keys, 12) for name in (JAVA, CRC32))
    wrong = np.arange(50_000) % 500 == 7
    where = np.where(wrong, other, java)
    table = pa.table({"key": keys, "partition": where})
    job = scan(12)
    part, aside = scanned(job, table.slice(0, 20_000), table.slice(20_000))
    assert not aside
    misplaced = int((where != java).sum())
    assert part.misplaced.sum() == misplaced
    np.testing.assert_array_equal(part.misplaced, np.bincount(where[where != java], minlength=12))
    np.testing.assert_array_equal(part.records, np.bincount(where, minlength=12))
    writers = settled(job, part)
    mixture = unmix(patterns(part, writers, 12)[0], len(writers))
    first, second = mixture.components
    assert JAVA in writers[first.class_index][0].names
    # No key is empty here, so librdkafka's default is the same writer as its partitioner that hashes empty keys.
    assert {CRC32, "librdkafka:consistent"} <= set(writers[second.class_index][0].names)
    assert second.share == pytest.approx(0.002, rel=0.02)
    assert mixture.unexplained == 0
    assert len(part.examples) == mismatch_scan.EXAMPLES
    for key, there, expected, bits in part.examples.values():
        assert (there, expected) == (where[keys.index(key)], java[keys.index(key)])
        assert bits >> writers[second.class_index][1] & 1


def test_what_every_writer_explains_is_counted_record_by_record() -> None:
    """As for each partitioner alone, over keys that come more than once."""
    keys = [f"{i % 700}" for i in range(2_000)]
    where = partitions_by("sarama", keys, 7)
    job = scan(7)
    part, _ = scanned(job, pa.table({"key": keys, "partition": where}))
    for i, writer in enumerate(job.writers().classes):
        assert part.explained[i] == (partitions_by(writer.names[0], keys, 7) == where).sum()
        assert part.decided[i] == 2_000
    assert part.right.distinct + part.wrong.distinct == 700


def test_records_without_a_key_are_apart_and_those_that_cannot_be_read_set_aside() -> None:
    """Text in the partition column, as from CSV; no partition, one that is not there, and one that is none."""
    table = pa.table({"key": ["a", None, "b", "c", "d", "e"], "partition": ["0", "1", None, "7", "x", "-1"]})
    part, aside = scanned(scan(2), table)
    assert (part.keyless, int(part.records.sum())) == (1, 1)
    assert [row["reason"] for row in aside] == ["no partition below 2"] * 4
    assert [row["record"] for row in aside] == [
        "key=b, partition=None", "key=c, partition=7", "key=d, partition=x", "key=e, partition=-1",
    ]  # fmt: skip
    part, aside = scanned(scan(2, key_format="int"), pa.table({"key": ["1", "two"], "partition": [0, 0]}))
    assert [row["record"] for row in aside] == ["key=two, partition=0"]


def test_a_sample_of_parts_is_the_sample_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """And says how many different pairs there were, to a few per cent."""
    monkeypatch.setattr(mismatch_scan, "PAIRS", 500)
    draw = np.random.default_rng(4)
    hashes = draw.integers(0, 2**64, 20_000, np.uint64)
    hashes = hashes[draw.integers(0, 20_000, 60_000)]
    bits = (hashes % np.uint64(7)).astype(np.int64)
    whole, left, right = PairSample(), PairSample(), PairSample()
    for sample, rows in ((whole, slice(None)), (left, slice(0, 25_000)), (right, slice(25_000, None))):
        for at in range(0, len(hashes[rows]), 5_000):
            piece = slice(at, at + 5_000)
            sample.add(
                hashes[rows][piece],
                *[bits[rows][piece]] * 3,
                bits[rows][piece].astype(np.int32)[:, None],
                np.ones(len(hashes[rows][piece]), np.int64),
            )
    left.merge(right)
    for name in ("hashes", "keys", "explained", "undecided", "times"):
        np.testing.assert_array_equal(getattr(left, name), getattr(whole, name))
    kept, times = np.unique(hashes, return_counts=True)
    np.testing.assert_array_equal(whole.hashes, kept[:500])
    np.testing.assert_array_equal(whole.times, times[:500])
    assert whole.distinct == pytest.approx(len(kept), rel=0.15)


def test_a_partitioner_that_looks_at_no_key_expects_nothing() -> None:
    with pytest.raises(InvalidQuestion, match="java:round-robin ignores keys"):
        scan(3, "java:round-robin").expected_writer(scan(3, "java:round-robin").writers())


def test_an_unknown_partitioner_is_refused_before_spark_starts() -> None:
    done = CliRunner().invoke(main, ["pipeline", MISMATCH.name, "table:records", "--expected", "jawa"])
    assert done.exit_code != 0
    assert "There is no partitioner 'jawa'" in done.output


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_two_real_clients_of_one_live_topic_are_distinguished(broker: Broker, tmp_path: Path) -> None:
    """900 records by Kafka's Java producer, 100 by librdkafka with its default, 5 keyless; nobody says how many partitions."""
    topic = broker.topic(6)
    by_java = broker.produce_with_java(topic, [(f"order-{i}", "v") for i in range(900)])
    by_librdkafka = broker.produce(topic, [(f"order-{i}", "v") for i in range(900, 1000)])
    broker.produce(topic, [(None, "v")] * 5)
    command = ["pipeline", "mismatch", f"kafka://{broker.bootstrap}/{topic}", "--key-format", "string", "--into", str(tmp_path)]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 0, done.output
    summary = json.loads((tmp_path / "summary.json").read_text())
    java = partitions_by(JAVA, [f"order-{i}" for i in range(1000)], 6)
    there = [partition for partition, _ in by_java + by_librdkafka]
    assert summary["partitions_count"] == 6
    assert summary["misplaced"] == (java != np.array(there)).sum()
    assert (summary["records"], summary["keyless"], summary["verdict"]) == (1005, 5, "mixture")
    assert JAVA in summary["mixture"][0]["partitioners"]
    assert CRC32 in summary["mixture"][1]["partitioners"]
    assert summary["mixture"][1]["share"] == pytest.approx(0.1, abs=0.01)
    assert (tmp_path / "report.html").read_text().count("<svg") == 2


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_parquet_that_executors_read_themselves_comes_to_what_spark_reads(tmp_path: Path) -> None:
    """Records that cannot be read included."""
    keys = [f"key-{i}" if i % 10 else None for i in range(2_000)]
    wrong = np.arange(2_000) % 100 == 7
    where = partitions_by(JAVA, [key or "" for key in keys], 5) + wrong * 3
    pq.write_table(pa.table({"key": keys, "partition": where}), tmp_path / "records.parquet", row_group_size=300)
    rows = [{"key": key, "partition": partition} for key, partition in zip(keys, where.tolist(), strict=True)]
    (tmp_path / "records.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    summaries = []
    for name in ("records.parquet", "records.jsonl"):
        into = tmp_path / f"{name}-results"
        command = ["pipeline", "mismatch", str(tmp_path / name), "--partitions", "5", "--into", str(into)]
        assert CliRunner().invoke(main, command).exit_code == 0
        summary = json.loads((into / "summary.json").read_text())
        summaries.append({name: value for name, value in summary.items() if name not in ("computed_at", "source", "run_id")})
    assert summaries[0] == summaries[1]
    assert summaries[0]["records"] + sum(summaries[0]["rejected"].values()) == 2_000
    assert summaries[0]["misplaced"] == (wrong & (where < 5)).sum()


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_a_key_format_that_no_key_has_is_refused_before_the_job(write: Callable[[str, str], str]) -> None:
    done = CliRunner().invoke(
        main, ["pipeline", "mismatch", write("records.csv", "key,partition\nx1,1\n"), "--key-format", "long"]
    )
    assert "No key in key has the format long: 'x1'" in done.output


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_a_column_that_is_not_there_is_named(write: Callable[[str, str], str]) -> None:
    path = write("records.csv", "key,partition_id\na,1\n")
    done = CliRunner().invoke(main, ["pipeline", "mismatch", path])
    assert "has no column 'partition' (did you mean 'partition_id'?)" in done.output
