"""The body of ``POST /v1/placement-audits``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from marshmallow import Schema, ValidationError, fields, validate

from service.api.placements.request import BrokerSchema, placer_at
from service.core.errors import MAX_ERRORS
from service.core.kafka_versions import LATEST
from service.core.model import Cluster, Ragged
from service.core.placers import Placer
from service.decisions.placements.rows import BROKER, PLACEMENT, plain_brokers, plain_placements, read_cluster, read_placement
from service.web.blueprint import Parts, QuestionSchema
from service.web.columns_field import Rows
from service.web.context import check_limit, reserve
from service.web.fields import Integer, List, TopicName, about

if TYPE_CHECKING:
    from service.core.model import Int32s

EXAMPLE: Final = {
    "placer": "striped",
    "brokers": [{"broker_id": 1, "rack_id": "a"}, {"broker_id": 2, "rack_id": "b"}, {"broker_id": 3, "rack_id": "c"}],
    "topic_name": "orders",
    "placements": [
        {"partition_id": 0, "replicas": [1, 2, 3]},
        {"partition_id": 1, "replicas": [2, 3, 1]},
        {"partition_id": 2, "replicas": [3, 1, 2]},
    ],
}


class AuditedPartitionSchema(Schema):
    """What a partition has."""

    partition_id = Integer(required=True, minimum=0)
    replicas = List(Integer(), required=True, metadata=about("broker ids, the preferred leader first"))


class PlacementAuditSchema(QuestionSchema):
    """A topic's placement, and the placer that may have made it."""

    kafka_version = fields.String(metadata=about("the release to reproduce, one of the placer's", example=LATEST))
    placer = fields.String(load_default="striped", metadata=about("the name of a placer, as GET /v1/placers lists them"))
    topic_name = TopicName(metadata=about("what the topic is called in this service's metrics"))
    brokers = Rows(
        BrokerSchema,
        BROKER,
        plain_brokers,
        required=True,
        metadata=about("the cluster that the topic was placed on. `modulo` and `rack-unaware` count along this list"),
    )
    placements = Rows(
        AuditedPartitionSchema,
        PLACEMENT,
        plain_placements,
        required=True,
        metadata=about("the topic's partitions in any order, without a gap"),
    )
    additions = List(
        Integer(minimum=1),
        load_default=[],
        validate=validate.Length(max=1_000),
        metadata=about(
            "the first id of the partitions that were added to the topic, for each addition: [12] for a topic that was created "
            "with 12 partitions and grown once. Default: none were added"
        ),
    )

    def question(self, body: dict[str, Any], **_: Any) -> PlacementAuditQuestion:
        """The question: its placer resolved, its names turned into indices. Raises ValidationError, LimitExceeded."""
        placer, version = _placer(body)
        cluster, ids, placement = _placement(body)
        order = np.argsort(ids, kind="stable")
        ids = ids[order]
        gap = np.flatnonzero(np.diff(ids) != 1)
        if len(gap):
            raise ValidationError({"placements": [f"Partition {ids[gap[0]] + 1} is missing."]})
        additions = _additions(body["additions"], int(ids[0]), int(ids[-1]))
        in_order = placement if (order == np.arange(len(order))).all() else _taken(placement, order)
        return PlacementAuditQuestion(
            version, placer, body.get("topic_name"), cluster, int(ids[0]), in_order, order.astype(np.int32), additions
        )

    def parts(self) -> Parts:
        """The placer; the brokers and the placement."""
        return (_placer, _placement)


def _placer(body: dict[str, Any]) -> tuple[Placer, str]:
    placer, version = placer_at(body)
    if "partitions_count" not in placer.requests:
        raise ValidationError({"placer": [f"{placer.name} places several topics together; a single topic cannot be audited."]})
    return placer, version


def _placement(body: dict[str, Any]) -> tuple[Cluster, Int32s, Ragged]:
    """The brokers, and the placement as ``read_placement`` returns it. Raises ValidationError, LimitExceeded."""
    rows = body["placements"]
    check_limit("max_placement_cells", len(rows.field("replicas").flatten()), "replicas", "placements")
    reserve(audit_bytes(len(rows), len(rows.field("replicas").flatten()), len(body["brokers"])))
    cluster = read_cluster(body["brokers"])
    faults = distinct_faults(cluster.broker_ids, "brokers", "broker_id")
    if not len(cluster):
        faults["brokers"] = ["Must have at least one broker."]
    if not len(rows):
        faults["placements"] = ["Must have at least one partition."]
    faults |= distinct_faults(np.array(rows.field("partition_id"), np.int32), "placements", "partition_id")
    if faults:
        raise ValidationError(faults)
    return cluster, *read_placement(rows, cluster)


@dataclass(frozen=True)
class PlacementAuditQuestion:
    """Could this placer have placed the topic so?

    first_id : the id of the first partition; placement : Ragged partition → brokers, NONE for one that the cluster does not have
    position : int32[partitions], where each stands in the request
    additions : rows at which partitions were added, ascending
    """

    kafka_version: str
    placer: Placer
    topic_name: str | None
    cluster: Cluster
    first_id: int
    placement: Ragged
    position: Int32s
    additions: tuple[int, ...]


def distinct_faults(ids: Int32s, field: str, name: str) -> dict[str, Any]:
    """Marshmallow's messages for ids that a list has twice."""
    _, first = np.unique(ids, return_index=True)
    again = np.setdiff1d(np.arange(len(ids)), first)[:MAX_ERRORS].tolist()
    return {field: {row: {name: [f"Duplicate {name} {ids[row]}."]} for row in again}} if again else {}


def audit_bytes(partitions: int, replicas: int, brokers: int) -> int:
    """Most bytes of memory that an audit takes: arrays of the placement and of the placer's own, and the answer."""
    return 100_000 + 100 * partitions + 150 * replicas + 600 * brokers


def _additions(ids: list[int], first_id: int, last_id: int) -> tuple[int, ...]:
    faults = {}
    for i, partition_id in enumerate(ids):
        if not first_id < partition_id <= last_id:
            faults[i] = [f"Must be in [{first_id + 1}, {last_id}]."]
        elif i and partition_id <= ids[i - 1]:
            faults[i] = ["Must be larger than the one before."]
    if faults:
        raise ValidationError({"additions": faults})
    return tuple(partition_id - first_id for partition_id in ids)


def _taken(rows: Ragged, order: np.ndarray[Any, Any]) -> Ragged:
    """The rows in another order."""
    lengths = rows.lengths()[order]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
    return Ragged(offsets, rows.values[np.repeat(rows.offsets[:-1][order], lengths) + within])
