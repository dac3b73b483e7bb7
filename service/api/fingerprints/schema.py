"""The JSON body of a question about who wrote a topic."""

from typing import Any

import numpy as np
import pyarrow as pa
from marshmallow import Schema, ValidationError, post_load, validate

from service.core.keys.formats import FORMATS
from service.core.model import Int32s
from service.decisions.fingerprints import DEFAULT_COUNTS, MOST_COUNTS, FingerprintQuestion
from service.decisions.keys.types import Stream
from service.web import described as fields
from service.web.columns_field import Columns
from service.web.fields import INT32, Array, Int
from service.web.schemas import KafkaVersion


class ObservationSchema(Schema):
    """An observed record."""

    key = fields.Raw("absent or null: a record without a key", load_default=None)
    partition_id = Int("the partition that it was observed on", required=True, minimum=0)


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
        raise ValidationError(f"A column of {column.type} cannot hold partition ids; use integers.")
    if column.null_count:
        raise ValidationError({column.is_null().index(True).as_py(): {"partition_id": ["Field may not be null."]}})
    partition_ids = np.array(column.to_numpy())
    outside = (partition_ids < 0) | (partition_ids > INT32)
    if outside.any():
        row = int(outside.argmax())
        raise ValidationError({row: {"partition_id": [f"{partition_ids[row]} is not a partition."]}})
    return partition_ids.astype(np.int32)


class PartitionerFingerprintsSchema(Schema):
    """Records that were seen, each with its key and its partition."""

    kafka_version = KafkaVersion()
    observations = Observations(
        required=True, example=[{"key": "order-1", "partition_id": 10}, {"key": "order-2", "partition_id": 6}]
    )
    partitions_count = Int(
        "the topic's partitions when the records were written; absent: unknown", minimum=1, allow_none=True, example=12
    )
    max_partitions_count = Int(
        f"the largest count to try if none is given; default {DEFAULT_COUNTS}, or twice the largest partition",
        minimum=1,
        maximum=MOST_COUNTS,
    )
    key_format = fields.String("as in /v1/partitions; default `string`", validate=validate.OneOf(FORMATS))
    partitioners = Array(fields.String(), "names of GET /v1/partitioners; default: all", validate=validate.Length(min=1))
    schema_ids = Array(
        Int(minimum=0),
        "ids of a schema registry that may stand before the keys, tried where the keys' text explains nothing; default: 0 to 100",
        validate=validate.Length(1, 1000),
    )
    max_candidates = Int("the maximum number of candidates to list", minimum=1, maximum=1000, load_default=20)
    examples = Int("the maximum number of records to show for each writer", minimum=0, maximum=100, load_default=3)

    @post_load
    def question(self, body: dict[str, Any], **_: Any) -> FingerprintQuestion:
        """The question."""
        observations = body.pop("observations")
        return FingerprintQuestion(observations["key"], np.array(observations["partition_id"]), **body)
