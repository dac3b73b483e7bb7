"""``python -m tests.runs.costs [name]``: the costliest known body of every endpoint, and what each costs for the bytes sent.

Each body is posted twice, in a process of its own: with the default settings, for the seconds of CPU in user mode, and with a
time limit of ``LIMIT`` s, for how long after it the answer comes, or begins to, which is ``MOST_LATE`` s at most. A body may
cost ``ALLOCATOR_MAX_CPU_SECONDS_PER_KB`` for each KB (1,000 bytes) of it as it is sent, gzip and all, or for the only one, and a
tenth more.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from service.app import create_app
from service.config import Settings
from service.http.bodies import unpacked_bytes
from service.http.media_types import ARROW_STREAM
from service.server.warm import warm

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_SECONDS_PER_KB: Final = Settings().max_cpu_seconds_per_kb * 1.1
"""What a request takes between two looks at the CPU comes on top of the limit."""
LIMIT: Final = 1
MOST_LATE: Final = 1

MEMORY: Final = 1_300 * 2**20
"""Bytes that a decision may take: those of each of two workers in a container of 4 GiB. With less, more bodies are refused."""

LONG_ROWS: Final = 600_000
"""As many rows of LONG_BYTES as a worker has memory for."""

LONG_BYTES: Final = 600


@dataclass(frozen=True)
class Request:
    """A request. content_bytes : the size of its body, unpacked"""

    path: str
    body: bytes
    content_bytes: int
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Cost:
    """What a request cost. seconds : of CPU in user mode; what the kernel takes to find memory depends on what else runs"""

    request: Request
    status: int
    seconds: float

    @property
    def allowed_seconds(self) -> float:
        """What it may cost."""
        return MAX_SECONDS_PER_KB * max(1.0, len(self.request.body) / 1_000)


def packed(path: str, value: Any) -> Request:
    """A JSON body as gzip."""
    content = json.dumps(value, separators=(",", ":")).encode()
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    return Request(path, gzip.compress(content, 6), len(content), headers)


def plain(path: str, value: Any) -> Request:
    """A JSON body."""
    content = json.dumps(value, separators=(",", ":")).encode()
    return Request(path, content, len(content), {"Content-Type": "application/json"})


def arrow(path: str, **table: Any) -> Request:
    """An Arrow stream, its buffers compressed."""
    batch = pa.record_batch(table)
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, batch.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as stream:
        stream.write_batch(batch)
    return Request(path, sink.getvalue(), unpacked_bytes(sink.getvalue()), {"Content-Type": ARROW_STREAM})


def repeated(rows: int, distinct: int, size: int) -> pa.DictionaryArray:
    """A column whose rows share a few keys of ``size`` bytes."""
    keys = pa.array([f"{i:0{size}}" for i in range(distinct)])
    return pa.DictionaryArray.from_arrays(np.resize(np.arange(distinct, dtype=np.int16), rows), keys)


def one_full_disk(replicas: int, disks: int) -> dict[str, Any]:
    """A broker with all its replicas, each of another size, on the first of its disks."""
    sizes = [1 + i * 7_919 % 1_000_003 for i in range(replicas)]
    full = [{"topic_name": "t", "partition_ids": list(range(replicas)), "partition_bytes": sizes}]
    dirs = [{"log_dir": f"/{i}", "capacity_bytes": 10**11, "replicas": full * (i == 0)} for i in range(disks)]
    return {
        "brokers": [{"broker_id": 0, "log_dirs": dirs}],
        "topics": [{"topic_name": "t", "placements": [{"partition_id": i, "replicas": [0]} for i in range(replicas)]}],
    }


def full_disks() -> dict[str, Any]:
    """A broker of whose 60 disks four are to be emptied, which leaves hardly any room."""
    dirs = [
        {
            "log_dir": f"/{i}",
            "capacity_bytes": 1_000,
            "draining": i < 4,
            "replicas": [
                {
                    "topic_name": "t",
                    "partition_ids": list(range(9 * i, 9 * i + 9)),
                    "partition_bytes": [101 + i * j % 7 for j in range(9)],
                }
            ],
        }
        for i in range(60)
    ]
    return {
        "brokers": [{"broker_id": 0, "log_dirs": dirs}],
        "topics": [{"topic_name": "t", "placements": [{"partition_id": i, "replicas": [0]} for i in range(540)]}],
    }


def requests() -> dict[str, Callable[[], Request]]:
    """The requests by name, made when they are sent."""
    return {
        "partitions: 10,000,000 rows of one short key": lambda: arrow(
            "/v1/partitions?partitions_count=12", key=repeated(10_000_000, 1, 8)
        ),
        "partitions: 600,000 rows of one key of 600 bytes": lambda: arrow(
            "/v1/partitions?partitions_count=12", key=repeated(LONG_ROWS, 1, LONG_BYTES)
        ),
        "comparisons: 10,000,000 rows of one short key": lambda: arrow(
            "/v1/partitioner-comparisons?partitions_count=12", key=repeated(10_000_000, 1, 8)
        ),
        "comparisons: 600,000 rows of one key of 600 bytes": lambda: arrow(
            "/v1/partitioner-comparisons?partitions_count=12", key=repeated(LONG_ROWS, 1, LONG_BYTES)
        ),
        "fingerprints: 10,000,000 rows of one short key": lambda: arrow(
            "/v1/partitioner-fingerprints", key=repeated(10_000_000, 1, 8), partition_id=np.zeros(10_000_000, np.int32)
        ),
        "fingerprints: 600,000 rows of one key of 600 bytes": lambda: arrow(
            "/v1/partitioner-fingerprints", key=repeated(LONG_ROWS, 1, LONG_BYTES), partition_id=np.zeros(LONG_ROWS, np.int32)
        ),
        "fingerprints: as many pairs of one key of 600 bytes": lambda: arrow(
            "/v1/partitioner-fingerprints?partitions_count=600000",
            key=repeated(LONG_ROWS, 1, LONG_BYTES),
            partition_id=np.arange(LONG_ROWS, dtype=np.int32),
        ),
        "fingerprints: 100,000 counts, 20 records": lambda: plain(
            "/v1/partitioner-fingerprints",
            {"max_partitions_count": 100_000, "observations": [{"key": str(i), "partition_id": i % 7} for i in range(20)]},
        ),
        "fingerprints: 100,000 counts, 2,048 records": lambda: plain(
            "/v1/partitioner-fingerprints",
            {"max_partitions_count": 100_000, "observations": [{"key": str(i), "partition_id": i % 7} for i in range(2_048)]},
        ),
        "plans: 200 counts": lambda: plain(
            "/v1/partition-count-plans", {"partitions_counts": list(range(300, 500)), "keys": ["a"]}
        ),
        "plans: 600,000 rows of one key of 600 bytes": lambda: arrow(
            "/v1/partition-count-plans?partitions_counts=12,24&current_partitions_count=6", key=repeated(LONG_ROWS, 1, LONG_BYTES)
        ),
        "plans: 10,000,000 rows of one short key": lambda: arrow(
            "/v1/partition-count-plans?partitions_counts=12,24&current_partitions_count=6", key=repeated(10_000_000, 1, 8)
        ),
        "keyless: 10,000,000 partitions": lambda: plain("/v1/keyless-distributions", {"partitions_count": 10_000_000}),
        "keyless: 10,000 partitions × 1,000 producers": lambda: plain(
            "/v1/keyless-distributions", {"partitions_count": 10_000, "producers": [{"rack_id": None}] * 1_000}
        ),
        "co-partitionings: two topics": lambda: plain(
            "/v1/co-partitionings",
            {
                "topics": [
                    {"topic_name": "t", "partitions_count": 1_000_000},
                    {"topic_name": "u", "partitions_count": 1_000_000, "partitioner": "sarama"},
                ]
            },
        ),
        "coordinators: a group": lambda: plain("/v1/coordinators", {"group_id": "é" * 512}),
        "decodings: 100,000 records (gzip)": lambda: packed(
            "/v1/decodings",
            {"kind": "group_record", "records": [{"key_base64": "AAMAAWc=", "value_base64": "AAAAAAHeAA=="}] * 100_000},
        ),
        "assignments: 10,000,000 partitions": lambda: plain(
            "/v1/group-assignments",
            {
                "assignor": "sticky",
                "topics": [
                    {"topic_name": "t", "partitions_count": 5_000_000},
                    {"topic_name": "u", "partitions_count": 5_000_000},
                ],
                "members": [{"member_id": "a", "topic_names": ["t"]}, {"member_id": "b", "topic_names": ["t", "u"]}],
            },
        ),
        **{
            f"assignments: {name}, 2 × {count:,}, different subscriptions (gzip)": lambda name=name, count=count: packed(  # type: ignore[misc]
                "/v1/group-assignments",
                {
                    "assignor": name,
                    "topics": [{"topic_name": topic, "partitions_count": count} for topic in "tu"],
                    "members": [{"member_id": topics, "topic_names": [*topics]} for topics in ("t", "tu", "u")],
                },
            )
            for name, count in (
                ("sticky", 3_500_000),  # more would take more memory than there is
                ("librdkafka:cooperative-sticky", 1_000_000),
                ("kafka-python:sticky", 3_500_000),
                ("sarama:roundrobin", 3_500_000),
                ("franz-go:sticky", 5_000_000),
            )
        },
        "assignments: 400 members, 400 topics, different subscriptions": lambda: plain(
            "/v1/group-assignments",
            {
                "assignor": "sticky",
                "topics": [{"topic_name": f"t{i}", "partitions_count": 100} for i in range(400)],
                "members": [
                    {"member_id": f"m{i}", "topic_names": [f"t{j}" for j in range(400) if (i * j) % 7 != 3]} for i in range(400)
                ],
            },
        ),
        "assignments: balanced, 2 × 5,000,000, different subscriptions (gzip)": lambda: packed(
            "/v1/group-assignments",
            {
                "assignor": "balanced",
                "topics": [{"topic_name": topic, "partitions_count": 5_000_000} for topic in "tu"],
                "members": [{"member_id": topics, "topic_names": [*topics]} for topics in ("t", "tu", "u")],
            },
        ),
        "assignments: balanced, 300,000 weights (gzip)": lambda: packed(
            "/v1/group-assignments",
            {
                "assignor": "balanced",
                "topics": [
                    {
                        "topic_name": "t",
                        "partitions_count": 300_000,
                        "partition_weights": [i * 7_919 % 97 + 1 for i in range(300_000)],
                    }
                ],
                "members": [{"member_id": f"m{i}"} for i in range(1_000)],
            },
        ),
        "member counts: 1 to 1,000, weights (gzip)": lambda: packed(
            "/v1/member-count-plans",
            {
                "assignor": "sticky",
                "topics": [
                    {
                        "topic_name": "t",
                        "partitions_count": 1_000,
                        "partition_weights": [i * 7_919 % 97 + 1 for i in range(1_000)],
                    }
                ],
                "members": [{"member_id": "m"}],
            },
        ),
        "streams: 10,000 tasks, 1,000 members, ten standby tasks each (gzip)": lambda: packed(
            "/v1/streams-assignments",
            {
                "num_standby_replicas": 10,
                "subtopologies": [{"subtopology_id": "0", "tasks_count": 10_000, "stateful": True}],
                "members": [{"member_id": f"m{i}", "process_id": f"p{i}"} for i in range(1_000)],
            },
        ),
        "connect: 1,000 rounds of 200 tasks (gzip)": lambda: packed(
            "/v1/connect-assignments",
            {
                "follow_ups": True,
                "rounds": [
                    {
                        "at_ms": 1_000_000 * i,
                        "connectors": [{"connector_name": "c", "tasks_count": 200}],
                        "workers": [{"member_id": f"w{j}"} for j in range(50 + i % 2)],
                    }
                    for i in range(1_000)
                ],
            },
        ),
        "placements: 2,000,000 × 3": lambda: plain(
            "/v1/replica-placements",
            {
                "placer": "striped",
                "partitions_count": 2_000_000,
                "replication_factor": 3,
                "brokers": [{"broker_id": i, "rack_id": "abc"[i % 3]} for i in range(30)],
            },
        ),
        "placements: 10,000,000 × 1": lambda: plain(
            "/v1/replica-placements",
            {
                "placer": "striped",
                "partitions_count": 10_000_000,
                "replication_factor": 1,
                "brokers": [{"broker_id": i} for i in range(30)],
            },
        ),
        "placements: rack-aware, 60,000 × 2, 3,100 brokers, one of them on a rack of its own (gzip)": lambda: packed(
            "/v1/replica-placements",
            {
                "placer": "rack-aware",
                "kafka_version": "4.0.0",
                "partitions_count": 60_000,
                "replication_factor": 2,
                "brokers": [{"broker_id": i, "rack_id": "ab"[i > 0]} for i in range(3_100)],
            },
        ),
        "audits: 5,000 partitions": lambda: plain(
            "/v1/placement-audits",
            {
                "placer": "striped",
                "brokers": [{"broker_id": i, "rack_id": "abc"[i % 3]} for i in range(300)],
                "placements": [{"partition_id": i, "replicas": [i % 300, (i * 7 + 1) % 300]} for i in range(5_000)],
                "additions": [400],
            },
        ),
        "lints: 20,000 partitions": lambda: plain(
            "/v1/reassignments:lint",
            {
                "brokers": [{"broker_id": i, "rack_id": "ab"[i % 2]} for i in range(9)],
                "topics": [
                    {"topic_name": "t", "placements": [{"partition_id": i, "replicas": [i % 3, 3]} for i in range(20_000)]}
                ],
                "reassignment": {
                    "version": 1,
                    "partitions": [{"topic": "t", "partition": i, "replicas": [4, 4, -1]} for i in range(20_000)],
                },
            },
        ),
        "reassignments: 3,000 partitions, even": lambda: plain(
            "/v1/reassignments",
            {
                "objective": "even",
                "per_topic": True,
                "brokers": [{"broker_id": i, "rack_id": "abc"[i % 3], "weight": 1 + i / 7} for i in range(100)],
                "topics": [
                    {"topic_name": "t", "placements": [{"partition_id": i, "replicas": [i % 9, 9 + i % 8]} for i in range(3_000)]}
                ],
            },
        ),
        "reassignments: 3,000 partitions, CPU and bytes (gzip)": lambda: packed(
            "/v1/reassignments",
            {
                "objective": "even",
                "balance": {"cpu": 2, "bytes": 1},
                "brokers": [{"broker_id": i, "cpu_usage": 1 + i % 5} for i in range(100)],
                "topics": [
                    {
                        "topic_name": "t",
                        "placements": [{"partition_id": i, "replicas": [i % 100, (i % 9 + 1 + i) % 100]} for i in range(3_000)],
                        "partition_bytes": [1 + i * 7_919 % 1_000_003 for i in range(3_000)],
                        "partition_bytes_per_second": [1 + i * 104_729 % 9_973 for i in range(3_000)],
                        "partition_bytes_out_per_second": [i * 1_299_709 % 9_973 for i in range(3_000)],
                    }
                ],
            },
        ),
        **{
            f"log directories: 100,000 replicas on one of twelve, {name} (gzip)": lambda fields=fields: packed(  # type: ignore[misc]
                "/v1/log-dir-plans", {**one_full_disk(100_000, 12), **fields}
            )
            for name, fields in (
                ("even", {"objective": "even"}),
                ("threshold", {"disk_threshold": 0.1}),
                ("max_bytes", {"objective": "even", "max_bytes": 10**11}),
            )
        },
        "log directories: 540 replicas that hardly fit (gzip)": lambda: packed("/v1/log-dir-plans", full_disks()),
        "reassignments: what cannot be, 200 brokers (gzip)": lambda: packed(
            "/v1/reassignments",
            {
                "racks": "strict",
                "replication_factor": 50,
                "brokers": [
                    {
                        "broker_id": i,
                        "rack_id": f"r{i % 40}",
                        "max_replicas": 40,
                        "capacity_bytes": 5_000,
                        "fenced": i % 9 == 0,
                        "draining": i % 5 == 0,
                    }
                    for i in range(200)
                ],
                "topics": [
                    {
                        "topic_name": "t",
                        "placements": [{"partition_id": i, "replicas": [i % 200, (i + 1) % 200]} for i in range(300)],
                        "partition_bytes": [100] * 300,
                    }
                ],
            },
        ),
        **{
            f"rebalances: a rolling restart of {members_count}, {name} (gzip)": lambda name=name, members_count=members_count: (
                packed(  # type: ignore[misc]
                    "/v1/group-rebalances",
                    {
                        "assignor": name,
                        "topics": [{"topic_name": "t", "partitions_count": 10_000}],
                        "members": [{"member_id": "m"}],
                        "events": [
                            {"at_ms": 0, "type": "scales", "members_count": members_count},
                            {"at_ms": 60_000, "type": "rolling_restart", "down_ms": 5_000, "pause_ms": 10_000},
                        ],
                        "detail": "totals",
                    },
                )
            )
            for name, members_count in (("range", 250), ("sticky", 250), ("cooperative-sticky", 200), ("sarama:sticky", 250))
        },
        "rebalances: 10,000 equal events (gzip)": lambda: packed(
            "/v1/group-rebalances",
            {
                "topics": [{"topic_name": "t", "partitions_count": 1_000}],
                "members": [{"member_id": "m"}],
                "events": [{"at_ms": 0, "type": "scales", "members_count": 100}]
                + [{"at_ms": 60_000, "type": "rolling_restart", "down_ms": 5_000, "pause_ms": 10_000}] * 9_999,
                "detail": "totals",
            },
        ),
        "rebalances: scales to 30,000": lambda: plain(
            "/v1/group-rebalances",
            {
                "topics": [{"topic_name": "t", "partitions_count": 6}],
                "members": [{"member_id": "m"}],
                "events": [{"at_ms": 1_000, "type": "scales", "members_count": 30_000}],
            },
        ),
    }


def cost(request: Request) -> Cost:
    """Post the request in a forked child. The kernels have to be loaded."""
    status, seconds, _ = _posted(request, Settings(max_decision_bytes=MEMORY))
    return Cost(request, status, seconds)


def late_seconds(request: Request) -> float:
    """From the time limit to the answer's beginning, 0 if it was in time; posted as ``cost`` does."""
    _, _, wall = _posted(request, Settings(max_decision_bytes=MEMORY, max_request_seconds=LIMIT))
    return max(0.0, wall - LIMIT)


