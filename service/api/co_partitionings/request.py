"""The request of ``/v1/co-partitionings``."""

from dataclasses import dataclass
from typing import Any

from marshmallow import Schema, fields, validate

from service.core.attribution.copartitioning import Topic, check
from service.core.errors import InvalidQuestion, raise_all
from service.core.keys.formats import FORMATS
from service.core.partitioners import PARTITIONERS
from service.decisions.groups.rows import LONGEST_TOPIC_NAME
from service.web.blueprint import QuestionSchema
from service.web.fields import Integer, List, about
from service.web.schemas import KafkaVersion


class CoPartitionedTopicSchema(Schema):
    """A topic, and how its records are written."""

    topic_name = fields.String(
        validate=validate.Length(1, LONGEST_TOPIC_NAME), metadata=about("default: `first` and `second`", example="orders")
    )
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


class CoPartitioningsSchema(QuestionSchema):
    """Two topics that are to be joined."""

    kafka_version = KafkaVersion()
    topics = List(fields.Nested(CoPartitionedTopicSchema), required=True, validate=validate.Length(equal=2))

    def question(self, body: dict[str, Any], **_: Any) -> CoPartitioningQuestion:
        """The question: its partitioners resolved."""
        first, second = _topics(body["topics"])
        if first.topic_name == second.topic_name:
            raise InvalidQuestion(f"Duplicate topic_name {first.topic_name!r}.", "topics", 1, "topic_name")
        return CoPartitioningQuestion(body["kafka_version"], (first, second))


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
