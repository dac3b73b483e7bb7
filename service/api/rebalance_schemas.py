"""The JSON body of a question about what happens to a group."""

from typing import Any, Final

from marshmallow import Schema, ValidationError, validate, validates_schema

from service.api.group_schemas import (
    CLIENT,
    CLIENT_VERSION,
    MemberSchema,
    TopicSchema,
    members_field,
    topics_field,
)
from service.decisions.rebalances.answer import MOST_ASSIGNED, MOST_MEMBERS
from service.decisions.rebalances.question import POLL_MS, REBALANCE_PROTOCOLS, RebalancesQuestion
from service.http import fields
from service.http.fields import INT64, Bool, Int, Name, Number, Subject, TopicName
from service.http.forms import PRICE_PER_GB, KafkaVersion, QuestionSchema
from service.http.lists import Array

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

    session_timeout_ms = Int("`session.timeout.ms`, or the group's", minimum=1, load_default=45_000)
    min_session_timeout_ms = Int(
        "the broker's `group.min.session.timeout.ms` (default 6000), or `group.consumer.min.session.timeout.ms` or "
        "`group.share.min.session.timeout.ms` (default 45000)",
        minimum=1,
        load_default=None,
    )
    heartbeat_interval_ms = Int(
        "`heartbeat.interval.ms` (default 3000), or `group.consumer.heartbeat.interval.ms` (default 5000)",
        minimum=1,
        load_default=None,
    )
    rebalance_timeout_ms = Int("`max.poll.interval.ms`", minimum=1, load_default=300_000)
    initial_rebalance_delay_ms = Int("`group.initial.rebalance.delay.ms`", minimum=0, load_default=3_000)
    metadata_max_age_ms = Int("`metadata.max.age.ms`", minimum=1, load_default=300_000)
    assignment_interval_ms = Int("`group.consumer.assignment.interval.ms` or that of share groups", minimum=0, load_default=1_000)
    poll_interval_ms = Int(
        "how long a member processes between two polls. Each step of a rebalance waits for another poll; 0: no step waits. "
        f"Absent: {POLL_MS}, or as often as `rebalance_timeout_ms` requires",
        minimum=0,
        load_default=None,
    )
    consumption_rate = Number(
        "with `partition_weights` as rates: the rate at which a member consumes, in the same unit", load_default=None
    )


class NewMemberSchema(MemberSchema):
    """A member that joins."""

    class Meta:
        """A new member owns nothing."""

        exclude = ("generation_id", "owned_partitions", "capacity")

    member_id = Name("absent: drawn, as the ids of new members of `scales`")
    member_name = Name("what other events call a member whose id is drawn")

    @validates_schema
    def check_name(self, member: dict[str, Any], **_: Any) -> None:
        """Has it an id or another name, or neither?"""
        if "member_id" in member and "member_name" in member:
            raise ValidationError({"member_name": ["Leave it out: a member with a member_id is called that."]})


class NewTopicSchema(TopicSchema):
    """A topic that is created."""

    class Meta:
        """A new topic has no lag."""

        exclude = ("lag",)


class EventSchema(Schema):
    """Something that happens to the group."""

    at_ms = Int(minimum=0, maximum=LATEST_MS, required=True)
    type = fields.String(required=True, validate=validate.OneOf(list(EVENT_FIELDS)))
    member = fields.Nested(NewMemberSchema, "`member_joins`: the new member")
    member_id = Name("of a member of the group: its current or its first id")
    for_ms = Int("`member_stalls`: how long it processes without polling", minimum=1)
    down_ms = Int("how long a restarted member is away", minimum=0)
    pause_ms = Int("between the return of a member and the restart of the next", minimum=0)
    new_member_id = Name("the id that the restarted member gets. Absent: drawn, see `derived_member_ids`")
    new_member_ids = Array(
        Name(),
        "`rolling_restart`, `assignor_changes`: the ids that the restarted members get, in the order in which they restart. "
        "Other ids are drawn",
    )
    topic_names = Array(TopicName(), "`subscription_changes`: the new subscription")
    topic = fields.Nested(NewTopicSchema, "`topic_created`: the new topic")
    topic_name = TopicName()
    partitions_count = Int("`partitions_added`: the topic's new number of partitions", minimum=1)
    members_count = Int("`scales`: the new number of members", minimum=0, maximum=MOST_MEMBERS)
    assignors = Array(fields.String(), "`assignor_changes`: the new assignor", validate=validate.Length(equal=1))
    group_protocol = fields.String("`assignor_changes`: the new protocol", validate=validate.OneOf(["consumer"]))

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
            faults["assignors"] = ["An assignor_changes requires assignors or group_protocol."]
        if faults:
            raise ValidationError(faults)


REBALANCE_PROTOCOL: Final = fields.String(
    "how clients of `balanced` carry it out in a classic group: cooperative, as `RemoteAssignor` does, or eager. Absent: "
    "cooperative. Other assignors have only one of these",
    load_default=None,
    validate=validate.OneOf(REBALANCE_PROTOCOLS),
)


class VariantSchema(Schema):
    """Another way to run the group."""

    group_protocol = fields.String("Absent: as in the body", load_default=None, example="consumer")
    assignor = fields.String("Absent: as in the body, or for another protocol its default", load_default=None)
    rebalance_protocol = REBALANCE_PROTOCOL
    static = Bool(
        "whether all members have an instance_id (derived from their member_id), or none. Absent: as in the body",
        load_default=None,
    )


class GroupRebalancesSchema(QuestionSchema):
    """A group, and what happens to it."""

    asks = RebalancesQuestion

    kafka_version = KafkaVersion("4.3.1")
    group_protocol = fields.String("classic, consumer or share. Absent: classic", load_default=None, example="classic")
    assignor = fields.String("as in /v1/group-assignments", load_default=None, example="cooperative-sticky")
    rebalance_protocol = REBALANCE_PROTOCOL
    client = CLIENT
    client_version = CLIENT_VERSION
    group_id = Subject("group")
    topics = topics_field()
    members = members_field()
    price_per_gb = PRICE_PER_GB
    random_seed = Int("of the ids that new and restarted members draw; default 0", minimum=0, maximum=INT64, load_default=None)
    timing = fields.Nested(TimingSchema, load_default=lambda: TimingSchema().load({}))
    events = Array(
        fields.Nested(EventSchema),
        "what happens, in the order of time",
        load_default=list,
        validate=validate.Length(max=MOST_EVENTS),
        example=[
            {"at_ms": 10_000, "type": "member_joins", "member": {"member_id": "c3"}},
            {"at_ms": 60_000, "type": "rolling_restart", "down_ms": 5_000, "pause_ms": 10_000},
        ],
    )
    detail = fields.String(
        "what to answer: `totals` alone, also the `rebalances`, or these with their `assignments` and `requests`. "
        f"Absent: assignments, if partitions × rebalances are at most {MOST_ASSIGNED}, or else rebalances",
        load_default=None,
        validate=validate.OneOf(["totals", "rebalances", "assignments"]),
    )
    compare = Array(
        fields.Nested(VariantSchema),
        "other ways to run the group; the answer has the totals of each under the same events",
        load_default=list,
        validate=validate.Length(max=MOST_COMPARISONS),
        example=[{"group_protocol": "classic", "assignor": "range"}, {"group_protocol": "consumer", "static": True}],
    )
