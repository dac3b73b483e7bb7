"""``/v1/partitions``: key → partition.

A question is a JSON body, an Arrow stream with the rest in the query, or one key in the query.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import methodcaller
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np
import pyarrow as pa
from flask import request
from marshmallow import INCLUDE, Schema, fields, post_load, validate

from service.api import Blueprint, bulk, decision, keys, render, settings
from service.api.fields import INT32, Integer, Subject, about
from service.api.keys import KeyList
from service.api.schemas import KAFKA_VERSIONS, CountsSchema, ExplainSchema, KafkaVersion
from service.api.streams import StreamParser, integer_or
from service.config import environment_name
from service.core.errors import InvalidQuestion, LimitExceeded
from service.core.keys import BYTES, FORMATS, INTEGERS
from service.core.measures import Spread, occurrences, spread
from service.core.partitioners import PARTITIONERS, Answer, Partitioner, Question, allocate, check_options
from service.core.partitioners.explanation import explain

if TYPE_CHECKING:
    from flask import Response

    from service.core.keys import Column
    from service.core.model import Bools, Int32s, Int64s

MAX_COUNTS: Final = 100_000
"""Most partitions whose counts an answer lists one by one."""

LONG: Final = 2**63 - 1


class PartitionsBlueprint(Blueprint):
    """The resource, which also takes an Arrow stream."""

    ARGUMENTS_PARSER = StreamParser("keys", "key")


blueprint = PartitionsBlueprint("partitions", __name__, description="key → partition")


class Integers(fields.List[Any]):
    """A list of integers as an array, read in one pass.

    minimum, maximum : inclusive bounds
    """

    def __init__(self, dtype: type[np.integer[Any]], minimum: int, maximum: int, **kwargs: Any) -> None:
        super().__init__(Integer(minimum=minimum, maximum=maximum), allow_none=True, **kwargs)
        self.dtype, self.minimum, self.maximum = dtype, minimum, maximum

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        array = bulk.read(value, pa.int64())
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

    start = Integer(required=True, minimum=0, maximum=LONG)
    size = Integer(required=True, minimum=1, maximum=LONG)


class RecordList(fields.List[Any]):
    """Records as columns: ``key`` and the options as lists, ``partition`` as an Arrow array. The keys stay as they came.

    Records that have nothing but these two are read without Python work for each; others, and faulty ones, by the schema.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(fields.Nested(RecordSchema), allow_none=True, **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        if type(value) is list and set(map(type, value)) == {dict} and {"key", "partition"}.issuperset(set().union(*value)):
            partitions = bulk.read(list(map(methodcaller("get", "partition"), value)), pa.int32())
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
        minimum=-LONG - 1,
        maximum=LONG,
        allow_none=True,
        metadata=about("the round robin's counter before the first record; default 0"),
    )
    random_seed = Integer(
        minimum=-LONG - 1,
        maximum=LONG,
        allow_none=True,
        metadata=about("of the java.util.Random that stands for the client's; default 0"),
    )
    random_values = Integers(np.int32, 0, INT32, metadata=about("KIP-794: the client's random numbers, instead of drawing them"))
    chunk_size = Integer(allow_none=True, metadata=about("kafka-go: RoundRobin{ChunkSize}"), minimum=0)
    value_sizes = Integers(np.int64, 0, LONG, metadata=about("kafka-go: bytes of each record's value"))
    clock_ms = Integers(np.int64, 0, LONG, metadata=about("Pulsar: the time of each record"))
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
    version = body.get("kafka_version", KAFKA_VERSIONS[-1])
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


class StepSchema(Schema):
    """How one key came to its partition."""

    rule = fields.String(metadata=about("what decided"))
    key_bytes_hex = fields.String(allow_none=True, metadata=about("the bytes that are hashed; null: no key"))
    hash = fields.Integer(metadata=about("signed"))
    hash_hex = fields.String()
    after_sign_rule = fields.Integer()
    modulo = fields.Integer()
    result = fields.Integer()


