"""The request of ``/v1/coordinators``."""

from dataclasses import dataclass
from typing import Any, Final

from marshmallow import Schema, ValidationError, fields, validate

from service.core import coordinators
from service.core.coordinators import DEFAULT_PARTITIONS_COUNT, Coordinator
from service.web.blueprint import QuestionSchema
from service.web.fields import Integer, about, short
from service.web.schemas import ExplainSchema, KafkaVersion

TOPIC_ID: Final = r"^[A-Za-z0-9_+/-]{21}[AQgw]$"
"""A Kafka Uuid as text: 16 bytes in base64 without padding, for URLs, as Java writes it, or standard, as confluent-kafka does."""


@dataclass(frozen=True)
class Coordination:
    """Where an id is coordinated. explained : GET's ``explain``"""

    kafka_version: str
    partitions_count: int
    coordinator: Coordinator
    explained: bool


class SharePartitionSchema(Schema):
    """One partition in a share group."""

    group_id = fields.String(required=True, validate=short)
    topic_id = fields.String(
        required=True,
        validate=validate.Regexp(TOPIC_ID, error="Not a topic id: 22 characters of base64."),
        metadata={"example": "V7F9ul3F6BwnoWweQWbrfg"},
    )
    partition = Integer(required=True, minimum=0)


class CoordinatorSchema(QuestionSchema):
    """An id: one of `group_id`, `transactional_id` and `share_partition`."""

    kafka_version = KafkaVersion()
    group_id = fields.String(validate=short, metadata=about("of a consumer, share or streams group", example="orders"))
    transactional_id = fields.String(validate=short, metadata=about("of a transactional producer"))
    share_partition = fields.Nested(SharePartitionSchema)
    partitions_count = Integer(
        minimum=1, load_default=DEFAULT_PARTITIONS_COUNT, metadata=about("of the topic that holds the coordinators' state")
    )

    def question(self, body: dict[str, Any], **_: Any) -> Coordination:
        """The coordinator of the one id in the body."""
        id_names = [name for name in ("group_id", "transactional_id", "share_partition") if name in body]
        if len(id_names) != 1:
            raise ValidationError(f"Give one of group_id, transactional_id and share_partition, not {len(id_names)}.")
        count = body["partitions_count"]
        if "group_id" in body:
            coordinator = coordinators.of_group(body["group_id"], count)
        elif "transactional_id" in body:
            coordinator = coordinators.of_transaction(body["transactional_id"], count)
        else:
            share = body["share_partition"]
            url_safe = share["topic_id"].translate(str.maketrans("+/", "-_"))
            coordinator = coordinators.of_share_partition(**{**share, "topic_id": url_safe}, partitions_count=count)
        return Coordination(body["kafka_version"], count, coordinator, body.get("explain", False))


class CoordinatorQuerySchema(CoordinatorSchema, ExplainSchema):
    """The same in a query; a share partition's three parts need a body."""

    class Meta:
        """Without the field that a query cannot hold."""

        exclude = ("share_partition",)
