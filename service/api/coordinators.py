"""Compute the partition that coordinates an id."""

from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from marshmallow import Schema, validate

from service.core import coordinators
from service.core.budget import Budget, Figures
from service.core.coordinators import DEFAULT_PARTITIONS_COUNT, Coordinator
from service.core.errors import InvalidQuestion
from service.http import fields
from service.http.fields import Int, short
from service.http.forms import AnswerSchema, ExplainSchema, Form, KafkaVersion, Operation, QuestionSchema


@dataclass(frozen=True)
class CoordinatorQuestion:
    """One of three kinds of id; the others are None.

    share_partition : ``{group_id, topic_id, partition}``, the topic id in either alphabet of base64
    partitions_count : of the topic that holds the coordinators' state
    """

    kafka_version: str
    partitions_count: int
    group_id: str | None = None
    transactional_id: str | None = None
    share_partition: dict[str, Any] | None = None
    explain: bool = False


@dataclass(frozen=True)
class CoordinatorAnswer:
    """The coordinator of the id."""

    question: CoordinatorQuestion
    coordinator: Coordinator
    figures: Figures = Figures("coordinator", {"ids": 1})  # noqa: RUF009 - a tuple


def answer(question: CoordinatorQuestion, _: Budget) -> CoordinatorAnswer:
    """The coordinator of the one id. Raises InvalidQuestion for none or several."""
    ids = (question.group_id, question.transactional_id, question.share_partition)
    given = sum(each is not None for each in ids)
    if given != 1:
        raise InvalidQuestion(f"Give one of group_id, transactional_id and share_partition, not {given}.")
    return CoordinatorAnswer(question, _coordinator(question))


def _coordinator(question: CoordinatorQuestion) -> Coordinator:
    count = question.partitions_count
    if question.group_id is not None:
        return coordinators.of_group(question.group_id, count)
    if question.transactional_id is not None:
        return coordinators.of_transaction(question.transactional_id, count)
    share = question.share_partition or {}
    url_safe = share["topic_id"].translate(str.maketrans("+/", "-_"))
    return coordinators.of_share_partition(**{**share, "topic_id": url_safe}, partitions_count=count)


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


class CoordinatorStepsSchema(AnswerSchema):
    """``Utils.abs(key.hashCode()) % partitions_count``, step by step."""

    rule = fields.String()
    key = fields.String()
    hash = fields.Integer()
    hash_hex = fields.String()
    after_sign_rule = fields.Integer()
    modulo = fields.Integer()
    result = fields.Integer()


class CoordinatorAnswerSchema(AnswerSchema):
    """The partition whose leader coordinates the id."""

    kafka_version = fields.String()
    topic_name = fields.String(example="__consumer_offsets")
    partition_id = fields.Integer()
    partitions_count = fields.Integer()
    coordinator_key = fields.String("the text that is hashed")
    explanation = fields.Nested(CoordinatorStepsSchema, "with `explain=true`", optional=True)


def document(answer: CoordinatorAnswer) -> dict[str, Any]:
    """The answer, as CoordinatorAnswerSchema has it."""
    body, coordinator = _row(answer), answer.coordinator
    if answer.question.explain:
        body["explanation"] = {
            "rule": "Utils.abs(key.hashCode()) % partitions_count, where abs(-2147483648) is 0",
            "key": coordinator.key,
            "hash": coordinator.hash_code,
            "hash_hex": f"{coordinator.hash_code % 2**32:08x}",
            "after_sign_rule": coordinator.positive,
            "modulo": answer.question.partitions_count,
            "result": coordinator.partition_id,
        }
    return body


def table(answer: CoordinatorAnswer) -> pa.Table:
    """The answer as one row, without the explanation."""
    return pa.Table.from_pylist([_row(answer)])


def _row(answer: CoordinatorAnswer) -> dict[str, Any]:
    question, coordinator = answer.question, answer.coordinator
    return {
        "kafka_version": question.kafka_version,
        "topic_name": coordinator.topic_name,
        "partition_id": coordinator.partition_id,
        "partitions_count": question.partitions_count,
        "coordinator_key": coordinator.key,
    }


FORM: Final = Form(CoordinatorSchema(), answer, CoordinatorAnswerSchema, document, table)

EXAMPLE: Final = {"group_id": "billing"}

OPERATION: Final = Operation("findCoordinator", "coordinator", "id → coordinator partition", EXAMPLE, query=ExplainSchema)