class PartitionsAnswerSchema(Schema):
    """Where the records go."""

    class Meta:
        """Answers have what their partitioner shows."""

        unknown = INCLUDE

    kafka_version = fields.String()
    partitioner = fields.String()
    partitions_count = fields.Integer()
    partitions = fields.List(fields.Integer(), metadata=about("of each record, in request order"))
    tokens = fields.List(fields.Integer(), metadata=about("instead of `partitions`, from a partitioner of tokens"))
    hashes = fields.List(fields.Integer(), metadata=about("from `spark`: `hash(key)`"))
    counter = fields.Integer(metadata=about("the round robin's counter after the last record"))
    random_values_used = fields.Integer(metadata=about("how many of `random_values` were looked at"))
    cumulative_frequency_table = fields.List(
        fields.Integer(), allow_none=True, metadata=about("from `java:adaptive`; null: Kafka drops it")
    )
    distribution = fields.Nested(
        CountsSchema, metadata=about(f"records per partition; `counts` is left out above {MAX_COUNTS} partitions")
    )
    explanation = fields.List(fields.Nested(StepSchema), metadata=about("with `explain=true`, one for each key"))


@blueprint.post("/v1/partitions")
@blueprint.arguments(PartitionsSchema)
@blueprint.arguments(ExplainSchema, location="query")
@blueprint.response(200, PartitionsAnswerSchema)
@blueprint.doc(operationId="allocatePartitions")
def allocate_partitions(allocation: Allocation, query: dict[str, bool]) -> Response:
    """Say to which partition each key goes.

    The body may also be an Arrow stream with a column `key` (binary, string, integers, floats, booleans), the other fields being
    query parameters; its answer is an Arrow stream with a column `partition_id`, unless `Accept` wants another. As `text/csv`
    the answer has the columns `record` and `partition_id`.
    """
    return answer(allocation, explained=query["explain"])


GET_PARAMETERS: Final = frozenset(
    {"key", "partitions_count", "partitioner", "key_format", "counter", "random_seed", "topic_name", "explain"}
)
_INTEGERS: Final = {"partitions_count": (1, INT32), "counter": (-LONG - 1, LONG), "random_seed": (-LONG - 1, LONG)}
_STRING: Final = {"type": "string"}


@blueprint.get("/v1/partitions")
@blueprint.response(200, PartitionsAnswerSchema)
@blueprint.doc(
    operationId="allocatePartition",
    parameters=[
        {"in": "query", "name": "key", "schema": _STRING, "description": "absent: a record without a key"},
        {
            "in": "query",
            "name": "partitions_count",
            "schema": {"type": "integer", "minimum": 1, "maximum": INT32},
            "description": "required, except for tokens",
        },
        {"in": "query", "name": "partitioner", "schema": {**_STRING, "default": "java"}},
        {"in": "query", "name": "key_format", "schema": {**_STRING, "default": "string", "enum": list(FORMATS)}},
        {"in": "query", "name": "counter", "schema": {"type": "integer"}},
        {"in": "query", "name": "random_seed", "schema": {"type": "integer"}},
        {"in": "query", "name": "topic_name", "schema": _STRING},
        {"in": "query", "name": "explain", "schema": {"type": "boolean", "default": False}},
    ],
    responses={"422": {"$ref": "#/components/responses/UNPROCESSABLE_ENTITY"}},
)
def allocate_partition() -> Response:
    """Say to which partition one key goes: what POST answers for `keys: [key]`."""
    # Read by hand: for one key a schema would take longer than everything else.
    body: dict[str, Any] = {}
    for name, given in request.args.lists():
        if name not in GET_PARAMETERS:
            raise InvalidQuestion("Unknown field.", f"/{name}")
        if len(given) > 1:
            raise InvalidQuestion("given more than once", f"/{name}")
        body[name] = _bounded(name, given[0]) if name in _INTEGERS else given[0]
    explained = body.pop("explain", "false")
    if explained not in ("true", "false"):
        raise InvalidQuestion("Not a valid boolean.", "/explain")
    key_format = body.get("key_format", "string")
    if key_format not in FORMATS:
        raise InvalidQuestion(f"Must be one of: {', '.join(FORMATS)}.", "/key_format")
    body["keys"] = [_typed(body.pop("key", None), key_format)]
    try:
        allocation = read(body)
        return answer(allocation, explained=explained == "true")
    except InvalidQuestion as error:
        if error.pointer == "/keys/0":
            error.pointer = "/key"
        raise


