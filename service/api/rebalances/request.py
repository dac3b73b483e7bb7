"""The body of ``POST /v1/group-rebalances``: its schema, and how it becomes a ``Timeline``."""

from dataclasses import dataclass, replace
from typing import Any, Final

from marshmallow import Schema, ValidationError, fields, validate, validates_schema

from service.api.groups.schema import MemberSchema, TopicSchema, members_field, topics_field
from service.api.rebalances.extent import Extent
from service.api.rebalances.world import Names, read_timeline, stable_group
from service.core.assignors import GROUP_PROTOCOLS, Assignor
from service.core.errors import UnknownStrategy, raise_all
from service.core.kafka_versions import LATEST
from service.core.timelines.model import Event, Timeline, Timing
from service.core.timelines.simulation import Variant, varied
from service.decisions.groups.rows import member_faults, partitions_total, subscriptions_total, topic_faults
from service.web.blueprint import Parts, QuestionSchema
from service.web.context import check_limit, reserve
from service.web.fields import Boolean, Integer, List, Name, Number, Subject, TopicName, about
from service.web.schemas import KafkaVersion

COMPARED_POLL_MS: Final = 1_000
"""How often members poll where ways to run a group are compared. If all noticed a rebalance at once, eager ones would win."""
SLOW_POLL_MS: Final = 10_000
"""How often they poll where that takes long."""
LATEST_MS: Final = 10**12
"""The latest time of an event: 31 years."""
MOST_EVENTS: Final = 10_000
MOST_MEMBERS: Final = 100_000
MOST_COMPARISONS: Final = 20
MOST_ASSIGNED: Final = 100_000
"""Partitions × rebalances up to which an answer has every assignment without being asked."""

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
        allow_none=True,
        metadata=about(
            "the broker's `group.min.session.timeout.ms` (default 6000), or `group.consumer.min.session.timeout.ms` or "
            "`group.share.min.session.timeout.ms` (default 45000)"
        ),
    )
    heartbeat_interval_ms = Integer(
        minimum=1,
        load_default=None,
        allow_none=True,
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
        allow_none=True,
        metadata=about(
            "how long a member processes between two polls. Each step of a rebalance waits for another poll; 0: no step waits. "
            f"Absent: 0, or with `compare` {COMPARED_POLL_MS}"
        ),
    )
    consumption_rate = Number(
        load_default=None,
        allow_none=True,
        metadata=about("with `partition_weights` as rates: the rate at which a member consumes, in the same unit"),
    )


class NewMemberSchema(MemberSchema):
    """A member that joins."""

    class Meta:
        """A new member owns nothing."""

        exclude = ("generation_id", "owned_partitions")


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
    topic = fields.Nested(TopicSchema, metadata=about("`topic_created`: the new topic"))
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


class VariantSchema(Schema):
    """Another way to run the group."""

    group_protocol = fields.String(
        load_default=None, allow_none=True, metadata=about("Absent: as in the body", example="consumer")
    )
    assignor = fields.String(
        load_default=None, allow_none=True, metadata=about("Absent: as in the body, or for another protocol its default")
    )
    static = Boolean(
        load_default=None,
        allow_none=True,
        metadata=about("whether all members have an instance_id (derived from their member_id), or none. Absent: as in the body"),
    )


@dataclass(frozen=True)
class RebalancesQuestion:
    """The question.

    compared : the timeline in each other way to run the group; slow : all ways with members that poll seldom, if any are compared
    extent : how large the simulation can become; is_long : will it take more than a moment?
    """

    kafka_version: str
    group_id: str | None
    timeline: Timeline
    variants: tuple[Variant, ...]
    compared: tuple[Timeline, ...]
    slow: tuple[Timeline, ...]
    extent: Extent
    is_long: bool


