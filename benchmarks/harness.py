"""Measures two sides alternately (ours, reference, reference, ours, …), so that a drift of the machine's speed affects both.

A benchmark is a generator that prepares, yields its two sides and cleans up. A side is a function that measures once and returns
one figure per row, in the row's unit::

    @benchmark(Row("partitions/crc32", unit="s", goal=1.0, what="10 million keys ÷ zlib"))
    def crc32(count: int = 10_000_000) -> Iterator[Sides]:
        keys = ...
        yield lambda: [seconds(ours, keys)], lambda: [seconds(zlibs, keys)]

Its parameters set its size; the tests use small ones.
"""

from __future__ import annotations

import ctypes
import gc
import statistics
import time
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Side = Callable[[], Sequence[float]]
    Sides = tuple[Side, Side]


PATIENCE = 30.0
"""Seconds after which a benchmark starts no further round."""


class Skipped(Exception):
    """A program that a benchmark needs is missing. The message says which, and how to install it."""


@dataclass(frozen=True)
class Row:
    """One figure of a benchmark.

    unit : the unit of both sides; if it ends in "/s", higher is better
    goal : the largest good ratio
    what : ours ÷ reference, in words
    """

    name: str
    unit: str
    goal: float
    what: str


@dataclass(frozen=True)
class Result:
    """A measured row: the median of each side's rounds."""

    row: Row
    ours: float
    reference: float

    @property
    def ratio(self) -> float:
        """Ours ÷ reference for a time, reference ÷ ours for a throughput. Lower is better."""
        return self.reference / self.ours if self.row.unit.endswith("/s") else self.ours / self.reference

    @property
    def good(self) -> bool:
        """Whether the ratio reaches the goal."""
        return self.ratio <= self.row.goal

    def as_json(self) -> dict[str, Any]:
        """The entry in ``results.json``."""
        row = self.row
        figures = {"ours": self.ours, "reference": self.reference}
        return {"name": row.name, **figures, "unit": row.unit, "ratio": round(self.ratio, 4), "goal": row.goal}


@dataclass(frozen=True)
class Benchmark:
    """A function decorated with ``@benchmark``. ``sides()`` is a context manager that returns the two sides."""

    rows: tuple[Row, ...]
    rounds: int
    sides: Callable[..., AbstractContextManager[Sides]]

    def run(self) -> list[Result]:
        """Measure both sides alternately, ``rounds`` times each, in reverse order in every other round.

        No round starts after PATIENCE seconds.
        """
        figures: tuple[list[Sequence[float]], list[Sequence[float]]] = ([], [])
        with self.sides() as sides:
            start = time.monotonic()
            for round_ in range(self.rounds):
                if round_ and time.monotonic() - start > PATIENCE:
                    break
                for side in (0, 1) if round_ % 2 == 0 else (1, 0):
                    figures[side].append(sides[side]())
        ours, reference = ([statistics.median(column) for column in zip(*side, strict=True)] for side in figures)
        return [Result(*of_row) for of_row in zip(self.rows, ours, reference, strict=True)]


BENCHMARKS: list[Benchmark] = []
"""All declared benchmarks, in order."""


def benchmark(*rows: Row, rounds: int = 5) -> Callable[[Callable[..., Iterator[Sides]]], Benchmark]:
    """Declare a benchmark with these rows."""

    def declare(function: Callable[..., Iterator[Sides]]) -> Benchmark:
        BENCHMARKS.append(Benchmark(rows, rounds, contextmanager(function)))
        return BENCHMARKS[-1]

    return declare


def seconds(work: Callable[..., object], *arguments: Any, runs: int = 5) -> float:
    """Median wall time of ``work(*arguments)``, after one run that is not measured. The cyclic garbage collector is paused.

    Garbage is collected once, as on the JVM's side, and not before each run, because that would evict the processor's caches.
    """
    work(*arguments)
    times = []
    gc.collect()
    gc.disable()
    try:
        for _ in range(runs):
            start = time.perf_counter()
            work(*arguments)
            times.append(time.perf_counter() - start)
    finally:
        gc.enable()
    return statistics.median(times)


def peak_bytes(work: Callable[..., object], *arguments: Any) -> int:
    """Peak memory of ``work(*arguments)``: the growth of the process's largest resident size during the call. Linux only.

    Free memory is returned to the system first, so that it counts if the call needs it again.
    """
    work(*arguments)
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5", "ascii")
    before = _status("VmRSS")
    result = work(*arguments)
    peak = _status("VmHWM")
    del result
    return peak - before


def peak_megabytes(process_id: int) -> float:
    """Largest resident memory of a process since its start, in MB. Linux only."""
    return _status("VmHWM", process_id) / 1e6


def _status(name: str, process_id: int | None = None) -> int:
    """A size from the status of a process, by default of this one, in bytes."""
    lines = Path(f"/proc/{process_id or 'self'}/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))
