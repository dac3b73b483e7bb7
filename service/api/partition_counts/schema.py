"""The JSON body of a question about partition counts."""

import pyarrow as pa
from marshmallow import Schema, validate

from service.core.keys.formats import FORMATS
from service.decisions.partition_counts import PlansQuestion
from service.decisions.rows.numbers import MOST
from service.web import described as fields
from service.web.columns_field import Columns
from service.web.fields import Array, Bool, Int, Number, Subject
from service.web.keys import KeyList
from service.web.schemas import KafkaVersion, QuestionSchema


class HistogramRowSchema(Schema):
    """A key and what it stands for."""

    key = fields.Raw("null: without a key", required=True, allow_none=True)
    records = Int("default 1; in every row or in none", minimum=0, maximum=MOST)
    bytes = Int("of all these records; in every row or in none", minimum=0, maximum=MOST)


class PartitionCountPlansSchema(QuestionSchema):
    """Keys, or what is known of each, and the partition counts that come into question; or the topic's throughput; or both."""

    asks = PlansQuestion

    kafka_version = KafkaVersion()
    topic_name = Subject("topic")
    partitioners = Array(fields.String(), "names of GET /v1/partitioners; default `java`", validate=validate.Length(1, 20))
    partitions_counts = Array(
        Int(minimum=1),
        "the counts to compare, besides the one that throughput needs; default: proposed by rates, limits and current count",
        validate=validate.Length(1, 200),
        example=[12, 18, 24],
    )
    current_partitions_count = Int("the current count, from which keys would move", minimum=1, allow_none=True)
    key_format = fields.String("as in /v1/partitions; default `string`", validate=validate.OneOf(FORMATS))
    keys = KeyList("one for each record", in_batches=True, example=["order-1", "order-2"])
    histogram = Columns(HistogramRowSchema, {"key": None, "records": pa.int64(), "bytes": pa.int64()}, "instead of `keys`")
    is_sample = Bool(
        "whether `histogram` is a sample of the keys, scaled to the weight of all; the answer is then not `exact`",
        load_default=False,
    )
    duration_seconds = Number("the time span of these records; it gives the topic's rates")
    records_per_second = Number(
        "instead of `duration_seconds`: the rate of all of the topic's records, those without a key included"
    )
    bytes_per_second = Number("the same in bytes")
    target_mb_per_second = Number("the throughput that the topic must reach, in MB/s (10⁶ bytes); with it, keys are optional")
    producer_mb_per_second = Number(
        "what producers write to one partition at most, in MB/s; with keys a limit of the busiest partition"
    )
    consumer_mb_per_second = Number(
        "what one consumer reads from one partition at most, in MB/s; with keys a limit of the busiest partition"
    )
    max_partition_records_per_second = Number("limit of the busiest partition")
    max_partition_bytes_per_second = Number("limit of the busiest partition")
    max_skew = Number("limit of the skew of records, and of bytes where they are given")
    hottest_keys = Int("how many of the hottest keys to list", minimum=0, maximum=100, load_default=10)
