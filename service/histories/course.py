"""Events → rebalances: when each began and ended, who was in the group before and after, and why it came.

The coordinator numbers rebalances: generations of a classic group, epochs of a consumer group (KIP-848). So the facts of all
sources meet at a number, and a number that no source tells of is a rebalance of which nothing else is known. A group that begins
to count again has been deleted or has expired, and lives once more.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Final

from service.histories.causes import GOES, UNSAID, Why, broker_reason, client_reason
from service.histories.events import (
    Cause,
    Kind,
    Partition,
    PastRebalance,
    Roster,
    StoredMember,
    ToldEvent,
    TopicsTold,
    is_first_epoch,
)
from service.histories.logs import NEW

NUMBERED: Final = (Kind.PREPARING, Kind.STABILIZED, Kind.BUMPED, Kind.RECORDED, Kind.SEEN)
"""Kinds of events whose generation is the group's at that time."""

LATER_MS: Final = 60_000
"""Time by which sources at most differ that tell of the same rebalance."""

LEFT_MS: Final = 5_000
"""Time at most between a poll that is too late, by the log of a member, and what its coordinator makes of it."""

OF_KINDS: Final = {
    Kind.JOINS: Why.JOIN,
    Kind.LEAVES: Why.LEAVE,
    Kind.EXPIRES: Why.SESSION,
    Kind.LATE: Why.TIMEOUT,
    Kind.REMOVED: Why.GONE,
    Kind.SUBSCRIBES: Why.SUBSCRIPTION,
    Kind.METADATA: Why.TOPICS,
    Kind.GROWS: Why.PARTITIONS,
}
"""Event → the cause that it is."""

OF_TOPICS: Final = (Kind.SUBSCRIBES, Kind.GROWS, Kind.METADATA)
"""What changes the topics of a group, the most exact first."""

OF_REASONS: Final = {Why.JOIN: Kind.JOINS, Why.LEAVE: Kind.LEAVES, Why.POLL: Kind.LEAVES, Why.SESSION: Kind.EXPIRES}
"""The cause of a rebalance → what the member has done."""

ENDS: Final = (Kind.LEAVES, Kind.EXPIRES, Kind.LATE, Kind.REMOVED)


