"""The answer of ``POST /v1/decodings``: its schema, and its JSON for each kind of bytes."""

import base64
from collections.abc import Callable
from typing import Any, Final

from marshmallow import Schema, fields

from service.api.decodings.request import KINDS, Capture
from service.core.wire import printed
from service.core.wire.consumer_protocol import (
    StickyUserData,
    TopicPartitions,
    read_assignment,
    read_cooperative_sticky_user_data,
    read_sticky_user_data,
    read_subscription,
)
from service.core.wire.coordinator_records import CoordinatorRecord, read_group_record, read_share_group_state_record
from service.core.wire.errors import Unreadable
from service.core.wire.members import group_request, member_document, owned_partitions
from service.web.fields import about


class UnreadableSchema(Schema):
    """Where reading stopped."""

    offset = fields.Integer(metadata=about("the offset of the first byte that could not be read"))
    detail = fields.String()


class GroupStateSchema(Schema):
    """A group, put together from its records."""

    group_id = fields.String()
    group_protocol = fields.String(
        allow_none=True, metadata=about("`classic`, `consumer`, `share` or `streams`; null if there are only committed offsets")
    )
    protocol_type = fields.String(metadata=about("of a classic group", example="consumer"))
    generation_id = fields.Integer(metadata=about("of a classic group"))
    leader_id = fields.String(allow_none=True, metadata=about("of a classic group"))
    group_epoch = fields.Integer(metadata=about("of a group that its coordinator assigns"))
    assignment_epoch = fields.Integer(
        allow_none=True,
        metadata=about("the epoch of its target assignment; if it is below `group_epoch`, a new target is pending"),
    )
    group = fields.Dict(
        allow_none=True,
        metadata=about(
            "a request to `/v1/group-assignments` that lacks only `topics`. Each member owns its assignment (classic) or its "
            "target assignment (consumer, share). Null for other protocols, and if a member's bytes "
            "cannot be read"
        ),
    )
    members = fields.List(
        fields.Dict(),
        metadata=about(
            "`member_id`, `client_id`, `client_host`; if its coordinator assigns also `member_epoch`, `previous_member_epoch`, "
            "`member_state`, `assigned_partitions`, and `partitions_pending_revocation` if there are any"
        ),
    )
    committed_offsets = fields.List(
        fields.Dict(), metadata=about("`topic_name`, `partition_ids`, `offsets`; absent without committed offsets")
    )
    warnings = fields.List(fields.String(), metadata=about("what `group` lacks, and faults in its members' bytes"))


class DecodingSchema(Schema):
    """What the bytes say. `version` and `decoded` are of what consumers send and get, the others of records."""

    kafka_version = fields.String()
    kind = fields.String()
    version = fields.Integer(metadata=about("the version in the bytes; any above 3 is read as 3"))
    decoded = fields.Dict(metadata=about("the fields, as Kafka reads them; user data in base64"))
    member = fields.Dict(metadata=about("a subscription as one of the `members` of `/v1/group-assignments`"))
    unreadable = fields.Nested(
        UnreadableSchema, metadata=about("why an assignor cannot read this user data and continues without it; absent if it can")
    )
    record_type = fields.Integer()
    record_name = fields.String(metadata={"example": "OFFSET_COMMIT"})
    key = fields.Dict(metadata=about("as Kafka's own JSON converters print it"))
    value_version = fields.Integer(allow_none=True)
    value = fields.Dict(allow_none=True, metadata=about("as Kafka's own JSON converters print it; null: a tombstone"))
    offsets_formatter = fields.Raw(
        metadata=about(
            "what Kafka's OffsetsMessageFormatter prints: a line, empty for other records; where it fails, "
            "`error`, `exception` and `message`"
        )
    )
    group_metadata_formatter = fields.Raw(metadata=about("likewise, of GroupMetadataMessageFormatter"))
    share_group_formatter = fields.Raw(metadata=about("likewise, of ShareGroupMessageFormatter; absent for releases without it"))
    share_group_state_formatter = fields.Raw(
        metadata=about("of a record of `__share_group_state`: what ShareGroupStateMessageFormatter prints")
    )
    group = fields.Dict(
        allow_none=True,
        metadata=about(
            "GROUP_METADATA of consumers as a request to `/v1/group-assignments` that lacks only `topics`: each member owns "
            "its assignment; null for any other record (see `offsets_topic`), and if a member's own "
            "bytes cannot be read"
        ),
    )
    warnings = fields.List(
        fields.String(), metadata=about("faults in the bytes of a group's members; absent if there are no faults")
    )
    owned_partitions = fields.List(
        fields.Dict(), metadata=about("an assignment in the form of a member's `owned_partitions` in `/v1/group-assignments`")
    )
    records = fields.List(
        fields.Dict(),
        metadata=about(
            "for each of the request's `records`: `record_type`, `record_name`, `key`, `value_version` and `value` as above, "
            "tagged fields last; of an unreadable one `error`, `exception`, `message`, `detail`, and the `offset` in its `part`"
        ),
    )
    records_count = fields.Integer(metadata=about("of `offsets_topic`"))
    tombstones_count = fields.Integer(metadata=about("of `offsets_topic`: records without a value"))
    unreadable_count = fields.Integer(metadata=about("of `offsets_topic`: the last records of their keys that cannot be read"))
    unreadable_records = fields.List(
        fields.Dict(), metadata=about("of `offsets_topic`: the first of them, each with its `row` and as in `records`")
    )
    groups = fields.List(
        fields.Nested(GroupStateSchema), metadata=about("of `offsets_topic`: the groups that the records describe, by id")
    )


