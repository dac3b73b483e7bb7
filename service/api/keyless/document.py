"""The answer of ``/v1/keyless-distributions``: its schema, its JSON and its table."""

from typing import Any, Final

import numpy as np
import pyarrow as pa

from service.api.keyless.schema import KeylessDistributionsSchema
from service.decisions.keyless import KeylessAnswer, answer
from service.web import described as fields
from service.web.forms import Form
from service.web.schemas import AnswerSchema


class ProducersSharesSchema(AnswerSchema):
    """What the producers of one rack do."""

    rack_id = fields.String(allow_none=True)
    producers = fields.Integer()
    shares = fields.List(fields.Float(), "of each partition in these producers' records")
    same_rack = fields.Float("the share of their records that stays in their rack")
    cumulative_frequency_table = fields.List(
        fields.Integer(), "KIP-794's, of `table_partition_ids`; null: Kafka draws evenly", allow_none=True
    )
    table_partition_ids = fields.List(fields.Integer(), allow_none=True)


class KeylessDistributionsAnswerSchema(AnswerSchema):
    """Where the records go in the long run."""

    kafka_version = fields.String()
    rule = fields.String()
    rack_aware = fields.Boolean()
    shares = fields.List(fields.Float(), "of each partition in all records; they add up to 1")
    min = fields.Float()
    max = fields.Float()
    mean = fields.Float()
    stddev = fields.Float("the standard deviation", detail=True)
    skew = fields.Float("max ÷ mean: 1.0 is perfectly even")
    producers = fields.List(fields.Nested(ProducersSharesSchema))


def document(answer: KeylessAnswer) -> dict[str, Any]:
    """The answer, as KeylessDistributionsAnswerSchema has it."""
    question, result, shares = answer.question, answer.distribution, answer.distribution.shares
    return {
        "kafka_version": question.kafka_version,
        "rule": question.rule,
        "rack_aware": question.rack_aware,
        "shares": shares,
        "min": float(shares.min()),
        "max": float(shares.max()),
        "mean": float(shares.mean()),
        "stddev": float(shares.std()),
        "skew": result.skew,
        "producers": [
            {
                **producer,
                "shares": of.shares,
                "same_rack": of.same_rack,
                "cumulative_frequency_table": of.frequency_table,
                "table_partition_ids": of.partition_ids,
            }
            for producer, of in zip(answer.producers, result.producers, strict=True)
        ],
    }


def table(answer: KeylessAnswer) -> pa.Table:
    """The share of each partition."""
    result = answer.distribution
    return pa.table({"partition_id": np.arange(len(result.shares), dtype=np.int32), "share": result.shares})


FORM: Final = Form(KeylessDistributionsSchema(), answer, KeylessDistributionsAnswerSchema, document, table)
