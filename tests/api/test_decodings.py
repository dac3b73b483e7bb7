"""``/v1/decodings`` as a caller sees it."""

from __future__ import annotations

import base64

import pytest

from service.web.problems import kebab
from tests.support.captures import PROTOCOL, RECORDS
from tests.support.golden import lines

PATH = "/v1/decodings"
SUBSCRIPTION = "AAMAAAABAAVhLjNyOf////8AAAABAAVhLjNyOQAAAAMAAAAAAAAAAgAAApcAAAClAAx6b25lLTIvcm93LTE="


@pytest.mark.parametrize("name", RECORDS)
def test_records_are_read_and_printed_as_kafka_does(client, name):
    release = name.removeprefix("printed-by-") if name.startswith("printed-by-") else "4.3.1"
    for case in lines(f"offsets/{name}"):
        response = client.post(PATH, json={"kind": RECORDS[name], "kafka_version": release, **case["input"]})
        expected = case["expected"]
        assert response.status_code == (422 if "error" in expected else 200), (case["id"], response.text)
        assert {field: response.json.get(field, "absent") for field in expected} == expected, case["id"]
        if "error" in expected:
            refused(case, response.json)


@pytest.mark.parametrize("name", PROTOCOL)
def test_what_consumers_send_is_read_as_kafka_does(client, name):
    for case in lines(f"protocol/{name}"):
        response = client.post(PATH, json={"kind": case["kind"], "bytes_base64": case["bytes_base64"]})
        expected = case["decoded"]
        if "error" in expected:
            assert response.status_code == 422, (case["id"], response.text)
            assert {field: response.json[field] for field in expected} == expected, case["id"]
            refused(case, response.json)
        else:
            assert response.status_code == 200, (case["id"], response.text)
            assert (response.json["version"], response.json["decoded"]) == (case["version"], expected), case["id"]


def refused(case, problem):
    """The problem has Kafka's name, and the place in the bytes."""
    assert problem["type"].endswith(":" + kebab(problem["error"])), case["id"]
    (error,) = problem["errors"]
    bytes_there = {**case, **case.get("input", {})}[error["pointer"].removeprefix("/")]
    assert 0 <= problem["offset"] <= len(base64.b64decode(bytes_there or "")), case["id"]


def test_a_subscription_is_also_a_member_that_can_be_assigned(client):
    asked = {"kind": "subscription", "bytes_base64": SUBSCRIPTION, "member_id": "c1", "instance_id": "i1"}
    member = client.post(PATH, json=asked).json["member"]
    assert member == {
        "member_id": "c1",
        "instance_id": "i1",
        "rack_id": "zone-2/row-1",
        "generation_id": 165,
        "topic_names": ["a.3r9"],
        "owned_partitions": [{"topic_name": "a.3r9", "partition_ids": [0, 2, 663]}],
    }
    topics = [{"topic_name": "a.3r9", "partitions_count": 700}]
    question = {"assignor": "cooperative-sticky", "topics": topics, "members": [member]}
    assert client.post("/v1/group-assignments", json=question).json["movement"]["retained"] == 3


def test_user_data_that_an_assignor_passes_over_is_said_to_be_unreadable(client):
    answer = client.post(PATH, json={"kind": "sticky_user_data", "bytes_base64": "AAAAAQAB"}).json
    assert answer["decoded"] == {"previous_assignment": [], "generation": -1}
    assert answer["unreadable"] == {"offset": 6, "detail": "topic is to have 1 bytes, and 0 are left"}
    assert "unreadable" not in client.post(PATH, json={"kind": "sticky_user_data", "bytes_base64": "AAAAAA=="}).json


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/kind"),
        ({"kind": "colour"}, "/kind"),
        ({"kind": "assignment"}, "/bytes_base64"),
        ({"kind": "assignment", "bytes_base64": "AAA"}, "/bytes_base64"),
        ({"kind": "assignment", "bytes_base64": "ä"}, "/bytes_base64"),
        ({"kind": "assignment", "bytes_base64": None}, "/bytes_base64"),
        ({"kind": "assignment", "bytes_base64": "AAA=", "key_base64": "AAA="}, "/key_base64"),
        ({"kind": "group_record", "key_base64": "AAA="}, "/value_base64"),
        ({"kind": "group_record", "value_base64": "AAA="}, "/key_base64"),
        ({"kind": "group_record", "key_base64": "AAA=", "value_base64": None, "kafka_version": "2.0"}, "/kafka_version"),
        ({"kind": "share_group_state_record", "bytes_base64": "AAA="}, "/key_base64"),
        (
            {"kind": "share_group_state_record", "key_base64": "AAA=", "value_base64": None, "kafka_version": "0.10.2.1"},
            "/kafka_version",
        ),
        ({"kind": "assignment", "bytes_base64": "AAA=", "colour": 1}, "/colour"),
    ],
)
def test_what_is_wrong_is_pointed_at(client, body, pointer):
    response = client.post(PATH, json=body)
    assert response.status_code == 422
    assert [error["pointer"] for error in response.json["errors"]] == [pointer]