def group_record(capture: Capture) -> dict[str, Any]:
    """A record of ``__consumer_offsets``, also as a group."""
    record, answer = read_record(capture, read_group_record, printed.OF_GROUP_RECORDS)
    request = group_request(record)
    return {**answer, "group": request.document, **({"warnings": request.warnings} if request.warnings else {})}


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


def subscription_document(capture: Capture) -> dict[str, Any]:
    """A subscription, also as a member."""
    subscription = read_subscription(capture.data)
    decoded = {
        "topics": subscription.topic_names,
        "owned_partitions": topic_partitions(subscription.owned),
        "generation_id": subscription.generation_id,
        "rack_id": subscription.rack_id,
        "user_data": text(subscription.user_data),
    }
    member = member_document(subscription, capture.member_id, capture.instance_id, capture.assignor)
    return {"version": subscription.version, "decoded": decoded, "member": member}


def assignment_document(capture: Capture) -> dict[str, Any]:
    """An assignment."""
    assignment = read_assignment(capture.data)
    decoded = {"partitions": topic_partitions(assignment.partitions), "user_data": text(assignment.user_data)}
    owned = owned_partitions(assignment.partitions)
    return {"version": assignment.version, "decoded": decoded, "owned_partitions": owned}


def sticky_user_data(capture: Capture) -> dict[str, Any]:
    """User data of the sticky assignor."""
    user_data = read_sticky_user_data(capture.data)
    decoded = {"previous_assignment": topic_partitions(user_data.previous_assignment), "generation": user_data.generation}
    return {"version": user_data.version, "decoded": decoded, **unreadable(user_data)}


def cooperative_sticky_user_data(capture: Capture) -> dict[str, Any]:
    """User data of the cooperative sticky assignor."""
    user_data = read_cooperative_sticky_user_data(capture.data)
    return {"version": user_data.version, "decoded": {"generation": user_data.generation}, **unreadable(user_data)}


READ: Final[dict[str, Callable[[Capture], dict[str, Any]]]] = dict(
    zip(
        KINDS[:-1],
        (
            group_record,
            share_group_state_record,
            subscription_document,
            assignment_document,
            sticky_user_data,
            cooperative_sticky_user_data,
        ),
        strict=True,
    )
)


def unreadable(user_data: StickyUserData) -> dict[str, Any]:
    """The answer's member for user data that an assignor ignores."""
    error = user_data.unreadable
    return {} if error is None else {"unreadable": {"offset": error.offset, "detail": error.reason}}


def topic_partitions(partitions: TopicPartitions) -> list[dict[str, Any]]:
    """One object for each partition, as ``decoded`` has them."""
    return [{"topic": topic, "partition_id": partition_id} for topic, ids in partitions for partition_id in ids]


def text(data: bytes | None) -> str | None:
    """Bytes as base64."""
    return None if data is None else base64.b64encode(data).decode()
