"""The JSON body of a question about who wrote a topic."""

from typing import Any

import numpy as np
import pyarrow as pa
from marshmallow import Schema, ValidationError, fields, post_load, validate

from service.core.keys.formats import FORMATS
from service.core.model import Int32s
from service.decisions.fingerprints import DEFAULT_COUNTS, MOST_COUNTS, FingerprintQuestion
from service.decisions.keys.types import Stream
from service.web.columns_field import Columns
from service.web.fields import Integer, List, about
from service.web.schemas import KafkaVersion


class ObservationSchema(Schema):
    """An observed record."""

    key = fields.Raw(load_default=None, metadata=about("absent or null: a record without a key"))
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


class PartitionerFingerprintsSchema(Schema):
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

    @post_load
    def question(self, body: dict[str, Any], **_: Any) -> FingerprintQuestion:
        """The question."""
        observations = body.pop("observations")
        return FingerprintQuestion(observations["key"], np.array(observations["partition_id"]), **body)
