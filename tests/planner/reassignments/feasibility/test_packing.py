"""Replicas that are hard to pack: found, or proven impossible, as trying every placement says."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given
from hypothesis import strategies as st

from service.core.budget import Budget, limited
from service.core.errors import Infeasible, NotFound
from service.planner.reassignments.feasibility import packing
from service.planner.reassignments.model import NO_LIMIT, Goal
from service.planner.reassignments.plan import plan
from tests.planner.reassignments.test_plan import a_cluster, questions, some_placements
from tests.reference.reassignments import best


@given(questions(), st.data())
def test_every_placement_that_fits_is_found(question, data):
    brokers, placements, goal = question
    sizes = data.draw(st.lists(st.sampled_from([5, 6, 7, 9, 10, 11]), min_size=len(placements), max_size=len(placements)))
    room = data.draw(st.lists(st.sampled_from([10, 14, 16, 18, 21, NO_LIMIT]), min_size=len(brokers), max_size=len(brokers)))
    placements = replace(placements, sizes=np.array(sizes, np.int64))
    brokers = replace(brokers, capacity_bytes=np.array(room, np.int64))
    if best(brokers, placements, goal) is None:
        with pytest.raises(Infeasible):
            plan(brokers, placements, goal)
        return
    answer = plan(brokers, placements, goal)
    loads = np.bincount(answer.replicas.values, placements.sizes[answer.replicas.row_of_each_value()], len(brokers))
    assert (loads <= brokers.capacity_bytes)[brokers.usable].all()


def hard(count):
    """Brokers that partitions fill to the last byte: 9 + 6 + 5 and 8 + 7 + 5 of 20 each."""
    brokers = a_cluster([None] * count, capacity_bytes=[20] * count)
    sizes = [9, 6, 5, 8, 7, 5] * (count // 2)
    return brokers, some_placements([[i % 2] for i in range(len(sizes))], sizes=sizes)


@pytest.mark.parametrize(("cells", "more"), [(packing.MOST_CELLS, 0), (100, 1)])
def test_a_full_cluster_is_packed_as_a_whole_or_part_by_part(monkeypatch, cells, more):
    monkeypatch.setattr(packing, "MOST_CELLS", cells)
    brokers, placements = hard(8)
    answer = plan(replace(brokers, capacity_bytes=brokers.capacity_bytes + more), placements, Goal(racks="none"))
    assert (np.bincount(answer.replicas.values, placements.sizes, len(brokers)) <= 20 + more).all()


def test_a_plan_neither_found_nor_disproven_is_not_found(monkeypatch):
    monkeypatch.setattr(packing.Effort, "left", 0)
    monkeypatch.setattr(packing.Effort, "__init__", lambda _: None)
    brokers, placements = hard(8)
    with pytest.raises(NotFound, match="No placement was found that keeps these rules together, though there may be one"):
        plan(brokers, placements, Goal(racks="none"))
    with pytest.raises(Infeasible, match="No placement keeps these rules together"):  # too many bytes, however they are divided
        plan(replace(brokers, capacity_bytes=np.full(8, 19)), placements, Goal(racks="none"))


def test_what_had_to_be_packed_is_evened_out_by_bytes():
    """Broker 0 must give up a byte for a replica to come. That broker 3 then takes one more is evener."""
    brokers = a_cluster(["a"] * 6, capacity_bytes=[4, 1, 1, 6, 0, 0])
    rows, sizes = [[0], [0], [0], [1, 2, 3]], [1, 1, 2, 1]
    answer = plan(brokers, some_placements(rows, [1, 1, 1, 4], sizes), Goal("even", balance="bytes"))
    loads = np.bincount(answer.replicas.values, np.array(sizes)[answer.replicas.row_of_each_value()], len(brokers))
    assert loads.tolist() == [3, 1, 1, 3, 0, 0]


class InProgram(Budget):
    """A limit of time that is over once a program has run."""

    def __init__(self, monkeypatch):
        super().__init__(started=time.perf_counter(), seconds=1_000)
        self.given, self._solve = [], scipy.optimize.milp
        monkeypatch.setattr(scipy.optimize, "milp", self._run)

    def _run(self, *arguments, options, **more):
        self.given.append(options["time_limit"])
        return self._solve(*arguments, options=options, **more)

    def check_time(self):
        """See the class."""
        if self.given:
            raise TimeoutError


def test_a_program_ends_with_the_time_of_the_answer(monkeypatch):
    """And what it found then is not used."""
    limit = InProgram(monkeypatch)
    with pytest.raises(TimeoutError), limited(limit):
        plan(*hard(8), Goal(racks="none"))
    assert len(limit.given) == 1
    assert 0 < limit.given[0] < 1_001
