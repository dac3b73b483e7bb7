"""The question: a group, what happens to it, and other ways to run it; and the timeline in which its names become indices."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self

import numpy as np
import pyarrow as pa

from service.core.errors import InvalidQuestion, UnknownStrategy
from service.core.kafka_versions import LATEST
from service.core.model import NONE, Float64s, Group, Int32s, Ragged, Topics, java_order, offsets_of
from service.decisions.groups.rows import member_faults, read_group, topic_faults
from service.planner.member_ids import default_client_id
from service.planner.timelines.model import Event, NewMember, Timeline, Timing, World
from service.planner.timelines.simulation import Variant
from service.strategies import GROUP_PROTOCOLS, KAFKAS, Assignor, of_client

Row = Mapping[str, Any]

EAGER, COOPERATIVE = REBALANCE_PROTOCOLS = ("eager", "cooperative")
"""Kafka's ConsumerPartitionAssignor.RebalanceProtocol (KIP-429)."""

POLL_MS: Final = 1_000
"""How often members poll if that is not known. If all noticed a rebalance at once, none would seem to stop reading."""


@dataclass(frozen=True)
class RebalancesQuestion:
    """A group, and what happens to it; names are not indices yet.

    topics, members : rows (see ``groups.rows``), each well-formed; the group is stable at 0 ms if a member owns anything
    events : rows with ``at_ms``, ``type`` and the fields of that type (see docs/groups.md), each well-formed
    timing : fields of ``Timing``, and ``min_session_timeout_ms`` of the broker; absent or None: Kafka's default
    compare : rows with ``group_protocol``, ``assignor``, ``rebalance_protocol`` and ``static``; absent or None: as the group is
    rebalance_protocol : how the clients of an assignor that knows both carry it out, EAGER or COOPERATIVE, its default
    detail : "totals", "rebalances" or "assignments"; None: as much as is not too much
    random_seed : of the ids that members draw; default 0
    client, client_version : the library of a classic group's clients at 0 ms, and its release; default: Java's, and the newest
    group_id : what the group is called in metrics
    price_per_gb : of what crosses zones; None: not known
    """

    topics: pa.StructArray
    members: pa.StructArray
    events: Sequence[Row] = ()
    timing: Row = field(default_factory=dict)
    compare: Sequence[Row] = ()
    group_protocol: str | None = None
    assignor: str | None = None
    rebalance_protocol: str | None = None
    kafka_version: str = LATEST
    client: str | None = None
    client_version: str | None = None
    group_id: str | None = None
    price_per_gb: float | None = None
    random_seed: int | None = None
    detail: str | None = None
    explain: bool = False

    @property
    def protocol(self) -> str:
        """The group protocol at 0 ms."""
        return self.group_protocol or "classic"


def faults(question: RebalancesQuestion) -> Iterator[InvalidQuestion]:
    """What is wrong between the fields of a question."""
    is_known = True
    try:
        strategy(question)
    except InvalidQuestion as fault:
        is_known = False
        yield fault
    if question.protocol in KAFKAS:
        yield from timing_faults(question)
        yield from _event_faults(question)
    yield from topic_faults(question.topics)
    yield from member_faults(question.members)
    for place, rows, name, detail in (
        ("topics", question.topics, "lag", "A simulation needs rates: set partition_weights instead of lag."),
        ("members", question.members, "capacity", "A simulation treats all members alike: leave out capacity."),
    ):
        given = np.flatnonzero(rows.field(name).is_valid().to_numpy(zero_copy_only=False))
        yield from (InvalidQuestion(detail, place, at, name) for at in given[:1].tolist())
    if is_known:
        yield from _comparison_faults(question)


def strategy(question: RebalancesQuestion) -> Assignor:
    """The assignor at 0 ms. Raises UnknownStrategy, and InvalidQuestion for a release or protocol that it does not have."""
    protocol, name, client = question.protocol, question.assignor, question.client
    if client is not None and protocol in KAFKAS:
        name = of_client(protocol, client, name)
    chosen = _resolved(protocol, name, question.kafka_version)
    if question.client_version:
        chosen = chosen.of_release(question.kafka_version, question.client_version).drawn(0)
    return _carried_out(protocol, chosen, question.rebalance_protocol)


