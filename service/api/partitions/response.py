"""The answer of ``/v1/partitions``: its schema, its JSON and its table."""

from typing import Any, Final

import numpy as np
import pyarrow as pa
from marshmallow import INCLUDE, Schema, fields

from service.api.partitions.request import Allocation
from service.core.measures import Spread, occurrences, spread
from service.core.model import Int32s, Int64s
from service.core.partitioners import Answer
from service.core.partitioners.explanation import explain
from service.web.fields import about
from service.web.schemas import CountsSchema
from service.web.tables import CSV

MAX_COUNTS: Final = 100_000
"""Most partitions whose counts an answer lists one by one."""


class StepSchema(Schema):
    """How one key came to its partition."""

    rule = fields.String(metadata=about("what decided"))
    key_bytes_hex = fields.String(allow_none=True, metadata=about("the bytes that are hashed; null: no key"))
    hash = fields.Integer(metadata=about("signed"))
    hash_hex = fields.String()
    after_sign_rule = fields.Integer()
    modulo = fields.Integer()
    result = fields.Integer()


class PartitionsAnswerSchema(Schema):
    """Where the records go."""

    class Meta:
        """Answers have what their partitioner shows."""

        unknown = INCLUDE

    kafka_version = fields.String()
    partitioner = fields.String()
    partitions_count = fields.Integer()
    partitions = fields.List(fields.Integer(), metadata=about("of each record, in request order"))
    tokens = fields.List(fields.Integer(), metadata=about("instead of `partitions`, from a partitioner of tokens"))
    hashes = fields.List(fields.Integer(), metadata=about("from `spark`: `hash(key)`"))
    counter = fields.Integer(metadata=about("the round robin's counter after the last record"))
    random_values_used = fields.Integer(metadata=about("how many of `random_values` were used"))
    cumulative_frequency_table = fields.List(
        fields.Integer(), allow_none=True, metadata=about("from `java:adaptive`; null: Kafka drops it")
    )
    distribution = fields.Nested(
        CountsSchema, metadata=about(f"records per partition; `counts` is left out above {MAX_COUNTS} partitions")
    )
    explanation = fields.List(fields.Nested(StepSchema), metadata=about("with `explain=true`, one for each key"))


def document(
    allocation: Allocation, result: Answer, counts: Int64s | None, evenness: Spread | None, *, explained: bool
) -> dict[str, Any]:
    """The answer, as PartitionsAnswerSchema has it. counts, evenness : of ``distribution``; None for tokens"""
    partitioner, question = allocation.partitioner, allocation.question
    answer: dict[str, Any] = {"kafka_version": allocation.kafka_version, "partitioner": partitioner.name}
    if evenness is None:
        answer["tokens"] = result.partitions
    else:
        answer |= {"partitions_count": question.partitions_count, "partitions": result.partitions}
    for name in ("hashes", "counter", "random_values_used"):
        value = getattr(result, name)
        if value is not None:
            answer[name] = value
    if "queue_sizes" in partitioner.options:
        answer["cumulative_frequency_table"] = result.cumulative_frequency_table
    if evenness is not None:
        answer["distribution"] = ({} if counts is None else {"counts": counts}) | vars(evenness)
    if explained:
        answer["explanation"] = explain(partitioner, question, result)
    return answer


def table(allocation: Allocation, result: Answer, media_type: str) -> pa.Table:
    """The partitions or tokens; in CSV, where rows may be sorted, also the record's number."""
    column = {"token" if allocation.partitioner.gives_tokens else "partition_id": result.partitions}
    return pa.table({"record": np.arange(len(result.partitions)), **column} if media_type == CSV else column)


def distribution(partitions: Int32s, partitions_count: int) -> tuple[Int64s | None, Spread]:
    """Records per partition, and their spread.

    Returns int64[partitions_count], None above MAX_COUNTS. A partition out of range, which only KafkaJS lets through, is in
    neither.
    """
    if partitions_count > MAX_COUNTS:
        in_range = partitions[(partitions >= 0) & (partitions < partitions_count)]
        return None, spread(np.unique(in_range, return_counts=True)[1], partitions_count)
    counts = occurrences(partitions, partitions_count)
    return counts, spread(counts)
