"""Pins with which a small cluster comes within a tolerance, where those of a flow (``topic_leaders``) do not: an integer program.

It has the variables and rules of ``packing``, and one more for each partition and broker that may lead it for a pair.
"""

from dataclasses import replace

import numpy as np

from service.core.clock import check_time, seconds_left
from service.core.model import NONE, Int64s
from service.planner.reassignments.evenness import band
from service.planner.reassignments.feasibility.feasible import bytes_of_brokers
from service.planner.reassignments.feasibility.packing import (
    MOST_CELLS,
    MOST_NODES,
    Effort,
    Formulas,
    PackingProgram,
    Space,
    solve,
)
from service.planner.reassignments.feasibility.start import keep_and_fill
from service.planner.reassignments.model import NO_LIMIT, Brokers, Goal, Pins, Placements
from service.planner.reassignments.sets import replica_state
from service.planner.reassignments.topic_leaders import pairs_of


def pins_within(brokers: Brokers, placements: Placements, goal: Goal, tolerance: float) -> Placements | None:
    """The placements with the pins of a placement that keeps all rules and is within the tolerance, with the fewest copies; None
    if none was found, or the cluster is too large.
    """
    least, placements = placements.topic_leaders, replace(placements, pins=None)
    chosen, usable = placements.chosen(), np.flatnonzero(brokers.usable).astype(np.int32)
    cells, width = len(chosen) * len(usable), len(usable)
    if least is None or not 0 < cells <= MOST_CELLS:
        return None
    state, copies = replica_state(brokers, placements, chosen, goal.racks, hold=False)
    if not keep_and_fill(state, copies):
        return None
    low, high = band(brokers.usable, brokers.weights, state.loads, tolerance)
    state.most[:] = np.minimum(state.most, high)
    loads = bytes_of_brokers(brokers, placements, chosen, state)
    space = Space(placements.bytes_of_each()[chosen], loads, np.where(brokers.usable, brokers.capacity_bytes, NO_LIMIT))
    formulas = PackingProgram(state, space, np.arange(len(chosen), dtype=np.int32), usable, brokers.usable).formulas()
    stays = state.loads - np.bincount(state.members, minlength=len(brokers))
    formulas.low[len(chosen) : len(chosen) + width] = (low - stays)[usable]
    pairs = pairs_of(least, np.repeat(placements.topics[chosen], width), np.tile(usable, len(chosen)))
    cell_of = np.flatnonzero((pairs != NONE) & (formulas.bounds[1] > 0))
    excluded = np.flatnonzero(placements.excluded)
    led_already = pairs_of(least, placements.topics[excluded], placements.replicas.firsts()[excluded])
    lacking = np.maximum(0, least.least - np.bincount(led_already[led_already != NONE], minlength=len(least.least)))
    leads = _leads(formulas, cell_of, pairs[cell_of], lacking, width)
    solved = solve(leads, min(MOST_NODES, Effort().left // len(leads.costs)), seconds_left())
    check_time()  # a program that the time has ended has no say in the answer
    if solved.x is None:
        return None
    led = cell_of[np.round(solved.x[cells:]) > 0]
    return replace(placements, pins=Pins(chosen[led // width], usable[led % width]))


def _leads(formulas: Formulas, cell_of: Int64s, pairs: Int64s, lacking: Int64s, width: int) -> Formulas:
    """The formulas with a variable for each cell that leads for a pair: where a replica is, at most one of a partition.

    lacking : int64[pairs], how many are to be; width : cells of a partition
    """
    cells, rows, count = len(formulas.costs), len(formulas.low), len(cell_of)
    each, ones = np.arange(count), np.ones(count)
    rows_of = cell_of // width
    partitions = int(rows_of.max(initial=-1)) + 1
    columns = [formulas.entries[0], cells + each, cell_of, cells + each, cells + each]
    at_rows = [formulas.entries[1], rows + each, rows + each, rows + count + rows_of, rows + count + partitions + pairs]
    values = [formulas.entries[2], ones, -ones, ones, ones]
    return Formulas(
        np.append(formulas.costs, np.zeros(count)),
        (np.append(formulas.bounds[0], np.zeros(count)), np.append(formulas.bounds[1], ones)),
        (np.concatenate(columns), np.concatenate(at_rows), np.concatenate(values)),
        np.concatenate([formulas.low, np.full(count + partitions, -np.inf), lacking]),
        np.concatenate([formulas.high, np.zeros(count), np.ones(partitions), lacking]),
    )