def _carried_out(protocol: str, assignor: Assignor, rebalance_protocol: str | None) -> Assignor:
    """The assignor with clients of this rebalance protocol. Raises InvalidQuestion if they have another."""
    if rebalance_protocol is not None and protocol != "classic":
        raise InvalidQuestion("Only classic groups are eager or cooperative.", "rebalance_protocol")
    if rebalance_protocol == EAGER and assignor.wraps is not None:
        return replace(assignor, wraps=None)
    own = COOPERATIVE if assignor.is_cooperative else EAGER
    if rebalance_protocol not in (None, own):
        raise InvalidQuestion(f"{assignor.name} is {own}.", "rebalance_protocol")
    return assignor


def rebalance_protocol_of(group_protocol: str, assignor: Assignor) -> str | None:
    """The rebalance protocol of a classic group; the other protocols have one way each."""
    if group_protocol != "classic":
        return None
    return COOPERATIVE if assignor.is_cooperative else EAGER


def _resolved(protocol: str, assignor: str | None, version: str) -> Assignor:
    """An assignor of a protocol by its name, or its default. Raises UnknownStrategy."""
    if protocol not in KAFKAS:
        raise UnknownStrategy("group_protocol", protocol, tuple(KAFKAS))
    registry = GROUP_PROTOCOLS[protocol]
    return (registry.builtins[0] if assignor is None else registry[assignor]).at(version).drawn(0)


def timing(question: RebalancesQuestion, protocol: str) -> Timing:
    """What broker and clients wait for, with the defaults of a protocol."""
    own = {name: value for name, value in question.timing.items() if value is not None and name != "min_session_timeout_ms"}
    timing = Timing(**{"heartbeat_interval_ms": 3_000 if protocol == "classic" else 5_000, **own})
    return timing if "poll_interval_ms" in own else at_pace(timing, POLL_MS, (protocol,))


