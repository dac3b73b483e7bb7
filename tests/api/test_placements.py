"""POST /v1/replica-placements: what this service adds to Kafka's answers, which tests/contract/test_vectors.py compares."""

from __future__ import annotations

import csv
import io
import json
import random
import re
import time

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.api.placements import FORM, Placed, placements_json, reassignment_json
from service.app import create_app
from service.config import Settings
from service.core.budget import OutOfTime, limited
from service.core.jvm.hashing import java_hash_codes
from service.core.kafka_versions import LATEST
from service.core.model import Cluster
from service.core.placers.reassign_generate import AdminCommandFailed, _refuse_repeats
from service.decisions.placements.answer import answer
from service.http.json.codec import dumps
from service.strategies import PLACERS
from tests.support.time_limits import OVER

INTS = st.integers(-(2**31), 2**31 - 1)
PATH = "/v1/replica-placements"
BROKERS = [{"broker_id": i, "rack_id": f"rack{i % 3}"} for i in range(6)]
PLAIN = {"placer": "striped", "topic_name": "t", "partitions_count": 6, "replication_factor": 3, "brokers": BROKERS}


def test_a_reassignment_is_the_file_that_kafka_s_tool_reads(client):
    """Its members in their order, and nothing else."""
    text = client.post(PATH, json=PLAIN).get_data(as_text=True)
    answer = json.loads(text)
    rows = [{"topic": "t", "partition": row["partition_id"], "replicas": row["replicas"]} for row in answer["placements"]]
    assert answer["reassignment"] == {"version": 1, "partitions": rows}
    assert '"reassignment":{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[' in text


@settings(deadline=None)
@given(st.lists(st.tuples(INTS, INTS, INTS), min_size=1, max_size=20), st.text(st.characters(exclude_categories=["Cs"])))
def test_rows_are_written_as_json_has_them(rows, name):
    """Any ints and any name, in both forms."""
    ids = np.array([row[0] for row in rows], np.int32)
    brokers = np.array([row[1:] for row in rows], np.int32)
    cluster = Cluster(brokers.ravel(), (), np.full(brokers.size, -1, np.int32), np.zeros(brokers.size, np.bool_))
    placed = Placed(name, ids, np.arange(brokers.size, dtype=np.int32).reshape(brokers.shape))
    listed = [{"partition_id": i, "replicas": [*replicas]} for i, *replicas in rows]
    assert json.loads(dumps(placements_json(cluster, placed))) == listed
    proposed = [{"topic": name, "partition": i, "replicas": [*replicas], "log_dirs": ["any"] * 2} for i, *replicas in rows]
    assert json.loads(dumps(reassignment_json(cluster, [placed], log_dirs=True))) == {"version": 1, "partitions": proposed}


def test_a_topic_without_a_name_is_called_topic(client):
    body = {name: value for name, value in PLAIN.items() if name != "topic_name"}
    assert {row["topic"] for row in client.post(PATH, json=body).json["reassignment"]["partitions"]} == {"topic"}


def test_brokers_and_racks_show_what_they_get(client):
    """Replicas and leaders, counted over all topics, with their spread."""
    topics = [{"topic_name": name, "partitions_count": 4, "replication_factor": 2} for name in "ab"]
    body = {"placer": "modulo", "brokers": [{"broker_id": 7, "rack_id": "x"}, {"broker_id": 3}, {"broker_id": 5, "rack_id": "x"}]}
    answer = client.post(PATH, json={**body, "topics": topics}).json
    load, racks = answer["broker_load"], answer["rack_load"]
    assert load["broker_ids"] == [7, 3, 5]
    assert load["leaders"]["counts"] == [4, 2, 2]
    assert load["replicas"]["counts"] == [6, 6, 4]
    assert load["replicas"]["skew"] == pytest.approx(6 / (16 / 3))
    assert (racks["rack_ids"], racks["replicas"]["counts"], racks["leaders"]["counts"]) == (["x", None], [10, 6], [6, 2])


