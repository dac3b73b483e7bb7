"""Records the requests that ``service.server.warm`` sends: ``make warm-requests``, after a kernel or its arguments changed.

Candidates are the requests below, made so that every strategy meets every kernel it has; the golden vectors; and the examples of
openapi.yaml. One is kept if it loads a kernel, or a signature of one, that those before it did not.
"""

from __future__ import annotations

import base64
import gc
import json
import re
import sys
from collections import defaultdict
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from numba.core.dispatcher import Dispatcher

from service.config import Settings
from service.core.keys.formats import FORMATS
from service.core.partitioners import PARTITIONERS
from service.server import warm
from service.strategies import GROUP_PROTOCOLS, KAFKAS, PLACERS
from tests.contract.test_examples import POSTS, example_of
from tests.contract.test_vectors import ENDPOINTS, files
from tests.support.golden import lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from service.core.assignors.model import Assignor

Request = dict[str, Any]

KEYS: dict[str, list[Any]] = {
    "string": ["key", "\ud800", None],
    "uuid": ["123e4567-e89b-12d3-a456-426614174000", None],
    "base64": ["a2V5", "", None],
    "hex": ["6b6579", "", None],
    "float": [0.5, None],
    "boolean": [True, None],
}
"""Some keys of each format; those of the other formats are integers."""

FIRST: dict[str, Request] = {
    "/v1/partitions": {"partitions_count": 12, "keys": ["order-1"]},
    "/v1/group-assignments": {
        "assignor": "range",
        "topics": [{"topic_name": "orders", "partitions_count": 6}],
        "members": [{"member_id": "c1"}, {"member_id": "c2"}],
    },
    "/v1/replica-placements": {
        "placer": "striped",
        "partitions_count": 3,
        "replication_factor": 2,
        "brokers": [{"broker_id": 0, "rack_id": "a"}, {"broker_id": 1, "rack_id": "b"}],
    },
}

RECORD = {"key_base64": "AAMAAWc=", "value_base64": "AAAAAAHeAA=="}

ONE_OF_EACH_ENCODING = ("java", "spark", "scala-0.8", "pulsar")
"""A format takes the same kernels in all partitioners that encode keys alike, so one of each is enough."""

FORM = re.compile(r'"(?:(?:\w+_)?(?:protocol|assignor|placer|partitioner|format|version)": "[^"]*"|\w+":)')
"""The names of a request's fields, and the values of those that choose a strategy."""


def candidates() -> Iterator[Request]:
    """Requests as lines of ``warm.REQUESTS``."""
    yield from made()
    yield from examples()
    yield from sorted(golden(), key=lambda request: len(str(request)))


