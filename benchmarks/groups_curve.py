"""How the cost of an assignment grows with partitions: each step from 1,000 to 4,000,000 beside the growth of n log n."""

from __future__ import annotations

from itertools import pairwise
from math import log
from typing import TYPE_CHECKING, Final

from benchmarks.groups import SUBJECTS, Subject
from benchmarks.harness import Row, benchmark, seconds
from benchmarks.shapes import Shape, group_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.harness import Sides

SIZES: Final = (1_000, 10_000, 100_000, 1_000_000, 4_000_000)
TOPICS: Final = 100


def declare(subject: Subject, *, heterogeneous: bool) -> None:
    """A row for each step."""
    name = f"groups/{subject}/curve{'-heterogeneous' * heterogeneous}"

    def row(fewer: int, more: int) -> Row:
        return Row(f"{name}/{more}", "s", 1.0, f"assign() of {more:,} ÷ of {fewer:,} partitions × the growth of n log n")

    @benchmark(*(row(*step) for step in pairwise(SIZES)), rounds=3)
    def curve(members: int = 1_000, sizes: tuple[int, ...] = SIZES) -> Iterator[Sides]:
        """A member joins; everything was owned before. The two sides measure the same, so that both feel the machine alike."""
        groups = {}
        for size in sizes:
            shape = Shape(members, TOPICS, size // TOPICS, heterogeneous)
            groups[size] = group_of(shape, "joins", subject.run(group_of(shape)))

        def times(of: tuple[int, ...]) -> list[float]:
            return [seconds(subject.run, groups[size], runs=11 if size <= 1_000_000 else 5) for size in of]

        def reference() -> list[float]:
            steps = zip(times(sizes[:-1]), pairwise(sizes), strict=True)
            return [time * (more * log(more)) / (fewer * log(fewer)) for time, (fewer, more) in steps]

        yield lambda: times(sizes[1:]), reference


for _subject in SUBJECTS:
    for _heterogeneous in (False, True):
        declare(_subject, heterogeneous=_heterogeneous)
