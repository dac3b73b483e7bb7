"""What requests reserve: each family's formula on requests whose size is in a number, and what happens beyond the budget."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import product

import pyarrow as pa
import pytest

from service.app import create_app
from service.config import Settings, memory_limit
from service.http.application import App

M = 1_000_000
BROKERS = [{"broker_id": broker} for broker in range(3)]
LARGE = {
    "keyless": ("/v1/keyless-distributions", {"partitions_count": 10 * M}),
    "placement": ("/v1/replica-placements", {"partitions_count": 10 * M, "replication_factor": 1, "brokers": BROKERS}),
    "plan": (
        "/v1/partition-count-plans",
        {"keys": ["a"], "partitions_counts": [1_000_003], "current_partitions_count": 999_983},
    ),
    "group": (
        "/v1/group-assignments",
        {"topics": [{"topic_name": "t", "partitions_count": 10 * M}], "members": [{"member_id": "a"}]},
    ),
    "keys": ("/v1/partitions", {"partitions_count": 12, "keys": ["a"] * 200_000}),
}


@pytest.fixture
def reserved(monkeypatch):
    """The bytes that requests have reserved."""
    sizes = []
    monkeypatch.setattr(App, "reserve", lambda _, __, size: sizes.append(size))
    return sizes


@pytest.mark.parametrize("name", LARGE)
def test_what_never_fits_is_refused_with_the_figure_and_the_setting(name):
    path, body = LARGE[name]
    app = create_app(replace(Settings(), max_decision_bytes=10 * M))
    answer = app.test_client().post(path, json=body)
    assert answer.status_code == 413
    assert "ALLOCATOR_MAX_DECISION_BYTES = 10000000" in answer.json["detail"]


def test_small_parts_add_up():
    """Each record that cannot be read reserves its memory for itself, too little to be counted alone."""
    app = create_app(replace(Settings(), max_decision_bytes=10 * M))
    records = {"kind": "group_record", "records": [{"key_base64": "AAE="}] * 8_000}
    assert app.test_client().post("/v1/decodings", json=records).status_code == 413


def test_memory_is_released_when_the_response_has_been_sent():
    app = create_app(replace(Settings(), max_decision_bytes=40 * M))
    budget = app.memory
    response = app.test_client().post("/v1/keyless-distributions", json={"partitions_count": 200_000})
    assert response.status_code == 200
    assert budget._free == budget.size - len(response.data)  # the arrays are gone, the response is not
    response.close()
    assert budget._free == budget.size


@pytest.mark.parametrize("body", [{"partitions_count": 200_000, "brokers": 1}, {"partitions_count": 200_000, "rack_aware": True}])
def test_a_refused_request_releases_its_memory(body):
    app = create_app(replace(Settings(), max_decision_bytes=40 * M))
    budget = app.memory
    response = app.test_client().post("/v1/keyless-distributions", json=body)
    assert response.status_code == 422
    response.close()
    assert budget._free == budget.size


def test_requests_that_wait_for_memory_leave_a_place_to_small_ones():
    app = create_app(replace(Settings(), max_decision_bytes=400 * M, max_concurrent=2))
    memory, large = app.memory, {"partitions_count": 500_000}
    memory.reserve(memory.size)
    with ThreadPoolExecutor(3) as clients:
        waiting = [clients.submit(app.test_client().post, "/v1/keyless-distributions", json=large) for _ in range(2)]
        while not (app._admission._long_queue or memory.shortage() > 100 * M):
            time.sleep(0.01)
        small = clients.submit(app.test_client().get, "/v1/partitions?key=a&partitions_count=3").result()
        memory.release(memory.size)
        assert [answer.result().status_code for answer in waiting] == [200, 200]
    assert small.status_code == 200


PROGRAM = """
import base64, json, os, sys
from dataclasses import replace
from pathlib import Path

from service.app import create_app
from service.config import Settings
from service.decisions.rebalances import answer
from service.http.application import App
from service.server.heaps import trim

answer.MOST_CELLS = 100_000  # as with few_draws: a hundred, one after the other, take no more memory

def kilobytes(name):
    return int(next(line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name)))

def sent(value):
    if isinstance(value, str):
        return {"data": base64.b64decode(value), "content_type": "application/vnd.apache.arrow.stream"}
    return {"data": json.dumps(value), "content_type": "application/json"}

