"""Decode captured bytes.

Many records of one kind are the list `records`, or the body is a stream: JSON lines (`application/x-ndjson`), each like an
element of `records`, or an Arrow stream with the columns `key` and `value` (binary); the other fields are then query
parameters. The answer is JSON, or with `Accept` JSON lines, an Arrow stream or CSV; by default a stream is answered by a
stream. An unreadable record is replaced by its error. The kind `offsets_topic` puts groups together, and
its answer is always JSON.
"""

import base64
from binascii import a2b_base64
from typing import Any, Final

import pyarrow as pa
from marshmallow import Schema, ValidationError, post_load, validate, validates_schema

from service.api import decoded_records as records
from service.api.decoded_records import json_lines, table
from service.core.budget import current, reserve
from service.core.errors import MAX_ERRORS, InvalidQuestion
from service.core.kafka_versions import FORMATTERS, LATEST, WITHOUT_SHARE_GROUPS
from service.core.model import Keys
from service.decisions.decodings import (
    GROUP_RECORD,
    KINDS,
    OFFSETS_TOPIC,
    RECORDS,
    SHARE_GROUP_STATE_RECORD,
    DecodingAnswer,
    DecodingQuestion,
    RecordsToDecode,
    answer,
)
from service.decisions.groups.rows import TOPIC_ID
from service.decisions.keys import from_arrow
from service.http import fields
from service.http.fields import Name, TopicName, short
from service.http.forms import AnswerSchema, Form, Operation, topic_of_a_snapshot
from service.http.json.rows import enclosed
from service.http.lists import Array, Columns
from service.http.parsers import ArrowBody
from service.wire.connect_protocol import WorkerAssignment, WorkerMetadata, assignment_document, work_document
from service.wire.consumer_protocol import MemberAssignment, MemberSubscription, StickyUserData, TopicPartitions
from service.wire.coordinator_records import CoordinatorRecord, RecordTexts
from service.wire.members import group_request, member_document, owned_partitions
from service.wire.offsets_topic import OffsetsTopic

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
            current().check("max_keys", len(table), "keys", "records")
            return tuple(_bytes_column(table.column(name), name) for name in ("key", "value"))
        if isinstance(value, list):
            current().check("max_keys", len(value), "keys", "records")
            reserve(RECORD_BYTES * len(value))
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
    key_base64 = Base64("a record's key", attribute="key")
    value_base64 = Base64("a record's value; null is a tombstone", allow_none=True, attribute="value")
    bytes_base64 = Base64("the bytes, if they are not a record", example="AAEAAAABAAV0b3BpY/////8AAAAA", attribute="data")
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
        topics = body.pop("topics", ())
        if "records" in body:
            names = {topic["topic_id"].translate(str.maketrans("+/", "-_")): topic["topic_name"] for topic in topics}
            keys, values = body["records"]
            body["records"] = RecordsToDecode(keys, values, names)
        return DecodingQuestion(**body)


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


class UnreadableSchema(AnswerSchema):
    """Where reading stopped."""

    offset = fields.Integer("the offset of the first byte that could not be read")
    detail = fields.String()


class GroupStateSchema(AnswerSchema):
    """A group, put together from its records."""

    group_id = fields.String()
    group_protocol = fields.String(
        "`classic`, `consumer`, `share` or `streams`; null if there are only committed offsets", allow_none=True
    )
    protocol_type = fields.String("of a classic group", example="consumer", optional=True)
    generation_id = fields.Integer("of a classic group", optional=True)
    leader_id = fields.String("of a classic group", allow_none=True, optional=True)
    group_epoch = fields.Integer("of a group that its coordinator assigns", optional=True)
    assignment_epoch = fields.Integer(
        "the epoch of its target assignment; if it is below `group_epoch`, a new target is pending",
        allow_none=True,
        optional=True,
    )
    group = fields.Dict(
        "a request to `/v1/group-assignments` that lacks only `topics`. Each member owns its assignment (classic) or its "
        "target assignment (consumer, share). Of Kafka Connect's workers a request to `/v1/connect-assignments`, with the "
        "connectors and tasks that run. Null for other protocols, and if a member's bytes cannot be read",
        allow_none=True,
    )
    members = fields.List(
        fields.Dict(),
        "`member_id`, `client_id`, `client_host`; if its coordinator assigns also `member_epoch`, `previous_member_epoch`, "
        "`member_state`, `assigned_partitions`, and `partitions_pending_revocation` if there are any",
    )
    committed_offsets = fields.List(
        fields.Dict(), "`topic_name`, `partition_ids`, `offsets`; absent without committed offsets", optional=True
    )
    warnings = fields.List(fields.String(), "what `group` lacks, and faults in its members' bytes")


