"""The agenda of calls."""

from __future__ import annotations

from itertools import pairwise

import pytest

from service.planner.timelines.course import EVENTS, STEP_CELLS, TICK_CELLS, Clock
from service.planner.timelines.model import NEVER


def test_calls_come_in_the_order_of_their_times_and_events_before_what_follows() -> None:
    clock, heard = Clock(), []
    for at, name, rank in ((5, "late", 1), (3, "first", 1), (3, "second", 1), (3, "event", EVENTS)):
        clock.at(at, lambda name=name: heard.append((clock.now, name)), rank=rank)
    clock.run(lambda _: None)
    assert heard == [(3, "event"), (3, "first"), (3, "second"), (5, "late")]


def test_what_is_due_before_now_happens_now_and_what_is_never_does_not() -> None:
    clock, heard = Clock(), []
    clock.at(10, lambda: clock.at(4, heard.append, "overdue"))
    clock.at(NEVER, heard.append, "never")
    clock.run(lambda _: None)
    assert (heard, clock.now) == (["overdue"], 10)


def test_a_run_ends_before_a_time_and_goes_on_from_there() -> None:
    clock, heard = Clock(), []
    for at in (1, 2, 3):
        clock.at(at, heard.append, at)
    clock.run(lambda _: None, until_ms=3)
    assert heard == [1, 2]
    clock.run(lambda _: None)
    assert heard == [1, 2, 3]


def test_a_tick_sees_each_large_step_before_it_is_taken_and_can_end_the_run() -> None:
    clock, heard = Clock(), []
    clock.at(0, lambda: (clock.spend(TICK_CELLS + 7), heard.append("not reached")))

    def tick(spent: int) -> None:
        if spent > TICK_CELLS:
            raise OverflowError

    with pytest.raises(OverflowError):
        clock.run(tick)
    assert (heard, clock.spent) == ([], STEP_CELLS + TICK_CELLS + 7)


def test_a_tick_sees_what_small_steps_have_cost_at_the_latest_at_the_end() -> None:
    clock, seen = Clock(), []
    for at in range(25):
        clock.at(at, clock.spend, 7)
    clock.run(seen.append)
    assert seen[-1] == clock.spent == 25 * (STEP_CELLS + 7)
    assert max(after - before for before, after in pairwise(seen)) <= TICK_CELLS + STEP_CELLS
