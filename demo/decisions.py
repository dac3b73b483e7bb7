"""Requests to the service, and its answers in terms of records."""

from __future__ import annotations

import http.client
import urllib.request
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from demo.flights import Keyed

    Ask = Callable[[str, dict[str, Any]], dict[str, Any]]
    Counts = npt.NDArray[np.int64]

PARTITIONERS = ("java", "librdkafka:consistent_random")
PARTITIONS_COUNTS = (12, 64)
ASSIGNORS = ("range", "roundrobin")
MEMBERS = tuple(f"consumer-{i}" for i in range(1, 7))
PLACERS = ("rack-aware", "striped")
BROKERS = tuple({"broker_id": i, "rack_id": "abc"[i % 3]} for i in range(6))
REPLICATION_FACTOR = 3
SEED = 2013
"""Seed of what real clients choose at random: the partition of a record without a key, the first broker."""


def in_process() -> Ask:
    """Ask an app in this process, through its HTTP API."""
    from service.app import create_app  # noqa: PLC0415 - not needed for a running server

    client = create_app().test_client()

    def ask(path: str, question: dict[str, Any]) -> dict[str, Any]:
        response = client.post(path, data=orjson.dumps(question), content_type="application/json")
        if response.status_code != http.client.OK:
            raise RuntimeError(f"{path} answered {response.status_code}: {response.text}")
        answer: dict[str, Any] = orjson.loads(response.data)
        return answer

    return ask


def over_http(url: str) -> Ask:
    """Ask a running server."""

    def ask(path: str, question: dict[str, Any]) -> dict[str, Any]:
        request = urllib.request.Request(url.rstrip("/") + path, orjson.dumps(question), {"content-type": "application/json"})  # noqa: S310
        with urllib.request.urlopen(request) as response:  # noqa: S310 - the user's own url
            answer: dict[str, Any] = orjson.loads(response.read())
        return answer

    return ask


@dataclass(frozen=True)
class Partitioned:
    """The flights with one key, on one number of partitions.

    records : partitioner → int64[partitions], the records in each partition
    key_skew : partitioner → skew of the distinct keys over the partitions
    record_skew : partitioner → skew of the records
    elsewhere : share of the records with a key that the two partitioners put on different partitions
    best_skew : the lowest possible skew of the records, since the records of a key stay together
    """

    keyed: Keyed
    partitions_count: int
    records: dict[str, Counts]
    key_skew: dict[str, float]
    record_skew: dict[str, float]
    elsewhere: float
    best_skew: float


def partition(ask: Ask, keyed: Keyed, partitions_count: int) -> Partitioned:
    """``POST /v1/partitions`` with the key of every flight, and with the distinct keys, for both partitioners."""
    records, key_skew, record_skew, partitions = {}, {}, {}, {}
    for partitioner in PARTITIONERS:
        question = {"partitioner": partitioner, "partitions_count": partitions_count, "random_seed": SEED}
        answer = ask("/v1/partitions", {**question, "keys": keyed.keys.to_pylist()})
        of_keys = ask("/v1/partitions", {**question, "keys": keyed.distinct.to_pylist()})
        partitions[partitioner] = np.array(answer["partitions"])
        records[partitioner] = np.bincount(partitions[partitioner], minlength=partitions_count)
        record_skew[partitioner] = answer["distribution"]["skew"]
        key_skew[partitioner] = of_keys["distribution"]["skew"]
    has_key = keyed.keys.is_valid().to_numpy(zero_copy_only=False)
    first, second = (partitions[partitioner][has_key] for partitioner in PARTITIONERS)
    best = keyed.hottest[1] / len(keyed.keys) * partitions_count
    return Partitioned(keyed, partitions_count, records, key_skew, record_skew, float(np.mean(first != second)), max(1.0, best))


@dataclass(frozen=True)
class Assigned:
    """One group over the three topics.

    partitions, records : int64[members], the partitions and records of each member
    partition_skew : from the answer
    """

    assignor: str
    partitions_count: int
    partitions: Counts
    records: Counts
    partition_skew: float


def assign(ask: Ask, assignor: str, topics: list[Partitioned]) -> Assigned:
    """``POST /v1/group-assignments``: six new members; the topics are written by Java producers."""
    answer = ask(
        "/v1/group-assignments",
        {
            "group_protocol": "classic",
            "assignor": assignor,
            "topics": [{"topic_name": topic.keyed.topic_name, "partitions_count": topic.partitions_count} for topic in topics],
            "members": [{"member_id": member} for member in MEMBERS],
        },
    )
    records = {topic.keyed.topic_name: topic.records["java"] for topic in topics}
    owned = [member["partitions"] for member in answer["assignments"]]
    return Assigned(
        assignor,
        topics[0].partitions_count,
        np.array([sum(len(part["partition_ids"]) for part in parts) for parts in owned]),
        np.array([sum(int(records[part["topic_name"]][part["partition_ids"]].sum()) for part in parts) for parts in owned]),
        answer["member_load"]["skew"],
    )


@dataclass(frozen=True)
class Placed:
    """The three topics on the brokers.

    replicas, leaders : int64[brokers], how many each broker has
    records : int64[brokers], the records of the partitions that it leads
    racks : int64[partitions of all topics], on how many racks each partition is
    """

    placer: str
    partitions_count: int
    replicas: Counts
    leaders: Counts
    records: Counts
    racks: Counts


def place(ask: Ask, placer: str, topics: list[Partitioned]) -> Placed:
    """``POST /v1/replica-placements``: the topics created in one request, in turn from one random sequence."""
    answer = ask(
        "/v1/replica-placements",
        {
            "placer": placer,
            "random_seed": SEED,
            "brokers": list(BROKERS),
            "topics": [
                {
                    "topic_name": topic.keyed.topic_name,
                    "partitions_count": topic.partitions_count,
                    "replication_factor": REPLICATION_FACTOR,
                }
                for topic in topics
            ],
        },
    )
    placements = np.array([[row["replicas"] for row in topic["placements"]] for topic in answer["topics"]]).reshape(
        -1, REPLICATION_FACTOR
    )
    records = np.concatenate([topic.records["java"] for topic in topics])
    rack_of = np.array([ord(str(broker["rack_id"])) for broker in BROKERS])
    return Placed(
        placer,
        topics[0].partitions_count,
        np.bincount(placements.ravel(), minlength=len(BROKERS)),
        np.bincount(placements[:, 0], minlength=len(BROKERS)),
        np.bincount(placements[:, 0], weights=records, minlength=len(BROKERS)).astype(np.int64),
        np.array([len(set(racks)) for racks in rack_of[placements].tolist()]),
    )
