"""Searches look at the time again and again, and each has a bound of work."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from service.core.budget import limited
from service.core.errors import NotFound
from service.planner.reassignments import plan as planning
from service.planner.reassignments.batches import detours
from service.planner.reassignments.batches.plan import in_batches
from service.planner.reassignments.batches.schedule import BatchLimits
from service.planner.reassignments.feasibility import infeasibility
from service.planner.reassignments.feasibility.feasible import fits
from service.planner.reassignments.feasibility.infeasibility import explain
from service.planner.reassignments.feasibility.start import keep_and_fill
from service.planner.reassignments.model import Brokers, Goal, Placements
from service.planner.reassignments.plan import plan
from service.planner.reassignments.search.exchanges import ReplicaSets, link
from service.planner.reassignments.sets import replica_state
from tests.planner.reassignments.test_plan import a_cluster, some_placements
from tests.reference.reassignments import best
from tests.support.time_limits import Looks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.planner.reassignments.search.byte_balance import Exchanged


class TooLate(Exception):
    """The time is up."""


def at_call(number: int) -> Any:
    """A check of the time that finds it up at this call."""
    calls = count(1)

    def check() -> None:
        if next(calls) == number:
            raise TooLate

    return check


def a_state(brokers: Brokers, placements: Placements) -> tuple[ReplicaSets, np.ndarray]:  # type: ignore[type-arg]
    chosen = np.arange(len(placements), dtype=np.int32)
    return replica_state(brokers, placements, chosen, "none", hold=False)


def test_the_time_is_checked_while_sets_are_filled() -> None:
    """600 partitions that get 198 replicas each look at 200 brokers for each of them."""
    brokers, placements = a_cluster([None] * 200), some_placements([[0]] * 600, factors=[199] * 600)
    state, copies = a_state(brokers, placements)
    with pytest.raises(TooLate), limited(Looks(at_call(4))):
        keep_and_fill(state, copies)


def test_the_time_is_checked_while_replicas_are_fitted_into_capacities() -> None:
    """None of the 800 replicas on a full broker is at home, so each of them may be the one that costs least, on any broker."""
    brokers = a_cluster([None] * 40, capacity_bytes=[800 * 7 // 30] * 40, draining=[False] * 39 + [True])
    placements = some_placements([[39]] * 800, sizes=[7] * 800)
    state, copies = a_state(brokers, placements)
    assert keep_and_fill(state, copies)
    state.members[:], state.loads[:] = 0, [800, *[0] * 39]
    link(state)
    with pytest.raises(TooLate), limited(Looks(at_call(4))):
        fits(brokers, placements, np.arange(800, dtype=np.int32), state)


@pytest.mark.parametrize("sizes", [[7] * 20_000, range(1, 20_001)])
def test_those_that_leave_a_full_broker_are_found_at_once(sizes: Sequence[int]) -> None:
    """The largest stand first, and no smaller one is better: the work is over before the time is checked once."""
    brokers = a_cluster([None] * 40, capacity_bytes=[sum(sizes) // 30] * 40)
    placements = some_placements([[0]] * 20_000, sizes=list(sizes))
    state, copies = a_state(brokers, placements)
    assert keep_and_fill(state, copies)
    link(state)
    with limited(Looks(at_call(1))):
        assert fits(brokers, placements, np.arange(20_000, dtype=np.int32), state) > 10_000


@pytest.mark.parametrize(("max_bytes", "gap"), [(None, 1e-4), (600 * 10**9, 5)])
def test_an_exchange_of_bytes_does_not_look_at_each_replica(
    monkeypatch: pytest.MonkeyPatch, max_bytes: int | None, gap: float
) -> None:
    """2,000 replicas on 4 of 40 brokers: nearly all of them could go to any of the 36 others."""
    looked_at = exchanges = 0
    balance = planning.balance_bytes

    def counted(state: ReplicaSets, record: Any, band: Any, most_cost: int, done: Exchanged) -> int:
        nonlocal looked_at, exchanges
        result = balance(state, record, band, most_cost, done)
        looked_at, exchanges = looked_at + int(state.work[0]), int(done.counts[1])
        return result

    monkeypatch.setattr(planning, "balance_bytes", counted)
    sizes = np.random.default_rng(1).integers(1, 10**9, 2000).tolist()
    goal = Goal("even", balance="bytes", max_bytes=max_bytes)
    answer = plan(a_cluster([None] * 40), some_placements([[i % 4] for i in range(2000)], sizes=sizes), goal)
    assert (answer.evenness_gap < gap, exchanges > 500) == (True, True)
    assert looked_at < 200 * exchanges


def test_a_clash_of_all_rules_asks_a_bounded_number_of_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every subset of the seven rules, and the steps of the searches for the least remedy."""
    asked = count()
    verdict = infeasibility.verdict

    def counted(*arguments: Any, **options: Any) -> Any:
        next(asked)
        return verdict(*arguments, **options)

    monkeypatch.setattr(infeasibility, "verdict", counted)
    brokers = a_cluster(
        ["a", "a", "b", "c"],
        draining=[True, False, False, False], max_replicas=[9, 1, 1, 1], capacity_bytes=[9, 1, 1, 1], replaced_by=[-1, 2, -1, -1],
    )  # fmt: skip
    brokers.cluster.fenced[3] = True
    placements = some_placements([[0, 1], [1, 3], [2, 3]], sizes=[3, 3, 3], excluded=[False, False, True])
    assert best(brokers, placements, Goal()) is None
    explain(brokers, placements, Goal())
    assert next(asked) <= 7 + 2**7 + 7 + 2 * 31 + 2 * 13 + 2 * 2 * 7 + 2


def test_detours_are_tried_a_bounded_number_of_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """Full brokers that exchange replicas, two circles of them, and one place elsewhere: the second attempt is one too many."""
    brokers = a_cluster([*"aabbaabbb"], max_replicas=[1] * 9, weights=[1.0] * 8 + [0.5])
    placements = some_placements([[0, 1], [2, 3], [4, 5], [6, 7]])
    wanted = plan(brokers, placements, Goal("even")).replicas
    arguments = (brokers, placements, wanted, BatchLimits(), "strict")
    assert len(in_batches(*arguments).detours) == 2
    monkeypatch.setattr(detours, "TRIED_IN_ALL", 1)
    with pytest.raises(
        NotFound, match=r"no order of the moves was found that keeps max_replicas\. There may be one\. 1 attempts"
    ):
        in_batches(*arguments)
