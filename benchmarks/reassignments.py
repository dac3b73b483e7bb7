"""Reassignments: one broker is decommissioned and brokers are added. Seconds against what an operator waits for; moves against
others.

The reference of the moves is ``kafka-reassign-partitions --generate`` 4.3.1, as the placer ``kafka-reassign-generate``
reproduces it, a greedy filling in the manner of topicmappr, and what Cruise Control's goals do when a broker is removed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.harness import Row, benchmark, seconds
from benchmarks.placements import cluster_of
from service.core.jvm.random import JavaRandom
from service.core.model import Int32s, PlacementRequest, Ragged
from service.planner.reassignments.model import Brokers, Goal, Placements
from service.planner.reassignments.plan import frontier, plan
from service.strategies import PLACERS
from tests.reference.cruise_control import MARGIN, THRESHOLD, Removal
from tests.reference.reassignments import filled_greedily

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.harness import Sides
    from service.planner.reassignments.model import Plan

ADDED = 10


def placed(partitions: int, brokers: int) -> Int32s:
    """int32[partitions, 3]: what a KRaft controller places on these brokers."""
    return PLACERS["striped"].run(cluster_of(brokers), PlacementRequest(partitions, replication_factor=3), JavaRandom(42))


def question(partitions: int, brokers: int, added: int) -> tuple[Brokers, Placements]:
    """Partitions with three replicas on brokers in ten racks; the first broker is to be emptied, ``added`` ones are empty."""
    replicas = placed(partitions, brokers)
    target = Brokers.of(cluster_of(brokers + added))
    target.draining[0] = True
    ids = np.arange(partitions, dtype=np.int32)
    rows = Ragged(np.arange(0, replicas.size + 1, 3, dtype=np.int32), np.ascontiguousarray(replicas).ravel())
    factors, nothing = np.full(partitions, 3, np.int32), np.zeros(partitions, np.bool_)
    return target, Placements(("topic",), np.zeros(partitions, np.int32), ids, rows, factors, None, None, nothing)


def proven(answer: Plan, most: float) -> Plan:
    """The plan, if its gap is at most this."""
    if answer.gap is None or answer.gap > most:
        raise RuntimeError(f"the gap is {answer.gap}")
    return answer


@benchmark(
    Row("reassignments/small", "s", 1.0, "10,000 partitions × 100 brokers, one out, ten in, even, exact ÷ 5 s"),
    Row("reassignments/small-fewest", "s", 1.0, "10,000 partitions × 100 brokers, one out, ten in, fewest moves, exact ÷ 5 s"),
    rounds=1,
)
def small(partitions: int = 10_000, brokers: int = 100) -> Iterator[Sides]:
    """Exact: the gap is 0."""
    asked = question(partitions, brokers, ADDED)
    goals = Goal("even"), Goal("fewest-moves")
    yield lambda: [seconds(lambda: proven(plan(*asked, goal), 0.0), runs=3) for goal in goals], lambda: [5.0, 5.0]  # noqa: B023


@benchmark(
    Row("reassignments/large", "s", 1.0, "200,000 partitions × 300 brokers, one out, ten in, even, gap < 1% ÷ 60 s"), rounds=1
)
def large(partitions: int = 200_000, brokers: int = 300) -> Iterator[Sides]:
    """The gap is below 1%."""
    asked = question(partitions, brokers, ADDED)
    yield lambda: [seconds(lambda: proven(plan(*asked, Goal("even")), 0.01), runs=1)], lambda: [60.0]


@benchmark(
    Row("reassignments/large-topics", "s", 1.0, "200,000 partitions × 300 brokers, 2,000 topics, even per topic ÷ 10 s"), rounds=1
)
def large_topics(partitions: int = 200_000, brokers: int = 300, topics: int = 2_000) -> Iterator[Sides]:
    """Topics of very different sizes, each evened out by itself too."""
    target, placements = question(partitions, brokers, ADDED)
    sizes = np.random.default_rng(1).pareto(1.0, topics) + 1
    index = np.searchsorted(np.cumsum(sizes) / sizes.sum(), np.arange(partitions) / partitions, side="right").astype(np.int32)
    asked = target, replace(placements, topics=index, topic_names=tuple(map(str, range(topics))))
    yield lambda: [seconds(lambda: proven(plan(*asked, Goal("even", per_topic=True)), 0.0), runs=1)], lambda: [10.0]


@benchmark(Row("reassignments/huge", "s", 1.0, "1,000,000 partitions × 1,000 brokers, one out, fewest moves ÷ 60 s"), rounds=1)
def huge(partitions: int = 1_000_000, brokers: int = 1_000) -> Iterator[Sides]:
    """The decommission of one broker."""
    asked = question(partitions, brokers, 0)
    yield lambda: [seconds(lambda: proven(plan(*asked, Goal()), 0.0), runs=1)], lambda: [60.0]


@benchmark(
    Row("reassignments/moves-generate", "moves", 1.0, "replicas copied, even ÷ kafka-reassign-partitions --generate"),
    Row("reassignments/moves-greedy", "moves", 1.0, "replicas copied, even ÷ greedy filling"),
    rounds=1,
)
def moves(partitions: int = 2_000, brokers: int = 30) -> Iterator[Sides]:
    """One broker out, ten in."""
    asked = question(partitions, brokers, ADDED)
    ours = float(plan(*asked, Goal("even")).cost)

    def generated() -> float:
        cluster = cluster_of(brokers + ADDED)
        rest = type(cluster)(cluster.broker_ids[1:], cluster.rack_ids, cluster.racks[1:], cluster.fenced[1:])
        after = PLACERS["striped"].run(rest, PlacementRequest(partitions, replication_factor=3), JavaRandom(7)) + 1
        before = asked[1].replicas.values.reshape(-1, 3)
        return float((~(after[:, :, None] == before[:, None, :]).any(axis=2)).sum())

    yield lambda: [ours, ours], lambda: [generated(), float(filled_greedily(*asked)[0])]


@benchmark(
    Row(
        "reassignments/moves-cruise-control",
        "moves",
        1.0,
        "replicas copied, one broker out ÷ Cruise Control's goals",
    ),
    Row(
        "reassignments/moves-cruise-control-band",
        "moves",
        1.0,
        "replicas copied, one broker out, within Cruise Control's band of 9% ÷ Cruise Control's goals",
    ),
    Row(
        "reassignments/spread-cruise-control",
        "spread",
        1.0,
        "standard deviation of replicas per broker, one out ÷ Cruise Control's goals",
    ),
    rounds=1,
)
def removal(partitions: int = 2_000, brokers: int = 30) -> Iterator[Sides]:
    """One broker out, none in: numbers of replicas alone decide."""
    asked = question(partitions, brokers, 0)
    theirs = Removal(*asked)
    answer = plan(*asked, Goal())
    ours = np.bincount(answer.replicas.values, minlength=brokers)
    within = proven(plan(*asked, Goal("even", tolerance=(THRESHOLD - 1) * MARGIN)), 0.0)
    yield (
        lambda: [float(answer.cost), float(within.cost), float(ours[1:].std())],
        lambda: [float(theirs.copies), float(theirs.copies), float(theirs.counts[1:].std())],
    )


@benchmark(
    Row("reassignments/frontier", "s", 1.0, "200,000 partitions × 300 brokers, one out, ten in, whole frontier, exact ÷ 60 s"),
    rounds=1,
)
def whole_frontier(partitions: int = 200_000, brokers: int = 300) -> Iterator[Sides]:
    """Every number of copies from the fewest to those of the evenest, each proven the evenest."""
    asked = question(partitions, brokers, ADDED)

    def optimal() -> None:
        if not frontier(*asked, Goal("even"))[1].all():
            raise RuntimeError("the frontier is not proven")

    yield lambda: [seconds(optimal, runs=1)], lambda: [60.0]