def _posted(request: Request, settings: Settings) -> tuple[int, float, float]:
    """The status, the seconds of CPU in user mode, and the seconds that passed until the answer began."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            sys.stderr = open(os.devnull, "w")  # noqa: SIM115, PTH123 - as in tests.runs.extremes
            app = create_app(settings)
            app.extensions["warm"].set()
            client = app.test_client()
            used, begun = os.times().user, time.monotonic()
            response = client.post(request.path, data=request.body, headers=request.headers)
            began = time.monotonic()
            response.get_data()
            took = (response.status_code, os.times().user - used, began - begun)
            os.write(writing, json.dumps(took).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        status, seconds, wall = json.load(answer)
    os.waitpid(child, 0)
    return status, seconds, wall


def main() -> int:
    """Print a table of the requests whose name has the argument in it, or of all; fail if one takes more than it may."""
    part = sys.argv[1] if len(sys.argv) > 1 else ""
    warm()
    print("| request | content in KB | sent in KB | status | s of CPU | s per KB sent | s late |")  # noqa: T201 - the output
    print("| --- | --- | --- | --- | --- | --- | --- |")  # noqa: T201
    failed = False
    for name, request in requests().items():
        if part in name:
            of = cost(request())
            late = late_seconds(of.request)
            content, sent = of.request.content_bytes / 1_000, len(of.request.body) / 1_000
            figures = (f"{content:,.1f}", f"{sent:,.1f}", of.status, f"{of.seconds:.2f}", f"{of.seconds / max(1.0, sent):.3f}")
            print(f"| {name}", *figures, f"{late:.1f} |", sep=" | ", flush=True)  # noqa: T201
            failed |= of.seconds > of.allowed_seconds or late > MOST_LATE
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
