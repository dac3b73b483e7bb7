"""``/v1/partitions``: key → partition.

A question is a JSON body, an Arrow stream with the rest in the query, or one key in the query.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np
import pyarrow as pa
from flask import request
from marshmallow import INCLUDE, Schema, fields

from service.api.partitions.request import PartitionsSchema, read
from service.config import environment_name
from service.core.errors import InvalidQuestion, LimitExceeded
from service.core.keys.columns import BYTES, FORMATS, INTEGERS
from service.core.measures import Spread, occurrences, spread
from service.core.partitioners import Answer, allocate
from service.core.partitioners.explanation import explain
from service.web import responses
from service.web.arrow_parser import StreamParser, integer_or
from service.web.blueprint import Blueprint
from service.web.context import decision, settings
from service.web.fields import INT32, INT64, about
from service.web.schemas import CountsSchema, ExplainSchema

if TYPE_CHECKING:
    from flask import Response

    from service.api.partitions.request import Allocation
    from service.core.model import Int32s, Int64s

MAX_COUNTS: Final = 100_000
"""Most partitions whose counts an answer lists one by one."""


class PartitionsBlueprint(Blueprint):
    """The resource, which also takes an Arrow stream."""

    ARGUMENTS_PARSER = StreamParser("keys", "key")


blueprint = PartitionsBlueprint("partitions", __name__, description="key → partition")


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
_INTEGERS: Final = {"partitions_count": (1, INT32), "counter": (-INT64 - 1, INT64), "random_seed": (-INT64 - 1, INT64)}
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
        if media_type == responses.ARROW_STREAM:
            return responses.table(pa.table({name: result.partitions}), media_type)
        if media_type == responses.CSV:
            return responses.table(pa.table({"record": np.arange(len(result.partitions)), name: result.partitions}), media_type)
        document = _document(allocation, result, counts, evenness)
        if explained:
            document["explanation"] = explain(partitioner, question, result)
        return responses.answer(document)


def _wanted() -> str:
    """The media type of the answer; an Arrow stream is answered by one unless another is asked for."""
    if not request.environ.get("CONTENT_TYPE") or request.mimetype != responses.ARROW_STREAM:
        return responses.wanted()
    return responses.wanted(responses.ARROW_STREAM, responses.JSON, responses.CSV)


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
