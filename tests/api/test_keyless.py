"""``/v1/keyless-distributions`` as a caller sees it."""

from __future__ import annotations

import random

import pyarrow as pa
import pyarrow.csv
import pytest

PATH = "/v1/keyless-distributions"
BROKERS = [{"broker_id": 1, "rack_id": "a"}, {"broker_id": 2, "rack_id": "b", "waiting_ms": 500}]
PARTITIONS = [
    {"partition_id": 2, "leader_id": 2, "queue_size": 4},
    {"partition_id": 0, "leader_id": 1},
    {"partition_id": 1, "leader_id": 1, "queue_size": 3},
]
QUESTION = {"partitions": PARTITIONS, "brokers": BROKERS}


def test_a_partition_for_which_less_waits_gets_more(client):
    answer = client.post(PATH, json=QUESTION)
    assert answer.status_code == 200, answer.data
    assert answer.json["shares"] == pytest.approx([5 / 8, 2 / 8, 1 / 8])
    (producers,) = answer.json["producers"]
    assert (producers["cumulative_frequency_table"], producers["table_partition_ids"]) == ([5, 7, 8], [0, 1, 2])
    assert answer.json["skew"] == pytest.approx(15 / 8)
    assert (answer.json["rule"], answer.json["rack_aware"]) == ("adaptive", False)


def test_a_broker_that_takes_nothing_gets_nothing(client):
    answer = client.post(PATH, json={**QUESTION, "availability_timeout_ms": 499})
    assert answer.json["shares"] == pytest.approx([4 / 5, 1 / 5, 0])
    patient = client.post(PATH, json={**QUESTION, "availability_timeout_ms": 500})
    assert patient.json["shares"] == client.post(PATH, json=QUESTION).json["shares"]


def test_rack_aware_producers_stay_in_their_rack(client):
    producers = [{"rack_id": "a", "producers": 3}, {"rack_id": "b"}, {"rack_id": "c"}]
    answer = client.post(PATH, json={**QUESTION, "rack_aware": True, "producers": producers}).json
    a, b, c = answer["producers"]
    assert (a["shares"], a["same_rack"]) == (pytest.approx([4 / 5, 1 / 5, 0]), 1.0)
    assert (b["shares"], b["same_rack"]) == ([0, 0, 1], 1.0)
    assert (c["shares"], c["same_rack"]) == (pytest.approx([5 / 8, 2 / 8, 1 / 8]), 0.0)
    assert answer["shares"] == pytest.approx([(3 * 4 / 5 + 5 / 8) / 5, (3 / 5 + 2 / 8) / 5, (1 + 1 / 8) / 5])


def test_a_count_alone_is_even(client):
    assert client.post(PATH, json={"partitions_count": 4}).json["shares"] == [0.25] * 4


def test_the_table_has_one_row_a_partition(client):
    for media_type, read in (
        ("text/csv", pa.csv.read_csv),
        ("application/vnd.apache.arrow.stream", lambda source: pa.ipc.open_stream(source).read_all()),
    ):
        response = client.post(PATH, json=QUESTION, headers={"Accept": media_type})
        table = read(pa.BufferReader(response.data))
        assert table["partition_id"].to_pylist() == [0, 1, 2]
        assert table["share"].to_pylist() == pytest.approx([5 / 8, 2 / 8, 1 / 8])


def test_a_rack_aware_producer_without_a_rack_is_refused_in_kafkas_words(client):
    response = client.post(PATH, json={**QUESTION, "rack_aware": True})
    assert response.status_code == 422
    assert response.json["type"].endswith(":config-exception")
    assert response.json["message"] == "client.rack must be provided if partitioner.rack.aware is enabled"


def test_batches_of_the_least_and_of_the_most_records_have_shares(client):
    partitions = [{"partition_id": i, "leader_id": 1, "batch_records": size} for i, size in enumerate((1e-100, 1e100))]
    assert client.post(PATH, json={"rule": "sticky", "partitions": partitions}).json["shares"] == [pytest.approx(1e-200), 1]


