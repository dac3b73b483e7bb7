"""``/v1/coordinators``: group, transactional or share id → coordinator partition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from flask import request
from marshmallow import Schema, ValidationError, fields, post_load, validate

from service.core import coordinators
from service.core.coordinators import DEFAULT_PARTITIONS_COUNT, Coordinator
from service.web import responses
from service.web.blueprint import Blueprint
from service.web.fields import INT32, Integer, QueryInteger
from service.web.schemas import ExplainSchema, KafkaVersion

if TYPE_CHECKING:
    from flask import Response

blueprint = Blueprint("coordinators", __name__, description="id → coordinator partition")

TOPIC_ID: Final = r"^[A-Za-z0-9_-]{21}[AQgw]$"
"""A Kafka Uuid as text: 16 bytes in URL-safe base64 without padding."""


@dataclass(frozen=True)
class Coordination:
    """The question: where is this id coordinated?"""

    kafka_version: str
    partitions_count: int
    coordinator: Coordinator


class SharePartitionSchema(Schema):
    """One partition in a share group."""

    group_id = fields.String(required=True)
    topic_id = fields.String(
        required=True,
        validate=validate.Regexp(TOPIC_ID, error="Not a topic id: 22 characters of URL-safe base64."),
        metadata={"example": "V7F9ul3F6BwnoWweQWbrfg"},
    )
    partition = Integer(required=True, minimum=0)


class CoordinatorSchema(Schema):
    """An id: one of `group_id`, `transactional_id` and `share_partition`."""

    kafka_version = KafkaVersion()
    group_id = fields.String(metadata={"description": "of a consumer, share or streams group", "example": "orders"})
    transactional_id = fields.String(metadata={"description": "of a transactional producer"})
    share_partition = fields.Nested(SharePartitionSchema)
    partitions_count = Integer(
        minimum=1,
        load_default=DEFAULT_PARTITIONS_COUNT,
        metadata={"description": "of the topic that holds the coordinators' state"},
    )

    @post_load
    def ask(self, body: dict[str, Any], **_: Any) -> Coordination:
        """The coordinator of the one id that is there."""
        given = [name for name in ("group_id", "transactional_id", "share_partition") if name in body]
        if len(given) != 1:
            raise ValidationError(f"One of group_id, transactional_id and share_partition is wanted, not {len(given)}.")
        count = body["partitions_count"]
        if "group_id" in body:
            coordinator = coordinators.of_group(body["group_id"], count)
        elif "transactional_id" in body:
            coordinator = coordinators.of_transaction(body["transactional_id"], count)
        else:
            coordinator = coordinators.of_share_partition(**body["share_partition"], partitions_count=count)
        return Coordination(body["kafka_version"], count, coordinator)


class CoordinatorQuerySchema(CoordinatorSchema):
    """The same in a query; a share partition's three parts need a body."""

    class Meta:
        """Without what a query has no room for."""

        exclude = ("share_partition",)

    partitions_count = QueryInteger(minimum=1, maximum=INT32, load_default=DEFAULT_PARTITIONS_COUNT)  # type: ignore[assignment]
    explain = fields.Boolean(load_default=False, truthy={"true"}, falsy={"false"})


class CoordinatorStepsSchema(Schema):
    """``Utils.abs(key.hashCode()) % partitions_count``, step by step."""

    rule = fields.String()
    key = fields.String()
    hash = fields.Integer()
    hash_hex = fields.String()
    after_sign_rule = fields.Integer()
    modulo = fields.Integer()
    result = fields.Integer()


class CoordinatorAnswerSchema(Schema):
    """The partition whose leader coordinates the id."""

    kafka_version = fields.String()
    topic_name = fields.String(metadata={"example": "__consumer_offsets"})
    partition_id = fields.Integer()
    partitions_count = fields.Integer()
    coordinator_key = fields.String(metadata={"description": "what is hashed"})
    explanation = fields.Nested(CoordinatorStepsSchema, metadata={"description": "with `explain=true`"})


@blueprint.post("/v1/coordinators")
@blueprint.arguments(CoordinatorSchema)
@blueprint.arguments(ExplainSchema, location="query")
@blueprint.response(200, CoordinatorAnswerSchema)
@blueprint.doc(operationId="findCoordinator")
def find_coordinator(question: Coordination, query: dict[str, bool]) -> Response:
    """Say which partition coordinates an id."""
    return answer(question, explained=query["explain"])


@blueprint.get("/v1/coordinators")
@blueprint.arguments(CoordinatorQuerySchema, location="query")
@blueprint.response(200, CoordinatorAnswerSchema)
@blueprint.doc(operationId="getCoordinator")
def get_coordinator(question: Coordination) -> Response:
    """Say which partition coordinates a group or a transactional id."""
    return answer(question, explained=request.args.get("explain") == "true")


def answer(question: Coordination, *, explained: bool) -> Response:
    """The answer in the media type that the request wants; as a table it is one row, without the explanation."""
    found = question.coordinator
    document: dict[str, Any] = {
        "kafka_version": question.kafka_version,
        "topic_name": found.topic_name,
        "partition_id": found.partition_id,
        "partitions_count": question.partitions_count,
        "coordinator_key": found.key,
    }
    media_type = responses.wanted()
    if media_type != responses.JSON:
        return responses.table(pa.Table.from_pylist([document]), media_type)
    if explained:
        document["explanation"] = {
            "rule": "Utils.abs(key.hashCode()) % partitions_count, where abs(-2147483648) is 0",
            "key": found.key,
            "hash": found.hash_code,
            "hash_hex": f"{found.hash_code % 2**32:08x}",
            "after_sign_rule": found.positive,
            "modulo": question.partitions_count,
            "result": found.partition_id,
        }
    return responses.answer(document)
