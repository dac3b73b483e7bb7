"""The question to ``/v1/partitions``: what a body may say, and what is made of it."""

from __future__ import annotations

from dataclasses import dataclass
from operator import methodcaller
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from marshmallow import Schema, fields, post_load, validate

from service.core.errors import InvalidQuestion
from service.core.kafka_versions import LATEST
from service.core.keys.columns import FORMATS
from service.core.partitioners import PARTITIONERS, Partitioner, Question, check_options
from service.web import json_arrays, keys
from service.web.fields import INT32, INT64, Integer, Subject, about
from service.web.keys import KeyList
from service.web.schemas import KafkaVersion

if TYPE_CHECKING:
    from service.core.keys.columns import Column
    from service.core.model import Bools


class Integers(fields.List[Any]):
    """A list of integers as an array, read in one pass.

    minimum, maximum : inclusive bounds
    """

    def __init__(self, dtype: type[np.integer[Any]], minimum: int, maximum: int, **kwargs: Any) -> None:
        super().__init__(Integer(minimum=minimum, maximum=maximum), allow_none=True, **kwargs)
        self.dtype, self.minimum, self.maximum = dtype, minimum, maximum

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        array = json_arrays.read(value, pa.int64())
        if array is not None and array.null_count == 0:
            values = array.to_numpy(zero_copy_only=False)
            if not len(values) or (values.min() >= self.minimum and values.max() <= self.maximum):
                return values.astype(self.dtype)
        return np.array(super()._deserialize(value, attr, data, **kwargs), self.dtype)


class RecordSchema(Schema):
    """A record to be partitioned."""

    key = fields.Raw(allow_none=True, load_default=None, metadata={"description": "absent or null: a record without a key"})
    partition = Integer(allow_none=True, metadata={"description": "a partition that the caller names; it wins"})
    bytes = Integer(minimum=0, metadata={"description": "bytes added to the batch (`java:sticky`)"})
    enable_switch = fields.Boolean(
        truthy={True}, falsy={False}, metadata={"description": "may the sticky partition change after it (`java:sticky`)"}
    )


class WindowSchema(Schema):
    """A window of Kafka Streams."""

    start = Integer(required=True, minimum=0, maximum=INT64)
    size = Integer(required=True, minimum=1, maximum=INT64)


class RecordList(fields.List[Any]):
    """Records as columns: ``key`` and the options as lists, ``partition`` as an Arrow array. The keys stay as they came.

    Records that have nothing but these two are read without Python work for each; others, and faulty ones, by the schema.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(fields.Nested(RecordSchema), allow_none=True, **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        if type(value) is list and set(map(type, value)) == {dict} and {"key", "partition"}.issuperset(set().union(*value)):
            partitions = json_arrays.read(list(map(methodcaller("get", "partition"), value)), pa.int32())
            if partitions is not None:
                return {"key": list(map(methodcaller("get", "key"), value)), "partition": partitions}
        rows: Any = super()._deserialize(value, attr, data, **kwargs)
        columns: dict[str, Any] = {name: [row.get(name) for row in rows] for name in ("key", "bytes", "enable_switch")}
        return columns | {"partition": pa.array([row.get("partition") for row in rows], pa.int32())}


@dataclass(frozen=True)
class Allocation:
    """The question, and what is only the answer's business."""

    kafka_version: str
    topic_name: str | None
    partitioner: Partitioner
    question: Question
    at: str
    explicit_at: str


class PartitionsSchema(Schema):
    """Records of one topic. Fields below `random_seed` mean something to some partitioners only; the others refuse them."""

    kafka_version = KafkaVersion()
    partitioner = fields.String(
        load_default="java", metadata={"description": "a name of GET /v1/partitioners", "example": "java"}
    )
    partitions_count = Integer(minimum=1, metadata=about("the topic's partitions; required, except for tokens"))
    topic_name = Subject("topic")
    key_format = fields.String(
        validate=validate.OneOf(FORMATS),
        metadata=about("how a JSON value becomes a key, as Kafka's serializers do; default `string`. `bytes` is `base64`"),
    )
    keys = KeyList(
        metadata={"description": "null is a record without a key", "type": "array", "items": {}, "example": ["order-1", None]}
    )
    records = RecordList(metadata=about("instead of `keys`"))
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
        metadata=about("of the java.util.Random that stands for the client's; default 0"),
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

    @post_load
    def ask(self, body: dict[str, Any], **_: Any) -> Allocation:
        """The question, its strategy looked up, its size within the limits, its keys in bytes."""
        return read(body)


