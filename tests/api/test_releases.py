"""Recorded requests are answered as each release of Kafka answered them, under its own name and as the default."""

from __future__ import annotations

import json
from importlib import import_module
from itertools import islice

import pytest

from service.core.assignors import KAFKAS
from service.decisions.families import FAMILIES
from tests.support import golden
from tests.support.jvm import COMPARED, FORMER_CLIENTS

ASSIGNORS = [f"{protocol}-{assignor.name}" for protocol, assignors in KAFKAS.items() for assignor in assignors]
PATHS = dict.fromkeys(ASSIGNORS, "/v1/group-assignments") | {"placement-striped": "/v1/replica-placements"}


@pytest.mark.parametrize(
    ("release", "strategy"),
    [
        *((release, strategy) for release in COMPARED for strategy in PATHS),
        ("3.9.1", "placement-striped"),
        *((release, strategy) for release in FORMER_CLIENTS for strategy in PATHS if strategy.startswith("classic-")),
    ],
)
def test_a_release_is_answered_as_it_answered(client, release, strategy):
    """Of groups a tenth; the core's tests assign them all."""
    cases = golden.texts(f"releases/{release}/{strategy}")
    for case in map(json.loads, islice(cases, 0, None, 1 if strategy == "placement-striped" else 10)):
        response = client.post(PATHS[strategy], json={**case["request"], "kafka_version": release})
        answer = response.json
        if "error" in case["expected"]:
            assert response.status_code == 422, case["id"]
            assert answer["exception"] == case["expected"]["error"]["exception"], case["id"]
            assert answer["detail"] == case["expected"]["error"]["message"], case["id"]
        else:
            expected = {"kafka_version": release, **case["expected"]}
            assert {name: answer.get(name) for name in expected} == expected, case["id"]
            assert answer["implementation"]["release"] == release


@pytest.mark.parametrize(
    ("brokers", "factor", "words"),
    [
        ([{"broker_id": 0, "fenced": True}], 1, "All brokers are currently fenced."),
        (
            [{"broker_id": 0}],
            2,
            "The target replication factor of 2 cannot be reached because only 1 broker(s) are registered.",
        ),
    ],
)
def test_controllers_before_cordoning_have_other_words(client, brokers, factor, words):
    """The strings of StripedReplicaPlacer in kafka-metadata 3.9.1, 4.0.2 and 4.2.0."""
    body = {"placer": "striped", "partitions_count": 1, "replication_factor": factor, "brokers": brokers}
    old, new = (
        client.post("/v1/replica-placements", json={**body, "kafka_version": release}).json for release in ("3.9.1", "4.4.0")
    )
    assert old["detail"] == words
    assert "cordoned" in new["detail"]
    operations = {"placer": "striped", "brokers": brokers, "operations": [], "kafka_version": "3.9.1"}
    assert client.post("/v1/replica-placements", json=operations).status_code == 422


@pytest.mark.parametrize(("protocol", "oldest"), [("classic", "2.4.1"), ("consumer", "4.0.0"), ("share", "4.2.0")])
def test_an_unknown_release_is_refused_with_those_of_the_protocol(client, protocol, oldest):
    body = {"group_protocol": protocol, "topics": [], "members": [], "kafka_version": "2.8.0"}
    response = client.post("/v1/group-assignments", json=body)
    assert response.status_code == 422
    assert f"it supports {oldest}, " in response.json["detail"]


@pytest.mark.parametrize(
    "family", [each for each in FAMILIES if each.name not in {"descriptions", "histories"}], ids=lambda each: each.name
)
def test_every_family_takes_both_releases_and_names_the_newest_by_default(client, family):
    example = import_module(f"service.api.{family.name}").EXAMPLE
    for given, named in (({}, COMPARED[0]), *(({"kafka_version": release}, release) for release in COMPARED)):
        response = client.post(family.path, json={**example, **given})
        assert response.status_code == 200, response.text
        assert response.json["kafka_version"] == named


def test_producers_are_rack_aware_since_4_4_0(client):
    body = {
        "partitions": [{"partition_id": i, "leader_id": i} for i in range(2)],
        "brokers": [{"broker_id": i, "rack_id": "ab"[i]} for i in range(2)],
        "producers": [{"rack_id": "a"}],
        "rack_aware": True,
    }
    assert client.post("/v1/keyless-distributions", json=body).json["shares"] == [1.0, 0.0]
    response = client.post("/v1/keyless-distributions", json={**body, "kafka_version": "4.3.1"})
    assert [error["pointer"] for error in response.json["errors"]] == ["/rack_aware"]
