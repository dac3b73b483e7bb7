"""``POST /v1/group-rebalances``."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from service.api.rebalance_schemas import GroupRebalancesSchema
from service.decisions.rebalances.question import read_timeline, variants
from service.planner.timelines.simulation import varied
from service.strategies import GROUP_PROTOCOLS

if TYPE_CHECKING:
    from flask.testing import FlaskClient

pytestmark = pytest.mark.usefixtures("few_draws")

PATH = "/v1/group-rebalances"
TOPICS = [{"topic_name": "t0", "partitions_count": 6}]
MEMBERS = [{"member_id": "c1"}, {"member_id": "c2"}]


def body(**changes: Any) -> dict[str, Any]:
    """A question; polls take no time by default."""
    timing = {"poll_interval_ms": 0, **changes.pop("timing", {})}
    return {"assignor": "cooperative-sticky", "topics": TOPICS, "members": MEMBERS, "timing": timing, **changes}


BALANCED = {
    "assignor": "balanced",
    "topics": [{"topic_name": "t0", "partitions_count": 12}],
    "timing": {"poll_interval_ms": 1_000},
}


def event(kind: str, at_ms: int = 10_000, **fields: Any) -> dict[str, Any]:
    return {"at_ms": at_ms, "type": kind, **fields}


def answer(client: FlaskClient, question: dict[str, Any], query: str = "") -> dict[str, Any]:
    response = client.post(PATH + query, json=question)
    document: dict[str, Any] = response.get_json()
    assert response.status_code == 200, document
    return document


def idle(partitions: int, each_ms: int, least_ms: int | None = None, most_ms: int | None = None) -> dict[str, int]:
    kinds = {"": each_ms, "least_": each_ms if least_ms is None else least_ms, "most_": each_ms if most_ms is None else most_ms}
    names = {kind: (f"{kind}partition_ms", f"{kind}longest_ms") for kind in kinds}
    return {name: count * ms for kind, ms in kinds.items() for name, count in zip(names[kind], (partitions, 1), strict=True)}


def rows(rebalance: dict[str, Any]) -> dict[str, list[int]]:
    return {
        one["member_id"]: [i for part in one["partitions"] for i in part["partition_ids"]] for one in rebalance["assignments"]
    }


def test_the_contracts_example(client: FlaskClient) -> None:
    timing = {
        "session_timeout_ms": 45_000,
        "heartbeat_interval_ms": 3_000,
        "rebalance_timeout_ms": 300_000,
        "initial_rebalance_delay_ms": 3_000,
    }
    events = [
        event("member_joins", member={"member_id": "c3"}),
        event("member_crashes", 60_000, member_id="c1"),
        event("partitions_added", 90_000, topic_name="t0", partitions_count=8),
    ]
    result = answer(client, body(group_protocol="classic", group_id="billing", timing=timing, events=events))
    assert [(one["at_ms"], one["stable_at_ms"], one["event"]) for one in result["rebalances"]] == [
        (0, 6_000, None),  # the second member joins within the initial delay, which is then waited for once more
        (10_000, 12_000, 0),
        (12_000, 15_000, 0),  # the second round of the cooperative protocol
        (105_000, 108_000, 1),  # the last heartbeat was at 60 s, at the latest
        (310_000, 312_000, 2),  # the leader, which started at 10 s, refreshes its metadata
    ]
    assert (result["start"]["rebalances"], result["totals"]["rebalances"]) == (1, 4)
    assert result["totals"]["idle_partition_ms"] == sum(one["idle"]["partition_ms"] for one in result["rebalances"][1:])
    assert result["start"]["idle_partition_ms"] == result["rebalances"][0]["idle"]["partition_ms"]
    assert result["final_state"] == "Stable"


def test_the_states_and_requests_of_a_join(client: FlaskClient) -> None:
    result = answer(
        client, body(assignor="range", members=MEMBERS[:1], events=[event("member_joins", member={"member_id": "c3"})])
    )
    join = result["rebalances"][1]
    assert join["states"] == [
        {"at_ms": 10_000, "state": "PreparingRebalance"},
        {"at_ms": 12_000, "state": "CompletingRebalance"},
        {"at_ms": 12_000, "state": "Stable"},
    ]
    assert [(one["at_ms"], one["request"], one["member_id"], one.get("error")) for one in join["requests"]] == [
        (10_000, "FindCoordinator", "c3", None),
        (10_000, "JoinGroup", "c3", "MEMBER_ID_REQUIRED"),
        (10_000, "JoinGroup", "c3", None),
        (12_000, "JoinGroup", "c1", None),
        (12_000, "SyncGroup", "c3", None),
        (12_000, "SyncGroup", "c1", None),
    ]
    reason = "Adding new member c3 with group instance id null; client reason: need to re-join with the given member-id: c3"
    assert join["reason"] == reason
    assert rows(join) == {"c3": [3, 4, 5], "c1": [0, 1, 2]}


def test_a_static_member_that_returns_in_time_causes_no_rebalance(client: FlaskClient) -> None:
    members = [{"member_id": f"c{i}", "instance_id": f"i{i}"} for i in (1, 2, 3)]
    for protocol, assignor in (("classic", "range"), ("consumer", "uniform")):
        restart = event("member_restarts", 30_000, member_id="c1", down_ms=20_000, new_member_id="again")
        result = answer(client, body(group_protocol=protocol, assignor=assignor, members=members, events=[restart]))
        assert all(one["event"] is None for one in result["rebalances"])
        assert result["totals"]["longest_idle_ms"] == 20_000
        beyond = {**restart, "down_ms": 60_000}
        result = answer(client, body(group_protocol=protocol, assignor=assignor, members=members, events=[beyond]))
        assert [one["event"] for one in result["rebalances"] if one["event"] is not None] == [0, 0]


def test_a_consumer_group_waits_for_revocations(client: FlaskClient) -> None:
    owned = [{"topic_name": "t0", "partition_ids": [0, 1, 2, 3, 4, 5]}]
    members = [{"member_id": "c1", "generation_id": 4, "owned_partitions": owned}]
    events = [event("member_joins", 7_000, member={"member_id": "c2"})]
    result = answer(client, body(group_protocol="consumer", assignor="uniform", members=members, events=events))
    (join,) = result["rebalances"]
    assert join["group_epoch"] == 5
    assert [one["state"] for one in join["states"]] == ["Assigning", "Reconciling", "Stable"]
    # Revoked at 10 s, and assigned at the joiner's next heartbeat, which in another group comes at any other time within 5 s.
    assert join["idle"] == idle(3, 2_500, 0, 5_000)
    assert join["stable_at_ms"] == 12_000


def test_what_stands_still_builds_up_a_backlog(client: FlaskClient) -> None:
    topics = [{"topic_name": "t0", "partitions_count": 2, "partition_weights": [10, 30]}]
    owned = [{"topic_name": "t0", "partition_ids": [0, 1]}]
    members = [{"member_id": "c1", "owned_partitions": owned}, {"member_id": "c2"}]
    question = body(
        topics=topics, members=members, timing={"consumption_rate": 100}, events=[event("member_leaves", member_id="c1")]
    )
    (leave,) = answer(client, question)["rebalances"]
    assert leave["idle"] == idle(2, 2_000)  # from 10 s to the next heartbeat, 12 s
    assert leave["undelivered"] == pytest.approx(2 * 40)
    assert leave["catch_up_ms"] == pytest.approx(80 / (100 - 40) * 1_000)
    too_slow = answer(client, {**question, "timing": {"consumption_rate": 40}})
    assert too_slow["rebalances"][0]["catch_up_ms"] is None


def test_what_a_cooperative_group_moves_in_two_rebalances_counts_as_moved(client: FlaskClient) -> None:
    result = answer(client, body(events=[event("member_joins", member={"member_id": "c3"})]))
    assert [(one["movement"]["moved"], one["withheld"]) for one in result["rebalances"]] == [(0, 0), (0, 2), (0, 0)]
    assert result["totals"]["moved"] == 2


def test_requests_are_in_order(client: FlaskClient) -> None:
    timing = {"poll_interval_ms": 2_000}
    result = answer(client, body(timing=timing, events=[event("member_leaves", member_id="c1")]))
    for rebalance in result["rebalances"]:
        times = [one["at_ms"] for one in rebalance["requests"]]
        assert times == sorted(times)


def test_a_wrong_value_is_one_fault(client: FlaskClient) -> None:
    response = client.post(PATH, json=body(events=[event("scales", members_count=-1)]))
    assert [one["pointer"] for one in response.get_json()["errors"]] == ["/events/0/members_count"]


def test_comparisons_answer_what_it_would_save(client: FlaskClient) -> None:
    members = [{"member_id": f"c{i}"} for i in range(4)]
    variants = [{"static": True}, {"assignor": "range"}, {"group_protocol": "consumer"}, {"group_protocol": "share"}]
    roll = event("rolling_restart", down_ms=4_000, pause_ms=20_000)
    result = answer(
        client, body(members=members, events=[roll], compare=variants, detail="totals", timing={"poll_interval_ms": 0})
    )
    assert "rebalances" not in result
    assert [(one["group_protocol"], one["assignor"]) for one in result["comparisons"]] == [
        ("classic", "cooperative-sticky"),
        ("classic", "range"),
        ("consumer", "uniform"),
        ("share", "simple"),
    ]
    assert result["totals"]["rebalances"] == 4 * 3
    assert [one["totals"]["rebalances"] for one in result["comparisons"]][:2] == [0, 4 * 2]


def test_members_poll_every_second(client: FlaskClient) -> None:
    """If every member noticed a rebalance at once, an eager protocol would look as good as any."""

    def question(**changes: Any) -> dict[str, Any]:
        return {**body(), "timing": {}, **changes}

    roll = [event("rolling_restart", 60_000, down_ms=5_000, pause_ms=20_000)]
    others = [{"assignor": "range"}, {"group_protocol": "consumer"}]
    assert answer(client, question(events=roll))["timing"]["poll_interval_ms"] == 1_000
    result = answer(client, question(events=roll, compare=others))
    ways = [result, *result["comparisons"]]
    assert [way["timing"]["poll_interval_ms"] for way in ways] == [1_000] * 3
    assert [way["timing"]["heartbeat_interval_ms"] for way in ways] == [3_000, 3_000, 5_000]
    assert [way["slow_poll"]["poll_interval_ms"] for way in ways] == [10_000] * 3
    assert all(way["slow_poll"]["idle_partition_ms"] > way["totals"]["idle_partition_ms"] for way in ways[:2])
    given = answer(client, body(events=roll, compare=others, timing={"poll_interval_ms": 0, "heartbeat_interval_ms": 2_000}))
    assert [way["timing"]["poll_interval_ms"] for way in (given, *given["comparisons"])] == [0] * 3
    assert {way["timing"]["heartbeat_interval_ms"] for way in (given, *given["comparisons"])} == {2_000}
    hurried = answer(client, question(events=roll, compare=others, timing={"rebalance_timeout_ms": 3_500}))
    assert hurried["timing"]["poll_interval_ms"] == hurried["slow_poll"]["poll_interval_ms"] == 500
    # A member of the consumer protocol would be fenced, and come back, for ever: it may revoke in its third poll only.
    short = answer(
        client, question(events=roll, compare=others, timing={"rebalance_timeout_ms": 10_000, "heartbeat_interval_ms": 2_000})
    )
    assert [way["slow_poll"]["poll_interval_ms"] for way in (short, *short["comparisons"])] == [8_000, 8_000, 3_333]
    assert any("(every 3.33 s)" in text and "(every 8 s)" in text for text in short["warnings"])


def test_ties_that_topic_ids_would_decide_are_a_guess(client: FlaskClient) -> None:
    two = [*TOPICS, {"topic_name": "t1", "partitions_count": 2}]
    ids = ["AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAAg"]
    named = [{**topic, "topic_id": topic_id} for topic, topic_id in zip(two, ids, strict=True)]
    consumer = {"group_protocol": "consumer", "assignor": "uniform"}
    (warning,) = answer(client, body(**consumer, topics=[named[0], two[1]]))["warnings"]
    assert "uniform decide" in warning
    assert "uniform decides that by the ids of topics, and the request has the topic_id of 1 of 2 topics." in warning
    assert "warnings" in answer(client, body(topics=two, compare=[consumer]))
    assert "warnings" in answer(client, body(group_protocol="share", assignor="simple"))
    created, changed = event("topic_created", topic=two[1]), event("assignor_changes", assignors=["uniform"])
    (warning,) = answer(client, body(**consumer, topics=named[:1], events=[created]))["warnings"]
    assert warning.endswith("the topic_id of 1 of 2 topics.")
    assert "warnings" in answer(client, body(group_protocol="consumer", assignor="range", topics=two, events=[changed]))
    for certain in (body(topics=two), body(**consumer), body(**consumer, topics=named)):
        assert "warnings" not in answer(client, certain)


@pytest.mark.parametrize("assignor", ["range", "kafka-go:rack-affinity"])
def test_racks_count_as_in_the_assignment_of_the_same_group(client: FlaskClient, assignor: str) -> None:
    """Those of partitions, of their leaders (kafka-go), and of a topic that is created later."""
    version = "4.3.1"  # 4.4.0's range has no racks
    racks = {"t0": [["b", "a"], ["a"], ["a", "b"], ["b"]], "t1": [["b"], ["b"], ["a"], ["a"]]}
    topics = [{"topic_name": name, "partitions_count": 4, "partition_racks": of} for name, of in racks.items()]
    members = [{"member_id": f"c{rack}", "rack_id": rack, "topic_names": ["t0", "t1"]} for rack in "ab"]
    question = {"kafka_version": version, "assignor": assignor, "members": members}
    created = event("topic_created", topic=topics[1])
    first, *_, last = answer(client, {**question, "topics": topics[:1], "events": [created]})["rebalances"]
    for rebalance, of in ((first, topics[:1]), (last, topics)):
        group = client.post("/v1/group-assignments", json={**question, "topics": of}).get_json()
        assert rows(rebalance) == rows(group)
        assert rebalance["zone_traffic"] == group["zone_traffic"]


def test_a_change_of_assignor_is_one_of_the_protocol_that_is_compared() -> None:
    """The assignor range of the consumer protocol is not that of the classic one."""
    change = event("assignor_changes", assignors=["range"])
    question = GroupRebalancesSchema().load(body(events=[change], compare=[{}, {"group_protocol": "consumer"}]))
    timeline = read_timeline(question, "totals", 0)
    for variant, protocol in zip(variants(question), ("classic", "consumer"), strict=True):
        (changed,) = varied(timeline, variant).events
        assert (changed.group_protocol, changed.assignors) == (protocol, (GROUP_PROTOCOLS[protocol]["range"].drawn(0),))


def test_a_group_of_another_client(client: FlaskClient) -> None:
    """Its assignor is the one of its client; librdkafka's takes members by id, Java's lets static ones come first."""
    members = [{"member_id": "c1"}, {"member_id": "c2", "instance_id": "a"}]
    java = answer(client, body(assignor="range", members=members))
    other = answer(client, body(assignor="range", members=members, client="librdkafka", compare=[{"assignor": "kafka-go:range"}]))
    assert other["assignor"] == other["rebalances"][0]["assignor"] == "librdkafka:range"
    assert other["comparisons"][0]["assignor"] == "kafka-go:range"
    assert rows(other["rebalances"][0]) == {"c1": [0, 1, 2], "c2": [3, 4, 5]}
    assert rows(java["rebalances"][0]) == {"c1": [3, 4, 5], "c2": [0, 1, 2]}
    assert "only the assignments are those of kafka-go and librdkafka." in other["warnings"][-1]


def test_what_a_library_leaves_to_chance_is_as_in_one_run(client: FlaskClient) -> None:
    changes = {"client": "sarama", "assignor": "sticky", "events": [event("scales", members_count=3)]}
    last = answer(client, body(**changes))["rebalances"][-1]
    assert sorted(part for parts in rows(last).values() for part in parts) == [0, 1, 2, 3, 4, 5]


def test_another_clients_cooperative_assignor_takes_two_rebalances(client: FlaskClient) -> None:
    """As of Java's, what moves stays without an owner until it has been revoked."""
    joins = [event("member_joins", member={"member_id": "c3"})]
    own, other = (answer(client, body(events=joins, client=name)) for name in ("java", "librdkafka"))
    assert own["totals"]["rebalances"] == other["totals"]["rebalances"] == 2
    assert own["totals"]["idle_partition_ms"] == other["totals"]["idle_partition_ms"]


