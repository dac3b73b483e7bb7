"""The clients of the classic protocol: static members, stalls, subscriptions, and what their leader sees of topics."""

from __future__ import annotations

from service.core.timelines.model import NEVER
from tests.support.simulations import event, simulation, stable

STATIC = [
    {"member_id": f"c{i}", "instance_id": f"i{i}", "owned_partitions": [{"topic_name": "t", "partition_ids": [2 * i, 2 * i + 1]}]}
    for i in range(3)
]


def reasons(run) -> list[str]:
    return [rebalance.reason for rebalance in run.outcome().rebalances]


def test_a_static_member_leaves_in_silence_and_gets_its_partitions_back() -> None:
    run = stable("classic", event(10_000, "member_restarts", member_id="c1", down_ms=5_000), members=STATIC)
    run.run(until_ms=12_000)
    assert (run.course.ledger.reader == 1).sum() == 0
    run.run()
    assert reasons(run) == []
    assert run.course.ledger.reader.tolist() == [0, 0, 3, 3, 2, 2]
    assert run.outcome().totals.idle.sum_ms == 2 * 5_000


def test_a_dynamic_member_leaves_by_a_request() -> None:
    run = stable("classic", event(10_000, "member_leaves", member_id="c1"))
    run.run()
    assert reasons(run) == ["explicit `LeaveGroup` request for (c1) members."]
    assert run.outcome().rebalances[0].requests_count["LeaveGroup"] == 1


def test_a_member_that_does_not_poll_for_too_long_leaves_and_joins_again() -> None:
    """``max.poll.interval.ms`` is the rebalance time-out; its next incarnation knows its coordinator."""
    run = stable(
        "classic", event(10_000, "member_stalls", member_id="c1", for_ms=60_000), timing={"rebalance_timeout_ms": 30_000}
    )
    run.run()
    lives = [(one.first_member_id, one.started_ms, one.ended_ms) for one in run.outcome().readings or ()]
    assert lives[1:] == [("c1", 0, 40_000), ("c2", 0, None), ("c1", 70_000, None)]
    assert "FindCoordinator" not in run.outcome().rebalances[-1].requests_count


def test_a_changed_subscription_is_sent_by_a_join_and_a_reverted_one_is_not() -> None:
    change = [
        event(at, "subscription_changes", member_id="c1", topic_names=names) for at, names in ((10_000, []), (10_000, ["t"]))
    ]
    run = stable("classic", change[0])
    run.run()
    assert reasons(run)[0].endswith("client reason: subscription has changed")
    assert (run.course.ledger.reader == 1).sum() == 0
    run = stable("classic", *change)
    run.run()
    assert reasons(run) == []
    assert (run.course.ledger.reader == 1).sum() == 2


def test_the_leader_sees_new_partitions_when_it_refreshes_its_metadata() -> None:
    run = stable("classic", event(10_000, "partitions_added", topic_name="t", partitions_count=7))
    run.run()
    (rebalance,) = run.outcome().rebalances
    assert rebalance.at_ms == 300_000  # metadata.max.age.ms after its start
    assert rebalance.reason.endswith("client reason: cached metadata has changed")
    assert rebalance.event == 0


def test_cooperative_members_read_on_and_rejoin_when_they_have_revoked() -> None:
    run = stable("classic", event(10_000, "member_joins", member={"member_id": "d"}), assignor="cooperative-sticky")
    run.run(until_ms=11_999)
    assert (run.course.ledger.reader >= 0).all()
    run.run()
    first, second = run.outcome().rebalances
    assert first.withheld > 0
    assert second.reason.endswith("client reason: need to revoke partitions and re-join")


def test_what_a_member_has_crashed_with_is_read_by_others_in_the_next_generation() -> None:
    run = stable("classic", event(10_000, "member_crashes", member_id="c2"))
    run.run()
    assert set(run.course.ledger.reader.tolist()) == {0, 1}
    assert run.course.members.columns.died[2] == 10_000
    assert (run.course.members.columns.died[:2] == NEVER).all()


def test_a_member_of_a_poll_interval_takes_over_in_a_poll_of_its_own() -> None:
    """With polls, what late members gain and lose comes after the group is stable."""
    joins = event(60_000, "member_joins", member={"member_id": "d"})
    quick, slow = (simulation("classic", joins, timing={"poll_interval_ms": ms}) for ms in (0, 2_000))
    for run in (quick, slow):
        run.run()
    assert slow.outcome().totals.idle.sum_ms > quick.outcome().totals.idle.sum_ms
    assert (slow.course.ledger.reader >= 0).all()