class GroupRebalancesSchema(QuestionSchema):
    """A group, and what happens to it."""

    kafka_version = KafkaVersion("4.3.1")
    group_protocol = fields.String(
        load_default=None, allow_none=True, metadata=about("classic, consumer or share. Absent: classic", example="classic")
    )
    assignor = fields.String(
        load_default=None,
        allow_none=True,
        metadata=about("as in /v1/group-assignments", example="cooperative-sticky"),
    )
    group_id = Subject("group")
    topics = topics_field()
    members = members_field()
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
        allow_none=True,
        validate=validate.OneOf(["totals", "rebalances", "assignments"]),
        metadata=about(
            "how much to answer: the `totals` alone, also the `rebalances`, or these with their `assignments` and `requests`. "
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

    def question(self, body: dict[str, Any], **_: Any) -> RebalancesQuestion:
        """The question: its assignors resolved, its size within the limits, its names turned into indices."""
        protocol, assignor = _strategy(body)
        timing = _timing(body, protocol)
        _check_events(body["events"], protocol)
        extent = Extent.of(body)
        partitions, members, most = extent.partitions, extent.incarnations, extent.most_rebalances()
        check_limit("max_partitions", partitions, "partitions", "topics")
        check_limit("max_assignment_cells", partitions * members, "partitions × members")
        check_limit("max_subscriptions", subscriptions_total(body["topics"], body["members"]), "subscriptions", "members")
        if members > MOST_MEMBERS:
            raise ValidationError({"events": [f"At most {MOST_MEMBERS} members and restarts are simulated, not {members}."]})
        detail = body["detail"] or ("assignments" if most * (partitions + members) <= MOST_ASSIGNED else "rebalances")
        if detail == "assignments":
            check_limit("max_partitions", most * partitions, "partitions × rebalances", "detail")
        answered = partitions * 100 + members * 1_000 if detail == "assignments" else 0
        reserve(most * (2_000 + answered) + 200 * partitions + 2_000 * members)
        names, changes = Names.of(body), _assignor_changes(body, protocol)
        events = tuple(_event(event, names, changes.get(i)) for i, event in enumerate(body["events"]))
        timeline = read_timeline(body, names, protocol, assignor, timing, events, detail)
        variants = _variants(body, protocol, assignor)
        ways = [timeline, *(varied(timeline, variant) for variant in variants)]
        slow = [replace(way, timing=at_pace(way.timing, SLOW_POLL_MS), detail="totals", most_explained=0) for way in ways]
        slow = slow if variants else []
        is_long = extent.check([*ways, *slow])
        return RebalancesQuestion(
            body["kafka_version"], body["group_id"], timeline, variants, tuple(ways[1:]), tuple(slow), extent, is_long=is_long
        )

    def parts(self) -> Parts:
        """The assignor; the timing; the events; the rows of each list; the group; the variants."""
        return (
            _strategy,
            lambda body: _timing(body, _protocol(body)),
            lambda body: _check_events(body["events"], _protocol(body)),
            lambda body: raise_all(topic_faults(body["topics"])),
            lambda body: raise_all(member_faults(body["members"])),
            _check_group,
            lambda body: _variants(body, *_strategy(body)),
        )


def _protocol(body: dict[str, Any]) -> str:
    protocol = body["group_protocol"] or "classic"
    if protocol not in GROUP_PROTOCOLS:
        raise UnknownStrategy("group_protocol", protocol, tuple(GROUP_PROTOCOLS))
    return str(protocol)


def _strategy(body: dict[str, Any]) -> tuple[str, Assignor]:
    return _resolved(body["group_protocol"], body["assignor"], "classic", body["kafka_version"])


def _check_group(body: dict[str, Any]) -> None:
    """Raise ValidationError for members and topics that do not fit together, LimitExceeded for too many."""
    topics, members = body["topics"], body["members"]
    partitions = partitions_total(topics)
    check_limit("max_partitions", partitions, "partitions", "topics")
    check_limit("max_subscriptions", subscriptions_total(topics, members), "subscriptions", "members")
    reserve(200 * partitions + 2_000 * len(members))
    stable_group(topics, members, shared=_protocol(body) == "share")


def _resolved(protocol: str | None, assignor: str | None, default: str, version: str) -> tuple[str, Assignor]:
    """A protocol and an assignor of it, by name."""
    protocol = protocol or default
    if protocol not in GROUP_PROTOCOLS:
        raise UnknownStrategy("group_protocol", protocol, tuple(GROUP_PROTOCOLS))
    registry = GROUP_PROTOCOLS[protocol]
    return protocol, (registry.builtins[0] if assignor is None else registry[assignor]).at(version or LATEST)


def _variants(body: dict[str, Any], protocol: str, assignor: Assignor) -> tuple[Variant, ...]:
    """The variants, by default with the protocol and the assignor of the body. Raises ValidationError."""
    strategies, faults = [], {}
    for i, row in enumerate(body["compare"]):
        if row["assignor"] is None and row["group_protocol"] in (None, protocol):
            strategies.append((protocol, assignor))
            continue
        try:
            strategies.append(_resolved(row["group_protocol"], row["assignor"], protocol, body["kafka_version"]))
        except UnknownStrategy as error:
            faults[i] = {error.kind: [error.detail]}
    if faults:
        raise ValidationError({"compare": faults})
    variants = []
    for i, (row, strategy) in enumerate(zip(body["compare"], strategies, strict=True)):
        try:
            timing = _defaults(body, strategy[0])
            variants.append(Variant(*strategy, row["static"], timing, _assignor_changes(body, strategy[0])))
        except UnknownStrategy as error:
            if strategy[0] == protocol:
                raise
            faults[i] = {"group_protocol": [f"The event /events/{error.field[1]} does not fit this protocol: {error.detail}"]}
    if faults:
        raise ValidationError({"compare": faults})
    return tuple(variants)


def _timing(body: dict[str, Any], protocol: str) -> Timing:
    """The timing, by the rules of broker and clients."""
    timing, own = _defaults(body, protocol), body["timing"]
    classic, session, heartbeat = protocol == "classic", timing.session_timeout_ms, timing.heartbeat_interval_ms
    least, most = own["min_session_timeout_ms"] or (6_000 if classic else 45_000), 1_800_000 if classic else 60_000
    faults: dict[str, list[str]] = {}
    if session < least:
        faults["session_timeout_ms"] = [f"Below the broker's minimum of {least} ms (INVALID_SESSION_TIMEOUT)."]
    elif session > most:
        faults["session_timeout_ms"] = [f"Above the broker's maximum of {most} ms (INVALID_SESSION_TIMEOUT)."]
    if heartbeat >= session:
        faults["heartbeat_interval_ms"] = ["Heartbeat must be set lower than the session timeout."]
    if timing.rebalance_timeout_ms < heartbeat + timing.poll_interval_ms:
        detail = "Shorter than a heartbeat interval and a poll interval: members would be removed before they notice a rebalance."
        faults["rebalance_timeout_ms"] = [detail]
    if faults:
        raise ValidationError({"timing": faults})
    return timing


def _defaults(body: dict[str, Any], protocol: str) -> Timing:
    """The timing, with the defaults of a protocol."""
    own = dict(body["timing"])
    del own["min_session_timeout_ms"]
    heartbeat = own.pop("heartbeat_interval_ms") or (3_000 if protocol == "classic" else 5_000)
    polls = own.pop("poll_interval_ms")
    timing = Timing(heartbeat_interval_ms=heartbeat, **own)
    if polls is not None:
        return replace(timing, poll_interval_ms=polls)
    return at_pace(timing, COMPARED_POLL_MS) if body["compare"] else timing


def at_pace(timing: Timing, poll_interval_ms: int) -> Timing:
    """The same for members that poll so often, or as often as the rebalance time-out requires."""
    longest = max(0, timing.rebalance_timeout_ms - timing.heartbeat_interval_ms)
    return replace(timing, poll_interval_ms=min(poll_interval_ms, longest))


def _check_events(events: list[dict[str, Any]], protocol: str) -> None:
    """Raise ValidationError for events that are not in the order of time, and changes that the protocol does not have."""
    faults: dict[int, Any] = {}
    for i, event in enumerate(events):
        if i and event["at_ms"] < events[i - 1]["at_ms"]:
            faults[i] = {"at_ms": ["Earlier than the event before it."]}
        if "group_protocol" in event:
            if protocol != "classic":
                detail = f"The group's protocol is {protocol}; only a classic group can change its protocol."
                faults[i] = {"group_protocol": [detail]}
            else:
                protocol = event["group_protocol"]
        elif "assignors" in event and protocol == "share":
            faults[i] = {"assignors": ["The assignor of a share group is the broker's."]}
    if faults:
        raise ValidationError({"events": faults})


def _assignor_changes(body: dict[str, Any], protocol: str) -> dict[int, tuple[str, Assignor]]:
    """The protocol and the assignor that each assignor_changes of the events leads to, by the event's number.

    protocol : of the group at 0 ms. Only a classic group changes it; any other one restarts its members.
    Raises UnknownStrategy for an assignor that the protocol does not have by then.
    """
    changes = {}
    for i, event in enumerate(body["events"]):
        if event["type"] != "assignor_changes":
            continue
        if protocol == "classic":
            protocol = event.get("group_protocol") or protocol
        try:
            changes[i] = _resolved(protocol, (event.get("assignors") or [None])[0], protocol, body["kafka_version"])
        except UnknownStrategy as error:
            error.field = ("events", i, "assignors", 0)
            raise
    return changes


def _event(body: dict[str, Any], names: Names, change: tuple[str, Assignor] | None) -> Event:
    """An event, its names turned into indices. change : see ``_assignor_changes``"""
    fields: dict[str, Any] = {
        name: body[name]
        for name in (
            "at_ms",
            "type",
            "member_id",
            "for_ms",
            "new_member_id",
            "members_count",
            "partitions_count",
        )
        if name in body
    }
    new_ids = tuple(body.get("new_member_ids", ()))
    if change is not None:
        fields |= {"down_ms": body.get("down_ms", 0), "pause_ms": body.get("pause_ms", 60_000), "new_member_ids": new_ids}
        return Event(**fields, group_protocol=change[0], assignors=(change[1],))
    fields["new_member_ids"] = new_ids
    fields |= {name: body[name] for name in ("down_ms", "pause_ms") if name in body}
    if "member" in body:
        fields["member"] = names.new_member(body["member"])
    if "topic_names" in body:
        fields["topics"] = names.topics(body["topic_names"])
    if "topic" in body:
        fields |= {"topic": names.index[body["topic"]["topic_name"]], "partitions_count": body["topic"]["partitions_count"]}
    if "topic_name" in body:
        fields["topic"] = names.index[body["topic_name"]]
    return Event(**fields)
