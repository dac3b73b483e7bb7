"""Verdicts on groups, and the metrics of a snapshot, for snapshots made by hand; tests/live/test_verify.py has real ones."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from prometheus_client import CollectorRegistry, generate_latest

from service.cli import main
from service.cli.live.verify import written_by
from service.live.cluster_metrics import GAUGES, Bounds, ClusterCollector, measure, measure_keys, skew
from service.live.verification import check_groups
from tests.support.questions import ask

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

Json = dict[str, Any]


def owned(*partition_ids: int) -> list[Json]:
    """Partitions of the topic orders."""
    return [{"topic_name": "orders", "partition_ids": list(partition_ids)}]


def member(member_id: str, *partition_ids: int, version: int = 3) -> Json:
    """A member of a classic group that has just joined for the first time."""
    return {
        "member_id": member_id,
        "topic_names": ["orders"],
        "owned_partitions": owned(*partition_ids),
        "subscription": {"version": version, "owned_partitions": []},
    }


def snapshot(**group: Any) -> Json:
    """One topic of four partitions on two brokers, and one group."""
    placements = [{"partition_id": i, "replicas": [1, 2], "in_sync_replicas": [1], "leader": 1 + i % 2} for i in range(4)]
    topic = {
        "topic_name": "orders",
        "partitions_count": 4,
        "internal": False,
        "placements": placements,
        "partition_bytes": [100, 100, 100, 500],
        "log_start_offsets": [0, 0, 0, 10],
        "log_end_offsets": [10, 10, 10, 60],
    }
    brokers = [{"broker_id": i, "rack_id": None, "fenced": False, "capacity_bytes": 1000, "used_bytes": 250} for i in (1, 2)]
    defaults = {"group_id": "billing", "group_protocol": "classic", "assignor": "range", "group_state": "Stable"}
    return {"brokers": brokers, "topics": [topic], "groups": [{**defaults, **group}], "not_known": []}


RIGHT = [member("a", 0, 1), member("b", 2, 3)]
WRONG = [member("a", 0, 3), member("b", 1, 2)]
LED_BY_LIBRDKAFKA = {
    "members": [{**each, "client_id": "rdkafka"} for each in RIGHT],
    "assignment_version": 0,
    "assignment_user_data": "empty",
    "assignment_echoes_subscription": True,
}
STATIC = [
    {**member("b", 0, 1), "instance_id": None},
    {**member("c", 2, 3), "instance_id": "a"},
]
"""As librdkafka's range assigns them, by member_id; Java's lets the static member come first."""


@pytest.mark.parametrize(
    ("group", "verdict", "reason"),
    [
        ({"members": RIGHT, "assignment_version": 3}, "alike", "as its leader computed it"),
        ({"members": WRONG, "assignment_version": 3}, "differs", "not as the assignor of this name computes it"),
        ({"members": WRONG, "assignment_version": 1}, "differs", "assumed to be Kafka's own client of a release like 2.8.2"),
        ({"members": WRONG, "assignment_version": 0, "assignment_user_data": "empty"}, "differs", "assumed to be librdkafka"),
        (
            {"members": [{name: each[name] for name in ("member_id", "topic_names", "owned_partitions")} for each in WRONG]},
            "differs",
            "not as the assignor",
        ),
        (
            {"members": [member("a", 3, version=0), member("b", 0, 1, 2, version=0)]},
            "differs",
            "2 members send an old subscription",
        ),
        ({"members": [member("a", 0, 1), member("b", 2)]}, "alike", "when it knew 3 of 4 partitions of orders"),
        ({"members": RIGHT, "assignor": "house-rules"}, "not_checked", "house-rules"),
        ({"group_state": "PreparingRebalance"}, "not_checked", "PreparingRebalance"),
        ({"members": RIGHT, "group_epoch": 5, "assignment_epoch": 4}, "not_checked", "has not assigned epoch 5"),
        (
            {"members": RIGHT, "group_protocol": "consumer", "assignor": "uniform", "metadata_hash": 0},
            "not_checked",
            "does not know the group's topics",
        ),
        (
            {
                "members": [{**each, "assigned_partitions": []} for each in RIGHT],
                "group_protocol": "consumer",
                "assignor": "uniform",
            },
            "alike",
            "2 members have not reached the target yet",
        ),
        (
            {"members": [member("a", 0), member("b", 1)], "group_protocol": "share", "assignor": "simple"},
            "not_checked",
            "initialized",
        ),
        (
            {
                "members": [{**member("a", 0, 1, 2, 3), "member_epoch": 1}, {**member("b", 2, 3), "member_epoch": 2}],
                "group_protocol": "share",
                "assignor": "simple",
                "group_epoch": 2,
                "assignment_epoch": 2,
            },
            "not_checked",
            "1 member does not have the assignment of epoch 2 yet",
        ),
    ],
)
def test_verdicts(group: Json, verdict: str, reason: str) -> None:
    """Each verdict has its reason."""
    (finding,) = check_groups(snapshot(**group), ())
    assert finding.verdict == verdict
    assert reason in finding.reason
    assert (finding.differences_count > 0) == (verdict == "differs")


@pytest.mark.parametrize(
    ("assignment_version", "user_data", "by", "verdict"),
    [(3, "none", "range", "differs"), (0, "empty", "librdkafka:range", "alike"), (0, "none", "sarama:range", "alike")],
)
def test_the_leader_decides_what_is_expected(assignment_version: int, user_data: str, by: str, verdict: str) -> None:
    """Each library that may lead is tried, the likeliest first, and the finding says by whose assignor it is."""
    (finding,) = check_groups(
        snapshot(
            members=STATIC,
            assignment_version=assignment_version,
            assignment_user_data=user_data,
            assignment_echoes_subscription=user_data == "empty",
        ),
        (),
    )
    assert (finding.by, finding.verdict) == (by, verdict)


@pytest.mark.parametrize("verdict", ["alike", "differs"])
def test_a_group_whose_leader_asks_the_service_may_be_even_by_number_or_by_lag(verdict: str) -> None:
    """One member has a lag of 50, and one of 6 + 10 + 10; where no offsets are committed the lag is not known."""
    members = [member("a", 3), member("b", 0, 1, 2)]
    known = [{**owned(0, 1, 2, 3)[0], "offsets": [4, 0, 0, 10]}] if verdict == "alike" else []
    group = {"assignor": "partition-allocator", "members": members, "assignment_version": 3, "committed_offsets": known}
    (finding,) = check_groups(snapshot(**group), ())
    assert finding.verdict == verdict
    assert ("by consumer lag, the next rebalance" in finding.reason) == (verdict == "alike")
    (finding,) = check_groups(snapshot(**group | {"members": RIGHT}), ())
    assert finding.verdict == "alike"


def test_members_of_several_libraries() -> None:
    """Whoever leads decides, and librdkafka's cannot take part in a change to cooperative-sticky."""
    both = [{**each, "client_id": name} for each, name in zip(RIGHT, ("rdkafka", "consumer-billing-1"), strict=True)]
    (finding,) = check_groups(snapshot(members=both, assignment_version=3), ())
    assert "its members use java and librdkafka" in finding.reason
    assert "librdkafka refuses lists of eager and cooperative assignors" in finding.reason


