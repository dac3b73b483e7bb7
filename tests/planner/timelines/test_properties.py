"""What holds for every timeline, whatever happens in it."""

from __future__ import annotations

import copy
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.api.rebalance_schemas import GroupRebalancesSchema
from service.core.errors import InvalidQuestion, KafkaAssignorFails
from service.core.model import NONE
from service.decisions.rebalances.question import faults, read_timeline
from service.decisions.rows import raise_all
from service.planner.timelines.classic.coordinator import ClassicCoordinator
from service.planner.timelines.consumer.coordinator import ConsumerCoordinator
from service.planner.timelines.model import NEVER, Idle, Timeline
from service.planner.timelines.share import ShareCoordinator
from service.planner.timelines.simulation import Simulation

if TYPE_CHECKING:
    from flask import Flask

pytestmark = pytest.mark.usefixtures("few_draws")

Body = dict[str, Any]

GROUPS = (
    ("classic", "range"),
    ("classic", "roundrobin"),
    ("classic", "sticky"),
    ("classic", "cooperative-sticky"),
    ("classic", "balanced"),
    ("classic", "librdkafka:cooperative-sticky"),
    ("consumer", "uniform"),
    ("consumer", "range"),
    ("share", "simple"),
)
MOST_STEPS = 20_000
CHANGES: tuple[Body, ...] = (
    {"assignors": ["cooperative-sticky"], "down_ms": 1_000, "pause_ms": 9_000},
    {"assignors": ["range"], "pause_ms": 500},
    {"assignors": ["balanced"], "down_ms": 1_000, "pause_ms": 9_000},
    {"group_protocol": "consumer", "down_ms": 4_000, "pause_ms": 9_000},
)
CHANGES_OF_CONSUMERS: tuple[Body, ...] = ({"assignors": ["range"], "pause_ms": 500},)


@st.composite
def bodies(draw: st.DrawFn, groups: tuple[tuple[str, str], ...] = GROUPS) -> Body:
    """A small group, and up to eight events."""
    protocol, assignor = draw(st.sampled_from(groups))
    topics = [{"topic_name": f"t{i}", "partitions_count": draw(st.integers(1, 7))} for i in range(draw(st.integers(1, 3)))]
    names = [topic["topic_name"] for topic in topics]
    static = draw(st.sampled_from(("none", "all", "some")))

    def member(i: int) -> Body:
        body: Body = {"member_id": f"c{i}"}
        if static == "all" or (static == "some" and draw(st.booleans())):
            body["instance_id"] = f"i{i}"
        if draw(st.integers(0, 3)) == 0:
            body["topic_names"] = draw(st.lists(st.sampled_from([*names, "later"]), unique=True, max_size=3))
        return body

    members = [member(i) for i in range(draw(st.integers(0, 5)))]
    if draw(st.booleans()) and members:
        for topic in topics:
            for i in range(topic["partitions_count"]):
                owner = draw(st.sampled_from(members))
                own = owner.setdefault("owned_partitions", [])
                own.append({"topic_name": topic["topic_name"], "partition_ids": [i]})
    events, ids, at, changes = [], [one["member_id"] for one in members], 0, CHANGES
    for i in range(draw(st.integers(0, 8))):
        at += draw(st.sampled_from((0, 1, 700, 3_000, 10_000, 50_000, 400_000)))
        event = draw(_events(ids, names, i))
        if protocol == "classic" and draw(st.integers(0, 9)) == 0:
            event = {"type": "assignor_changes", **draw(st.sampled_from(changes))}
            changes = CHANGES_OF_CONSUMERS if "group_protocol" in event else changes
        events.append({"at_ms": at, **event} if "member" not in event else {"at_ms": at, **event, "member": member(100 + i)})
        if "member" in event:
            ids.append(f"c{100 + i}")
    timing = {
        "rebalance_timeout_ms": draw(st.sampled_from((8_000, 30_000, 300_000))),
        "poll_interval_ms": draw(st.sampled_from((0, 0, 1_500))),
        "initial_rebalance_delay_ms": draw(st.sampled_from((0, 3_000))),
    }
    return {
        "group_protocol": protocol,
        "assignor": assignor,
        "topics": topics,
        "members": members,
        "events": events,
        "timing": timing,
        "detail": "assignments",
    }


