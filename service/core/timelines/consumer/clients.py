"""The clients of the consumer protocol: how they start, stop, stall and change.

Source: org.apache.kafka.clients.consumer.internals.AbstractMembershipManager, ConsumerMembershipManager and
AbstractHeartbeatRequestManager; the coordinator's answers: org.apache.kafka.coordinator.group.GroupMetadataManager (Apache Kafka
4.3.1). Each method names its own.
"""

from __future__ import annotations

import numpy as np

from service.core.errors import InvalidQuestion
from service.core.model import NONE, Int32s
from service.core.timelines.consumer.coordinator import (
    EMPTY,
    FIRST_EPOCH,
    RECONCILING,
    STABLE,
    ConsumerCoordinator,
    Work,
)
from service.core.timelines.group import GroupTimeline
from service.core.timelines.members import Member
from service.core.timelines.model import NEVER


class ConsumerTimeline(ConsumerCoordinator):
    """A group of the consumer protocol."""

    @classmethod
    def converted(cls, classic: GroupTimeline, owner: Int32s, generation: int, expiries: dict[int, int]) -> ConsumerTimeline:
        """A classic group that a member of the consumer protocol joins; its other members go on as they are until they restart.

        To a classic member the coordinator answers Heartbeat, JoinGroup and SyncGroup as it would answer its heartbeats, so its
        part of a rebalance takes as long. The upgrade itself raises no epoch: a new member does, a returning static one does not.

        expiries : when the sessions of silent members expire, by number

        Reproduces GroupMetadataManager.convertToConsumerGroup and ConsumerGroup.fromClassicGroup.
        """
        group = cls(classic.timeline, begins=False)
        group.inherit(classic)
        group.holder, group.target = owner.copy(), owner.copy()
        group.epoch = group.target_epoch = generation
        group._state = STABLE if group.present else EMPTY
        for number in group.present:
            group.members.generation[number] = generation
            if group.members.died[number] != NEVER:
                group._expire_at(number, expiries.get(number, group.clock.now + group.timing.session_timeout_ms))
            else:
                unread = (group.holder == number) & (group.ledger.reader == NONE)
                group.ledger.start_one(np.flatnonzero(unread).astype(np.int32), number, group.clock.now, None)
        return group

    def begin(self) -> None:
        """See GroupTimeline."""
        group = self.timeline.group
        stable = len(group.owned.values) > 0
        for i, topics in enumerate(self.timeline.subscriptions):
            member = self.start(self.first_member(group, i, topics))
            if stable:
                self.present[member.number] = member
            else:
                self.join(member)
        if stable:
            owned, owners = group.owned.values, group.owned.row_of_each_value()
            self.holder[owned] = self.target[owned] = owners
            self.ledger.start(owned, owners, np.zeros(len(owned), np.int64), None)
            self.epoch = self.target_epoch = max(int(group.generations.max()), FIRST_EPOCH + 1)
            self._state = STABLE
            self.members.generation[self.numbers()] = self.epoch

    def join(self, member: Member, *, starts: bool = True) -> None:
        """A client's first heartbeat, with epoch 0.

        Reproduces GroupMetadataManager.getOrMaybeSubscribeDynamicConsumerGroupMember and
        getOrMaybeSubscribeStaticConsumerGroupMember: a static member that has left with epoch -2 is replaced, without a new
        group epoch.
        """
        old = self.present.with_instance(member.instance_id)
        if old is not None:
            self._replace(old, member)
            return
        self.members.joined[member.number] = self.members.topics[member.number]
        self.present[member.number] = member
        with_instance = f" with instance id {member.instance_id}" if member.is_static else ""
        kind = "Static member" if member.is_static else "Member"
        self._bump(
            f"{kind} {member.member_id}{with_instance} joins the {self.protocol} group using the {member.protocol} protocol."
        )
        if starts:
            self.request("FindCoordinator", member, self.clock.now)
        self._joining = member.number
        self._heartbeat(member.number)
        self._joining = NONE

    def _replace(self, old: Member, member: Member) -> None:
        """GroupMetadataManager.replaceMember, throwIfInstanceIdIsUnreleased."""
        if old.protocol == self.protocol and not self.members.away[old.number]:
            detail = f"Static member {member.member_id} with instance id {member.instance_id} cannot join the group because the "
            detail += f"instance id is owned by {old.member_id} member (UNRELEASED_INSTANCE_ID)."
            raise InvalidQuestion(detail, "events", self.cause or 0)
        now = self.clock.now
        del self.present[old.number]
        self.present[member.number] = member
        self.members.away[old.number] = False
        self._expiries.pop(old.number, None)
        self.members.joined[member.number] = self.members.joined[old.number]
        for owners in (self.holder, self.target):
            owners[owners == old.number] = member.number
        work = self._work.pop(old.number, None)
        if work is not None:
            self._work[member.number] = Work(loses=np.union1d(work.loses, work.revoking).astype(np.int32), gains=work.gains)
        if old.number in self._slots:
            self._slots[member.number] = self._slots.pop(old.number)
        self.ledger.start_one(np.flatnonzero(self.holder == member.number).astype(np.int32), member.number, now, None)
        self.members.generation[member.number] = self.target_epoch
        self.request("FindCoordinator", member, now)
        self._heartbeat(member.number)

    def leave(self, member: Member, client_reason: str) -> None:
        """A leaving heartbeat: epoch -1, of a static member -2, which keeps its partitions until its session is over.

        A static member of the classic protocol stays silent.

        Reproduces GroupMetadataManager.consumerGroupLeave and consumerGroupStaticMemberGroupLeave (KIP-848).
        """
        if member.is_static and member.protocol == "classic":
            self.crash(member)
            return
        number, now = member.number, self.clock.now
        self.ledger.stop_member(number, now)
        if number not in self.present:
            return
        self.request(self.heartbeat_api, member, now)
        if member.is_static:
            self.members.away[number] = True
            if self._state == STABLE:
                self._enter(RECONCILING)  # until it is back, its epoch is not the group's
            self._expire_at(number, self.last_beat(number, now) + self.timing.session_timeout_ms)
            if self._pending is not None:
                self._await_heartbeat()
        elif member.protocol == "classic":
            explicit = "has left group through explicit `LeaveGroup` request"
            self._fence(member, f"Dynamic member {member.member_id} {explicit}; client reason: {client_reason}")
        else:
            self._fence(member, f"Member {member.member_id} left the {self.protocol} group.")

    def crash(self, member: Member) -> None:
        """Heartbeats stop; its session expires: GroupMetadataManager.scheduleConsumerGroupSessionTimeout."""
        self.ledger.stop_member(member.number, self.clock.now)
        if member.number in self.present:
            self._expire_at(member.number, self.last_beat(member.number, self.clock.now) + self.timing.session_timeout_ms)
            if self._pending is not None:
                self._await_heartbeat()

    def stall(self, member: Member) -> None:
        """A member that does not poll heartbeats on, but revokes nothing; beyond ``max.poll.interval.ms`` it leaves.

        Reproduces AbstractHeartbeatRequestManager.poll: its background thread sends the leaving heartbeat, and it joins again,
        with the same member id, when it polls.
        """
        until = int(self.members.stalled_until[member.number])
        if until - self.clock.now > self.timing.rebalance_timeout_ms:
            self.later(self.clock.now + self.timing.rebalance_timeout_ms, self._stop_polling, member, until)

    def _stop_polling(self, member: Member, until: int) -> None:
        """AbstractMembershipManager.transitionToSendingLeaveGroup, for an expired poll timer."""
        if self.members.died[member.number] == NEVER and member.number in self.present:
            self.leave(member, "")
            self.later(until, self._join_again, member)

    def resubscribe(self, member: Member) -> None:
        """Its next heartbeat tells: AbstractMembershipManager.onSubscriptionUpdated."""
        at = int(self.next_beats(np.array([member.number], np.int32), self.clock.now)[0])
        self.later(at, self._tell_subscription, member)

    def _tell_subscription(self, member: Member) -> None:
        """ConsumerHeartbeatRequestManager.HeartbeatState.buildRequestData sends the topics if they have changed."""
        if member.number not in self.present or not self._beats(member.number):
            return
        if self.members.topics[member.number] != self.members.joined[member.number]:
            self._heartbeat(member.number)
        else:  # it has changed its mind before anybody heard of it
            unread = (self.holder == member.number) & (self.ledger.reader == NONE)
            self.ledger.start_one(np.flatnonzero(unread).astype(np.int32), member.number, self.clock.now, None)

    def topics_changed(self) -> None:
        """The coordinator sees it at once; the next heartbeat raises the epoch: GroupMetadataManager.onMetadataUpdate."""
        if self.topology.last_topic() in self.members.joined_topics(self.numbers()):
            if not self._refresh and self._pending is None:
                self._changed_ms = self.clock.now
            self._refresh = True
            self._await_heartbeat()
