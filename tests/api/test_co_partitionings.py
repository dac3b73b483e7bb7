"""``/v1/co-partitionings`` over HTTP."""

from __future__ import annotations

import json

import pytest

from service.core.kafka_versions import LATEST

PATH = "/v1/co-partitionings"
ORDERS = {"topic_name": "orders", "partitions_count": 12, "partitioner": "librdkafka:consistent_random"}
CUSTOMERS = {"topic_name": "customers", "partitions_count": 18}


def test_differences_have_remedies(client):
    answer = client.post(PATH, json={"topics": [ORDERS, CUSTOMERS]}).json
    assert not answer["joinable"]
    assert answer["meeting_share"] == pytest.approx(1 / 18)
    assert [one["what"] for one in answer["differences"]] == ["partitions_count", "hash"]
    assert answer["differences"][0]["values"] == ["12", "18"]
    assert answer["differences"][1]["settings"] == [
        {"topic_name": "orders", "partitioner": "librdkafka:murmur2_random", "setting": "partitioner=murmur2_random"}
    ]
    assert answer["kafka_streams"] == {
        "starts": False,
        "message": "Invalid topology: Topics not co-partitioned: [{customers=18, orders=12}]",
        "misses_matches": False,
    }


def test_streams_starts_and_misses_what_it_does_not_look_at(client):
    answer = client.post(PATH, json={"topics": [ORDERS, {**CUSTOMERS, "partitions_count": 12}]}).json
    assert answer["kafka_streams"] == {"starts": True, "message": None, "misses_matches": True}


def test_topics_that_are_alike_can_be_joined(client):
    answer = client.post(
        PATH, json={"topics": [{"partitions_count": 12}, {"partitions_count": 12, "partitioner": "kafkajs"}]}
    ).json
    assert answer == {
        "conclusion": "first and second are co-partitioned: each key is on the same partition of both.",
        "kafka_version": LATEST,
        "joinable": True,
        "meeting_share": 1.0,
        "kafka_streams": {"starts": True, "message": None, "misses_matches": False},
        "differences": [],
        "notes": [],
    }


@pytest.mark.parametrize(
    ("topics", "pointer", "detail"),
    [
        ([ORDERS], "/topics", "Length must be 2"),
        ([ORDERS, ORDERS], "/topics/1/topic_name", "Duplicate topic_name"),
        ([ORDERS, {"partitions_count": 1, "partitioner": "jaava"}], "/topics/1/partitioner", "no partitioner 'jaava'"),
        ([ORDERS, {"partitions_count": 0}], "/topics/1/partitions_count", "greater than or equal to 1"),
        (
            [{**ORDERS, "partitioner": "pulsar", "key_format": "int"}, CUSTOMERS],
            "/topics/0/key_format",
            "does not accept int keys",
        ),
        ([{**ORDERS, "partitioner": "cassandra:murmur3"}, CUSTOMERS], "/topics/0/partitioner", "tokens"),
    ],
)
def test_errors_are_reported_at_their_field(client, topics, pointer, detail):
    response = client.post(PATH, json={"topics": topics})
    assert response.status_code == 422
    (error,) = response.json["errors"]
    assert error["pointer"] == pointer
    assert detail in error["detail"]


def test_a_name_may_be_half_a_surrogate_pair(client):
    body = {"topics": [{"topic_name": "orders", "partitions_count": 12}, {"topic_name": "\ud800", "partitions_count": 6}]}
    response = client.post("/v1/co-partitionings", data=json.dumps(body), content_type="application/json")
    assert response.status_code == 200, response.text