def test_measures() -> None:
    """Skew, lag and moves, with rates from the snapshot before."""
    now = snapshot(members=WRONG, committed_offsets=[{**owned(0, 1, 3)[0], "offsets": [4, 10, 30]}])
    before = snapshot(members=WRONG)
    before["topics"][0]["log_end_offsets"] = [10, 10, 10, 20]
    samples = measure(now, before, 10.0, Bounds(1, 1, 1))
    topic, group = "partition_allocator_cluster_topic_skew_ratio", "partition_allocator_cluster_group_skew_ratio"
    assert samples[topic, ("orders", "records")] == 50 * 4 / 80
    assert samples[topic, ("orders", "bytes")] == 500 * 4 / 800
    assert samples[topic, ("orders", "records_per_second")] == 4
    assert samples[topic, ("orders", "leaders")] == samples[topic, ("orders", "replicas")] == 1
    assert samples["partition_allocator_cluster_broker_bytes", ("1",)] == 800
    assert samples["partition_allocator_cluster_broker_used_ratio", ("2",)] == 0.25
    assert samples["partition_allocator_cluster_group_lag", ("billing",)] == 6 + 30
    assert samples[group, ("billing", "lag")] == 2  # all of it is the first member's
    assert samples[group, ("billing", "partitions")] == 1
    assert samples["partition_allocator_cluster_group_next_moves", ("billing",)] == 2
    assert samples["partition_allocator_cluster_group_differs", ("billing",)] == 1
    member = "partition_allocator_cluster_member"
    assert samples[f"{member}_partitions", ("billing", "a")] == 2
    assert samples[f"{member}_lag", ("billing", "a")] == 6 + 30
    assert samples[f"{member}_records_per_second", ("billing", "a")] == (60 - 20) / 10
    assert (f"{member}_lag", ("billing", "b")) not in samples  # one member has series
    assert samples["partition_allocator_cluster_dropped", ("member",)] == 1
    measure_keys(now["topics"][0], [(b"hot", 1)] * 3 + [(b"cold", 2)], samples)
    assert samples["partition_allocator_cluster_topic_hottest_key_ratio", ("orders",)] == 0.75
    assert samples["partition_allocator_cluster_topic_key_skew_ratio", ("orders",)] == 3


