"""``fleet``: what the service says of one group or topic, said of a table of them."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from service.cli import main
from service.core.errors import InvalidQuestion
from service.decisions.member_counts.answer import Need
from service.pipeline.analyses import nested_columns
from service.pipeline.analyses.fleet import assignments, placements
from service.pipeline.analyses.fleet.assignments import Choice, assign_groups, members_needed
from service.pipeline.analyses.fleet.outcome import of_groups
from service.pipeline.analyses.fleet.placements import place_topics
from service.pipeline.analyses.fleet.summary import GROUP_COLUMNS
from tests.support import golden

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from flask.testing import FlaskClient

    from tests.support.broker import Broker

VECTORS = ("groups/classic-cooperative-sticky", "groups/consumer-uniform", "groups/share-simple", "groups/errors")
BROKERS = [{"broker_id": broker, "rack_id": rack, "fenced": broker == 5} for broker, rack in enumerate("aabbcc")]


def table_of(rows: Sequence[dict[str, Any]], columns: Iterable[str]) -> pa.Table:
    """A table with a row for each body."""
    return pa.table({name: [row.get(name) for row in rows] for name in columns if any(name in row for row in rows)})


def assigned(rows: Sequence[dict[str, Any]], *choices: str) -> list[dict[str, Any]]:
    table = table_of(rows, assignments.COLUMNS)
    assignments.check_columns(table.schema)
    return pa.Table.from_batches(assign_groups(table.to_batches(7), tuple(map(Choice.parse, choices)) or None)).to_pylist()


def placed(rows: Sequence[dict[str, Any]], brokers: list[dict[str, Any]] | None = BROKERS) -> list[dict[str, Any]]:
    table = table_of(rows, placements.COLUMNS)
    placements.check_columns(table.schema, brokers_apart=brokers is not None)
    return pa.Table.from_batches(place_topics(table.to_batches(2), None, brokers)).to_pylist()


def group(**body: Any) -> dict[str, Any]:
    return {"topics": [{"topic_name": "t", "partitions_count": 4}], "members": [{"member_id": "a"}, {"member_id": "b"}], **body}


def test_every_group_gets_what_kafkas_own_class_gives_it() -> None:
    """The golden vectors as one table: each row's own assignor gives the assignment, or fails with the error, of the vector."""
    cases = [case for name in VECTORS for case in list(golden.lines(name))[:60]]
    results = [row for row in assigned([case["request"] for case in cases]) if row["own"]]
    assert len(results) == len(cases)
    for case, row in zip(cases, results, strict=True):
        expected = case["expected"]
        if "assignments" in expected:
            partitions_of = {each["member_id"]: each["partitions"] for each in expected["assignments"]}
            assert {each["member_id"]: each["partitions"] for each in row["assignments"]} == partitions_of, case["id"]
        else:
            assert row["error"] == "KafkaAssignorFails", case["id"]
            assert row["assignments"] is None


