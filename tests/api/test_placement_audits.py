"""``POST /v1/placement-audits``: what Kafka placed is possible, and its draws place it again; what it did not place is not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from service.api.placement_audits import EXAMPLE, FORM, answer
from service.core.budget import OutOfTime, limited
from service.core.model import PlacementRequest
from service.decisions.placements.answer import BROKER, read_cluster
from service.descriptions import bodies, read_description
from service.planner.placement_audits import evenness
from service.strategies import PLACERS
from tests.support.golden import CHOICE, lines
from tests.support.time_limits import OVER, Looks

if TYPE_CHECKING:
    from flask.testing import FlaskClient

RACKS = {1: "a", 2: "b", 3: "c"}


def audited(client: FlaskClient, body: dict[str, Any]) -> dict[str, Any]:
    answer = client.post("/v1/placement-audits", json=body)
    assert answer.status_code == 200, answer.text
    document: dict[str, Any] = answer.get_json()
    return document


def cases(name: str) -> list[dict[str, Any]]:
    return [case for case in lines(f"placement/{name}") if "placements" in case["expected"]][:20]


@pytest.mark.parametrize("name", ["striped", "adminutils"])
def test_what_kafka_placed_is_possible(client: FlaskClient, name: str) -> None:
    """The golden vectors; the seed, or start and shift, place the topic again."""
    seeds = 0
    for case in cases(name):
        request, placements = case["request"], case["expected"]["placements"]
        if not placements or len({broker["broker_id"] for broker in request["brokers"]}) < len(request["brokers"]):
            continue
        body = {name: request[name] for name in ("placer", "brokers") if name in request}
        answer = audited(client, {**body, "placements": placements})
        assert answer["possible"], case["id"]
        (part,) = answer["parts"]
        again = {name: value for name, value in request.items() if name not in ("random_seed", "start_index", "replica_shift")}
        if part["random_seed"] is not None and "partition_0_replicas" not in again:
            seeds += 1
            given = {**again, "random_seed": part["random_seed"]}
            assert client.post("/v1/replica-placements", json=given).get_json()["placements"] == placements
        if part["draws"].get("replica_shifts"):
            for shift in part["draws"]["replica_shifts"][:2]:
                given = {**again, "start_index": part["draws"]["start_index"], "replica_shift": shift}
                assert client.post("/v1/replica-placements", json=given).get_json()["placements"] == placements
    assert seeds


def real_topics() -> list[dict[str, Any]]:
    """The topics that a real 4.3.1 controller placed on three brokers."""
    description = read_description((CHOICE / "descriptions" / "kafka-topics.txt").read_text())
    brokers = [{"broker_id": i, "rack_id": rack} for i, rack in RACKS.items()]
    return [{**bodies.placement_audit(description, topic["topic_name"]), "brokers": brokers} for topic in description.topics]


def test_topics_of_a_real_cluster(client: FlaskClient) -> None:
    """KRaft places by stripes. AdminUtils could not have placed six partitions this way."""
    answers = [audited(client, body) for body in real_topics()]
    assert [answer["possible"] for answer in answers] == [True, True, True]
    assert answers[0]["parts"][0]["draws"]["rack_offset"] == 0
    orders = audited(client, {**real_topics()[0], "placer": "rack-aware"})
    assert not orders["possible"]
    assert orders["broken_rule"]["pointer"] == "/placements/3/replicas/0"


def place(client: FlaskClient, **request: Any) -> list[dict[str, Any]]:
    answer = client.post("/v1/replica-placements", json=request)
    assert answer.status_code == 200, answer.text
    placements: list[dict[str, Any]] = answer.get_json()["placements"]
    return placements


BROKERS = [{"broker_id": i, "rack_id": "abc"[i % 3]} for i in range(6)]


@pytest.mark.parametrize("placer", ["rack-unaware", "rack-aware", "striped"])
def test_a_grown_topic(client: FlaskClient, placer: str) -> None:
    """It is not one creation; with `additions` it is possible, and without them it is found out."""
    first = place(client, placer=placer, brokers=BROKERS, partitions_count=7, replication_factor=3, random_seed=42)
    more: dict[str, Any] = {"random_seed": 17} if placer == "striped" else {"partition_0_replicas": first[0]["replicas"]}
    second = place(client, placer=placer, brokers=BROKERS, partitions_count=7, replication_factor=3, start_partition_id=7, **more)
    body = {"placer": placer, "brokers": BROKERS, "placements": [*second, *first]}
    answer = audited(client, body)
    assert not answer["possible"]
    assert [part["start_partition_id"] for part in answer["other_history"]] == [0, 7]
    broken = answer["broken_rule"]
    assert broken["partition_id"] >= 7
    assert broken["pointer"].startswith(f"/placements/{broken['partition_id'] - 7}/replicas/")
    grown = audited(client, {**body, "additions": [7]})
    assert grown["possible"]
    assert [part["partitions_count"] for part in grown["parts"]] == [7, 7]


def test_brokers_that_have_changed_since(client: FlaskClient) -> None:
    """A broker that has been added, and one that is fenced now."""
    placements = place(client, placer="striped", brokers=BROKERS, partitions_count=12, replication_factor=3, random_seed=42)
    added = [*BROKERS, {"broker_id": 6, "rack_id": "a"}]
    (part,) = audited(client, {"brokers": added, "placements": placements})["other_history"]
    assert part["brokers"] == "holders"
    fenced = [{**broker, "fenced": broker["broker_id"] == 0} for broker in BROKERS]
    answer = audited(client, {"brokers": fenced, "placements": placements})
    assert answer["broken_rule"]["rule"] == "fenced-leader"
    assert [part["brokers"] for part in answer["other_history"]] == ["unfenced"]


@pytest.mark.parametrize(
    ("placements", "rule", "pointer"),
    [
        ([[1, 2], [2, 2]], "distinct-brokers", "/placements/1/replicas/1"),
        ([[1, 2], [2, 9]], "unknown-broker", "/placements/1/replicas/1"),
        ([[1, 2], [2]], "replication-factor", "/placements/1"),
        ([[1, 2, 3, 4]], "InvalidReplicationFactor", None),
        ([[], [1]], "InvalidReplicationFactor", None),
        ([[1, 2], [3, 2]], "racks", "/placements/1/replicas/0"),
        ([[1, 2], [2, 9], [2, 2]], "unknown-broker", "/placements/1/replicas/1"),
    ],
)
def test_the_first_broken_rule(client: FlaskClient, placements: list[list[int]], rule: str, pointer: str | None) -> None:
    """Of several the one of the first partition, with its place."""
    rows = [{"partition_id": i, "replicas": replicas} for i, replicas in enumerate(placements)]
    answer = audited(client, {**EXAMPLE, "placements": rows})
    assert (answer["possible"], answer["broken_rule"]["rule"], answer["broken_rule"]["pointer"]) == (False, rule, pointer)
    assert answer["broken_rule"]["detail"].endswith(".")


def test_what_crosses_zones_is_that_of_the_placement(client: FlaskClient) -> None:
    body = {"brokers": [{"broker_id": i, "rack_id": "ab"[i % 2]} for i in range(4)], "placer": "striped"}
    placed = client.post("/v1/replica-placements", json={**body, "partitions_count": 5, "replication_factor": 1}).get_json()
    assert audited(client, {**body, "placements": placed["placements"]})["zone_traffic"] == placed["zone_traffic"]
    assert placed["zone_traffic"]["local_share"] == 0.5
    assert "zone_traffic" not in audited(
        client, {"brokers": [{"broker_id": 0}], "placements": [{"partition_id": 0, "replicas": [0]}]}
    )


def test_the_skew_of_all_draws(client: FlaskClient) -> None:
    """Six brokers in racks of one and five: all 36 draws of AdminUtils are considered; the actual skew is within their range."""
    brokers = [{"broker_id": i, "rack_id": "abbbbb"[i]} for i in range(6)]
    request = {"placer": "rack-aware", "brokers": brokers, "partitions_count": 4, "replication_factor": 2}
    skews = []
    for start in range(6):
        for shift in range(6):
            answer = client.post("/v1/replica-placements", json={**request, "start_index": start, "replica_shift": shift})
            skews.append(answer.get_json()["broker_load"]["replicas"]["skew"])
    placements = place(client, **request, start_index=1, replica_shift=3)
    skew = audited(client, {"placer": "rack-aware", "brokers": brokers, "placements": placements})["skew"]
    assert (skew["draws_considered"], skew["exhaustive"]) == (36, True)
    expected = sorted(skews)
    measured = skew["broker_replicas"]
    assert (measured["best"], measured["worst"]) == (expected[0], expected[-1])
    assert measured["typical"] == (expected[17] + expected[18]) / 2
    assert measured["best"] <= measured["actual"] <= measured["worst"]


def test_the_skews_as_a_table(client: FlaskClient) -> None:
    """The same numbers as in JSON; without the placer's own if there are none."""
    wrong = {**EXAMPLE, "topic_name": "t", "placements": [{"partition_id": i, "replicas": [1, 2, 3][: 3 - i]} for i in range(2)]}
    for body in (EXAMPLE, wrong):
        document = audited(client, body)
        stream = client.post("/v1/placement-audits", json=body, headers={"Accept": "application/vnd.apache.arrow.stream"})
        rows = pa.ipc.open_stream(stream.data).read_all().to_pylist()
        assert [row["measure"] for row in rows] == ["broker_replicas", "broker_leaders", "rack_replicas", "rack_leaders"]
        for row in rows:
            skews = (document["skew"] or {}).get(row["measure"]) or dict.fromkeys(("best", "typical", "worst"))
            assert {name: row[name] for name in skews} == skews
            assert row["actual"] >= 1
            assert (row["topic_name"], row["placer"]) == (body.get("topic_name"), "striped")
            assert row["possible"] is document["possible"] is (row["broken_rule"] is None)
    text = client.post("/v1/placement-audits", json=wrong, headers={"Accept": "text/csv"}).text.splitlines()
    assert text[1].startswith('"t","striped",false,"replication-factor","broker_replicas",')
    assert text[1].endswith(",,,")


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"placements": []}, "/placements"),
        ({"brokers": []}, "/brokers"),
        ({"brokers": [EXAMPLE["brokers"][0]] * 2}, "/brokers/1/broker_id"),
        ({"placements": [{"partition_id": 1, "replicas": [1]}] * 2}, "/placements/1/partition_id"),
        ({"placements": [{"partition_id": i, "replicas": [1]} for i in (0, 2)]}, "/placements"),
        ({"placements": [{"partition_id": -1, "replicas": [1]}]}, "/placements/0/partition_id"),
        ({"additions": [3]}, "/additions/0"),
        ({"additions": [2, 1]}, "/additions/1"),
        ({"placer": "kafka-reassign-generate"}, "/placer"),
        ({"kafka_version": "1.0"}, "/kafka_version"),
        ({"partitions": 3}, "/partitions"),
    ],
)
def test_faults_have_their_place(client: FlaskClient, change: dict[str, Any], pointer: str) -> None:
    """A 422 that points at them."""
    answer = client.post("/v1/placement-audits", json={**EXAMPLE, **change})
    assert answer.status_code == 422
    assert [error["pointer"] for error in answer.get_json()["errors"]] == [pointer]


