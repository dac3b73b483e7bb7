"""What a library leaves to chance, over several of its runs: how even its assignments are, and what they move."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from service.planner.rebalances import Rebalance, rebalance_by

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.core.model import Group

MOST_RUNS: Final = 32

MOST_CELLS: Final = 4_000_000
"""Partitions × members of all runs together, but one run in any case; some tenths of a second."""


@dataclass(frozen=True)
class Range:
    """A figure over several runs."""

    least: float
    mean: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Range:
        """The range of the values, of which there are some."""
        return cls(min(values), float(np.mean(values)), max(values))

    def __str__(self) -> str:
        if self.least == self.most:
            return f"{self.least:,g}"
        return f"{self.least:,g} to {self.most:,g} ({self.mean:,.4g} on average)"


@dataclass(frozen=True)
class Outcomes:
    """Runs of a library on one group.

    runs : how many; the first is the one that is answered
    member_load : ``min``, ``max`` and ``skew`` of the partitions per member
    movement : the figures of ``Movement``
    """

    runs: int
    member_load: dict[str, Range]
    movement: dict[str, Range]

    @property
    def sentence(self) -> str:
        """What a reader should know of the other runs."""
        times = f"Over {self.runs} runs" if self.runs > 1 else "In this run"
        moved, fullest = self.movement["moved"], self.member_load["max"]
        return f"{times}, the fullest member gets {fullest} partitions, and partitions that move to another member: {moved}."


def outcomes(group: Group, first: Rebalance, seed: int) -> Outcomes | None:
    """The run that is answered, and further ones; None where no run of a library decides anything. seed : of the first"""
    chance = first.assignment.left_open
    if chance is None or chance.run is None:
        return None
    runs = min(MOST_RUNS, max(1, MOST_CELLS // max(1, group.topics.partitions_count * len(group))))
    figures = [_figures(first)]
    figures += [_figures(rebalance_by(group, first.assignment.of_run(seed + i))) for i in range(1, runs)]
    load, moves = ({name: Range.of([each[of][name] for each in figures]) for name in figures[0][of]} for of in (0, 1))
    return Outcomes(runs, load, moves)


def _figures(run: Rebalance) -> tuple[dict[str, float], dict[str, float]]:
    """The loads and the movement of a run."""
    return {name: getattr(run.load, name) for name in ("min", "max", "skew")}, asdict(run.movement)
