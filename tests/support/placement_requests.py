"""Requests of the golden vectors as the core's own forms, and its answers in the vectors' words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from service.core.errors import KafkaError
from service.core.model import NONE, Cluster, Wish
from service.core.placers import PLACERS

if TYPE_CHECKING:
    from service.core.jvm.random import JavaRandom


def cluster_of(brokers: list[dict[str, Any]]) -> Cluster:
    """The brokers of a request."""
    racks = tuple(dict.fromkeys(broker["rack_id"] for broker in brokers if broker.get("rack_id") is not None))
    return Cluster(
        np.array([broker["broker_id"] for broker in brokers], np.int32),
        racks,
        np.array([NONE if broker.get("rack_id") is None else racks.index(broker["rack_id"]) for broker in brokers], np.int32),
        np.array([broker.get("fenced", False) for broker in brokers], np.bool_),
    )


def wish_of(request: dict[str, Any], kafka_version: str = "4.3.1") -> Wish:
    """What a request, or one of its topics, wants placed."""
    return Wish(
        request["partitions_count"],
        request["replication_factor"],
        request.get("start_partition_id", 0),
        request.get("start_index"),
        request.get("replica_shift"),
        kafka_version=kafka_version,
    )


def refusal(error: KafkaError) -> dict[str, Any]:
    """An error as the vectors have it."""
    return {"error": type(error).__name__, "exception": error.exception, "message": error.message}


def answer(placer: str, cluster: Cluster, wish: Wish, random: JavaRandom) -> dict[str, Any]:
    """One topic's placements, or its error."""
    try:
        placement = PLACERS[placer].run(cluster, wish, random)
    except KafkaError as error:
        return refusal(error)
    rows = zip(wish.partition_ids().tolist(), cluster.broker_ids[placement].tolist(), strict=True)
    return {"placements": [{"partition_id": i, "replicas": replicas} for i, replicas in rows]}