def test_an_assignor_that_was_not_named_has_a_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that looks at the clock, and that the group is not assigned by; and only where no assignor is named."""
    monkeypatch.setattr(assignments, "UNASKED_SECONDS", 0)
    body = group(topics=[{"topic_name": "t", "partitions_count": 4, "partition_weights": [3.0, 2.0, 2.0, 1.0]}])
    errors = {row["assignor"]: (row["error"], row["detail"]) for row in assigned([body])}
    late = ("OutOfTime", "The assignor took more than 0 s. Name it with --assignor, and it may take any time.")
    assert errors["balanced"] == late
    assert errors["range"] == (None, None)
    assert [row["error"] for row in assigned([{**body, "assignor": "balanced"}]) if row["own"]] == [None]
    assert {row["error"] for row in assigned([body], "balanced")} == {None}


def test_a_row_says_what_the_service_says(client: FlaskClient) -> None:
    """Skew, moves and the rest of a row are those of the answer to the same body."""
    owned = [{"topic_name": "t", "partition_ids": [0, 1, 2]}]
    body = group(assignor="cooperative-sticky", members=[{"member_id": "a", "owned_partitions": owned}, {"member_id": "b"}])
    answer = client.post("/v1/group-assignments?detail=full", json=body).json
    row = next(row for row in assigned([body]) if row["own"])
    assert {name: row[name] for name in ("assignments", "unassigned", "follow_up_rebalance")} == {
        name: answer[name] for name in ("assignments", "unassigned", "follow_up_rebalance")
    }
    assert {name: row[name] for name in answer["movement"]} == answer["movement"]
    assert {name: row[name] for name in ("min", "max", "mean", "stddev", "skew")} == {
        name: value for name, value in answer["member_load"].items() if name != "counts"
    }


def test_the_skew_of_a_cooperative_assignor_is_that_after_its_second_rebalance() -> None:
    owned = [{"topic_name": "t", "partition_ids": [0, 1, 2, 3]}]
    members = [{"member_id": "a", "owned_partitions": owned}, {"member_id": "b"}]
    first, *others = assigned([group(members=members, assignor="cooperative-sticky")])
    assert (first["follow_up_rebalance"], first["skew"], first["settled_skew"]) == (True, 2.0, 1.0)
    assert all(row["settled_skew"] == row["skew"] for row in others)


def test_traffic_between_zones_is_that_which_the_service_tells_of_a_group_at_rest(client: FlaskClient) -> None:
    """A lag is no rate, so only the share is known of it."""
    owned = [{"topic_name": "t", "partition_ids": [0, 1, 2, 3]}]
    members = [{"member_id": "a", "rack_id": "x", "owned_partitions": owned}, {"member_id": "b", "rack_id": "y"}]
    topic = {"topic_name": "t", "partitions_count": 4, "partition_racks": [["x"], ["y"], ["y"], ["x"]]}
    weighed = [{**topic, "partition_weights": [1, 2, 4, 8]}]
    lagging = [{**topic, "lag": {"committed_offsets": [0] * 4, "log_end_offsets": [1, 2, 4, 8]}}]
    told = ("local_share", "cross_zone_bytes_per_second")
    for name in ("range", "cooperative-sticky"):
        body = group(assignor=name, members=members, topics=weighed)
        row = next(row for row in assigned([body]) if row["own"])
        compared = {**body, "assignor": "roundrobin", "compare": [{"assignor": name}]}
        (answer,) = client.post("/v1/group-assignments", json=compared).json["comparisons"]
        assert {each: row[each] for each in told} == {each: answer["zone_traffic"][each] for each in told}
    (of_lag, *_) = assigned([group(assignor="range", members=members, topics=lagging)], "range")
    assert (of_lag["local_share"] is not None, of_lag["cross_zone_bytes_per_second"]) == (True, None)
    (without, *_) = assigned([group()], "range")
    assert (without["local_share"], without["cross_zone_bytes_per_second"]) == (None, None)


def test_how_many_members_each_group_needs() -> None:
    """By the lag where there is a rate, else by what members own now; of the group's own assignor alone."""

    def owning(name: str, *partition_ids: int) -> dict[str, Any]:
        return {"member_id": name, "owned_partitions": [{"topic_name": "t", "partition_ids": [*partition_ids]}]}

    lag = {"committed_offsets": [0, 0, 0, 0], "log_end_offsets": [10, 10, 10, 10]}
    topics = [{"topic_name": "t", "partitions_count": 4, "lag": lag}]
    uneven = {**group(topics=topics, members=[owning("a", 0, 1), owning("b", 2), owning("c", 3)]), "group_id": "g"}
    table = table_of([uneven, {**group(), "group_id": "h"}], assignments.COLUMNS)
    for need, expected in ((None, [2, None, None, None]), (Need(1.0, 10.0), [4, None, None, None]), (Need(1.0, 9.0), [None] * 4)):
        batches = assign_groups(table.to_batches(), (Choice.parse("sticky"),), sizing=partial(members_needed, need))
        rows = pa.Table.from_batches(batches)
        assert [row["recommended_members"] for row in rows.to_pylist()] == expected
    needed = pa.Table.from_batches(
        assign_groups(table.to_batches(), (Choice.parse("sticky"),), sizing=partial(members_needed, None))
    )
    summary = of_groups(needed.select(GROUP_COLUMNS))
    sizing = summary.summary["sizing"]
    assert (sizing["groups"], sizing["members"], sizing["recommended_members"], sizing["too_large"]) == (1, 3, 2, 1)
    assert sizing["most_spare"][0]["group_id"] == "g"
    assert any(section.heading == "Members that groups need" for section in summary.sections)


