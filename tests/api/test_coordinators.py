"""``/v1/coordinators`` as a caller sees it."""

from __future__ import annotations

import json

import pytest

from tests.support import golden

PATH = "/v1/coordinators"


def test_golden_requests_are_answered_as_they_are(client):
    for case in golden.lines("partitions/coordinators"):
        response = client.post(PATH, data=json.dumps(case["request"]), content_type="application/json")
        assert {name: response.json[name] for name in case["expected"]} == case["expected"], case["id"]


def test_a_query_asks_the_same(client):
    assert client.get(f"{PATH}?group_id=orders").data == client.post(PATH, json={"group_id": "orders"}).data
    assert client.get(f"{PATH}?transactional_id=t&partitions_count=7").json["topic_name"] == "__transaction_state"


def test_an_explanation_shows_the_hash_code(client):
    steps = client.get(f"{PATH}?group_id=polygenelubricants&explain=true").json["explanation"]
    assert (steps["hash"], steps["after_sign_rule"], steps["result"]) == (-(2**31), 0, 0)


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, ""),
        ({"group_id": "a", "transactional_id": "b"}, ""),
        ({"group_id": "a", "partitions_count": 0}, "/partitions_count"),
        ({"group_id": "a", "partitions_count": "50"}, "/partitions_count"),
        ({"group_id": "a", "colour": 1}, "/colour"),
        ({"group_id": 1}, "/group_id"),
        ({"share_partition": {"group_id": "a", "topic_id": "short", "partition": 0}}, "/share_partition/topic_id"),
        ({"share_partition": {"group_id": "a", "topic_id": "A" * 22, "partition": -1}}, "/share_partition/partition"),
    ],
)
def test_what_is_wrong_is_pointed_at(client, body, pointer):
    response = client.post(PATH, json=body)
    assert response.status_code == 422
    assert [error["pointer"] for error in response.json["errors"]] == [pointer]
