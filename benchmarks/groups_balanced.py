"""``balanced``: Kafka's sticky on the JVM beside it where all subscribe alike; else the time, and the gap, that are allowed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks import jvm
from benchmarks.groups import JVM_SECONDS, SUBJECTS
from benchmarks.harness import Row, benchmark, seconds
from benchmarks.shapes import SCENARIOS, Shape, body_of, group_of
from service.core.model import Ragged
from service.core.ragged import grouped
from service.planner.balanced import balanced

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.harness import Sides
    from service.core.model import Group

STICKY: Final = next(subject for subject in SUBJECTS if subject.name == "sticky")
ALIKE, UNLIKE = Shape(2_000, 1_000, 1_000), Shape(1_000, 100, 1_000, heterogeneous=True)
UNLIKE_SECONDS: Final = 2.0
WEIGHTED_SECONDS: Final = 1.0
GAP: Final = 0.01
RACKS_GAP: Final = 0.05
"""Allowed."""


def _groups(shape: Shape) -> list[Group]:
    """The group of each scenario, whose members own the fresh assignment."""
    fresh = group_of(shape)
    before = balanced.assign(fresh).rows
    return [fresh, *(group_of(shape, scenario, before) for scenario in SCENARIOS[1:])]


@benchmark(
    *(
        Row(f"groups/balanced/{ALIKE}/{scenario}", "s", 0.2, "balanced, 1,000,000 partitions ÷ the JVM's sticky")
        for scenario in SCENARIOS
    ),
    rounds=1,
)
def alike(shape: Shape = ALIKE) -> Iterator[Sides]:
    """All members subscribe to all topics."""
    groups = _groups(shape)
    with jvm.assignor(STICKY.kafka_class) as ask:

        def reference() -> list[float]:
            questions = ({"group": body_of(shape, each), "owning": each != "fresh", "seconds": JVM_SECONDS} for each in SCENARIOS)
            return [ask({**question, "memory": False})["median_s"] for question in questions]

        yield lambda: [seconds(balanced.assign, group, runs=11) for group in groups], reference


@benchmark(
    *(
        Row(f"groups/balanced/{UNLIKE}/{scenario}", "s", 1.0, "balanced, 100,000 partitions ÷ 2 s allowed")
        for scenario in SCENARIOS
    ),
    rounds=1,
)
def unlike(shape: Shape = UNLIKE) -> Iterator[Sides]:
    """Each member leaves out every tenth topic."""
    groups = _groups(shape)
    yield lambda: [seconds(balanced.assign, group) for group in groups], lambda: [UNLIKE_SECONDS] * len(groups)


@benchmark(
    Row("groups/balanced/100x10000-weighted/seconds", "s", 1.0, "balanced with weights, 10,000 partitions ÷ 1 s allowed"),
    Row("groups/balanced/100x10000-weighted/gap", "gap", 1.0, "the gap of the largest load ÷ 0.01 allowed"),
    rounds=1,
)
def weighted(members: int = 100, partitions: int = 10_000) -> Iterator[Sides]:
    """Skewed weights, owned by anybody."""
    draw = np.random.default_rng(1)
    group = group_of(Shape(members, 10, partitions // 10))
    owned = grouped(draw.integers(0, members, partitions).astype(np.int32), members)
    group = replace(group, topics=replace(group.topics, weights=draw.lognormal(0, 1, partitions)), owned=owned)

    def ours() -> list[float]:
        certificate = balanced.assign(group).certificate
        return [seconds(balanced.assign, group), certificate.load.gap if certificate else 1.0]

    yield ours, lambda: [WEIGHTED_SECONDS, GAP]


@benchmark(
    Row("groups/balanced/100x10000-weighted-racks/seconds", "s", 1.0, "balanced with weights and racks, 10,000 ÷ 1 s allowed"),
    Row("groups/balanced/100x10000-weighted-racks/gap", "gap", 1.0, "the gap of what is read nearby ÷ 0.05 allowed"),
    rounds=1,
)
def weighted_with_racks(members: int = 100, partitions: int = 10_000, replicas: int = 2) -> Iterator[Sides]:
    """Skewed weights, and a rack for each member, which is where the search finds least."""
    draw = np.random.default_rng(1)
    group = group_of(Shape(members, 10, partitions // 10))
    racks = draw.permuted(np.tile(np.arange(members, dtype=np.int32), (partitions, 1)), axis=1)[:, :replicas]
    racks_of = Ragged(np.arange(0, racks.size + 1, replicas, dtype=np.int32), np.sort(racks).ravel())
    topics = replace(group.topics, weights=draw.lognormal(0, 1, partitions), racks=racks_of)
    names = tuple(f"rack-{i:03}" for i in range(members))
    group = replace(group, topics=topics, racks=np.arange(members, dtype=np.int32), rack_ids=names)

    def ours() -> list[float]:
        certificate = balanced.assign(group).certificate
        aim = certificate.rack_local if certificate else None
        return [seconds(balanced.assign, group), aim.gap if aim else 1.0]

    yield ours, lambda: [WEIGHTED_SECONDS, RACKS_GAP]