def test_an_assignor_is_written_as_the_command_takes_it() -> None:
    for text in ("range", "librdkafka:range"):
        assert str(Choice.parse(text)) == f"classic:{text}"
        assert Choice.parse(f"classic:{text}") == Choice.parse(text)
    assert str(Choice.parse("consumer:uniform")) == "consumer:uniform"


def test_a_group_may_be_of_another_client(client: FlaskClient) -> None:
    """Its own assignor is then that client's, whose name says so; those of its protocol are tried beside it."""
    body = group(client="librdkafka", assignor="roundrobin", members=[{"member_id": m} for m in "cab"])
    rows = assigned([body])
    answer = client.post("/v1/group-assignments", json=body).json
    assert [row["assignor"] for row in rows if row["own"]] == ["librdkafka:roundrobin"] == [answer["assignor"]]
    assert rows[0]["assignments"] == answer["assignments"]
    assert {row["assignor"] for row in rows[1:]} == {"range", "roundrobin", "sticky", "cooperative-sticky", "balanced"}


def test_warnings_are_those_of_the_service(client: FlaskClient) -> None:
    body = group(members=[{"member_id": "a", "topic_names": ["t", "gone"]}])
    own = next(row for row in assigned([body]) if row["own"])
    assert own["warnings"] == client.post("/v1/group-assignments", json=body).json["warnings"] != []


def test_each_group_is_tried_under_its_own_assignor_and_those_asked_for() -> None:
    """Nothing asked for: every assignor of the group's protocol."""
    names = [
        (row["group_protocol"], row["assignor"], row["own"]) for row in assigned([group(assignor="sticky")], "consumer:range")
    ]
    assert names == [("classic", "sticky", True), ("consumer", "range", False)]
    assert {row["assignor"] for row in assigned([group(group_protocol="consumer")])} >= {"uniform", "range"}


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({"topics": None}, "/topics: Must not be null."),
        ({"members": [{"member_id": "a"}, {"member_id": ""}]}, '/members/1: Not well-formed: {"member_id": ""'),
        ({"members": [{"member_id": "a"}] * 2}, "/members/1/member_id: Duplicate member_id 'a'."),
        ({"topics": [{"topic_name": "t", "partitions_count": 2**31}]}, "/topics: Integer value 2147483648 not in range"),
        ({"topics": [{"topic_name": "t", "partitions_count": 2**30}]}, "1073741824 partitions; an executor accepts at most"),
        ({"assignor": "fair"}, "/assignor: There is no assignor 'fair'"),
        ({"group_protocol": "classics"}, "/group_protocol: There is no group_protocol 'classics'"),
        ({"kafka_version": "9.9"}, "9.9"),
    ],
)
def test_a_row_that_is_no_group_is_set_aside_with_the_reason_and_the_rest_goes_on(body: dict[str, Any], detail: str) -> None:
    """The row comes back whole, as JSON."""
    first, second, *_ = assigned([group(**body), group()], "range")
    assert first["error"] == "InvalidRow"
    assert detail in first["detail"]
    assert json.loads(first["record"])["topics"] == group(**body)["topics"]
    assert second["error"] is None


def test_results_of_many_partitions_are_given_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are the same rows, in the same order; an executor holds no more than it has to."""
    rows = [group(group_id=f"g{i}") for i in range(5)] + [group(group_id="wrong", topics=None)]
    table = table_of(rows, assignments.COLUMNS)
    (whole,) = assign_groups(table.to_batches(), (Choice.parse("range"),))
    monkeypatch.setattr(nested_columns, "BATCH_PARTITIONS", 2 * 4)
    few = list(assign_groups(table.to_batches(), (Choice.parse("range"),)))
    assert [batch.num_rows for batch in few] == [2, 2, 2]
    assert pa.Table.from_batches(few).to_pylist() == whole.to_pylist()


def test_a_group_may_be_a_text() -> None:
    """The value of a topic's record, or a column of CSV; what is none is set aside as it was."""
    texts = [json.dumps(group(group_id="g")), '{"topics": [', "[]", None, json.dumps(group(generation=1))]
    texts += [
        json.dumps(group(members=[{"member": "a"}])),
        json.dumps({"topics": []}),
        json.dumps(group(topics=[{"topic_name": 1}])),
    ]
    table = pa.table({"value": pa.array([text and text.encode() for text in texts], pa.binary())})
    rows = pa.Table.from_batches(assign_groups(table.to_batches(), (), "value")).to_pylist()
    assert (rows[0]["group_id"], rows[0]["skew"]) == ("g", 1.0)
    assert [row["record"] for row in rows[1:]] == texts[1:]
    found = [
        "The body is not JSON",
        "The body is not a JSON object.",
        "The record has no body.",
        "/generation: Unknown field.",
        "an unknown member 'member'",
        "/members: Missing data for required field.",
        "int64",
    ]
    assert all(words in row["detail"] for words, row in zip(found, rows[1:], strict=True))