def test_a_member_that_has_crashed_reads_nothing(client: FlaskClient) -> None:
    """Even if it changed its subscription in its last millisecond."""
    owned = [{"topic_name": "t0", "partition_ids": [0, 1, 2, 3, 4, 5]}]
    members = [{"member_id": "c1", "topic_names": [], "owned_partitions": owned}, {"member_id": "c2"}]
    events = [event("subscription_changes", member_id="c1", topic_names=[]), event("member_crashes", member_id="c1")]
    result = answer(client, body(members=members, events=events))
    (rebalance,) = result["rebalances"]
    idle_ms = rebalance["stable_at_ms"] - events[1]["at_ms"]
    assert rebalance["idle"] == idle(6, idle_ms)


def test_a_scale_up_lists_the_derived_ids(client: FlaskClient) -> None:
    result = answer(client, body(events=[event("scales", members_count=4), event("scales", 90_000, members_count=1)]))
    assert len(result["derived_member_ids"]) == 2
    assert [one["members_count"] for one in result["rebalances"]][-1] == 1


def test_the_ids_of_restarted_members_can_be_given(client: FlaskClient) -> None:
    roll = event("rolling_restart", 20_000, down_ms=1_000, pause_ms=10_000, new_member_ids=["new-1"])
    change = event("assignor_changes", 100_000, assignors=["range"], new_member_ids=["a1", "a2", "b1", "b2"])
    result = answer(client, body(events=[roll, change]))
    assert [one["first_member_id"] for one in result["derived_member_ids"]] == ["c2"]
    assert sorted(rows(result["rebalances"][-1])) == ["b1", "b2"]
    assert "new-1" in rows(result["rebalances"][2])
    for wrong, detail in ((["c2"], "Duplicate member_id 'c2'"), (["1", "2", "3"], "3 ids for 2 restarts.")):
        response = client.post(PATH, json=body(events=[{**roll, "new_member_ids": wrong}]))
        (error,) = response.get_json()["errors"]
        assert (error["pointer"], detail in error["detail"]) == ("/events/0/new_member_ids", True)