LED_BY_RACK_A = [[0, 1], [3, 4], [0, 4], [3, 1]]
BROKERS_ON_RACKS = [{"broker_id": i, "rack_id": "abc"[i % 3]} for i in range(6)]


@pytest.mark.parametrize(
    ("brokers", "replicas", "rule", "detail", "verdict"),
    [
        (BROKERS_ON_RACKS, LED_BY_RACK_A, "racks", "make it the turn of rack a here.", "moved since, by a reassignment"),
        (BROKERS_ON_RACKS, [[0, 9]], "unknown-broker", "no such broker", "The broker was probably removed"),
        (BROKERS_ON_RACKS, [[0, 1, 2, 3, 4, 5, 7]], "InvalidReplicationFactor", "", "refuses such a topic"),
        ([{**BROKERS_ON_RACKS[0], "fenced": True}, *BROKERS_ON_RACKS[1:3]], [[0, 1]], "fenced-leader", "", "was fenced"),
        (BROKERS_ON_RACKS, [[0, 1], [1, 2, 0]], "replication-factor", "", "or a reassignment is under way"),
    ],
)  # fmt: skip
def test_the_verdict_says_what_probably_happened(client, brokers, replicas, rule, detail, verdict):
    placements = [{"partition_id": i, "replicas": row} for i, row in enumerate(replicas)]
    answer = client.post("/v1/placement-audits", json={"brokers": brokers, "placements": placements}).get_json()
    assert (answer["possible"], answer["broken_rule"]["rule"]) == (False, rule)
    assert detail in answer["broken_rule"]["detail"]
    assert verdict in answer["conclusion"]


