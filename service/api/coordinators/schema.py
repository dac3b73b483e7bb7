"""The JSON body and the query of a question about a coordinator."""

from typing import Final

from marshmallow import Schema, validate

from service.core.coordinators import DEFAULT_PARTITIONS_COUNT
from service.decisions.coordinators import CoordinatorQuestion
from service.web import described as fields
from service.web.fields import Int, short
from service.web.schemas import ExplainSchema, KafkaVersion, QuestionSchema

TOPIC_ID: Final = r"^[A-Za-z0-9_+/-]{21}[AQgw]$"
"""A Kafka Uuid as text: 16 bytes in base64 without padding, for URLs, as Java writes it, or standard, as confluent-kafka does."""


class SharePartitionSchema(Schema):
    """One partition in a share group."""

    group_id = fields.String(required=True, validate=short)
    topic_id = fields.String(
        required=True,
        validate=validate.Regexp(TOPIC_ID, error="Not a topic id: 22 characters of base64."),
        example="V7F9ul3F6BwnoWweQWbrfg",
    )
    partition = Int(required=True, minimum=0)


class CoordinatorSchema(QuestionSchema):
    """An id: one of `group_id`, `transactional_id` and `share_partition`."""

    asks = CoordinatorQuestion

    kafka_version = KafkaVersion()
    group_id = fields.String("of a consumer, share or streams group", validate=short, example="orders")
    transactional_id = fields.String("of a transactional producer", validate=short)
    share_partition = fields.Nested(SharePartitionSchema)
    partitions_count = Int("of the topic that holds the coordinators' state", minimum=1, load_default=DEFAULT_PARTITIONS_COUNT)


class CoordinatorQuerySchema(CoordinatorSchema, ExplainSchema):
    """The same in a query; a share partition's three parts need a body."""

    class Meta:
        """Without the field that a query cannot hold."""

        exclude = ("share_partition",)