class History:
    """Takes the events in the order of time, and has the rebalances that they tell of.

    moves : when a coordinator loaded or unloaded the group; members : what is known of them
    unnumbered : how often snapshots alone tell that the members have changed, without a generation
    """

    def __init__(self) -> None:
        self.found: dict[tuple[int, int], PastRebalance] = {}
        self.moves: list[tuple[int | None, ToldEvent]] = []
        self.members: dict[str, StoredMember] = {}
        self._life = self._latest = 0
        self._latest_ms: int | None = None
        self._roster, self._complete = dict[str, str](), False
        self._pending: list[ToldEvent] = []
        self._joined, self._gone = set[str](), dict[str, Cause | None]()
        self._epochs: dict[str, int] = {}
        self._hash: object = None
        self._last: Roster | None = None
        self.unnumbered = 0
        self._seen: set[str] | None = None
        self._asked: dict[object, ToldEvent] = {}
        self._reasons: dict[str, str] = {}
        self._late: dict[str, list[tuple[int | None, ToldEvent]]] = {}
        self._open: list[PastRebalance] = []
        self._readers: dict[Kind, Callable[[int | None, ToldEvent], None]] = {
            Kind.PREPARING: self._prepare,
            Kind.STABILIZED: self._stabilize,
            Kind.ASSIGNED: self._assign,
            Kind.EMPTIED: self._empty,
            Kind.BUMPED: self._bump,
            Kind.TARGET: self._target,
            Kind.RECONCILED: self._reconcile,
            Kind.RECORDED: self._record,
            Kind.RETURNS: self._return,
            Kind.JOINED: self._join,
            Kind.SYNCED: self._sync,
            Kind.ASKS: self._ask,
            Kind.POLLS_LATE: self._poll_late,
            Kind.LED: self._lead,
            Kind.SEEN: self._see,
            Kind.DELETED: self._delete,
            **dict.fromkeys((Kind.LOADED, Kind.UNLOADED), lambda at_ms, event: self.moves.append((at_ms, event))),
            **dict.fromkeys((*OF_KINDS, Kind.CLOSES), lambda _, event: self._wait(event)),
        }

    def take(self, at_ms: int | None, event: ToldEvent, *, placed: bool = True) -> None:
        """Take the next event. at_ms : its time by the clock that all share; placed : is its place in the order of time known?"""
        if placed and event.kind in NUMBERED and event.generation is not None:
            number = event.generation + (event.kind == Kind.PREPARING)
            if number < self._latest and self._is_new(number, at_ms):
                self._end_life()
            self._latest, self._latest_ms = max(self._latest, number), at_ms
        if isinstance(member := event.says.get("described"), StoredMember):
            self.members[member.member_id] = member
        elif event.kind == Kind.JOINS and event.member and "instance_id" in event.says:
            self.members.setdefault(event.member, StoredMember(event.member, event.says["instance_id"]))
        self._readers[event.kind](at_ms, event)

    def _end_life(self) -> None:
        self._life, self._latest, self._open = self._life + 1, 0, []
        self._roster, self._complete, self._hash = {}, False, None

    def _delete(self, _: int | None, _event: ToldEvent) -> None:
        """What was before has nothing to do with a group that is created again."""
        self._end_life()
        self._pending, self._joined, self._gone = [], set(), {}

    def _is_new(self, number: int, at_ms: int | None) -> bool:
        """Is a lower number that of another life? Another source may tell of an earlier rebalance a little later."""
        known = self.found.get((self._life, number))
        before = self._latest_ms if known is None else known.at_ms
        return at_ms is None or before is None or at_ms - before > LATER_MS

    def rebalances(self) -> list[PastRebalance]:
        """All, by their numbers, with what the members themselves say of the causes."""
        for rebalance in self.found.values():
            self._hear(rebalance)
        return [self.found[key] for key in sorted(self.found)]

    def name_topics(self, topics: TopicsTold) -> None:
        """Put names for the ids of topics, where sources tell those of all that a rebalance assigns."""
        for rebalance in self.found.values():
            ids = {topic for partitions in (rebalance.assigned or {}).values() for topic, _ in partitions}
            if rebalance.assigned is not None and rebalance.by_id and ids <= topics.keys():
                rebalance.by_id = False
                rebalance.assigned = {
                    member: frozenset((topics[topic].name, i) for topic, i in partitions)
                    for member, partitions in rebalance.assigned.items()
                }

    def _of(self, number: int, event: ToldEvent, protocol: str = "classic") -> PastRebalance:
        key = self._life, number
        if key not in self.found:
            self.found[key] = PastRebalance(self._life, number, protocol)
            self._open += [self.found[key]] if protocol == "consumer" else []
        self.found[key].events.append(event)
        return self.found[key]

    def _wait(self, event: ToldEvent) -> None:
        """Let a member's event wait for the rebalance that it causes. One that another source has told already is no other."""
        member = event.member or ""
        if event.kind in (Kind.LEAVES, Kind.CLOSES) and client_reason(self._reasons.get(member)) is None:
            said = str(event.says.get("reason") or "")
            self._reasons[member] = self._reasons.get(member, "") if said in UNSAID else said
        if event.kind == Kind.CLOSES:
            return
        if event.kind == Kind.JOINS:
            if member in self._joined:
                return
            self._joined.add(member)
            if (gone := self._gone.pop(member, None)) is not None:
                self._explain(gone)
            self._reasons.pop(member, None)  # it may leave once more, for another
        elif event.kind in ENDS:
            if member in self._gone:
                known = self._gone[member]
                if known is not None and known.kind == Why.GONE and event.kind != Kind.REMOVED:
                    known.kind, known.event = OF_KINDS[event.kind], event
                return
            self._gone[member] = None
            self._joined.discard(member)
        self._pending.append(event)

    def _prepare(self, at_ms: int | None, event: ToldEvent) -> None:
        rebalance = self._of((event.generation or 0) + 1, event)
        rebalance.began_ms = at_ms if rebalance.began_ms is None else rebalance.began_ms
        if event.generation == 0:
            self._complete = not self._roster
        reason = broker_reason(event.says.get("reason") or "")
        for member in reason.members or ("",):
            self._add(rebalance, Cause(reason.kind, (member,) if member else (), event, reason.said))
            if reason.kind in OF_REASONS and member:  # old coordinators log no other line of it
                self._wait(replace(event, kind=OF_REASONS[reason.kind], member=member, says={"reason": reason.said}))

    def _add(self, rebalance: PastRebalance, cause: Cause) -> None:
        """Add a cause, unless its member, or its kind if it has none, is among them."""
        if any((each.members or each.kind) == (cause.members or cause.kind) for each in rebalance.causes):
            return
        rebalance.causes.append(cause)
        for member in cause.members:
            if cause.kind in GOES:
                self._gone[member] = cause

    def _begin(self, rebalance: PastRebalance) -> None:
        if rebalance.before is None:
            count = len(self._roster) if self._complete else None
            now = Roster(self._roster, count, self._complete)
            rebalance.before = self._last if self._last == now else replace(now, members=dict(self._roster))

    def _know(self, rebalance: PastRebalance, members: dict[str, StoredMember], *, complete: bool = True) -> None:
        """A source has all members after a rebalance, unless some could not be read."""
        self._roster = {each.instance_id or self._name(name, None): name for name, each in members.items()}
        self._joined |= members.keys()
        self._complete = complete
        rebalance.after = self._last = Roster(dict(self._roster), len(members) if complete else None, complete)

    def _changed(self, rebalance: PastRebalance, count: int | None) -> None:
        """Let what has waited change the members, and cause this rebalance."""
        self._begin(rebalance)
        waiting, self._pending = _without_returns(self._pending), []
        joining = {event.member for event in waiting if event.kind == Kind.JOINS}
        if any(event.kind != Kind.METADATA for event in waiting):  # topics of members that join, or subscribe to others
            waiting = [event for event in waiting if event.kind != Kind.METADATA]
        for event in waiting:
            member = event.member or ""
            if event.kind == Kind.JOINS:
                self._roster[event.says.get("instance_id") or member] = member
            elif event.kind in ENDS:
                self._roster.pop(self._name(member, event.says.get("instance_id")), None)
            if event.kind != Kind.SUBSCRIBES or event.member not in joining:
                self._add(rebalance, Cause(OF_KINDS[event.kind], (member,) if member else (), event))
                rebalance.events.append(event)
        if count is not None:
            if count < len(self._roster):  # the lines that tell who has gone are missing
                self._roster = {name: each for name, each in self._roster.items() if each in joining}
            self._complete = count == len(self._roster)
        count = len(self._roster) if self._complete else count
        rebalance.after = self._last = Roster(dict(self._roster), count, self._complete)

    def _name(self, member: str, instance_id: str | None) -> str:
        """The name under which the roster has a member: the id of a static one begins with its instance id."""
        if instance_id in self._roster:
            return str(instance_id)
        found = (
            name for name, each in self._roster.items() if each == member or (name != each and member.startswith(f"{name}-"))
        )
        return next(found, member)

    def _stabilize(self, at_ms: int | None, event: ToldEvent) -> None:
        rebalance = self._of(event.generation or 0, event)
        rebalance.joined_ms = at_ms
        self._changed(rebalance, event.says.get("members_count"))

    def _assign(self, at_ms: int | None, event: ToldEvent) -> None:
        self._of(event.generation or 0, event).ended_ms = at_ms

    def _empty(self, at_ms: int | None, event: ToldEvent) -> None:
        rebalance = self._of(event.generation or 0, event)
        rebalance.joined_ms = rebalance.ended_ms = at_ms
        self._changed(rebalance, None)
        self._roster, self._complete = {}, True
        rebalance.after = Roster({}, 0, complete=True)

    def _join(self, at_ms: int | None, event: ToldEvent) -> None:
        """A member has joined, which its own log tells."""
        rebalance, member = self._of(event.generation or 0, event), event.member or event.says["client_id"]
        rebalance.assignor = event.says.get("protocol") or rebalance.assignor
        self.members.setdefault(member, StoredMember(member, event.says.get("instance_id"), event.says["client_id"]))
        asked, first_ms = self._asked.pop(event.says["key"], None), rebalance.joined_ms
        rebalance.joined_ms = at_ms if first_ms is None else first_ms
        if at_ms is None or first_ms is None or at_ms - first_ms <= LEFT_MS:  # else it is a static member, which has returned
            rebalance.synced.setdefault(member, None)
            rebalance.asked += [] if asked is None else [(member, asked)]
        if rebalance.after is None:
            self._changed(rebalance, None)
            self._complete = False  # who else is in the group is not told
            rebalance.after = Roster(dict(self._roster), None, complete=False)

    def _sync(self, at_ms: int | None, event: ToldEvent) -> None:
        rebalance, member = self._of(event.generation or 0, event), event.member or event.says["client_id"]
        if member in rebalance.synced:
            rebalance.synced[member] = at_ms

    def _ask(self, _: int | None, event: ToldEvent) -> None:
        before = self._asked.get(event.says["key"])
        if before is None or client_reason(event.says["reason"]) is not None:
            self._asked[event.says["key"]] = event

    def _poll_late(self, at_ms: int | None, event: ToldEvent) -> None:
        self._late.setdefault(event.member or "", []).append((at_ms, event))

    def _lead(self, _: int | None, event: ToldEvent) -> None:
        """The leader tells all members and their partitions."""
        rebalance, members = self._of(event.generation or 0, event), event.says["members"]
        if rebalance.assigned is None:
            rebalance.assigned = {name: each.assigned for name, each in members.items()}
        if rebalance.after is None or not rebalance.after.complete:
            self._know(rebalance, members)

    def _see(self, _: int | None, event: ToldEvent) -> None:
        """A snapshot has the whole group; that of a classic one, of the last generation that is told."""
        number, members = event.generation or self._latest, event.says["members"]
        if not number:
            self.unnumbered += self._seen not in (None, {*members})
            self._seen = {*members}
            return
        rebalance = self._of(number, event, event.says["protocol"])
        self.members = members | self.members
        rebalance.assignor = rebalance.assignor or event.says["assignor"]
        if rebalance.after is None or not rebalance.after.complete:
            self._know(rebalance, members)
        if rebalance.after and rebalance.assigned is None and {*rebalance.after.members.values()} == members.keys():
            rebalance.assigned = {name: each.assigned for name, each in members.items()}

    def _explain(self, cause: Cause) -> None:
        """Let a member that left say why, if its coordinator does not."""
        if cause.kind == Why.LEAVE and client_reason(cause.said) is None:
            cause.said = next(filter(None, map(self._reasons.get, cause.members)), cause.said)
            cause.kind = client_reason(cause.said) or Why.LEAVE

    def _hear(self, rebalance: PastRebalance) -> None:
        """Let the logs of members tell causes that the coordinator is not told."""
        for cause in rebalance.causes:
            self._explain(cause)
            before_ms = {Why.LEAVE: LEFT_MS, Why.GONE: LEFT_MS, Why.SESSION: LATER_MS}.get(cause.kind)
            polls = [each for member in cause.members for each in self._late.get(member, ())]
            late = [each for each in polls if before_ms and _near(each[0], rebalance.began_ms, before_ms)]
            if late:
                (late_ms, event), known = late[-1], [self.members[each] for each in cause.members if each in self.members]
                told_ms = [int(event.says[name]) for name in ("interval_ms", "more_ms") if name in event.says]
                interval_ms = sum(told_ms) if told_ms else next((each.rebalance_ms for each in known), None)
                cause.kind, cause.event, cause.said = Why.POLL, event, ""
                if interval_ms is not None and late_ms is not None and rebalance.began_ms is not None:
                    cause.unread_ms = max(0, rebalance.began_ms - late_ms) + interval_ms
        own = [(member, client_reason(event.says.get("reason", NEW)), event) for member, event in rebalance.asked]
        first = rebalance.causes[0] if rebalance.causes else None
        if first is None or (first.kind == Why.UNKNOWN and not first.members):
            rebalance.causes = rebalance.causes if all(kind is None for _, kind, _ in own) else []
            for member, kind, event in own:
                if kind is not None:
                    self._add(rebalance, Cause(kind, (member,), event, event.says.get("reason", NEW)))
        elif first.kind == Why.UNKNOWN:
            said = next(((kind, event) for member, kind, event in own if kind and (member,) == first.members), None)
            first.kind, first.event = said if said is not None else (first.kind, first.event)
        times = [at_ms for at_ms in rebalance.synced.values() if at_ms is not None]
        if rebalance.ended_ms is None and times:
            rebalance.ended_ms = max(times)

    def _return(self, at_ms: int | None, event: ToldEvent) -> None:
        self._roster[str(event.says["instance_id"])] = str(event.says.get("new_member") or "")
        self._epochs.pop(event.member or "", None)

    def _bump(self, at_ms: int | None, event: ToldEvent) -> None:
        rebalance = self._of(event.generation or 0, event, "consumer")
        is_new = rebalance.protocol == "consumer" and all(each.kind != Kind.BUMPED for each in rebalance.events[:-1])
        if not is_new:
            told = [each for kind in OF_TOPICS for each in self._pending if each.kind == kind]
            first = next(iter(rebalance.causes), None)
            weak = (Why.EITHER, Why.UNKNOWN) if told else (Why.EITHER,)
            if first is not None and event.says.get("recorded") and first.kind in weak:
                first.kind = OF_KINDS[told[0].kind] if told else Why.TOPICS
                first.event, first.members = (told[0], tuple(filter(None, [told[0].member]))) if told else (event, ())
            self._pending = [each for each in self._pending if each.kind not in OF_TOPICS]
            return
        rebalance.began_ms = at_ms
        if is_first_epoch(event.generation or 0, event.says.get("hash")):
            self._complete = not self._roster
        self._changed(rebalance, None)
        new = event.says.get("hash")
        new = rebalance.metadata_hash = None if new is None else str(new)
        if not rebalance.causes:
            changed = new is not None and self._hash not in (None, new)
            other = Why.TOPICS if event.says.get("recorded") else Why.EITHER
            self._add(rebalance, Cause(other if changed else Why.UNKNOWN, (), event))
        self._hash = new

    def _target(self, at_ms: int | None, event: ToldEvent) -> None:
        rebalance = self._of(event.generation or 0, event, "consumer")
        rebalance.joined_ms = at_ms if rebalance.joined_ms is None else rebalance.joined_ms
        rebalance.assignor = event.says.get("assignor") or rebalance.assignor
        if event.says.get("assigned"):
            rebalance.assigned, rebalance.by_id = event.says["assigned"], True
        rebalance.computed = event.says.get("computed") or rebalance.computed
        self._complete = self._complete and {*(rebalance.assigned or ())} <= {*self._roster.values()}

    def _reconcile(self, at_ms: int | None, event: ToldEvent) -> None:
        """A member has what it is to have. The rebalance ends with the last one."""
        epoch = event.generation or 0
        if "client_id" in event.says and epoch > 0:
            rebalance = self._of(epoch, event, "consumer")
            rebalance.asked += [(event.member or "", event)] if event.says["before"] == "JOINING" else []
        if event.says.get("state") != "STABLE" or epoch < 0:
            return
        self._epochs[event.member or ""] = event.generation or 0
        if self._complete and self._roster:
            reached = min(self._epochs.get(member, -1) for member in self._roster.values())
            for rebalance in self._open:
                if rebalance.number <= reached and rebalance.ended_ms is None:
                    rebalance.ended_ms = at_ms
            self._open = [each for each in self._open if each.number > reached]

    def _record(self, at_ms: int | None, event: ToldEvent) -> None:
        """The whole group, as its coordinator has stored it."""
        if not event.generation:
            self._roster, self._complete = {}, True  # it is new
            return
        if event.generation > 1 and not self.found.keys() & {(self._life, event.generation - i) for i in (0, 1)}:
            self._roster, self._complete = {}, False  # what was before is not told
        rebalance, members = self._of(event.generation, event), dict(event.says["members"])
        shift = 0 if event.at is None or event.says["state_ms"] < 0 else event.at.at_ms - event.says["state_ms"]
        if at_ms is not None:
            rebalance.joined_ms = at_ms - shift if rebalance.joined_ms is None else rebalance.joined_ms
            rebalance.ended_ms = at_ms if rebalance.ended_ms is None and (shift or not members) else rebalance.ended_ms
        rebalance.assignor = event.says["assignor"] or rebalance.assignor
        self._begin(rebalance)
        self._know(rebalance, members, complete=not event.says["unreadable"])
        if all(each.assigned is not None for each in members.values()):
            rebalance.assigned = {name: each.assigned or frozenset() for name, each in members.items()}
        rebalance.records = members
        self.members |= members


