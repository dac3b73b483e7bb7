"""The fewest bytes that bring the directories of one small broker below their limits, or within a tolerance: an integer program.

As in ``feasibility.packing``, a program is bounded by its size and by the nodes of its search, and the time limit ends it only
together with the answer.

Source: HiGHS by ``scipy.optimize.milp``, branch and cut.
"""

from math import ceil, gcd
from typing import Final

import numpy as np

from service.core.clock import check_time, seconds_left
from service.core.model import Float64s, Int32s
from service.planner.reassignments.evenness import band
from service.planner.reassignments.feasibility.packing import LARGEST, Effort, Formulas, solve
from service.planner.reassignments.model import NO_LIMIT, Brokers, Goal, Placements, bytes_on

MOST_CELLS: Final = 500
"""Replicas × directories of a program at most. Of more replicas, the search comes near enough."""

MOST_NODES: Final = 100
"""Nodes of a program's search at most."""

_START: Final = 1_000
"""What a program costs of the effort before it begins."""


def fewest_bytes(brokers: Brokers, placements: Placements, goal: Goal, effort: Effort) -> tuple[Int32s | None, int]:
    """int32[partitions], where each replica goes, or None if nothing is found; and the bytes that any such plan copies at least.

    brokers, placements : the directories of a broker, and its replicas; goal : "fewest-moves", or with a tolerance
    """
    free, width = np.flatnonzero(~placements.excluded), len(brokers)
    cells = len(free) * width
    nodes = min(MOST_NODES, (effort.left - _START) // max(1, cells))
    if not 0 < cells <= MOST_CELLS or nodes < 1:
        return None, 0
    sizes, homes = placements.bytes_of_each()[free], placements.replicas.values[free]
    low, high = _room(brokers, placements, goal)
    unit = max(float(gcd(*sizes.tolist())), 1.0, float(sizes.max()) / LARGEST)
    amounts = np.repeat(sizes / unit, width)
    may = np.tile(brokers.receiving, (len(free), 1))
    may[np.arange(len(free)), homes] = brokers.usable[homes]
    at_home = np.zeros(may.shape, np.bool_)
    at_home[np.arange(len(free)), homes] = True
    rows, each = np.arange(cells) // width, np.ones(len(free))
    formulas = Formulas(
        np.where(at_home.ravel(), 0.0, amounts),
        (np.zeros(cells), may.ravel().astype(np.float64)),
        (
            np.tile(np.arange(cells), 2),
            np.concatenate([rows, len(free) + np.arange(cells) % width]),
            np.concatenate([np.ones(cells), amounts]),
        ),
        np.concatenate([each, low / unit]),
        np.concatenate([each, high / unit]),
    )
    solved = solve(formulas, nodes, seconds_left(), mip_rel_gap=0.0)
    check_time()  # a program that the time has ended has no say in the answer
    effort.left -= _START + cells * int(solved.mip_node_count or 0)
    bound = solved.mip_dual_bound
    fewest = 0 if bound is None or not np.isfinite(bound) else max(0, ceil((bound * (1 - _ROUNDING) - _ROUNDING) * unit))
    if solved.x is None:
        return None, fewest
    dirs = placements.replicas.values.copy()
    dirs[free] = solved.x.reshape(len(free), width).argmax(axis=1)
    moved = np.bincount(dirs[free], sizes, width)
    return (dirs if ((moved >= low) & (moved <= high)).all() else None), fewest


_ROUNDING: Final = 1e-6
"""What the solver's tolerances leave open, in units."""


def _room(brokers: Brokers, placements: Placements, goal: Goal) -> tuple[Float64s, Float64s]:
    """float64[dirs] twice, the least and the most bytes of the replicas that may move."""
    sizes, homes = placements.bytes_of_each(), placements.replicas.values
    loads = bytes_on(placements.replicas, sizes, len(brokers))
    least, most = np.zeros(len(brokers)), np.where(brokers.capacity_bytes == NO_LIMIT, np.inf, brokers.capacity_bytes)
    if goal.tolerance is not None:
        loads[np.argmax(brokers.usable)] += sizes[~brokers.usable[homes] & ~placements.excluded].sum()
        low, high = band(brokers.usable, brokers.weights, loads, goal.tolerance)
        least, most = low.astype(np.float64), np.minimum(most, high)
    fixed = np.bincount(homes[placements.excluded], sizes[placements.excluded], len(brokers))
    return np.maximum(0.0, least - fixed), np.where(brokers.usable, most - fixed, np.inf)