def test_every_event_in_every_protocol(client: FlaskClient) -> None:
    events = [
        event("member_joins", 10_000, member={"member_id": "c3"}),
        event("member_stalls", 20_000, member_id="c1", for_ms=5_000),
        event("subscription_changes", 30_000, member_id="c3", topic_names=["t0", "t1"]),
        event("topic_created", 40_000, topic={"topic_name": "t1", "partitions_count": 3}),
        event("scales", 50_000, members_count=5),
        event("scales", 70_000, members_count=3),
        event("partitions_added", 75_000, topic_name="t1", partitions_count=4),
        event("assignor_changes", 80_000, group_protocol="consumer", down_ms=4_000, pause_ms=10_000),
        event("topic_deleted", 200_000, topic_name="t1"),
        event("rolling_restart", 300_000, down_ms=3_000, pause_ms=9_000),
        event("member_restarts", 400_000, member_id="c1", down_ms=100_000),
        event("member_crashes", 450_000, member_id="c2"),
        event("member_leaves", 600_000, member_id="c3"),
    ]
    members = [{"member_id": "c1"}, {"member_id": "c2", "instance_id": "i2"}]
    variants = [
        {"group_protocol": name, "static": static} for name in ("classic", "consumer", "share") for static in (True, False)
    ]
    result = answer(client, body(members=members, events=events, compare=variants))
    assert result["final_state"] == "Stable"
    protocols = [one["group_protocol"] for one in result["rebalances"]]
    assert protocols == sorted(protocols)  # classic, and from the migration on consumer
    assert {one["event"] for one in result["rebalances"]} >= {0, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12}
    assert all(one["totals"]["rebalances"] > 5 for one in result["comparisons"])


