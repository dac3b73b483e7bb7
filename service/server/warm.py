"""Loads every kernel: from Numba's cache if it was compiled before; otherwise it is compiled now and cached.

``python -m service.server.warm`` compiles at set-up and at build, in two processes. A server calls ``load_kernels`` before it
forks its workers, so that no request waits for a compiler. A test checks that no golden vector's request compiles anything.
"""

import gc
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from multiprocessing import get_context
from multiprocessing.synchronize import Lock
from typing import Any, Final, NoReturn

import numpy as np
import pyarrow as pa
from numba.core import event
from numba.core.caching import IndexDataCacheFile
from werkzeug.test import Client

from service.app import create_app
from service.config import Settings
from service.core.assignors import GROUP_PROTOCOLS
from service.core.kernels import unsaved
from service.core.keys.formats import FORMATS
from service.core.partitioners import PARTITIONERS
from service.core.placers import PLACERS
from service.core.sizing.frequent_keys import FrequentKeys
from service.web.json import integer_lists, string_lists
from service.web.tables import ARROW_STREAM

KEYS: dict[str, list[Any]] = {
    "string": ["key", "\ud800", None],
    "uuid": ["123e4567-e89b-12d3-a456-426614174000", None],
    "base64": ["a2V5", "", None],
    "hex": ["6b6579", "", None],
    "float": [0.5, None],
    "boolean": [True, None],
}
"""Some keys of each format; those of the other formats are integers."""

RECORD: Final = {"key_base64": "AAMAAWc=", "value_base64": "AAAAAAHeAA=="}

ONE_OF_EACH_ENCODING = ("java", "spark", "scala-0.8", "pulsar")
"""A format takes the same kernels in all partitioners that encode keys alike, so one of each is enough."""


class NotCompiled(BaseException):
    """A kernel is not in Numba's cache. No Exception, so that the app does not answer it as a fault of the request."""


class _Refusal(event.Listener):
    """Raises NotCompiled instead of having a kernel compiled."""

    def on_start(self, _: event.Event) -> None:
        raise NotCompiled

    def on_end(self, _: event.Event) -> None:
        """Nothing has been compiled."""


def load_kernels(settings: Settings) -> None:
    """Load every kernel from Numba's cache. Raises NotCompiled at the first that is not there, or DamagedCache."""
    with event.install_listener("numba:compile", _Refusal()):
        warm(settings)


def warm(settings: Settings | None = None) -> None:
    """Send every strategy requests so small that only loading its kernels takes time, or compiling them where that is needed.

    They go to an app of their own, whose metrics are thrown away. A strategy that rejects its request has loaded what rejects it.
    Raises DamagedCache.
    """
    client = _client(settings or Settings())
    for load in HALVES:
        load(client)


def _client(settings: Settings) -> Client:
    """A client of an app that raises what nobody foresaw, where a service answers 500."""

    def reraise(error: Exception) -> NoReturn:
        raise error

    app = create_app(replace(settings, auth="off", otlp_endpoint=""))
    app.register_error_handler(Exception, reraise)
    app.testing = True  # or Flask answers 500 for what its handler raises
    return Client(app)


def compile_kernels(halves: Sequence[Callable[[Client], None]] | None = None) -> None:
    """Compile what is not cached, each half in a process. Exits if one of them does, which also happens if it cannot save."""
    fork = get_context("fork")
    client, lock = _client(Settings()), fork.Lock()
    processes = [fork.Process(target=_compile_half, args=(load, client, lock)) for load in halves or HALVES]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        if process.exitcode:
            sys.exit(process.exitcode)


def _compile_half(load: Callable[[Client], None], client: Client, lock: Lock) -> None:
    save: Callable[..., None] = IndexDataCacheFile.save

    def save_alone(*args: Any) -> None:
        with lock:  # Numba reads the index of a kernel's compilations, adds one and writes it back
            save(*args)

    IndexDataCacheFile.save = save_alone  # type: ignore[method-assign]
    gc.freeze()  # a compiler makes millions of objects and no garbage to speak of: looking for it takes a tenth of the time
    gc.set_threshold(100_000, 50, 50)
    load(client)
    if unsaved:
        sys.exit(1)


