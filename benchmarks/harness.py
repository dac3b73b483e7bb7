"""Two sides in turn: ours, the reference, the reference, ours … The machine's speed drifts, and both feel it alike.

A benchmark is a generator that prepares, yields its two sides and tidies up. A side is a function that measures once and gives
one figure for each row, in the row's unit::

    @benchmark(Row("partitions/crc32", unit="s", goal=1.0, what="10 million keys ÷ zlib"))
    def crc32(count: int = 10_000_000) -> Iterator[Sides]:
        keys = ...
        yield lambda: [seconds(ours, keys)], lambda: [seconds(zlibs, keys)]

Its parameters are its size; the tests run it small.
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
"""Seconds after which a benchmark begins no further round."""


class Skipped(Exception):
    """Something that a benchmark needs is not on this machine; ``str()`` says what, and how to get it."""


@dataclass(frozen=True)
class Row:
    """One figure that a benchmark gives.

    unit : of both sides; one that ends in "/s" is a throughput, where more is better
    goal : the ratio is good at or below it
    what : ours ÷ the reference, in words
    """

    name: str
    unit: str
    goal: float
    what: str


@dataclass(frozen=True)
class Result:
    """A row, measured: the median of each side's rounds."""

    row: Row
    ours: float
    reference: float

    @property
    def ratio(self) -> float:
        """Ours ÷ the reference for a time, the reference ÷ ours for a throughput: less is better."""
        return self.reference / self.ours if self.row.unit.endswith("/s") else self.ours / self.reference

    @property
    def good(self) -> bool:
        """Does it reach its goal?"""
        return self.ratio <= self.row.goal

    def as_json(self) -> dict[str, Any]:
        """As ``results.json`` has it."""
        row = self.row
        figures = {"ours": self.ours, "reference": self.reference}
        return {"name": row.name, **figures, "unit": row.unit, "ratio": round(self.ratio, 4), "goal": row.goal}


@dataclass(frozen=True)
class Benchmark:
    """What ``@benchmark`` makes of a function: ``sides()`` is a context that gives the two sides."""

    rows: tuple[Row, ...]
    rounds: int
    sides: Callable[..., AbstractContextManager[Sides]]

    def run(self) -> list[Result]:
        """Measure both sides in turn, ``rounds`` times each, the second round in the opposite order of the first, and so on.

        No further round begins when half a minute has gone: a reference that slow stands for itself.
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
"""All that were declared, in order."""


def benchmark(*rows: Row, rounds: int = 5) -> Callable[[Callable[..., Iterator[Sides]]], Benchmark]:
    """Declare a benchmark that gives these rows."""

    def declare(function: Callable[..., Iterator[Sides]]) -> Benchmark:
        BENCHMARKS.append(Benchmark(rows, rounds, contextmanager(function)))
        return BENCHMARKS[-1]

    return declare


def seconds(work: Callable[..., object], *arguments: Any, runs: int = 5) -> float:
    """Median wall time of ``work(*arguments)`` after one run that does not count, Python's cyclic collector paused.

    It collects once, as the JVM's side does, not before each run: going through all objects empties the processor's caches.
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
    """The memory that ``work(*arguments)`` takes: the process's largest resident size during the call less that before it.

    Linux only. What earlier calls have freed is given back to the system first, so that it counts when it is taken again.
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


def _status(name: str) -> int:
    """One of the sizes in /proc/self/status, in bytes."""
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))
