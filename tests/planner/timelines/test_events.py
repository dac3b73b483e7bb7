"""What each event does: members that start and end, topics that change, restarts one after the other; and what cannot happen."""

from __future__ import annotations

import pytest

from service.core.errors import InvalidQuestion
from service.planner.timelines.classic.clients import ClassicClients
from service.planner.timelines.consumer.clients import ConsumerClients
from service.planner.timelines.model import NEVER
from service.planner.timelines.simulation import Simulation
from tests.support.simulations import Body, event, simulation, stable


def lives(run: Simulation) -> list[tuple[str, int, int | None]]:
    """The incarnations of each member: whose, from when, until when."""
    return [(reading.first_member_id, reading.started_ms, reading.ended_ms) for reading in run.outcome().readings or ()]


def test_a_rolling_restart_has_one_member_down_at_a_time() -> None:
    run = stable("classic", event(10_000, "rolling_restart", down_ms=1_000, pause_ms=5_000, new_member_ids=["x", "y"]))
    run.run()
    assert lives(run) == [
        *((f"c{i}", 0, 10_000 + 6_000 * i) for i in range(3)),
        *((f"c{i}", 11_000 + 6_000 * i, None) for i in range(3)),
    ]
    assert [member.member_id for member in run.course.members.all[3:5]] == ["x", "y"]


def test_a_rolling_restart_leaves_out_who_has_ended_meanwhile() -> None:
    restart = event(10_000, "rolling_restart", down_ms=1_000, pause_ms=5_000)
    run = stable("classic", restart, event(12_000, "member_crashes", member_id="c1"))
    run.run()
    assert [one for one in lives(run) if one[1]] == [("c0", 11_000, None), ("c2", 17_000, None)]


def test_a_group_is_scaled_by_members_like_the_last_one() -> None:
    members = [{"member_id": "c0", "instance_id": "i0"}, {"member_id": "c1", "instance_id": "i1", "topic_names": []}]
    up, down = event(60_000, "scales", members_count=4), event(120_000, "scales", members_count=1)
    run = simulation("classic", up, down, members=members)
    run.run()
    first_ids = [(name[:2], *times) for name, *times in lives(run)]
    scaled = [(f"i{i}", 60_000, 120_000) for i in (2, 3)]
    assert first_ids == [("c0", 0, None), ("c1", 0, 120_000), *scaled]
    added = run.course.members.all[2]
    assert (added.instance_id, run.course.members.topics_of(added.number)) == ("i2", ())


def test_an_empty_group_is_scaled_by_members_of_every_topic() -> None:
    run = simulation("consumer", event(5_000, "scales", members_count=1), members=[])
    run.run()
    assert run.course.members.topics_of(0) == (0,)


@pytest.mark.parametrize("protocol", ["classic", "consumer", "share"])
def test_topics_change(protocol: str) -> None:
    """New partitions are read by then, and those of a deleted topic by nobody."""
    topic = {"topic_name": "u", "partitions_count": 2}
    members = [{"member_id": "c0", "topic_names": ["t", "u"]}]
    changes = [
        event(60_000, "topic_created", topic=topic),
        event(120_000, "partitions_added", topic_name="u", partitions_count=5),
        event(1_200_000, "topic_deleted", topic_name="t"),
    ]
    counts = []
    for i in range(4):
        run = simulation(protocol, *changes[:i], members=members)
        run.run()
        counts.append(int((run.course.ledger.reader == 0).sum()))
        assert run.course.version_causes == [None, *range(i)]
    assert counts == [6, 8, 11, 5]


def test_a_classic_group_that_a_consumer_joins_is_converted() -> None:
    """What its former coordinator was waiting for does not happen any more; what its clients do, does."""
    restarts = event(60_000, "assignor_changes", group_protocol="consumer", down_ms=1_000, pause_ms=20_000)
    crash = event(50_000, "member_crashes", member_id="c2")
    run = stable("classic", crash, restarts)
    run.run(until_ms=60_500)
    assert (run.course.protocol, type(run.clients)) == ("classic", ClassicClients)
    run.run(until_ms=62_000)
    assert (run.course.protocol, type(run.clients)) == ("consumer", ConsumerClients)
    run.run()
    assert [member.protocol for member in run.course.present.values()] == ["consumer", "consumer"]
    reasons = [rebalance.reason for rebalance in run.course.rebalances]
    assert "Member c2 fenced from the group because the member session expired." in reasons
    assert not any("heartbeat expiration" in reason for reason in reasons)


def test_a_stall_lasts_as_long_as_the_longest() -> None:
    stalls = [
        event(10_000, "member_stalls", member_id="c1", for_ms=9_000),
        event(11_000, "member_stalls", member_id="c1", for_ms=1),
    ]
    run = stable("consumer", *stalls)
    run.run(until_ms=12_000)
    assert run.course.members.columns.stalled_until[1] == 19_000
    assert (run.course.members.columns.died[:3] == NEVER).all()


LEAVES = event(10_000, "member_leaves", member_id="c1")
FAULTS: list[tuple[list[Body], tuple[str | int, ...], str]] = [
    ([LEAVES, LEAVES], (1, "member_id"), "Member 'c1' has ended before 10000 ms."),
    (
        [event(0, "member_crashes", member_id="x")],
        (0, "member_id"),
        "Member 'x' is not in the group at 0 ms. Members then: 'c0', 'c1', 'c2'.",
    ),
    ([event(0, "member_joins", member={"member_id": "c1"})], (0, "member", "member_id"), "has been in the group before"),
    ([event(0, "member_restarts", member_id="c1", down_ms=1, new_member_id="c0")], (0, "new_member_id"), "Duplicate member_id"),
    (
        [event(0, "rolling_restart", down_ms=0, pause_ms=0, new_member_ids=["x", "x"])],
        (0, "new_member_ids"),
        "Duplicate member_id 'x'.",
    ),
    (
        [event(0, "rolling_restart", down_ms=0, pause_ms=0, new_member_ids=list("abcd"))],
        (0, "new_member_ids"),
        "4 ids for 3 restarts.",
    ),
    ([event(0, "topic_created", topic={"topic_name": "t", "partitions_count": 1})], (0, "topic", "topic_name"), "exists already"),
    ([event(0, "topic_deleted", topic_name="u")], (0, "topic_name"), "Topic 'u' does not exist at 0 ms."),
    ([event(0, "partitions_added", topic_name="u", partitions_count=2)], (0, "topic_name"), "does not exist"),
    ([event(0, "partitions_added", topic_name="t", partitions_count=6)], (0, "partitions_count"), "has 6 partitions already"),
]


@pytest.mark.parametrize(("events", "field", "detail"), FAULTS, ids=[str(i) for i in range(len(FAULTS))])
def test_what_cannot_happen_is_located(events: list[Body], field: tuple[str | int, ...], detail: str) -> None:
    with pytest.raises(InvalidQuestion) as fault:
        stable("classic", *events).run()
    assert (fault.value.field, detail in fault.value.detail) == (("events", *field), True), fault.value.detail