@pytest.mark.parametrize("placer", ["rack-unaware", "rack-aware", "striped"])
def test_topics_are_drawn_one_after_another(client, placer):
    """The first topic is as if it were alone; the second differs from what it would be alone; a refusal stands in its place."""
    topics = [{"topic_name": name, "partitions_count": 50, "replication_factor": 3} for name in "abc"]
    topics[1]["replication_factor"] = 7
    body = {"placer": placer, "random_seed": 5, "brokers": BROKERS}
    together = client.post(PATH, json={**body, "topics": topics}).json["topics"]
    alone = client.post(PATH, json={**body, "partitions_count": 50, "replication_factor": 3}).json
    assert together[0]["placements"] == alone["placements"]
    assert together[1]["error"] == "InvalidReplicationFactor"
    assert together[2]["placements"] != alone["placements"]


def test_arrow_has_replicas_as_lists(client):
    response = client.post(PATH, json=PLAIN, headers={"Accept": "application/vnd.apache.arrow.stream"})
    table = pa.ipc.open_stream(response.data).read_all()
    assert table.schema.names == ["topic_name", "partition_id", "replicas"]
    assert table.schema.field("replicas").type == pa.list_(pa.int32())
    assert pa.types.is_dictionary(table.schema.field("topic_name").type)
    placed = client.post(PATH, json=PLAIN).json["placements"]
    assert table.select(["partition_id", "replicas"]).to_pylist() == placed


def test_csv_has_replicas_as_kafka_topics_prints_them(client):
    response = client.post(PATH, json=PLAIN, headers={"Accept": "text/csv"})
    placed = client.post(PATH, json=PLAIN).json["placements"]
    rows = [[("t"), str(row["partition_id"]), ",".join(map(str, row["replicas"]))] for row in placed]
    assert list(csv.reader(io.StringIO(response.text))) == [["topic_name", "partition_id", "replicas"], *rows]


def test_no_topic_at_all_is_an_empty_answer(client):
    """In every form of the answer."""
    body = {"placer": "striped", "brokers": BROKERS, "topics": []}
    answer = client.post(PATH, json=body).json
    assert (answer["topics"], answer["reassignment"]) == ([], {"version": 1, "partitions": []})
    response = client.post(PATH, json=body, headers={"Accept": "application/vnd.apache.arrow.stream"})
    assert pa.ipc.open_stream(response.data).read_all().num_rows == 0


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"partitions_count": True}, "/partitions_count"),
        ({"partitions_count": 1.0}, "/partitions_count"),
        ({"replication_factor": "3"}, "/replication_factor"),
        ({"random_seed": 2**63}, "/random_seed"),
        ({"partitions_count": 2**31}, "/partitions_count"),
        ({"colour": "red"}, "/colour"),
        ({"placer": "ring"}, "/placer"),
        ({"kafka_version": "2.8.0"}, "/kafka_version"),
        ({"start_index": 0}, "/start_index"),
        ({"rack_aware": True}, "/rack_aware"),
        ({"brokers": [{"broker_id": 1, "fenced": 1}]}, "/brokers/0/fenced"),
        ({"brokers": [{"broker_id": 1}, {"rack_id": "a"}]}, "/brokers/1/broker_id"),
        ({"brokers": [{"broker_id": 1, "rack": "a"}]}, "/brokers/0/rack"),
        ({"placer": "rack-aware", "start_index": 1, "partition_0_replicas": [1]}, "/start_index"),
    ],
)
def test_a_fault_is_pointed_at(client, change, pointer):
    response = client.post(PATH, json={**PLAIN, **change})
    assert response.status_code == 422
    assert [error["pointer"] for error in response.json["errors"]] == [pointer]


def test_an_unknown_version_lists_the_known_ones(client):
    response = client.post(PATH, json={**PLAIN, "placer": "striped", "kafka_version": "2.8.2"})
    assert "it supports 3.4.1, 3.9.1, 3.9.2, 4.0.0," in response.json["detail"]


