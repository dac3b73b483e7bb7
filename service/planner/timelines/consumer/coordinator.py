"""The coordinator of the consumer protocol (KIP-848): it assigns, and each member reconciles at its own pace.

A change (a member that joins, leaves or subscribes otherwise; a topic) raises the *group epoch* (``_bump``). The next heartbeat
of any member has the target assignment computed, at most once in an assignment interval (``_assign``). A member learns of it at
its own next heartbeat: it revokes what it loses and confirms that by a heartbeat at once; what it gains it gets as soon as no
member else has it, at that heartbeat or a later one. The group is stable when all members have reached the target epoch.

Only members whose partitions change are followed heartbeat by heartbeat; when the others reach the epoch is computed at once.

Source: org.apache.kafka.coordinator.group.GroupMetadataManager, modern.consumer.ConsumerGroup, modern.TargetAssignmentBuilder
(Apache Kafka 4.3.1 and 4.4.0). Each method names its own.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

import numpy as np

from service.core.assignors import Assignor
from service.core.kafka_versions import since
from service.core.model import NO_ROWS, NONE, Assignment, Bools, Group, Int32s, Ragged
from service.core.ragged import grouped
from service.planner.timelines.course import PASSED, Course
from service.planner.timelines.members import Member
from service.planner.timelines.model import NEVER, TimelineRebalance

EMPTY, ASSIGNING, RECONCILING, STABLE = "Empty", "Assigning", "Reconciling", "Stable"

FIRST_EPOCH = 1
"""ModernGroup's group epoch before its first member."""

DEFAULT_ASSIGNOR: Final = "uniform"
"""The first of ``group.consumer.assignors``, by default."""

BUMPS_FOR_ASSIGNORS: Final = since("4.4.0")
"""The releases in which a heartbeat that changes the preferred assignor raises the group epoch."""


def preferred(votes: Mapping[str, int], own: str = "") -> str:
    """The assignor that most members ask for.

    Reproduces ConsumerGroup.preferredServerAssignor, and for a member whose heartbeat is answered computePreferredServerAssignor.

    Of assignors with as many votes, the one that comes first in the broker's table: ``uniform`` before ``range``. A member's vote
    is taken out and put in again, and an entry that is new to a HashMap comes first in its bucket. So its own assignor is first
    while no other member asks for it.

    votes : of each assignor; own : of the member whose heartbeat is answered, among the votes
    """
    most = max(votes.values(), default=0)
    if own and votes[own] == most == 1:
        return own
    return min(
        (name for name in votes if votes[name] == most), key=lambda name: name != DEFAULT_ASSIGNOR, default=DEFAULT_ASSIGNOR
    )


def changes_preferred(votes: Mapping[str, int], own: str, former: str) -> bool:
    """Does a heartbeat change the preferred assignor? Reproduces GroupMetadataManager.hasPreferredServerAssignorChanged (4.4.0).

    votes : of each assignor, after it; own : that of the member, "" for none; former : the one that it asked for before
    """
    before = Counter(votes)
    before.subtract(filter(None, [own]))
    before.update(filter(None, [former]))
    return preferred(+before) != preferred(votes, own)


@dataclass
class MemberWork:
    """What a member still has to do for the target assignment. loses, gains : int32[...], partitions"""

    loses: Int32s = field(default_factory=lambda: np.empty(0, np.int32))
    gains: Int32s = field(default_factory=lambda: np.empty(0, np.int32))
    revoking: Int32s = field(default_factory=lambda: np.empty(0, np.int32))


class ConsumerCallbacks(Protocol):
    """The clients, as their coordinator answers them."""

    def await_heartbeat(self) -> None:
        """Wait for the next heartbeat of any member."""

    def follow(self, number: int, at_ms: int) -> None:
        """A member's heartbeat then matters, as it has work to do."""

    def join_again(self, member: Member) -> None:
        """A member that was fenced hears of it."""