def test_a_misspelt_member_is_refused_before_the_job_starts() -> None:
    """It would silently subscribe to everything."""
    table = table_of([group(members=[{"member_id": "a", "topics_names": ["t"]}])], assignments.COLUMNS)
    with pytest.raises(InvalidQuestion, match="members\\[\\] has an unknown member 'topics_names'; it must be one of member_id"):
        assignments.check_columns(table.schema)
    with pytest.raises(InvalidQuestion, match="Column 'topics' is missing"):
        assignments.check_columns(pa.schema({"members": pa.list_(pa.string())}))


def test_a_topic_is_placed_as_the_service_places_it(client: FlaskClient) -> None:
    """Draws come from the row's seed; a topic without one has draws of its own."""
    row = {"topic_name": "orders", "partitions_count": 9, "replication_factor": 3, "random_seed": 7, "brokers": BROKERS}
    answer = client.post("/v1/replica-placements", json=row).json
    result = placed([row], None)[0]
    assert result["placements"] == answer["placements"]
    assert result["leader_skew"] == answer["broker_load"]["leaders"]["skew"]
    assert result["local_share"] == answer["zone_traffic"]["local_share"]
    assert [load["replicas"] for load in result["broker_load"]] == answer["broker_load"]["replicas"]["counts"]
    one, other = (placed([{**row, "random_seed": None, "topic_name": name}])[0]["placements"] for name in ("a", "b"))
    assert one != other


def test_a_cordoned_broker_gets_no_new_replicas(client: FlaskClient) -> None:
    """As from the service; a placer without such a rule refuses it."""
    brokers = [{**broker, "cordoned": broker["broker_id"] == 2} for broker in BROKERS]
    row = {"topic_name": "orders", "partitions_count": 9, "replication_factor": 3, "random_seed": 7, "brokers": brokers}
    answer = client.post("/v1/replica-placements", json=row).json
    result, refused = placed([row, {**row, "placer": "rack-aware"}], None)
    assert result["placements"] == answer["placements"]
    assert [load["broker_id"] for load in result["broker_load"]] == answer["broker_load"]["broker_ids"] == [0, 1, 3, 4, 5]
    assert "does not support cordoned" in refused["detail"]


def test_a_placement_of_today_is_audited() -> None:
    """What Kafka's placer gave obeys its rules; each broken rule is found where it is."""
    fresh = placed([{"topic_name": "t", "partitions_count": 12, "replication_factor": 3}])[0]["placements"]
    wrong = [dict(each) for each in fresh]
    wrong[2]["replicas"] = [0, 0, 3]
    wrong[5]["replicas"] = [1, 99, 4]
    wrong[7]["replicas"] = [0, 1, 2]
    wrong[8]["replicas"] = [5, 1, 2]
    good, bad = placed([{"topic_name": "t", "placements": fresh}, {"topic_name": "t", "placements": wrong}])
    assert good["obeys"]
    assert (good["copies"], good["leader_changes"]) == (0, 0)
    assert good["current_local_share"] == good["local_share"] > bad["current_local_share"]
    assert not bad["obeys"]
    faults = {name: bad[name] for name in ("doubled", "unknown_brokers", "wrong_factor", "crowded_racks", "unled")}
    assert faults == {"doubled": [2], "unknown_brokers": [5], "wrong_factor": [], "crowded_racks": [2, 5, 7], "unled": [8]}
    assert bad["copies"] == 3