QUESTION_OPTIONS: Final = (
    "available_partitions", "counter", "random_seed", "random_values", "chunk_size", "value_sizes", "clock_ms",
    "partition_switch_ms", "queue_sizes", "partition_ids", "length", "sticky_batch_size",
)  # fmt: skip


def read(body: dict[str, Any]) -> Allocation:
    """The question of a body whose fields have been checked one by one."""
    partitioner = PARTITIONERS[body.get("partitioner", "java")]
    tokens = partitioner.hash is not None and partitioner.sign is None
    if tokens == ("partitions_count" in body):
        detail = (
            f"the partitioner {partitioner.name} gives tokens, not partitions" if tokens else "Missing data for required field."
        )
        raise InvalidQuestion(detail, "/partitions_count")
    options = {name: body[name] for name in QUESTION_OPTIONS if body.get(name) is not None}
    at, explicit_at = "/keys/{}", "/explicit_partition"
    values, records = body.get("keys"), body.get("records")
    partitions: pa.Int32Array | None = None
    if records is not None:
        if values is not None:
            raise InvalidQuestion("keys and records are given; one of them is wanted", "/records")
        at, explicit_at = "/records/{}/key", "/records/{}/partition"
        values, partitions = records["key"], records["partition"]
        options |= _record_options(records)
    elif values is None:
        if "random_values" not in options:
            raise InvalidQuestion("keys or records are wanted", "/keys")
        values = [None] * len(options["random_values"])
    keys.check_limit(len(values), at.partition("/{}")[0])
    if body.get("window") is not None:
        options["window"] = (body["window"]["start"], body["window"]["size"])
    check_options(partitioner, tuple(options))
    column, key_format = keys.read(values, body.get("key_format"), at)
    explicit, given = _explicit(body.get("explicit_partition"), partitions, len(values))
    question = Question(
        body.get("partitions_count", 1), _encoded(partitioner, column, key_format), key_format, explicit, given, **options
    )
    version = body.get("kafka_version", LATEST)
    return Allocation(version, body.get("topic_name"), partitioner, question, at, explicit_at)


def _encoded(partitioner: Partitioner, column: Column, key_format: str) -> Any:
    encoding = partitioner.encoding
    if key_format not in encoding.formats:
        known = ", ".join(encoding.formats)
        raise InvalidQuestion(f"the partitioner {partitioner.name} takes no {key_format} keys, but {known}", "/key_format")
    return encoding.run(column, key_format)


def _record_options(records: dict[str, list[Any]]) -> dict[str, Any]:
    """What ``java:sticky`` wants to know of the records."""
    options: dict[str, Any] = {}
    sizes, switches = records.get("bytes", ()), records.get("enable_switch", ())
    if any(size is not None for size in sizes):
        for i, size in enumerate(sizes):
            if size is None:
                raise InvalidQuestion("other records have bytes: missing here", f"/records/{i}/bytes")
        options["record_bytes"] = np.array(sizes, np.int64)
    if any(switch is not None for switch in switches):
        options["enable_switch"] = np.array([switch is not False for switch in switches], np.bool_)
    return options


def _explicit(of_all: int | None, partitions: pa.Int32Array | None, n: int) -> tuple[Any, Bools | None]:
    """The partitions that the caller names, and for which records there is one."""
    if partitions is not None and partitions.null_count < n:
        if of_all is not None:
            raise InvalidQuestion("the records name their partitions", "/explicit_partition")
        return np.array(partitions.fill_null(0)), np.array(partitions.is_valid().to_numpy(zero_copy_only=False))
    if of_all is None:
        return None, None
    return np.full(n, of_all, np.int32), np.ones(n, np.bool_)
