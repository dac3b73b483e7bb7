"""The clients of the consumer protocol: heartbeats, revocations, static members and stalls."""

from __future__ import annotations

import numpy as np
import pytest

from service.core.errors import InvalidQuestion
from service.planner.timelines.consumer.coordinator import ASSIGNING, RECONCILING, STABLE
from tests.support.simulations import event, stable

JOINS = event(10_000, "member_joins", member={"member_id": "d"})


def reasons(run) -> list[str]:
    return [rebalance.reason for rebalance in run.outcome().rebalances]


def static(i: int) -> dict:
    owned = [{"topic_name": "t", "partition_ids": [2 * i, 2 * i + 1]}]
    return {"member_id": f"c{i}", "instance_id": f"i{i}", "owned_partitions": owned}


def test_members_learn_of_a_target_by_their_own_heartbeats() -> None:
    run = stable("consumer", JOINS)
    run.run()
    (rebalance,) = run.outcome().rebalances
    assert rebalance.states == [(10_000, ASSIGNING), (10_000, RECONCILING), (15_000, STABLE)]
    assert sorted(np.bincount(run.course.ledger.reader).tolist()) == [1, 1, 2, 2]


def test_the_coordinator_assigns_at_most_once_in_an_interval() -> None:
    """The second member that joins waits for the next heartbeat of any member after it."""
    second = event(10_500, "member_joins", member={"member_id": "e"})
    run = stable("consumer", JOINS, second, timing={"assignment_interval_ms": 3_000})
    run.run()
    entered = [[state for _, state in rebalance.states] for rebalance in run.outcome().rebalances]
    assert entered[1][0] == ASSIGNING
    assert dict(map(reversed, run.outcome().rebalances[1].states))[RECONCILING] == 15_000


def test_revoking_waits_for_polls_and_a_member_that_is_too_slow_is_fenced() -> None:
    """It holds what it is to revoke until then, and joins again with its next heartbeat."""
    stall = event(9_500, "member_stalls", member_id="c2", for_ms=10_000)
    run = stable("consumer", stall, JOINS, timing={"rebalance_timeout_ms": 10_000, "poll_interval_ms": 4_000})
    coordinator = run.clients.coordinator
    run.run(until_ms=20_000)
    assert (coordinator.holder == 2).sum() == 2
    run.run()
    epoch = "Member c2 fenced from the group because it failed to transition from epoch 2 within 10000ms."
    joins = "Member c2 joins the consumer group using the consumer protocol."
    assert reasons(run)[1:3] == [epoch, joins]
    assert (run.course.ledger.reader == coordinator.holder).all()


def test_a_static_member_that_leaves_keeps_its_partitions_until_its_session_is_over() -> None:
    members = [static(i) for i in range(3)]
    run = stable("consumer", event(10_000, "member_restarts", member_id="c1", down_ms=5_000), members=members)
    run.run()
    assert reasons(run) == []
    assert run.course.ledger.reader.tolist() == [0, 0, 3, 3, 2, 2]
    run = stable("consumer", event(10_000, "member_restarts", member_id="c1", down_ms=90_000), members=members)
    run.run()
    assert reasons(run)[0] == "Member c1 fenced from the group because the member session expired."


def test_an_instance_id_is_released_by_leaving_only() -> None:
    crash = event(10_000, "member_crashes", member_id="c1")
    again = event(11_000, "member_joins", member={"member_id": "x", "instance_id": "i1"})
    with pytest.raises(InvalidQuestion, match="UNRELEASED_INSTANCE_ID") as fault:
        stable("consumer", crash, again, members=[static(i) for i in range(3)]).run()
    assert fault.value.field == ("events", 1)


def test_a_member_that_does_not_poll_for_too_long_leaves_and_joins_again_with_its_id() -> None:
    run = stable(
        "consumer", event(10_000, "member_stalls", member_id="c1", for_ms=60_000), timing={"rebalance_timeout_ms": 30_000}
    )
    run.run()
    joins = "Member c1 joins the consumer group using the consumer protocol."
    assert reasons(run) == ["Member c1 left the consumer group.", joins]
    assert [rebalance.at_ms for rebalance in run.outcome().rebalances] == [40_000, 70_000]


def test_a_change_of_subscription_without_a_join_changes_nothing() -> None:
    change = [
        event(at, "subscription_changes", member_id="c1", topic_names=names) for at, names in ((11_000, []), (12_000, ["t"]))
    ]
    run = stable("consumer", change[0])
    run.run()
    assert reasons(run) == ["Member c1 updated its subscribed topics to: []."]
    run = stable("consumer", *change)
    run.run()
    assert reasons(run) == []
    assert run.course.ledger.reader.tolist() == [0, 0, 1, 1, 2, 2]


def test_new_partitions_raise_the_epoch_at_the_next_heartbeat() -> None:
    run = stable("consumer", event(11_000, "partitions_added", topic_name="t", partitions_count=9))
    run.run()
    (rebalance,) = run.outcome().rebalances
    assert (rebalance.at_ms, rebalance.reason) == (15_000, "Bumped group epoch to 3 with metadata hash")


def test_partitions_that_wait_for_a_member_that_stalls_are_idle_until_it_polls() -> None:
    """c1 is given a partition of c0 at a heartbeat, and reads it 30 s after it began to stall."""
    stall, leave = event(9_000, "member_stalls", member_id="c1", for_ms=30_000), event(10_000, "member_leaves", member_id="c0")
    run = stable("consumer", stall, leave)
    run.run()
    idle = run.outcome().totals.idle
    assert idle.longest_ms == idle.least_longest_ms == idle.most_longest_ms == 29_000