def test_a_member_without_committed_offsets_has_no_lag_rather_than_none_to_process() -> None:
    samples = measure(snapshot(members=RIGHT, committed_offsets=[{**owned(0)[0], "offsets": [4]}]), None, 0.0, Bounds(1, 1, 2))
    lags = {label: value for (name, label), value in samples.items() if name == "partition_allocator_cluster_member_lag"}
    assert lags == {("billing", "a"): 6}
    assert ("partition_allocator_cluster_group_skew_ratio", ("billing", "lag")) not in samples


def test_series_are_bounded() -> None:
    """What does not fit is counted, and every sample is one of the documented metrics."""
    samples = measure(snapshot(members=RIGHT), None, 0.0, Bounds(0, 0, 0))
    assert (
        samples["partition_allocator_cluster_dropped", ("topic",)]
        == samples["partition_allocator_cluster_dropped", ("group",)]
        == 1
    )
    assert not any("topic_" in name or "group_" in name for name, _ in samples)
    collector, registry = ClusterCollector(), CollectorRegistry()
    registry.register(collector)
    collector.succeed(samples, 1.0, 2.0)
    text = generate_latest(registry).decode()
    assert "partition_allocator_cluster_up 1.0" in text
    assert {name for name, _ in samples} <= GAUGES.keys()
    collector.fail()
    assert "partition_allocator_cluster_broker_bytes{" not in generate_latest(registry).decode()


def test_skew_of_nothing_is_one() -> None:
    """As everywhere in the service."""
    assert skew([]) == skew([0, 0]) == skew([None]) == 1.0


NOT_KNOWN = [
    {"field": "kafka_version", "reason": "Brokers tell which requests they know."},
    {"field": "topics[]", "names": ["secret"], "reason": "TOPIC_AUTHORIZATION_FAILED"},
    {"field": "groups", "reason": "those that broker 2 coordinates: NodeNotReadyError"},
]


@pytest.fixture
def described(tmp_path: Path) -> Path:
    """A snapshot of a group that is right, one that rebalances and one without members, by a principal that may not see all."""
    document = {"snapshot_version": 1, **snapshot(**LED_BY_LIBRDKAFKA), "not_known": NOT_KNOWN}
    others = [
        {"group_id": "joining", "group_protocol": "classic", "group_state": "PreparingRebalance"},
        {"group_id": "empty", "group_protocol": "classic", "group_state": "Empty", "members": []},
    ]
    (tmp_path / "snapshot.json").write_text(json.dumps(document | {"groups": document["groups"] + others}))
    return tmp_path / "snapshot.json"


def run(*arguments: str) -> Result:
    """The command line's outcome."""
    return CliRunner().invoke(main, arguments)


@pytest.mark.parametrize(
    ("named", "status", "reason"),
    [
        (("--group", "billing"), 0, None),
        (("--group", "none"), 3, "those that broker 2 coordinates: NodeNotReadyError"),
        (("--topic", "secret"), 3, "TOPIC_AUTHORIZATION_FAILED"),
        (("--group", "billing", "--topic", "none"), 3, "The snapshot has no such topic."),
        (("--group", "empty"), 0, "It has no members."),
        (("--group", "joining"), 0, "Its members are not known; its state is PreparingRebalance."),
    ],
)
def test_what_is_named(described: Path, named: tuple[str, ...], status: int, reason: str | None) -> None:
    """What is named and not there is not checked, with the reason and an exit status of its own."""
    result = run("verify", "--snapshot", str(described), *named, "--output", "json")
    assert result.exit_code == status
    document = json.loads(result.stdout)
    reasons = {finding["reason"] for finding in document["findings"] if finding["verdict"] == "not_checked"}
    assert reasons == ({reason} if reason else set())
    assert document["not_known"] == NOT_KNOWN


def test_a_difference_weighs_more_than_what_is_missing(described: Path) -> None:
    """Both are there; the exit status is that of the difference."""
    document = json.loads(described.read_text())
    document["groups"][0]["members"] = WRONG
    described.write_text(json.dumps(document))
    result = run("verify", "--snapshot", str(described), "--group", "billing", "--group", "none")
    assert result.exit_code == 1
    document = json.loads(result.stdout)
    assert document["totals"] == {"alike": 0, "differs": 1, "not_checked": 1}
    told = "1 of 2 differs from what Kafka would have done: group billing. 1 of 2 was not checked: group none."
    assert document["conclusion"] == told


