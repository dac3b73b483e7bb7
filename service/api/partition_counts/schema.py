"""The JSON body of a question about partition counts."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from marshmallow import Schema, ValidationError, fields, validate, validates_schema

from service.core.keys.formats import FORMATS
from service.decisions.partition_counts import MOST, THROUGHPUT, PlansQuestion
from service.web.columns_field import Columns
from service.web.fields import Boolean, Integer, List, Number, Subject, about
from service.web.keys import KeyList
from service.web.schemas import KafkaVersion, QuestionSchema


class HistogramRowSchema(Schema):
    """A key and what it stands for."""

    key = fields.Raw(required=True, allow_none=True, metadata=about("null: without a key"))
    records = Integer(minimum=0, maximum=MOST, metadata=about("default 1; in every row or in none"))
    bytes = Integer(minimum=0, maximum=MOST, metadata=about("of all these records; in every row or in none"))


class PartitionCountPlansSchema(QuestionSchema):
    """Keys, or what is known of each, and the partition counts that come into question; or the topic's throughput; or both."""

    asks = PlansQuestion

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
