"""Growth of an assignment's cost with partitions: each step from 1,000 to 4,000,000 against the growth of n log n."""

from __future__ import annotations

from itertools import pairwise
from math import log
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.groups import SUBJECTS
from benchmarks.harness import Row, benchmark, seconds
from benchmarks.shapes import Shape, group_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.groups import Subject
    from benchmarks.harness import Sides

SIZES: Final = (1_000, 10_000, 100_000, 1_000_000, 4_000_000)
TOPICS: Final = 100


def declare(name: str, what: str, prepare: Callable[[int, Shape], Callable[[], object]], *, heterogeneous: bool = False) -> None:
    """A row for each step.

    prepare : what is timed at a size, from the number of partitions and the shape
    """
    of = "1,000 heterogeneous members" if heterogeneous else "1,000 members"
    text = f"{what}, {of} and n partitions ÷ the next smaller n × the growth of n log n"

    @benchmark(*(Row(f"{name}/{size}", "s", 1.0, text) for size in SIZES[1:]), rounds=3)
    def curve(members: int = 1_000, sizes: tuple[int, ...] = SIZES) -> Iterator[Sides]:
        """Both sides measure on the same machine, alternately."""
        works = {size: prepare(size, Shape(members, TOPICS, size // TOPICS, heterogeneous)) for size in sizes}

        def times(of: tuple[int, ...]) -> list[float]:
            return [seconds(works[size], runs=11 if size <= 1_000_000 else 5) for size in of]

        def reference() -> list[float]:
            steps = zip(times(sizes[:-1]), pairwise(sizes), strict=True)
            return [time * (more * log(more)) / (fewer * log(fewer)) for time, (fewer, more) in steps]

        yield lambda: times(sizes[1:]), reference


def assigning(subject: Subject) -> Callable[[int, Shape], Callable[[], object]]:
    """A member joins; all partitions were owned before."""

    def prepare(_: int, shape: Shape) -> Callable[[], object]:
        group = group_of(shape, "joins", subject.run(group_of(shape)).rows)
        return lambda: subject.run(group)

    return prepare


def scattering(size: int, shape: Shape) -> Callable[[], object]:
    """The cost of memory: one write per partition into a new array, member after member."""
    order = np.arange(size, dtype=np.int32).reshape(-1, min(size, shape.members)).T.ravel()

    def scatter() -> object:
        target = np.empty(size, np.int32)
        target[order] = order
        return target

    return scatter


for _subject in SUBJECTS:
    declare(f"groups/{_subject}/curve", "assign(), one joins", assigning(_subject))
    declare(f"groups/{_subject}/curve-heterogeneous", "assign(), one joins", assigning(_subject), heterogeneous=True)
declare("groups/memory/curve", "one write per partition, for comparison", scattering)
