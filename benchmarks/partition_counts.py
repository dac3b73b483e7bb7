"""Keys → partition counts: one scan for many counts, and the memory for a long stream."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from benchmarks.harness import Row, benchmark, seconds
from benchmarks.partitions import random_keys
from service.cli import decide_stream
from service.planner.sizing.counter import KeyCounter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.harness import Sides
    from service.core.model import Keys

CURRENT = 12
TWENTY = (*range(12, 108, 12), 16, 20, 25, 30, 32, 40, 50, 64, 100, 128, 200, 256)
"""Typical counts: multiples of the current count, round numbers and powers of two."""

KEY_BYTES = 16


def counted(keys: Keys, partitions_counts: tuple[int, ...]) -> None:
    """All that an answer says of where keys lie and what moves."""
    counts = KeyCounter(("java",), partitions_counts, CURRENT)
    counts.add(keys, "base64")
    for n in partitions_counts:
        counts.totals("java", n)
        counts.moved("java", n)


@benchmark(
    Row(
        "partition-counts/twenty",
        "s",
        3.0,
        "KeyCounter, 10 million keys of 16 bytes × 20 partition counts ÷ the same × one count",
    ),
    rounds=3,
)
def twenty(count: int = 10_000_000) -> Iterator[Sides]:
    """Both sides hash keys and count distinct and hot keys. The reference's count is not a multiple of the current one."""
    keys = random_keys(count, KEY_BYTES)
    yield lambda: [seconds(counted, keys, TWENTY, runs=3)], lambda: [seconds(counted, keys, (25,), runs=3)]


def batches(count: int, size: int = 200_000) -> Iterator[pa.RecordBatch]:
    """``count`` distinct keys, one batch at a time."""
    generator = np.random.default_rng(1)
    for _ in range(count // size):
        data = pa.py_buffer(generator.bytes(KEY_BYTES * size))
        keys = pa.FixedSizeBinaryArray.from_buffers(pa.binary(KEY_BYTES), size, [None, data])
        yield pa.record_batch({"key": keys})


def peak_memory(count: int) -> float:
    """Peak memory, in MB, of a process that plans for ``count`` keys."""
    process = subprocess.Popen([sys.executable, "-m", "benchmarks.partition_counts", str(count)], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"the process exited with {process.returncode}")
    return usage.ru_maxrss / 1024


@benchmark(
    Row("partition-counts/memory", "MB", 1.2, "peak memory for an Arrow stream of 20 million distinct keys ÷ of 2 million"),
    rounds=1,
)
def memory(count: int = 2_000_000, times: int = 10) -> Iterator[Sides]:
    """All keys are distinct, 320 MB and 32 MB of them; both are more than the exact counter holds."""
    yield lambda: [peak_memory(times * count)], lambda: [peak_memory(count)]


if __name__ == "__main__":
    fields = {"partitions_counts": [12, 24, 1000], "current_partitions_count": 12}
    decide_stream("/v1/partition-count-plans", fields, batches(int(sys.argv[1])))
