"""The coordinator of the consumer protocol (KIP-848): it assigns, and each member reconciles at its own pace.

A change (a member that joins, leaves or subscribes otherwise; a topic) raises the *group epoch* (``_bump``). The next heartbeat
of any member has the target assignment computed, at most once in an assignment interval (``_assign``). A member learns of it at
its own next heartbeat (``_heartbeat``): it revokes what it loses and confirms that by a heartbeat at once; what it gains it gets
as soon as nobody else has it, at that heartbeat or a later one. The group is stable when all members have reached the target
epoch.

Only members whose partitions change are followed heartbeat by heartbeat; when the others reach the epoch is computed at once.

Source: org.apache.kafka.coordinator.group.GroupMetadataManager, modern.consumer.CurrentAssignmentBuilder and ConsumerGroup,
modern.TargetAssignmentBuilder; org.apache.kafka.clients.consumer.internals.AbstractMembershipManager, ConsumerMembershipManager
and AbstractHeartbeatRequestManager (Apache Kafka 4.3.1). Each method names its own.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from service.core.assignors import Assignor
from service.core.model import NONE, Assignment, Int32s, Ragged
from service.core.ragged import grouped
from service.core.timelines.clock import STEP_CELLS
from service.core.timelines.group import PASSED, GroupTimeline
from service.core.timelines.ledger import Wait
from service.core.timelines.members import Member, distinct
from service.core.timelines.model import NEVER, Rebalance, Timeline

NOBODY: Final[Int32s] = np.empty(0, np.int32)

EMPTY, ASSIGNING, RECONCILING, STABLE = "Empty", "Assigning", "Reconciling", "Stable"

FIRST_EPOCH = 1
"""ModernGroup's group epoch before its first member."""


@dataclass
class Work:
    """What a member still has to do for the target assignment. loses, gains : int32[...], partitions"""

    loses: Int32s = field(default_factory=lambda: np.empty(0, np.int32))
    gains: Int32s = field(default_factory=lambda: np.empty(0, np.int32))
    revoking: Int32s = field(default_factory=lambda: np.empty(0, np.int32))