def test_what_is_not_known_is_printed(described: Path) -> None:
    """As lines after a table, without what no verdict depends on."""
    result = run("verify", "--snapshot", str(described), "--output", "table")
    assert result.stderr.splitlines() == [
        "Not known: topics[] of secret: TOPIC_AUTHORIZATION_FAILED",
        "Not known: groups: those that broker 2 coordinates: NodeNotReadyError",
    ]


@pytest.mark.parametrize("command", [("assign",), ("rebalances",), ("body", "group-assignments"), ("body", "group-rebalances")])
def test_commands_that_take_a_group_of_a_snapshot(described: Path, command: tuple[str, ...]) -> None:
    """They note another client's leader, as verify does, and know rebalancing groups from empty ones."""
    options = ("--snapshot", str(described), "--group")
    result = run(*command, *options, "billing")
    assert result.exit_code == 0
    assert "Note on group 'billing': its leader is librdkafka: it wrote version 0" in result.stderr
    joining, empty = run(*command, *options, "joining"), run(*command, *options, "empty")
    assert "The members of group 'joining' are not known; its state is PreparingRebalance." in joining.stderr
    assert "Group 'empty' has no members." in empty.stderr
    assert joining.exit_code == empty.exit_code == 2


def test_timings_by_default(described: Path) -> None:
    """A snapshot has none, so the answer names those that were taken."""
    answer = run("rebalances", "--snapshot", str(described), "--group", "billing", "--output", "json")
    assert json.loads(answer.stdout)["timing"]["session_timeout_ms"] == 45_000
    shown = run("rebalances", "--snapshot", str(described), "--group", "billing", "--output", "table")
    assert "session timeout 45 s" in shown.stdout.replace("\n", " ")


@pytest.mark.parametrize(
    ("part", "value", "says"),
    [
        ("topics", None, "line 1: topics: not a list."),
        ("topics", [{}], "line 1: topic_name is missing."),
        ("topics", [{"topic_name": "t", "partitions_count": "3"}], "topics/0/partitions_count: not an integer."),
        ("groups", [{"group_id": "g", "group_protocol": 5}], "groups/0/group_protocol: not a string."),
        (
            "groups",
            [{"group_id": "g", "members": [{"member_id": "a", "owned_partitions": [3]}]}],
            "owned_partitions: not an object",
        ),
        ("groups", [{"group_id": "g", "members": [{"member_id": "a", "subscription": []}]}], "subscription: not an object."),
        ("not_known", 5, "not_known: not a list."),
        ("not_known", [{"field": "groups"}], "not_known/0/reason: not a string."),
    ],
)
def test_snapshots_that_are_none(tmp_path: Path, part: str, value: Any, says: str) -> None:
    """A snapshot that was written by hand or cut gets a sentence with the place, and no traceback."""
    (tmp_path / "snapshot.json").write_text(json.dumps({"snapshot_version": 1, part: value}))
    result = run("verify", "--snapshot", str(tmp_path / "snapshot.json"))
    assert result.exit_code == 2
    assert says in result.stderr
    assert result.stderr.startswith(f"Error: {tmp_path / 'snapshot.json'}")


def test_a_snapshot_of_the_least(tmp_path: Path) -> None:
    """What other tools write may lack every list."""
    (tmp_path / "snapshot.json").write_text('{"snapshot_version": 1}')
    assert run("verify", "--snapshot", str(tmp_path / "snapshot.json"), "--output", "json").exit_code == 0


def test_a_sample_of_keys_that_tells_nothing_is_no_difference() -> None:
    """One key is explained by several partitioners, and by chance; many that no partitioner explains are a difference."""
    java = partitions_of([f"key-{i}" for i in range(40)], 12)
    one = written_by("t", 12, [(b"key-0", java[0])])
    assert (one.verdict, one.reason[:23]) == ("not_checked", "One sample is never pro")
    all_of_them = written_by("t", 12, [(f"key-{i}".encode(), java[i]) for i in range(40)])
    assert (all_of_them.verdict, all_of_them.by) == ("alike", "java")
    others = written_by("t", 12, [(f"key-{i}".encode(), i * i % 12) for i in range(40)])
    assert (others.verdict, others.by) == ("differs", "")


def partitions_of(keys: list[str], partitions_count: int) -> list[int]:
    """Where Java's producer puts them."""
    partitions: list[int] = ask({"partitioner": "java", "partitions_count": partitions_count, "keys": keys}).partitions.tolist()
    return partitions
