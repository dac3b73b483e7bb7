"""Check whether two topics are co-partitioned, as joins in Kafka Streams require, and if not, the differences and remedies.

Every join of two streams, two tables, or a stream and a table requires it; a join with a GlobalKTable or by foreign key does
not.
"""

from dataclasses import asdict
from typing import Any, Final

from marshmallow import Schema, post_load, validate

from service.core.keys.formats import FORMATS
from service.decisions.co_partitionings import CoPartitioningAnswer, CoPartitioningQuestion, answer
from service.decisions.rows.names import LONGEST_TOPIC_NAME
from service.http import fields
from service.http.fields import Array, Int
from service.http.forms import AnswerSchema, Form, KafkaVersion, Operation


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


class SettingSchema(AnswerSchema):
    """A setting of the topic's own client that would do."""

    topic_name = fields.String()
    partitioner = fields.String(example="librdkafka:murmur2_random")
    setting = fields.String("the setting of the client that selects it", example="partitioner=murmur2_random")


class DifferenceSchema(AnswerSchema):
    """What keeps equal keys apart."""

    what = fields.String(
        validate=validate.OneOf(("partitions_count", "partitioner_ignores_keys", "hash", "sign_rule", "key_bytes"))
    )
    values = fields.List(fields.String(), "of either topic")
    detail = fields.String()
    remedies = fields.List(fields.String(), "any one of them suffices")
    settings = fields.List(fields.Nested(SettingSchema))


class StreamsSchema(AnswerSchema):
    """What Kafka Streams makes of it."""

    starts = fields.Boolean("whether Kafka Streams starts: it compares only the partition counts")
    message = fields.String("the message of its TopologyException, after the thread's name", allow_none=True)
    misses_matches = fields.Boolean("whether it starts although equal keys do not meet")


class CoPartitioningsAnswerSchema(AnswerSchema):
    """Can they be joined?"""

    kafka_version = fields.String()
    conclusion = fields.String("whether equal keys meet, and what keeps them apart, in sentences")
    joinable = fields.Boolean("whether each key is on the same partition of both")
    meeting_share = fields.Float("share of equal keys that do, expected for any keys")
    kafka_streams = fields.Nested(StreamsSchema)
    differences = fields.List(fields.Nested(DifferenceSchema), "all of them must be removed")
    notes = fields.List(fields.String(), "conditions, and the case of empty keys")


def document(answer: CoPartitioningAnswer) -> dict[str, Any]:
    """The answer, as CoPartitioningsAnswerSchema has it."""
    result = answer.result
    starts = result.streams_message is None
    return {
        "kafka_version": answer.question.kafka_version,
        "conclusion": answer.conclusion,
        "joinable": result.joinable,
        "meeting_share": result.meeting,
        "kafka_streams": {"starts": starts, "message": result.streams_message, "misses_matches": starts and not result.joinable},
        "differences": [asdict(difference) for difference in result.differences],
        "notes": result.notes,
    }


FORM: Final = Form(CoPartitioningsSchema(), answer, CoPartitioningsAnswerSchema, document)


EXAMPLE: Final = {
    "topics": [
        {"topic_name": "orders", "partitions_count": 12},
        {"topic_name": "customers", "partitions_count": 6, "partitioner": "librdkafka:consistent_random"},
    ]
}


OPERATION: Final = Operation(
    "co-partitionings", "checkCoPartitioning", "co_partitioning", "two topics → can they be joined?", EXAMPLE
)
