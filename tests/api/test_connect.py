"""``POST /v1/connect-assignments``, and its bodies at ``/v1/group-assignments``."""

from __future__ import annotations

import pytest

from service.api.connect import EXAMPLE
from tests.support.golden import lines

PATH = "/v1/connect-assignments"


def test_a_body_of_connect_is_answered_at_group_assignments_too(client):
    assert (
        client.post("/v1/group-assignments?explain=true", json=EXAMPLE).data
        == client.post(f"{PATH}?explain=true", json=EXAMPLE).data
    )
    table = client.post("/v1/group-assignments", json=EXAMPLE, headers={"Accept": "text/csv"})
    assert table.data == client.post(PATH, json=EXAMPLE, headers={"Accept": "text/csv"}).data
    fault = client.post("/v1/group-assignments", json={"group_protocol": "connect", "round": []}).json
    assert fault == client.post(PATH, json={"group_protocol": "connect", "round": []}).json | {
        "request_id": fault.get("request_id")
    }
    assert "rounds" in fault["errors"][-1]["detail"] + fault["errors"][0]["detail"]


@pytest.mark.parametrize("case", list(lines("releases/4.3.1/connect-sessioned"))[:10], ids=lambda case: case["id"])
def test_rounds_can_be_asked_one_by_one(client, case):
    """An answer holds all that the next request needs."""
    body = {**case["request"], "rounds": [{**row, "workers": _without_work(row)} for row in case["request"]["rounds"]]}
    whole = client.post(PATH, json=body).json
    states, runs = [], {}
    for row, expected in zip(body["rounds"], whole["rounds"], strict=True):
        workers = [runs.get(worker["member_id"], worker) for worker in row["workers"]]
        one = client.post(PATH, json={**body, "leader_states": states, "rounds": [{**row, "workers": workers}]}).json
        assert one["rounds"] == [expected]
        states = one["leader_states"]
        runs |= {worker["member_id"]: worker for worker in one["workers"]}
    assert states == whole["leader_states"]


def _without_work(row):
    return [{"member_id": worker["member_id"]} for worker in row["workers"]]


def round_of(**fields):
    return {"connectors": [{"connector_name": "c", "tasks_count": 1}], "workers": [{"member_id": "w"}], **fields}


@pytest.mark.parametrize(
    ("body", "pointers"),
    [
        ({"rounds": []}, ["/rounds"]),
        ({"rounds": [round_of(connectors=None)]}, ["/rounds/0/connectors"]),
        ({"rounds": [round_of(at_ms=5), round_of(at_ms=4)]}, ["/rounds/1/at_ms"]),
        ({"rounds": [round_of(workers=[])]}, ["/rounds/0/workers"]),
        ({"rounds": [round_of(workers=[{"member_id": "w"}] * 2)]}, ["/rounds/0/workers/1/member_id"]),
        ({"rounds": [round_of(leader_id="x")], "leader_id": "y"}, ["/rounds/0/leader_id"]),
        ({"rounds": [round_of()], "leader_id": "y", "assignor": "range"}, ["/assignor", "/leader_id"]),
        ({"rounds": [round_of()], "kafka_version": "4.3.0"}, ["/kafka_version"]),
        ({"rounds": [round_of()], "group_protocol": "classic"}, ["/group_protocol"]),
        ({"rounds": [round_of()], "leader_states": [{"leader_id": "w"}] * 2}, ["/leader_states/1/leader_id"]),
        ({"rounds": [round_of(connectors=[{"connector_name": "c", "tasks_count": 2**31 - 1}])]}, ["/rounds"]),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(client, body, pointers):
    response = client.post(PATH, json=body)
    assert response.status_code == 422
    assert [error["pointer"] for error in response.json["errors"]] == pointers


def test_the_generation_after_the_largest_is_javas(client):
    rounds = client.post(PATH, json={"rounds": [round_of(generation_id=2**31 - 1), round_of()]}).json["rounds"]
    assert [each["generation_id"] for each in rounds] == [2**31 - 1, -(2**31)]
