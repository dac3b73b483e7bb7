"""Copies against evenness: how even the cluster can be with each number of copies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from service.planner.reassignments.plan import frontier

if TYPE_CHECKING:
    from service.core.model import Bools, Float64s, Int64s
    from service.decisions.budget import Budget
    from service.decisions.reassignments.question import CurrentCluster
    from service.planner.reassignments.model import Goal

MOST_POINTS: Final = 200
"""Points that an answer has at most: of more, some at equal distances."""


@dataclass(frozen=True)
class Frontier:
    """The points in the order of their copies, from the fewest that the rules need to those of the evenest load.

    copies : int64[points], replicas; amounts : int64[points], bytes, or None where sizes are unknown
    spreads : float64[points], the most load of a broker less the least, each ÷ weight; load : replicas or bytes
    deviations : float64[points], the standard deviation of load ÷ weight
    proven : bool[points], whether no plan within this number of copies is more even
    """

    copies: Int64s
    amounts: Int64s | None
    spreads: Float64s
    deviations: Float64s
    proven: Bools

    def table(self) -> pa.Table:
        """The columns copies, bytes, spread, stddev and proven."""
        count = len(self.copies)
        return pa.table(
            {
                "copies": pa.array(self.copies),
                "bytes": pa.nulls(count, pa.int64()) if self.amounts is None else pa.array(self.amounts),
                "spread": pa.array(self.spreads),
                "stddev": pa.array(self.deviations),
                "proven": pa.array(self.proven),
            }
        )


def frontier_of(cluster: CurrentCluster, goal: Goal, budget: Budget) -> Frontier:
    """The frontier of a cluster. Raises NoPlan, and what the budget raises."""
    curve, proven = frontier(cluster.brokers, cluster.placements, goal, budget.check_time)
    last = len(curve) - 1
    shown = np.unique(np.linspace(0, last, min(last + 1, MOST_POINTS)).round().astype(np.int64))
    return Frontier(
        curve.copies[shown],
        None if cluster.placements.sizes is None else curve.amounts[shown],
        curve.most[shown] - curve.least[shown],
        curve.deviations[shown],
        proven[shown],
    )
