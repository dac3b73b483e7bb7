"""The request of ``/v1/partitions``: its schemas, and the step into the core's arrays."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
from marshmallow import Schema, ValidationError, fields, validate, validates_schema

from service.core.errors import InvalidQuestion
from service.core.kafka_versions import LATEST
from service.core.keys.columns import INTEGERS, Column
from service.core.keys.formats import FORMATS
from service.core.model import Bools
from service.core.partitioners import PARTITIONERS, Partitioner, Question, check_options
from service.web import keys
from service.web.blueprint import Parts, QuerySchema, QuestionSchema, from_query
from service.web.columns_field import Columns, Integers
from service.web.context import check_limit
from service.web.fields import INT32, INT64, Boolean, Integer, Subject, about
from service.web.keys import KeyList
from service.web.schemas import ExplainSchema, KafkaVersion


class RecordSchema(Schema):
    """A record to be partitioned."""

    key = fields.Raw(allow_none=True, load_default=None, metadata=about("absent or null: a record without a key"))
    partition = Integer(allow_none=True, metadata=about("a partition that the caller names; it takes precedence"))
    bytes = Integer(minimum=0, metadata=about("bytes added to the batch (`java:sticky`)"))
    enable_switch = Boolean(metadata=about("whether the sticky partition may change after it (`java:sticky`)"))


class WindowSchema(Schema):
    """A window of Kafka Streams."""

    start = Integer(required=True, minimum=0, maximum=INT64)
    size = Integer(required=True, minimum=1, maximum=INT64)


@dataclass(frozen=True)
class Allocation:
    """The question, and what only the answer needs.

    members : those of the Records
    explained : GET's ``explain``
    """

    kafka_version: str
    topic_name: str | None
    partitioner: Partitioner
    question: Question
    members: dict[str, tuple[str, ...]]
    explained: bool


@dataclass(frozen=True)
class Records:
    """The records of a request.

    values : their keys as a KeyList has them; partitions : one for each record that names its own
    members : where the request has the keys and the explicit partitions of the question (``keys.fields_of``)
    options : of the question, those that records have
    """

    values: Any
    partitions: pa.Int32Array | None
    members: dict[str, tuple[str, ...]]
    options: dict[str, Any]

    def read(self, body: dict[str, Any]) -> tuple[Column, str]:
        """The keys, and their format. Raises InvalidQuestion, LimitExceeded."""
        check_limit("max_keys", len(self.values), "keys", self.members.get("keys", ("keys",))[0])
        with keys.fields_of(**self.members):
            return keys.read(self.values, body.get("key_format"))


class PartitionsSchema(QuestionSchema):
    """Records of one topic. Fields below `random_seed` mean something to some partitioners only; the others refuse them."""

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

    def question(self, body: dict[str, Any], **_: Any) -> Allocation:
        """The question: its partitioner resolved, its size within the limits, its keys in bytes."""
        return _allocation(body, _records(body))

    def parts(self) -> Parts:
        """The partitioner and its options; the keys."""
        return (lambda body: _options(_partitioner(body), body), lambda body: _records(body).read(body))


class PartitionQuerySchema(PartitionsSchema, ExplainSchema, QuerySchema):
    """The same for one key, in a query."""

    class Meta:
        """Without the fields that a query cannot hold."""

        fields = ("key", "partitions_count", "partitioner", "key_format", "counter", "random_seed", "topic_name", "explain")

    key = fields.String(metadata=about("absent: a record without a key", example="order-1"))
    counter = Integer(minimum=-INT64 - 1, maximum=INT64, metadata=about("the round robin's counter; default 0"))
    random_seed = Integer(
        minimum=-INT64 - 1,
        maximum=INT64,
        metadata=about("of the java.util.Random; default 0. Neighbouring seeds have similar first draws"),
    )

    def question(self, body: dict[str, Any], **_: Any) -> Allocation:
        """The question."""
        value = _json_value(body.get("key"), body.get("key_format", "string"))
        return _allocation(body, Records([value], None, {"keys": ("key",)}, {}))

    def parts(self) -> Parts:
        """The partitioner."""
        return (_partitioner,)


OPTIONS: Final = (
    "available_partitions", "counter", "random_seed", "random_values", "chunk_size", "value_sizes", "clock_ms",
    "partition_switch_ms", "queue_sizes", "partition_ids", "length", "sticky_batch_size",
)  # fmt: skip


def _allocation(body: dict[str, Any], records: Records) -> Allocation:
    partitioner = _partitioner(body)
    options = _options(partitioner, body, **records.options)
    column, key_format = records.read(body)
    encoding = partitioner.encoding
    if key_format not in encoding.formats:
        known = ", ".join(encoding.formats)
        raise InvalidQuestion(
            f"The partitioner {partitioner.name} does not accept {key_format} keys; it accepts {known}.", "key_format"
        )
    explicit, has_explicit = _explicit(body.get("explicit_partition"), records.partitions, len(records.values))
    question = Question(
        body.get("partitions_count", 1), encoding.run(column, key_format), key_format, explicit, has_explicit, **options
    )
    version = body.get("kafka_version", LATEST)
    return Allocation(version, body.get("topic_name"), partitioner, question, records.members, body.get("explain", False))


def _partitioner(body: dict[str, Any]) -> Partitioner:
    """The partitioner; raises InvalidQuestion also if it needs a partition count that is missing, or gives tokens instead."""
    partitioner = PARTITIONERS[body["partitioner"]]
    if partitioner.gives_tokens == ("partitions_count" in body):
        raise InvalidQuestion(
            f"The partitioner {partitioner.name} gives tokens, not partitions."
            if partitioner.gives_tokens
            else "Missing data for required field.",
            "partitions_count",
        )
    return partitioner


def _options(partitioner: Partitioner, body: dict[str, Any], **options: Any) -> dict[str, Any]:
    """The options of the question: those given, which the records have, and the body's. Raises InvalidQuestion."""
    options |= {name: body[name] for name in OPTIONS if body.get(name) is not None}
    if body.get("window") is not None:
        options["window"] = (body["window"]["start"], body["window"]["size"])
    check_options(partitioner, tuple(options))
    return options