def _near(late_ms: int | None, began_ms: int | None, before_ms: int) -> bool:
    """Did the poll that is too late begin the rebalance? A static member is removed only when its session expires."""
    return late_ms is not None and began_ms is not None and -before_ms <= late_ms - began_ms <= LEFT_MS


def _without_returns(events: Iterable[ToldEvent]) -> list[ToldEvent]:
    """The events without static members that go and come back under the same instance id, which causes no rebalance."""
    events = list(events)
    gone = {event.says["instance_id"] for event in events if event.kind == Kind.REMOVED and event.says.get("instance_id")}
    back = {event.says["instance_id"] for event in events if event.kind == Kind.JOINS and event.says.get("instance_id") in gone}
    return [event for event in events if event.says.get("instance_id") not in back]


# ---- causes by what has changed from one stored group to the next, where no log tells them --------------------------------


def add_causes(rebalances: list[PastRebalance]) -> None:
    """Give causes to the classic rebalances that have none, or one that their own records make more exact."""
    before: PastRebalance | None = None
    ever: set[Partition] = set()
    for after in rebalances:
        event = next((event for event in after.events if "members" in event.says), None)
        if after.number == 1 or (before is not None and before.life != after.life):
            before, ever = PastRebalance(after.life, after.number - 1, after.protocol, records={}), set()
        if after.records is not None and event is not None and before is not None and before.records is not None:
            if before.number + 1 == after.number:
                _add(before.records, after, event, ever)
            ever |= _assigned(after.records)
        before = after


