"""``/v1/co-partitionings``: can two topics be joined, and if not, what has to change?"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from marshmallow import Schema, fields, post_load, validate

from service.core.attribution.copartitioning import Copartitioning, Topic, check, copartitioning
from service.core.errors import InvalidQuestion, UnknownStrategy
from service.core.keys.columns import FORMATS
from service.core.partitioners import PARTITIONERS
from service.web import responses
from service.web.blueprint import Blueprint
from service.web.context import decision
from service.web.fields import Integer, about
from service.web.schemas import KafkaVersion

if TYPE_CHECKING:
    from flask import Response

blueprint = Blueprint("co-partitionings", __name__, description="two topics → can they be joined?")


class CoPartitionedTopicSchema(Schema):
    """A topic, and how its records are written."""

    topic_name = fields.String(validate=validate.Length(min=1), metadata=about("default: `first` and `second`", example="orders"))
    partitions_count = Integer(required=True, minimum=1, metadata={"example": 12})
    partitioner = fields.String(load_default="java", metadata=about("a name of GET /v1/partitioners"))
    key_format = fields.String(
        load_default="string", validate=validate.OneOf(FORMATS), metadata=about("the keys' serializer, as in /v1/partitions")
    )


@dataclass(frozen=True)
class CoPartitioningQuestion:
    """The question."""

    kafka_version: str
    topics: tuple[Topic, Topic]


class CoPartitioningsSchema(Schema):
    """Two topics that are to be joined."""

    kafka_version = KafkaVersion()
    topics = fields.List(fields.Nested(CoPartitionedTopicSchema), required=True, validate=validate.Length(equal=2))

    @post_load
    def ask(self, body: dict[str, Any], **_: Any) -> CoPartitioningQuestion:
        """The question, its strategies looked up."""
        first, second = (_topic(given, i) for i, given in enumerate(body["topics"]))
        if first.topic_name == second.topic_name:
            raise InvalidQuestion(f"both topics are called {first.topic_name}", "/topics/1/topic_name")
        return CoPartitioningQuestion(body["kafka_version"], (first, second))


def _topic(given: dict[str, Any], i: int) -> Topic:
    try:
        partitioner = PARTITIONERS[given["partitioner"]]
    except UnknownStrategy as error:
        error.pointer = f"/topics/{i}/partitioner"
        raise
    name = given.get("topic_name", ("first", "second")[i])
    topic = Topic(name, given["partitions_count"], partitioner, given["key_format"])
    check(topic, f"/topics/{i}")
    return topic


class SettingSchema(Schema):
    """A setting of the topic's own client that would do."""

    topic_name = fields.String()
    partitioner = fields.String(metadata={"example": "librdkafka:murmur2_random"})
    setting = fields.String(metadata=about("what selects it in the client", example="partitioner=murmur2_random"))


class DifferenceSchema(Schema):
    """What keeps equal keys apart."""

    what = fields.String(metadata={"enum": ["partitions_count", "partitioner_ignores_keys", "hash", "sign_rule", "key_bytes"]})
    values = fields.List(fields.String(), metadata=about("of either topic"))
    detail = fields.String()
    remedies = fields.List(fields.String(), metadata=about("any one of them would do"))
    settings = fields.List(fields.Nested(SettingSchema))


class StreamsSchema(Schema):
    """What Kafka Streams makes of it."""

    starts = fields.Boolean(metadata=about("it compares the partition counts, and nothing else"))
    message = fields.String(allow_none=True, metadata=about("of its TopologyException, behind the thread's name"))
    misses_matches = fields.Boolean(metadata=about("does it start although equal keys do not meet?"))


class CoPartitioningsAnswerSchema(Schema):
    """Can they be joined?"""

    kafka_version = fields.String()
    joinable = fields.Boolean(metadata=about("does each key lie on the same partition of both?"))
    meeting_share = fields.Float(metadata=about("share of equal keys that do, expected for any keys"))
    kafka_streams = fields.Nested(StreamsSchema)
    differences = fields.List(fields.Nested(DifferenceSchema), metadata=about("all of them have to go"))
    notes = fields.List(fields.String(), metadata=about("conditions, and what concerns empty keys"))


@blueprint.post("/v1/co-partitionings")
@blueprint.arguments(CoPartitioningsSchema)
@blueprint.response(200, CoPartitioningsAnswerSchema)
@blueprint.doc(operationId="checkCoPartitioning")
def check_co_partitioning(question: CoPartitioningQuestion) -> Response:
    """Say whether two topics are co-partitioned, as a join of Kafka Streams needs it, and if not, what differs and what mends it.

    The requirement is that of every join of two streams, two tables, or a stream and a table; not of one with a GlobalKTable or
    by foreign key.
    """
    report = decision("co_partitioning", "streams")
    with report.compute():
        result = copartitioning(*question.topics)
    report.sees(topics=2)
    with report.render():
        return responses.answer(_document(question, result))


def _document(question: CoPartitioningQuestion, result: Copartitioning) -> dict[str, Any]:
    starts = result.streams_message is None
    return {
        "kafka_version": question.kafka_version,
        "joinable": result.joinable,
        "meeting_share": result.meeting,
        "kafka_streams": {
            "starts": starts,
            "message": result.streams_message,
            "misses_matches": starts and not result.joinable,
        },
        "differences": [asdict(difference) for difference in result.differences],
        "notes": result.notes,
    }