@pytest.mark.parametrize("missing", ["brokers", "partitions_count", "replication_factor"])
def test_what_is_missing_is_named(client, missing):
    response = client.post(PATH, json={name: value for name, value in PLAIN.items() if name != missing})
    assert [error["pointer"] for error in response.json["errors"]] == [f"/{missing}"]


def test_a_topic_named_twice_is_refused(client):
    topics = [{"topic_name": "t", "partitions_count": 1, "replication_factor": 1}] * 2
    response = client.post(PATH, json={"brokers": BROKERS, "topics": topics})
    assert [error["pointer"] for error in response.json["errors"]] == ["/topics/1/topic_name"]


def test_more_replicas_than_the_limit_are_refused_by_its_name():
    client = create_app(Settings(max_placement_cells=17)).test_client()
    response = client.post(PATH, json=PLAIN)
    assert response.json["type"].endswith("limit-exceeded")
    assert "ALLOCATOR_MAX_PLACEMENT_CELLS" in response.json["detail"]


def test_a_huge_count_is_refused_before_anything_is_made_of_it(client):
    """Java's largest int of partitions, in every form."""
    huge = {"partitions_count": 2**31 - 1, "replication_factor": 2**31 - 1}
    operations = [{"operation": "create_topics", "topics": [{"topic_name": "a", "partitions_count": 1, "replication_factor": 1}]}]
    operations.append({"operation": "create_partitions", "topics": [{"topic_name": "a", "partitions_count": 2**31 - 1}]})
    for body in (
        {**PLAIN, **huge},
        {"brokers": BROKERS, "topics": [{"topic_name": "t", **huge}]},
        {"brokers": BROKERS, "operations": operations},
    ):
        assert client.post(PATH, json=body).json["type"].endswith("limit-exceeded")


@pytest.mark.parametrize("placer", ["modulo", "rack-unaware", "rack-aware", "striped"])
def test_an_explanation_shows_draws_and_lists(client, placer):
    """And leaves the answer as it is."""
    plain = client.post(PATH, json={**PLAIN, "placer": placer}).json
    explained = client.post(f"{PATH}?explain=true", json={**PLAIN, "placer": placer}).json
    explanation = explained.pop("explanation")
    assert explained == plain
    drawn = {"modulo": "rule", "rack-unaware": "drawn", "rack-aware": "drawn", "striped": "draws"}[placer]
    assert explanation[drawn]


@pytest.mark.parametrize("placer", ["modulo", "rack-unaware", "rack-aware", "striped"])
def test_an_explanation_has_a_rule_for_each_replica(client, placer):
    """In the order of the replicas, over several rounds of the brokers; tests/core/placers says that they are the right ones."""
    answer = client.post(f"{PATH}?explain=true", json={**PLAIN, "placer": placer, "partitions_count": 40}).json
    explained = answer["explanation"]["partitions"]
    told = [
        {"partition_id": row["partition_id"], "replicas": [replica["broker_id"] for replica in row["replicas"]]}
        for row in explained
    ]
    assert told == answer["placements"]
    for row in explained:
        leader, *followers = (replica["rule"] for replica in row["replicas"])
        assert leader.startswith("leader: ")
        assert all(rule.startswith("follower: ") for rule in followers)


def test_an_explanation_is_bounded():
    client = create_app(Settings(max_explained=5)).test_client()
    for placer, replicas in (("modulo", 2), ("rack-aware", 1), ("striped", 6)):
        body = {**PLAIN, "placer": placer, "partitions_count": 1000, "replication_factor": replicas}
        explanation = client.post(f"{PATH}?explain=true", json=body).json["explanation"]
        assert all(len(value) <= 5 for value in explanation.values() if isinstance(value, list))
        assert 4 <= sum(len(row["replicas"]) for row in explanation["partitions"]) <= 5


def test_placers_are_listed(client):
    listed = client.get("/v1/placers").json["placers"]
    assert [one["placer"] for one in listed] == [
        "modulo",
        "rack-unaware",
        "rack-aware",
        "striped",
        "balanced",
        "kafka-reassign-generate",
    ]
    assert all(one["summary"] and one["kafka_versions"] for one in listed)
    striped = next(one for one in listed if one["placer"] == "striped")
    assert (striped["client"], striped["release"]) == ("controller", LATEST)