def test_queues_beyond_kafkas_int_table_are_refused(client):
    partitions = [{"partition_id": 0, "leader_id": 1, "queue_size": 2**31 - 1}, {"partition_id": 1, "leader_id": 1}]
    response = client.post(PATH, json={"partitions": partitions})
    assert response.status_code == 422
    assert "int table" in response.json["detail"]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/partitions"),
        ({"partitions_count": 2, "partitions": PARTITIONS}, "/partitions"),
        ({"partitions": []}, "/partitions"),
        ({"partitions_count": 0}, "/partitions_count"),
        ({"partitions_count": 10**9}, "/partitions_count"),
        ({"partitions": [{"partition_id": 1}]}, "/partitions/0/partition_id"),
        ({"partitions": [{"partition_id": 0}, {"partition_id": 0}]}, "/partitions/1/partition_id"),
        ({"partitions": [{"partition_id": 0, "leader_id": 7}], "brokers": BROKERS}, "/partitions/0/leader_id"),
        ({"partitions": [{"partition_id": 0, "queue_size": -1}]}, "/partitions/0/queue_size"),
        ({"partitions": [{"partition_id": 0, "queue_size": 1}], "rule": "sticky"}, "/partitions/0/queue_size"),
        ({"partitions": [{"partition_id": 0, "batch_records": 2}]}, "/partitions/0/batch_records"),
        ({"partitions_count": 2, "brokers": [*BROKERS, BROKERS[0]]}, "/brokers/2/broker_id"),
        ({"partitions": [{"partition_id": 0, "batch_records": 5e-324}], "rule": "sticky"}, "/partitions/0/batch_records"),
        ({"partitions": [{"partition_id": 0, "batch_records": 1e308}], "rule": "sticky"}, "/partitions/0/batch_records"),
        ({"partitions_count": 2, "brokers": [{"broker_id": 0, "rack_id": "\ud800"}]}, "/brokers/0/rack_id"),
        ({"partitions_count": 2, "producers": [{"rack_id": "\ud800"}]}, "/producers/0/rack_id"),
        ({"partitions_count": 2, "rule": "random"}, "/rule"),
        ({"partitions_count": 2, "rule": "sticky", "rack_aware": True, "producers": [{"rack_id": "a"}]}, "/rack_aware"),
        ({"partitions_count": 2, "rack_aware": 1}, "/rack_aware"),
        ({"partitions_count": 2, "producers": []}, "/producers"),
        ({"partitions_count": 2, "producers": [{"producers": 0}]}, "/producers/0/producers"),
        ({"partitions_count": 2, "colour": 1}, "/colour"),
    ],
)
def test_what_is_wrong_is_pointed_at(client, body, pointer):
    response = client.post(PATH, json=body)
    assert response.status_code == 422, response.data
    assert [error["pointer"] for error in response.json["errors"]] == [pointer]


@pytest.mark.parametrize("seed", range(60))
def test_the_conclusion_says_who_gets_the_most_and_who_nothing(client, seed):
    draw = random.Random(seed)
    n = draw.randint(1, 8)
    rule = draw.choice(["round-robin", "sticky", "uniform-sticky", "adaptive"])
    body = {"rule": rule, "partitions_count": n}
    if draw.random() < 0.8:
        queue = {"queue_size": draw.choice([0, 0, 3])} if rule == "adaptive" else {}
        leaders = [draw.choice([None, 1, 2, 3]) for _ in range(n)]
        body = {"rule": rule, "partitions": [{"partition_id": i, "leader_id": leaders[i], **queue} for i in range(n)]}
    answer = client.post("/v1/keyless-distributions", json=body).json
    text, shares = answer["conclusion"], answer["shares"]
    assert ("Each of" in text or "The only" in text) == (max(shares) - min(shares) < 1e-6)
    assert f"{max(shares):.1%}" in text or f"{max(shares):.2%}" in text
    empty = [i for i, share in enumerate(shares) if share == 0]
    assert (f"{len(empty)} get" in text) == bool(empty)
    assert not empty or f"nothing: {', '.join(map(str, empty[:5]))}" in text
    assert ("as long as all have a leader" in text) == ("partitions" not in body)
    assert ("none has now" in text) == ("partitions" in body and all(each["leader_id"] is None for each in body["partitions"]))
