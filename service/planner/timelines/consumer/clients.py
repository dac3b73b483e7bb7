"""The clients of the consumer protocol: how they start, stop, stall and change, when they heartbeat, and what they read.

Source: org.apache.kafka.clients.consumer.internals.AbstractMembershipManager, ConsumerMembershipManager and
AbstractHeartbeatRequestManager; org.apache.kafka.coordinator.group.modern.consumer.CurrentAssignmentBuilder.
Each method names its own.
"""

from typing import Final, Self

import numpy as np

from service.core.model import NONE, Int32s
from service.planner.timelines.classic.coordinator import ClassicCoordinator
from service.planner.timelines.consumer.coordinator import EMPTY, RECONCILING, STABLE, ConsumerCoordinator, MemberWork
from service.planner.timelines.course import PASSED, STEP_CELLS, Course
from service.planner.timelines.ledger import Wait
from service.planner.timelines.members import Member
from service.planner.timelines.model import NEVER

NOBODY: Final[Int32s] = np.empty(0, np.int32)


class ConsumerClients:
    """The members of a group of the consumer protocol, and their coordinator."""

    def __init__(self, course: Course) -> None:
        self.course, self.coordinator = course, ConsumerCoordinator(course, self)
        course.parties.append(self)
        self.timing, self.clock, self.members = course.timing, course.clock, course.members
        self.ledger, self.present = course.ledger, course.present
        self._due: dict[tuple[int, int], list[int]] = {}
        self._awaited_ms = -1
        self._contender = (NONE, NEVER)

    @classmethod
    def converted(cls, course: Course, classic: ClassicCoordinator) -> Self:
        """A classic group that a member of the consumer protocol joins; its other members go on as they are until they restart.

        To a classic member the coordinator answers Heartbeat, JoinGroup and SyncGroup as it would answer its heartbeats, so its
        part of a rebalance takes as long. The upgrade itself raises no epoch: a new member does, a returning static one does not.

        Reproduces GroupMetadataManager.convertToConsumerGroup and ConsumerGroup.fromClassicGroup.
        """
        course.protocol = "consumer"
        clients, columns = cls(course), course.members.columns
        coordinator = clients.coordinator
        coordinator.holder, coordinator.target = classic.owner.copy(), classic.owner.copy()
        coordinator.epoch = coordinator.target_epoch = classic.generation
        coordinator.state = STABLE if course.present else EMPTY
        for number in course.present:
            columns.generation[number] = classic.generation
            if columns.died[number] != NEVER:
                coordinator.expire_at(number, classic.expiries.get(number, course.clock.now + course.timing.session_timeout_ms))
            else:
                clients._read_held(number)
        return clients

    # ---- clients that start, stop, stall and change ------------------------------------------------------------------

    def join(self, member: Member, *, starts: bool = True) -> None:
        """A client's first heartbeat, with epoch 0. starts : has it just started? Then it looks for its coordinator first"""
        replaces = self.coordinator.admit(member)
        if replaces:
            self._read_held(member.number)
        if starts or replaces:
            self.course.request("FindCoordinator", member)
        self.coordinator.joining = NONE if replaces else member.number
        self.heartbeat(member.number)
        self.coordinator.joining = NONE

    def leave(self, member: Member, client_reason: str = "the consumer is being closed") -> None:
        """A client closes in good order. A static member of the classic protocol stays silent."""
        if member.is_static and member.protocol == "classic":
            self.crash(member)
            return
        self.ledger.stop_member(member.number, self.clock.now)
        if member.number in self.present:
            self.coordinator.leave(member, client_reason)

    def crash(self, member: Member) -> None:
        """A client ends without a word."""
        self.ledger.stop_member(member.number, self.clock.now)
        if member.number in self.present:
            self.coordinator.miss(member)

    def stall(self, member: Member) -> None:
        """A member that does not poll heartbeats on, but revokes nothing; beyond ``max.poll.interval.ms`` it leaves.

        Reproduces AbstractHeartbeatRequestManager.poll: its background thread sends the leaving heartbeat, and it joins again,
        with the same member id, when it polls.
        """
        until = int(self.members.columns.stalled_until[member.number])
        if until - self.clock.now > self.timing.rebalance_timeout_ms:
            self.course.later(self.clock.now + self.timing.rebalance_timeout_ms, self._stop_polling, member, until)

    def _stop_polling(self, member: Member, until: int) -> None:
        """AbstractMembershipManager.transitionToSendingLeaveGroup, for an expired poll timer."""
        if self.members.columns.died[member.number] == NEVER and member.number in self.present:
            self.leave(member, "")
            self.course.later(until, self.join_again, member)

    def join_again(self, member: Member) -> None:
        """The same client, with the same member id, joins with epoch 0: AbstractMembershipManager.transitionToJoining."""
        if self.members.columns.died[member.number] != NEVER:
            return
        if member.number in self.present:
            self.coordinator.forget_session(member)
            self._read_held(member.number)
            self.heartbeat(member.number)
        else:
            self.join(member, starts=False)

    def resubscribe(self, member: Member) -> None:
        """Its next heartbeat tells: AbstractMembershipManager.onSubscriptionUpdated."""
        at = int(self.course.paces.next_beats(np.array([member.number], np.int32), self.clock.now)[0])
        self.course.later(at, self._tell_subscription, member)

    def _tell_subscription(self, member: Member) -> None:
        """ConsumerHeartbeatRequestManager.HeartbeatState.buildRequestData sends the topics if they have changed."""
        if member.number not in self.present or not self._beats(member.number):
            return
        if self.members.columns.topics[member.number] != self.members.columns.joined[member.number]:
            self.heartbeat(member.number)
        else:  # it has changed its mind before anybody heard of it
            self._read_held(member.number)

    def topics_changed(self) -> None:
        """The coordinator sees it at once."""
        self.coordinator.topics_changed()

    # ---- heartbeats --------------------------------------------------------------------------------------------------

    def await_heartbeat(self) -> None:
        """The next heartbeat of any member has the target computed: GroupMetadataManager.maybeUpdateTargetAssignment.

        One call waits for it. Members that join bring no earlier one, as they have just sent theirs; changed topics can.
        """
        now = self.clock.now
        numbers = NOBODY if self._awaited_ms >= now and not self.coordinator.refresh else self._beating_numbers()
        if len(numbers):
            self.clock.spend(len(numbers) // PASSED)
            after_ms = now if self.coordinator.refresh else max(now, self.coordinator.ready_ms() - 1)
            at_ms = int(self.course.paces.next_beats(numbers, after_ms).min())
            if not now <= self._awaited_ms <= at_ms:
                self._awaited_ms = at_ms
                self.course.later(at_ms, self._beat_at, at_ms)

    def _beat_at(self, at_ms: int) -> None:
        """The heartbeat that was waited for, of whichever member sends it by now."""
        if at_ms != self._awaited_ms:
            return
        self._awaited_ms = -1
        if self.coordinator.target_epoch < self.coordinator.epoch or self.coordinator.refresh:
            numbers = self._beating_numbers() if self.coordinator.refresh or at_ms >= self.coordinator.ready_ms() else NOBODY
            due = numbers[self.course.paces.next_beats(numbers, at_ms - 1) == at_ms]
            if len(due):
                self.heartbeat(int(due[0]))
            else:
                self.await_heartbeat()

    def _beats(self, number: int) -> bool:
        columns = self.members.columns
        return bool(columns.died[number] == NEVER) and not columns.away[number]

    def _beating_numbers(self) -> Int32s:
        """int32[...], the members that heartbeat."""
        numbers = self.present.numbers()
        return numbers[self.coordinator.beats(numbers)]

    def follow(self, number: int, at_ms: int) -> None:
        """Have a member heartbeat then, unless another assignment comes first. Heartbeats at the same time are one call."""
        due = self._due.setdefault((self.coordinator.round, at_ms), [])
        if not due:
            self.course.later(at_ms, self._follow_all, self.coordinator.round, at_ms)
        due.append(number)

    def _follow_all(self, this_round: int, at_ms: int) -> None:
        for number in self._due.pop((this_round, at_ms)):
            if this_round == self.coordinator.round and number in self.present and self._beats(number):
                self.heartbeat(number)

    def heartbeat(self, number: int) -> None:
        """A heartbeat, and what the member does with the answer."""
        self.clock.spend(STEP_CELLS)
        self.coordinator.hear(self.members.all[number])
        now = self.clock.now
        self.members.columns.beat[number] = now
        self._reconcile(number)
        work = self.coordinator.work
        if number in work and not len(work[number].revoking):
            self.follow(number, now + self.timing.heartbeat_interval_ms)
        if not work and self.coordinator.state == RECONCILING:
            self.course.later(now, self.coordinator.settle, self.coordinator.round)
        self._follow_contender()

    def _follow_contender(self) -> None:
        """Have a member that raises the group epoch by its heartbeats send the next one, whatever is assigned before."""
        number = self.coordinator.contender()
        if number != NONE:
            at_ms = int(self.course.paces.next_beats(np.array([number], np.int32), self.clock.now)[0])
            if self._contender != (number, at_ms):
                self._contender = (number, at_ms)
                self.course.later(at_ms, self._contend, number, at_ms)

    def _contend(self, number: int, at_ms: int) -> None:
        if self._contender == (number, at_ms):
            self._contender = (NONE, NEVER)
            if number in self.present and self._beats(number):
                self.heartbeat(number)

    # ---- what members revoke, get and read ---------------------------------------------------------------------------

    def _reconcile(self, number: int) -> None:
        """One step of a member towards its target: CurrentAssignmentBuilder.computeNextAssignment, AbstractMembershipManager.

        Revoked partitions are confirmed by a heartbeat at once, unless the member does not poll: then once it does.
        """
        work = self.coordinator.work.get(number)
        if work is None or len(work.revoking):
            return
        now, member, columns = self.clock.now, self.members.all[number], self.members.columns
        if len(work.loses):
            work.revoking, work.loses = work.loses, np.empty(0, np.int32)
            stops, confirms = self._revoking_polls(number)
            if confirms > now:
                fenced_at = now + self.timing.rebalance_timeout_ms
                self.course.later(stops, self._stop_fetching, number, work)
                self.course.later(confirms, self._confirm, number)
                self.course.later(fenced_at, self.coordinator.fence_slow, member, int(columns.generation[number]), work)
            else:
                self._confirm(number)
            return
        free = self.coordinator.holder[work.gains] == NONE
        gets, work.gains = work.gains[free], work.gains[~free]
        self._give(number, gets)
        if len(gets):
            self.course.request(self.coordinator.heartbeat_api, member)
        if not len(work.gains):
            del self.coordinator.work[number]
        self.members.columns.generation[number] = self.coordinator.target_epoch

    def _revoking_polls(self, number: int) -> tuple[int, int]:
        """In which poll a member stops to fetch what it is to revoke, and in which it says so.

        A poll has the background thread look for what there is to revoke, but of a member that has records only every other one:
        the poll between returns what has been fetched meanwhile. The next poll takes over the new assignment.

        Reproduces AsyncKafkaConsumer.checkInflightPoll, maybeClearPreviousInflightPoll, maybeClearCurrentInflightPoll and
        processBackgroundEvents, and AbstractMembershipManager.maybeReconcile. Members have no ConsumerRebalanceListener.
        """
        first, every = self.course.paces.next_poll(number, self.clock.now), self.timing.poll_interval_ms
        if not every:
            return first, first
        is_between = first // every % 2
        stops = self.course.paces.next_poll(number, first + every * is_between)
        return stops, self.course.paces.next_poll(number, stops + every)

    def _stop_fetching(self, number: int, work: MemberWork) -> None:
        """AbstractMembershipManager.markPendingRevocationToPauseFetching."""
        if self.coordinator.work.get(number) is work:
            self.ledger.stop_one(work.revoking[self.coordinator.holder[work.revoking] == number], number, self.clock.now)

    def _confirm(self, number: int) -> None:
        """The member has revoked: it stops reading, says so, and goes on to what it gains.

        Reproduces AbstractMembershipManager.revokeAndAssign and CurrentAssignmentBuilder.build in UNREVOKED_PARTITIONS.
        """
        work = self.coordinator.work.get(number)
        if work is None or number not in self.present or not self._beats(number):
            return
        freed = work.revoking[self.coordinator.holder[work.revoking] == number]
        self.coordinator.holder[freed] = NONE
        self.coordinator.free_since[freed] = self.clock.now
        self.ledger.stop_one(freed, number, self.clock.now)
        work.revoking = np.empty(0, np.int32)
        again = freed[self.coordinator.target[freed] == number]  # a later target has given them back meanwhile
        work.gains = np.union1d(work.gains, again).astype(np.int32)
        self.heartbeat(number)

    def _read_held(self, number: int) -> None:
        """A member reads at once what it holds and no member reads."""
        unread = (self.coordinator.holder == number) & (self.ledger.reader == NONE)
        self.ledger.start_one(np.flatnonzero(unread).astype(np.int32), number, self.clock.now, None)

    def _give(self, number: int, partitions: Int32s) -> None:
        """The member gets these, and reads them from its next poll on: ConsumerGroup.updateMember with a new assignment."""
        if not len(partitions):
            return
        self.coordinator.holder[partitions] = number
        now, stalled_until = self.clock.now, self.members.columns.stalled_until
        polls = self.course.paces.next_poll(number, now)
        beats = number != self.coordinator.joining and stalled_until[number] <= now
        if polls > now:
            self.course.later(polls, self._take, number, partitions, beats)
        else:
            self._take(number, partitions, beats)

    def _take(self, number: int, partitions: Int32s, beats: bool) -> None:  # noqa: FBT001 - positional, as an agenda's calls are
        """A poll takes over a new assignment: AsyncKafkaConsumer.processBackgroundEvents. beats : see ``_wait``"""
        if self.members.columns.died[number] != NEVER or not self.course.rebalances:
            return
        still = (self.coordinator.holder[partitions] == number) & (self.ledger.reader[partitions] == NONE)
        if (work := self.coordinator.work.get(number)) is not None:
            still &= ~np.isin(partitions, work.revoking)
        partitions, current = partitions[still], self.course.rebalances[-1]
        missed = self.ledger.start_one(partitions, number, self.clock.now, current, self._wait(number, beats=beats))
        slot = self.coordinator.slots.get(number)
        if missed is not None and slot is not None:
            of_members = np.zeros(len(self.coordinator.rows))
            of_members[slot] = missed
            self.course.backlog(current, of_members, self.coordinator.rows, self.coordinator.view)

    def _wait(self, number: int, *, beats: bool) -> Wait | None:
        """How long partitions wait for their new member's heartbeat and poll, which can come at any time of an interval.

        beats : for a heartbeat too? Not if it has just joined, as it has them from its first one, nor if it stalls meanwhile
        """
        most_ms = self.timing.poll_interval_ms + (self.timing.heartbeat_interval_ms if beats else 0)
        since_ms = max(self.coordinator.since_ms, int(self.members.columns.stalled_until[number]))
        return Wait(since_ms, most_ms, is_middle=True, each_from_ms=self.coordinator.free_since) if most_ms else None
