"""The trade-off between moves and evenness: the best assignment for each of several numbers of moves."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from service.core.measures.skew import weighted_load
from service.core.model import Assignment, Group
from service.planner.balanced.balanced import BY_FORMULA
from service.planner.balanced.moves import forced_moves

MOST_POINTS: Final = 41
"""Most points, if each takes little time."""

FEWER_POINTS: Final = ((2_000, 41), (10_000, 21), (60_000, 6))
"""Otherwise: most points, for groups of up to this number of partitions and subscriptions."""

FEWEST_POINTS: Final = 3
"""Of larger groups."""


@dataclass(frozen=True)
class TradeOff:
    """What a number of moves achieves.

    worst_load : the largest load ÷ capacity; stddev : of all loads ÷ capacity
    proven : is no such load smaller with so few moves?
    """

    moves: int
    worst_load: float
    stddev: float
    proven: bool


def frontier(group: Group, run: Callable[..., Assignment]) -> tuple[TradeOff, ...]:
    """The trade-offs by ascending moves, each more even than those before, from the fewest moves to the best balance.

    run : ``balanced.assign`` with its limits; takes ``max_moves``
    """
    assignment = run(group)
    fewest, best = forced_moves(group), _trade_off(group, assignment)
    count = _points(group, assignment)
    # The first moves gain most, so the points are closer there.
    limits = np.unique(np.rint(fewest + (best.moves - fewest) * np.linspace(0, 1, count) ** 2).astype(np.int64))[:-1]
    tried = [_trade_off(group, run(group, max_moves=limit)) for limit in (limits.tolist() if best.moves > fewest else [])]
    points: list[TradeOff] = []
    for each in (*sorted(tried, key=lambda point: (point.moves, point.worst_load, point.stddev)), best):
        if not points or (each.worst_load, each.stddev) < (points[-1].worst_load, points[-1].stddev):
            points.append(each)
    return tuple(points)


def _points(group: Group, assignment: Assignment) -> int:
    """How many points to compute: a formula is quick, flows and searches are not."""
    if assignment.certificate is not None and assignment.certificate.load.method == BY_FORMULA:
        return MOST_POINTS
    size = group.topics.partitions_count + len(group.subscriptions.values)
    return next((points for limit, points in FEWER_POINTS if size <= limit), FEWEST_POINTS)


def _trade_off(group: Group, assignment: Assignment) -> TradeOff:
    certificate, weights = assignment.certificate, group.topics.weights
    if certificate is None:
        raise TypeError("the assignor proves nothing")
    loads = assignment.rows.lengths() if weights is None else weighted_load(assignment.rows, weights)
    ratios = loads if group.capacities is None else loads / group.capacities
    most = float(ratios.max(initial=0))
    stddev = most * float(np.std(ratios / most)) if most else 0.0  # the square of a ratio may be beyond a float
    return TradeOff(int(certificate.moves.value), certificate.load.value, stddev, certificate.load.gap == 0)