def test_an_explanation_of_each_rebalance(client: FlaskClient) -> None:
    result = answer(client, body(events=[event("member_leaves", member_id="c2")]), "?explain=true")
    assert all(one["explanation"]["algorithm"] == "constrained" for one in result["rebalances"])


def test_the_tables(client: FlaskClient) -> None:
    question = body(events=[event("member_leaves", member_id="c2")])
    text = client.post(PATH, json=question, headers={"Accept": "text/csv"}).text.splitlines()
    assert text[0].startswith('"rebalance","at_ms","stable_at_ms","event","reason"')
    assert len(text) == 3
    stream = client.post(PATH, json={**question, "compare": [{}]}, headers={"Accept": "application/vnd.apache.arrow.stream"}).data
    table = pa.ipc.open_stream(stream).read_all()
    assert table.column("rebalances").to_pylist() == [1]
    empty = client.post(PATH, json=body(members=[]), headers={"Accept": "text/csv"})
    assert empty.text.count("\n") == 1


FAULTS: list[tuple[dict[str, Any], str, str]] = [
    ({"events": [event("member_leaves", member_id="c9")]}, "/events/0/member_id", "Member 'c9' is not in the group at 10000 ms."),
    (
        {"events": [event("member_crashes", member_id="c1"), event("member_stalls", 11_000, member_id="c1", for_ms=5)]},
        "/events/1/member_id",
        "Member 'c1' has ended before 11000 ms.",
    ),
    (
        {"events": [event("member_leaves", member_id="c1"), event("member_leaves", 9_999, member_id="c2")]},
        "/events/1/at_ms",
        "Must not be earlier than the event before it.",
    ),
    ({"timing": {"session_timeout_ms": 5_999}}, "/timing/session_timeout_ms", "minimum of 6000 ms (INVALID_SESSION_TIMEOUT)"),
    (
        {"group_protocol": "consumer", "assignor": "uniform", "timing": {"session_timeout_ms": 44_999}},
        "/timing/session_timeout_ms",
        "minimum of 45000 ms",
    ),
    ({"timing": {"heartbeat_interval_ms": 45_000}}, "/timing/heartbeat_interval_ms", "lower than the session timeout"),
    ({"timing": {"rebalance_timeout_ms": 2_000}}, "/timing/rebalance_timeout_ms", "Shorter than a heartbeat interval"),
    (
        {"events": [event("member_joins", member={"member_id": "c1"})]},
        "/events/0/member/member_id",
        "has been in the group before",
    ),
    ({"events": [event("member_joins")]}, "/events/0/member", "Missing data for required field."),
    ({"events": [event("scales", members_count=1, down_ms=1)]}, "/events/0/down_ms", "has no such field"),
    (
        {"events": [event("partitions_added", topic_name="t0", partitions_count=6)]},
        "/events/0/partitions_count",
        "has 6 partitions already",
    ),
    ({"events": [event("topic_deleted", topic_name="t9")]}, "/events/0/topic_name", "does not exist"),
    (
        {"events": [event("topic_created", topic={"topic_name": "t0", "partitions_count": 1})]},
        "/events/0/topic/topic_name",
        "exists already",
    ),
    (
        {"events": [event("topic_created", topic={"topic_name": "t1", "partitions_count": 2, "partition_racks": [["a"]]})]},
        "/events/0/topic/partition_racks",
        "Must have 2 entries, one for each partition, not 1.",
    ),
    (
        {
            "events": [
                event("topic_deleted", topic_name="t0"),
                event("topic_created", topic={"topic_name": "t0", "partitions_count": 2, "topic_id": "A" * 22}),
            ]
        },
        "/events/1/topic/topic_id",
        "Must be absent or as before",
    ),
    (
        {
            "members": [{"member_id": "a", "owned_partitions": [{"topic_name": "t1", "partition_ids": [0]}]}],
            "events": [event("topic_created", topic={"topic_name": "t1", "partitions_count": 2})],
        },
        "/members/0/owned_partitions",
        "do not exist",
    ),
    (
        {
            "events": [
                event("assignor_changes", group_protocol="consumer"),
                event("assignor_changes", assignors=["cooperative-sticky"]),
            ]
        },
        "/events/1/assignors/0",
        "There is no assignor 'cooperative-sticky'; it must be one of uniform, range, balanced.",
    ),
    (
        {"events": [event("assignor_changes", group_protocol="consumer") for _ in range(2)]},
        "/events/1/group_protocol",
        "The group's protocol is consumer; only a classic group can change its protocol.",
    ),
    (
        {
            "client": "librdkafka",
            "assignor": "range",
            "events": [event("assignor_changes", assignors=["librdkafka:cooperative-sticky"])],
        },
        "/events/0/assignors",
        "All partition.assignment.strategy (cooperative-sticky,range) assignors must have the same protocol type",
    ),
    ({"client": "java", "client_version": "1.0"}, "/client_version", "cooperative-sticky does not support release '1.0'"),
    ({"client": "rdkafka"}, "/client", "There is no client 'rdkafka'"),
    ({"compare": [{"assignor": "none"}]}, "/compare/0/assignor", "There is no assignor 'none'"),
    (
        {"events": [event("assignor_changes", assignors=["sticky"])], "compare": [{}, {"group_protocol": "consumer"}]},
        "/compare/1/group_protocol",
        "does not fit this protocol: There is no assignor 'sticky'; it must be one of uniform, range, balanced.",
    ),
    (
        {"members": [{"member_id": m, "owned_partitions": [{"topic_name": "t0", "partition_ids": [1]}]} for m in "ab"]},
        "/members/1/owned_partitions",
        "another member owns",
    ),
    (
        {"members": [{"member_id": "a", "owned_partitions": [{"topic_name": "t0", "partition_ids": [6]}]}]},
        "/members/0/owned_partitions",
        "do not exist",
    ),
    (
        {"detail": "assignments", "topics": [{"topic_name": "t0", "partitions_count": 9_000_000}]},
        "/detail",
        "exceed the limit ALLOCATOR_MAX_PARTITIONS",
    ),
]


