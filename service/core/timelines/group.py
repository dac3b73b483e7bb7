"""What a group goes through under every protocol: the events, rolling restarts, and the group as an assignor sees it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np

from service.core.assignors import Assignor
from service.core.errors import InvalidQuestion
from service.core.measures import spread, weighted_load
from service.core.model import NONE, Assignment, Float64s, Group, Int32s, Int64s, Ragged
from service.core.ragged import grouped, transposed
from service.core.rebalances.fewest_moves import fewest_possible_moves
from service.core.rebalances.movement import movement
from service.core.timelines.clock import EVENTS, STEP_CELLS, TIMERS, Clock
from service.core.timelines.ledger import Ledger
from service.core.timelines.members import Member, Members, Present, distinct
from service.core.timelines.model import NEVER, Event, NewMember, Rebalance, Request, Timeline
from service.core.timelines.paces import Paces
from service.core.timelines.topics import Topology, View

CLIENTS_OWN: Final = ("_return", "_roll")
"""The methods that go on in a converted group: what clients do, and not what its former coordinator waits for."""

REBALANCE_CELLS: Final = 10_000
"""The cells (see ``Clock``) that a rebalance spends on the smallest group."""

MEMBER_CELLS: Final = 16
"""The cells (see ``Clock``) that a rebalance spends on a member: as many as on this many partitions."""

PASSED: Final = 16
"""Partitions or members that a pass looks at for a cell."""


class GroupTimeline(Paces, ABC):
    """One group's timeline under one protocol.

    heir : what the group was converted to, or None
    version_causes : the event behind each version of the topology
    present : the members that the coordinator has, by number, in the order in which it got them
    cause : the index of the event from which all that happens now follows; None for the forming of the group
    """

    protocol: str

    def __init__(self, timeline: Timeline, *, begins: bool = True) -> None:
        self.heir: GroupTimeline | None = None
        self.timeline, self.timing = timeline, timeline.timing
        self.clock, self.members = Clock(), Members()
        self.topology = Topology(timeline.world)
        logs = timeline.detail == "assignments"
        self.ledger = Ledger.of(int(timeline.world.first[-1]), timeline.world.weights, logs=logs)
        self.present = Present()
        self.rebalances: list[Rebalance] = []
        self.cause: int | None = None
        self.detailed = timeline.detail == "assignments"
        self._cost = timeline.cost()
        self.requests_total = 0
        self.version_causes: list[int | None] = [None]
        self._latest: dict[str, Member] = {}
        self._counted_topics: set[tuple[int, ...]] = set()
        self._same: tuple[View | None, int, Ragged] = (None, NONE, Ragged(np.zeros(1, np.int32), np.empty(0, np.int32)))
        for index, event in enumerate(timeline.events if begins else ()):
            self.clock.at(event.at_ms, self._happen, index, event, rank=EVENTS)

    # ---- what each protocol does in its own way ------------------------------------------------------------------------

    @abstractmethod
    def begin(self) -> None:
        """The start: the members of the question join, or are there with what they own."""

    @abstractmethod
    def join(self, member: Member, *, starts: bool = True) -> None:
        """A client joins. starts : has it just started? Then it looks for its coordinator first"""

    @abstractmethod
    def leave(self, member: Member, client_reason: str) -> None:
        """A client closes in good order."""

    @abstractmethod
    def crash(self, member: Member) -> None:
        """A client ends without a word."""

    @abstractmethod
    def stall(self, member: Member) -> None:
        """A client does not poll until ``members.stalled_until``."""

    @abstractmethod
    def resubscribe(self, member: Member) -> None:
        """A client has changed its subscription."""

    @abstractmethod
    def topics_changed(self) -> None:
        """The topology has a new version."""

    @abstractmethod
    def state(self) -> str:
        """The group's state, as Kafka names it."""

    # ---- events --------------------------------------------------------------------------------------------------------

    def later(self, at_ms: int, call: Callable[..., Any], *values: Any) -> None:
        """Have one of this group's methods called, which follows from the present event."""
        self.clock.at(at_ms, self._call, self.cause, call, values, rank=TIMERS)

    def _call(self, cause: int | None, call: Callable[..., Any], values: tuple[Any, ...]) -> None:
        group = self.last_heir()
        group.cause = cause
        if group is self:
            call(*values)
        elif call.__name__ in CLIENTS_OWN:
            getattr(group, call.__name__)(*values)

    def _happen(self, index: int, event: Event) -> None:
        group = self.last_heir()
        group.cause = index
        getattr(group, f"_{event.type}")(event)

    def last_heir(self) -> GroupTimeline:
        """What the group was converted to; itself, if it was not."""
        return self if self.heir is None else self.heir.last_heir()

    def inherit(self, group: GroupTimeline) -> None:
        """Take over another group's clients, in the middle of its timeline: the group is converted to another protocol."""
        for name in ("clock", "members", "topology", "ledger", "present", "rebalances", "cause", "version_causes"):
            setattr(self, name, getattr(group, name))
        self.requests_total = group.requests_total
        self._latest, self._counted_topics = group._latest, group._counted_topics
        group.heir = self

    def _find(self, event: Event) -> Member:
        """The running member that an event names, by its id or by the id of its first incarnation."""
        member = self._latest.get(event.member_id)
        if member is None or self.members.died[member.number] != NEVER:
            known = "has ended before" if member else "is not in the group at"
            raise InvalidQuestion(f"Member {event.member_id!r} {known} {event.at_ms} ms.", "events", self.cause or 0, "member_id")
        return member

    def start(self, fields: NewMember, assignors: tuple[Assignor, ...] | None = None) -> Member:
        """Start a client."""
        return self._start(
            fields.topics,
            name=fields.member_id,
            member_id=fields.member_id,
            instance_id=fields.instance_id,
            rack_id=fields.rack_id,
            assignors=assignors or (self.timeline.assignor,),
            protocol=self.timeline.group_protocol,
        )

    @staticmethod
    def first_member(group: Group, i: int, topics: tuple[int, ...]) -> NewMember:
        """A member of the question."""
        rack = None if group.racks[i] == NONE else group.rack_ids[group.racks[i]]
        return NewMember(group.member_ids[i], group.instance_ids[i], rack, topics)

    def _start(self, topics: tuple[int, ...], **fields: Any) -> Member:
        self.clock.spend(STEP_CELLS)
        member = self.members.start(self.clock.now, Member(number=NONE, started_ms=self.clock.now, **fields), topics)
        self._latest[member.name] = self._latest[member.member_id] = member
        if topics not in self._counted_topics:
            self.count_partitions()
        return member

    def running(self) -> list[Member]:
        """The clients that run, in the order in which their names first came."""
        latest = dict.fromkeys(member.number for name, member in self._latest.items() if name == member.name)
        return [self.members.all[number] for number in latest if self.members.died[number] == NEVER]

    def count_partitions(self) -> None:
        """Tell the ledger which partitions need a reader: those that exist, of topics that somebody subscribes to."""
        self.clock.spend(STEP_CELLS + len(self._latest) + len(self.ledger.reader) // PASSED)
        running = {self.members.topics_of(member.number) for member in self.running()}
        self._counted_topics = running or self._counted_topics
        names = np.zeros(len(self.timeline.world.names), np.bool_)
        for topics in self._counted_topics:
            names[list(topics)] = True
        counted = names[self.topology.topic_of] & self.topology.existing()
        if not np.array_equal(counted, self.ledger.counted):
            self.ledger.count(counted, self.clock.now)

    def _member_joins(self, event: Event) -> None:
        fields = event.member
        if fields is None:
            raise AssertionError("an event without its member")
        if self.members.is_taken(fields.member_id):
            detail = f"Member {fields.member_id!r} has been in the group before; a new member needs an id of its own."
            raise InvalidQuestion(detail, "events", self.cause or 0, "member", "member_id")
        self.join(self.start(fields))

    def _member_leaves(self, event: Event) -> None:
        self.close(self._find(event))

    def close(self, member: Member) -> None:
        """End a client in good order."""
        self.clock.spend(STEP_CELLS + len(self.ledger.reader) // PASSED)
        self.members.died[member.number] = self.clock.now
        self.leave(member, "the consumer is being closed")

    def _member_crashes(self, event: Event) -> None:
        member = self._find(event)
        self.members.died[member.number] = self.clock.now
        self.crash(member)

    def _member_stalls(self, event: Event) -> None:
        member = self._find(event)
        until = self.clock.now + event.for_ms
        self.members.stalled_until[member.number] = max(until, self.members.stalled_until[member.number])
        self.stall(member)

    def _member_restarts(self, event: Event) -> None:
        self._restart(self._find(event), event.down_ms, event.new_member_id)

    def _restart(self, member: Member, down_ms: int, member_id: str | None = None, **changes: Any) -> None:
        if member_id is not None and self.members.is_taken(member_id):
            field = "new_member_id" if self.timeline.events[self.cause or 0].new_member_id else "new_member_ids"
            raise InvalidQuestion(f"Duplicate member_id {member_id!r}.", "events", self.cause or 0, field)
        self.close(member)
        self.later(self.clock.now + down_ms, self._return, member, member_id, changes)

    def _return(self, member: Member, member_id: str | None, changes: dict[str, Any]) -> None:
        """A client starts again, as a new incarnation."""
        again = self.successor(member, member_id, **changes)
        self.join(again)

    def successor(self, member: Member, member_id: str | None = None, **changes: Any) -> Member:
        """The next incarnation of a member, started."""
        fields: dict[str, Any] = {
            "name": member.name,
            "member_id": self.members.next_id(member.name, member_id, member.instance_id),
            "instance_id": member.instance_id,
            "rack_id": member.rack_id,
            "assignors": member.assignors,
            "protocol": member.protocol,
        }
        return self._start(self.members.topics_of(member.number), **{**fields, **changes})

    def _rolling_restart(self, event: Event) -> None:
        self._begin_roll([(member.name, {}) for member in self.running()], event)

    def _begin_roll(self, steps: list[tuple[str, dict[str, Any]]], event: Event) -> None:
        if len(event.new_member_ids) > len(steps):
            detail = f"{len(event.new_member_ids)} ids for {len(steps)} restarts."
            raise InvalidQuestion(detail, "events", self.cause or 0, "new_member_ids")
        self._roll(deque(steps), deque(event.new_member_ids), event)

    def _roll(self, steps: deque[tuple[str, dict[str, Any]]], ids: deque[str], event: Event) -> None:
        """Restart one member after the other; those that have ended or migrated meanwhile are skipped."""
        while steps:
            name, changes = steps.popleft()
            member = self._latest[name]
            migrated = changes.get("protocol") == "classic" != member.protocol
            if self.members.died[member.number] == NEVER and not migrated:
                self._restart(member, event.down_ms, ids.popleft() if ids else None, **changes)
                self.later(self.clock.now + event.down_ms + event.pause_ms, self._roll, steps, ids, event)
                return

    def _assignor_changes(self, event: Event) -> None:
        names = [member.name for member in self.running()]
        old = self.timeline.assignor if not self.members.all else self.members.all[-1].assignors[0]
        if event.group_protocol != "classic":
            bounces: list[dict[str, Any]] = [{"protocol": event.group_protocol, "assignors": event.assignors}]
        else:
            # Until all members support the new assignor, the group uses the old one; only then may the old one go.
            both = (*event.assignors, *(assignor for assignor in (old,) if assignor not in event.assignors))
            bounces = [{"protocol": "classic", "assignors": chosen} for chosen in (both, event.assignors)]
        self._begin_roll([(name, changes) for changes in bounces for name in names], event)

    def _subscription_changes(self, event: Event) -> None:
        member = self._find(event)
        self.members.topics[member.number] = self.members.subscription(event.topics)
        self.members.metadata_ms[member.number] = self.clock.now
        self.count_partitions()
        self.resubscribe(member)

    def _topic_created(self, event: Event) -> None:
        if self.topology.counts[event.topic]:
            self._wrong_topic(event, "exists already", "topic", "topic_name")
        self._change_topic(event)

    def _topic_deleted(self, event: Event) -> None:
        if not self.topology.counts[event.topic]:
            self._wrong_topic(event, "does not exist", "topic_name")
        self._change_topic(event)

    def _partitions_added(self, event: Event) -> None:
        before = int(self.topology.counts[event.topic])
        if before == 0:
            self._wrong_topic(event, "does not exist", "topic_name")
        if event.partitions_count <= before:
            self._wrong_topic(event, f"has {before} partitions already", "partitions_count")
        self._change_topic(event)

    def _wrong_topic(self, event: Event, fault: str, *field: str) -> None:
        name = self.timeline.world.names[event.topic]
        raise InvalidQuestion(f"Topic {name!r} {fault} at {event.at_ms} ms.", "events", self.cause or 0, *field)

    def _change_topic(self, event: Event) -> None:
        self.topology.change(self.clock.now, event.topic, event.partitions_count)
        self.version_causes.append(self.cause)
        self.count_partitions()
        self.topics_changed()

    def _scales(self, event: Event) -> None:
        running = self.running()
        for member in running[event.members_count :][::-1]:
            self.close(member)
        topics = (
            self.members.topics_of(running[-1].number) if running else tuple(np.flatnonzero(self.timeline.world.counts).tolist())
        )
        for i in range(event.members_count - len(running)):
            name = f"scaled-{self.cause}-{i}"
            member_id = self.members.next_id(name, None, None)
            instance_id = name if running and running[-1].is_static else None
            fields = NewMember(member_id, instance_id, None, topics)
            assignors = running[-1].assignors if running else (self.timeline.assignor,)
            self.join(self.start(fields, assignors))

    # ---- what an assignor sees, and what its answer changes ------------------------------------------------------------

    def numbers(self) -> Int32s:
        """int32[...], the numbers of the members that the coordinator has."""
        return self.present.numbers()

    def group_of(self, numbers: Int32s, view: View, owner: Int32s) -> Group:
        """The group of these members. owner : int32[world's partitions], the number of the member that claims each, or NONE"""
        slots = np.full(len(self.members.all) + 1, NONE, np.int32)
        slots[numbers] = np.arange(len(numbers), dtype=np.int32)
        labels = slots[owner]
        if view.is_whole:
            return self.group_with(numbers, view, grouped(labels, len(numbers)), np.empty((0, 2), np.int32))
        unknown = np.flatnonzero((labels != NONE) & (view.from_world == NONE))
        unknown_partitions = np.empty((0, 2), np.int32)
        if len(unknown):
            topics = self.topology.topic_of[unknown]
            unknown_partitions = np.stack([view.topic_index[topics], unknown - self.timeline.world.first[topics]], axis=1).astype(
                np.int32
            )
            unknown = unknown[np.lexsort((unknown_partitions[:, 1], unknown_partitions[:, 0]))]
            unknown_partitions = unknown_partitions[np.lexsort((unknown_partitions[:, 1], unknown_partitions[:, 0]))]
        owned = grouped(np.concatenate([labels[view.to_world], labels[unknown]]), len(numbers))
        return self.group_with(numbers, view, owned, unknown_partitions)

    def group_with(self, numbers: Int32s, view: View, owned: Ragged, unknown_partitions: Int32s) -> Group:
        """The group of these members with what they own. owned : Ragged member → partitions of the view"""
        cells = REBALANCE_CELLS + MEMBER_CELLS * len(numbers) + view.topics.partitions_count + len(view.missing)
        self.clock.spend(self._cost * cells)
        rack_ids, members = self.timeline.group.rack_ids, self.members
        rack_index = {rack: i for i, rack in enumerate(rack_ids)}
        order = numbers.tolist()
        racks = [rack_index.get(members.racks[number] or "", NONE) for number in order] if rack_ids else NONE
        return Group(
            topics=view.topics,
            member_ids=tuple([members.ids[number] for number in order]),
            instance_ids=tuple([members.instance_ids[number] for number in order]),
            rack_ids=rack_ids,
            racks=np.broadcast_to(np.array(racks, np.int32), numbers.shape).copy(),
            subscriptions=self._subscriptions(members.joined[numbers], view),
            generations=members.generation[numbers].astype(np.int32),
            owned=owned,
            unknown_topic_names=view.missing,
            unknown_partitions=unknown_partitions,
        )

    def _subscriptions(self, codes: Int64s, view: View) -> Ragged:
        """Ragged member → topics of a ``Group``. codes : int64[...], the subscription of each"""
        rows = {code: view.topic_index[list(self.members.subscriptions[code])] for code in distinct(codes)}
        if len(rows) != 1:
            values = [rows[code] for code in codes.tolist()]
            offsets = np.zeros(len(codes) + 1, np.int32)
            np.cumsum([len(row) for row in values], out=offsets[1:])
            return Ragged(offsets, np.concatenate([np.empty(0, np.int32), *values]))
        ((code, row),) = rows.items()
        if self._same[0] is not view or self._same[1] != code or len(self._same[2]) < len(codes):
            offsets = np.arange(len(codes) + 1, dtype=np.int32) * np.int32(len(row))
            self._same = (view, code, Ragged(offsets, np.tile(row, len(codes))))
        same = self._same[2]
        return Ragged(same.offsets[: len(codes) + 1], same.values[: len(codes) * len(row)])

    def describe(self, rebalance: Rebalance, before: Group, assignment: Assignment, assignor: Assignor, view: View) -> None:
        """Write into a rebalance what the assignment is, and what it moves. before : the group with what its members had"""
        rows = assignment.rows
        owners = transposed(rows, before.topics.partitions_count + len(before.unknown_partitions))
        rebalance.assignor = assignor.name
        rebalance.members_count = len(before)
        rebalance.load = spread(rows.lengths())
        rebalance.movement = movement(before, owners)
        rebalance.withheld = 0 if assignment.withheld is None else len(assignment.withheld.values)
        if self.timeline.detail != "totals":
            rebalance.fewest_possible_moves = fewest_possible_moves(before, assignment.final_loads())
        if self.detailed:
            rebalance.assignment, rebalance.group, rebalance.counts = rows, before, rows.lengths()
            if self.timeline.most_explained and assignor.explain:
                rebalance.explanation = assignor.explain(before, assignment, self.timeline.most_explained)

    def backlog(self, rebalance: Rebalance, missed: Float64s, rows: Ragged, view: View) -> None:
        """Add what came in for idle partitions, and the time that their new readers take to work it off.

        missed : float64[members], what came in for the partitions that each gets; rows : what each is assigned
        """
        if view.topics.weights is None:
            return
        rebalance.backlog += float(missed.sum())
        rate = self.timing.consumption_rate
        if rate is not None:
            spare = rate - weighted_load(rows, view.topics.weights)
            behind = missed > 0
            times = np.where(spare[behind] > 0, missed[behind] / np.maximum(spare[behind], 1e-300) * 1000, np.inf)
            rebalance.catch_up_ms = max(rebalance.catch_up_ms or 0.0, float(times.max(initial=0.0)))

    def request(self, api: str, member: Member, at_ms: int, error: str = "") -> None:
        """Note a request in the rebalance that is under way, or the last."""
        self.requests_total += 1
        if self.rebalances:
            current = self.rebalances[-1]
            current.requests_count[api] = current.requests_count.get(api, 0) + 1
            if self.detailed:
                current.requests.append(Request(int(at_ms), api, member.member_id, error))

    def requests(self, api: str, numbers: Iterable[int], times: Int64s, error: str = "") -> None:
        """Note the same request of many members; those at NEVER are not sent."""
        sent = times < NEVER
        count = int(sent.sum())
        self.requests_total += count
        current = self.rebalances[-1]
        current.requests_count[api] = current.requests_count.get(api, 0) + count
        if self.detailed:
            rows = zip(numbers, times.tolist(), sent.tolist(), strict=True)
            current.requests += [
                Request(at, api, self.members.all[number].member_id, error) for number, at, is_sent in rows if is_sent
            ]
