"""The body of ``POST /v1/reassignments:lint``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from marshmallow import ValidationError, fields

from service.api.reassignments.request import KafkaReassignmentSchema, PlacedTopicSchema, TargetBrokerSchema
from service.core.model import NONE, Ragged
from service.core.reassignments.lint import Reassigned
from service.core.reassignments.model import Brokers, Placements
from service.decisions.reassignments.rows import (
    PLACED_TOPIC,
    TARGET_BROKER,
    check_broker_ids,
    check_topic_names,
    plain_placed_topics,
    plain_target_brokers,
    read_brokers,
    read_placements,
)
from service.web.blueprint import Parts, QuestionSchema
from service.web.columns_field import Rows
from service.web.context import check_limit, reserve
from service.web.fields import about

EXAMPLE: Final = {
    "brokers": [{"broker_id": i, "rack_id": "aab"[i]} for i in range(3)],
    "topics": [{"topic_name": "orders", "placements": [{"partition_id": 0, "replicas": [0, 2]}]}],
    "reassignment": {"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [0, 1]}]},
}


class ReassignmentLintSchema(QuestionSchema):
    """A reassignment, and the cluster that it is for."""

    brokers = Rows(
        TargetBrokerSchema,
        TARGET_BROKER,
        plain_target_brokers,
        required=True,
        metadata=about("the cluster, as for /v1/reassignments"),
    )
    topics = Rows(PlacedTopicSchema, PLACED_TOPIC, plain_placed_topics, required=True, metadata=about("the current placement"))
    reassignment = fields.Nested(KafkaReassignmentSchema, required=True, metadata=about("Kafka's reassignment JSON"))

    def question(self, body: dict[str, Any], **_: Any) -> LintQuestion:
        """The question as the core's arrays. Raises InvalidQuestion, LimitExceeded."""
        if not len(body["brokers"]):
            raise ValidationError({"brokers": ["Must have at least one broker."]})
        topics, rows = body["topics"], body["reassignment"]["partitions"]
        current = topics.field("placements").flatten().field("replicas")
        cells = len(current.flatten()) + len(rows.field("replicas").flatten())
        check_limit("max_placement_cells", cells, "replicas", "topics")
        brokers = read_brokers(body["brokers"], np.unique(np.array(current.flatten(), np.int32)))
        check_limit("max_placement_cells", len(brokers) ** 2, "brokers × brokers", "brokers")
        check_limit("max_assignment_cells", cells * len(brokers), "replicas × brokers")
        reserve(100_000 + 2 * 13 * len(brokers) ** 2 + 400 * (len(current) + len(rows)) + 200 * cells)
        placements = read_placements(topics, brokers, None, frozenset())
        return LintQuestion(brokers, placements, _read_reassigned(rows, brokers, placements))

    def parts(self) -> Parts:
        """The brokers' ids; the topics' names."""
        return (lambda body: check_broker_ids(body["brokers"]), lambda body: check_topic_names(body["topics"]))


@dataclass(frozen=True)
class LintQuestion:
    """What is wrong with this reassignment?"""

    brokers: Brokers
    placements: Placements
    reassigned: Reassigned


def _read_reassigned(rows: pa.StructArray, brokers: Brokers, placements: Placements) -> Reassigned:
    """The rows of type REASSIGNED."""
    names, ids = rows.field("topic"), np.array(rows.field("partition"), np.int32)
    known_names = pa.array(placements.topic_names, names.type)
    topics = np.array(pc.fill_null(pc.index_in(names, known_names), NONE), np.int32)
    keys, partitions = _keys(placements.topics, placements.partition_ids), np.full(len(rows), NONE, np.int32)
    if len(keys):
        order = np.argsort(keys, kind="stable")
        sought = _keys(topics, ids)
        at = np.minimum(np.searchsorted(keys[order], sought), len(keys) - 1)
        partitions = np.where((keys[order[at]] == sought) & (topics != NONE), order[at], NONE).astype(np.int32)
    lengths = np.array(pc.list_value_length(rows.field("replicas")), np.int64)
    broker_ids, known = np.array(rows.field("replicas").flatten(), np.int32), brokers.cluster.broker_ids
    replicas = np.full(len(broker_ids), NONE, np.int32)
    if len(known):
        order = np.argsort(known, kind="stable")
        at = np.minimum(np.searchsorted(known[order], broker_ids), len(known) - 1)
        replicas = np.where(known[order[at]] == broker_ids, order[at], NONE).astype(np.int32)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    return Reassigned(names.to_pylist(), ids, partitions, topics != NONE, broker_ids, Ragged(offsets, replicas))


def _keys(topics: Any, ids: Any) -> Any:
    """int64[...], a number for each topic and partition."""
    return topics.astype(np.int64) << 32 | ids.astype(np.int64)
