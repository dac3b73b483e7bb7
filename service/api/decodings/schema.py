"""The JSON body of a question about captured bytes."""

import base64
from binascii import a2b_base64
from typing import Any, Final

import pyarrow as pa
from marshmallow import Schema, ValidationError, post_load, validate, validates_schema

from service.core.errors import InvalidQuestion
from service.core.kafka_versions import FORMATTERS, LATEST, WITHOUT_SHARE_GROUPS
from service.core.model import Keys
from service.decisions.decodings import KINDS, OFFSETS_TOPIC, RECORDS, SHARE_GROUP_STATE_RECORD, DecodingQuestion, RecordsToDecode
from service.decisions.groups.rows import TOPIC_ID
from service.decisions.keys.columns import from_arrow
from service.web import described as fields
from service.web.arrow.parser import ArrowBody
from service.web.columns_field import Columns
from service.web.fields import Array, Name, TopicName, budget, short
from service.web.schemas import topic_of_a_snapshot

RECORD_BYTES: Final = 400
"""Memory for each record of a list beside its bytes: as Python strings, as bytes and as columns."""

NOT_BASE64: Final = "Not base64 (the standard alphabet, with padding)."


class Base64(fields.String):
    """Bytes, in standard base64 with padding."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        text = super()._deserialize(value, attr, data, **kwargs)
        try:
            return base64.b64decode(text, validate=True)
        except ValueError:
            raise ValidationError(NOT_BASE64) from None


def _ascii(text: str) -> None:
    """Validate that a text can be base64 at all; what it is in fact, ``_decoded`` finds out in bulk."""
    if not text.isascii():
        raise ValidationError(NOT_BASE64)


class CapturedRecordSchema(Schema):
    """A record of a coordinator's topic."""

    key_base64 = fields.String("its key", required=True, validate=_ascii, example="AAIABm9yZGVycw==")
    value_base64 = fields.String("its value; null or absent: a tombstone", allow_none=True, validate=_ascii, example=None)


class RecordColumns(Columns):
    """Records as two columns of bytes, also from an Arrow stream with the columns `key` and `value`."""

    def __init__(self, text: str, **kwargs: Any) -> None:
        super().__init__(CapturedRecordSchema, {"key_base64": pa.string(), "value_base64": pa.string()}, text, **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        if isinstance(value, ArrowBody):
            table = value.table("key", "value")
            budget().check("max_keys", len(table), "keys", "records")
            return tuple(_bytes_column(table.column(name), name) for name in ("key", "value"))
        if isinstance(value, list):
            budget().check("max_keys", len(value), "keys", "records")
            budget().reserve(RECORD_BYTES * len(value))
        columns = super()._deserialize(value, attr, data, **kwargs)
        return tuple(_decoded(columns[name], name) for name in ("key_base64", "value_base64"))


def _bytes_column(column: pa.ChunkedArray, name: str) -> Keys:
    if not (pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type) or pa.types.is_null(column.type)):
        raise ValidationError({name: [f"A column of {column.type} cannot hold bytes; use binary."]})
    return from_arrow(column, "base64")[0]  # type: ignore[return-value]  # bytes are Keys


def _decoded(column: pa.StringArray, name: str) -> Keys:
    """The bytes of a column of base64; null stays null."""
    texts = column.to_pylist()
    try:
        values = [None if text is None else a2b_base64(text, strict_mode=True) for text in texts]
    except ValueError:
        row = next(row for row, text in enumerate(texts) if text is not None and not _is_base64(text))
        raise InvalidQuestion(NOT_BASE64, "records", row, name) from None
    return _bytes_column(pa.chunked_array([pa.array(values, pa.binary())]), name)


def _is_base64(text: str) -> bool:
    try:
        a2b_base64(text, strict_mode=True)
    except ValueError:
        return False
    return True