def _bounded(name: str, value: str) -> int:
    number = integer_or(value)
    if type(number) is not int:
        raise InvalidQuestion("Not an integer.", f"/{name}")
    low, high = _INTEGERS[name]
    if not low <= number <= high:
        raise InvalidQuestion(f"Must be greater than or equal to {low} and less than or equal to {high}.", f"/{name}")
    return number


def _typed(key: str | None, key_format: str) -> Any:
    """A query's text as the JSON value that the format wants, if it is one."""
    if key is None or key_format in ("string", "uuid", *BYTES):
        return key
    if key_format in INTEGERS:
        return integer_or(key)
    if key_format == "boolean":
        return {"true": True, "false": False}.get(key, key)
    if key in ("NaN", "Infinity", "-Infinity"):
        return key
    try:
        return float(key) if key.isascii() and "_" not in key else key
    except ValueError:
        return key


def answer(allocation: Allocation, *, explained: bool) -> Response:
    """The answer in the media type that the request wants."""
    partitioner, question = allocation.partitioner, allocation.question
    if explained and len(question.keys) > settings().max_explained:
        limit = environment_name("max_explained")
        raise LimitExceeded(limit, settings().max_explained, len(question.keys), "keys to be explained", "/explain")
    report = decision("partition", partitioner.name)
    with report.compute():
        result = allocate(partitioner, question, allocation.at, allocation.explicit_at)
        tokens = result.partitions.dtype == np.int64
        counts, evenness = (None, None) if tokens else distribution(cast("Int32s", result.partitions), question.partitions_count)
    report.sees(keys=len(question.keys))
    if evenness is not None:
        report.gives(evenness.skew, subject=allocation.topic_name)
    with report.render():
        media_type = _wanted()
        name = "token" if tokens else "partition_id"
        if media_type == render.ARROW_STREAM:
            return render.table(pa.table({name: result.partitions}), media_type)
        if media_type == render.CSV:
            return render.table(pa.table({"record": np.arange(len(result.partitions)), name: result.partitions}), media_type)
        document = _document(allocation, result, counts, evenness)
        if explained:
            document["explanation"] = explain(partitioner, question, result)
        return render.answer(document)


def _wanted() -> str:
    """The media type of the answer; an Arrow stream is answered by one unless another is asked for."""
    if not request.environ.get("CONTENT_TYPE") or request.mimetype != render.ARROW_STREAM:
        return render.wanted()
    return render.wanted(render.ARROW_STREAM, render.JSON, render.CSV)


def _document(allocation: Allocation, result: Answer, counts: Int64s | None, evenness: Spread | None) -> dict[str, Any]:
    document: dict[str, Any] = {"kafka_version": allocation.kafka_version, "partitioner": allocation.partitioner.name}
    if evenness is None:
        document["tokens"] = result.partitions
    else:
        document |= {"partitions_count": allocation.question.partitions_count, "partitions": result.partitions}
    for name in ("hashes", "counter", "random_values_used"):
        value = getattr(result, name)
        if value is not None:
            document[name] = value
    if "queue_sizes" in allocation.partitioner.options:
        document["cumulative_frequency_table"] = result.cumulative_frequency_table
    if evenness is not None:
        document["distribution"] = ({} if counts is None else {"counts": counts}) | vars(evenness)
    return document


def distribution(partitions: Int32s, partitions_count: int) -> tuple[Int64s | None, Spread]:
    """Records per partition, and their spread.

    Returns int64[partitions_count], None above MAX_COUNTS. A partition out of range, which only KafkaJS lets through, is in
    neither.
    """
    if partitions_count > MAX_COUNTS:
        in_range = partitions[(partitions >= 0) & (partitions < partitions_count)]
        return None, spread(np.unique(in_range, return_counts=True)[1], partitions_count)
    counts = occurrences(partitions, partitions_count)
    return counts, spread(counts)
