"""The request of ``/v1/partitioner-fingerprints``."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
from marshmallow import Schema, ValidationError, fields, validate

from service.core.errors import InvalidQuestion
from service.core.keys import columns
from service.core.keys.columns import Column
from service.core.keys.formats import FORMATS
from service.core.model import Int32s
from service.core.partitioners import Partitioner
from service.decisions import key_values as keys
from service.decisions.chosen_partitioners import chosen
from service.web.blueprint import Parts, QuestionSchema
from service.web.columns_field import Columns
from service.web.context import check_limit, request_budget, reserve
from service.web.fields import Integer, List, about
from service.web.keys import Stream
from service.web.schemas import KafkaVersion

MOST_COUNTS: Final = 100_000
"""Most partitions that are tried if the count is not given."""

COUNT_BYTES: Final = 1_200
"""Memory for each partition count that is tried. Measured for 100,000 counts and all partitioners: 980."""

PAIR_BYTES: Final = 64
"""Memory for each observation while pairs are made of them, beside a copy of its key."""

DEFAULT_COUNTS: Final = 4_096
"""At least this many are tried, unless the caller says how many."""


class ObservationSchema(Schema):
    """An observed record."""

    key = fields.Raw(allow_none=True, load_default=None, metadata=about("absent or null: a record without a key"))
    partition_id = Integer(required=True, minimum=0, metadata=about("the partition that it was observed on"))


class Observations(Columns):
    """Observations as columns, also from an Arrow stream."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(ObservationSchema, {"key": None, "partition_id": pa.int32()}, **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        if isinstance(value, Stream):
            table = value.table("key", "partition_id")
            return {"key": table.column("key"), "partition_id": _partition_ids(table.column("partition_id"))}
        return super()._deserialize(value, attr, data, **kwargs)


def _partition_ids(column: pa.ChunkedArray) -> Int32s:
    if not pa.types.is_integer(column.type):
        raise ValidationError(f"A column of {column.type} does not hold partition ids.")
    if column.null_count:
        raise ValidationError("Every observation has a partition_id.")
    try:
        partition_ids = np.array(column.cast(pa.int32()).to_numpy())
    except pa.ArrowException as error:
        raise ValidationError(f"{error}") from None
    if (partition_ids < 0).any():
        raise ValidationError(f"{partition_ids.min()} is not a partition.")
    return partition_ids


@dataclass(frozen=True)
class FingerprintQuestion:
    """The question.

    named : did the request name its partitioners?
    values : the observed keys as a KeyList has them
    partition_ids : int32[n], the partition that each was observed on
    partitions_counts : those that are possible
    """

    kafka_version: str
    partitioners: list[Partitioner]
    named: bool
    values: Any
    partition_ids: Int32s
    column: Column
    key_format: str
    partitions_counts: range
    max_candidates: int
    examples: int


class PartitionerFingerprintsSchema(QuestionSchema):
    """Records that were seen, each with its key and its partition."""

    kafka_version = KafkaVersion()
    observations = Observations(
        required=True, metadata={"example": [{"key": "order-1", "partition_id": 10}, {"key": "order-2", "partition_id": 6}]}
    )
    partitions_count = Integer(
        minimum=1,
        allow_none=True,
        metadata=about("the topic's partitions when the records were written; absent: unknown", example=12),
    )
    max_partitions_count = Integer(
        minimum=1,
        maximum=MOST_COUNTS,
        metadata=about(f"the largest count to try if none is given; default {DEFAULT_COUNTS}, or twice the largest partition"),
    )
    key_format = fields.String(validate=validate.OneOf(FORMATS), metadata=about("as in /v1/partitions; default `string`"))
    partitioners = List(
        fields.String(), validate=validate.Length(min=1), metadata=about("names of GET /v1/partitioners; default: all")
    )
    max_candidates = Integer(minimum=1, maximum=1000, load_default=20, metadata=about("the maximum number of candidates to list"))
    examples = Integer(
        minimum=0, maximum=100, load_default=3, metadata=about("the maximum number of records to show for each writer")
    )

    def question(self, body: dict[str, Any], **_: Any) -> FingerprintQuestion:
        """The question: its partitioners resolved, its size within the limits, its keys in bytes."""
        column, key_format = _keys(body)
        partition_ids = np.array(body["observations"]["partition_id"])
        partitions_counts = _possible(body, partition_ids)
        reserve(COUNT_BYTES * len(partitions_counts) + PAIR_BYTES * len(partition_ids) + columns.data_bytes(column))
        return FingerprintQuestion(
            kafka_version=body["kafka_version"],
            partitioners=chosen(body.get("partitioners")),
            named="partitioners" in body,
            values=body["observations"]["key"],
            partition_ids=partition_ids,
            column=column,
            key_format=key_format,
            partitions_counts=partitions_counts,
            max_candidates=body["max_candidates"],
            examples=body["examples"],
        )

    def parts(self) -> Parts:
        """The partitioners; the keys; the partition counts."""
        return (
            lambda body: chosen(body.get("partitioners")),
            _keys,
            lambda body: _possible(body, np.array(body["observations"]["partition_id"])),
        )


def _keys(body: dict[str, Any]) -> tuple[Column, str]:
    """The keys, and their format. Raises InvalidQuestion, LimitExceeded."""
    values = body["observations"]["key"]
    if not len(values):
        raise InvalidQuestion("There are no observations.", "observations")
    check_limit("max_keys", len(values), "keys", "observations")
    with keys.fields_of(keys=("observations", "key")):
        return keys.read(values, body.get("key_format"), request_budget())


def _possible(body: dict[str, Any], partition_ids: Int32s) -> range:
    """The partition counts that the request and the observations leave possible."""
    row = int(partition_ids.argmax())
    least = int(partition_ids[row]) + 1
    count = body.get("partitions_count")
    if count is not None:
        if "max_partitions_count" in body:
            raise InvalidQuestion("The partitions_count is given.", "max_partitions_count")
        if least > count:
            raise InvalidQuestion(f"Partition {least - 1} is not in [0, {count}).", "observations", row, "partition_id")
        return range(count, count + 1)
    most = body.get("max_partitions_count", min(max(DEFAULT_COUNTS, 2 * least), MOST_COUNTS))
    if least > most:
        raise InvalidQuestion(
            f"Partition {least - 1} was observed, so there are more than {most} partitions.", "max_partitions_count"
        )
    return range(least, most + 1)
