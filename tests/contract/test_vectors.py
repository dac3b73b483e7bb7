"""The golden vectors are the contract's examples: each ``request`` can be posted as it is.

The answer holds every field of ``expected`` with that value; where Kafka refuses, it is a 422 whose ``type`` ends in Kafka's
error name in kebab case, and in ``kafka-assignor-fails`` where an assignor's own code fails.

Of the groups and placements some 25 to 50 of each file are posted; the core's tests decide all of them.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from service.http.problems import kebab
from service.strategies import GROUP_PROTOCOLS
from tests.support.golden import CHOICE, WHOLE, texts

ENDPOINTS = {"partitions": "/v1/partitions", "groups": "/v1/group-assignments", "placement": "/v1/replica-placements"}
NO_REQUESTS = {"partitions/hashes", "partitions/serializers"}
"""Flat lists of values, which the core's tests read."""


def files() -> list[str]:
    folder = WHOLE if WHOLE.exists() else CHOICE
    names = {
        f"{kind}/{path.name.removesuffix('.gz').removesuffix('.jsonl')}"
        for kind in ENDPOINTS
        for path in folder.glob(f"{kind}/*.jsonl*")
    }
    return sorted(names - NO_REQUESTS)


@pytest.mark.parametrize("name", files())
def test_every_request_is_answered_as_kafka_does(client, name):
    path = "/v1/coordinators" if name.endswith("coordinators") else ENDPOINTS[name.partition("/")[0]]
    requests = 0
    cases = list(texts(name))
    for case in map(json.loads, cases if name.startswith("partitions/") else cases[:: max(1, len(cases) // 25)]):
        request = dict(case["request"])
        if "kafka_version" in case:
            request["kafka_version"] = case["kafka_version"]
        if not is_offered(request):
            continue
        requests += 1
        response = client.post(path, json=request)
        expected = case["expected"]
        if "error" in expected:
            refused(case["id"], response, expected)
        else:
            assert response.status_code == 200, (case["id"], response.text[:500])
            answer = response.json  # parsed once
            assert {field: answer.get(field, "absent") for field in expected} == expected, case["id"]
    if not requests:
        pytest.skip("none of these strategies is offered")


def is_offered(request: dict[str, Any]) -> bool:
    if "group_protocol" not in request:
        return True
    registry = GROUP_PROTOCOLS.get(request["group_protocol"])
    return registry is not None and request["assignor"] in {assignor.name for assignor in registry}


def refused(case: str, response: Any, expected: dict[str, Any]) -> None:
    assert response.status_code == 422, (case, response.text[:500])
    problem, error = response.json, expected["error"]
    if isinstance(error, dict):
        assert problem["type"].endswith(":kafka-assignor-fails"), case
        if error["exception"] is not None:  # else the real assignor was stopped after half a minute
            assert (problem["exception"], problem["message"]) == (error["exception"], error["message"]), case
        return
    assert problem["type"].endswith(":" + kebab(error)), (case, problem["type"])
    for field, value in expected.items():
        assert problem[field] == value, (case, field)
