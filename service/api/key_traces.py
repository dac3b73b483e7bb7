"""Follow a key: to its partition, the brokers that hold it, and who reads it, now and after a planned change.

The cluster is what `texts` describe, as for `/v1/descriptions`. What is not described is null or `unknown`. Members own what the
texts say; where a group rebalances, or no text says it, the group's assignor decides (`basis`: `assigned`). As `text/csv` or an
Arrow stream the answer has a row for each reader.
"""

from dataclasses import asdict
from typing import Any, Final

import pyarrow as pa
from marshmallow import validate

from service.api.descriptions import MOST_TEXTS
from service.api.reassignment_schemas import KafkaReassignmentSchema
from service.core.keys.formats import FORMATS
from service.descriptions.key_traces import KeyPath, KeyTraceAnswer, KeyTraceQuestion, answer
from service.http import fields
from service.http.fields import Int
from service.http.forms import AnswerSchema, Form, KafkaVersion, Operation, QuestionSchema
from service.http.lists import Array


class KeyTraceSchema(QuestionSchema):
    """A key of a topic, the cluster as texts describe it, and what is planned."""

    asks = KeyTraceQuestion
    kafka_version = KafkaVersion()
    key = fields.Raw("the key, as `key_format` has it", required=True, example="order-1")
    key_format = fields.String(
        "how the JSON value becomes a key, as Kafka's serializers do; default `string`", validate=validate.OneOf(FORMATS)
    )
    partitioner = fields.String("a name of GET /v1/partitioners", load_default="java", example="java")
    texts = Array(
        fields.String(),
        "what Kafka's tools and others print, snapshots, logs; later texts complete earlier ones",
        validate=validate.Length(max=MOST_TEXTS),
    )
    topic_name = fields.String("default: the only one that is described", example="orders", validate=validate.Length(max=249))
    partitions_count = Int("the topic's partitions, where no text tells", minimum=1)
    group_id = fields.String("default: all groups that read the topic", allow_none=True)
    planned_partitions_count = Int("partitions that the topic is to have", minimum=1)
    planned_members_count = Int("members that the group is to have", minimum=1)
    reassignment = fields.Nested(KafkaReassignmentSchema, "a planned one: Kafka's reassignment JSON")


class HeldReplicaSchema(AnswerSchema):
    """A replica."""

    broker_id = fields.Integer()
    rack_id = fields.String("null: not known", allow_none=True)
    in_sync = fields.Boolean("null: not known", allow_none=True)


class ReaderSchema(AnswerSchema):
    """Who reads the partition in a group."""

    group_id = fields.String()
    basis = fields.String(
        "`owned`: as described; `assigned`: by the group's assignor, when it rebalances; `none`; `unknown`", example="owned"
    )
    member_id = fields.String(allow_none=True)
    client_id = fields.String(allow_none=True)
    host = fields.String(allow_none=True)
    lag = fields.Integer("records of the partition that are not committed yet; null: not known", allow_none=True)


class KeyPathSchema(AnswerSchema):
    """The way of the key."""

    partition_id = fields.Integer()
    partitions_count = fields.Integer()
    leader = fields.Integer("-1: none; null: not known", allow_none=True)
    replicas = fields.List(fields.Nested(HeldReplicaSchema), "the preferred leader first; null: not known", allow_none=True)
    readers = fields.List(fields.Nested(ReaderSchema), "of each group at least one row")


class KeyTraceAnswerSchema(AnswerSchema):
    """The way of the key, now and after the change."""

    kafka_version = fields.String()
    partitioner = fields.String()
    topic_name = fields.String()
    conclusion = fields.String("the way in a sentence")
    warnings = fields.List(fields.String(), "what was skipped or assumed, and what is not known")
    now = fields.Nested(KeyPathSchema)
    planned = fields.Nested(KeyPathSchema, "null: no change is planned", allow_none=True)


def document(answer: KeyTraceAnswer) -> dict[str, Any]:
    """The answer, as KeyTraceAnswerSchema has it."""
    return {
        "kafka_version": answer.question.kafka_version,
        "partitioner": answer.question.partitioner,
        "topic_name": answer.topic_name,
        "conclusion": answer.conclusion,
        "warnings": list(answer.warnings),
        "now": asdict(answer.now),
        "planned": None if answer.planned is None else asdict(answer.planned),
    }


def table(answer: KeyTraceAnswer) -> pa.Table:
    """A row for each reader, or for the partition if no group reads it."""
    paths = (("now", answer.now), ("planned", answer.planned))
    rows = [row for when, path in paths if path is not None for row in _rows(when, path)]
    return pa.Table.from_pylist(rows, pa.schema(COLUMNS))


COLUMNS: Final = [
    *((name, kind) for name, kind in (("when", pa.string()), ("partition_id", pa.int32()), ("leader", pa.int32()))),
    *((name, pa.string()) for name in ("group_id", "basis", "member_id", "client_id", "host")),
    ("lag", pa.int64()),
]


def _rows(when: str, path: KeyPath) -> list[dict[str, Any]]:
    held = {"when": when, "partition_id": path.partition_id, "leader": path.leader}
    return [held | asdict(reader) for reader in path.readers] or [held]


FORM: Final = Form(KeyTraceSchema(), answer, KeyTraceAnswerSchema, document, table)

EXAMPLE: Final = {
    "key": "order-1",
    "topic_name": "orders",
    "texts": ["Topic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\n", "broker,rack\n1,a\n2,b\n"],
    "planned_partitions_count": 4,
}

OPERATION: Final = Operation("key-traces", "traceKey", "trace", "a key → its partition, brokers and readers", EXAMPLE)
