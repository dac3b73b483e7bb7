"""Compute the share of each partition in records without a key, from its queue and its leader.

As `text/csv` or Arrow the answer has the columns `partition_id` and `share`. The partition of a single record
depends on chance; `POST /v1/partitions` draws it.
"""

from typing import Any, Final

import numpy as np
import pyarrow as pa
from marshmallow import Schema, validate

from service.decisions.keyless import KeylessAnswer, KeylessQuestion, answer
from service.http import fields
from service.http.fields import Array, Bool, Int, Name, Number, Subject
from service.http.forms import AnswerSchema, Form, KafkaVersion, Operation, QuestionSchema, row_of_a_snapshot
from service.planner.keyless import ADAPTIVE, RULES


@row_of_a_snapshot("fenced", "cordoned", "capacity_bytes", "used_bytes")
class KeylessBrokerSchema(Schema):
    """A broker."""

    broker_id = Int(required=True)
    rack_id = Name(empty=True, load_default=None)
    waiting_ms = Int("`adaptive`: for how long the broker has not accepted data of the producer", minimum=0, load_default=0)


class KeylessPartitionSchema(Schema):
    """A partition, as the producer sees it."""

    partition_id = Int(required=True, minimum=0)
    leader_id = Int("broker; null: no leader", load_default=None)
    queue_size = Int("`adaptive`: batches that wait in the producer", minimum=0, load_default=0)
    batch_records = Number("`sticky`: the size at which a batch is sent", load_default=1.0)


class ProducersSchema(Schema):
    """Producers of one rack."""

    rack_id = Name("`client.rack`", empty=True, load_default=None)
    producers = Int("the number of producers with these properties", minimum=1, load_default=1)


class KeylessDistributionsSchema(QuestionSchema):
    """A topic and its producers. Either `partitions_count` alone, all led and nothing queued, or `partitions`."""

    asks = KeylessQuestion

    kafka_version = KafkaVersion()
    topic_name = Subject("topic")
    rule = fields.String(
        "`round-robin` (up to 2.3), `sticky` (KIP-480, 2.4 to 3.2), `uniform-sticky` and `adaptive` (KIP-794, since 3.3)",
        validate=validate.OneOf(RULES),
        load_default=ADAPTIVE,
    )
    partitions_count = Int(minimum=1)
    partitions = Array(fields.Nested(KeylessPartitionSchema), "every partition of the topic", validate=validate.Length(min=1))
    brokers = Array(fields.Nested(KeylessBrokerSchema), load_default=list)
    availability_timeout_ms = Int(
        "`partitioner.availability.timeout.ms`; 0: slow brokers are not avoided", minimum=0, load_default=0
    )
    rack_aware = Bool("`partitioner.rack.aware` (KIP-1123), of producers from Kafka 4.4", load_default=False)
    producers = Array(fields.Nested(ProducersSchema), "default: one", validate=validate.Length(1, 1000))


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
    conclusion = fields.String("which partitions get the most, and which nothing, in sentences")
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
        "conclusion": answer.conclusion,
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


EXAMPLE: Final = {
    "rule": "adaptive",
    "partitions": [{"partition_id": 0, "leader_id": 1, "queue_size": 0}, {"partition_id": 1, "leader_id": 2, "queue_size": 3}],
    "brokers": [{"broker_id": 1}, {"broker_id": 2}],
}


OPERATION: Final = Operation(
    "keyless-distributions", "distributeKeyless", "keyless", "records without a key → shares of the partitions", EXAMPLE
)
