"""``POST /v1/decodings``: captured bytes of Kafka's → JSON."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from marshmallow import Schema, ValidationError, fields, post_load, validate

from service.core.kafka_versions import FORMATTERS, LATEST
from service.core.wire import printed
from service.core.wire.consumer_protocol import (
    read_assignment,
    read_cooperative_sticky_user_data,
    read_sticky_user_data,
    read_subscription,
)
from service.core.wire.coordinator_records import read_group_record, read_share_group_state_record
from service.core.wire.errors import Unreadable
from service.core.wire.members import group_document, member_document
from service.web import responses
from service.web.blueprint import Blueprint

if TYPE_CHECKING:
    from collections.abc import Callable

    from flask import Response

    from service.core.wire.consumer_protocol import StickyUserData, TopicPartitions
    from service.core.wire.coordinator_records import CoordinatorRecord

blueprint = Blueprint("decodings", __name__, description="captured bytes → JSON")

GROUP_RECORD, SHARE_GROUP_STATE_RECORD = RECORDS = ("group_record", "share_group_state_record")
KINDS: Final = (*RECORDS, "subscription", "assignment", "sticky_user_data", "cooperative_sticky_user_data")


@dataclass(frozen=True)
class Capture:
    """The question: what do these bytes say?

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


class Base64(fields.String):
    """Bytes, in standard base64 with padding."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        text = super()._deserialize(value, attr, data, **kwargs)
        try:
            return base64.b64decode(text, validate=True)
        except ValueError:
            raise ValidationError("Not base64 (the standard alphabet, with padding).") from None


class CaptureSchema(Schema):
    """Bytes, and what they are."""

    kind = fields.String(
        required=True,
        validate=validate.OneOf(
            KINDS,
            error="There is no kind {input}; known are {choices}.",
        ),
        metadata={
            "description": "what the bytes are: a record of `__consumer_offsets` or of `__share_group_state`, or what a consumer "
            "sends and gets"
        },
    )
    key_base64 = Base64(metadata={"description": "a record's key"})
    value_base64 = Base64(allow_none=True, metadata={"description": "a record's value; null is a tombstone"})
    bytes_base64 = Base64(metadata={"description": "the bytes, if they are no record", "example": "AAEAAAABAAV0b3BpY/////8AAAAA"})
    kafka_version = fields.String(
        load_default=LATEST,
        validate=validate.OneOf(FORMATTERS, error="Unknown Kafka version {input}; known are {choices}."),
        metadata={"description": "the release whose formatters' lines are wanted"},
    )
    assignor = fields.String(
        load_default="range",
        metadata={
            "description": "for a subscription: the assignor in whose eyes `member` owns what it owns: `sticky` looks into the "
            "user data, `cooperative-sticky` for the generation if it is not in the subscription, any other does not"
        },
    )
    member_id = fields.String(load_default="member", metadata={"description": "for a subscription: whose it is"})
    instance_id = fields.String(load_default=None, allow_none=True, metadata={"description": "for a subscription: whose it is"})

    @post_load
    def ask(self, body: dict[str, Any], **_: Any) -> Capture:
        """The question, if the bytes are there that its kind needs, and no others."""
        wanted = ("key_base64", "value_base64") if body["kind"] in RECORDS else ("bytes_base64",)
        for name in ("key_base64", "value_base64", "bytes_base64"):
            if name in body and name not in wanted:
                raise ValidationError({name: [f"Means nothing to {body['kind']}, which wants {' and '.join(wanted)}."]})
            if name in wanted and name not in body:
                raise ValidationError({name: [f"Missing data for {body['kind']}."]})
        if body["kind"] == SHARE_GROUP_STATE_RECORD and body["kafka_version"] != LATEST:
            raise ValidationError({"kafka_version": [f"Kafka {body['kafka_version']} has no share groups."]})
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


class UnreadableSchema(Schema):
    """Where reading stopped."""

    offset = fields.Integer(metadata={"description": "the first byte of what could not be read"})
    detail = fields.String()


class DecodingSchema(Schema):
    """What the bytes say. `version` and `decoded` are of what consumers send and get, the others of records."""

    kafka_version = fields.String()
    kind = fields.String()
    version = fields.Integer(metadata={"description": "the version in the bytes; any above 3 is read as 3"})
    decoded = fields.Dict(metadata={"description": "the fields, as Kafka reads them; user data in base64"})
    member = fields.Dict(metadata={"description": "a subscription as one of the `members` of `/v1/group-assignments`"})
    unreadable = fields.Nested(
        UnreadableSchema,
        metadata={"description": "why an assignor cannot read this user data, and goes on without it; absent if it can"},
    )
    record_type = fields.Integer()
    record_name = fields.String(metadata={"example": "OFFSET_COMMIT"})
    key = fields.Dict(metadata={"description": "as Kafka's own JSON converters give it"})
    value_version = fields.Integer(allow_none=True)
    value = fields.Dict(allow_none=True, metadata={"description": "as Kafka's own JSON converters give it; null: a tombstone"})
    offsets_formatter = fields.Raw(
        metadata={
            "description": "what Kafka's OffsetsMessageFormatter prints: a line, empty for other records; where it fails, "
            "`error`, `exception` and `message`"
        }
    )
    group_metadata_formatter = fields.Raw(metadata={"description": "the same of GroupMetadataMessageFormatter"})
    share_group_formatter = fields.Raw(
        metadata={"description": "the same of ShareGroupMessageFormatter; absent for a release that has none"}
    )
    share_group_state_formatter = fields.Raw(
        metadata={"description": "of a record of `__share_group_state`: what ShareGroupStateMessageFormatter prints"}
    )
    group = fields.Dict(
        allow_none=True,
        metadata={
            "description": "GROUP_METADATA of consumers as a request to `/v1/group-assignments`, to which only `topics` is to be "
            "added: each member owns what it was given; null for any other record, and if a member's own bytes cannot be read"
        },
    )


@blueprint.post("/v1/decodings")
@blueprint.arguments(CaptureSchema)
@blueprint.response(200, DecodingSchema)
@blueprint.doc(operationId="decode")
def decode(capture: Capture) -> Response:
    """Say what captured bytes say."""
    return responses.answer({"kafka_version": capture.kafka_version, "kind": capture.kind, **READ[capture.kind](capture)})


def group_record(capture: Capture) -> dict[str, Any]:
    """A record of ``__consumer_offsets``, also as a group."""
    record, answer = read_record(capture, read_group_record, printed.OF_GROUP_RECORDS)
    try:
        group = group_document(record)
    except Unreadable:
        group = None
    return {**answer, "group": group}


def share_group_state_record(capture: Capture) -> dict[str, Any]:
    """A record of ``__share_group_state``."""
    return read_record(capture, read_share_group_state_record, printed.OF_SHARE_GROUP_STATE)[1]


def read_record(
    capture: Capture, read: Callable[[bytes, bytes | None], CoordinatorRecord], formatters: printed.Formatters
) -> tuple[CoordinatorRecord, dict[str, Any]]:
    """A record, and the answer's members that say what it is and how Kafka prints it."""
    try:
        record = read(capture.key, capture.value)
    except Unreadable as error:
        error.printed = printed.instead_of(error, formatters)
        raise
    return record, {
        "record_type": record.type,
        "record_name": record.name,
        "key": record.key,
        "value_version": record.version,
        "value": record.value,
        **printed.lines(record, formatters, capture.kafka_version),
    }


