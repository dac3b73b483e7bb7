"""``/v1/partition-count-plans``: what each of several partition counts would mean for a topic.

The keys come as JSON, or as an Arrow stream with the rest in the query. A stream is read batch by batch while it arrives, so that
it needs no more memory than a batch of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from flask import request
from marshmallow import Schema, fields, post_load, validate

from service.api.partition_counts.key_batches import (
    ArrowBody,
    Histogram,
    KeyList,
    KeysParser,
    KeyTable,
    tables_of_histogram,
    tables_of_keys,
)
from service.api.partition_counts.response import PartitionCountPlansAnswerSchema, document, rows
from service.config import environment_name
from service.core.errors import InvalidQuestion, LimitExceeded
from service.core.keys.columns import FORMATS
from service.core.measures import spread
from service.core.sizing.counter import KeyCounter, hashing_rule
from service.core.sizing.plans import Limits, Rates, plans, reach
from service.web import responses
from service.web.blueprint import Blueprint
from service.web.context import decision, settings
from service.web.fields import Integer, Number, Subject, about
from service.web.schemas import KafkaVersion

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flask import Response


class PlansBlueprint(Blueprint):
    """The resource, with its parser."""

    ARGUMENTS_PARSER = KeysParser()


blueprint = PlansBlueprint("partition-count-plans", __name__, description="keys → how many partitions")


@dataclass(frozen=True)
class PlansQuestion:
    """The question. ``tables`` gives the keys, a batch at a time, once."""

    kafka_version: str
    topic_name: str | None
    counts: KeyCounter
    tables: Iterator[KeyTable]
    duration_seconds: float | None
    rates: Rates
    limits: Limits
    hottest_keys: int


class PartitionCountPlansSchema(Schema):
    """Keys, or what is known of each, and the partition counts that come into question."""

    kafka_version = KafkaVersion()
    topic_name = Subject("topic")
    partitioners = fields.List(
        fields.String(), validate=validate.Length(1, 20), metadata=about("names of GET /v1/partitioners; default `java`")
    )
    partitions_counts = fields.List(
        Integer(minimum=1),
        required=True,
        validate=validate.Length(1, 200),
        metadata=about("the counts that come into question", example=[12, 18, 24]),
    )
    current_partitions_count = Integer(minimum=1, allow_none=True, metadata=about("today's count, from which keys would move"))
    key_format = fields.String(validate=validate.OneOf(FORMATS), metadata=about("as in /v1/partitions; default `string`"))
    keys = KeyList(metadata=about("one for each record", example=["order-1", "order-2"]))
    histogram = Histogram(metadata=about("instead of `keys`"))
    duration_seconds = Number(metadata=about("the time in which these records came; it gives the topic's rates"))
    records_per_second = Number(
        metadata=about("instead of `duration_seconds`: what the whole topic takes in, of records with a key")
    )
    bytes_per_second = Number(metadata=about("the same in bytes"))
    max_partition_records_per_second = Number(metadata=about("limit of the busiest partition"))
    max_partition_bytes_per_second = Number(metadata=about("limit of the busiest partition"))
    max_skew = Number(metadata=about("limit of the skew of records, and of bytes where they are given"))
    hottest_keys = Integer(minimum=0, maximum=100, load_default=10, metadata=about("how many to list"))

    @post_load
    def ask(self, body: dict[str, Any], **_: Any) -> PlansQuestion:
        """The question, its strategies looked up and its size within the limits."""
        names, counts = _different(body, "partitioners", ["java"]), _different(body, "partitions_counts", [])
        cells, allowed = sum(counts) * len(names), settings().max_plan_cells
        if cells > allowed:
            what = "partitions × partitioners"
            raise LimitExceeded(environment_name("max_plan_cells"), allowed, cells, what, "/partitions_counts")
        if body.get("duration_seconds") is not None:
            for name in ("records_per_second", "bytes_per_second"):
                if name in body:
                    raise InvalidQuestion("duration_seconds is given, which says what the topic takes in", f"/{name}")
        for what in ("records", "bytes"):
            limit = f"max_partition_{what}_per_second"
            if limit in body and not {f"{what}_per_second", "duration_seconds"} & set(body):
                raise InvalidQuestion(f"it takes {what}_per_second or duration_seconds to know a partition's rate", f"/{limit}")
        for i, name in enumerate(names):
            try:
                hashing_rule(name)
            except InvalidQuestion as error:
                error.pointer = f"/partitioners/{i}"
                raise
        return PlansQuestion(
            kafka_version=body["kafka_version"],
            topic_name=body["topic_name"],
            counts=KeyCounter(tuple(names), tuple(counts), body.get("current_partitions_count")),
            tables=_tables(body),
            duration_seconds=body.get("duration_seconds"),
            rates=Rates(body.get("records_per_second"), body.get("bytes_per_second")),
            limits=Limits(
                body.get("max_partition_records_per_second"), body.get("max_partition_bytes_per_second"), body.get("max_skew")
            ),
            hottest_keys=body["hottest_keys"],
        )


def _different(body: dict[str, Any], name: str, default: list[Any]) -> list[Any]:
    """A list none of whose values is there twice."""
    values: list[Any] = body.get(name, default)
    for i, value in enumerate(values):
        if value in values[:i]:
            raise InvalidQuestion(f"{value} is there twice", f"/{name}/{i}")
    return values


def _tables(body: dict[str, Any]) -> Iterator[KeyTable]:
    """The keys, from the stream or from one of the two lists."""
    if "keys" in body and "histogram" in body:
        raise InvalidQuestion("keys and histogram are given; one of them is wanted", "/histogram")
    key_format = body.get("key_format")
    keys = body.get("keys")
    if isinstance(keys, ArrowBody):
        return keys.tables(key_format)
    if "histogram" in body:
        return tables_of_histogram(body["histogram"], key_format or "string")
    if keys is not None:
        return tables_of_keys(keys, key_format or "string")
    raise InvalidQuestion("keys or a histogram are wanted", "/keys")


@blueprint.post("/v1/partition-count-plans")
@blueprint.arguments(PartitionCountPlansSchema)
@blueprint.response(200, PartitionCountPlansAnswerSchema)
@blueprint.doc(operationId="planPartitionCounts")
def plan_partition_counts(question: PlansQuestion) -> Response:
    """Say how even each partition count would be, what moves, and which is the smallest that keeps the limits.

    The body may also be an Arrow stream with a column `key` (binary, string, integers, floats, booleans) and, if wanted,
    `records` and `bytes` (integers); the other fields are query parameters then, `partitioners` and `partitions_counts` separated
    by commas. It is read batch by batch, so that it needs no more memory than its largest batch. `text/csv` and Arrow answers
    have one row for each partitioner and partition count.
    """
    counts = question.counts
    report = decision("partition_count_plan", counts.names[0] if len(counts.names) == 1 else "several")
    with report.compute():
        key_format, seen = "string", 0
        for table in question.tables:
            key_format, seen = table.key_format, seen + len(table)
            counts.add(table.column, key_format, table.records, table.bytes)
        rates = _rates(question)
        found = plans(counts, rates, question.limits)
        reached = reach(counts, found, rates, question.limits)
    report.sees(keys=seen)
    if question.topic_name is not None and counts.current is not None:  # what the topic has, not what it might have
        report.gives(spread(counts.totals(counts.names[0], counts.current).records).skew, subject=question.topic_name)
    with report.render():
        media_type = responses.wanted()
        if media_type != responses.JSON and "Accept" in request.headers:
            return responses.table(pa.Table.from_pylist(rows(found)), media_type)
        answer = document(counts, found, reached, key_format, question.hottest_keys)
        return responses.answer({"kafka_version": question.kafka_version, **answer})


def _rates(question: PlansQuestion) -> Rates:
    """What the topic takes in, as given or by the duration."""
    counts, seconds, rates = question.counts, question.duration_seconds, question.rates
    if not counts.has_bytes and (rates.bytes_per_second is not None or question.limits.bytes_per_second is not None):
        at = "bytes_per_second" if rates.bytes_per_second is not None else "max_partition_bytes_per_second"
        raise InvalidQuestion("it takes the bytes of each key to know a partition's bytes", f"/{at}")
    if seconds is None:
        return rates
    return Rates(counts.records / seconds, counts.bytes / seconds if counts.has_bytes else None)
