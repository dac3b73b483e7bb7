"""The JSON body and the query of a question about partitions."""

from typing import Any

import numpy as np
import pyarrow as pa
from marshmallow import Schema, ValidationError, fields, validate, validates_schema

from service.core.keys.formats import FORMATS
from service.core.partitioners import PARTITIONERS
from service.decisions.partitions import PartitionsQuestion
from service.web.columns_field import Columns, Integers
from service.web.fields import INT32, INT64, Boolean, Integer, Subject, about
from service.web.keys import KeyList
from service.web.schemas import KafkaVersion, QuestionSchema


class RecordSchema(Schema):
    """A record to be partitioned."""

    key = fields.Raw(load_default=None, metadata=about("absent or null: a record without a key"))
    partition = Integer(allow_none=True, metadata=about("a partition that the caller names; it takes precedence"))
    bytes = Integer(minimum=0, metadata=about("bytes added to the batch (`java:sticky`)"))
    enable_switch = Boolean(metadata=about("whether the sticky partition may change after it (`java:sticky`)"))


class WindowSchema(Schema):
    """A window of Kafka Streams."""

    start = Integer(required=True, minimum=0, maximum=INT64)
    size = Integer(required=True, minimum=1, maximum=INT64)


class PartitionsSchema(QuestionSchema):
    """Records of one topic. Fields below `random_seed` mean something to some partitioners only; the others refuse them."""

    asks = PartitionsQuestion

    kafka_version = KafkaVersion()
    partitioner = fields.String(load_default="java", metadata=about("a name of GET /v1/partitioners", example="java"))
    partitions_count = Integer(minimum=1, metadata=about("the topic's partitions; required, except for tokens", example=6))
    topic_name = Subject("topic")
    key_format = fields.String(
        validate=validate.OneOf(FORMATS),
        metadata=about("how a JSON value becomes a key, as Kafka's serializers do; default `string`. `bytes` is `base64`"),
    )
    keys = KeyList(metadata=about("null is a record without a key", example=["order-1", None]))
    records = Columns(
        RecordSchema,
        {"key": None, "partition": pa.int32(), "bytes": pa.int64(), "enable_switch": pa.bool_()},
        allow_none=True,
        metadata=about("instead of `keys`"),
    )
    explicit_partition = Integer(allow_none=True, metadata=about("the partition that the caller names, of all records"))
    available_partitions = Integers(
        np.int32, 0, INT32, metadata=about("ids that have a leader, in the metadata's order; default: all")
    )
    counter = Integer(
        minimum=-INT64 - 1,
        maximum=INT64,
        allow_none=True,
        metadata=about("the round robin's counter before the first record; default 0"),
    )
    random_seed = Integer(
        minimum=-INT64 - 1,
        maximum=INT64,
        allow_none=True,
        metadata=about(
            "of the java.util.Random used in place of the client's; default 0. Neighbouring seeds have similar first draws"
        ),
    )
    random_values = Integers(np.int32, 0, INT32, metadata=about("KIP-794: the client's random numbers, instead of drawing them"))
    chunk_size = Integer(allow_none=True, metadata=about("kafka-go: RoundRobin{ChunkSize}"), minimum=0)
    value_sizes = Integers(np.int64, 0, INT64, metadata=about("kafka-go: bytes of each record's value"))
    clock_ms = Integers(np.int64, 0, INT64, metadata=about("Pulsar: the time of each record"))
    partition_switch_ms = Integer(minimum=1, allow_none=True, metadata=about("Pulsar: milliseconds on one partition"))
    queue_sizes = Integers(np.int32, 0, INT32, metadata=about("KIP-794: batches queued for `partition_ids`"))
    partition_ids = Integers(np.int32, 0, INT32, metadata=about("KIP-794: the partitions of `queue_sizes`"))
    length = Integer(minimum=0, allow_none=True, metadata=about("KIP-794: how many of `queue_sizes` count"))
    sticky_batch_size = Integer(minimum=1, allow_none=True, metadata=about("KIP-794: bytes after which the partition changes"))
    window = fields.Nested(WindowSchema, allow_none=True, metadata=about("Kafka Streams: the keys' window, which moves nothing"))

    @validates_schema(pass_original=True, skip_on_field_errors=False)
    def has_count_and_keys(self, body: dict[str, Any], sent: Any, **_: Any) -> None:
        """Report what is missing, also beside other faults: a misspelt field is often the missing one."""
        if not isinstance(sent, dict):
            return
        partitioner = PARTITIONERS.full_name(body.get("partitioner", ""))
        if "partitions_count" not in sent and not (
            partitioner in PARTITIONERS.names() and PARTITIONERS[partitioner].gives_tokens
        ):
            raise ValidationError("Missing data for required field.", "partitions_count")