@pytest.mark.parametrize(("changes", "pointer", "detail"), FAULTS)
def test_what_is_wrong_is_located(client: FlaskClient, changes: dict[str, Any], pointer: str, detail: str) -> None:
    response = client.post(PATH, json=body(**changes))
    assert response.status_code == 422
    errors = response.get_json()["errors"]
    assert [one for one in errors if one["pointer"] == pointer and detail in one["detail"]], errors


def test_a_rebalance_tells_what_crosses_zones_as_its_assignment_does(client: FlaskClient) -> None:
    racks = [["a"], ["a", "b"], ["b"], ["c"], ["a"], ["b"]]
    topics = [{**TOPICS[0], "partition_racks": racks, "partition_weights": [10, 20, 30, 40, 50, 60]}]
    members = [{"member_id": "c1", "rack_id": "a"}, {"member_id": "c2", "rack_id": "b"}]
    priced = body(topics=topics, members=members, price_per_gb=0.02)
    (first, *_) = answer(client, priced)["rebalances"]
    group = {"assignor": "cooperative-sticky", "topics": topics, "members": members, "price_per_gb": 0.02}
    expected = client.post("/v1/group-assignments", json=group).get_json()["zone_traffic"]
    assert first["zone_traffic"] == expected
    assert 0 < expected["local_share"] < 1
    assert expected["cost_per_month"] == pytest.approx(expected["cross_zone_bytes_per_second"] * 730 * 3600 / 1e9 * 0.02)
    (row, *_) = csv.DictReader(io.StringIO(client.post(PATH, json=priced, headers={"Accept": "text/csv"}).text))
    assert {name: float(row[name]) for name in expected} == expected
    assert "zone_traffic" not in answer(client, body())["rebalances"][0]


