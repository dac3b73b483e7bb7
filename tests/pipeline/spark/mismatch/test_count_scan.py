"""The scan that looks for the partition count: whatever is read, the sample is small and fair, and has the largest partition."""

from __future__ import annotations

import json
import time

import pyarrow as pa
import pytest
from click.testing import CliRunner

from service.cli import main
from service.pipeline.analyses.mismatch import scan as count_scan
from service.pipeline.analyses.mismatch.outcome import MOST_PARTITIONS
from service.pipeline.analyses.mismatch.scan import SAMPLE_RECORDS, CountScan
from service.pipeline.analyses.results import merged, packed


def sampled(*tasks, key_format="string", limit=MOST_PARTITIONS):
    """What tasks find, each in batches of keys and partitions."""
    scan = CountScan("key", key_format, "partition", limit, "java", ("java",))
    parts = []
    for batches in tasks:
        rows = scan.of_batches(iter([pa.record_batch([keys, where], ["key", "partition"]) for keys, where in batches]))
        parts += [part for batch in rows for part in batch.column("partial").to_pylist()]
    return merged(parts)


def test_a_small_source_is_taken_whole():
    found = sampled([(["a", None], [2, 9]), (["b"], [0])], [(["c"], [4])], [])
    assert found.largest == 9
    assert sorted(zip(*(found.records[name].to_pylist() for name in ("key", "partition")), strict=True)) == [
        ("a", 2), ("b", 0), ("c", 4),
    ]  # fmt: skip


def test_of_a_large_one_every_record_has_the_same_chance():
    n = 3 * SAMPLE_RECORDS
    batches = [
        ([f"{i}" for i in range(start, start + n // 6)], list(range(start, start + n // 6))) for start in range(0, n, n // 6)
    ]
    found = sampled(batches[:2], batches[2:])
    assert found.largest == n - 1
    assert len(found.records) == SAMPLE_RECORDS
    partitions = found.records["partition"].to_pylist()
    assert len({*partitions}) == SAMPLE_RECORDS
    for sixth in range(6):
        assert 0.3 < sum(sixth * n // 6 <= p < (sixth + 1) * n // 6 for p in partitions) / (n // 6) < 0.37
    assert len(packed(found)) < 2**20


def test_what_the_scan_after_it_rejects_is_not_counted():
    found = sampled([(["1", "x", "2", "3"], ["5", "7", "-1", str(MOST_PARTITIONS)])], key_format="long")
    assert (found.largest, found.records["key"].to_pylist()) == (5, ["1"])
    assert sampled([(["1"], ["x"])], []).largest is None


def test_files_may_have_keys_of_different_types():
    found = sampled([(pa.array([1], pa.int32()), [0])], [(pa.array([2**40]), [1])], key_format="long")
    assert sorted(found.records["key"].to_pylist()) == [1, 2**40]


@pytest.mark.usefixtures("spark")
def test_no_count_is_needed(write, tmp_path, client):
    keys = [f"order-{i}" for i in range(500)]
    where = client.post("/v1/partitions", json={"keys": keys, "partitions_count": 7}).json["partitions"]
    lines = [f"{key},{partition}" for key, partition in zip(keys, where, strict=True)]
    path = write("records.csv", "\n".join(["key,partition", *lines, f"order,{2**31 - 1}", ""]))
    done = CliRunner().invoke(main, ["pipeline", "mismatch", path, "--into", str(tmp_path / "out")], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert (summary["partitions_count"], summary["partitions_count_found"], summary["misplaced"]) == (7, True, 0)
    assert summary["rejected"] == {"no partition below 7": 1}
    path = write("records.csv", "key,partition\norder,-1\n")
    done = CliRunner().invoke(main, ["pipeline", "mismatch", path, "--into", str(tmp_path / "out")])
    assert "records.csv: The column 'partition' has no partitions" in done.output
    path = write("records.csv", "key,partition\n")
    for count in ((), ("--partitions", "3")):
        done = CliRunner().invoke(main, ["pipeline", "mismatch", path, *count, "--into", str(tmp_path / "out")])
        assert (done.exit_code, done.stderr) == (2, f"Error: {path}: There are no records.\n")


@pytest.mark.parametrize("stray", [100_000, MOST_PARTITIONS - 1])
def test_a_stray_partition_takes_seconds_and_is_named(stray, write, tmp_path, client):
    """It would be counts by the hundred thousand, and a bar of the chart for each partition."""
    keys = [f"order-{i}" for i in range(200)]
    where = client.post("/v1/partitions", json={"keys": keys, "partitions_count": 12}).json["partitions"]
    lines = [f"{key},{partition}" for key, partition in zip(keys, [*where[1:], stray], strict=True)]
    path = write("records.csv", "\n".join(["key,partition", *lines, ""]))
    started = time.process_time()
    options = ("--partitioner", "java", "--into", str(tmp_path / "out"))
    done = CliRunner().invoke(main, ["fingerprint", path, *options], catch_exceptions=False)
    assert time.process_time() - started < 10
    summary = json.loads(done.stdout)
    warning = f"1 record on partition {stray}, all others below 12: if that is an error, set the partition count to 12."
    assert (summary["partitions_count"] > stray, summary["warnings"][0]) == (True, warning)
    assert warning in (tmp_path / "out" / "report.html").read_text()


def test_the_draws_are_the_same_each_time(monkeypatch):
    monkeypatch.setattr(count_scan, "SAMPLE_RECORDS", 3)
    batches = [([f"{i}" for i in range(50)], list(range(50)))]
    assert sampled(batches).records == sampled(batches).records
