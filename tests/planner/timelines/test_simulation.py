"""A timeline from its start to its end, and the same events for a group that is run in another way."""

from __future__ import annotations

from dataclasses import replace

import pytest

from service.planner.timelines.model import Timing, Unread
from service.planner.timelines.simulation import Variant, varied
from service.strategies import GROUP_PROTOCOLS
from tests.support.simulations import event, simulation, stable


def test_what_members_read_adds_up() -> None:
    run = stable("consumer", event(10_000, "member_leaves", member_id="c1"))
    run.run()
    readings = {one.member_id: one.reads for one in run.outcome().readings or ()}
    assert readings["c1"] == [(0, 2), (10_000, 0)]
    assert sum(reads[-1][1] for reads in readings.values()) == 6
    assert all(times == sorted(times) for times in ([at for at, _ in reads] for reads in readings.values()))


def test_a_timeline_ends_with_its_last_event_or_when_the_group_is_stable() -> None:
    for seconds, later in ((10, False), (600, True)):
        run = stable("classic", event(10_000, "member_leaves", member_id="c1"), event(seconds * 1_000, "scales", members_count=2))
        run.run()
        last = run.outcome().rebalances[-1].stable_at_ms
        assert last is not None
        assert run.outcome().totals.end_ms == (600_000 if later else last)


def test_what_is_idle_at_the_end_is_no_time() -> None:
    """Nobody is left, so that all partitions have no reader for ever: no sum, but a state, and since when."""
    leave = [event(10_000, "member_leaves", member_id=f"c{i}") for i in range(3)]
    run = stable("consumer", *leave, event(100_000, "scales", members_count=0))
    run.run()
    outcome = run.outcome()
    assert outcome.totals.idle.sum_ms == 0
    assert (outcome.end.state, outcome.end.members_count, outcome.end.partitions_count) == ("Empty", 0, 6)
    assert outcome.end.unread == (Unread(0, 6, 6, 10_000, "no_member"),)


@pytest.mark.parametrize("static", [True, False, None])
def test_a_way_with_static_members_has_ids_for_all(*, static: bool | None) -> None:
    members = [{"member_id": "a", "instance_id": "i"}, {"member_id": "b"}]
    joins = event(5, "member_joins", member={"member_id": "c"})
    changes = event(9, "assignor_changes", assignors=["sticky"])
    timeline = simulation("classic", joins, changes, members=members).course.timeline
    uniform, timing = GROUP_PROTOCOLS["consumer"]["uniform"], Timing(heartbeat_interval_ms=5_000)
    way = varied(timeline, Variant("consumer", uniform, static, timing, {1: ("consumer", uniform)}))
    assert way.group.instance_ids == {True: ("i", "b"), False: (None, None), None: ("i", None)}[static]
    assert way.events[0].member is not None
    assert way.events[0].member.instance_id == ("c" if static else None)
    assert (way.events[1].group_protocol, way.events[1].assignors) == ("consumer", (uniform,))
    assert (way.group_protocol, way.assignor, way.timing, way.detail) == ("consumer", uniform, timing, "totals")
    assert replace(way, events=()).cost() == 1