def at_pace(timing: Timing, poll_interval_ms: int, protocols: Collection[str]) -> Timing:
    """The same for members that poll so often, or as often as the rebalance time-out requires.

    protocols : that the group has in turn. A member of the consumer protocol may revoke in its third poll only, see
        ``ConsumerClients``, and is fenced if that comes too late
    """
    longest = max(0, timing.rebalance_timeout_ms - timing.heartbeat_interval_ms)
    if "consumer" in protocols:
        longest = min(longest, timing.rebalance_timeout_ms // 3)
    return replace(timing, poll_interval_ms=min(poll_interval_ms, longest))


def assignor_changes(question: RebalancesQuestion, protocol: str) -> dict[int, tuple[str, Assignor]]:
    """The protocol and the assignor that each assignor_changes of the events leads to, by the event's number.

    protocol : of the group at 0 ms. Only a classic group changes it; any other one restarts its members.
    Raises UnknownStrategy for an assignor that the protocol does not have by then.
    """
    changes = {}
    for i, event in enumerate(question.events):
        if event["type"] != "assignor_changes":
            continue
        if protocol == "classic":
            protocol = event.get("group_protocol") or protocol
        try:
            changes[i] = (protocol, _resolved(protocol, (event.get("assignors") or [None])[0], question.kafka_version))
        except UnknownStrategy as error:
            error.field = ("events", i, "assignors", 0)
            raise
    return changes


def variants(question: RebalancesQuestion) -> tuple[Variant, ...]:
    """The other ways to run the group. Raises UnknownStrategy, for an event with its place."""
    return tuple(_variant(question, row) for row in question.compare)


def _variant(question: RebalancesQuestion, row: Row) -> Variant:
    protocol, assignor = row.get("group_protocol") or question.protocol, row.get("assignor")
    as_now = assignor is None and protocol == question.protocol
    carried_out = row.get("rebalance_protocol")
    if as_now:
        chosen = strategy(replace(question, rebalance_protocol=carried_out or question.rebalance_protocol))
    else:
        chosen = _carried_out(protocol, _resolved(protocol, assignor, question.kafka_version), carried_out)
    return Variant(protocol, chosen, row.get("static"), timing(question, protocol), assignor_changes(question, protocol))


def _comparison_faults(question: RebalancesQuestion) -> Iterator[InvalidQuestion]:
    for i, row in enumerate(question.compare):
        try:
            _variant(question, row)
        except UnknownStrategy as fault:
            if not fault.field or fault.field[0] != "events":
                yield InvalidQuestion(fault.detail, "compare", i, fault.kind)
            elif (row.get("group_protocol") or question.protocol) != question.protocol:
                detail = f"The event /events/{fault.field[1]} does not fit this protocol: {fault.detail}"
                yield InvalidQuestion(detail, "compare", i, "group_protocol")
        except InvalidQuestion as fault:
            yield InvalidQuestion(fault.detail, "compare", i, *fault.field)


def timing_faults(question: RebalancesQuestion) -> Iterator[InvalidQuestion]:
    """What is wrong with the timings, by the rules of broker and clients."""
    taken, is_classic = timing(question, question.protocol), question.protocol == "classic"
    session, heartbeat = taken.session_timeout_ms, taken.heartbeat_interval_ms
    least = question.timing.get("min_session_timeout_ms") or (6_000 if is_classic else 45_000)
    most = 1_800_000 if is_classic else 60_000
    if session < least:
        detail = f"Below the broker's minimum of {least} ms (INVALID_SESSION_TIMEOUT)."
        yield InvalidQuestion(detail, "timing", "session_timeout_ms")
    elif session > most:
        detail = f"Above the broker's maximum of {most} ms (INVALID_SESSION_TIMEOUT)."
        yield InvalidQuestion(detail, "timing", "session_timeout_ms")
    if heartbeat >= session:
        detail = "Heartbeat must be set lower than the session timeout."
        yield InvalidQuestion(detail, "timing", "heartbeat_interval_ms")
    if taken.rebalance_timeout_ms < heartbeat + taken.poll_interval_ms:
        detail = "Shorter than a heartbeat interval and a poll interval: members would be removed before they notice a rebalance."
        yield InvalidQuestion(detail, "timing", "rebalance_timeout_ms")


def _event_faults(question: RebalancesQuestion) -> Iterator[InvalidQuestion]:
    """Events that are not in the order of time, and changes that the protocol does not have."""
    protocol, before, fits = question.protocol, 0, True
    for i, event in enumerate(question.events):
        if event["at_ms"] < before:
            yield InvalidQuestion("Must not be earlier than the event before it.", "events", i, "at_ms")
        before = event["at_ms"]
        if "group_protocol" in event:
            if protocol != "classic":
                detail = f"The group's protocol is {protocol}; only a classic group can change its protocol."
                yield InvalidQuestion(detail, "events", i, "group_protocol")
                fits = False
            else:
                protocol = event["group_protocol"]
        elif "assignors" in event and protocol == "share":
            yield InvalidQuestion(
                "The brokers set the assignor of a share group; it cannot change here.", "events", i, "assignors"
            )
            fits = False
    if fits:
        try:
            assignor_changes(question, question.protocol)
        except UnknownStrategy as fault:
            yield fault


PAUSE_MS: Final = 60_000
"""Between two restarts of an assignor_changes, by default."""

SAME: Final = (
    "at_ms",
    "type",
    "member_id",
    "for_ms",
    "new_member_id",
    "members_count",
    "partitions_count",
    "down_ms",
    "pause_ms",
)
"""The fields of an event that are the same in a timeline."""


@dataclass(frozen=True)
class Names:
    """Every topic name of a question, in Java's order.

    index : of each name; everywhere : the topics of the group, to which a member without ``topic_names`` subscribes
    """

    names: tuple[str, ...]
    index: dict[str, int]
    everywhere: tuple[int, ...]

    @classmethod
    def of(cls, question: RebalancesQuestion) -> Self:
        """The names of a question."""
        own: list[str] = question.topics.field("topic_name").to_pylist()
        distinct = dict.fromkeys(own)
        distinct.update(dict.fromkeys(question.members.field("topic_names").values.to_pylist()))
        for event in question.events:
            distinct.update(dict.fromkeys(event.get("topic_names", ())))
            distinct.update(dict.fromkeys(event.get("member", {}).get("topic_names") or ()))
            distinct.update(
                dict.fromkeys(name for name in (event.get("topic", {}).get("topic_name"), event.get("topic_name")) if name)
            )
        unordered = list(distinct)
        names = tuple(unordered[i] for i in java_order(unordered))
        index = {name: i for i, name in enumerate(names)}
        return cls(names, index, tuple(sorted(index[name] for name in own)))

    def topics(self, names: list[str] | None) -> tuple[int, ...]:
        """A subscription; None is one to every topic of the group."""
        return self.everywhere if names is None else tuple(dict.fromkeys(self.index[name] for name in names))

    def event(self, row: Row, change: tuple[str, Assignor] | None) -> Event:
        """An event. change : see ``assignor_changes``"""
        fields: dict[str, Any] = {name: row[name] for name in SAME if name in row}
        fields["new_member_ids"] = tuple(row.get("new_member_ids", ()))
        if change is not None:
            return Event(**{"pause_ms": PAUSE_MS, **fields}, group_protocol=change[0], assignors=(change[1],))
        if "member" in row:
            member = row["member"]
            subscription = self.topics(member.get("topic_names"))
            rack_id = member.get("rack_id") or None
            ids = (member.get("member_id", ""), member.get("instance_id"))
            fields["member"] = NewMember(*ids, rack_id, subscription, member.get("member_name"))
        if "topic_names" in row:
            fields["topics"] = self.topics(row["topic_names"])
        if "topic" in row:
            fields |= {"topic": self.index[row["topic"]["topic_name"]], "partitions_count": row["topic"]["partitions_count"]}
        if "topic_name" in row:
            fields["topic"] = self.index[row["topic_name"]]
        return Event(**fields)


def read_timeline(question: RebalancesQuestion, detail: str, most_explained: int) -> Timeline:
    """The timeline of a checked question. Raises InvalidQuestion for owned partitions that a stable group cannot have."""
    topics, created_by = _topics(question)
    try:
        group = read_group(topics, question.members)
    except InvalidQuestion as fault:
        _locate(fault, len(question.topics), created_by)
        raise
    created = np.array([i for i, name in enumerate(group.topics.names) if name in created_by], np.int32)
    _check_owned(group, created, shared=question.protocol == "share")
    names, changes = Names.of(question), assignor_changes(question, question.protocol)
    events = tuple(names.event(row, changes.get(i)) for i, row in enumerate(question.events))
    world, to_world = _world(group.topics, created, names, events)
    own_racks = [event.member.rack_id for event in events if event.member is not None and event.member.rack_id]
    return Timeline(
        group_protocol=question.protocol,
        assignor=strategy(question),
        kafka_version=question.kafka_version,
        world=world,
        group=replace(
            group,
            owned=Ragged(group.owned.offsets, to_world[group.owned.values]),
            rack_ids=tuple(dict.fromkeys((*group.rack_ids, *own_racks))),
        ),
        subscriptions=tuple(names.topics(row) for row in question.members.field("topic_names").to_pylist()),
        timing=timing(question, question.protocol),
        events=events,
        detail=detail,
        most_explained=most_explained,
        random_seed=question.random_seed or 0,
        client_id=default_client_id(strategy(question).name.partition(":")[0], question.group_id),
    )


def _topics(question: RebalancesQuestion) -> tuple[pa.StructArray, dict[str, int]]:
    """Every topic of the group, then every other one that an event creates; and of these, by name, the number of the event.

    Raises InvalidQuestion for a topic that is created again, but not as it was: a name stands for one topic.
    """
    own = question.topics
    rows: dict[str, Row] = {}
    formers: dict[str, Row] = {}
    created_by: dict[str, int] = {}
    places = {name: i for i, name in enumerate(own.field("topic_name").to_pylist())}
    for i, event in enumerate(question.events):
        if "topic" not in event:
            continue
        topic = event["topic"]
        name = topic["topic_name"]
        if name not in places and name not in rows:
            rows[name], created_by[name] = topic, i
            continue
        if name not in rows and name not in formers:
            formers[name] = own[places[name]].as_py()
        former = rows.get(name) or formers[name]
        for each in ("topic_id", "partition_racks", "partition_weights"):
            given, was = topic.get(each), former.get(each)
            if given is not None and (was is None or given != was[: len(given)]):
                detail = f"Must be absent or as before: the simulation has one {each} for each topic name."
                raise InvalidQuestion(detail, "events", i, "topic", each)
    if not rows:
        return own, {}
    return pa.concat_arrays([own, pa.array(list(rows.values()), own.type)]), created_by


def _locate(fault: InvalidQuestion, own: int, created_by: dict[str, int]) -> None:
    """Locate what is wrong with created topics at their events. own : how many topics come before them"""
    events = list(created_by.values())
    for one in (fault, *fault.others):
        if one.field[:1] == ("topics",) and isinstance(place := one.field[1], int) and place >= own:
            one.field = ("events", events[place - own], "topic", *one.field[2:])


def _check_owned(group: Group, created: Int32s, *, shared: bool) -> None:
    """Raise InvalidQuestion if a stable group could not own what its members say. created : topics that come later"""
    members, values = group.owned.row_of_each_value(), group.owned.values
    exists = np.zeros(group.total_partitions, np.bool_)
    exists[: group.topics.partitions_count] = ~np.isin(group.topics.topic_of, created)
    wrong = np.flatnonzero(~exists[values])
    if len(wrong):
        detail = "Owns partitions that do not exist; a stable group does not."
        raise InvalidQuestion(detail, "members", int(members[wrong[0]]), "owned_partitions")
    order = np.argsort(values, kind="stable")
    again = order[1:][values[order][1:] == values[order][:-1]]
    if len(again) and not shared:
        detail = "Owns a partition that another member owns, too; in a stable group each has one owner."
        raise InvalidQuestion(detail, "members", int(members[again.min()]), "owned_partitions")


def _world(topics: Topics, created: Int32s, names: Names, events: tuple[Event, ...]) -> tuple[World, Int32s]:
    """Every topic at its largest; and int32[partitions], the index of each partition of these topics among those.

    topics : with those that are created at their first size; created : which these are
    """
    places = np.array([names.index[name] for name in topics.names], np.int32)
    most = np.zeros(len(names.names), np.int32)
    most[places] = topics.partitions_counts()
    counts = most.copy()
    counts[places[created]] = 0
    ids: list[str | None] = [None] * len(counts)
    for place, topic_id in zip(places.tolist(), topics.ids, strict=True):
        ids[place] = topic_id
    for event in events:
        if event.topic != NONE:
            most[event.topic] = max(most[event.topic], event.partitions_count)
    first = offsets_of(most)
    own = topics.partitions_counts()
    starts = np.repeat(first[places] - topics.first[:-1], own)
    to_world = (starts + np.arange(topics.partitions_count)).astype(np.int32)
    racks = leader_racks = None
    if topics.racks is not None and topics.leader_racks is not None:
        lengths = np.zeros(int(first[-1]), np.int32)
        lengths[to_world] = topics.racks.lengths()
        racks = Ragged.of_lengths(lengths, topics.racks.values)
        leader_racks = np.full(int(first[-1]), NONE, np.int32)
        leader_racks[to_world] = topics.leader_racks
    weights = None if topics.weights is None else _weights(topics.weights, to_world, first)
    unknown = None if topics.unknown is None else np.isin(np.arange(first[-1]), to_world[topics.unknown])
    listed = places if topics.listed is None else places[topics.listed]
    return World(names.names, tuple(ids), first, counts, listed, racks, leader_racks, weights, unknown), to_world


def _weights(own_weights: Float64s, to_world: Int32s, first: Int32s) -> Float64s:
    """float64[world's partitions]: as given, and for partitions that are added the mean of their topic."""
    weights = np.full(int(first[-1]), np.nan)
    weights[to_world] = own_weights
    topics, is_given = np.repeat(np.arange(len(first) - 1), np.diff(first)), ~np.isnan(weights)
    given = np.bincount(topics[is_given], minlength=len(first) - 1)
    means = np.bincount(topics[is_given], weights[is_given], minlength=len(first) - 1) / np.maximum(given, 1)
    return np.where(is_given, weights, means[topics])
