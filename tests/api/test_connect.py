"""``POST /v1/connect-assignments``, and its bodies at ``/v1/group-assignments``."""

from __future__ import annotations

import random
import re

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


def drawn(seed):
    """Rounds of workers that come and go, and of connectors that change."""
    draw = random.Random(seed)
    names = draw.sample(["jdbc", "s3", "es", "mm2", "mqtt"], draw.randint(1, 4))
    rounds, now = [], 0
    for i in range(draw.randint(1, 4)):
        workers = draw.sample([f"w{i}" for i in range(5)], draw.randint(1, 4))
        rounds.append({"at_ms": now, "workers": [{"member_id": worker} for worker in workers]})
        if i == 0 or draw.random() < 0.3:
            tasks = {name: draw.randint(0, 5) for name in names if draw.random() < 0.9}
            rounds[-1]["connectors"] = [{"connector_name": name, "tasks_count": count} for name, count in tasks.items()]
        now += draw.choice([1_000, 60_000, 400_000])
    delay = draw.choice([0, 60_000, 300_000])
    assignor, follow_ups = draw.choice(["eager", "compatible", "sessioned"]), draw.random() < 0.5
    return {
        "assignor": assignor, "rounds": rounds, "follow_ups": follow_ups, "scheduled_rebalance_max_delay_ms": delay,
    }  # fmt: skip


def work_of(row, prefix=""):
    """The connectors (name, None) and tasks (name, id) of a row of an answer."""
    tasks = {(each["connector_name"], i) for each in row.get(f"{prefix}tasks", ()) for i in each["task_ids"]}
    return tasks | {(name, None) for name in row.get(f"{prefix}connectors", ())}


def test_the_conclusion_counts_what_runs_and_what_stops(client):
    said = set()
    for seed in range(200):
        body = drawn(seed)
        answer = client.post(PATH, json=body).json
        text, last = answer["conclusion"], answer["rounds"][-1]
        runs = [work_of(worker) for worker in answer["workers"]]
        rows = [row["connectors"] for row in body["rounds"] if "connectors" in row][-1]
        configured = {(row["connector_name"], i) for row in rows for i in (None, *range(row["tasks_count"]))}
        tasks = [sum(task is not None for _, task in work) for work in runs]
        counts = [len(answer["rounds"]), len(runs), *sorted({min(tasks), max(tasks)})]
        assert [int(count) for count in re.findall(r"\d+", text.split(";")[0])] == counts, (seed, text)
        for words, count in (
            (
                "stopped on the way",
                sum(len(work_of(each, "revoked_")) for row in answer["rounds"] for each in row["assignments"]),
            ),
            ("run by no worker", len(configured.difference(*runs))),
            ("run though no longer configured", len(set().union(*runs) - configured)),
        ):
            found = re.search(rf"(\d+) connectors? (?:or|and) tasks? (?:is|are) {words}", text)
            assert int(found[1] if found else 0) == count, (seed, text)
            said |= {words} if found else set()
        assert ("join again at once" in text) == last["follow_up_rebalance"], (seed, text)
        assert ("join again after" in text) == (last["delay_ms"] > 0 and not last["follow_up_rebalance"]), (seed, text)
        assert ("stops all that runs" in text) == (body["assignor"] == "eager" and len(answer["rounds"]) > 1), (seed, text)
    assert len(said) == 3
