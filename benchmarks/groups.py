"""Partitions → group members: each assignor against the JVM's class, ``assign()`` alone on prepared input."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from benchmarks import jvm
from benchmarks.harness import Row, benchmark, peak_bytes, seconds
from benchmarks.shapes import SCENARIOS, Shape, body_of, bytes_of, fingerprint, group_of
from service.strategies import GROUP_PROTOCOLS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.harness import Sides
    from service.core.model import Assignment, Group


@dataclass(frozen=True)
class Subject:
    """An assignor and the Kafka class that it reproduces."""

    protocol: str
    name: str
    kafka_class: str

    def __str__(self) -> str:
        return f"{self.protocol}-{self.name}"

    @property
    def run(self) -> Callable[[Group], Assignment]:
        """Ours."""
        return GROUP_PROTOCOLS[self.protocol][self.name].run


CLIENTS: Final = "org.apache.kafka.clients.consumer"
COORDINATOR: Final = "org.apache.kafka.coordinator.group.assignor"
SUBJECTS: Final = (
    Subject("classic", "range", f"{CLIENTS}.RangeAssignor"),
    Subject("classic", "roundrobin", f"{CLIENTS}.RoundRobinAssignor"),
    Subject("classic", "sticky", f"{CLIENTS}.StickyAssignor"),
    Subject("classic", "cooperative-sticky", f"{CLIENTS}.CooperativeStickyAssignor"),
    Subject("consumer", "uniform", f"{COORDINATOR}.UniformAssignor"),
    Subject("consumer", "range", f"{COORDINATOR}.RangeAssignor"),
    Subject("share", "simple", f"{COORDINATOR}.SimpleAssignor"),
)
SHAPES: Final = (
    Shape(100, 100, 100),
    Shape(1_000, 100, 1_000),
    Shape(2_000, 1_000, 1_000),
    Shape(200, 100, 100, heterogeneous=True),
    Shape(1_000, 100, 1_000, heterogeneous=True),
)
JVM_SECONDS: Final = 1.0
"""Seconds to warm up, and again to measure; at least one run."""


def goal(subject: Subject, shape: Shape) -> float:
    """The largest good ratio of times."""
    if subject.name.endswith("sticky"):
        if shape == SHAPES[2]:
            return 0.2
        if shape == SHAPES[4]:
            return 0.05
    return 1.0


def declare(subject: Subject, shape: Shape) -> None:
    """One row per scenario and, for large groups, one for the memory of an assignment after a member left."""
    name = f"groups/{subject}/{shape}"
    size = f"{shape.members:,} members × {shape.topics * shape.partitions:,} partitions"
    rows = [Row(f"{name}/{scenario}", "s", goal(subject, shape), f"assign(), {size} ÷ the JVM's") for scenario in SCENARIOS]
    if shape in {SHAPES[2], SHAPES[4]}:
        rows.append(
            Row(f"{name}/memory", "MB", 0.5, f"the group and the peak of assign(), {size}, one leaves ÷ live memory of the JVM")
        )

    @benchmark(*rows, rounds=2 if shape.members <= 200 else 1)  # large ones take a minute and more
    def assign(shape: Shape = shape) -> Iterator[Sides]:
        """Members own the fresh assignment. Raises RuntimeError if the JVM's assignments differ."""
        fresh = group_of(shape)
        before = subject.run(fresh).rows
        groups = {scenario: group_of(shape, scenario, before) for scenario in SCENARIOS[1:]}
        groups["fresh"] = fresh

        @cache
        def expected(scenario: str) -> str:
            return str(fingerprint(subject.run(groups[scenario]).rows))

        def ours() -> list[float]:
            figures = [seconds(subject.run, groups[scenario], runs=11) for scenario in SCENARIOS]
            if len(rows) > len(figures):
                figures.append((bytes_of(groups["leaves"]) + peak_bytes(subject.run, groups["leaves"])) / 1e6)
            return figures

        with jvm.assignor(subject.kafka_class) as ask:

            def reference() -> list[float]:
                figures = []
                for scenario in SCENARIOS:
                    question = {"group": body_of(shape, scenario), "owning": scenario != "fresh", "seconds": JVM_SECONDS}
                    answer = ask({**question, "memory": False})
                    if answer["fingerprint"] != expected(scenario):
                        raise RuntimeError(f"{name}/{scenario}: the JVM's assignment differs")
                    figures.append(answer["median_s"])
                if len(rows) > len(figures):
                    question = {"group": body_of(shape, "leaves"), "owning": True, "seconds": 0}
                    figures.append(ask({**question, "memory": True})["live_bytes"] / 1e6)
                return figures

            yield ours, reference


for _subject in SUBJECTS:
    for _shape in SHAPES:
        declare(_subject, _shape)
