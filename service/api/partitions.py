"""Compute the partition of each key.

The body may also be an Arrow stream with a column `key` (binary, string, integers, floats, booleans), the other fields being
query parameters; its answer is an Arrow stream with a column `partition_id`, unless `Accept` says otherwise. As `text/csv`
the answer has the columns `record` and `partition_id`.
"""

from typing import Any, Final

import numpy as np
import pyarrow as pa
from marshmallow import INCLUDE, Schema, ValidationError, validate, validates_schema

from service.core.keys.columns import INTEGERS
from service.core.keys.formats import FORMATS
from service.core.partitioners import PARTITIONERS
from service.decisions.keys import TEXTUAL
from service.decisions.partitions import MAX_COUNTS, OF_KEY, PartitionsAnswer, PartitionsQuestion, answer
from service.http import fields
from service.http.fields import BOOLEANS, INT64, Bool, Int, QuerySchema, Subject, from_query
from service.http.forms import AnswerSchema, CountsSchema, ExplainSchema, Form, KafkaVersion, Operation, QuestionSchema
from service.http.keys import KeyList, read_body
from service.http.lists import Columns, Integers


class RecordSchema(Schema):
    """A record to be partitioned."""

    key = fields.Raw("absent or null: a record without a key", load_default=None)
    partition = Int("a partition that the caller names; it takes precedence", allow_none=True)
    bytes = Int("bytes added to the batch (`java:sticky`)", minimum=0)
    enable_switch = Bool("whether the sticky partition may change after it (`java:sticky`)")


class WindowSchema(Schema):
    """A window of Kafka Streams."""

    start = Int(required=True, minimum=0, maximum=INT64)
    size = Int(required=True, minimum=1, maximum=INT64)


class PartitionsSchema(QuestionSchema):
    """Records of one topic. Fields below `random_seed` mean something to some partitioners only; the others refuse them."""

    asks = PartitionsQuestion

    kafka_version = KafkaVersion()
    partitioner = fields.String("a name of GET /v1/partitioners", load_default="java", example="java")
    partitions_count = Int("the topic's partitions; required, except for tokens", minimum=1, example=6)
    topic_name = Subject("topic")
    key_format = fields.String(
        "how a JSON value becomes a key, as Kafka's serializers do; default `string`. `bytes` is `base64`",
        validate=validate.OneOf(FORMATS),
    )
    keys = KeyList("null is a record without a key", example=["order-1", None])
    records = Columns(
        RecordSchema,
        {"key": None, "partition": pa.int32(), "bytes": pa.int64(), "enable_switch": pa.bool_()},
        "instead of `keys`",
        allow_none=True,
    )
    explicit_partition = Int("the partition that the caller names, of all records", allow_none=True)
    available_partitions = Integers(np.int32, "ids that have a leader, in the metadata's order; default: all")
    counter = Int(
        "the round robin's counter before the first record; default 0", minimum=-INT64 - 1, maximum=INT64, allow_none=True
    )
    random_seed = Int(
        "seed of the java.util.Random used in place of the client's; default 0. Neighbouring seeds have similar first draws",
        minimum=-INT64 - 1,
        maximum=INT64,
        allow_none=True,
    )
    random_values = Integers(np.int32, "KIP-794: the client's random numbers, instead of drawing them")
    chunk_size = Int("kafka-go: RoundRobin{ChunkSize}", allow_none=True, minimum=0)
    value_sizes = Integers(np.int64, "kafka-go: bytes of each record's value")
    clock_ms = Integers(np.int64, "Pulsar: the time of each record")
    partition_switch_ms = Int("Pulsar: milliseconds on one partition", minimum=1, allow_none=True)
    queue_sizes = Integers(np.int32, "KIP-794: batches queued for `partition_ids`")
    partition_ids = Integers(np.int32, "KIP-794: the partitions of `queue_sizes`")
    length = Int("KIP-794: how many of `queue_sizes` count", minimum=0, allow_none=True)
    sticky_batch_size = Int("KIP-794: bytes after which the partition changes", minimum=1, allow_none=True)
    window = fields.Nested(WindowSchema, "Kafka Streams: the keys' window, which moves nothing", allow_none=True)

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


