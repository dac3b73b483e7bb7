"""Check whether two topics are co-partitioned, as joins in Kafka Streams require, and if not, the differences and remedies.

Every join of two streams, two tables, or a stream and a table requires it; a join with a GlobalKTable or by foreign key does
not.
"""

from dataclasses import asdict, dataclass
from typing import Any, Final

from marshmallow import Schema, validate

from service.core.budget import Budget, Figures
from service.core.errors import InvalidQuestion
from service.core.keys.formats import FORMATS
from service.core.partitioners import PARTITIONERS
from service.core.printable import all_of
from service.decisions.rows import LONGEST_TOPIC_NAME, raise_all
from service.http import fields
from service.http.fields import Int
from service.http.forms import AnswerSchema, Form, KafkaVersion, Operation, QuestionSchema
from service.http.lists import Array
from service.planner.attribution.copartitioning import Copartitioning, Topic, check, copartitioning


@dataclass(frozen=True)
class CoPartitioningQuestion:
    """Two topics that are to be joined: ``{topic_name, partitions_count, partitioner, key_format}`` each, named or not."""

    kafka_version: str
    topics: list[dict[str, Any]]


@dataclass(frozen=True)
class CoPartitioningAnswer:
    """Whether equal keys meet, and what keeps them apart."""

    question: CoPartitioningQuestion
    result: Copartitioning
    figures: Figures = Figures("streams", {"topics": 2})  # noqa: RUF009 - a tuple

    @property
    def conclusion(self) -> str:
        """Whether equal keys meet, what keeps them apart, and what Kafka Streams makes of it."""
        result, names = self.result, " and ".join(topic.topic_name for topic in _topics(self.question.topics))
        if result.joinable:
            return f"{names} are co-partitioned: each key is on the same partition of both."
        apart = all_of([difference.what.replace("_", " ") for difference in result.differences], len(result.differences))
        starts = "starts all the same and misses matches" if result.streams_message is None else "does not start"
        return (
            f"{names} are not co-partitioned, because of {apart}: {result.meeting:.1%} of equal keys are expected on the same "
            f"partition of both. Kafka Streams {starts}."
        )


def answer(question: CoPartitioningQuestion, _: Budget) -> CoPartitioningAnswer:
    """Compare the topics. Raises InvalidQuestion."""
    first, second = _topics(question.topics)
    if first.topic_name == second.topic_name:
        raise InvalidQuestion(f"Duplicate topic_name {first.topic_name!r}.", "topics", 1, "topic_name")
    return CoPartitioningAnswer(question, copartitioning(first, second))


def _topics(rows: list[dict[str, Any]]) -> list[Topic]:
    topics, faults = [], []
    for i, row in enumerate(rows):
        try:
            partitioner = PARTITIONERS[row["partitioner"]]
            name = row.get("topic_name", ("first", "second")[i])
            topics.append(Topic(name, row["partitions_count"], partitioner, row["key_format"]))
            check(topics[-1])
        except InvalidQuestion as error:
            error.field = ("topics", i, *error.field)
            faults.append(error)
    raise_all(faults)
    return topics


class CoPartitionedTopicSchema(Schema):
    """A topic, and how its records are written."""

    topic_name = fields.String("default: `first` and `second`", validate=validate.Length(1, LONGEST_TOPIC_NAME), example="orders")
    partitions_count = Int(required=True, minimum=1, example=12)
    partitioner = fields.String("a name of GET /v1/partitioners", load_default="java")
    key_format = fields.String(
        "the keys' serializer, as in /v1/partitions", load_default="string", validate=validate.OneOf(FORMATS)
    )


class CoPartitioningsSchema(QuestionSchema):
    """Two topics that are to be joined."""

    asks = CoPartitioningQuestion

    kafka_version = KafkaVersion()
    topics = Array(fields.Nested(CoPartitionedTopicSchema), required=True, validate=validate.Length(equal=2))


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

OPERATION: Final = Operation("checkCoPartitioning", "co_partitioning", "two topics → can they be joined?", EXAMPLE)
