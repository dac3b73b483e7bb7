"""``skew --follow``: every record of a live topic is counted once, though the process is killed meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import requests

from service.pipeline.analyses.skew.scan import SkewScan
from service.pipeline.spark.tasks.windows import SCHEMA, Windows, WindowScan, summed
from tests.support.jvm import INTERPRETED, short_lived_spark
from tests.support.serving import free_port

SECOND = 1_000
START = 1_700_000_040_000
COUNTS = (4, 7)


def scan(**more):
    return SkewScan(("key",), "string", ("java",), COUNTS, size_columns=("value",), max_keys=1024, **more)


def batch(keys, times):
    return pa.record_batch(
        {
            "key": pa.array(keys, pa.binary()),
            "value": pa.array([b"xy"] * len(keys)),
            "timestamp": pa.array(times, pa.timestamp("ms", "UTC")),
        }
    )


def test_each_record_counts_in_the_window_of_its_time():
    """Late ones too; those without a key and those that are no key of the format apart."""
    times = [START, START + 59 * SECOND, START + 60 * SECOND, START - 1, START, START]
    rows = WindowScan(scan(), "timestamp", 60)(iter([batch([b"a", b"a", b"b", b"a", None, b"\xff"], times)]))
    table = pa.Table.from_batches(rows, SCHEMA)
    windows = Windows()
    windows.put(0, summed(table))
    of_four = [row for row in windows.skews().to_pylist() if row["partitions_count"] == 4]
    assert [(row["window_start"], row["records"], row["records_without_key"]) for row in of_four] == [
        (START // SECOND - 60, 1, 0),
        (START // SECOND, 2, 1),
        (START // SECOND + 60, 1, 0),
    ]
    assert [row["skew"] for row in of_four] == [4.0, 4.0, 4.0]
    rejected = table.filter(pc.is_valid(table.column("reason"))).to_pylist()
    assert [(row["reason"], row["record"]) for row in rejected] == [("key is not UTF-8", "ff")]


def test_a_batch_that_is_done_again_takes_its_old_place():
    windows = Windows()
    rows = summed(pa.Table.from_batches(WindowScan(scan(), "timestamp", 60)(iter([batch([b"a", b"b"], [START, START])])), SCHEMA))
    for batch_id in (0, 1, 1, 1):
        windows.put(batch_id, rows)
    assert {row["records"] for row in windows.skews().to_pylist()} == {4}


def follower(broker, topic, folder, port):
    """The command, as a user starts it; small batches, so that many are done."""
    arguments = [f"kafka://{broker.bootstrap}/{topic}?maxOffsetsPerTrigger=4000", "--follow", "--key-format", "string"]
    arguments += ["--partitions", "4,7", "--into", str(folder), "--metrics-port", str(port), "--master", "local[1]"]
    for setting in ("spark.driver.memory=1g", *(f"{name}={value}" for name, value in INTERPRETED.items())):
        arguments += ["--spark-option", setting]
    return subprocess.Popen(
        [sys.executable, "-m", "service", "pipeline", "skew", *arguments],
        env={**os.environ, **short_lived_spark()},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def counted(folder):
    """Partition → records, by partition count, of all windows."""
    counts = {n: Counter() for n in COUNTS}
    for path in (folder / "windows.parquet").glob("batch=*/part.parquet"):
        for row in pq.ParquetFile(path).read().to_pylist():
            counts[row["partitions_count"]][row["partition_id"]] += row["records"]
    return counts


def wait_for(process, folder, records, seconds=240):
    deadline = time.monotonic() + seconds
    while sum(counted(folder)[4].values()) < records:
        if process.poll() is not None:
            raise RuntimeError(process.communicate()[0])
        if time.monotonic() > deadline:
            raise TimeoutError(f"{sum(counted(folder)[4].values())} of {records} records")
        time.sleep(0.3)


def kill(process):
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


@pytest.mark.slow
def test_nothing_is_counted_twice_after_a_kill(broker, client, tmp_path):
    """Kill -9 between and amid batches; the restart takes up at the checkpoint, and the metrics say what the tables say."""
    topic, port = broker.topic(3), free_port()
    keys = [f"key-{key}" for key in np.random.default_rng(1).zipf(1.4, 20_000) % 500]
    broker.produce(topic, [(key, b"value") for key in keys[:15_000]], timestamps=[START + i for i in range(15_000)])
    process = follower(broker, topic, tmp_path, port)
    try:
        wait_for(process, tmp_path, 3_000)
    finally:
        kill(process)
    assert sum(counted(tmp_path)[4].values()) < 15_000, "it was to be killed while there was more to do"
    broker.produce(topic, [(key, b"value") for key in keys[15_000:]], timestamps=[START + i for i in range(5_000)])
    process = follower(broker, topic, tmp_path, port)
    try:
        wait_for(process, tmp_path, 20_000)
        deadline = time.monotonic() + 120
        while f'partition_allocator_topic_window_records{{topic="{topic}"}} 20000.0' not in (shown := metrics(port)):
            assert time.monotonic() < deadline, shown
            time.sleep(0.2)
    finally:
        kill(process)
    expected = {}
    for n in COUNTS:
        answer = client.post("/v1/partitions", json={"partitions_count": n, "keys": keys}).json
        expected[n] = Counter(answer["partitions"])
        skew = answer["distribution"]["skew"]
        assert (
            f'partition_allocator_topic_skew_ratio{{partitioner="java",partitions_count="{n}",topic="{topic}"}} {skew}' in shown
        )
    assert {n: Counter({k: v for k, v in of.items() if v}) for n, of in counted(tmp_path).items()} == expected


def metrics(port):
    return requests.get(f"http://127.0.0.1:{port}/metrics", timeout=120).text