class PartitionQuerySchema(PartitionsSchema, ExplainSchema, QuerySchema):
    """The same of one key, in a query."""

    class Meta:
        """Without the fields that a query cannot hold."""

        fields = (
            "key",
            "partitions_count",
            "partitioner",
            "key_format",
            "counter",
            "random_seed",
            "topic_name",
            "explain",
        )

    key = fields.String("absent: a record without a key", example="order-1")
    counter = Int("the round robin's counter; default 0", minimum=-INT64 - 1, maximum=INT64)
    random_seed = Int(
        "seed of java.util.Random; default 0. Neighbouring seeds have similar first draws", minimum=-INT64 - 1, maximum=INT64
    )

    def question(self, body: dict[str, Any], **_: Any) -> PartitionsQuestion:
        """The question."""
        value = _json_value(body.pop("key", None), body.get("key_format", "string"))
        return PartitionsQuestion(keys=[value], places=OF_KEY, **body)


def _json_value(key: str | None, key_format: str) -> Any:
    """A query's text as the JSON value of its format; other text as it is, for the format to refuse."""
    if key is None or key_format in TEXTUAL:
        return key
    if key_format in INTEGERS:
        return from_query(key)
    if key_format == "boolean":
        return BOOLEANS.get(key, key)
    if key in ("NaN", "Infinity", "-Infinity"):
        return key
    try:
        return float(key) if key.isascii() and "_" not in key else key
    except ValueError:
        return key


class StepSchema(AnswerSchema):
    """How one key came to its partition."""

    rule = fields.String("what decided")
    key_bytes_hex = fields.String("the bytes that are hashed; null: no key", allow_none=True)
    hash = fields.Integer("signed", optional=True)
    hash_hex = fields.String(optional=True)
    after_sign_rule = fields.Integer(optional=True)
    modulo = fields.Integer(optional=True)
    result = fields.Integer()


class PartitionsAnswerSchema(AnswerSchema):
    """Where the records go."""

    class Meta:
        """Answers have what their partitioner shows."""

        unknown = INCLUDE

    kafka_version = fields.String()
    partitioner = fields.String()
    partitions_count = fields.Integer(optional=True)
    partitions = fields.List(fields.Integer(), "of each record, in request order", optional=True)
    tokens = fields.List(fields.Integer(), "instead of `partitions`, from a partitioner of tokens", optional=True)
    hashes = fields.List(fields.Integer(), "from `spark`: `hash(key)`", optional=True)
    counter = fields.Integer("the round robin's counter after the last record", optional=True)
    random_values_used = fields.Integer("how many of `random_values` were used", optional=True)
    cumulative_frequency_table = fields.List(
        fields.Integer(), "from `java:adaptive`; null: Kafka drops it", allow_none=True, optional=True
    )
    distribution = fields.Nested(
        CountsSchema, f"records per partition; `counts` is left out above {MAX_COUNTS} partitions", optional=True
    )
    explanation = fields.List(fields.Nested(StepSchema), "with `explain=true`, one for each key", optional=True)


def document(answer: PartitionsAnswer) -> dict[str, Any]:
    """The answer, as PartitionsAnswerSchema has it."""
    question, partitioner, result = answer.question, answer.partitioner, answer.result
    body: dict[str, Any] = {"kafka_version": question.kafka_version, "partitioner": partitioner.name}
    if answer.evenness is None:
        body["tokens"] = result.partitions
    else:
        body |= {"partitions_count": question.partitions_count, "partitions": result.partitions}
    for name in ("hashes", "counter", "random_values_used"):
        value = getattr(result, name)
        if value is not None:
            body[name] = value
    if "queue_sizes" in partitioner.options:
        body["cumulative_frequency_table"] = result.cumulative_frequency_table
    if answer.evenness is not None:
        body["distribution"] = ({} if answer.counts is None else {"counts": answer.counts}) | vars(answer.evenness)
    if answer.explanation is not None:
        body["explanation"] = answer.explanation
    return body


def table(answer: PartitionsAnswer) -> pa.Table:
    """The partitions or tokens."""
    return pa.table({"token" if answer.partitioner.gives_tokens else "partition_id": answer.result.partitions})


FORM: Final = Form(PartitionsSchema(), answer, PartitionsAnswerSchema, document, table, read=read_body, csv_row="record")

EXAMPLE: Final = {"partitioner": "java", "partitions_count": 6, "keys": ["order-1", "order-2", None], "random_seed": 1}

OPERATION: Final = Operation(
    "allocatePartitions", "partition", "key → partition", EXAMPLE, query=ExplainSchema, columns=("keys",)
)