class ConsumerCoordinator(GroupTimeline):
    """A group of the consumer protocol.

    holder : int32[partitions], the member that has each in its current assignment or has not yet confirmed its revocation, or
        NONE
    target : int32[partitions], the member to which the target assignment gives each, or NONE
    free_since : int64[partitions], when its last member had given each up
    """

    protocol = "consumer"
    heartbeat_api = "ConsumerGroupHeartbeat"

    def __init__(self, timeline: Timeline, *, begins: bool = True) -> None:
        super().__init__(timeline, begins=begins)
        count = len(self.ledger.reader)
        self.holder = np.full(count, NONE, np.int32)
        self.target = np.full(count, NONE, np.int32)
        self.epoch = self.target_epoch = FIRST_EPOCH
        self.assigned_at: int | None = None
        self.free_since = np.zeros(count, np.int64)
        self._changed_ms = self._since_ms = 0
        self._state = EMPTY
        self._pending: Rebalance | None = None
        self._work: dict[int, Work] = {}
        self._expiries: dict[int, int] = {}
        self._round = 0
        self._refresh = False
        self._slots: dict[int, int] = {}
        self._due: dict[tuple[int, int], list[int]] = {}
        self._rows = Ragged(np.zeros(1, np.int32), np.empty(0, np.int32))
        self._view = self.topology.view(0)

    def state(self) -> str:
        """See GroupTimeline."""
        return self._state

    def _bump(self, reason: str) -> None:
        """Raise the group epoch: ModernGroup.groupEpoch, by a ConsumerGroupMetadata record.

        Several changes may wait for one target assignment, whose reason is then the first.
        """
        self.epoch += 1
        if self._pending is None:
            self._changed_ms = self.clock.now
            self._pending = Rebalance(self.clock.now, self.cause, reason, self.protocol, [])
            self.rebalances.append(self._pending)
        if not self.present:
            self._settle_empty()
            return
        self._enter(ASSIGNING)
        self._await_heartbeat()

    def _settle_empty(self) -> None:
        """The last member has gone: nobody is there to have a target computed. ConsumerGroup.maybeUpdateGroupState."""
        if self._pending is not None:
            self._enter(EMPTY)
            self._pending.epoch, self._pending.stable_at_ms = self.epoch, self.clock.now
            self._pending = None
        self._round += 1
        self._state = EMPTY

    def _ready_ms(self) -> int:
        """GroupMetadataManager.canComputeNextTargetAssignment."""
        return 0 if self.assigned_at is None else self.assigned_at + self.timing.assignment_interval_ms

    def _await_heartbeat(self) -> None:
        """The next heartbeat of any member has the target computed: GroupMetadataManager.maybeUpdateTargetAssignment.

        One call waits for it. Members that join bring no earlier one, as they have just sent theirs; changed topics can.
        """
        now = self.clock.now
        numbers = NOBODY if self._awaited_ms >= now and not self._refresh else self._beating_numbers()
        if len(numbers):
            self.clock.spend(len(numbers) // PASSED)
            at_ms = int(self.next_beats(numbers, now if self._refresh else max(now, self._ready_ms() - 1)).min())
            if not now <= self._awaited_ms <= at_ms:
                self._awaited_ms = at_ms
                self.later(at_ms, self._beat_at, at_ms)

    _awaited_ms = -1

    def _beat_at(self, at_ms: int) -> None:
        """The heartbeat that was waited for, of whichever member sends it by now."""
        if at_ms != self._awaited_ms:
            return
        self._awaited_ms = -1
        if self.target_epoch < self.epoch or self._refresh:
            numbers = self._beating_numbers() if self._refresh or at_ms >= self._ready_ms() else NOBODY
            due = numbers[self.next_beats(numbers, at_ms - 1) == at_ms]
            if len(due):
                self._heartbeat(int(due[0]))
            else:
                self._await_heartbeat()

    def _beats(self, number: int) -> bool:
        return bool(self.members.died[number] == NEVER) and not self.members.away[number]

    def _beating_numbers(self) -> Int32s:
        """int32[...], the members that heartbeat."""
        numbers = self.numbers()
        beating: Int32s = numbers[(self.members.died[numbers] == NEVER) & ~self.members.away[numbers]]
        return beating

    def _maybe_assign(self) -> None:
        """GroupMetadataManager.maybeUpdateTargetAssignment, at a heartbeat."""
        if self._refresh:
            self._refresh = False
            if self._pending is None:
                changed_ms = self._changed_ms
                self._bump(f"Bumped group epoch to {self.epoch + 1} with metadata hash")
                self._changed_ms = changed_ms
        if self._pending is not None and self.target_epoch < self.epoch and self.clock.now >= self._ready_ms():
            self._assign()

    def _assign(self) -> None:
        """Compute the target assignment: TargetAssignmentBuilder.build."""
        now, current = self.clock.now, self._pending
        if current is None:
            return
        self._pending = None
        self._view = view = self.topology.view(self.topology.newest())
        numbers = self.numbers()
        before = self.group_of(numbers, view, self.target)
        assignor = self._preferred(numbers)
        assignment: Assignment = assignor.run(before)
        self.describe(current, before, assignment, assignor, view)
        current.epoch = self.target_epoch = self.epoch
        self._since_ms, self.assigned_at = max(self._changed_ms, self._ready_ms()), now
        self._slots = {number: slot for slot, number in enumerate(numbers.tolist())}
        self._rows = assignment.rows
        self.target = np.full(len(self.target), NONE, np.int32)
        self.target[view.to_world[assignment.rows.values]] = numbers[assignment.rows.row_of_each_value()]
        self._enter(RECONCILING)
        self._divide_work(numbers)

    def _preferred(self, numbers: Int32s) -> Assignor:
        """The assignor that most members of the consumer protocol ask for: ConsumerGroup.computePreferredServerAssignor."""
        codes = self.members.assignors[numbers[~self.members.classic[numbers]]]
        votes: Counter[str] = Counter()
        for code in distinct(codes):
            votes[self.members.assignor_lists[code][0].name] += int((codes == code).sum())
        if votes:
            firsts = [self.members.assignor_lists[code][0] for code in dict.fromkeys(codes.tolist())]
            self._assignor = next(one for one in firsts if votes[one.name] == max(votes.values()))
        return self._assignor or self.timeline.assignor

    _assignor: Assignor | None = None

    def _divide_work(self, numbers: Int32s) -> None:
        """What each member loses and gains; the members without any of it reach the epoch at their next heartbeat."""
        revoking = {number: work.revoking for number, work in self._work.items() if len(work.revoking)}
        differs = np.flatnonzero(self.target != self.holder).astype(np.int32)
        losers = grouped(self.holder[differs], len(self.members.all))
        gainers = grouped(self.target[differs], len(self.members.all))
        self._work = {number: Work(revoking=partitions) for number, partitions in revoking.items()}
        for number in np.flatnonzero(losers.lengths()).tolist():
            if number in self.present:
                work = self._work.setdefault(number, Work())
                loses = differs[losers.row(number)]
                work.loses = np.setdiff1d(loses, work.revoking, assume_unique=True) if len(work.revoking) else loses
        for number in np.flatnonzero(gainers.lengths()).tolist():
            if number in self.present:
                self._work.setdefault(number, Work()).gains = differs[gainers.row(number)]
        self._round += 1
        beats = numbers[(self.members.died[numbers] == NEVER) & ~self.members.away[numbers]]
        next_beats = np.where(beats == self._beating, self.clock.now, self.coming_beats(beats, self.clock.now))
        for number, at in zip(beats.tolist(), next_beats.tolist(), strict=True):
            if number in self._work and number != self._beating:
                self._follow(number, at)
        self.later(int(next_beats.max(initial=self.clock.now)), self._settle, self._round)
        self._settles_at = int(next_beats.max(initial=self.clock.now))

    _settles_at = 0
    _beating = NONE

    def _settle(self, this_round: int) -> None:
        """Stable once every member has reached the target epoch: ConsumerGroup.maybeUpdateGroupState."""
        if this_round != self._round or self._state != RECONCILING or self._work or self.clock.now < self._settles_at:
            return
        if len(self._beating_numbers()) < len(self.present):
            return
        self.members.generation[self.numbers()] = self.target_epoch
        self._enter(STABLE)
        if self.rebalances and self.rebalances[-1].stable_at_ms is None:
            self.rebalances[-1].stable_at_ms = self.clock.now

    def _follow(self, number: int, at_ms: int) -> None:
        """Have a member heartbeat then, unless another assignment comes first. Heartbeats at the same time are one call."""
        due = self._due.setdefault((self._round, at_ms), [])
        if not due:
            self.later(at_ms, self._follow_all, self._round, at_ms)
        due.append(number)

    def _follow_all(self, this_round: int, at_ms: int) -> None:
        for number in self._due.pop((this_round, at_ms)):
            if this_round == self._round and number in self.present and self._beats(number):
                self._heartbeat(number)

    def _heartbeat(self, number: int, *, error: str = "") -> None:
        """A heartbeat, and what the coordinator answers: GroupMetadataManager.consumerGroupHeartbeat."""
        self.clock.spend(STEP_CELLS)
        member, now = self.members.all[number], self.clock.now
        if self.members.joined[number] != self.members.topics[number]:
            self.members.joined[number] = self.members.topics[number]
            self.members.beat[number] = now
            self._bump(f"Member {member.member_id} updated its subscribed topics to: {self._names(member)}.")
            self._drop_unsubscribed(member)
        self._beating = number
        self._maybe_assign()
        self._beating = NONE
        self.request(self.heartbeat_api, member, now, error)
        self.members.beat[number] = now
        self._reconcile(number)
        work = self._work.get(number)
        if work is not None and not len(work.revoking):
            self._follow(number, now + self.timing.heartbeat_interval_ms)
        if not self._work and self._state == RECONCILING:
            self.later(now, self._settle, self._round)

    def _reconcile(self, number: int) -> None:
        """One step of a member towards its target: CurrentAssignmentBuilder.computeNextAssignment, AbstractMembershipManager.

        Revoked partitions are confirmed by a heartbeat at once, unless the member does not poll: then once it does.
        """
        work = self._work.get(number)
        if work is None or len(work.revoking):
            return
        now, member = self.clock.now, self.members.all[number]
        if len(work.loses):
            work.revoking, work.loses = work.loses, np.empty(0, np.int32)
            stops, confirms = self._revoking_polls(number)
            if confirms > now:
                fenced_at = now + self.timing.rebalance_timeout_ms
                self.later(stops, self._stop_fetching, number, work)
                self.later(confirms, self._confirm, number, self.target_epoch)
                self.later(fenced_at, self._fence_slow, number, int(self.members.generation[number]), work)
            else:
                self._confirm(number, self.target_epoch)
            return
        free = self.holder[work.gains] == NONE
        gets, work.gains = work.gains[free], work.gains[~free]
        self._give(number, gets)
        if len(gets):
            self.request(self.heartbeat_api, member, now)
        if not len(work.gains):
            del self._work[number]
        self.members.generation[number] = self.target_epoch

    def _revoking_polls(self, number: int) -> tuple[int, int]:
        """In which poll a member stops to fetch what it is to revoke, and in which it says so.

        A poll has the background thread look for what there is to revoke, but of a member that has records only every other one:
        the poll between returns what has been fetched meanwhile. The next poll takes over the new assignment.

        Reproduces AsyncKafkaConsumer.checkInflightPoll, maybeClearPreviousInflightPoll, maybeClearCurrentInflightPoll and
        processBackgroundEvents, and AbstractMembershipManager.maybeReconcile. Members have no ConsumerRebalanceListener.
        """
        first, every = self.next_poll(number, self.clock.now), self.timing.poll_interval_ms
        if not every:
            return first, first
        is_between = first // every % 2
        stops = self.next_poll(number, first + every * is_between)
        return stops, self.next_poll(number, stops + every)

    def _stop_fetching(self, number: int, work: Work) -> None:
        """AbstractMembershipManager.markPendingRevocationToPauseFetching."""
        if self._work.get(number) is work:
            self.ledger.stop_one(work.revoking[self.holder[work.revoking] == number], number, self.clock.now)

    def _confirm(self, number: int, _: int) -> None:
        """The member has revoked: it stops reading, says so, and goes on to what it gains.

        Reproduces AbstractMembershipManager.revokeAndAssign and CurrentAssignmentBuilder.build in UNREVOKED_PARTITIONS.
        """
        work = self._work.get(number)
        if work is None or number not in self.present or not self._beats(number):
            return
        freed = work.revoking[self.holder[work.revoking] == number]
        self.holder[freed] = NONE
        self.free_since[freed] = self.clock.now
        self.ledger.stop_one(freed, number, self.clock.now)
        work.revoking = np.empty(0, np.int32)
        self._heartbeat(number)

    def _give(self, number: int, partitions: Int32s) -> None:
        """The member gets these, and reads them from its next poll on: ConsumerGroup.updateMember with a new assignment."""
        if not len(partitions):
            return
        self.holder[partitions] = number
        polls, joins = self.next_poll(number, self.clock.now), number == self._joining
        if polls > self.clock.now:
            self.later(polls, self._take, number, partitions, joins)
        else:
            self._take(number, partitions, joins)

    def _take(self, number: int, partitions: Int32s, joins: bool) -> None:  # noqa: FBT001 - positional, as an agenda's calls are
        """A poll takes over a new assignment: AsyncKafkaConsumer.processBackgroundEvents. joins : is it the member's first?"""
        if self.members.died[number] != NEVER or not self.rebalances:
            return
        still = (self.holder[partitions] == number) & (self.ledger.reader[partitions] == NONE)
        if (work := self._work.get(number)) is not None:
            still &= ~np.isin(partitions, work.revoking)
        partitions, current = partitions[still], self.rebalances[-1]
        missed = self.ledger.start_one(partitions, number, self.clock.now, current, self._wait(joins=joins))
        slot = self._slots.get(number)
        if missed is not None and slot is not None:
            of_members = np.zeros(len(self._rows))
            of_members[slot] = missed
            self.backlog(current, of_members, self._rows, self._view)

    def _wait(self, *, joins: bool) -> Wait | None:
        """How long partitions wait for their new member's heartbeat and poll, which can come at any time of an interval.

        joins : has it just joined? Then it has them from its first heartbeat
        """
        most_ms = self.timing.poll_interval_ms + (0 if joins else self.timing.heartbeat_interval_ms)
        return Wait(self._since_ms, most_ms, is_middle=True, each_from_ms=self.free_since) if most_ms else None

    _joining = NONE

    def _drop_unsubscribed(self, member: Member) -> None:
        """Have it revoke what it no longer subscribes to: CurrentAssignmentBuilder.updateCurrentAssignment."""
        mine = np.flatnonzero(
            (self.holder == member.number) & ~np.isin(self.topology.topic_of, self.members.topics_of(member.number))
        ).astype(np.int32)
        if len(mine):
            work = self._work.setdefault(member.number, Work())
            work.loses = np.union1d(work.loses, np.setdiff1d(mine, work.revoking)).astype(np.int32)

    def _names(self, member: Member) -> str:
        return "[" + ", ".join(self.timeline.world.names[topic] for topic in self.members.topics_of(member.number)) + "]"

    def _expire_at(self, number: int, at_ms: int) -> None:
        """GroupMetadataManager.scheduleConsumerGroupSessionTimeout, or the longer one of a static member that is away."""
        self._expiries[number] = at_ms
        self.later(at_ms, self._expire, number, at_ms)

    def _expire(self, number: int, at_ms: int) -> None:
        """GroupMetadataManager.scheduleConsumerGroupSessionTimeout."""
        if self._expiries.get(number) == at_ms and number in self.present:
            member = self.present[number]
            self._fence(member, f"Member {member.member_id} fenced from the group because the member session expired.")

    def _fence_slow(self, number: int, epoch: int, work: Work) -> None:
        """GroupMetadataManager.scheduleConsumerGroupRebalanceTimeout; the client joins again with its next heartbeat."""
        if self._work.get(number) is not work or not len(work.revoking) or number not in self.present:
            return
        member = self.present[number]
        self.ledger.stop_member(number, self.clock.now)
        within = self.timing.rebalance_timeout_ms
        self._fence(
            member,
            f"Member {member.member_id} fenced from the group because it failed to transition from epoch {epoch} "
            f"within {within}ms.",
        )
        beat = int(self.next_beats(np.array([number], np.int32), self.clock.now)[0])
        self.later(beat, self._join_again, member)

    def _fence(self, member: Member, reason: str) -> None:
        """GroupMetadataManager.consumerGroupFenceMember."""
        number = member.number
        del self.present[number]
        self._expiries.pop(number, None)
        self.members.away[number] = False
        self._work.pop(number, None)
        self.free_since[self.holder == number] = self.clock.now
        for owners in (self.holder, self.target):
            owners[owners == number] = NONE
        self._bump(reason)

    def _join_again(self, member: Member) -> None:
        """The same client, with the same member id, joins with epoch 0: AbstractMembershipManager.transitionToJoining."""
        if self.members.died[member.number] != NEVER:
            return
        if member.number in self.present:
            self.members.away[member.number] = False
            self._expiries.pop(member.number, None)
            self.ledger.start_one(
                np.flatnonzero(self.holder == member.number).astype(np.int32), member.number, self.clock.now, None
            )
            self._heartbeat(member.number)
        else:
            self.join(member, starts=False)

    def _enter(self, state: str) -> None:
        self._state = state
        if not self.rebalances:
            return  # a group that is stable at the start has no rebalance in which to note it
        current = self._pending or self.rebalances[-1]
        if not current.states or current.states[-1][1] != state:
            current.states.append((self.clock.now, state))
