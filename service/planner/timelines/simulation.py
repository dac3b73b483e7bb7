"""A timeline from its start to its end: what each event does to the members, the topics and the clients; rolling restarts."""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, Final

import numpy as np

from service.core.assignors import Assignor
from service.core.errors import InvalidQuestion
from service.core.model import NONE
from service.core.printable import counted
from service.planner.assignor_changes import restarts
from service.planner.timelines.classic.clients import ClassicClients
from service.planner.timelines.classic.coordinator import ClassicCoordinator
from service.planner.timelines.consumer.clients import ConsumerClients
from service.planner.timelines.course import EVENTS, PASSED, STEP_CELLS, Course
from service.planner.timelines.members import Member
from service.planner.timelines.model import (
    NEVER,
    End,
    Event,
    NewMember,
    Reading,
    Tick,
    Timeline,
    TimelineOutcome,
    TimelineRebalance,
    Timing,
    Totals,
    Unread,
)
from service.planner.timelines.share import ShareClients

CLIENTS: Final[dict[str, type[ClassicClients | ConsumerClients]]] = {
    "classic": ClassicClients,
    "consumer": ConsumerClients,
    "share": ShareClients,
}
"""The clients of each protocol, which bring their coordinator."""

NAMED: Final = 5
"""Members that an error names at most."""


