"""The request of ``POST /v1/decodings``."""

import base64
from dataclasses import dataclass
from typing import Any, Final

from marshmallow import Schema, ValidationError, fields, post_load, validate

from service.core.kafka_versions import FORMATTERS, LATEST
from service.web.fields import about, short

GROUP_RECORD, SHARE_GROUP_STATE_RECORD = RECORDS = ("group_record", "share_group_state_record")
KINDS: Final = (*RECORDS, "subscription", "assignment", "sticky_user_data", "cooperative_sticky_user_data")


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
        validate=validate.OneOf(KINDS, error="Unknown kind {input}; known are {choices}."),
        metadata=about(
            "what the bytes are: a record of `__consumer_offsets` or of `__share_group_state`, or what a consumer sends and gets"
        ),
    )
    key_base64 = Base64(metadata=about("a record's key"))
    value_base64 = Base64(allow_none=True, metadata=about("a record's value; null is a tombstone"))
    bytes_base64 = Base64(metadata=about("the bytes, if they are not a record", example="AAEAAAABAAV0b3BpY/////8AAAAA"))
    kafka_version = fields.String(
        load_default=LATEST,
        validate=validate.OneOf(FORMATTERS, error="Unknown Kafka version {input}; known are {choices}."),
        metadata=about("the release whose formatters print the lines"),
    )
    assignor = fields.String(
        load_default="range",
        metadata=about(
            "for a subscription: the assignor in whose eyes `member` owns what it owns: `sticky` looks into the "
            "user data, `cooperative-sticky` for the generation if it is not in the subscription, any other does not"
        ),
    )
    member_id = fields.String(load_default="member", validate=short, metadata=about("for a subscription: whose it is"))
    instance_id = fields.String(
        load_default=None, allow_none=True, validate=short, metadata=about("for a subscription: whose it is")
    )

    @post_load
    def capture(self, body: dict[str, Any], **_: Any) -> Capture:
        """The question: exactly the bytes that its kind needs."""
        needed = ("key_base64", "value_base64") if body["kind"] in RECORDS else ("bytes_base64",)
        for name in ("key_base64", "value_base64", "bytes_base64"):
            if name in body and name not in needed:
                raise ValidationError({name: [f"Not for {body['kind']}, which needs {' and '.join(needed)}."]})
            if name in needed and name not in body:
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