def golden() -> Iterator[Request]:
    """The vectors' requests: of those that have the same fields and strategies the shortest, the middle and the longest."""
    alike: defaultdict[frozenset[str], list[Request]] = defaultdict(list)
    for name in files():
        path = "/v1/coordinators" if name.endswith("coordinators") else ENDPOINTS[name.partition("/")[0]]
        query = {"explain": "true"} if name.startswith("placement") else {}
        for case in lines(name):
            request = {"path": path, "query": query, "json": case["request"]}
            alike[frozenset(FORM.findall(json.dumps(request)))].append(request)
    for requests in alike.values():
        requests.sort(key=lambda request: len(str(request)))
        yield from (requests[i] for i in {0, len(requests) // 2, len(requests) - 1})


def examples() -> Iterator[Request]:
    """What "Try it out" sends."""
    for path in POSTS:
        yield {"path": path, "json": example_of(POSTS[path])}


def made() -> Iterator[Request]:
    """Small requests, as many as it takes to meet every kernel. People ask what ``serve`` and README show them first."""
    yield from ({"path": path, "json": body} for path, body in FIRST.items())
    for path, bodies in BODIES.items():
        for body in bodies():
            yield {"path": path, "query": {"explain": "true"} if "replica" in path else {}, "json": body}
    for path, body in _other_requests():
        yield {"path": path, "json": body}
    for column in (pa.array(["key", None]), pa.array([b"key", None]), pa.array([1, None]), pa.array([0.5, None])):
        for partitioner in ONE_OF_EACH_ENCODING:
            query = {"partitioner": partitioner, "partitions_count": 3}
            yield {"path": "/v1/partitions", "query": query, "arrow_base64": _arrow(column)}


def record() -> None:
    """Write the requests that load a kernel."""
    client, kernels, kept = warm.client_of(Settings()), Kernels(), []
    warm.load_kernels_of_large_requests()
    for request in candidates():
        line = json.dumps(request, separators=(",", ":"))
        known = kernels.count()
        warm.send(client, json.loads(line))
        if kernels.count() > known:
            kept.append(line)
    warm.REQUESTS.write_text("\n".join(kept) + "\n")
    print(f"{len(kept)} requests load {kernels.count()} signatures of kernels", file=sys.stderr)  # noqa: T201


def _arrow(column: pa.Array) -> str:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, pa.schema({"key": column.type})) as stream:
        stream.write_table(pa.table({"key": column}))
    return base64.b64encode(sink.getvalue()).decode()


def _partition_requests() -> Iterator[dict[str, Any]]:
    options: tuple[dict[str, Any], ...] = (
        {"available_partitions": [0, 2]},
        {"value_sizes": [1, 1, 1]},
        {"clock_ms": [1, 2, 3], "partition_switch_ms": 1},
        {"queue_sizes": [0, 3, 1], "random_seed": 1},
    )
    for partitioner, key_format in product(PARTITIONERS, FORMATS):
        if key_format != "string" and partitioner.name not in ONE_OF_EACH_ENCODING:
            continue
        count = {} if partitioner.sign is None and partitioner.hash is not None else {"partitions_count": 3}
        body = {"partitioner": partitioner.name, "key_format": key_format, **count}
        keys = KEYS.get(key_format, [1, 2, None])
        yield {**body, "keys": keys[:1]}
        yield {**body, "keys": keys}
        if key_format == "string":
            for option in ({}, *(option for option in options if option.keys() & set(partitioner.null.options))):
                yield {**body, "keys": ["key", None, None], **option}
    records = [{"bytes": 1}, {"bytes": 1, "enable_switch": False}]
    yield {"partitioner": "java:sticky", "partitions_count": 3, "sticky_batch_size": 1, "records": records}


def _rebalance_requests() -> Iterator[dict[str, Any]]:
    topics = [{"topic_name": "t", "partitions_count": 3, "partition_weights": [1, 2, 3]}]
    events = [
        {"at_ms": 1_000, "type": "member_joins", "member": {"member_id": "n"}},
        {"at_ms": 2_000, "type": "partitions_added", "topic_name": "t", "partitions_count": 4},
        {"at_ms": 400_000, "type": "member_leaves", "member_id": "m"},
    ]
    for protocol in KAFKAS:
        yield {"group_protocol": protocol, "topics": topics, "members": [{"member_id": "m"}], "events": events}


def _assignment_requests() -> Iterator[dict[str, Any]]:
    topics = [
        {"topic_name": name, "topic_id": f"AAAAAAAAAAAAAAAAAAAA{i}A", "partitions_count": 5} for i, name in enumerate("tuv")
    ]
    racks = [["a"], ["b"], ["a", "b"], ["c"], []]
    with_racks = [{**topic, "partition_racks": racks[i:] + racks[:i]} for i, topic in enumerate(topics)]
    owning = [
        {"member_id": name, "rack_id": rack, "generation_id": 2, "owned_partitions": [{"topic_name": "t", "partition_ids": ids}]}
        for name, rack, ids in (("m", "a", [0, 1, 2, 3]), ("n", "b", [4]), ("o", "c", []))
    ]
    beyond = [{**owning[0], "owned_partitions": [{"topic_name": "t", "partition_ids": [0, 1, 2, 9]}]}, *owning[1:]]
    differing = [
        {**member, "topic_names": names} for member, names in zip(owning, (["t"], ["t", "u", "v"], ["u", "v", "w"]), strict=True)
    ]
    groups = (
        *((topics, members) for members in (owning[2:], owning, beyond, differing)),
        *((topics[:1], members) for members in (owning, beyond)),
        *((with_racks, members) for members in (owning[2:], owning)),
    )
    for (protocol, registry), (some_topics, members) in product(GROUP_PROTOCOLS.items(), groups):
        for assignor in registry:
            versions = [*_versions(assignor)] + ([{"balance_racks": True}] if assignor.on_racks else [])
            for version in versions or [{}]:
                yield {
                    "group_protocol": protocol,
                    "assignor": assignor.name,
                    **version,
                    "topics": some_topics,
                    "members": members,
                }
    weighed = [{**topic, "partition_weights": [1, 2, 3, 4, 5]} for topic in with_racks[:1]]
    yield {"group_protocol": "classic", "assignor": "balanced", "topics": weighed, "members": owning}


def _versions(assignor: Assignor) -> Iterator[dict[str, str]]:
    """The first release of each form: others differ in nothing that chooses kernels."""
    releases = {
        "kafka_version": (assignor.kafka_versions, assignor.at),
        "client_version": (assignor.client_releases, assignor.of_client),
    }
    for name, (known, form_at) in releases.items():
        forms: list[Assignor] = []
        for release in known:
            form = replace(form_at(release), implementation=None)
            if form not in forms:
                forms.append(form)
                yield {name: release}


def _placement_requests() -> Iterator[dict[str, Any]]:
    brokers = [{"broker_id": i, "rack_id": "abc"[i % 3], "fenced": i == 5} for i in range(6)]
    for placer in PLACERS:
        for release in placer.kafka_versions:
            yield {
                "placer": placer.name,
                "kafka_version": release,
                "partitions_count": 9,
                "replication_factor": 3,
                "brokers": brokers,
            }
        yield {"placer": placer.name, "partitions_count": 9, "replication_factor": 3, "brokers": brokers}
    current = [{"topic_name": "t", "partition_id": i, "replicas": [i]} for i in range(2)]
    yield {
        "placer": "kafka-reassign-generate", "rack_aware": True, "broker_list": [0, 1], "topics_to_move": ["t"],
        "cluster_brokers": [{"broker_id": i, "rack_id": "a"} for i in range(2)], "current_assignments": current,
    }  # fmt: skip
    topics = [{"topic_name": "t", "partitions_count": 2, "replication_factor": 1}]
    yield {"placer": "striped", "brokers": brokers, "operations": [{"operation": "create_topics", "topics": topics}]}


def _reassignment_requests() -> Iterator[dict[str, Any]]:
    """Each kernel once: objectives and what lies between, rack rules, limits, swaps between topics, bytes, leaders, a clash."""
    brokers = [{"broker_id": i, "rack_id": "abc"[i % 3]} for i in range(6)]
    topics = [
        {
            "topic_name": name,
            "placements": [{"partition_id": i, "replicas": [i % 3, 3 + i % 2]} for i in range(6)],
            "partition_bytes": [1, 2, 3, 4, 5, 6],
        }
        for name in "tu"
    ]
    drained = [{**brokers[0], "draining": True}, *brokers[1:]]
    limited = [{**broker, "max_replicas": 5, "capacity_bytes": 20} for broker in brokers]
    yield {"brokers": drained, "topics": topics, "racks": "spread", "replication_factor": 3, "leaders": "keep"}
    yield {"brokers": drained, "topics": topics, "racks": "none", "objective": "even", "per_topic": True}
    yield {"brokers": limited, "topics": topics, "objective": "even", "racks": "none"}
    yield {"brokers": brokers, "topics": topics, "balance": "bytes", "objective": "even", "limits": {"moves_per_broker": 1}}
    yield {"brokers": brokers, "topics": topics, "racks": "none", "max_moves": 3}
    yield {"brokers": brokers, "topics": topics, "tolerance": 0.2}
    yield {"brokers": brokers, "topics": topics, "objective": "even", "balance": ["bytes", "leaders"]}
    yield {"brokers": brokers, "topics": topics, "racks": "none", "min_topic_leaders": [{"topics": "t"}]}
    yield {"brokers": brokers[:2], "topics": topics, "leaders": "only"}
    yield {"brokers": brokers[:2], "topics": topics, "replication_factor": 3}


def _audit_requests() -> Iterator[dict[str, Any]]:
    brokers = [{"broker_id": i, "rack_id": "abc"[i]} for i in range(3)]
    placements = [{"partition_id": i, "replicas": [i % 3, (i + 1) % 3]} for i in range(4)]
    for placer in PLACERS:
        yield {"placer": placer.name, "brokers": brokers, "placements": placements}


def _lint_request() -> dict[str, Any]:
    placements = [{"partition_id": i, "replicas": [0, 1]} for i in range(4)]
    return {
        "brokers": [{"broker_id": i, "rack_id": "abc"[i]} for i in range(3)],
        "topics": [{"topic_name": "t", "placements": placements}],
        "reassignment": {"version": 1, "partitions": [{"topic": "t", "partition": i, "replicas": [1, 2]} for i in range(4)]},
    }


def _other_requests() -> Iterator[tuple[str, Request]]:
    yield "/v1/reassignments:lint", _lint_request()
    group = {"topics": [{"topic_name": "t", "partitions_count": 7}], "members": [{"member_id": "a"}, {"member_id": "b"}]}
    yield "/v1/member-count-plans", {**group, "assignor": "sarama:sticky", "members_counts": [3]}
    weighed = [{**group["topics"][0], "partition_weights": [1, 2, 3, 4, 5, 6, 7]}]
    yield "/v1/member-count-plans", {**group, "topics": weighed, "members_counts": [3]}
    for keys in (["a", "b"], ["a long key that repeats" * 9] * 2):
        yield "/v1/partitioner-comparisons", {"partitions_count": 3, "keys": keys}
    yield "/v1/partitioner-fingerprints", {"observations": [{"key": "a", "partition_id": 2}]}
    for kind in ("group_record", "share_group_state_record", "offsets_topic"):
        yield "/v1/decodings", {"kind": kind, "records": [RECORD]}
    plans = {"partitions_counts": [3, 65], "current_partitions_count": 3}
    yield "/v1/partition-count-plans", {**plans, "histogram": [{"key": str(i), "records": i} for i in range(600)]}
    yield "/v1/partition-count-plans", {**plans, "keys": ["key"]}
    yield "/v1/streams-assignments", _racks_request()
    yield from (("/v1/streams-assignments", body) for body in _state_requests())


def _racks_request() -> Request:
    """A classic group whose clients exchange tasks by racks."""
    clients = [{"process_id": f"00000000-0000-0000-0000-{i:012}", "rack_id": "ab"[i]} for i in range(2)]
    return {
        "member_protocol": "classic",
        "assignor": "sticky",
        "rack_aware_assignment_strategy": "balance_subtopology",
        "subtopologies": [{"subtopology_id": "0", "tasks_count": 2, "source_topic_names": ["t"]}],
        "topics": [{"topic_name": "t", "partition_racks": [["b"], ["a"]]}],
        "clients": clients,
    }


def _state_requests() -> Iterator[Request]:
    """Classic groups with state: tasks that wait for one of two clients, with a warm-up, and standbys on other clients."""
    tasks = [{"subtopology_id": "0", "task_ids": [0, 1, 2, 3]}]
    lags = [[{"subtopology_id": "0", "task_id": task, "lag": lag} for task in range(4)] for lag in (-2, 100_000, 0)]
    clients = [{"process_id": f"00000000-0000-0000-0000-{i:012}", "lags": lags[i]} for i in range(3)]
    body = {"member_protocol": "classic", "subtopologies": [{"subtopology_id": "0", "tasks_count": 4, "stateful": True}]}
    clients[0]["active_tasks"] = tasks
    yield {**body, "clients": clients[:2], "max_warmup_replicas": 1}
    yield {**body, "clients": clients, "num_standby_replicas": 1}


def _log_dir_requests() -> Iterator[dict[str, Any]]:
    replicas = [{"topic_name": "t", "partition_ids": list(range(6)), "partition_bytes": [40, 30, 20, 10, 5, 1]}]
    topics = [{"topic_name": "t", "placements": [{"partition_id": i, "replicas": [0, 1]} for i in range(6)]}]
    for capacity, given in ((None, {}), (80, {"disk_threshold": 0.9}), (110, {"objective": "even"}), (110, {"tolerance": 0.1})):
        dirs = [{"log_dir": f"/{i}", "capacity_bytes": capacity, "replicas": [] if i else replicas} for i in range(3)]
        yield {"brokers": [{"broker_id": 0, "log_dirs": dirs}], "topics": topics, **given}


BODIES = {
    "/v1/group-assignments": _assignment_requests,
    "/v1/group-rebalances": _rebalance_requests,
    "/v1/partitions": _partition_requests,
    "/v1/replica-placements": _placement_requests,
    "/v1/reassignments": _reassignment_requests,
    "/v1/placement-audits": _audit_requests,
    "/v1/log-dir-plans": _log_dir_requests,
}


class Kernels:
    """Those that this process has."""

    def __init__(self) -> None:
        self._kernels: list[Dispatcher] = []
        self._modules = 0

    def loaded(self) -> set[str]:
        """The signatures of kernels that have been loaded."""
        return {f"{kernel} {types}" for kernel in self._known() for types in kernel.signatures}

    def count(self) -> int:
        """How many they are."""
        return sum(len(kernel.signatures) for kernel in self._known())

    def _known(self) -> list[Dispatcher]:
        if len(sys.modules) > self._modules:
            self._modules = len(sys.modules)
            # isinstance would ask the metaclass of Dispatcher, a million times
            self._kernels = [each for each in gc.get_objects() if Dispatcher in type(each).__mro__]
        return self._kernels


if __name__ == "__main__":
    record()