BALANCED = {
    "placer": "balanced",
    "partitions_count": 4,
    "replication_factor": 1,
    "brokers": [{"broker_id": 1}, {"broker_id": 2, "weight": 2}, {"broker_id": 3}],
    "current_assignments": [{"topic_name": "t", "partition_id": i, "replicas": [1]} for i in range(2)],
}


def test_balanced_looks_at_what_brokers_have_and_are_to_have(client):
    load = client.post("/v1/replica-placements", json=BALANCED).get_json()["broker_load"]["replicas"]["counts"]
    assert load == [0, 3, 1]
    topics = [{"topic_name": name, "partitions_count": 2, "replication_factor": 1} for name in "uv"]
    body = {name: BALANCED[name] for name in ("placer", "brokers", "current_assignments")}
    load = client.post("/v1/replica-placements", json={**body, "topics": topics}).get_json()["broker_load"]["replicas"]["counts"]
    assert load == [0, 2, 2], "the second topic is spread, too"


def test_other_placers_have_no_weights_and_no_current_assignments(client):
    answer = client.post("/v1/replica-placements", json={**BALANCED, "placer": "striped"})
    assert answer.status_code == 422
    assert {error["pointer"] for error in answer.get_json()["errors"]} == {"/current_assignments", "/brokers/1/weight"}
    for weight in (0, -1, True, "1", 1e200):
        brokers = [{"broker_id": 1, "weight": weight}]
        answer = client.post("/v1/replica-placements", json={**BALANCED, "brokers": brokers})
        assert [error["pointer"] for error in answer.get_json()["errors"]] == ["/brokers/0/weight"], weight


CORDONED = [*BROKERS, {"broker_id": 99, "rack_id": "a", "cordoned": True}]


@pytest.mark.parametrize(
    "body",
    [
        {"placer": "striped", "random_seed": 3, "partitions_count": 9, "replication_factor": 2},
        {"placer": "balanced", "partitions_count": 9, "replication_factor": 2},
        {"topics": [{"topic_name": "t", "partitions_count": 9, "replication_factor": 2}]},
        {
            "operations": [
                {
                    "operation": "create_topics",
                    "topics": [{"topic_name": "t", "partitions_count": 9, "replication_factor": 2}],
                }
            ]
        },
    ],
)
def test_a_cordoned_broker_gets_no_new_replicas(client, body):
    """As if it were not there: the placer never sees it (KIP-1066)."""
    response = client.post(PATH, json={**body, "brokers": CORDONED})
    assert response.json == client.post(PATH, json={**body, "brokers": BROKERS}).json
    assert response.status_code == 200


def test_brokers_that_are_all_cordoned_are_refused_in_kafkas_words(client):
    brokers = [{**broker, "cordoned": True} for broker in BROKERS]
    response = client.post(PATH, json={"partitions_count": 1, "replication_factor": 1, "brokers": brokers})
    assert response.status_code == 422
    assert response.json["detail"] == "All brokers are currently fenced, or have all their log directories cordoned."


def test_cordoned_is_rejected_where_kafka_had_no_such_thing(client):
    body = {"placer": "rack-aware", "partitions_count": 1, "replication_factor": 1, "brokers": CORDONED}
    assert [error["pointer"] for error in client.post(PATH, json=body).json["errors"]] == [f"/brokers/{len(BROKERS)}/cordoned"]


@pytest.mark.parametrize(
    "question",
    [
        {"topics": [{"topic_name": "t", "partitions_count": 1, "replication_factor": 1}], "brokers": BROKERS},
        {"operations": [{"operation": "create_topics", "topics": [{"topic_name": "t"}]}], "brokers": BROKERS},
        {
            "placer": "kafka-reassign-generate",
            "topics_to_move": ["t"],
            "broker_list": [1],
            "cluster_brokers": BROKERS,
            "current_assignments": [{"topic_name": "t", "partition_id": 0, "replicas": [1]}],
        },
    ],
    ids=["topics", "operations", "topics_to_move"],
)
def test_topics_are_placed_within_their_time(question):
    with pytest.raises(OutOfTime), limited(OVER):
        answer(FORM.schema.load(question), OVER)


