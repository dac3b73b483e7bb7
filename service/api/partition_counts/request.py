"""The request of ``/v1/partition-count-plans``: its schemas, and its keys batch by batch, from JSON or from an Arrow stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from marshmallow import Schema, ValidationError, fields, validate, validates_schema

from service.core.errors import InvalidQuestion, raise_all
from service.core.keys.formats import FORMATS
from service.core.partitioners import PARTITIONERS
from service.core.sizing.counter import KeyCounter, hashing_rule, moduli_of
from service.core.sizing.plans import CountLimits, Rates
from service.core.sizing.throughput import Throughput, throughput
from service.decisions import key_values as keys
from service.decisions.keys import from_arrow
from service.web.arrow.parser import ArrowBody
from service.web.blueprint import Parts, QuestionSchema
from service.web.columns_field import Columns
from service.web.context import check_limit, request_budget, reserve
from service.web.fields import Boolean, Integer, List, Number, Subject, about
from service.web.keys import KeyList
from service.web.schemas import KafkaVersion

if TYPE_CHECKING:
    from collections.abc import Iterator

    from service.core.keys.columns import Column
    from service.core.model import Int64s

MOST: Final = 2**53
"""Largest number of records, or bytes, of one row; also JSON's largest exact one."""


@dataclass(frozen=True)
class KeyBatch:
    """A batch of keys.

    records, bytes : int64[n], of each key; None: one record, unknown bytes
    """

    column: Column
    key_format: str
    records: Int64s | None
    bytes: Int64s | None
    rows: int

    def __len__(self) -> int:
        return self.rows


@dataclass(frozen=True)
class PlansQuestion:
    """The question.

    throughput : what the topic's throughput needs; None if it is unknown
    batches : the keys; can be read once. None: the question is about throughput alone
    keys_field : the field or column that has them
    """

    kafka_version: str
    topic_name: str | None
    counts: KeyCounter
    throughput: Throughput | None
    batches: Iterator[KeyBatch] | None
    keys_field: str
    duration_seconds: float | None
    rates: Rates
    limits: CountLimits
    hottest_keys: int
    is_sample: bool


class HistogramRowSchema(Schema):
    """A key and what it stands for."""

    key = fields.Raw(required=True, allow_none=True, metadata=about("null: without a key"))
    records = Integer(minimum=0, maximum=MOST, metadata=about("default 1; in every row or in none"))
    bytes = Integer(minimum=0, maximum=MOST, metadata=about("of all these records; in every row or in none"))


