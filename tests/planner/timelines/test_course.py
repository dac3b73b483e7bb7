"""What coordinator, clients and events have in common: who needs a reader, requests, backlogs, and what follows later."""

from __future__ import annotations

import numpy as np

from service.planner.timelines.course import Course
from service.planner.timelines.members import Member
from service.planner.timelines.model import NEVER
from tests.support.simulations import event, simulation, stable


def course(**body: object) -> Course:
    """A course on which nobody has started."""
    return Course(simulation("classic", **body).course.timeline)


def started(one: Course, name: str, topics: tuple[int, ...]) -> Member:
    return one.start(Member(name, name, None, None, (one.timeline.assignor,), "classic"), topics)


def test_partitions_need_a_reader_once_somebody_subscribes_to_them() -> None:
    """Also once that member has ended: it may come back, and until then they are without a reader."""
    topics = [{"topic_name": "a", "partitions_count": 2}, {"topic_name": "b", "partitions_count": 3}]
    one = course(topics=topics)
    assert not one.ledger.counted.any()
    first = started(one, "c0", (0,))
    assert one.ledger.counted.tolist() == [True] * 2 + [False] * 3
    second = started(one, "c1", (1,))
    assert one.ledger.counted.all()
    one.members.columns.died[first.number] = one.members.columns.died[second.number] = 0
    one.count_partitions()
    assert one.ledger.counted.all()
    one.members.columns.topics[first.number] = one.members.subscription((1,))
    one.count_partitions()
    assert one.ledger.counted.tolist() == [False] * 2 + [True] * 3


def test_idle_time_does_not_depend_on_changes_of_other_topics() -> None:
    """Only c0 reads t, and is down for 60 s."""
    members = [
        {"member_id": "c0", "topic_names": ["t"], "owned_partitions": [{"topic_name": "t", "partition_ids": [0, 1]}]},
        {"member_id": "c1", "topic_names": ["other"], "owned_partitions": [{"topic_name": "other", "partition_ids": [0]}]},
    ]
    topics = [{"topic_name": "t", "partitions_count": 2}, {"topic_name": "other", "partitions_count": 1}]
    restart = event(100_000, "member_restarts", member_id="c0", down_ms=60_000)
    deleted = event(110_000, "topic_deleted", topic_name="other")
    for events in ((restart,), (restart, deleted)):
        one = simulation("consumer", *events, members=members, topics=topics)
        one.run()
        assert one.outcome().totals.idle.longest_ms == 60_000


def test_what_runs_is_in_the_order_of_first_names() -> None:
    one = course()
    first, second = started(one, "c0", (0,)), started(one, "c1", (0,))
    one.members.columns.died[first.number] = 0
    assert one.running() == [second]
    again = one.restart(first)
    assert one.running() == [again, second]
    assert one.latest["c0"] is one.latest[again.member_id] is again


def test_what_was_to_follow_does_not_once_the_group_is_converted() -> None:
    one, heard = course(), []
    one.cause = 3
    one.later(5, lambda: heard.append(one.cause))
    one.cause = 4
    one.later(10, heard.append, "of the former protocol")
    one.clock.at(7, setattr, one, "protocol", "consumer")
    one.clock.run(lambda _: None)
    assert heard == [3]


def test_requests_are_noted_in_the_last_rebalance() -> None:
    one = course()
    first = started(one, "c0", (0,))
    one.request("FindCoordinator", first)
    rebalance = one.begin("a reason", "PreparingRebalance")
    one.request("JoinGroup", first, "MEMBER_ID_REQUIRED")
    one.requests("SyncGroup", np.zeros(3, np.int32), np.array([5, NEVER, 7]))
    assert rebalance.requests_count == {"JoinGroup": 1, "SyncGroup": 2}
    assert [(one.at_ms, one.api, one.error) for one in rebalance.requests] == [
        (0, "JoinGroup", "MEMBER_ID_REQUIRED"),
        (5, "SyncGroup", ""),
        (7, "SyncGroup", ""),
    ]
    assert one.requests_total == 4
    assert (rebalance.reason, rebalance.protocol, rebalance.states) == ("a reason", "classic", [(0, "PreparingRebalance")])


def test_a_backlog_is_worked_off_by_what_a_member_has_to_spare() -> None:
    """c0 reads 30 per second and can read 40; of c1's 50 it is the longest that counts, and nobody can: never."""
    topics = [{"topic_name": "t", "partitions_count": 6, "partition_weights": [10, 20, 5, 5, 25, 25]}]
    run = stable("classic", topics=topics, timing={"consumption_rate": 40})
    one, rebalance = run.course, run.course.begin("")
    view, rows = one.topology.view(0), one.timeline.group.owned
    one.backlog(rebalance, np.array([20.0, 0, 0]), rows, view)
    assert (rebalance.backlog, rebalance.catch_up_ms) == (20.0, 2_000.0)
    one.backlog(rebalance, np.array([0, 3.0, 0]), rows, view)
    assert (rebalance.backlog, rebalance.catch_up_ms) == (23.0, 2_000.0)
    one.backlog(rebalance, np.array([0, 0, 1.0]), rows, view)
    assert rebalance.catch_up_ms == np.inf