class ConsumerCoordinator:
    """The coordinator of a group of the consumer protocol.

    holder : int32[partitions], the member that has each in its current assignment or has not yet confirmed its revocation, or
        NONE
    target : int32[partitions], the member to which the target assignment gives each, or NONE
    free_since : int64[partitions], when its last member had given each up
    pending : the rebalance whose target assignment is still to be computed
    refresh : have topics changed since the last heartbeat?
    changed_ms, since_ms : when what the next target assignment answers came about, and what the last one did
    round : the number of the target assignment
    work : by member, for those that have some; slots, rows, view : what the last target assignment gave each, by which topics
    beating : the member whose heartbeat is being answered, or NONE; joining : the same, if it is its first one
    """

    heartbeat_api = "ConsumerGroupHeartbeat"

    def __init__(self, course: Course, clients: ConsumerCallbacks) -> None:
        self.course, self.clients = course, clients
        self.timing, self.clock, self.members, self.present = course.timing, course.clock, course.members, course.present
        count = len(course.ledger.reader)
        self.holder = np.full(count, NONE, np.int32)
        self.target = np.full(count, NONE, np.int32)
        self.free_since = np.zeros(count, np.int64)
        self.epoch = self.target_epoch = FIRST_EPOCH
        self.state = EMPTY
        self.pending: TimelineRebalance | None = None
        self.refresh = False
        self.changed_ms = self.since_ms = 0
        self.round = 0
        self.work: dict[int, MemberWork] = {}
        self.slots: dict[int, int] = {}
        self.rows = NO_ROWS
        self.view = course.topology.view(0)
        self._assigned_at: int | None = None
        self._assignor: Assignor | None = None
        self._replaced: Member | None = None
        self._expiries: dict[int, int] = {}
        self._settles_at = 0
        self.beating = self.joining = NONE

    def resume(self, group: Group) -> None:
        """A group that has just become stable."""
        owned = group.owned.values
        self.holder[owned] = self.target[owned] = group.owned.row_of_each_value()
        self.epoch = self.target_epoch = max(int(group.generations.max()), FIRST_EPOCH + 1)
        self.state = STABLE
        self.members.columns.generation[self.present.numbers()] = self.epoch

    def beats(self, numbers: Int32s) -> Bools:
        """bool[...], which of these members heartbeat."""
        columns = self.members.columns
        beats: Bools = (columns.died[numbers] == NEVER) & ~columns.away[numbers]
        return beats

    # ---- members -----------------------------------------------------------------------------------------------------

    def admit(self, member: Member) -> bool:
        """A new member. Does it take the place of a static one that has left with epoch -2? That raises no group epoch.

        Reproduces GroupMetadataManager.getOrMaybeSubscribeDynamicConsumerGroupMember and
        getOrMaybeSubscribeStaticConsumerGroupMember.
        """
        old = self.present.with_instance(member.instance_id)
        if old is not None:
            self._replace(old, member)
            return True
        self.members.columns.joined[member.number] = self.members.columns.topics[member.number]
        self.present[member.number] = member
        with_instance = f" with instance id {member.instance_id}" if member.is_static else ""
        kind, protocol = "Static member" if member.is_static else "Member", self.course.protocol
        self._bump(f"{kind} {member.member_id}{with_instance} joins the {protocol} group using the {member.protocol} protocol.")
        return False

    def _replace(self, old: Member, member: Member) -> None:
        """GroupMetadataManager.replaceMember, throwIfInstanceIdIsUnreleased."""
        if old.protocol == self.course.protocol and not self.members.columns.away[old.number]:
            detail = f"Static member {member.member_id} with instance id {member.instance_id} cannot join the group because the "
            detail += f"instance id is owned by {old.member_id} member (UNRELEASED_INSTANCE_ID)."
            raise self.course.fault(detail)
        del self.present[old.number]
        self.present[member.number] = member
        self.forget_session(old)
        self.members.columns.joined[member.number] = self.members.columns.joined[old.number]
        for owners in (self.holder, self.target):
            owners[owners == old.number] = member.number
        self._replaced = old
        work = self.work.pop(old.number, None)
        if work is not None:
            self.work[member.number] = MemberWork(loses=np.union1d(work.loses, work.revoking).astype(np.int32), gains=work.gains)
        if old.number in self.slots:
            self.slots[member.number] = self.slots.pop(old.number)
        self.members.columns.generation[member.number] = self.target_epoch

    def leave(self, member: Member, client_reason: str) -> None:
        """A leaving heartbeat: epoch -1, of a static member -2, which keeps its partitions until its session is over.

        Reproduces GroupMetadataManager.consumerGroupLeave and consumerGroupStaticMemberGroupLeave (KIP-848).
        """
        self.course.request(self.heartbeat_api, member)
        if member.is_static:
            self.members.columns.away[member.number] = True
            if self.state == STABLE:
                self._enter(RECONCILING)  # until it is back, its epoch is not the group's
            self.miss(member)
        elif member.protocol == "classic":
            explicit = "has left group through explicit `LeaveGroup` request"
            self._fence(member, f"Dynamic member {member.member_id} {explicit}; client reason: {client_reason}")
        else:
            self._fence(member, f"Member {member.member_id} left the {self.course.protocol} group.")

    def miss(self, member: Member) -> None:
        """Heartbeats stop; the member's session expires: GroupMetadataManager.scheduleConsumerGroupSessionTimeout."""
        last = self.course.paces.last_beat(member.number, self.clock.now)
        self.expire_at(member.number, last + self.timing.session_timeout_ms)
        if self.pending is not None:
            self.clients.await_heartbeat()

    def forget_session(self, member: Member) -> None:
        """Stop waiting for a member's session to expire."""
        self.members.columns.away[member.number] = False
        self._expiries.pop(member.number, None)

    def hear(self, member: Member) -> None:
        """A heartbeat: GroupMetadataManager.consumerGroupHeartbeat."""
        columns, number = self.members.columns, member.number
        if columns.joined[number] != columns.topics[number]:
            columns.joined[number], columns.beat[number] = columns.topics[number], self.clock.now
            topics = ", ".join(self.course.timeline.world.names[topic] for topic in self.members.topics_of(number))
            self._bump(f"Member {member.member_id} updated its subscribed topics to: [{topics}].")
            self._drop_unsubscribed(member)
        elif self.joining != number and self._changes_assignor(member):
            self._bump(f"Bumped group epoch to {self.epoch + 1} with metadata hash")
        self._replaced = None
        self.beating = number
        self._maybe_assign()
        self.beating = NONE
        self.course.request(self.heartbeat_api, member)

    def _drop_unsubscribed(self, member: Member) -> None:
        """Have it revoke what it no longer subscribes to: CurrentAssignmentBuilder.updateCurrentAssignment."""
        mine = np.flatnonzero(
            (self.holder == member.number) & ~np.isin(self.course.topology.topic_of, self.members.topics_of(member.number))
        ).astype(np.int32)
        if len(mine):
            work = self.work.setdefault(member.number, MemberWork())
            work.loses = np.union1d(work.loses, np.setdiff1d(mine, work.revoking)).astype(np.int32)

    def topics_changed(self) -> None:
        """The next heartbeat raises the epoch: GroupMetadataManager.onMetadataUpdate."""
        if self.course.topology.last_topic() in self.members.joined_topics(self.present.numbers()):
            self.await_refresh()

    def await_refresh(self) -> None:
        """Have the next heartbeat of any member raise the epoch."""
        if not self.refresh and self.pending is None:
            self.changed_ms = self.clock.now
        self.refresh = True
        self.clients.await_heartbeat()

    # ---- epochs and assignments --------------------------------------------------------------------------------------

    def _bump(self, reason: str) -> None:
        """Raise the group epoch: ModernGroup.groupEpoch, by a ConsumerGroupMetadata record.

        Several changes may wait for one target assignment, whose reason is then the first.
        """
        self.epoch += 1
        if self.pending is None:
            self.changed_ms = self.clock.now
            self.pending = self.course.begin(reason)
        if self.present:
            self._enter(ASSIGNING)
            self.clients.await_heartbeat()
            return
        self._enter(EMPTY)  # no target is computed any more: ConsumerGroup.maybeUpdateGroupState
        self.pending.epoch, self.pending.stable_at_ms = self.epoch, self.clock.now
        self.pending = None
        self.round += 1
        self.state = EMPTY

    def ready_ms(self) -> int:
        """GroupMetadataManager.canComputeNextTargetAssignment."""
        return 0 if self._assigned_at is None else self._assigned_at + self.timing.assignment_interval_ms

    def _maybe_assign(self) -> None:
        """GroupMetadataManager.maybeUpdateTargetAssignment, at a heartbeat."""
        if self.refresh:
            self.refresh = False
            if self.pending is None:
                changed_ms = self.changed_ms
                self._bump(f"Bumped group epoch to {self.epoch + 1} with metadata hash")
                self.changed_ms = changed_ms
        if self.pending is not None and self.target_epoch < self.epoch and self.clock.now >= self.ready_ms():
            current, self.pending = self.pending, None
            self._assign(current)

    def _assign(self, current: TimelineRebalance) -> None:
        """Compute the target assignment: TargetAssignmentBuilder.build."""
        self.view = view = self.course.topology.view(self.course.topology.newest)
        numbers = self.present.numbers()
        self.rows = rows = self._run(current, numbers, self.course.groups.claiming(numbers, view, self.target))
        self.slots = {number: slot for slot, number in enumerate(numbers.tolist())}
        self.target = np.full(len(self.target), NONE, np.int32)
        self.target[view.to_world[rows.values]] = numbers[rows.row_of_each_value()]
        self._enter(RECONCILING)
        self._divide_work(numbers)

    def _run(self, current: TimelineRebalance, numbers: Int32s, before: Group) -> Ragged:
        """Ragged member → partitions of the view, what the assignor gives to these members. before : what they have"""
        assignor = self._preferred(numbers)
        assignment: Assignment = assignor.run(before)
        self.course.describe(current, before, assignment, assignor)
        self.course.explain(current, before, assignment, assignor)
        current.epoch = self.target_epoch = self.epoch
        self.since_ms, self._assigned_at = max(self.changed_ms, self.ready_ms()), self.clock.now
        return assignment.rows

    def _preferred(self, numbers: Int32s) -> Assignor:
        """The assignor that members of the consumer protocol ask for; the last one if none does, as all are classic."""
        if len(self.members.assignor_lists) == 1:
            return self.members.assignor_lists[0][0]
        asked = self._asked(numbers)
        if asked:
            votes = {name: count for name, (_, count) in asked.items()}
            self._assignor = asked[preferred(votes, self._own(self.members.all[self.beating]))][0]
        return self._assignor or self.course.timeline.assignor

    def _asked(self, numbers: Int32s) -> dict[str, tuple[Assignor, int]]:
        """For each assignor that members of the consumer protocol ask for, by its name: it, and how many ask."""
        columns, lists = self.members.columns, self.members.assignor_lists
        self.clock.spend(len(numbers) // PASSED)
        asked: dict[str, tuple[Assignor, int]] = {}
        counts = np.bincount(columns.assignors[numbers[~columns.classic[numbers]]])
        for code in np.flatnonzero(counts).tolist():
            assignor = lists[code][0]
            asked[assignor.name] = (assignor, int(counts[code]) + asked.get(assignor.name, (assignor, 0))[1])
        return asked

    def _own(self, member: Member) -> str:
        return "" if member.protocol == "classic" else member.assignors[0].name

    def _changes_assignor(self, member: Member) -> bool:
        """Does a member's heartbeat change the preferred assignor, in a release in which that matters?"""
        if self.course.timeline.kafka_version not in BUMPS_FOR_ASSIGNORS or len(self.members.assignor_lists) == 1:
            return False
        votes = {name: count for name, (_, count) in self._asked(self.present.numbers()).items()}
        return changes_preferred(votes, self._own(member), self._own(self._replaced or member))

    def contender(self) -> int:
        """Of two members that ask for two assignors, the one whose every heartbeat changes the preferred one; or NONE."""
        if len(self.members.assignor_lists) > 1:
            numbers = self.present.numbers()
            voters = numbers[~self.members.columns.classic[numbers]].tolist()
            if len(voters) == 2:
                return next((number for number in voters if self._changes_assignor(self.members.all[number])), NONE)
        return NONE

    def _divide_work(self, numbers: Int32s) -> None:
        """What each member loses and gains; the members without any of it reach the epoch at their next heartbeat."""
        revoking = {number: work.revoking for number, work in self.work.items() if len(work.revoking)}
        differs = np.flatnonzero(self.target != self.holder).astype(np.int32)
        losers = grouped(self.holder[differs], len(self.members.all))
        gainers = grouped(self.target[differs], len(self.members.all))
        self.work = {number: MemberWork(revoking=partitions) for number, partitions in revoking.items()}
        for number in np.flatnonzero(losers.lengths()).tolist():
            if number in self.present:
                work = self.work.setdefault(number, MemberWork())
                loses = differs[losers.row(number)]
                work.loses = np.setdiff1d(loses, work.revoking, assume_unique=True) if len(work.revoking) else loses
        for number in np.flatnonzero(gainers.lengths()).tolist():
            if number in self.present:
                self.work.setdefault(number, MemberWork()).gains = differs[gainers.row(number)]
        self.round += 1
        beats = numbers[self.beats(numbers)]
        next_beats = np.where(beats == self.beating, self.clock.now, self.course.paces.coming_beats(beats, self.clock.now))
        for number, at in zip(beats.tolist(), next_beats.tolist(), strict=True):
            if number in self.work and number != self.beating:
                self.clients.follow(number, at)
        self.course.later(int(next_beats.max(initial=self.clock.now)), self.settle, self.round)
        self._settles_at = int(next_beats.max(initial=self.clock.now))

    def settle(self, this_round: int) -> None:
        """Stable once every member has reached the target epoch: ConsumerGroup.maybeUpdateGroupState."""
        if this_round != self.round or self.state != RECONCILING or self.work or self.clock.now < self._settles_at:
            return
        if not self.beats(self.present.numbers()).all():
            return
        self.members.columns.generation[self.present.numbers()] = self.target_epoch
        self._enter(STABLE)
        if self.course.rebalances and self.course.rebalances[-1].stable_at_ms is None:
            self.course.rebalances[-1].stable_at_ms = self.clock.now

    # ---- members that go ---------------------------------------------------------------------------------------------

    def expire_at(self, number: int, at_ms: int) -> None:
        """GroupMetadataManager.scheduleConsumerGroupSessionTimeout, or the longer one of a static member that is away."""
        self._expiries[number] = at_ms
        self.course.later(at_ms, self._expire, number, at_ms)

    def _expire(self, number: int, at_ms: int) -> None:
        """GroupMetadataManager.scheduleConsumerGroupSessionTimeout."""
        if self._expiries.get(number) == at_ms and number in self.present:
            member = self.present[number]
            self._fence(member, f"Member {member.member_id} fenced from the group because the member session expired.")

    def fence_slow(self, member: Member, epoch: int, work: MemberWork) -> None:
        """GroupMetadataManager.scheduleConsumerGroupRebalanceTimeout; the client joins again with its next heartbeat."""
        number = member.number
        if self.work.get(number) is not work or not len(work.revoking) or number not in self.present:
            return
        self.course.ledger.stop_member(number, self.clock.now)
        slow = f"it failed to transition from epoch {epoch} within {self.timing.rebalance_timeout_ms}ms."
        self._fence(member, f"Member {member.member_id} fenced from the group because {slow}")
        beat = int(self.course.paces.next_beats(np.array([number], np.int32), self.clock.now)[0])
        self.course.later(beat, self.clients.join_again, member)

    def _fence(self, member: Member, reason: str) -> None:
        """GroupMetadataManager.consumerGroupFenceMember."""
        number = member.number
        del self.present[number]
        self.forget_session(member)
        self.work.pop(number, None)
        self.free_since[self.holder == number] = self.clock.now
        for owners in (self.holder, self.target):
            owners[owners == number] = NONE
        self._bump(reason)

    def _enter(self, state: str) -> None:
        self.state = state
        if not self.course.rebalances:
            return  # a group that is stable at the start has no rebalance in which to note it
        current = self.pending or self.course.rebalances[-1]
        if not current.states or current.states[-1][1] != state:
            current.states.append((self.clock.now, state))