class PartitionCountPlansSchema(QuestionSchema):
    """Keys, or what is known of each, and the partition counts that come into question; or the topic's throughput; or both."""

    kafka_version = KafkaVersion()
    topic_name = Subject("topic")
    partitioners = List(
        fields.String(), validate=validate.Length(1, 20), metadata=about("names of GET /v1/partitioners; default `java`")
    )
    partitions_counts = List(
        Integer(minimum=1),
        validate=validate.Length(1, 200),
        metadata=about("the counts to compare, besides the one that throughput needs; required without it", example=[12, 18, 24]),
    )
    current_partitions_count = Integer(
        minimum=1, allow_none=True, metadata=about("the current count, from which keys would move")
    )
    key_format = fields.String(validate=validate.OneOf(FORMATS), metadata=about("as in /v1/partitions; default `string`"))
    keys = KeyList(in_batches=True, metadata=about("one for each record", example=["order-1", "order-2"]))
    histogram = Columns(
        HistogramRowSchema, {"key": None, "records": pa.int64(), "bytes": pa.int64()}, metadata=about("instead of `keys`")
    )
    is_sample = Boolean(
        load_default=False,
        metadata=about(
            "whether `histogram` is a sample of the keys, scaled to the weight of all; the answer is then not `exact`"
        ),
    )
    duration_seconds = Number(metadata=about("the time span of these records; it gives the topic's rates"))
    records_per_second = Number(metadata=about("instead of `duration_seconds`: the rate of the whole topic's records with a key"))
    bytes_per_second = Number(metadata=about("the same in bytes"))
    target_mb_per_second = Number(
        metadata=about("the throughput that the topic must reach, in MB/s (10⁶ bytes); with it, keys are optional")
    )
    producer_mb_per_second = Number(metadata=about("what producers write to one partition at most, in MB/s"))
    consumer_mb_per_second = Number(metadata=about("what one consumer reads from one partition at most, in MB/s"))
    max_partition_records_per_second = Number(metadata=about("limit of the busiest partition"))
    max_partition_bytes_per_second = Number(metadata=about("limit of the busiest partition"))
    max_skew = Number(metadata=about("limit of the skew of records, and of bytes where they are given"))
    hottest_keys = Integer(minimum=0, maximum=100, load_default=10, metadata=about("how many keys to list"))

    @validates_schema(pass_original=True, skip_on_field_errors=False)
    def has_counts(self, _: dict[str, Any], sent: Any, **__: Any) -> None:
        """Report missing counts, also beside other faults."""
        if isinstance(sent, dict) and not {"partitions_counts", *THROUGHPUT} & sent.keys():
            raise ValidationError("Missing data for required field.", "partitions_counts")

    def question(self, body: dict[str, Any], **_: Any) -> PlansQuestion:
        """The question: its partitioners resolved, its size within the limits."""
        needed = _throughput(body)
        without_keys = needed is not None and not {"keys", "histogram", *OF_KEYS} & body.keys()
        names, counts = _names(body), _distinct(body.get("partitions_counts", []), "partitions_counts")
        _check_rates(body)
        current = body.get("current_partitions_count")
        cells = "partitions × partitioners"
        check_limit("max_plan_cells", sum(counts) * len(names), cells, "partitions_counts")
        if needed is not None and not without_keys and needed.partitions_count not in counts:
            counts = [*counts, needed.partitions_count]
            explained = f"{cells}, with the {needed.partitions_count} partitions that the throughput needs,"
            check_limit("max_plan_cells", sum(counts) * len(names), explained, "target_mb_per_second")
        check_limit("max_plan_cells", sum({*counts, current or 0}) * len(names), cells, "current_partitions_count")
        reserve(plan_bytes(tuple(counts), current) * len(names))
        return PlansQuestion(
            kafka_version=body["kafka_version"],
            topic_name=body["topic_name"],
            counts=KeyCounter(tuple(names), tuple(counts), current),
            throughput=needed,
            batches=None if without_keys else _batches(body),
            keys_field="histogram" if "histogram" in body else "key" if isinstance(body.get("keys"), ArrowBody) else "keys",
            duration_seconds=body.get("duration_seconds"),
            rates=Rates(body.get("records_per_second"), body.get("bytes_per_second")),
            limits=CountLimits(
                body.get("max_partition_records_per_second"), body.get("max_partition_bytes_per_second"), body.get("max_skew")
            ),
            hottest_keys=body["hottest_keys"],
            is_sample=body["is_sample"],
        )

    def parts(self) -> Parts:
        """The throughput; the partitioners; the counts; rates and limits; keys or histogram."""
        return (
            _throughput,
            _names,
            lambda body: _distinct(body.get("partitions_counts", []), "partitions_counts"),
            _check_rates,
            _check_one_list,
        )


THROUGHPUT: Final = ("target_mb_per_second", "producer_mb_per_second", "consumer_mb_per_second")

OF_KEYS: Final = (
    "partitioners", "partitions_counts", "key_format", "max_partition_records_per_second", "max_partition_bytes_per_second",
    "max_skew",
)  # fmt: skip
"""Fields that make no sense without keys."""


def _throughput(body: dict[str, Any]) -> Throughput | None:
    """What the topic's throughput needs; None if the body does not have it."""
    target, producer, consumer = (body.get(name) for name in THROUGHPUT)
    if target is None:
        raise_all(InvalidQuestion("Requires target_mb_per_second.", name) for name in THROUGHPUT if name in body)
        return None
    if producer is None and consumer is None:
        raise InvalidQuestion("Requires producer_mb_per_second or consumer_mb_per_second.", "target_mb_per_second")
    return throughput(target, producer, consumer)


def _names(body: dict[str, Any]) -> list[str]:
    """The partitioners' full names. Raises InvalidQuestion for those that plans cannot be made for."""
    names = _distinct([PARTITIONERS.full_name(name) for name in body.get("partitioners", ["java"])], "partitioners")
    faults = []
    for i, name in enumerate(names):
        try:
            hashing_rule(name)
        except InvalidQuestion as error:
            error.field = ("partitioners", i)
            faults.append(error)
    raise_all(faults)
    return names


