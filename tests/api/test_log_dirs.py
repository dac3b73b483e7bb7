"""``POST /v1/log-dir-plans``: replicas move between the disks of their broker, and the file says so to Kafka."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

import pytest

from service.api.log_dirs import EXAMPLE

if TYPE_CHECKING:
    from flask.testing import FlaskClient


def log_dir(path: str, sizes: dict[int, int], name: str = "t", **fields: Any) -> dict[str, Any]:
    replicas = [{"topic_name": name, "partition_ids": list(sizes), "partition_bytes": list(sizes.values())}] if sizes else []
    return {"log_dir": path, "replicas": replicas, **fields}


def topic(lists: dict[int, list[int]], name: str = "t") -> dict[str, Any]:
    return {"topic_name": name, "placements": [{"partition_id": i, "replicas": replicas} for i, replicas in lists.items()]}


def broker(broker_id: int, *log_dirs: dict[str, Any]) -> dict[str, Any]:
    return {"broker_id": broker_id, "log_dirs": list(log_dirs)}


def planned(client: FlaskClient, body: dict[str, Any], status: int = 200) -> dict[str, Any]:
    answer = client.post("/v1/log-dir-plans", json=body)
    assert answer.status_code == status, answer.text
    document: dict[str, Any] = answer.get_json()
    return document


def where(reassignment: dict[str, Any]) -> dict[tuple[str, int], list[tuple[int, str]]]:
    """(topic, partition) → (broker, directory) of its replicas."""
    return {
        (row["topic"], row["partition"]): list(zip(row["replicas"], row["log_dirs"], strict=True))
        for row in reassignment["partitions"]
    }


def test_a_partition_may_move_on_several_brokers_and_keeps_its_list_of_replicas(client):
    """Replicas of other lengths stand beside it; what does not move is "any"."""
    body = {
        "brokers": [
            broker(1, log_dir("/a", {0: 5, 1: 3, 2: 1}, draining=True), log_dir("/b", {})),
            broker(2, log_dir("/b", {0: 5}), log_dir("/c", {1: 3}, draining=True)),
        ],
        "topics": [topic({0: [2, 1], 1: [3, 1, 2], 2: [1], 3: [3]})],
    }
    answer = planned(client, body)
    assert where(answer["reassignment"]) == {
        ("t", 0): [(2, "any"), (1, "/b")],
        ("t", 1): [(3, "any"), (1, "/b"), (2, "/b")],
        ("t", 2): [(1, "/b")],
    }
    assert where(answer["rollback"])["t", 1] == [(3, "any"), (1, "/a"), (2, "/c")]
    assert [batch["reassignment"] for batch in answer["batches"]] == [answer["reassignment"]]
    assert answer["moves"] == {"replicas": 4, "bytes": 12, "lower_bound": 12, "gap": 0.0}
    assert answer["brokers"]["bytes"] == [9, 3]
    assert answer["conclusion"] == ("Empties /a of broker 1, /c of broker 2 with 4 moves of 12 bytes, the fewest bytes possible.")
    assert {row["reason"] for row in answer["reasons"]} == {"drains /a", "drains /c"}


def test_another_order_of_the_body_and_a_second_plan(client):
    """The plan done, the same question moves nothing."""
    sizes = {i: (i * 37) % 50 + 1 for i in range(12)}
    body = {
        "objective": "even",
        "brokers": [broker(1, log_dir("/a", sizes), log_dir("/b", {}), log_dir("/c", {}))],
        "topics": [topic({i: [1, 2] for i in range(12)})],
    }
    answer = planned(client, body)
    after = dict.fromkeys(sizes, "/a") | {p: moved[0][1] for (_, p), moved in where(answer["reassignment"]).items()}
    dirs = [log_dir(path, {i: sizes[i] for i in sizes if after[i] == path}) for path in ("/a", "/b", "/c")]
    assert answer["after"]["bytes"]["totals"] == [sum(sizes[i] for i in sizes if after[i] == path) for path in ("/a", "/b", "/c")]
    again = planned(client, {**body, "brokers": [broker(1, *dirs)]})
    assert again["conclusion"].startswith("Nothing moves: no")
    assert again["effects"] == []
    assert again["batches"] == again["reasons"] == []
    assert answer["brokers"]["skews_before"] == [3.0]
    assert answer["brokers"]["skews_after"][0] < 1.05


def test_a_threshold_moves_the_fewest_bytes_and_counts_what_else_is_on_the_disk(client):
    sizes = {0: 50, 1: 20, 2: 10}
    full = log_dir("/a", sizes, capacity_bytes=100, used_bytes=90)  # 10 of them are not Kafka's
    body = {
        "disk_threshold": 0.85,
        "brokers": [broker(1, full, log_dir("/b", {}, capacity_bytes=100, used_bytes=40))],
        "topics": [topic({i: [1] for i in sizes})],
    }
    answer = planned(client, body)
    assert [(row["partition_id"], row["to"], row["reason"]) for row in answer["reasons"]] == [(2, "/b", "limits of /a")]
    assert answer["before"]["usage"] == [0.9, 0.4]
    assert answer["after"]["usage"] == [0.8, 0.5]
    below = planned(client, {**body, "disk_threshold": 0.9})
    assert not below["reasons"]


def test_full_disks_that_exchange_replicas_take_a_detour_in_batches(client):
    """No step puts more on a disk than fits, also while a replica is on two."""
    dirs = [log_dir(path, {i: 60}, capacity_bytes=100, draining=path == "/a") for i, path in enumerate(["/a", "/b"])]
    body = {
        "brokers": [broker(1, *dirs, log_dir("/c", {2: 30}, capacity_bytes=100))],
        "topics": [topic({i: [1] for i in range(3)})],
    }
    answer = planned(client, body)
    assert answer["after"]["bytes"]["totals"] == [0, 60, 90]
    crossed = [
        log_dir("/a", {0: 60, 1: 30}, capacity_bytes=100, draining=True),
        log_dir("/b", {2: 35, 3: 10}, capacity_bytes=100),
    ]
    body["brokers"] = [broker(1, *crossed, log_dir("/c", {4: 45, 5: 15}, capacity_bytes=100))]
    body["topics"] = [topic({i: [1] for i in range(6)})]
    answer = planned(client, body)
    steps = [sum(len(batch["reassignment"]["partitions"]) for batch in answer["batches"]), len(answer["batches"])]
    assert steps[0] == answer["moves"]["replicas"] == len(answer["reasons"])
    assert steps[1] > 1
    assert answer["after"]["bytes"]["totals"][0] == 0


def test_what_the_directories_cannot_have_is_infeasible(client):
    body = {
        "brokers": [broker(1, log_dir("/a", {0: 60, 1: 50}, draining=True), log_dir("/b", {2: 10}, capacity_bytes=100))],
        "topics": [topic({i: [1] for i in range(3)})],
    }
    problem = planned(client, body, 422)
    assert problem["type"].endswith(":infeasible")
    assert {each["rule"] for each in problem["clash"]} == {"draining", "capacity_bytes"}
    assert problem["remedies"] == ["Keep /a.", "Add room for 20% more bytes on each directory."]
    none_left = {**body, "brokers": [broker(1, log_dir("/a", {0: 60}, draining=True))]}
    assert planned(client, none_left, 422)["detail"] == (
        "The log directories of broker 1 cannot hold all its replicas: /a is draining, with 60 bytes."
    )


def test_replicas_without_a_placement_or_of_excluded_topics_stay(client):
    body = {
        "brokers": [broker(1, log_dir("/a", {0: 6, 1: 5, 2: 4}, draining=True), log_dir("/b", {}))],
        "topics": [topic({0: [1, 2], 1: [2]}), topic({0: [1]}, "u")],
        "excluded_topics": ["u"],
    }
    answer = planned(client, body)
    assert where(answer["reassignment"]) == {("t", 0): [(1, "/b"), (2, "any")]}
    keeps = "/a of broker 1 keeps 2 replicas, of t (without a placement on this broker in topics): it is not empty afterwards."
    assert answer["conclusion"].startswith(keeps)
    assert not answer["complete"]
    excluded = planned(client, {**body, "excluded_topics": ["t"]})
    assert not excluded["reasons"]
    assert "(excluded or without a placement on this broker in topics)" in excluded["conclusion"]


def test_limits_and_throttle_are_of_each_broker(client):
    dirs = log_dir("/a", dict.fromkeys(range(4), 10), draining=True), log_dir("/b", {}), log_dir("/c", {})
    body = {
        "brokers": [broker(1, *dirs), broker(2, *dirs)],
        "topics": [topic({i: [1, 2] for i in range(4)})],
        "limits": {"moves_per_broker": 2, "throttle_bytes_per_second": 10, "throttle_utilization": 1, "batch_seconds": 0.5},
    }
    answer = planned(client, body)
    assert [(batch["moves"], batch["bytes"], batch["duration_seconds"]) for batch in answer["batches"]] == [(4, 40, 2.5)] * 2
    assert answer["duration_seconds"] == 5.0
    in_flight = planned(client, {**body, "limits": {"bytes_in_flight": 10}})
    assert [batch["moves"] for batch in in_flight["batches"]] == [2] * 4
    one_each = planned(client, {**body, "limits": {"moves_per_log_dir": 1}})
    assert [batch["moves"] for batch in one_each["batches"]] == [2] * 4
    some = planned(client, {**body, "objective": "even", "max_moves": 4})
    assert some["moves"]["replicas"] == 8
    problem = planned(client, {**body, "objective": "even", "max_moves": 3}, 422)
    assert problem["clash"] == [{"rule": "max_moves", "detail": "max_moves is 3, and the fewest found are 4."}]


def test_the_table_and_the_tag(client):
    response = client.post("/v1/log-dir-plans", json=EXAMPLE, headers={"Accept": "text/csv"})
    rows = list(csv.DictReader(io.StringIO(response.text)))
    assert [(row["partition_id"], row["from"], row["to"], row["bytes"], row["batch"]) for row in rows] == [
        ("0", "/data/a", "/data/c", "2000000000", "1"),
        ("2", "/data/a", "/data/c", "1000000000", "1"),
    ]
    answer = client.post("/v1/log-dir-plans", json=EXAMPLE)
    assert answer.headers["ETag"] == f'"{answer.json["plan_id"]}"'


@pytest.mark.parametrize(
    ("brokers", "pointer", "detail"),
    [
        (
            [broker(1, log_dir("/a", {0: 1}), log_dir("/b", {1: 1, 0: 1}))],
            "/brokers/0/log_dirs/1/replicas/0/partition_ids/1",
            "The broker has a replica of t-0 already.",
        ),
        (
            [broker(1, log_dir("/a", {}), log_dir("/b", {0: -1}))],
            "/brokers/0/log_dirs/1/replicas/0/partition_bytes/0",
            "Must be greater than or equal to 0 and less than or equal to 1125899906842624.",
        ),
        ([{"broker_id": 1}], "/brokers/0/log_dirs", "Missing data for required field."),
    ],
)
def test_faults_name_the_place(client, brokers, pointer, detail):
    problem = planned(client, {"brokers": brokers, "topics": [topic({0: [1], 1: [1]})]}, 422)
    assert problem["errors"] == [{"pointer": pointer, "detail": detail}]
