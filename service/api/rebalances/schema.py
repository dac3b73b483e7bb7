"""The JSON body of a question about what happens to a group."""

from typing import Any, Final

from marshmallow import Schema, ValidationError, fields, validate, validates_schema

from service.api.groups.schema import (
    MemberSchema,
    TopicSchema,
    client_field,
    client_version_field,
    members_field,
    topics_field,
)
from service.decisions.rebalances.answer import MOST_ASSIGNED, MOST_MEMBERS
from service.decisions.rebalances.question import COMPARED_POLL_MS, REBALANCE_PROTOCOLS, RebalancesQuestion
from service.web.fields import Boolean, Integer, List, Name, Number, Subject, TopicName, about
from service.web.schemas import KafkaVersion, QuestionSchema, price_per_gb_field

LATEST_MS: Final = 10**12
"""The latest time of an event: 31 years."""
MOST_EVENTS: Final = 10_000
MOST_COMPARISONS: Final = 20

EVENT_FIELDS: Final[dict[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "member_joins": (("member",), ()),
    "member_leaves": (("member_id",), ()),
    "member_crashes": (("member_id",), ()),
    "member_stalls": (("member_id", "for_ms"), ()),
    "member_restarts": (("member_id", "down_ms"), ("new_member_id",)),
    "rolling_restart": (("down_ms", "pause_ms"), ("new_member_ids",)),
    "subscription_changes": (("member_id", "topic_names"), ()),
    "topic_created": (("topic",), ()),
    "topic_deleted": (("topic_name",), ()),
    "partitions_added": (("topic_name", "partitions_count"), ()),
    "scales": (("members_count",), ()),
    "assignor_changes": ((), ("assignors", "group_protocol", "down_ms", "pause_ms", "new_member_ids")),
}
"""The fields that an event of each type must have, and those that it may have."""


class TimingSchema(Schema):
    """What broker and clients wait for."""

    session_timeout_ms = Integer(minimum=1, load_default=45_000, metadata=about("`session.timeout.ms`, or the group's"))
    min_session_timeout_ms = Integer(
        minimum=1,
        load_default=None,
        metadata=about(
            "the broker's `group.min.session.timeout.ms` (default 6000), or `group.consumer.min.session.timeout.ms` or "
            "`group.share.min.session.timeout.ms` (default 45000)"
        ),
    )
    heartbeat_interval_ms = Integer(
        minimum=1,
        load_default=None,
        metadata=about("`heartbeat.interval.ms` (default 3000), or `group.consumer.heartbeat.interval.ms` (default 5000)"),
    )
    rebalance_timeout_ms = Integer(minimum=1, load_default=300_000, metadata=about("`max.poll.interval.ms`"))
    initial_rebalance_delay_ms = Integer(minimum=0, load_default=3_000, metadata=about("`group.initial.rebalance.delay.ms`"))
    metadata_max_age_ms = Integer(minimum=1, load_default=300_000, metadata=about("`metadata.max.age.ms`"))
    assignment_interval_ms = Integer(
        minimum=0, load_default=1_000, metadata=about("`group.consumer.assignment.interval.ms` or that of share groups")
    )
    poll_interval_ms = Integer(
        minimum=0,
        load_default=None,
        metadata=about(
            "how long a member processes between two polls. Each step of a rebalance waits for another poll; 0: no step waits. "
            f"Absent: 0, or with `compare` {COMPARED_POLL_MS}"
        ),
    )
    consumption_rate = Number(
        load_default=None,
        metadata=about("with `partition_weights` as rates: the rate at which a member consumes, in the same unit"),
    )


class NewMemberSchema(MemberSchema):
    """A member that joins."""

    class Meta:
        """A new member owns nothing."""

        exclude = ("generation_id", "owned_partitions", "capacity")


class NewTopicSchema(TopicSchema):
    """A topic that is created."""

    class Meta:
        """A new topic has no lag."""

        exclude = ("lag",)


class EventSchema(Schema):
    """Something that happens to the group."""

    at_ms = Integer(minimum=0, maximum=LATEST_MS, required=True)
    type = fields.String(required=True, validate=validate.OneOf(list(EVENT_FIELDS)))
    member = fields.Nested(NewMemberSchema, metadata=about("`member_joins`: the new member"))
    member_id = Name(metadata=about("of a member of the group: its current or its first id"))
    for_ms = Integer(minimum=1, metadata=about("`member_stalls`: how long it processes without polling"))
    down_ms = Integer(minimum=0, metadata=about("how long a restarted member is away"))
    pause_ms = Integer(minimum=0, metadata=about("between the return of a member and the restart of the next"))
    new_member_id = Name(metadata=about("the id that the restarted member gets. Absent: derived, see `derived_member_ids`"))
    new_member_ids = List(
        Name(),
        metadata=about(
            "`rolling_restart`, `assignor_changes`: the ids that the restarted members get, in the order in which they restart. "
            "Other ids are derived"
        ),
    )
    topic_names = List(TopicName(), metadata=about("`subscription_changes`: the new subscription"))
    topic = fields.Nested(NewTopicSchema, metadata=about("`topic_created`: the new topic"))
    topic_name = TopicName()
    partitions_count = Integer(minimum=1, metadata=about("`partitions_added`: the topic's new number of partitions"))
    members_count = Integer(minimum=0, maximum=MOST_MEMBERS, metadata=about("`scales`: the new number of members"))
    assignors = List(fields.String(), validate=validate.Length(equal=1), metadata=about("`assignor_changes`: the new assignor"))
    group_protocol = fields.String(validate=validate.OneOf(["consumer"]), metadata=about("`assignor_changes`: the new protocol"))

    @validates_schema(skip_on_field_errors=False, pass_original=True)
    def check_fields(self, event: dict[str, Any], original: dict[str, Any], **_: Any) -> None:
        """Are all fields of the type there, and no others?"""
        kind = event.get("type")
        if kind not in EVENT_FIELDS:
            return
        required, optional = EVENT_FIELDS[kind]
        faults = {name: ["Missing data for required field."] for name in required if name not in original}
        allowed = {"at_ms", "type", *required, *optional}
        faults |= {name: [f"An event of type {kind} has no such field."] for name in event if name not in allowed}
        if kind == "assignor_changes" and not original.keys() & {"assignors", "group_protocol"}:
            faults["assignors"] = ["Missing: an assignor_changes has assignors or a group_protocol."]
        if faults:
            raise ValidationError(faults)


def rebalance_protocol_field() -> fields.String:
    """How the clients of ``balanced`` carry it out."""
    return fields.String(
        load_default=None,
        validate=validate.OneOf(REBALANCE_PROTOCOLS),
        metadata=about(
            "how clients of `balanced` carry it out in a classic group: cooperative, as `RemoteAssignor` does, or eager. Absent: "
            "cooperative. Every other assignor has one of both"
        ),
    )


class VariantSchema(Schema):
    """Another way to run the group."""

    group_protocol = fields.String(load_default=None, metadata=about("Absent: as in the body", example="consumer"))
    assignor = fields.String(load_default=None, metadata=about("Absent: as in the body, or for another protocol its default"))
    rebalance_protocol = rebalance_protocol_field()
    static = Boolean(
        load_default=None,
        metadata=about("whether all members have an instance_id (derived from their member_id), or none. Absent: as in the body"),
    )


class GroupRebalancesSchema(QuestionSchema):
    """A group, and what happens to it."""

    asks = RebalancesQuestion

    kafka_version = KafkaVersion("4.3.1")
    group_protocol = fields.String(
        load_default=None, metadata=about("classic, consumer or share. Absent: classic", example="classic")
    )
    assignor = fields.String(load_default=None, metadata=about("as in /v1/group-assignments", example="cooperative-sticky"))
    rebalance_protocol = rebalance_protocol_field()
    client = client_field()
    client_version = client_version_field()
    group_id = Subject("group")
    topics = topics_field()
    members = members_field()
    price_per_gb = price_per_gb_field()
    timing = fields.Nested(TimingSchema, load_default=lambda: TimingSchema().load({}))
    events = List(
        fields.Nested(EventSchema),
        load_default=list,
        validate=validate.Length(max=MOST_EVENTS),
        metadata=about(
            "what happens, in the order of time",
            example=[
                {"at_ms": 10_000, "type": "member_joins", "member": {"member_id": "c3"}},
                {"at_ms": 60_000, "type": "rolling_restart", "down_ms": 5_000, "pause_ms": 10_000},
            ],
        ),
    )
    detail = fields.String(
        load_default=None,
        validate=validate.OneOf(["totals", "rebalances", "assignments"]),
        metadata=about(
            "what to answer: `totals` alone, also the `rebalances`, or these with their `assignments` and `requests`. "
            f"Absent: assignments, if partitions × rebalances are at most {MOST_ASSIGNED}, or else rebalances"
        ),
    )
    compare = List(
        fields.Nested(VariantSchema),
        load_default=list,
        validate=validate.Length(max=MOST_COMPARISONS),
        metadata=about(
            "other ways to run the group; the answer has the totals of each under the same events",
            example=[{"group_protocol": "classic", "assignor": "range"}, {"group_protocol": "consumer", "static": True}],
        ),
    )
