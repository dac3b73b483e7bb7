"""Reassignments beside the real code of topicmappr and Cruise Control (``peers``): eight clusters, a broker out or ten in.

Cruise Control stops as soon as every broker is within 9% of the average (threshold 1.10), and ``tolerance`` 0.09 is that band.
topicmappr fills new brokers only where it places everything again (``--force-rebuild``). Where they are not built, their copies
and fullest brokers are those of ``peers/figures.json``, and so are their times, of the machine that they were measured on.
Times are CPU times, of which a busy machine changes little.
"""

from __future__ import annotations

import json
from itertools import product
from time import process_time
from typing import TYPE_CHECKING, Final

from benchmarks.harness import Row, benchmark
from benchmarks.peers import BUILT, FIGURES, Outcome, ask
from benchmarks.reassignments import ADDED, proven, question
from service.planner.reassignments.model import Goal
from service.planner.reassignments.plan import plan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.harness import Sides
    from service.planner.reassignments.model import Brokers, Placements

SIZES: Final = ((2_000, 30), (10_000, 100), (50_000, 200), (200_000, 300))
CASES: Final = tuple(
    (f"{partitions}x{brokers}-{change}", partitions, brokers, change)
    for (partitions, brokers), change in product(SIZES, ("out", "in"))
)
BAND: Final = 0.09


def rows(tool: str, goal: str, name: str, slower: float = 1.0) -> tuple[Row, ...]:
    """The rows of a tool: each figure of all cases. slower : a good ratio of times"""
    figures = (
        ("copies", "moves", 1.0, "replicas copied"),
        ("fullest", "replicas", 1.0, "replicas of the fullest broker"),
        ("time", "s", slower, "CPU time"),
    )
    return tuple(
        Row(f"reassignments/peers/{tool}/{figure}/{case}", unit, most, f"{text}, one broker out, or ten in, {goal} ÷ {name}")
        for figure, unit, most, text in figures
        for case, *_ in CASES
    )


def asked(partitions: int, brokers: int, change: str) -> tuple[Brokers, Placements]:
    """A cluster of which the first broker is to be emptied, or ten new ones are to be filled."""
    target, placements = question(partitions, brokers, ADDED if change == "in" else 0)
    target.draining[0] = change == "out"
    return target, placements


def ours(goal: Goal, brokers: Brokers, placements: Placements) -> Outcome:
    """Proven to have the fewest copies that the goal allows."""
    answer = proven(plan(brokers, placements, goal), 0.0)
    start = process_time()
    plan(brokers, placements, goal)
    took = process_time() - start
    return Outcome.of(brokers, placements, answer.replicas.values.reshape(-1, 3), took)


def theirs(tool: str, case: str, brokers: Brokers, placements: Placements) -> Outcome:
    """What the tool does, or did."""
    if (BUILT / "class-path").exists():
        return ask(tool, brokers, placements)
    return Outcome(*json.loads(FIGURES.read_text("ascii"))["outcomes"][tool][case])


def compared(tool: str, goal: Goal, cases: tuple[tuple[str, int, int, str], ...]) -> Iterator[Sides]:
    """Each figure of all cases."""
    clusters = {case: asked(*size) for case, *size in cases}  # type: ignore[arg-type]

    def figures(outcomes: list[Outcome]) -> list[float]:
        return [float(figure) for column in zip(*outcomes, strict=True) for figure in column]

    yield (
        lambda: figures([ours(goal, *cluster) for cluster in clusters.values()]),
        lambda: figures([theirs(tool, case, *cluster) for case, cluster in clusters.items()]),
    )


@benchmark(*rows("cruise-control", "within a band of 9%", "Cruise Control's goals", 1.5), rounds=1)
def cruise_control(cases: tuple[tuple[str, int, int, str], ...] = CASES) -> Iterator[Sides]:
    """The fewest copies that bring all brokers into the band."""
    yield from compared("cruise-control", Goal("even", tolerance=BAND), cases)


@benchmark(*rows("topicmappr", "even", "topicmappr", 15.0), rounds=1)
def topicmappr(cases: tuple[tuple[str, int, int, str], ...] = CASES) -> Iterator[Sides]:
    """The fewest copies of the evenest load."""
    yield from compared("topicmappr", Goal("even"), cases)