@st.composite
def _events(draw: st.DrawFn, ids: list[str], names: list[str], i: int) -> Body:  # noqa: C901 (one branch per type)
    kinds = ["member_joins", "scales", "rolling_restart", "partitions_added", "topic_created", "topic_deleted"]
    if ids:
        kinds += ["member_leaves", "member_crashes", "member_stalls", "member_restarts", "subscription_changes"] * 2
    kind = draw(st.sampled_from(kinds))
    event: Body = {"type": kind}
    if kind == "member_joins":
        event["member"] = {}
    elif kind == "scales":
        event["members_count"] = draw(st.integers(0, 6))
    elif kind == "rolling_restart":
        event |= {"down_ms": draw(st.sampled_from((0, 1_000, 60_000))), "pause_ms": draw(st.sampled_from((0, 2_000, 90_000)))}
    elif kind == "topic_created":
        event["topic"] = {"topic_name": draw(st.sampled_from(("later", f"new{i}"))), "partitions_count": draw(st.integers(1, 4))}
    elif kind == "topic_deleted":
        event["topic_name"] = draw(st.sampled_from(names))
    elif kind == "partitions_added":
        event |= {"topic_name": draw(st.sampled_from(names)), "partitions_count": draw(st.integers(3, 12))}
    else:
        event["member_id"] = draw(st.sampled_from(ids))
    if kind == "member_stalls":
        event["for_ms"] = draw(st.sampled_from((500, 4_000, 40_000, 400_000)))
    elif kind == "member_restarts":
        event["down_ms"] = draw(st.sampled_from((0, 2_000, 100_000)))
    elif kind == "subscription_changes":
        event["topic_names"] = draw(st.lists(st.sampled_from([*names, "later"]), unique=True, max_size=3))
    return event


def timeline_of(body: Body) -> Timeline:
    question = GroupRebalancesSchema().load(body)
    raise_all(faults(question))
    return read_timeline(question, "assignments", 0)


def check(simulation: Simulation) -> None:
    """What holds between any two steps."""
    course, coordinator = simulation.course, simulation.clients.coordinator
    ledger, died = course.ledger, course.members.columns.died
    read = np.flatnonzero(ledger.reader != NONE)
    now = course.clock.now
    assert (died[ledger.reader[read]] >= now).all()  # nobody reads after its end
    assert (ledger.idle_since[read] == NEVER).all()
    if isinstance(coordinator, ClassicCoordinator) and coordinator.state == "Stable":
        owner = coordinator.owner[read]  # NONE while a stalled member has not heard that it is to revoke
        assert ((ledger.reader[read] == owner) | (owner == NONE)).all()  # nor what the assignment gives to another
    elif isinstance(coordinator, ConsumerCoordinator) and not isinstance(coordinator, ShareCoordinator):
        assert (ledger.reader[read] == coordinator.holder[read]).all()  # nor what it has confirmed to have revoked


@settings(derandomize=True)
@given(body=bodies())
def test_no_member_reads_what_another_may_read(body: Body) -> None:
    simulation = Simulation(timeline_of(body))
    steps = 0

    def tick(_: int) -> None:
        nonlocal steps
        steps += 1
        assert steps < MOST_STEPS
        check(simulation)

    try:
        simulation.run(tick)
    except (InvalidQuestion, KafkaAssignorFails):
        return  # an event for a member that has gone
    check(simulation)
    at_rest(simulation)


def check_idle(idle: Idle) -> None:
    """The longest is part of the sum, and figures are between their bounds."""
    assert 0 <= idle.longest_ms <= idle.sum_ms
    assert 0 <= idle.least_longest_ms <= idle.longest_ms <= idle.most_longest_ms
    assert idle.least_sum_ms <= idle.sum_ms <= idle.most_sum_ms


