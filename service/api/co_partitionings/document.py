"""The answer of ``/v1/co-partitionings``: its schema and its JSON."""

from dataclasses import asdict
from typing import Any, Final

from marshmallow import validate

from service.api.co_partitionings.schema import CoPartitioningsSchema
from service.decisions.co_partitionings import CoPartitioningAnswer, answer
from service.web import described as fields
from service.web.forms import Form
from service.web.schemas import AnswerSchema


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
        "joinable": result.joinable,
        "meeting_share": result.meeting,
        "kafka_streams": {"starts": starts, "message": result.streams_message, "misses_matches": starts and not result.joinable},
        "differences": [asdict(difference) for difference in result.differences],
        "notes": result.notes,
    }


FORM: Final = Form(CoPartitioningsSchema(), answer, CoPartitioningsAnswerSchema, document)
