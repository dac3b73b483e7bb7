"""Partitions as JSON and as a table."""

from typing import Any, Final

import pyarrow as pa
from marshmallow import INCLUDE

from service.api.partitions.schema import PartitionsSchema
from service.decisions.partitions import MAX_COUNTS, PartitionsAnswer, answer
from service.web import described as fields
from service.web.forms import Form
from service.web.keys import read_body
from service.web.schemas import AnswerSchema, CountsSchema


class StepSchema(AnswerSchema):
    """How one key came to its partition."""

    rule = fields.String("what decided")
    key_bytes_hex = fields.String("the bytes that are hashed; null: no key", allow_none=True)
    hash = fields.Integer("signed", optional=True)
    hash_hex = fields.String(optional=True)
    after_sign_rule = fields.Integer(optional=True)
    modulo = fields.Integer(optional=True)
    result = fields.Integer()


class PartitionsAnswerSchema(AnswerSchema):
    """Where the records go."""

    class Meta:
        """Answers have what their partitioner shows."""

        unknown = INCLUDE

    kafka_version = fields.String()
    partitioner = fields.String()
    partitions_count = fields.Integer(optional=True)
    partitions = fields.List(fields.Integer(), "of each record, in request order", optional=True)
    tokens = fields.List(fields.Integer(), "instead of `partitions`, from a partitioner of tokens", optional=True)
    hashes = fields.List(fields.Integer(), "from `spark`: `hash(key)`", optional=True)
    counter = fields.Integer("the round robin's counter after the last record", optional=True)
    random_values_used = fields.Integer("how many of `random_values` were used", optional=True)
    cumulative_frequency_table = fields.List(
        fields.Integer(), "from `java:adaptive`; null: Kafka drops it", allow_none=True, optional=True
    )
    distribution = fields.Nested(
        CountsSchema, f"records per partition; `counts` is left out above {MAX_COUNTS} partitions", optional=True
    )
    explanation = fields.List(fields.Nested(StepSchema), "with `explain=true`, one for each key", optional=True)


def document(answer: PartitionsAnswer) -> dict[str, Any]:
    """The answer, as PartitionsAnswerSchema has it."""
    question, partitioner, result = answer.question, answer.partitioner, answer.result
    body: dict[str, Any] = {"kafka_version": question.kafka_version, "partitioner": partitioner.name}
    if answer.evenness is None:
        body["tokens"] = result.partitions
    else:
        body |= {"partitions_count": question.partitions_count, "partitions": result.partitions}
    for name in ("hashes", "counter", "random_values_used"):
        value = getattr(result, name)
        if value is not None:
            body[name] = value
    if "queue_sizes" in partitioner.options:
        body["cumulative_frequency_table"] = result.cumulative_frequency_table
    if answer.evenness is not None:
        body["distribution"] = ({} if answer.counts is None else {"counts": answer.counts}) | vars(answer.evenness)
    if answer.explanation is not None:
        body["explanation"] = answer.explanation
    return body


def table(answer: PartitionsAnswer) -> pa.Table:
    """The partitions or tokens."""
    return pa.table({"token" if answer.partitioner.gives_tokens else "partition_id": answer.result.partitions})


FORM: Final = Form(PartitionsSchema(), answer, PartitionsAnswerSchema, document, table, read=read_body, csv_row="record")