@pytest.mark.parametrize("placer", [each for each in PLACERS if "partitions_count" in each.requests], ids=lambda each: each.name)
def test_a_broker_that_is_listed_twice_is_refused_but_by_admin_utils(client, placer):
    """No cluster has one; AdminUtils takes any list, as its vectors say."""
    response = client.post(PATH, json=PLAIN | {"placer": placer.name, "brokers": [*BROKERS, BROKERS[2]]})
    if placer.name in {"rack-unaware", "rack-aware"}:
        assert response.status_code == 200
    else:
        assert response.json["errors"] == [{"pointer": "/brokers/6/broker_id", "detail": "Duplicate broker_id 2."}]


def test_many_duplicates_are_refused_in_proportion_to_their_number():
    names = [str(i) for i in range(30_000)] * 2
    hashes = java_hash_codes(names)
    started = time.thread_time()
    with pytest.raises(AdminCommandFailed):
        _refuse_repeats("List", names, hashes)
    assert time.thread_time() - started < 0.5


@pytest.mark.parametrize(
    ("racks", "detail"),
    [
        (lambda _: None, "12250000 brokers × brokers"),
        (lambda i: "ab"[i > 0], "replicas × racks and brokers that one may pass over"),
    ],
)
def test_brokers_among_which_a_placement_takes_too_long_are_refused(client, racks, detail):
    """Nothing stops a placer's kernel, which went on for minutes; balanced took 26 bytes for each two brokers."""
    count = 3_500 if racks(0) is None else 3_000
    brokers = [{"broker_id": i, "rack_id": racks(i)} for i in range(count)]
    for placer in ("rack-aware", "striped", "balanced"):
        body = {"placer": placer, "partitions_count": 5_000_000, "replication_factor": 2, "brokers": brokers}
        error = client.post(PATH, json=body).json
        assert error["errors"][0]["pointer"] == "/brokers"
        assert detail in error["detail"]


def test_the_conclusion_has_the_numbers_of_the_answer(client):
    """Topics, partitions, brokers and racks; what Kafka refuses; and racks that are not known, if that matters."""
    draw = random.Random(7)
    for _ in range(60):
        racks, count = draw.choice(["", "ab", "abc"]), draw.randint(1, 6)
        brokers = [{"broker_id": i, **({"rack_id": racks[i % len(racks)]} if racks else {})} for i in range(count)]
        topics = [
            {"topic_name": f"t{i}", "partitions_count": draw.randint(1, 4), "replication_factor": draw.randint(1, 4)}
            for i in range(draw.randint(1, 3))
        ]
        answer = client.post(PATH, json={"brokers": brokers, "topics": topics}).json
        placed = [topic for topic in answer["topics"] if "placements" in topic]
        used = {i for topic in placed for row in topic["placements"] for i in row["replicas"]}
        text = answer["conclusion"]
        refused = re.search(r"Kafka refuses (\d+) topic", text)
        assert (int(refused[1]) if refused else 0) == len(topics) - len(placed)
        assert ("racks are not known" in text) == (not racks and any(len(t["placements"][0]["replicas"]) > 1 for t in placed))
        if not placed:
            assert text.startswith("Places nothing")
            continue
        of_racks = r"(?: and (\d+) of (\d+) racks?)?"
        on = re.match(rf"Places (\d+) partitions? of (?:(\d+) topics|t\d) on (\d+) of (\d+) brokers?{of_racks}", text)
        assert on
        partitions = sum(len(topic["placements"]) for topic in placed)
        expected = [partitions, len(placed) if len(placed) > 1 else None, len(used), count]
        expected += [len({racks[i % len(racks)] for i in used}), len({*racks[:count]})] if racks else [None, None]
        assert [each and int(each) for each in on.groups()] == expected, text