def test_without_racks_nothing_is_said_to_have_moved(client):
    """A paste has none; what Kafka placed on racks is seldom what it could have placed without."""
    racks = [{"broker_id": i, "rack_id": "abc"[i % 3]} for i in range(6)]
    topic = {"brokers": racks, "partitions_count": 12, "replication_factor": 3, "random_seed": 1}
    placements = client.post("/v1/replica-placements", json=topic).json["placements"]
    assert audited(client, {"brokers": racks, "placements": placements})["possible"]
    verdict = audited(client, {"brokers": [{"broker_id": i} for i in range(6)], "placements": placements})["conclusion"]
    assert "on brokers without racks; racks are not known (give the rack_id" in verdict
    assert "If the brokers have none: partitions were probably moved" in verdict


def test_the_verdict_of_a_topic_that_kafka_could_have_placed(client):
    body = {"brokers": BROKERS_ON_RACKS, "placements": [{"partition_id": 0, "replicas": [0, 1]}]}
    answer = client.post("/v1/placement-audits", json=body).get_json()
    assert answer["conclusion"] == "The placer striped could have placed the topic this way."


def test_draws_are_looked_for_within_the_time() -> None:
    question = FORM.schema.load(EXAMPLE)
    with pytest.raises(OutOfTime), limited(OVER):
        answer(question, OVER)
    looks: list[None] = []
    cluster = read_cluster(pa.array([{"broker_id": 77}], BROKER))
    with limited(Looks(lambda: looks.append(None))):
        assert evenness(PLACERS["modulo"], cluster, PlacementRequest(1, 1)).placements == len(looks)