def _load_groups(client: Client) -> None:
    for body in _assignment_requests():
        client.post("/v1/group-assignments", json=body)
    for body in _rebalance_requests():
        client.post("/v1/group-rebalances", json=body)
    client.get("/v1/coordinators", query_string={"group_id": "group"})


def _load_others(client: Client) -> None:
    for body in _partition_requests():
        client.post("/v1/partitions", json=body)
    for column in (pa.array(["key", None]), pa.array([b"key", None]), pa.array([1, None]), pa.array([0.5, None])):
        _post_arrow(client, column)
    integer_lists.take_out(b"[0,1,2,3,4,5,6,7,8]")  # which happens to large bodies
    string_lists.take_out(b'{"keys":["a"]}', "keys")
    for body in _placement_requests():
        client.post("/v1/replica-placements?explain=true", json=body)
    for body in _reassignment_requests():
        client.post("/v1/reassignments", json=body)
    for body in _audit_requests():
        client.post("/v1/placement-audits", json=body)
    client.post("/v1/reassignments:lint", json=_lint_request())
    client.post("/v1/partitioner-comparisons", json={"partitions_count": 3, "keys": ["a", "b"]})
    client.post("/v1/partitioner-comparisons", json={"partitions_count": 3, "keys": ["a long key that repeats" * 9] * 2})
    client.post("/v1/partitioner-fingerprints", json={"observations": [{"key": "a", "partition_id": 2}]})
    for kind in ("group_record", "share_group_state_record", "offsets_topic"):
        client.post("/v1/decodings", json={"kind": kind, "records": [RECORD]})
    # With few and with many partitions; the list of frequent keys is otherwise for a million different keys.
    plans = {"partitions_counts": [3, 65], "current_partitions_count": 3}
    client.post("/v1/partition-count-plans", json={**plans, "histogram": [{"key": str(i), "records": i} for i in range(600)]})
    client.post("/v1/partition-count-plans", json={**plans, "keys": ["key"]})
    frequent = FrequentKeys()
    one = np.ones(1, np.int64)
    frequent.add(one, one, np.zeros(1, np.bool_), 0)
    frequent.merged(frequent)


HALVES = (_load_groups, _load_others)
"""Of about equal length to compile, with few kernels in common."""


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


def _post_arrow(client: Client, column: pa.Array) -> None:
    table = pa.table({"key": column})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    for partitioner in ONE_OF_EACH_ENCODING:
        query = {"partitioner": partitioner, "partitions_count": 3}
        client.post("/v1/partitions", query_string=query, data=sink.getvalue().to_pybytes(), content_type=ARROW_STREAM)


def _rebalance_requests() -> Iterator[dict[str, Any]]:
    topics = [{"topic_name": "t", "partitions_count": 3, "partition_weights": [1, 2, 3]}]
    events = [
        {"at_ms": 1_000, "type": "member_joins", "member": {"member_id": "n"}},
        {"at_ms": 2_000, "type": "partitions_added", "topic_name": "t", "partitions_count": 4},
        {"at_ms": 400_000, "type": "member_leaves", "member_id": "m"},
    ]
    for protocol in GROUP_PROTOCOLS:
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
            yield {"group_protocol": protocol, "assignor": assignor.name, "topics": some_topics, "members": members}


def _placement_requests() -> Iterator[dict[str, Any]]:
    brokers = [{"broker_id": i, "rack_id": "abc"[i % 3], "fenced": i == 5} for i in range(6)]
    for placer in PLACERS:
        yield {"placer": placer.name, "partitions_count": 9, "replication_factor": 3, "brokers": brokers}
    current = [{"topic_name": "t", "partition_id": i, "replicas": [i]} for i in range(2)]
    yield {
        "placer": "kafka-reassign-generate", "rack_aware": True, "broker_list": [0, 1], "topics_to_move": ["t"],
        "cluster_brokers": [{"broker_id": i, "rack_id": "a"} for i in range(2)], "current_assignments": current,
    }  # fmt: skip
    topics = [{"topic_name": "t", "partitions_count": 2, "replication_factor": 1}]
    yield {"placer": "striped", "brokers": brokers, "operations": [{"operation": "create_topics", "topics": topics}]}


def _reassignment_requests() -> Iterator[dict[str, Any]]:
    """Each kernel once: both objectives, every rack rule, limits that bind, swaps between topics, bytes, and a clash."""
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


if __name__ == "__main__":
    compile_kernels()