def _add(before: dict[str, StoredMember], rebalance: PastRebalance, event: ToldEvent, ever: set[Partition]) -> None:
    after = rebalance.records or {}
    own = {each.instance_id or each.member_id for each in before.values()}
    now = {each.instance_id or each.member_id for each in after.values()}
    new = [each.member_id for each in after.values() if (each.instance_id or each.member_id) not in own]
    gone = [each.member_id for each in before.values() if (each.instance_id or each.member_id) not in now]
    others = [] if new or gone else list(_others(before, after, event, ever))
    if not rebalance.causes:
        members = [(Why.GONE, each) for each in gone] + [(Why.JOIN, each) for each in new]
        found = [Cause(kind, (member,), event) for kind, member in members] + others
        rebalance.causes = found or [Cause(Why.UNKNOWN, (), event)]
    elif others and rebalance.causes[0].kind in (Why.UNKNOWN, Why.LEADER_METADATA):
        rebalance.causes[0].kind = others[0].kind


def _others(
    before: dict[str, StoredMember], after: dict[str, StoredMember], event: ToldEvent, ever: set[Partition]
) -> Iterator[Cause]:
    """Without new members: changed subscriptions, partitions that a cooperative assignor had withheld, or that are new.

    ever : the partitions that were assigned to anybody before
    """
    changed = [name for name in before.keys() & after.keys() if set(before[name].topics or ()) != set(after[name].topics or ())]
    yield from (Cause(Why.SUBSCRIPTION, (name,), event) for name in sorted(changed))
    had, has = (_assigned(members) for members in (before, after))
    withheld = ever | {partition for each in (*before.values(), *after.values()) for partition in each.claimed or ()}
    if not changed and (has - had) & withheld:
        yield Cause(Why.REVOCATION, (), event)
    elif not changed and {topic for topic, _ in has - had} & {topic for topic, _ in had}:
        yield Cause(Why.PARTITIONS, (), event)


def _assigned(members: dict[str, StoredMember]) -> set[Partition]:
    return {partition for each in members.values() for partition in each.assigned or ()}
