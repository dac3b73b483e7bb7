"""The coordinator of an id as JSON and as a table."""

from typing import Any, Final

import pyarrow as pa

from service.api.coordinators.schema import CoordinatorSchema
from service.decisions.coordinators import CoordinatorAnswer, answer
from service.web import described as fields
from service.web.forms import Form
from service.web.schemas import AnswerSchema


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
