"""Requests of the golden vectors as the core's own forms, and its answers in the vectors' words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from service.core.errors import KafkaError
from service.core.model import NONE, Cluster, PlacementRequest
from service.strategies import PLACERS

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


def request_of(body: dict[str, Any], kafka_version: str = "4.3.1") -> PlacementRequest:
    """The placement request of a body, or of one of its topics."""
    return PlacementRequest(
        body["partitions_count"],
        body["replication_factor"],
        body.get("start_partition_id", 0),
        body.get("start_index"),
        body.get("replica_shift"),
        kafka_version=kafka_version,
    )


def refusal(error: KafkaError) -> dict[str, Any]:
    """An error as the vectors have it."""
    return {"error": type(error).__name__, "exception": error.exception, "message": error.message}


def answer(placer: str, cluster: Cluster, request: PlacementRequest, random: JavaRandom) -> dict[str, Any]:
    """One topic's placements, or its error."""
    try:
        placement = PLACERS[placer].run(cluster, request, random)
    except KafkaError as error:
        return refusal(error)
    rows = zip(request.partition_ids().tolist(), cluster.broker_ids[placement].tolist(), strict=True)
    return {"placements": [{"partition_id": i, "replicas": replicas} for i, replicas in rows]}
