"""The clients of the classic protocol: static members, stalls, subscriptions, and what their leader sees of topics."""

from __future__ import annotations

import numpy as np
import pytest

from service.core.errors import KafkaAssignorFails
from service.planner.timelines.model import NEVER
from service.planner.timelines.simulation import Simulation
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


TWO_TOPICS = [{"topic_name": "t0", "partitions_count": 4}, {"topic_name": "t1", "partitions_count": 5}]
THREE = [{"member_id": f"c{i}", "topic_names": ["t0", "t1"]} for i in range(3)]
JOINS = event(60_000, "member_joins", member={"member_id": "c3", "topic_names": ["t0", "t1"]})


def assigned(run) -> list[dict[str, list[str]]]:
    """What each member is assigned in each rebalance."""
    steps = []
    for rebalance in run.outcome().rebalances:
        group, rows = rebalance.group, rebalance.assignment
        parts = np.split(rows.values, rows.offsets[1:-1])
        steps.append({name: sorted(map(group.partition_name, part)) for name, part in zip(group.member_ids, parts, strict=True)})
    return steps


def test_members_of_librdkafka_give_up_a_deleted_topic_when_their_own_metadata_says_so() -> None:
    """As four consumers of librdkafka 2.16.1 did on a broker, of which the leader alone had refreshed its metadata."""
    deleted = event(20_000, "topic_deleted", topic_name="t1")
    group = {"assignor": "librdkafka:cooperative-sticky", "topics": TWO_TOPICS, "members": THREE}
    run = simulation("classic", deleted, JOINS, **group)
    run.run()
    followers = {"c1": ["t0-1", "t1-0", "t1-3"], "c2": ["t0-2", "t1-1", "t1-4"]}
    assert assigned(run) == [
        {"c0": ["t0-0", "t0-3", "t1-2"], **followers},
        {"c0": ["t0-0", "t0-3"], **followers},
        {"c0": ["t0-3"], **followers, "c3": []},
        {"c0": ["t0-3"], **followers, "c3": ["t0-0"]},
    ]
    run = simulation("classic", deleted, JOINS, **group, timing={"metadata_max_age_ms": 7_000})
    run.run()
    assert assigned(run)[2:] == [
        {"c0": ["t0-3"], "c1": ["t0-1"], "c2": ["t0-2"], "c3": []},
        {"c0": ["t0-3"], "c1": ["t0-1"], "c2": ["t0-2"], "c3": ["t0-0"]},
    ]


def test_cooperative_members_claim_what_they_had_of_a_topic_that_was_made_again() -> None:
    """Nobody reads it until the rebalance, and yet all stay where they were; with fewer partitions Kafka's assignor throws."""
    members = [
        {**member, "owned_partitions": [{"topic_name": "t1", "partition_ids": ids}]}
        for member, ids in zip(THREE, ([0, 4], [2, 3], [1]), strict=True)
    ]

    def again(count: int) -> Simulation:
        topic = {"topic_name": "t1", "partitions_count": count}
        events = (event(20_000, "topic_deleted", topic_name="t1"), event(20_500, "topic_created", topic=topic))
        return simulation("classic", *events, JOINS, assignor="cooperative-sticky", topics=TWO_TOPICS[1:], members=members)

    run = again(5)
    run.run()
    assert assigned(run)[0] == {"c0": ["t1-0", "t1-4"], "c1": ["t1-2", "t1-3"], "c2": ["t1-1"]}
    with pytest.raises(KafkaAssignorFails, match="deleted and made again with fewer"):
        again(2).run()