@topic_of_a_snapshot("topic_id")
class TopicIdSchema(Schema):
    """A topic's id and its name."""

    topic_name = TopicName("", required=True, example="orders")
    topic_id = Name("", required=True, rule=validate.Regexp(TOPIC_ID), example="uxT2hl6X6HiUYlFlNWKCZQ")


class CaptureSchema(Schema):
    """Bytes, and what they are."""

    kind = fields.String(
        "what the bytes are: a record of `__consumer_offsets` or `__share_group_state`, a message of the consumer protocol, "
        "or what a worker of Kafka Connect sends (`connect_metadata`) and gets (`connect_assignment`)",
        required=True,
        validate=validate.OneOf(KINDS, error="Unknown kind {input}; it must be one of {choices}."),
    )
    key_base64 = Base64("a record's key")
    value_base64 = Base64("a record's value; null is a tombstone", allow_none=True)
    bytes_base64 = Base64("the bytes, if they are not a record", example="AAEAAAABAAV0b3BpY/////8AAAAA")
    records = RecordColumns(
        "several records instead of one, at most `ALLOCATOR_MAX_KEYS`; required for `offsets_topic`, where the records of a "
        "partition must be in its order"
    )
    topics = Array(fields.Nested(TopicIdSchema), "for `offsets_topic`: names of topic ids that no record names", example=[])
    kafka_version = fields.String(
        "the release whose formatters print the lines",
        load_default=LATEST,
        validate=validate.OneOf(FORMATTERS, error="Unknown Kafka version {input}; it must be one of {choices}."),
    )
    assignor = fields.String(
        "for a subscription: the assignor that decides which claims of `member` count: `sticky` reads the user data, "
        "`cooperative-sticky` reads the generation there if the subscription has none, others do not read it",
        load_default="range",
    )
    member_id = fields.String("for a subscription or a worker: the id of its member", load_default="member", validate=short)
    instance_id = fields.String("for a subscription: the id of its member", load_default=None, validate=short)

    @validates_schema(pass_original=True, skip_on_field_errors=False)
    def has_its_bytes(self, body: dict[str, Any], sent: Any, **_: Any) -> None:
        """Report bytes that the kind needs and that are absent, and others, also beside other faults."""
        if isinstance(sent, dict) and "kind" in body:
            _check_bytes(body["kind"], set(sent) & set(self.fields))
            if body["kind"] == SHARE_GROUP_STATE_RECORD and body.get("kafka_version") in WITHOUT_SHARE_GROUPS:
                raise ValidationError({"kafka_version": [f"Kafka {body['kafka_version']} has no share groups."]})

    @post_load
    def question(self, body: dict[str, Any], **_: Any) -> DecodingQuestion:
        """The question."""
        names = {topic["topic_id"].translate(str.maketrans("+/", "-_")): topic["topic_name"] for topic in body.get("topics", ())}
        keys, values = body.get("records", (None, None))
        return DecodingQuestion(
            body["kind"],
            body["kafka_version"],
            body.get("bytes_base64", b""),
            body.get("key_base64", b""),
            body.get("value_base64"),
            None if keys is None else RecordsToDecode(keys, values, names),
            body["assignor"],
            body["member_id"],
            body["instance_id"],
        )


def _check_bytes(kind: str, sent: set[str]) -> None:
    """Raise ValidationError unless the bytes that this kind needs were sent, and no others."""
    if kind == OFFSETS_TOPIC or (kind in RECORDS and "records" in sent):
        needed: tuple[str, ...] = ("records",)
    else:
        needed = ("key_base64", "value_base64") if kind in RECORDS else ("bytes_base64",)
    faults = {"topics": [f"Not for {kind}."]} if "topics" in sent and kind != OFFSETS_TOPIC else {}
    for name in ("key_base64", "value_base64", "records", "bytes_base64"):
        if name in sent and name not in needed:
            faults[name] = [f"Not for {kind}, which needs {' and '.join(needed)}."]
        elif name in needed and name not in sent:
            faults[name] = [f"Missing data for {kind}."]
    if faults:
        raise ValidationError(faults)