class DecodingSchema(AnswerSchema):
    """What the bytes say. `version` and `decoded` are of what consumers and workers send and get, the others of records."""

    kafka_version = fields.String()
    kind = fields.String()
    version = fields.Integer("the version in the bytes; a consumer's above 3 is read as 3", optional=True)
    decoded = fields.Dict("the fields, as Kafka reads them; user data in base64", optional=True)
    member = fields.Dict("a subscription as one of the `members` of `/v1/group-assignments`", optional=True)
    worker = fields.Dict("of `connect_metadata`: one of the `workers` of `/v1/connect-assignments`", optional=True)
    unreadable = fields.Nested(
        UnreadableSchema, "why an assignor cannot read this user data and continues without it; absent if it can", optional=True
    )
    record_type = fields.Integer(optional=True)
    record_name = fields.String(example="OFFSET_COMMIT", optional=True)
    key = fields.Dict("as Kafka's own JSON converters print it", optional=True)
    value_version = fields.Integer(allow_none=True, optional=True)
    value = fields.Dict("as Kafka's own JSON converters print it; null: a tombstone", allow_none=True, optional=True)
    offsets_formatter = fields.Raw(
        "what Kafka's OffsetsMessageFormatter prints: a line, empty for other records; where it fails, `error`, `exception` "
        "and `message`",
        optional=True,
    )
    group_metadata_formatter = fields.Raw("what GroupMetadataMessageFormatter prints", optional=True)
    scala_offsets_formatter = fields.Raw(
        "for 3.9.1, 3.4.1 and 2.8.2: what `kafka.coordinator.group.GroupMetadataManager$OffsetsMessageFormatter` prints, "
        "which is deprecated in 3.9 and the only one in 3.4 and 2.8",
        optional=True,
    )
    scala_group_metadata_formatter = fields.Raw("what `GroupMetadataMessageFormatter` of the same class prints", optional=True)
    share_group_formatter = fields.Raw("what ShareGroupMessageFormatter prints; absent for releases without it", optional=True)
    share_group_state_formatter = fields.Raw(
        "of a record of `__share_group_state`: what ShareGroupStateMessageFormatter prints", optional=True
    )
    group = fields.Dict(
        "GROUP_METADATA of consumers as a request to `/v1/group-assignments` that lacks only `topics`: each member owns its "
        "assignment; that of Kafka Connect's workers as one to `/v1/connect-assignments`, with the connectors and tasks that "
        "run; null for any other record (see `offsets_topic`), and if a member's own bytes cannot be read",
        allow_none=True,
        optional=True,
    )
    warnings = fields.List(
        fields.String(), "faults in the bytes of a group's members; absent if there are no faults", optional=True
    )
    owned_partitions = fields.List(
        fields.Dict(),
        "an assignment in the form of a member's `owned_partitions` in `/v1/group-assignments`",
        optional=True,
    )
    records = fields.List(
        fields.Dict(),
        "for each of the request's `records`: `record_type`, `record_name`, `key`, `value_version` and `value` as above, "
        "tagged fields last; of an unreadable one `error`, `exception`, `message`, `detail`, and the `offset` in its `part`",
        optional=True,
    )
    records_count = fields.Integer("of `offsets_topic`", optional=True)
    tombstones_count = fields.Integer("of `offsets_topic`: records without a value", optional=True)
    unreadable_count = fields.Integer("of `offsets_topic`: the last records of their keys that cannot be read", optional=True)
    unreadable_records = fields.List(
        fields.Dict(), "of `offsets_topic`: the first of them, each with its `row` and as in `records`", optional=True
    )
    groups = fields.List(
        fields.Nested(GroupStateSchema), "of `offsets_topic`: the groups that the records describe, by id", optional=True
    )