def _records(body: dict[str, Any]) -> Records:
    values, records = body.get("keys"), body.get("records")
    if records is not None:
        if values is not None:
            raise InvalidQuestion("Give either keys or records.", "records")
        members: dict[str, tuple[str, ...]] = {"keys": ("records", "key"), "explicit": ("records", "partition")}
        return Records(records["key"], records["partition"], members, _record_options(records))
    if values is None:
        if body.get("random_values") is None:
            raise InvalidQuestion("Give either keys or records.", "keys")
        values = [None] * len(body["random_values"])
    return Records(values, None, {"explicit": ("explicit_partition",)}, {})


def _json_value(key: str | None, key_format: str) -> Any:
    """A query's text as the JSON value of its format; other text as it is, for the format to refuse."""
    if key is None or key_format in keys.TEXTUAL:
        return key
    if key_format in INTEGERS:
        return from_query(key)
    if key_format == "boolean":
        return {"true": True, "false": False}.get(key, key)
    if key in ("NaN", "Infinity", "-Infinity"):
        return key
    try:
        return float(key) if key.isascii() and "_" not in key else key
    except ValueError:
        return key


def _record_options(records: dict[str, Any]) -> dict[str, Any]:
    """The records' ``bytes`` and ``enable_switch``, as ``java:sticky`` needs them."""
    options: dict[str, Any] = {}
    sizes, switches = records["bytes"], records["enable_switch"]
    if sizes.null_count < len(sizes):
        if sizes.null_count:
            row = sizes.is_null().index(True).as_py()
            raise InvalidQuestion("Other records have bytes: missing here.", "records", row, "bytes")
        options["record_bytes"] = np.array(sizes)
    if switches.null_count < len(switches):
        options["enable_switch"] = np.array(switches.fill_null(True))
    return options


def _explicit(of_all: int | None, partitions: pa.Int32Array | None, n: int) -> tuple[Any, Bools | None]:
    """The partitions that the caller names, int32[n], and which records have one, bool[n]."""
    if partitions is not None and partitions.null_count < n:
        if of_all is not None:
            raise InvalidQuestion("The records name their partitions.", "explicit_partition")
        return np.array(partitions.fill_null(0)), np.array(partitions.is_valid().to_numpy(zero_copy_only=False))
    if of_all is None:
        return None, None
    return np.full(n, of_all, np.int32), np.ones(n, np.bool_)
