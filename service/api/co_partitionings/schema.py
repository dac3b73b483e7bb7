"""The JSON body of a question about two topics that are to be joined."""

from typing import Any

from marshmallow import Schema, post_load, validate

from service.core.keys.formats import FORMATS
from service.decisions.co_partitionings import CoPartitioningQuestion
from service.decisions.rows.names import LONGEST_TOPIC_NAME
from service.web import described as fields
from service.web.fields import Array, Int
from service.web.schemas import KafkaVersion


class CoPartitionedTopicSchema(Schema):
    """A topic, and how its records are written."""

    topic_name = fields.String("default: `first` and `second`", validate=validate.Length(1, LONGEST_TOPIC_NAME), example="orders")
    partitions_count = Int(required=True, minimum=1, example=12)
    partitioner = fields.String("a name of GET /v1/partitioners", load_default="java")
    key_format = fields.String(
        "the keys' serializer, as in /v1/partitions", load_default="string", validate=validate.OneOf(FORMATS)
    )


class CoPartitioningsSchema(Schema):
    """Two topics that are to be joined."""

    kafka_version = KafkaVersion()
    topics = Array(fields.Nested(CoPartitionedTopicSchema), required=True, validate=validate.Length(equal=2))

    @post_load
    def question(self, body: dict[str, Any], **_: Any) -> CoPartitioningQuestion:
        """The question."""
        return CoPartitioningQuestion(body["kafka_version"], tuple(body["topics"]))
