"""The request of ``POST /v1/decodings``."""

import base64
from binascii import a2b_base64
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from marshmallow import Schema, ValidationError, fields, validate

from service.core.errors import InvalidQuestion
from service.core.kafka_versions import FORMATTERS, LATEST
from service.core.model import Keys
from service.decisions.groups.rows import TOPIC_ID
from service.decisions.keys import from_arrow
from service.web.arrow.parser import ArrowBody
from service.web.blueprint import QuestionSchema
from service.web.columns_field import Columns
from service.web.context import check_limit, reserve
from service.web.fields import List, Name, TopicName, about, short

GROUP_RECORD, SHARE_GROUP_STATE_RECORD = RECORDS = ("group_record", "share_group_state_record")
OFFSETS_TOPIC: Final = "offsets_topic"
KINDS: Final = (*RECORDS, "subscription", "assignment", "sticky_user_data", "cooperative_sticky_user_data", OFFSETS_TOPIC)

RECORD_BYTES: Final = 400
"""Memory for each record of a list beside its bytes: as Python strings, as bytes and as columns."""

NOT_BASE64: Final = "Not base64 (the standard alphabet, with padding)."


@dataclass(frozen=True)
class Capture:
    """Captured bytes, and what they are.

    data : of every kind but a record
    key, value : of a record
    """

    kind: str
    kafka_version: str
    data: bytes
    key: bytes
    value: bytes | None
    assignor: str
    member_id: str
    instance_id: str | None


@dataclass(frozen=True)
class Captures:
    """Captured records of one kind.

    keys, values : of one length; a null value is a tombstone
    topic_names : by topic id
    """

    kind: str
    kafka_version: str
    keys: Keys
    values: Keys
    topic_names: dict[str, str]


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

    key_base64 = fields.String(required=True, validate=_ascii, metadata=about("its key", example="AAIABm9yZGVycw=="))
    value_base64 = fields.String(
        allow_none=True, validate=_ascii, metadata=about("its value; null or absent: a tombstone", example=None)
    )


class Records(Columns):
    """Records as two columns of bytes, also from an Arrow stream with the columns `key` and `value`."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(CapturedRecordSchema, {"key_base64": pa.string(), "value_base64": pa.string()}, **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        if isinstance(value, ArrowBody):
            table = value.table("key", "value")
            check_limit("max_keys", len(table), "keys", "records")
            return tuple(_bytes_column(table.column(name), name) for name in ("key", "value"))
        if isinstance(value, list):
            check_limit("max_keys", len(value), "keys", "records")
            reserve(RECORD_BYTES * len(value))
        columns = super()._deserialize(value, attr, data, **kwargs)
        return tuple(_decoded(columns[name], name) for name in ("key_base64", "value_base64"))


def _bytes_column(column: pa.ChunkedArray, name: str) -> Keys:
    if not (pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type) or pa.types.is_null(column.type)):
        raise ValidationError({name: [f"A column of {column.type} does not hold bytes; binary does."]})
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


class TopicIdSchema(Schema):
    """A topic's id and its name."""

    topic_name = TopicName(required=True, metadata=about("", example="orders"))
    topic_id = Name(required=True, rule=validate.Regexp(TOPIC_ID), metadata=about("", example="uxT2hl6X6HiUYlFlNWKCZQ"))


class CaptureSchema(QuestionSchema):
    """Bytes, and what they are."""

    kind = fields.String(
        required=True,
        validate=validate.OneOf(KINDS, error="Unknown kind {input}; known are {choices}."),
        metadata=about(
            "what the bytes are: a record of `__consumer_offsets` or `__share_group_state`, or a message of the consumer protocol"
        ),
    )
    key_base64 = Base64(metadata=about("a record's key"))
    value_base64 = Base64(allow_none=True, metadata=about("a record's value; null is a tombstone"))
    bytes_base64 = Base64(metadata=about("the bytes, if they are not a record", example="AAEAAAABAAV0b3BpY/////8AAAAA"))
    records = Records(
        metadata=about(
            "several records instead of one, at most `ALLOCATOR_MAX_KEYS`; required for `offsets_topic`, where the records of a "
            "partition must be in its order"
        )
    )
    topics = List(
        fields.Nested(TopicIdSchema),
        metadata=about("for `offsets_topic`: names of topic ids that no record names", example=[]),
    )
    kafka_version = fields.String(
        load_default=LATEST,
        validate=validate.OneOf(FORMATTERS, error="Unknown Kafka version {input}; known are {choices}."),
        metadata=about("the release whose formatters print the lines"),
    )
    assignor = fields.String(
        load_default="range",
        metadata=about(
            "for a subscription: the assignor that decides which claims of `member` count: `sticky` reads the user data, "
            "`cooperative-sticky` reads the generation there if the subscription has none, others do not "
            "read it"
        ),
    )
    member_id = fields.String(load_default="member", validate=short, metadata=about("for a subscription: the id of its member"))
    instance_id = fields.String(
        load_default=None, allow_none=True, validate=short, metadata=about("for a subscription: the id of its member")
    )

    def question(self, body: dict[str, Any], **_: Any) -> Capture | Captures:
        """The question: exactly the bytes that its kind needs."""
        _check_bytes(body)
        if body["kind"] == SHARE_GROUP_STATE_RECORD and body["kafka_version"] == FORMATTERS[-1]:
            raise ValidationError({"kafka_version": [f"Kafka {body['kafka_version']} has no share groups."]})
        if "records" in body:
            keys, values = body["records"]
            names = {
                topic["topic_id"].translate(str.maketrans("+/", "-_")): topic["topic_name"] for topic in body.get("topics", ())
            }
            return Captures(body["kind"], body["kafka_version"], keys, values, names)
        return Capture(
            body["kind"],
            body["kafka_version"],
            body.get("bytes_base64", b""),
            body.get("key_base64", b""),
            body.get("value_base64"),
            body["assignor"],
            body["member_id"],
            body["instance_id"],
        )


def _check_bytes(body: dict[str, Any]) -> None:
    """Raise ValidationError unless the body has the bytes that its kind needs, and no others."""
    kind = body["kind"]
    if kind == OFFSETS_TOPIC or (kind in RECORDS and "records" in body):
        needed: tuple[str, ...] = ("records",)
    else:
        needed = ("key_base64", "value_base64") if kind in RECORDS else ("bytes_base64",)
    faults = {"topics": [f"Not for {kind}."]} if "topics" in body and kind != OFFSETS_TOPIC else {}
    for name in ("key_base64", "value_base64", "records", "bytes_base64"):
        if name in body and name not in needed:
            faults[name] = [f"Not for {kind}, which needs {' and '.join(needed)}."]
        elif name in needed and name not in body:
            faults[name] = [f"Missing data for {kind}."]
    if faults:
        raise ValidationError(faults)