def subscription(capture: Capture) -> dict[str, Any]:
    """A subscription, also as a member."""
    found = read_subscription(capture.data)
    decoded = {
        "topics": found.topic_names,
        "owned_partitions": topic_partitions(found.owned),
        "generation_id": found.generation_id,
        "rack_id": found.rack_id,
        "user_data": text(found.user_data),
    }
    member = member_document(found, capture.member_id, capture.instance_id, capture.assignor)
    return {"version": found.version, "decoded": decoded, "member": member}


def assignment(capture: Capture) -> dict[str, Any]:
    """An assignment."""
    found = read_assignment(capture.data)
    decoded = {"partitions": topic_partitions(found.partitions), "user_data": text(found.user_data)}
    return {"version": found.version, "decoded": decoded}


def sticky_user_data(capture: Capture) -> dict[str, Any]:
    """User data of the sticky assignor."""
    found = read_sticky_user_data(capture.data)
    decoded = {"previous_assignment": topic_partitions(found.previous_assignment), "generation": found.generation}
    return {"version": found.version, "decoded": decoded, **unreadable(found)}


def cooperative_sticky_user_data(capture: Capture) -> dict[str, Any]:
    """User data of the cooperative sticky assignor."""
    found = read_cooperative_sticky_user_data(capture.data)
    return {"version": found.version, "decoded": {"generation": found.generation}, **unreadable(found)}


READ: Final[dict[str, Callable[[Capture], dict[str, Any]]]] = dict(
    zip(
        KINDS,
        (group_record, share_group_state_record, subscription, assignment, sticky_user_data, cooperative_sticky_user_data),
        strict=True,
    )
)


def unreadable(found: StickyUserData) -> dict[str, Any]:
    """The answer's member for user data that an assignor passes over."""
    error = found.unreadable
    return {} if error is None else {"unreadable": {"offset": error.offset, "detail": error.reason}}


def topic_partitions(found: TopicPartitions) -> list[dict[str, Any]]:
    """One object for each partition, as ``decoded`` has them."""
    return [{"topic": topic, "partition_id": partition_id} for topic, ids in found for partition_id in ids]


def text(data: bytes | None) -> str | None:
    """Bytes as base64."""
    return None if data is None else base64.b64encode(data).decode()