def document(answer: DecodingAnswer) -> dict[str, Any]:  # noqa: PLR0911 - one for each kind
    """The answer, as DecodingSchema has it."""
    question, decoded = answer.question, answer.decoded
    body = {"kafka_version": question.kafka_version, "kind": question.kind}
    match decoded:
        case OffsetsTopic():
            return body | _offsets_topic(decoded, answer.figures.items["records"])
        case RecordTexts():
            return body | {"records": enclosed(b"[", records.lines(decoded, b","), b"]")}
        case CoordinatorRecord():
            return body | _record(answer, decoded)
        case MemberSubscription():
            return body | _subscription(answer, decoded)
        case MemberAssignment():
            return body | _assignment(decoded)
        case WorkerMetadata() | WorkerAssignment():
            return body | _worker(question, decoded)
        case _:
            return body | _user_data(question, decoded)


def _offsets_topic(topic: OffsetsTopic, records_count: int) -> dict[str, Any]:
    return {
        "records_count": records_count,
        "tombstones_count": topic.tombstones,
        "unreadable_count": len(topic.unreadable),
        "unreadable_records": [{"row": row, **records.unreadable(error)} for row, error in topic.unreadable[:MAX_ERRORS]],
        "groups": topic.groups,
    }


def _record(answer: DecodingAnswer, record: CoordinatorRecord) -> dict[str, Any]:
    question = answer.question
    body = {**records.fields_of(record), **question.lines(record)}
    if question.kind == GROUP_RECORD:
        request = group_request(record)
        body |= {"group": request.document, **({"warnings": request.warnings} if request.warnings else {})}
    return body


def _subscription(answer: DecodingAnswer, subscription: MemberSubscription) -> dict[str, Any]:
    question = answer.question
    decoded = {
        "topics": subscription.topic_names,
        "owned_partitions": _topic_partitions(subscription.owned),
        "generation_id": subscription.generation_id,
        "rack_id": subscription.rack_id,
        "user_data": _base64(subscription.user_data),
    }
    member = member_document(subscription, question.member_id, question.instance_id, question.assignor)
    return {"version": subscription.version, "decoded": decoded, "member": member}


def _assignment(assignment: MemberAssignment) -> dict[str, Any]:
    decoded = {"partitions": _topic_partitions(assignment.partitions), "user_data": _base64(assignment.user_data)}
    return {"version": assignment.version, "decoded": decoded, "owned_partitions": owned_partitions(assignment.partitions)}


def _worker(question: DecodingQuestion, said: WorkerMetadata | WorkerAssignment) -> dict[str, Any]:
    if isinstance(said, WorkerAssignment):
        return {"version": said.version, "decoded": assignment_document(said)}
    held = said.allocation
    allocation = None if held is None else {"version": held.version, **assignment_document(held)}
    decoded = {"url": said.url, "config_offset": said.config_offset, "allocation": allocation}
    worker = {"member_id": question.member_id, **work_document({} if held is None else held.assigned)}
    return {"version": said.version, "decoded": decoded, "worker": worker}


def _user_data(question: DecodingQuestion, user_data: StickyUserData) -> dict[str, Any]:
    decoded: dict[str, Any] = {"generation": user_data.generation}
    if question.kind == "sticky_user_data":
        decoded = {"previous_assignment": _topic_partitions(user_data.previous_assignment), **decoded}
    body = {"version": user_data.version, "decoded": decoded}
    if user_data.unreadable is not None:
        body["unreadable"] = {"offset": user_data.unreadable.offset, "detail": user_data.unreadable.reason}
    return body


def _topic_partitions(partitions: TopicPartitions) -> list[dict[str, Any]]:
    """One object for each partition, as ``decoded`` has them."""
    return [{"topic": topic, "partition_id": partition_id} for topic, ids in partitions for partition_id in ids]


def _base64(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


FORM: Final = Form(CaptureSchema(), answer, DecodingSchema, document, table, lines=json_lines)

EXAMPLE: Final = {
    "kind": "subscription",
    "bytes_base64": "AAMAAAABAAVhLjNyOf////8AAAABAAVhLjNyOQAAAAMAAAAAAAAAAgAAApcAAAClAAx6b25lLTIvcm93LTE=",
}

OPERATION: Final = Operation("decode", "decoding", "captured bytes → JSON", EXAMPLE, columns=("records",))