def test_a_topic_that_cannot_be_placed_is_a_row() -> None:
    """Kafka's refusal by its name; what is no topic is set aside."""
    rows = [
        {"topic_name": "t", "partitions_count": 1, "replication_factor": 9},
        {"topic_name": None, "partitions_count": 1, "replication_factor": 1},
        {"topic_name": "u", "partitions_count": None},
        {"topic_name": "v", "placements": [{"partition_id": 0, "replicas": [1]}, {"partition_id": 0, "replicas": [1]}]},
        {"topic_name": "w", "partitions_count": 1, "replication_factor": 1, "placer": "nowhere"},
    ]
    assert [(row["error"], row["placements"]) for row in placed(rows)] == [
        ("InvalidReplicationFactor", None),
        *[("InvalidRow", None)] * 4,
    ]


# ---- on Spark ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_fleet_on_spark(
    write: Callable[[str, str], str], tmp_path: Path, watched: Callable[[str], AbstractContextManager[None]]
) -> None:
    """Groups and topics from JSON lines and a CSV: tables, summary and report are there, and what is wrong is set aside."""
    bodies = [{"group_id": f"g{i}", **group(members=[{"member_id": f"c{m}"} for m in range(i + 1)])} for i in range(20)]
    bodies.append({"group_id": "empty", "assignor": "sticky", "topics": group()["topics"], "members": []})
    bodies.append({"group_id": "twice", **group(members=[{"member_id": "a"}] * 2)})
    groups = write("groups.jsonl", "".join(json.dumps(body) + "\n" for body in bodies) + '{"group_id": \n')
    topic = {"topic_name": "t", "placements": [{"partition_id": 0, "replicas": [0, 0]}]}
    topics = write("topics.jsonl", json.dumps(topic) + "\n")
    brokers = write("brokers.csv", "broker_id,rack_id\n" + "".join(f"{broker},r{broker % 2}\n" for broker in range(4)))
    into = tmp_path / "fleet"
    command = ["pipeline", "fleet", groups, "--assignor", "range", "--topics", topics, "--brokers", brokers, "--into", str(into)]
    with watched("fleet"):
        done = CliRunner().invoke(main, command)
    assert done.exit_code == 0, done.output
    summary = json.loads((into / "summary.json").read_text())
    assert (summary["groups"]["groups"], summary["groups"]["wrong_rows"]) == (21, 2)
    by_name = {row["assignor"]: row for row in summary["groups"]["assignors"]}
    assert (by_name["range"]["groups"], by_name["sticky"]["failed"]) == (21, 1)
    assert summary["groups"]["most_skewed"][0] == {
        "group_id": "g19", "assignor": "range", "partitions": 4, "members": 20, "skew": 5.0, "best_skew": 5.0,
    }  # fmt: skip
    assert summary["topics"]["audit"]["doubled"] == 1
    rows = pq.read_table(into / "assignments.parquet").to_pylist()
    assert sorted({row["group_id"] for row in rows if row["own"] and not row["error"]}) == sorted(f"g{i}" for i in range(20))
    set_aside = pq.read_table(into / "quarantine.parquet").to_pylist()
    assert sorted(row["reason"] for row in set_aside) == [
        "/members/1/member_id: Duplicate member_id 'a'.",
        "The line is unreadable.",
    ]
    assert '{"group_id": ' in [row["record"] for row in set_aside]
    report = (into / "report.html").read_text()
    assert "Most uneven groups" in report
    assert report.count("<svg") == 2


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_groups_come_from_a_live_topic(broker: Broker, tmp_path: Path) -> None:
    """A body is a record's value; a tombstone is none."""
    topic = broker.topic(2)
    broker.produce(topic, [(f"g{i}", json.dumps(group(group_id=f"g{i}"))) for i in range(5)] + [("g9", None)])
    done = CliRunner().invoke(main, ["pipeline", "fleet", f"kafka://{broker.bootstrap}/{topic}", "--into", str(tmp_path)])
    assert done.exit_code == 0, done.output
    summary = json.loads(done.stdout)["groups"]
    assert (summary["groups"], summary["wrong_rows"], len(summary["assignors"])) == (5, 1, 5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Name a table of groups"),
        (["table:groups", "--assignor", "consumer:rang"], "There is no assignor 'rang'"),
        (["--topics", "table:topics", "--placer", "nowhere"], "There is no placer 'nowhere'"),
    ],
)
def test_errors_of_the_command_are_reported_before_spark_starts(arguments: list[str], message: str) -> None:
    done = CliRunner().invoke(main, ["pipeline", "fleet", *arguments])
    assert done.exit_code != 0
    assert message in done.output
