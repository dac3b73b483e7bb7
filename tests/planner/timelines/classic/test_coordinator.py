"""The join and sync barriers: who is waited for, how long, and who leads."""

from __future__ import annotations

import pytest

from service.core.errors import InvalidQuestion
from service.planner.timelines.classic.coordinator import COMPLETING, EMPTY, PREPARING, STABLE
from tests.support.simulations import event, simulation, stable

SLOW = {"rebalance_timeout_ms": 20_000, "poll_interval_ms": 0}


def states(run) -> list[list[tuple[int, str]]]:
    return [rebalance.states for rebalance in run.outcome().rebalances]


def test_a_group_forms_after_a_delay_that_each_new_member_prolongs() -> None:
    """But not beyond the rebalance time-out."""
    joins = [event(2_000 * i, "member_joins", member={"member_id": f"d{i}"}) for i in range(1, 6)]
    run = simulation("classic", *joins, timing={"rebalance_timeout_ms": 7_000})
    run.run(until_ms=7_500)
    assert states(run) == [[(0, PREPARING), (7_000, COMPLETING), (7_000, STABLE)]]
    assert run.outcome().rebalances[0].members_count == 5


def test_the_others_notice_a_rebalance_by_their_heartbeat() -> None:
    run = stable("classic", event(10_000, "member_joins", member={"member_id": "d"}))
    run.run()
    assert states(run) == [[(10_000, PREPARING), (12_000, COMPLETING), (12_000, STABLE)]]


def test_who_does_not_poll_in_time_is_removed_and_comes_back_with_a_new_id() -> None:
    """The rebalance waits as long as its time-out for a member that is stalled; a static one would have stayed."""
    events = [event(5_000, "member_stalls", member_id="c1", for_ms=19_900), event(6_000, "member_leaves", member_id="c2")]
    run = stable("classic", *events, timing={**SLOW, "rebalance_timeout_ms": 18_000})
    run.run()
    removed = run.course.members.all[1]
    assert removed.number not in run.course.present
    assert {member.name for member in run.course.present.values()} == {"c0", "c1"}
    assert run.outcome().rebalances[0].members_count == 1


def test_a_leader_that_goes_is_followed_by_the_next_of_the_hash_map() -> None:
    run = stable("classic", event(10_000, "member_leaves", member_id="c0"))
    coordinator = run.clients.coordinator
    assert coordinator.leader == 0
    run.run()
    order = coordinator.member_order().tolist()
    assert coordinator.leader == order[0]
    assert sorted(order) == [1, 2]


def test_the_session_of_a_member_that_crashes_expires_after_its_last_heartbeat() -> None:
    run = stable("classic", event(10_000, "member_crashes", member_id="c1"))
    run.run()
    assert run.outcome().rebalances[0].at_ms == 9_000 + 45_000
    assert run.outcome().rebalances[0].reason == "removing member c1 on heartbeat expiration."


def test_a_group_that_loses_its_last_member_is_empty() -> None:
    run = simulation("classic", event(60_000, "member_leaves", member_id="c0"), members=[{"member_id": "c0"}])
    run.run()
    assert states(run)[-1] == [(60_000, PREPARING), (60_000, EMPTY)]
    assert run.outcome().end.state == EMPTY


def test_a_member_without_a_common_assignor_is_refused() -> None:
    """The second change begins before the first one has given all members its assignor."""
    changes = [event(at, "assignor_changes", assignors=[name], pause_ms=5_000) for at, name in ((0, "sticky"), (1, "roundrobin"))]
    with pytest.raises(InvalidQuestion, match="INCONSISTENT_GROUP_PROTOCOL"):
        stable("classic", *changes).run()