def measure(path, small, large, accept):
    client.post(path, **sent(small), headers=accept).close()
    body = sent(large)
    reserved.clear()
    Path("/proc/self/clear_refs").write_text("5")
    before = kilobytes("VmRSS")
    response = client.post(path, **body, headers=accept, buffered=False)
    size = sum(map(len, response.response))
    assert response.status_code == 200
    print((kilobytes("VmHWM") - before) * 1024, sum(reserved), size, flush=True)

reserved = []
reserve = App.reserve
App.reserve = lambda hooks, environ, size: (reserved.append(size), reserve(hooks, environ, size))
client = create_app(replace(Settings(), max_decision_bytes=2**34)).test_client()
for line in sys.stdin:
    path, small, large, accept = json.loads(line)
    if isinstance(small, dict):  # Arrow's threads would be lost in the fork
        client.post(path, **sent(small), headers=accept).close()  # loads the kernels for all that follow
        trim()
    if (child := os.fork()) == 0:
        measure(path, small, large, accept)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        print(flush=True)
"""
"""Measures requests, each in a process of its own that need not import anything: what others have freed would serve it."""


@pytest.fixture(scope="module")
def measured():
    """``measured(path, small, large, accept)``: the memory that the large request takes and reserves, and its answer's size.

    small, large : JSON bodies, or Arrow streams in base64
    """
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:

        def measured(*question):
            program.stdin.write(f"{json.dumps(question)}\n")
            program.stdin.flush()
            return map(int, program.stdout.readline().split())

        yield measured


def group(partitions, topics, members, **more):
    return {
        "topics": [{"topic_name": f"topic-{i}", "partitions_count": partitions // topics} for i in range(topics)],
        "members": [{"member_id": f"consumer-{i:08}"} for i in range(members)],
        **more,
    }


def placement(partitions, factor):
    brokers = [{"broker_id": 1000 + i} for i in range(6)]
    return {"partitions_count": partitions, "replication_factor": factor, "brokers": brokers}


@pytest.mark.slow
@pytest.mark.parametrize("media_type", ["application/json", "text/csv", "application/vnd.apache.arrow.stream"])
@pytest.mark.parametrize(
    ("path", "small", "large"),
    [
        ("/v1/group-assignments", group(2, 1, 1), group(M // 2, 10, 1_000)),
        ("/v1/group-assignments", group(2, 1, 1, assignor="roundrobin"), group(M // 2, 1_000, 2_000, assignor="roundrobin")),
        ("/v1/group-assignments", group(2, 1, 1, group_protocol="share"), group(M // 2, 1_000, 3_000, group_protocol="share")),
        ("/v1/replica-placements", placement(1, 1), placement(M, 1)),
        ("/v1/replica-placements", placement(1, 3), placement(M // 2, 3)),
    ],
    ids=["range", "roundrobin", "share", "one replica", "three replicas"],
)
def test_a_large_answer_takes_what_is_reserved_for_it_and_is_in_memory_once(measured, path, small, large, media_type):
    peak, reserved, size = measured(path, small, large, {"Accept": media_type})
    assert peak < reserved + 12 * M  # of this the allocator, and what every request takes
    assert peak > size or media_type == "application/json"  # which is made while it is sent
    assert reserved < 3 * peak


def streams(tasks, **more):
    clients = [{"process_id": f"00000000-0000-0000-0000-{i:012}", "rack_id": "a"} for i in range(3)]
    subtopology = {"subtopology_id": "0", "tasks_count": tasks, "stateful": False, "source_topic_names": ["t"]}
    body = {"member_protocol": "classic", "assignor": "sticky", "subtopologies": [subtopology], "clients": clients, **more}
    return body | {"topics": [{"topic_name": "t", "partition_racks": [["a"]] * tasks}]} if more else body


@pytest.mark.parametrize("more", [{}, {"rack_aware_assignment_strategy": "min_traffic"}], ids=["without racks", "with racks"])
def test_memory_does_not_grow_with_the_square_of_the_tasks(measured, more):
    peak, reserved, _ = measured("/v1/streams-assignments", streams(3, **more), streams(30_000, **more), {})
    assert peak < reserved + 12 * M


NAME = "\1" * 1_000
"""Six bytes of JSON for each."""


def long_subtopology(n):
    members = [{"member_id": f"m{i}", "process_id": "p"} for i in range(n)]
    return {"subtopologies": [{"subtopology_id": NAME, "tasks_count": n, "stateful": False}], "members": members}


def long_connector(n):
    workers = [{"member_id": f"w{i}"} for i in range(n)]
    return {"rounds": [{"connectors": [{"connector_name": NAME, "tasks_count": n}], "workers": workers}]}


def long_topics(n):
    restart = {"type": "member_restarts", "member_id": f"0{NAME}", "down_ms": 60_000}
    return {
        "topics": [{"topic_name": f"{NAME[:240]}{i}", "partitions_count": 1} for i in range(n)],
        "members": [{"member_id": f"{i}{NAME}"} for i in range(30)],
        "assignor": "cooperative-sticky",
        "events": [restart | {"at_ms": 100_000 * i} for i in range(n // 10)],
        "detail": "assignments",
    }


def long_explanation(n):
    """In the lists of what is kept and given, and of what is withheld, with those that claim it."""
    restart = {"type": "member_restarts", "down_ms": 100_000}
    return {
        "topics": [{"topic_name": NAME[:249], "partitions_count": n}],
        "members": [{"member_id": f"{i}{NAME}"} for i in range(3)],
        "assignor": "cooperative-sticky",
        "events": [restart | {"at_ms": 400_000 * i, "member_id": f"{i % 3}{NAME}"} for i in range(1, 7)],
        "detail": "assignments",
    }


@pytest.mark.parametrize(
    ("path", "body", "n"),
    [
        ("/v1/group-rebalances?explain=true", long_explanation, 400),
        ("/v1/streams-assignments", long_subtopology, 10_000),
        ("/v1/connect-assignments", long_connector, 5_000),
        ("/v1/group-rebalances", long_topics, 200),
    ],
)
def test_names_that_an_answer_has_many_times_are_reserved(measured, path, body, n):
    peak, reserved, size = measured(path, body(10), body(n), {})
    assert size > 50 * M
    assert peak < reserved + 12 * M


def placed(n, **more):
    topics = [{"topic_name": f"topic-{i}", "placements": [{"partition_id": 0, "replicas": [1]}]} for i in range(n)]
    return {"brokers": BROKERS, "topics": topics, **more}


LOG_DIRS = [{"broker_id": 1, "log_dirs": [{"log_dir": "/a", "replicas": []}, {"log_dir": "/b", "replicas": []}]}]
CONNECTORS = [{"connector_name": "c", "tasks_count": 3}]
ROWS = {
    "reassignments": placed,
    "log-dir-plans": partial(placed, brokers=LOG_DIRS),
    "replica-placements": lambda n: {
        "placer": "striped",
        "brokers": BROKERS,
        "topics": [{"topic_name": f"topic-{i}", "partitions_count": 1, "replication_factor": 1} for i in range(n)],
    },
    "connect-assignments": lambda n: {
        "rounds": [{"connectors": CONNECTORS, "workers": [{"member_id": f"w{i}"} for i in range(n)]}]
    },
}


@pytest.mark.parametrize("path", ROWS)
def test_many_small_rows_take_what_is_reserved_for_them(measured, path):
    peak, reserved, _ = measured(f"/v1/{path}", ROWS[path](2), ROWS[path](20_000), {})
    assert peak < reserved + 12 * M


def test_distinct_keys_take_what_is_reserved_for_them(measured):
    def plan(n):  # few load the kernels
        return {"partitions_counts": [12], "keys": [f"k{i}" for i in range(n)]}

    peak, reserved, _ = measured("/v1/partition-count-plans", plan(2_000), plan(300_000), {})
    assert peak < reserved + 12 * M


def arrow(path, batches):
    """A stream of batches of keys, compressed, in base64."""
    tables = [pa.table({"key": keys}) for keys in batches]
    if "fingerprints" in path:
        tables = [table.append_column("partition_id", pa.array([0] * len(table))) for table in tables]
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, tables[0].schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as stream:
        for table in tables:
            stream.write_table(table)
    return b64encode(sink.getvalue()).decode()


KEY_ENDPOINTS = (
    "partitions?partitions_count=12&partitioner=debezium",
    "partitions?partitions_count=12&partitioner=pulsar",
    "partitioner-comparisons?partitions_count=12&examples=0",
    "partitioner-fingerprints?max_partitions_count=50",
    "partition-count-plans?partitions_counts=12",
)
LONG_KEYS = {
    "letters": [["x" * 10 * M]],
    "bytes": [[b"x" * 10 * M]],
    "many": [["x" * 1_000 + str(i) for i in range(10_000)]],
    "separators": [["\x1f" * (5 * M // 2)]],
    "in batches": [[f"{i}" + "x" * M] for i in range(20)],
}


@pytest.mark.parametrize(
    ("name", "path"), [each for each in product(LONG_KEYS, KEY_ENDPOINTS) if each[0] != "bytes" or "debezium" not in each[1]]
)
def test_long_keys_of_an_arrow_stream_take_what_is_reserved_for_them(measured, path, name):
    batches = LONG_KEYS[name]
    short = [[key[:3] for key in batches[0][:100]]]  # loads the kernels
    peak, reserved, _ = measured(f"/v1/{path}", arrow(path, short), arrow(path, batches), {})
    assert peak < reserved + 12 * M


def test_long_names_of_topics_to_be_included_are_reserved(measured):
    def included(n):
        topics = [{"topic_name": "t" * 249, "placements": [{"partition_id": 0, "replicas": [1]}]}]
        return {"brokers": BROKERS, "topics": topics, "included_topics": ["t" * 249] * n}

    peak, reserved, _ = measured("/v1/reassignments", included(1), included(60_000), {})
    assert peak < reserved + 12 * M


def test_partition_counts_that_are_tried_take_what_is_reserved_for_them(measured):
    def observed(n, most):  # no partitioner puts them there, so what no client does is tried, too
        observations = [{"key": i, "partition_id": i * i % 11} for i in range(n)]
        return {"observations": observations, "key_format": "long", "max_partitions_count": most}

    peak, reserved, _ = measured("/v1/partitioner-fingerprints", observed(50, 100), observed(500, 50_000), {})
    assert peak < reserved + 12 * M


@pytest.mark.parametrize("field", ["subscribed", "owned"])
@pytest.mark.parametrize(("name", "n"), [("topic-{}", 75_000), ("t" * 240 + "{}", 15_000)], ids=["short", "long"])
@pytest.mark.parametrize(
    ("path", "more"),
    [("group-assignments", {}), ("member-count-plans", {}), ("group-rebalances", {"events": []})],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_topics_that_only_members_name_are_reserved(measured, path, more, name, n, field):
    def body(n):
        names = [name.format(i) for i in range(n)]
        owned = [{"topic_name": name, "partition_ids": []} for name in names] if field == "owned" else []
        member = {"member_id": "a", "topic_names": names if field == "subscribed" else [], "owned_partitions": owned}
        return {"topics": [{"topic_name": "t", "partitions_count": 3}], "members": [member], **more}

    peak, reserved, _ = measured(f"/v1/{path}", body(2), body(n), {})
    assert peak < reserved + 12 * M


@pytest.mark.parametrize(
    ("assignor", "name", "topics", "partitions", "members"),
    [
        ("sarama:roundrobin", "t", 1, 250_000, 1),
        ("sarama:roundrobin", "t" * 245, 1, 100_000, 1),
        ("librdkafka:cooperative-sticky", "t", 1, 200_000, 1),
        ("librdkafka:cooperative-sticky", "t", 2_000, 1, 1_000),
    ],
)
def test_assignors_of_clients_take_what_is_reserved_for_them(measured, assignor, name, topics, partitions, members):
    large = {
        "assignor": assignor,
        "topics": [{"topic_name": f"{name}{i}", "partitions_count": partitions} for i in range(topics)],
        "members": [{"member_id": f"m{i}"} for i in range(members)],
    }
    peak, reserved, _ = measured("/v1/group-assignments", group(2, 1, 1, assignor=assignor), large, {})
    assert peak < reserved + 12 * M


def uneven(topics, partitions, members):
    """The first member owns all that all but the last subscribe to, which has a topic of its own."""
    names = [f"t{i}" for i in range(topics)]
    owned = [{"topic_name": name, "partition_ids": [*range(partitions)]} for name in names]
    first = {"topic_names": [*names, "u"], "generation_id": 1, "owned_partitions": owned}
    subscriptions = [first, *([{"topic_names": names}] * (members - 2)), {"topic_names": ["u"]}]
    return {
        "topics": [{"topic_name": name, "partitions_count": partitions} for name in names]
        + [{"topic_name": "u", "partitions_count": 1}],
        "members": [{"member_id": f"m{i}"} | its for i, its in enumerate(subscriptions)],
    }


@pytest.mark.parametrize("assignor", ["sticky", "kafka-python:sticky"])
def test_evening_out_takes_what_is_reserved_for_it(measured, assignor):
    """The records of what has moved: a set for each topic, source and present owner."""
    small, large = (body | {"assignor": assignor} for body in (uneven(2, 10, 4), uneven(5_000, 10, 10)))
    peak, reserved, _ = measured("/v1/group-assignments", small, large, {})
    assert peak < reserved + 12 * M


def test_evening_out_partitions_that_nobody_owned_takes_what_is_reserved_for_it(measured):
    def body(n):
        members = [{"member_id": names, "topic_names": [*names]} for names in ("t", "tu", "u")]
        topics = [{"topic_name": name, "partitions_count": n} for name in "tu"]
        return {"assignor": "cooperative-sticky", "topics": topics, "members": members}

    peak, reserved, _ = measured("/v1/group-assignments", body(10), body(200_000), {})
    assert peak < reserved + 12 * M


def test_lines_reserve_their_memory_before_there_are_any(client, reserved):
    """A body of 256 MB of empty lines took 2 GB."""
    client.post("/v1/decodings?kind=group_record", data=b"\n" * M, content_type="application/jsonl")
    assert sum(reserved) > 50 * M


def test_what_an_assignor_takes_is_reserved_once_for_all_that_is_simulated_and_planned(client, reserved):
    question = {"assignor": "sarama:roundrobin", "topics": [{"topic_name": "t" * 99, "partitions_count": 10_000}]}
    question["members"] = [{"member_id": "a"}, {"member_id": "b"}]
    events = [{"at_ms": 100_000, "type": "member_leaves", "member_id": "b"}]
    for path, more in (("group-rebalances", {"events": events}), ("member-count-plans", {"members_counts": [1, 3, 4, 5]})):
        reserved.clear()
        assert client.post(f"/v1/{path}", json=question | more).status_code == 200
        assert reserved.count(10_000 * (210 + 99)) == 1


CGROUPS = {
    "version 2": ("0::/kubepods/pod1/app\n", "sys/fs/cgroup", "memory.max"),
    "version 1": ("12:cpu,cpuacct:/a\n5:memory:/kubepods/pod1/app\n0::/b\n", "sys/fs/cgroup/memory", "memory.limit_in_bytes"),
}


@pytest.mark.parametrize("version", CGROUPS)
@pytest.mark.parametrize("limited", ["kubepods/pod1/app", "kubepods/pod1", "kubepods", ""])
def test_the_limit_of_the_process_and_of_every_cgroup_around_it_counts(tmp_path, version, limited):
    own, mount, name = CGROUPS[version]
    machine = memory_limit(tmp_path)
    for path in ("kubepods/pod1/app", "kubepods/pod1", "kubepods", "", "other", "a", "b"):
        file = tmp_path / mount / path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("1000\n" if path in ("other", "a", "b") else "max\n")
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text(own)
    assert memory_limit(tmp_path) == machine
    (tmp_path / mount / limited / name).write_text("104857600\n")
    assert memory_limit(tmp_path) == 100 * 2**20


def test_a_container_that_has_mounted_its_own_cgroup_only_is_limited_by_it(tmp_path):
    for file, text in (("proc/self/cgroup", "5:memory:/docker/1\n"), ("sys/fs/cgroup/memory/memory.limit_in_bytes", "1048576\n")):
        (tmp_path / file).parent.mkdir(parents=True)
        (tmp_path / file).write_text(text)
    assert memory_limit(tmp_path) == 2**20


def test_every_worker_has_some_memory_for_decisions():
    assert replace(Settings(), workers=10_000).decision_bytes() == 64 * 2**20
    assert replace(Settings(), max_decision_bytes=5).decision_bytes() == 5