def _check_rates(body: dict[str, Any]) -> None:
    """Raise InvalidQuestion for rates that are given twice, and for limits of rates that are not given."""
    rates = ("records_per_second", "bytes_per_second")
    faults = []
    if "duration_seconds" in body:
        text = "duration_seconds already gives the topic's rates."
        faults = [InvalidQuestion(text, name) for name in rates if name in body]
    for name in rates:
        limit = f"max_partition_{name}"
        if limit in body and not {name, "duration_seconds"} & body.keys():
            faults.append(InvalidQuestion(f"Requires {name} or duration_seconds.", limit))
    raise_all(faults)


def plan_bytes(partitions_counts: tuple[int, ...], current: int | None) -> int:
    """Most bytes of memory that the tables of one partitioner take.

    Measured for two counts of 1,000,000: 44 a residue; for 200 around 10,000: 54.
    """
    return 64 * sum(moduli_of(partitions_counts, current))


def _distinct(values: list[Any], name: str) -> list[Any]:
    """A list without duplicates. name : of its field"""
    raise_all(InvalidQuestion(f"Duplicate value {value!r}.", name, i) for i, value in enumerate(values) if value in values[:i])
    return values


def _check_one_list(body: dict[str, Any]) -> None:
    """Raise InvalidQuestion for both lists of keys."""
    if "keys" in body and "histogram" in body:
        raise InvalidQuestion("Give either keys or histogram.", "histogram")


def _batches(body: dict[str, Any]) -> Iterator[KeyBatch]:
    """The keys, from the stream or from one of the two lists."""
    _check_one_list(body)
    key_format = body.get("key_format")
    if "histogram" in body:
        return iter([_of_histogram(body["histogram"], key_format or "string")])
    values = body.get("keys")
    if isinstance(values, ArrowBody):
        return _of_stream(values, key_format)
    if values is None:
        raise InvalidQuestion("Give either keys or histogram.", "keys")
    check_limit("max_keys", len(values), "keys", "keys")
    key_format = key_format or "string"
    return iter([KeyBatch(keys.read(values, key_format, request_budget())[0], key_format, None, None, len(values))])


def _of_histogram(columns: dict[str, Any], key_format: str) -> KeyBatch:
    check_limit("max_keys", len(columns["key"]), "keys", "histogram")
    weights: dict[str, Int64s | None] = {"records": None, "bytes": None}
    for name in weights:
        column = columns[name]
        if column.null_count < len(column):
            if column.null_count:
                row = column.is_null().index(True).as_py()
                raise ValidationError({"histogram": {row: {name: ["Other rows have it: missing here."]}}})
            weights[name] = np.array(column)
    with keys.fields_of(keys=("histogram", "key")):
        return KeyBatch(
            keys.read(columns["key"], key_format, request_budget())[0], key_format, **weights, rows=len(columns["key"])
        )


def _of_stream(body: ArrowBody, key_format: str | None) -> Iterator[KeyBatch]:
    first = 0
    for batch in body.batches(("key",), ("records", "bytes")):
        check_limit("max_keys", first + len(batch), "keys", "key")
        if len(batch):
            try:
                column, own_format = from_arrow(pa.chunked_array([batch.column("key")]), key_format, reserve)
            except InvalidQuestion as error:
                if error.field[0] == "keys":
                    error.field = ("key", first + int(error.field[1]))
                raise
            weights = {
                name: _weights(batch.column(name), name, first) if name in batch.schema.names else None
                for name in ("records", "bytes")
            }
            yield KeyBatch(column, own_format, **weights, rows=len(batch))
        first += len(batch)


def _weights(array: pa.Array, name: str, first: int) -> Int64s:
    """int64[n], a column of records or bytes; first : number of its first row in the stream."""
    if not pa.types.is_integer(array.type):
        raise InvalidQuestion(f"A column of {array.type} does not hold integers.", name)
    if array.null_count:
        raise InvalidQuestion("Field may not be null.", name, first + array.is_null().index(True).as_py())
    values = np.array(array.to_numpy(zero_copy_only=False))
    outside = (values < 0) | (values > MOST)
    if outside.any():
        i = int(outside.argmax())
        raise InvalidQuestion(f"{values[i]} is not in [0, 2^53].", name, first + i)
    return values.astype(np.int64)