def test_balanced_only_stops_what_moves_unless_it_is_eager(client: FlaskClient) -> None:
    """As ``RemoteAssignor`` does: what moves is revoked first, and assigned in a second rebalance."""
    question = body(**BALANCED, events=[event("member_joins", 20_000, member={"member_id": "c3"})])
    cooperative, eager = (answer(client, question | more) for more in ({}, {"rebalance_protocol": "eager"}))
    assert [each["rebalance_protocol"] for each in (cooperative, eager)] == ["cooperative", "eager"]
    _, first, second = cooperative["rebalances"]
    assert (first["withheld"], first["idle"]["partition_ms"], second["withheld"]) == (4, 0, 0)
    assert second["reason"].endswith("need to revoke partitions and re-join")
    assert 0 < second["idle"]["partition_ms"] <= 4 * second["idle"]["longest_ms"]
    assert len(eager["rebalances"]) == 2
    assert eager["rebalances"][1]["idle"]["partition_ms"] > second["idle"]["partition_ms"]
    parts = [
        sorted((one["member_id"], str(one["partitions"])) for one in last["assignments"])
        for last in (second, eager["rebalances"][1])
    ]
    assert parts[0] == parts[1]


@pytest.mark.parametrize(
    ("changes", "pointer", "detail"),
    [
        ({"assignor": "range", "rebalance_protocol": "cooperative"}, "/rebalance_protocol", "range is eager."),
        ({"rebalance_protocol": "eager"}, "/rebalance_protocol", "cooperative-sticky is cooperative."),
        (
            {"compare": [{}, {"assignor": "sticky", "rebalance_protocol": "cooperative"}]},
            "/compare/1/rebalance_protocol",
            "sticky is eager.",
        ),
        (
            {"compare": [{"group_protocol": "consumer", "rebalance_protocol": "eager"}]},
            "/compare/0/rebalance_protocol",
            "Only classic groups are eager or cooperative.",
        ),
    ],
)
def test_a_rebalance_protocol_that_an_assignor_has_not(
    client: FlaskClient, changes: dict[str, Any], pointer: str, detail: str
) -> None:
    response = client.post(PATH, json=body(**changes))
    assert response.status_code == 422
    assert response.get_json()["errors"] == [{"pointer": pointer, "detail": detail}]


def test_a_comparison_may_be_cooperative_where_the_group_is_eager(client: FlaskClient) -> None:
    compare = [{}, {"rebalance_protocol": "cooperative"}, {"assignor": "balanced"}]
    document = answer(client, body(**BALANCED, rebalance_protocol="eager", compare=compare))
    assert [one["rebalance_protocol"] for one in document["comparisons"]] == ["eager", "cooperative", "cooperative"]
