"""``python -m tests.runs.extremes [cases] [--seed N]``: extreme values in valid bodies of every endpoint.

A case is a valid body in which a few values are replaced by values at the edges: of int32 and int64, of floats, half surrogate
pairs, empty and long lists and names, counts of ten million. Each is posted in a process of its own. The service may answer or
refuse it. It must not die, not answer 5xx, not grow by more than ``MAX_BYTES``, not take longer than ``MAX_SECONDS``, and not
answer infinity or not-a-number, which JSON writes as null.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import random
import resource
import select
import signal
import sys
import time
from collections import Counter
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import orjson

from service.app import create_app
from service.config import Settings
from service.server.warm import warm
from tests.support.golden import lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flask import Flask

MAX_BYTES: Final = 640 * 2**20
"""The service's budget for decisions, and by how much a process may grow; with every kernel it holds about 350 MiB before."""
MAX_SECONDS: Final = 60
BUSY: Final = 503
"""The one 5xx that is an answer: the service is full, or the request took longer than it may."""

COUNTS: Final = (0, 1, 2, 255, 65_536, 10_000_000, 300_000_000, 2**31 - 2, 2**31 - 1)
INTEGERS: Final = (
    -(2**63) - 1,
    -(2**63),
    -(2**31) - 1,
    -(2**31),
    -1,
    2**31,
    2**32 - 1,
    2**32,
    2**53,
    2**63 - 2,
    2**63 - 1,
    2**63,
    10**30,
)
FLOATS: Final = (5e-324, 1e-300, 1e-100, 0.5, -0.0, 1e100, 1e300, 1.7976931348623157e308)
NUMBERS: Final = (*COUNTS, *INTEGERS, *FLOATS)
TEXTS: Final = (
    "",
    "\ud800",
    "a\udc00",
    "\0",
    "=1+1",
    "a",
    "A" * 249,
    "A" * 250,
    "é" * 1_024,
    "😀" * 300,
    "x" * 100_000,
    "librdkafka:random",
)
OTHERS: Final = (None, True, [], {}, [[]], [None], "AAAAAAAAAAAAAAAAAAAAAA")

HISTORY: Final = (
    (
        "[2026-11-21 09:00:12,022] INFO Stabilized group g generation 2 with 2 members.\n"
        "[2026-11-21 09:00:13,022] INFO Preparing to rebalance group g in state Stable with old generation 2 (reason: removing "
        "member c-1 on heartbeat expiration).\n[2026-11-21 09:00:14,022] INFO Group g with generation 3 is now empty\n"
    ),
    (
        '{"timestamp":1795251612100,"record_type":2,"key":{"group":"g"},"value_version":3,"value":{"protocolType":"consumer",'
        '"generation":2,"protocol":"range","leader":"c-1","currentStateTimestamp":1795251612022,"members":[{"memberId":"c-1",'
        '"groupInstanceId":null,"clientId":"c","clientHost":"/h","rebalanceTimeout":9,"sessionTimeout":9,"subscription":'
        '"AAAAAAABAAF0/////w==","assignment":"AAAAAAABAAF0AAAAAQAAAAD/////"}]}}\n'
    ),
)
"""Texts of a group's coordinator, and its record."""

