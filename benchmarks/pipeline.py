"""The job ``skew`` against Spark's own count of keys by partition, over the same Parquet file in the same session."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import functions

from benchmarks.harness import Row, benchmark, peak_megabytes
from service.pipeline.analyses.skew import MAX_KEYS
from service.pipeline.spark import skew as job
from service.pipeline.spark.cluster.progress import progress
from service.pipeline.spark.cluster.session import spark_session
from service.pipeline.spark.io.sinks import Pipeline, Sink
from service.pipeline.spark.io.sources import Source
from service.pipeline.spark.jobs import SKEW

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.harness import Sides

KEYS = 50_000_000
CORES = 2
ROW_GROUP = 1_000_000
FOUR = ("java", "librdkafka:consistent_random", "sarama", "spark")
TWENTY = tuple(range(10, 210, 10))
MEMORY = "1g"
START_KEYS, START_SECONDS = 400_000, 8.0


def key_file(count: int) -> str:
    """A Parquet file with ``count`` distinct keys of 16 hexadecimal digits; written once."""
    target = Path(tempfile.gettempdir(), f"partition-allocator-keys-{count}.parquet")
    if not target.exists():
        draw, digits = np.random.default_rng(1), np.frombuffer(b"0123456789abcdef", np.uint8)
        unfinished = target.with_suffix(f".{os.getpid()}")
        with pq.ParquetWriter(unfinished, pa.schema([("key", pa.string())]), use_dictionary=False) as writer:
            for start in range(0, count, ROW_GROUP):
                n = min(ROW_GROUP, count - start)
                data = digits[draw.integers(0, 16, n * 16, dtype=np.uint8)]
                offsets = np.arange(0, 16 * n + 1, 16, dtype=np.int32)
                writer.write_table(pa.table({"key": pa.StringArray.from_buffers(n, pa.py_buffer(offsets), pa.py_buffer(data))}))
        unfinished.rename(target)
    return str(target)


@contextmanager
def pipeline(cores: int) -> Iterator[Pipeline]:
    """A pipeline on ``cores`` cores of this machine. Its start is not measured."""
    session = spark_session("benchmarks", master=f"local[{cores}]", settings={"spark.driver.memory": MEMORY})
    with tempfile.TemporaryDirectory() as folder, session as spark:
        yield Pipeline(spark, Sink(spark, folder), partial(progress, spark))


def command(path: str) -> float:
    """Seconds of ``pipeline skew`` as a user runs it, with the start of Python and of Spark."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = ("pipeline", "skew", path, "--partitions", "6,12,24", "--current-partitions", "12", "--into", folder)
        start = time.perf_counter()
        subprocess.run([sys.executable, "-m", "service", *arguments], check=True, capture_output=True)
        return time.perf_counter() - start


def ours(on: Pipeline, path: str, names: tuple[str, ...], partitions_counts: tuple[int, ...]) -> float:
    """Seconds of the job's scan: records, different and hottest keys, of every partitioner and count."""
    options: dict[str, Any] = dict.fromkeys(parameter.name or "" for parameter in SKEW.parameters if parameter.name != "source")
    options |= {"key_columns": ("key",), "key_separator": "-", "size_columns": (), "max_keys": MAX_KEYS}
    options |= {"partitioners": names, "partitions_counts": partitions_counts}
    start = time.perf_counter()
    source, scan = job.prepare(on, Source.parse(path), options)
    source.scan(scan, "scanning")
    return time.perf_counter() - start


def sparks(on: Pipeline, path: str) -> float:
    """Seconds of ``groupBy(pmod(hash(key), 12)).count()``."""
    start = time.perf_counter()
    on.spark.read.parquet(path).groupBy(functions.expr("pmod(hash(key), 12)")).count().collect()
    return time.perf_counter() - start


def _beside_spark(count: int, names: tuple[str, ...], partitions_counts: tuple[int, ...]) -> Iterator[Sides]:
    path = key_file(count)
    with pipeline(CORES) as on:
        ours(on, path, names, partitions_counts)
        sparks(on, path)
        yield lambda: [ours(on, path, names, partitions_counts)], lambda: [sparks(on, path)]


@benchmark(Row("pipeline/start", "s", 1.0, "a job of 400,000 rows with Spark's start ÷ 8 s"), rounds=3)
def start(count: int = START_KEYS) -> Iterator[Sides]:
    """The first run, which leaves the archive of Spark's classes behind, is not measured."""
    path = key_file(count)
    command(path)
    yield lambda: [command(path)], lambda: [START_SECONDS]


@benchmark(
    Row("pipeline/one", "s", 0.8, "skew of 50 million keys in Parquet, 1 partitioner × 1 count ÷ Spark's groupBy().count()"),
    rounds=3,
)
def one(count: int = KEYS) -> Iterator[Sides]:
    """Ours also counts distinct and hottest keys."""
    yield from _beside_spark(count, ("java",), (12,))


@benchmark(
    Row(
        "pipeline/four-by-twenty",
        "s",
        1.2,
        "skew of 50 million keys in Parquet, 4 partitioners × 20 counts ÷ Spark's groupBy().count()",
    ),
    rounds=3,
)
def four_by_twenty(count: int = KEYS) -> Iterator[Sides]:
    """One scan for all of them."""
    yield from _beside_spark(count, FOUR, TWENTY)


@benchmark(Row("pipeline/two-cores", "s", 0.59, "skew of 50 million keys, 4 × 20, on two cores ÷ on one"), rounds=2)
def two_cores(count: int = KEYS) -> Iterator[Sides]:
    """Each side is a session of its own; its start is not measured."""
    path = key_file(count)

    def on(cores: int) -> float:
        with pipeline(cores) as session:
            ours(session, path, FOUR, TWENTY)
            return ours(session, path, FOUR, TWENTY)

    yield lambda: [on(2)], lambda: [on(1)]


def driver_memory(count: int) -> float:
    """Peak memory of the driver, in MB, in a process of its own."""
    script = f"from benchmarks.pipeline import print_driver_memory; print_driver_memory({count})"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return float(done.stdout.splitlines()[-1])


def print_driver_memory(count: int) -> None:
    """Scan, and print the peak of this process. That of the others includes the file, which they map into their memory."""
    path = key_file(count)
    with pipeline(CORES) as on:
        ours(on, path, FOUR, TWENTY)
    print(peak_megabytes(os.getpid()))


@benchmark(
    Row("pipeline/driver-memory", "MB", 1.1, "skew, the driver's peak memory with 50 million keys ÷ with 5 million"), rounds=1
)
def memory(count: int = KEYS) -> Iterator[Sides]:
    """4 × 20."""
    key_file(count), key_file(count // 10)
    yield lambda: [driver_memory(count)], lambda: [driver_memory(count // 10)]