def at_rest(simulation: Simulation) -> None:
    """What holds when nothing happens any more."""
    course, outcome = simulation.course, simulation.outcome()
    assert outcome.end.state in ("Stable", "Empty")
    assert (outcome.end.state == "Empty") == (not course.present)
    subscribed = np.zeros(len(course.timeline.world.names), np.bool_)
    for member in course.present.values():
        assert course.members.columns.died[member.number] == NEVER
        subscribed[list(course.members.topics_of(member.number))] = True
    must_read = course.ledger.counted & subscribed[course.topology.topic_of]
    assert (course.ledger.reader[must_read] != NONE).all()
    totals = outcome.totals
    check_idle(totals.idle)
    previous = 0
    for rebalance in outcome.rebalances:
        assert previous <= rebalance.at_ms
        previous = rebalance.at_ms
        times = [at for at, _ in rebalance.states]
        assert times == sorted(times)
        assert rebalance.stable_at_ms is None or rebalance.stable_at_ms >= rebalance.at_ms
        check_idle(rebalance.idle)
        if rebalance.assignment is not None and course.protocol != "share":
            assert len(np.unique(rebalance.assignment.values)) == len(rebalance.assignment.values)
    epochs = [rebalance.epoch for rebalance in outcome.rebalances]
    assert all(one < other for one, other in pairwise(epochs))
    for reading in outcome.readings or ():
        assert all(count >= 0 for _, count in reading.reads)
    if outcome.readings is not None:
        last = sum(reading.reads[-1][1] for reading in outcome.readings if reading.reads)
        assert last == (course.ledger.reader != NONE).sum()


@settings(derandomize=True)
@given(body=bodies(), cut=st.integers(0, 600_000))
def test_a_timeline_cut_in_two_is_the_whole(body: Body, cut: int) -> None:
    whole, first = Simulation(timeline_of(body)), Simulation(timeline_of(body))
    try:
        whole.run()
    except (InvalidQuestion, KafkaAssignorFails):
        return
    first.run(until_ms=cut)
    second = copy.deepcopy(first)
    second.run()
    assert repr(second.outcome()) == repr(whole.outcome())


@settings(max_examples=15, derandomize=True)
@given(body=bodies())
def test_the_same_request_has_the_same_answer(app: Flask, body: Body) -> None:
    client = app.test_client()
    client.environ_base["HTTP_X_REQUEST_ID"] = "test"
    first, second = (client.post("/v1/group-rebalances", json=body) for _ in range(2))
    assert first.data == second.data
    assert first.status_code in (200, 422)


@settings(max_examples=15, derandomize=True)
@given(body=bodies(groups=GROUPS[:-1]))
def test_detail_changes_no_total(app: Flask, body: Body) -> None:
    client = app.test_client()
    answers = [client.post("/v1/group-rebalances", json={**body, "detail": detail}) for detail in ("totals", "assignments")]
    assert answers[0].status_code == answers[1].status_code
    if answers[0].status_code == 200:
        assert answers[0].get_json()["totals"] == answers[1].get_json()["totals"]


@settings(max_examples=25, derandomize=True)
@given(data=st.data(), body=bodies())
def test_an_event_changes_nothing_before_it(app: Flask, data: st.DataObject, body: Body) -> None:
    """So a timeline is continued by asking again with more events."""
    if not body["events"]:
        return
    at = data.draw(st.integers(0, len(body["events"]) - 1))
    client = app.test_client()
    answers = [client.post("/v1/group-rebalances", json={**body, "events": body["events"][:i]}) for i in (None, at)]
    if {answer.status_code for answer in answers} != {200}:
        return
    whole, first = (answer.get_json()["rebalances"] for answer in answers)
    cut = body["events"][at]["at_ms"]
    over = sum(rebalance["at_ms"] < cut for rebalance in whole[1:])
    assert whole[:over] == first[:over]