BODIES: Final[dict[str, tuple[dict[str, Any], ...]]] = {
    "/v1/key-traces": (
        {
            "key": "a",
            "topic_name": "orders",
            "partitions_count": 4,
            "planned_partitions_count": 6,
            "texts": ["Topic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\n", "broker,rack\n1,a\n2,b\n"],
            "reassignment": {"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [2, 3]}]},
        },
    ),
    "/v1/group-histories": (
        {
            "group_id": "g",
            "otherwise": True,
            "names": ["log", "records"],
            "texts": list(HISTORY),
        },
    ),
    "/v1/descriptions": (
        {
            "texts": [
                "Topic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\n",
                "broker,rack\n1,a\n2,b\n",
                "GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID\ng orders 0 3 5 2 c-1 /h c\n",
            ]
        },
    ),
    "/v1/log-dir-plans": (
        {
            "objective": "even",
            "brokers": [
                {
                    "broker_id": 0,
                    "log_dirs": [
                        {
                            "log_dir": f"/{i}",
                            "capacity_bytes": 5_000,
                            "used_bytes": 900,
                            "draining": i == 2,
                            "cordoned": False,
                            "replicas": [
                                {"topic_name": "t", "partition_ids": [2 * i, 2 * i + 1], "partition_bytes": [300, 200]},
                                {"topic_name": "u", "partition_ids": [i], "partition_bytes": [50]},
                            ],
                        }
                        for i in range(3)
                    ],
                }
            ],
            "topics": [
                {"topic_name": "t", "placements": [{"partition_id": i, "replicas": [0, 1]} for i in range(6)]},
                {"topic_name": "u", "placements": [{"partition_id": i, "replicas": [0]} for i in range(3)]},
            ],
            "disk_threshold": 0.9,
            "max_moves": 5,
            "max_bytes": 4_000,
            "excluded_topics": ["u"],
            "limits": {"moves_per_broker": 2, "moves_per_log_dir": 1, "bytes_in_flight": 600, "throttle_bytes_per_second": 10},
        },
        {
            "tolerance": 0.1,
            "brokers": [
                {
                    "broker_id": 7,
                    "log_dirs": [
                        {
                            "log_dir": "/a",
                            "replicas": [{"topic_name": "t", "partition_ids": [0, 1, 2], "partition_bytes": [3, 2, 1]}],
                        },
                        {"log_dir": "/b", "replicas": []},
                    ],
                }
            ],
            "topics": [{"topic_name": "t", "placements": [{"partition_id": i, "replicas": [7]} for i in range(3)]}],
            "included_topics": ["t*"],
            "limits": {"order": "smallest-first", "duration_seconds": 60, "throttle_utilization": 0.5, "batch_seconds": 1.5},
        },
    ),
    "/v1/reassignments:lint": (
        {
            "brokers": [{"broker_id": i, "rack_id": "ab"[i % 2], "fenced": i == 3} for i in range(4)],
            "topics": [{"topic_name": "t", "placements": [{"partition_id": i, "replicas": [i % 3, 3]} for i in range(4)]}],
            "reassignment": {
                "version": 1,
                "partitions": [{"topic": "t", "partition": i, "replicas": [(i + 1) % 3, i % 3]} for i in range(3)],
            },
        },
    ),
    "/v1/placement-checks": (
        {
            "brokers": [{"broker_id": i, "rack_id": "ab"[i % 2]} for i in range(4)],
            "topics": [
                {
                    "topic_name": "t",
                    "min_insync_replicas": 2,
                    "placements": [{"partition_id": i, "replicas": [i, (i + 2) % 4], "leader": i} for i in range(4)],
                }
            ],
        },
    ),
    "/v1/placement-audits": (
        {
            "placer": "striped",
            "brokers": [{"broker_id": i, "rack_id": "ab"[i % 2], "fenced": i == 3} for i in range(4)],
            "placements": [{"partition_id": i, "replicas": [i % 3, (i + 1) % 3]} for i in range(6)],
            "additions": [4],
        },
        {
            "placer": "rack-aware",
            "brokers": [{"broker_id": i, "rack_id": "ab"[i % 2]} for i in range(4)],
            "placements": [{"partition_id": i, "replicas": [i % 4, (i + 1) % 4]} for i in range(6)],
        },
    ),
    "/v1/partitioner-comparisons": (
        {"keys": ["a", "b", None], "partitions_count": 12},
        {"keys": [1, 2, 3], "key_format": "long", "partitions_count": 6, "partitioners": ["java", "sarama:hash"], "examples": 2},
    ),
    "/v1/partitioner-fingerprints": (
        {"observations": [{"key": "order-1", "partition_id": 10}, {"key": "order-2", "partition_id": 6}], "partitions_count": 12},
        {"observations": [{"key": "a", "partition_id": 3}, {"key": None, "partition_id": 1}], "max_partitions_count": 64},
    ),
    "/v1/partition-count-plans": (
        {"target_mb_per_second": 50, "producer_mb_per_second": 10, "consumer_mb_per_second": 5.5, "keys": ["a"]},
        {
            "partitions_counts": [12, 24],
            "current_partitions_count": 6,
            "keys": ["a", "b"],
            "max_skew": 2.0,
            "duration_seconds": 10,
        },
        {
            "partitions_counts": [3],
            "histogram": [{"key": "a", "records": 5, "bytes": 100}, {"key": "b", "records": 1, "bytes": 7}],
            "records_per_second": 10.0,
            "bytes_per_second": 5.0,
            "max_partition_bytes_per_second": 100.0,
        },
    ),
    "/v1/keyless-distributions": (
        {"partitions_count": 12},
        {"rule": "sticky", "partitions": [{"partition_id": 0, "leader_id": 1, "batch_records": 2.0}, {"partition_id": 1}]},
        {
            "partitions": [{"partition_id": 0, "leader_id": 1, "queue_size": 3}, {"partition_id": 1, "leader_id": 2}],
            "brokers": [{"broker_id": 1, "rack_id": "a", "waiting_ms": 5}, {"broker_id": 2}],
            "availability_timeout_ms": 4,
            "rack_aware": True,
            "producers": [{"rack_id": "a", "producers": 3}, {"rack_id": None}],
        },
    ),
    "/v1/co-partitionings": (
        {
            "topics": [
                {"topic_name": "a", "partitions_count": 3},
                {"topic_name": "b", "partitions_count": 3, "partitioner": "sarama:hash"},
            ]
        },
    ),
    "/v1/connect-assignments": (
        {
            "scheduled_rebalance_max_delay_ms": 60_000,
            "leader_states": [
                {
                    "leader_id": "w1",
                    "previous_assignment": {"connectors": ["c"], "tasks": [{"connector_name": "c", "task_ids": [0, 1]}]},
                    "scheduled_rebalance_ms": 5_000,
                    "candidates": ["w2"],
                    "previous_generation_id": 3,
                    "previous_members": ["w1", "w3"],
                }
            ],
            "rounds": [
                {
                    "at_ms": 1_000,
                    "generation_id": 4,
                    "connectors": [{"connector_name": "c", "tasks_count": 3}, {"connector_name": "d", "tasks_count": 2}],
                    "workers": [{"member_id": "w1", "connectors": ["c"]}, {"member_id": "w2"}],
                },
                {"at_ms": 70_000, "workers": [{"member_id": "w1"}, {"member_id": "w2"}]},
            ],
            "follow_ups": True,
        },
    ),
    "/v1/streams-assignments": (
        {
            "num_standby_replicas": 2,
            "subtopologies": [
                {"subtopology_id": "0", "tasks_count": 4, "stateful": True},
                {"subtopology_id": "1", "tasks_count": 2, "stateful": False},
            ],
            "members": [
                {"member_id": "m1", "process_id": "p1", "active_tasks": [{"subtopology_id": "0", "task_ids": [0, 1]}]},
                {"member_id": "m2", "process_id": "p2", "standby_tasks": [{"subtopology_id": "0", "task_ids": [1]}]},
                {
                    "member_id": "m3",
                    "process_id": "p3",
                    "task_offsets": [{"subtopology_id": "0", "task_id": 3, "offset": 5_000}],
                },
            ],
        },
        {
            "member_protocol": "classic",
            "num_standby_replicas": 1,
            "rack_aware_assignment_tags": ["zone"],
            "subtopologies": [{"subtopology_id": "0", "tasks_count": 3, "stateful": True}],
            "clients": [
                {
                    "process_id": f"00000000-0000-0000-0000-{i:012}",
                    "threads_count": 2,
                    "client_tags": {"zone": "ab"[i % 2]},
                    "active_tasks": [{"subtopology_id": "0", "task_ids": [i]}],
                    "lags": [{"subtopology_id": "0", "task_id": task, "lag": 1_000 * task} for task in range(3)],
                }
                for i in range(3)
            ],
        },
    ),
    "/v1/coordinators": ({"group_id": "orders"}, {"transactional_id": "t", "partitions_count": 7}),
    "/v1/decodings": (
        {"kind": "subscription", "bytes_base64": "AAEAAAABAAV0b3BpY/////8AAAAA"},
        {
            "kind": "group_record",
            "records": [{"key_base64": "AAMAAWc=", "value_base64": "AAAAAAHeAA=="}, {"key_base64": "AAMAAWc="}],
        },
        {
            "kind": "offsets_topic",
            "records": [{"key_base64": "AAMAAWc=", "value_base64": "AAAAAAHeAA=="}],
            "topics": [{"topic_name": "t", "topic_id": "uxT2hl6X6HiUYlFlNWKCZQ"}],
        },
    ),
    "/v1/group-rebalances": (
        {
            "assignor": "cooperative-sticky",
            "topics": [{"topic_name": "t", "partitions_count": 4, "partition_weights": [1, 2, 3, 4]}],
            "members": [{"member_id": "a", "instance_id": "i"}, {"member_id": "b", "topic_names": ["t", "u"]}],
            "timing": {"session_timeout_ms": 45_000, "heartbeat_interval_ms": 3_000, "consumption_rate": 20.0},
            "events": [
                {"at_ms": 10, "type": "member_joins", "member": {"member_id": "c", "rack_id": "r"}},
                {"at_ms": 20, "type": "member_stalls", "member_id": "a", "for_ms": 5_000},
                {
                    "at_ms": 9_000,
                    "type": "topic_created",
                    "topic": {"topic_name": "u", "partitions_count": 1, "partition_weights": [1]},
                },
                {"at_ms": 9_000, "type": "scales", "members_count": 4},
                {"at_ms": 90_000, "type": "rolling_restart", "down_ms": 500, "pause_ms": 1_000},
            ],
            "compare": [{"group_protocol": "consumer", "static": True}],
        },
        {
            "group_protocol": "consumer",
            "topics": [{"topic_name": "t", "partitions_count": 3}],
            "members": [
                {"member_id": "a", "generation_id": 7, "owned_partitions": [{"topic_name": "t", "partition_ids": [0, 2]}]}
            ],
            "timing": {"assignment_interval_ms": 100, "poll_interval_ms": 50, "rebalance_timeout_ms": 60_000},
            "events": [
                {"at_ms": 5, "type": "partitions_added", "topic_name": "t", "partitions_count": 5},
                {"at_ms": 6, "type": "member_restarts", "member_id": "a", "down_ms": 3, "new_member_id": "b"},
                {"at_ms": 7, "type": "assignor_changes", "assignors": ["range"]},
            ],
            "detail": "rebalances",
        },
    ),
    "/v1/member-count-plans": (
        {
            "assignor": "cooperative-sticky",
            "topics": [
                {
                    "topic_name": "t",
                    "partitions_count": 4,
                    "lag": {"committed_offsets": [1, 2, -1, 4], "log_end_offsets": [5, 5, 5, None]},
                }
            ],
            "members": [{"member_id": "a", "topic_names": ["t"]}, {"member_id": "b", "topic_names": ["t", "v"], "rack_id": "r"}],
            "consumption_rate": 2.5,
            "limits": {"max_load": 10.0, "max_lag_seconds": 1.5},
            "threads_per_pod": 2,
            "keda": {"lag_threshold": 3, "activation_lag_threshold": 1, "min_replica_count": 1, "max_replica_count": 9},
        },
        {
            "group_protocol": "share",
            "topics": [{"topic_name": "t", "partitions_count": 4}],
            "members": [{"member_id": "a", "owned_partitions": [{"topic_name": "t", "partition_ids": [0, 2]}]}],
            "members_counts": [1, 2, 7],
            "timing": {"heartbeat_interval_ms": 1_000},
        },
    ),
    "/v1/group-assignments": (
        {
            "group_protocol": "consumer",
            "assignor": "uniform",
            "topics": [
                {"topic_name": "t", "partitions_count": 4, "partition_weights": [1, 2, 3, 4]},
                {"topic_name": "u", "partitions_count": 2, "partition_weights": [0, 0.5]},
            ],
            "members": [
                {"member_id": "a", "topic_names": ["t"], "owned_partitions": [{"topic_name": "t", "partition_ids": [0, 7]}]},
                {
                    "member_id": "b",
                    "topic_names": ["t", "u", "v"],
                    "owned_partitions": [{"topic_name": "v", "partition_ids": [3]}],
                },
            ],
        },
        {
            "assignor": "balanced",
            "max_moves": 1,
            "price_per_gb": 0.02,
            "compare": [{"assignor": "sticky"}, {"group_protocol": "consumer"}, {"client": "librdkafka", "assignor": "range"}],
            "topics": [
                {
                    "topic_name": "t",
                    "partitions_count": 3,
                    "lag": {"committed_offsets": [0, None, -1], "log_end_offsets": [9, 5, 1]},
                    "partition_racks": [["a"], ["b"], []],
                }
            ],
            "members": [
                {
                    "member_id": "a",
                    "rack_id": "a",
                    "capacity": 2.5,
                    "owned_partitions": [{"topic_name": "t", "partition_ids": [0, 1]}],
                },
                {"member_id": "b", "rack_id": "b"},
            ],
        },
    ),
    "/v1/replica-placements": (
        {
            "placer": "striped",
            "partitions_count": 6,
            "replication_factor": 2,
            "brokers": [{"broker_id": 0, "rack_id": "a"}, {"broker_id": 1, "fenced": False}],
        },
        {
            "placer": "rack-aware",
            "partitions_count": 3,
            "replication_factor": 1,
            "start_index": 0,
            "replica_shift": 1,
            "start_partition_id": 2,
            "brokers": [{"broker_id": 5, "rack_id": "a"}, {"broker_id": 9, "rack_id": "b"}],
        },
    ),
    "/v1/reassignments": (
        {
            "objective": "even",
            "per_topic": True,
            "replication_factor": 2,
            "brokers": [
                {"broker_id": 0, "rack_id": "a", "weight": 2.5, "max_replicas": 9, "capacity_bytes": 5_000},
                {"broker_id": 1, "rack_id": "b"},
                {"broker_id": 2, "rack_id": "b", "draining": True},
                {"broker_id": 3, "rack_id": "c", "replaces": 7},
            ],
            "topics": [
                {
                    "topic_name": "t",
                    "placements": [{"partition_id": 0, "replicas": [2, 0]}, {"partition_id": 1, "replicas": [7]}],
                    "partition_bytes": [100, 200],
                    "partition_bytes_per_second": [1.5, 0],
                },
                {
                    "topic_name": "u",
                    "placements": [{"partition_id": 4, "replicas": [1]}],
                    "partition_bytes": [5],
                    "partition_bytes_per_second": [0.1],
                },
            ],
            "excluded_topics": ["u"],
            "limits": {"moves_per_broker": 1, "bytes_in_flight": 4_000, "throttle_bytes_per_second": 10, "duration_seconds": 60},
        },
        {
            "objective": "even",
            "brokers": [
                {"broker_id": i, "rack_id": "aabbb"[i], "max_replicas": 1, "capacity_bytes": 40, "weight": 1 if i < 4 else 0.5}
                for i in range(5)
            ],
            "topics": [
                {
                    "topic_name": "t",
                    "placements": [{"partition_id": i, "replicas": [2 * i, 2 * i + 1]} for i in range(2)],
                    "partition_bytes": [10, 20],
                }
            ],
        },
        {
            "balance": "bytes",
            "racks": "spread",
            "leaders": "keep",
            "brokers": [{"broker_id": i, "weight": 1} for i in range(3)],
            "topics": [
                {
                    "topic_name": "t",
                    "placements": [{"partition_id": i, "replicas": [0, 1]} for i in range(4)],
                    "partition_bytes": [1, 2, 3, 4],
                }
            ],
        },
        {
            "leaders": "only",
            "brokers": [{"broker_id": 0, "fenced": True}, {"broker_id": 1}],
            "reassignment": {
                "version": 1,
                "partitions": [{"topic": "t", "partition": 0, "replicas": [0, 1], "log_dirs": ["any"]}],
            },
        },
    ),
}

VECTORS: Final = {
    "/v1/partitions": (
        "java",
        "librdkafka",
        "sarama",
        "streams",
        "adaptive",
        "kafka-go",
        "kafkajs",
        "pulsar",
        "spark",
        "explicit",
        "cassandra-tokens",
    ),
    "/v1/coordinators": ("coordinators",),
    "/v1/group-assignments": (
        "classic-range",
        "classic-roundrobin",
        "classic-sticky",
        "classic-cooperative-sticky",
        "consumer-range",
        "consumer-uniform",
        "share-simple",
    ),
    "/v1/replica-placements": (
        "adminutils",
        "adminutils-add-partitions",
        "striped",
        "striped-topics",
        "controller",
        "reassign-generate",
    ),
    "/v1/decodings": ("group-metadata", "offset-commits"),
}
FOLDER_OF: Final = {"/v1/group-assignments": "groups", "/v1/replica-placements": "placement", "/v1/decodings": "offsets"}
MAX_SEED_BYTES: Final = 4_000


@dataclass(frozen=True)
class Outcome:
    """What became of a case. fault : what it broke; "" if nothing"""

    path: str
    body: Any
    status: int
    resident_bytes: int
    seconds: float
    fault: str


def seeds() -> list[tuple[str, dict[str, Any]]]:
    """Valid bodies of every endpoint, small ones."""
    bodies = [(path, body) for path, several in BODIES.items() for body in several]
    for path, names in VECTORS.items():
        for name in names:
            requests = (case["request"] for case in lines(f"{FOLDER_OF.get(path, 'partitions')}/{name}") if "request" in case)
            small = (request for request in requests if len(json.dumps(request)) < MAX_SEED_BYTES)
            bodies += [(path, request) for request in islice(small, 30)]
    return bodies


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path to every value in a body."""
    if at:
        yield at
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from places(inner, (*at, name))
    elif isinstance(value, list):
        for i, inner in enumerate(value[:20]):
            yield from places(inner, (*at, i))


def altered(body: dict[str, Any], draw: random.Random) -> dict[str, Any]:
    """A copy of the body with one to three values replaced, mostly by an extreme one of the same type."""
    body = copy.deepcopy(body)
    for _ in range(draw.choice((1, 1, 2, 3))):
        place = draw.choice(list(places(body)) or [("partitions_count",)])
        parent: Any = body
        for step in place[:-1]:
            parent = parent[step]
        value = parent[place[-1]] if isinstance(parent, list) else parent.get(place[-1])
        parent[place[-1]] = copy.deepcopy(extreme(value, draw))  # or the constants would be altered as well
    return body


def extreme(value: Any, draw: random.Random) -> Any:
    """An extreme value to stand for ``value``."""
    if draw.random() < 0.1:
        return draw.choice((*NUMBERS, *TEXTS, *OTHERS))
    if isinstance(value, bool) or value is None or isinstance(value, dict):
        return draw.choice(OTHERS)
    if isinstance(value, int | float):
        return draw.choice(draw.choice((COUNTS, COUNTS, INTEGERS) if isinstance(value, int) else (COUNTS, FLOATS)))
    if isinstance(value, str):
        return draw.choice(TEXTS)
    return draw.choice(([], value * 2, value[:1] * draw.choice((2, 100, 3_000)), [draw.choice(NUMBERS)], [draw.choice(TEXTS)]))


def warm_app() -> Flask:
    """An app in a process that has loaded every kernel, which the children inherit."""
    warm()
    return create_app(Settings(max_decision_bytes=MAX_BYTES))


def run(app: Flask, bodies: list[tuple[str, dict[str, Any]]], cases: int, seed: int) -> Iterator[Outcome]:
    """The outcome of each case. bodies : valid ones, to be altered"""
    draw, paths = random.Random(seed), sorted({path for path, _ in bodies})
    for _ in range(cases):
        path = draw.choice(paths)
        body = altered(draw.choice([body for of, body in bodies if of == path]), draw)
        yield outcome(app, path, body, explained=draw.random() < 0.2)


def outcome(app: Flask, path: str, body: Any, *, explained: bool = False) -> Outcome:
    """Post the body in a forked child, and see what becomes of it."""
    reading, writing = os.pipe()
    base = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()  # what the child inherits
    started = time.monotonic()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _answer(app, path + ("?explain=true" if explained else ""), body, writing)
    os.close(writing)
    ready, _, _ = select.select([reading], [], [], MAX_SECONDS)
    if not ready:
        os.kill(child, signal.SIGKILL)
    answer = os.read(reading, 20)
    os.close(reading)
    _, ended, usage = os.wait4(child, 0)
    status, seconds, held = int(answer or 0), time.monotonic() - started, usage.ru_maxrss * 1024
    fault = ""
    if not ready:
        fault = f"no answer in {MAX_SECONDS} s"
    elif os.WIFSIGNALED(ended):
        fault = f"died of {signal.Signals(os.WTERMSIG(ended)).name}"
    elif not status or (status >= 500 and status != BUSY):
        fault = f"answered {status}"
    elif held - base > MAX_BYTES:
        fault = f"grew by {(held - base) / 2**20:.0f} MiB"
    return Outcome(path, body, status, held, seconds, fault)


def _answer(app: Flask, path: str, body: Any, writing: int) -> None:
    """Write the status to the pipe, and end the process without going back."""
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115, PTH123 - the traceback of a 500 would drown the report
        orjson.dumps = _finite_dumps
        response = app.test_client().post(path, data=json.dumps(body), content_type="application/json")
        os.write(writing, str(response.status_code).encode())
    finally:
        os._exit(0)


def _finite_dumps(value: Any, *arguments: Any, _dumps: Any = orjson.dumps, **options: Any) -> bytes:
    """As ``orjson.dumps``, but raises ValueError where that would write null for a number."""
    waiting = [value]
    while waiting:
        value_at = waiting.pop()
        if isinstance(value_at, dict):
            waiting += value_at.values()
        elif isinstance(value_at, list | tuple):
            waiting += value_at
        elif isinstance(value_at, float | np.ndarray) and not np.isfinite(value_at).all():
            raise ValueError(f"{value_at} is not a JSON number")
    text: bytes = _dumps(value, *arguments, **options)
    return text


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", type=int, nargs="?", default=20_000)
    parser.add_argument("--seed", type=int, default=20261122)
    arguments = parser.parse_args()
    statuses: Counter[int] = Counter()
    faults = 0
    for case in run(warm_app(), seeds(), arguments.cases, arguments.seed):
        statuses[case.status] += 1
        if case.fault:
            faults += 1
            print(f"{case.path}: {case.fault}: {json.dumps(case.body)[:600]}", flush=True)  # noqa: T201 - this is the command's output
    print(f"{arguments.cases} cases, {faults} faults, statuses {dict(sorted(statuses.items()))}")  # noqa: T201
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