class Simulation:
    """A timeline that is being lived through, as far as ``run`` has come, with a method for each type of event.

    It can be copied (``copy.deepcopy``) at any time and continued: the two halves are the whole. ``close`` ends its use.

    clients : those of the group's present protocol
    """

    def __init__(self, timeline: Timeline) -> None:
        self.course = Course(timeline)
        self.course.parties.append(self)
        self.clients: ClassicClients | ConsumerClients = CLIENTS[timeline.group_protocol](self.course)
        for index, event in enumerate(timeline.events):
            self.course.clock.at(event.at_ms, self._happen, index, event, rank=EVENTS)
        self._begin()

    def run(self, tick: Tick = lambda _: None, until_ms: int = NEVER) -> None:
        """Go on to ``until_ms``, or to the end. Raises InvalidQuestion for an event that cannot happen."""
        self.course.clock.run(tick, until_ms)

    def close(self) -> None:
        """Let go of everything but the outcome."""
        self.course.close()

    def _begin(self) -> None:
        """The start: the members of the question join, or are there with what they own."""
        group, course = self.course.timeline.group, self.course
        stable = len(group.owned.values) > 0
        course.ledger.exist(course.topology.existing(), 0)
        for i, topics in enumerate(course.timeline.subscriptions):
            rack = None if group.racks[i] == NONE else group.rack_ids[group.racks[i]]
            member = self._start(NewMember(group.member_ids[i], group.instance_ids[i], rack, topics))
            if stable:
                course.present[member.number] = member
            else:
                self.clients.join(member)
        if stable:
            owned, owners = group.owned.values, group.owned.row_of_each_value()
            course.ledger.start(owned, owners, np.zeros(len(owned), np.int64), None)
            self.clients.coordinator.resume(group)

    def _start(self, fields: NewMember, assignors: tuple[Assignor, ...] = ()) -> Member:
        """Start a new client. In a share group a ``group.instance.id`` means nothing."""
        timeline = self.course.timeline
        instance_id = None if timeline.group_protocol == "share" else fields.instance_id
        chosen = assignors or timeline.assignor.listed
        name, protocol = fields.name or fields.member_id, timeline.group_protocol
        member = Member(name, fields.member_id, instance_id, fields.rack_id, chosen, protocol)
        return self.course.start(member, fields.topics)

    def _happen(self, index: int, event: Event) -> None:
        self.course.cause = index
        getattr(self, f"_{event.type}")(event)

    def _later(self, at_ms: int, call: Callable[..., Any], *values: Any) -> None:
        """Have something called that follows from the present event, in whatever protocol the group has then."""
        self.course.clock.at(at_ms, self._call, self.course.cause, call, values)

    def _call(self, cause: int | None, call: Callable[..., Any], values: tuple[Any, ...]) -> None:
        self.course.cause = cause
        call(*values)

    # ---- members -------------------------------------------------------------------------------------------------------

    def _find(self, event: Event) -> Member:
        """The running member that an event names, by its id or by the id of its first incarnation."""
        member = self.course.latest.get(event.member_id)
        if member is None or self.course.members.columns.died[member.number] != NEVER:
            known = "has ended before" if member else "is not in the group at"
            running = [
                name for name, each in self.course.latest.items() if self.course.members.columns.died[each.number] == NEVER
            ]
            listed = ", ".join(map(repr, running[:NAMED])) + (", …" if len(running) > NAMED else "")
            detail = f"Member {event.member_id!r} {known} {event.at_ms} ms. Members then: {listed or 'none'}."
            raise self.course.fault(detail, "member_id")
        return member

    def _join(self, member: Member) -> None:
        """A started client joins. A classic group that a member of the consumer protocol joins is converted to that."""
        if isinstance(self.clients, ClassicClients) and member.protocol != "classic":
            self.clients = ConsumerClients.converted(self.course, self.clients.coordinator)
        self.clients.join(member)

    def _stop(self, member: Member) -> None:
        """End a client in good order."""
        self.course.clock.spend(STEP_CELLS + len(self.course.ledger.reader) // PASSED)
        self.course.members.columns.died[member.number] = self.course.clock.now
        self.clients.leave(member)

    def _member_joins(self, event: Event) -> None:
        fields = event.member
        if fields is None:
            raise AssertionError("an event without its member")
        name = fields.name or fields.member_id
        if self.course.members.is_taken(name) or name in self.course.latest:
            detail = f"Member {name!r} has been in the group before; a new member needs an id of its own."
            raise self.course.fault(detail, "member", "member_id")
        if not fields.member_id:
            (drawn,) = self.course.members.further(self.course.running(), 1, self.course.protocol, fields.name)
            fields = replace(fields, member_id=drawn.member_id)
        self._join(self._start(fields))

    def _member_leaves(self, event: Event) -> None:
        self._stop(self._find(event))

    def _member_crashes(self, event: Event) -> None:
        member = self._find(event)
        self.course.members.columns.died[member.number] = self.course.clock.now
        self.clients.crash(member)

    def _member_stalls(self, event: Event) -> None:
        member = self._find(event)
        stalled_until = self.course.members.columns.stalled_until
        stalled_until[member.number] = max(self.course.clock.now + event.for_ms, stalled_until[member.number])
        self.clients.stall(member)

    def _subscription_changes(self, event: Event) -> None:
        member, members = self._find(event), self.course.members
        members.columns.topics[member.number] = members.subscription(event.topics)
        members.columns.metadata_ms[member.number] = self.course.clock.now
        self.course.count_partitions()
        self.clients.resubscribe(member)

    def _scales(self, event: Event) -> None:
        course, running = self.course, self.course.running()
        for member in running[event.members_count :][::-1]:
            self._stop(member)
        if running:
            topics, assignors = course.members.topics_of(running[-1].number), running[-1].assignors
        else:
            topics, assignors = tuple(np.flatnonzero(course.timeline.world.counts).tolist()), ()
        if event.members_count > len(running) and len({course.members.topics_of(member.number) for member in running}) > 1:
            course.alike = topics
        further = course.members.further(running, max(0, event.members_count - len(running)), course.protocol)
        for fields in further:
            self._join(self._start(replace(fields, topics=topics), assignors))

    # ---- restarts ------------------------------------------------------------------------------------------------------

    def _member_restarts(self, event: Event) -> None:
        self._restart(self._find(event), event.down_ms, event.new_member_id)

    def _restart(self, member: Member, down_ms: int, member_id: str | None = None, **changes: Any) -> None:
        if member_id is not None and self.course.members.is_taken(member_id):
            field = "new_member_id" if self.course.timeline.events[self.course.cause or 0].new_member_id else "new_member_ids"
            raise self.course.fault(f"Duplicate member_id {member_id!r}.", field)
        self._stop(member)
        self._later(self.course.clock.now + down_ms, self._return, member, member_id, changes)

    def _return(self, member: Member, member_id: str | None, changes: dict[str, Any]) -> None:
        """A client starts again, as a new incarnation."""
        self._join(self.course.restart(member, member_id, **changes))

    def _rolling_restart(self, event: Event) -> None:
        self._begin_roll([(member.name, {}) for member in self.course.running()], event)

    def _assignor_changes(self, event: Event) -> None:
        """Rolling restarts: one to another protocol, or to another client's assignor of that name; two to another assignor."""
        names, members = [member.name for member in self.course.running()], self.course.members.all
        old = members[-1].assignors[0] if members else self.course.timeline.assignor
        if event.group_protocol != "classic":
            bounces: list[dict[str, Any]] = [{"protocol": event.group_protocol, "assignors": event.assignors}]
        else:
            try:
                lists = restarts(old, event.assignors[0])
            except InvalidQuestion as fault:
                raise self.course.fault(fault.detail, "assignors") from None
            bounces = [{"protocol": "classic", "assignors": chosen} for chosen in lists]
        self._begin_roll([(name, changes) for changes in bounces for name in names], event)

    def _begin_roll(self, steps: list[tuple[str, dict[str, Any]]], event: Event) -> None:
        if len(event.new_member_ids) > len(steps):
            raise self.course.fault(f"{len(event.new_member_ids)} ids for {len(steps)} restarts.", "new_member_ids")
        self._roll(deque(steps), deque(event.new_member_ids), event)

    def _roll(self, steps: deque[tuple[str, dict[str, Any]]], ids: deque[str], event: Event) -> None:
        """Restart one member after the other; those that have ended or migrated meanwhile are skipped."""
        while steps:
            name, changes = steps.popleft()
            member = self.course.latest[name]
            migrated = changes.get("protocol") == "classic" != member.protocol
            if self.course.members.columns.died[member.number] == NEVER and not migrated:
                self._restart(member, event.down_ms, ids.popleft() if ids else None, **changes)
                self._later(self.course.clock.now + event.down_ms + event.pause_ms, self._roll, steps, ids, event)
                return

    # ---- topics --------------------------------------------------------------------------------------------------------

    def _topic_created(self, event: Event) -> None:
        if self.course.topology.counts[event.topic]:
            raise self._topic_fault(event, "exists already", "topic", "topic_name")
        self._change_topic(event)

    def _topic_deleted(self, event: Event) -> None:
        if not self.course.topology.counts[event.topic]:
            raise self._topic_fault(event, "does not exist", "topic_name")
        self._change_topic(event)

    def _partitions_added(self, event: Event) -> None:
        before = int(self.course.topology.counts[event.topic])
        if before == 0:
            raise self._topic_fault(event, "does not exist", "topic_name")
        if event.partitions_count <= before:
            raise self._topic_fault(event, f"has {counted(before, 'partition')} already", "partitions_count")
        self._change_topic(event)

    def _topic_fault(self, event: Event, fault: str, *field: str) -> InvalidQuestion:
        return self.course.fault(f"Topic {self.course.timeline.world.names[event.topic]!r} {fault} at {event.at_ms} ms.", *field)

    def _change_topic(self, event: Event) -> None:
        self.course.topology.change(self.course.clock.now, event.topic, event.partitions_count)
        self.course.version_causes.append(self.course.cause)
        self.course.count_partitions()
        self.clients.topics_changed()

    # ---- the outcome ---------------------------------------------------------------------------------------------------

    def outcome(self) -> TimelineOutcome:
        """What has come out until now."""
        course = self.course
        rebalances = [rebalance for rebalance in course.rebalances if rebalance.epoch]
        had_members, derived, cells = bool(course.members.all), course.members.derived, course.clock.spent
        start = _totals(course, rebalances, is_start=True) if course.forms else None
        totals = _totals(course, rebalances, is_start=False)
        end, readings = self._end(), _readings(course)
        return TimelineOutcome(rebalances, totals, start, end, course.alike, had_members, derived, readings, cells)

    def _end(self) -> End:
        """How the group is now."""
        course, coordinator = self.course, self.clients.coordinator
        running, since = course.running(), course.ledger.unread_since()
        leader = coordinator.leader if isinstance(coordinator, ClassicCoordinator) else NONE
        leader_id = course.present[leader].member_id if leader in course.present else None
        subscribed = {topic for member in running for topic in course.members.topics_of(member.number)}
        unread, sizes = np.flatnonzero(since < NEVER), course.topology.counts
        topics, first, counts = np.unique(course.topology.topic_of[unread], return_index=True, return_counts=True)
        latest = np.maximum.reduceat(since[unread], first).tolist() if len(first) else []
        rows = tuple(
            Unread(topic, count, int(sizes[topic]), at, reason if running else "no_member")
            for topic, count, at in zip(topics.tolist(), counts.tolist(), latest, strict=True)
            for reason in ("not_assigned" if topic in subscribed else "no_subscriber",)
        )
        empty_since = None if running else int(course.members.columns.died[: len(course.members.all)].max(initial=0))
        return End(coordinator.state, len(running), empty_since, leader_id, int(course.ledger.existing.sum()), rows)


def _readings(course: Course) -> list[Reading] | None:
    if course.ledger.log is None:
        return None
    steps: list[dict[int, int]] = [{} for _ in course.members.all]
    for at, number, change in sorted(course.ledger.log):
        steps[number][at] = steps[number].get(at, 0) + change
    readings = []
    for member, changes in zip(course.members.all, steps, strict=True):
        counts = accumulate(changes.values())
        died = int(course.members.columns.died[member.number])
        ended = None if died == NEVER else died
        readings.append(Reading(member.member_id, member.name, member.started_ms, ended, list(zip(changes, counts, strict=True))))
    return readings


def _totals(course: Course, every: list[TimelineRebalance], *, is_start: bool) -> Totals:
    """What the events cost, or the forming of the group."""
    rebalances = [each for each in every if each.is_start == is_start]
    last_event = 0 if is_start else max((event.at_ms for event in course.timeline.events), default=0)
    end_ms = max([last_event, *(rebalance.stable_at_ms or rebalance.at_ms for rebalance in rebalances)])
    ledger, start_requests = course.ledger, course.start_requests
    catch_ups = [rebalance.catch_up_ms for rebalance in rebalances if rebalance.catch_up_ms is not None]
    rated = course.timing.consumption_rate is not None and ledger.weights is not None
    moves = [rebalance.movement for rebalance in rebalances if rebalance.movement is not None]
    undelivered = ledger.start_undelivered if is_start else ledger.undelivered
    return Totals(
        rebalances=len(rebalances),
        idle=ledger.start_idle if is_start else ledger.idle,
        moved=sum(move.moved for move in moves) + sum(rebalance.withheld for rebalance in rebalances),
        revoked=sum(move.revoked for move in moves),
        worst_skew=max((rebalance.load.skew for rebalance in rebalances if rebalance.load is not None), default=1.0),
        requests=start_requests if is_start else course.requests_total - start_requests,
        end_ms=end_ms,
        undelivered=None if ledger.weights is None else undelivered,
        longest_catch_up_ms=max(catch_ups, default=0.0) if rated else None,
    )


@dataclass(frozen=True)
class Variant:
    """A way to run the group.

    static : must all members have a ``group.instance.id`` (True), none (False), or as given (None)?
    timing : what broker and clients wait for in this way
    changes : number of an event that changes the assignor → the protocol and the assignor of the group from then on
    """

    group_protocol: str
    assignor: Assignor
    static: bool | None
    timing: Timing
    changes: Mapping[int, tuple[str, Assignor]]


def varied(timeline: Timeline, variant: Variant) -> Timeline:
    """The same events for a group that is run in another way; only totals are kept. A member's id becomes its instance_id."""
    group, static = timeline.group, variant.static
    if static is not None:
        ids = tuple(instance or member for instance, member in zip(group.instance_ids, group.member_ids, strict=True))
        group = replace(group, instance_ids=ids if static else (None,) * len(group))
    return replace(
        timeline,
        group_protocol=variant.group_protocol,
        assignor=variant.assignor,
        timing=variant.timing,
        group=group,
        events=tuple(_varied(event, variant.changes.get(i), static=static) for i, event in enumerate(timeline.events)),
        detail="totals",
        most_explained=0,
    )


def _varied(event: Event, change: tuple[str, Assignor] | None, *, static: bool | None) -> Event:
    if change is not None:
        return replace(event, group_protocol=change[0], assignors=(change[1],))
    if event.member is None or static is None:
        return event
    instance_id = (event.member.instance_id or event.member.name or event.member.member_id) if static else None
    return replace(event, member=replace(event.member, instance_id=instance_id))
