"""The clients of the classic protocol: how they start, stop, stall and change.

Source: org.apache.kafka.clients.consumer.internals.AbstractCoordinator and ConsumerCoordinator; the coordinator's answers:
org.apache.kafka.coordinator.group.GroupMetadataManager (Apache Kafka 4.3.1). Each method names its own.
"""

import numpy as np

from service.core.errors import InvalidQuestion
from service.core.model import NONE
from service.core.timelines.classic.coordinator import (
    COMPLETING,
    EMPTY,
    PREPARING,
    STABLE,
    SUBSCRIPTION,
    ClassicCoordinator,
)
from service.core.timelines.consumer.clients import ConsumerTimeline
from service.core.timelines.members import Member, distinct
from service.core.timelines.model import JOIN_TIMEOUT_MS, NEVER


class ClassicTimeline(ClassicCoordinator):
    """A group of the classic protocol."""

    def begin(self) -> None:
        """See GroupTimeline. In a group that has just become stable all heartbeats are due at the same times."""
        group = self.timeline.group
        stable = len(group.owned.values) > 0
        for i, topics in enumerate(self.timeline.subscriptions):
            member = self.start(self.first_member(group, i, topics))
            if not stable:
                self.join(member)
                continue
            self.present[member.number] = member
            self.members.is_new[member.number] = False
            self.members.generation[member.number] = int(group.generations[i]) if group.generations[i] != NONE else 1
        if stable:
            self._most_members = len(self.present)
            self.owner[group.owned.values] = group.owned.row_of_each_value()
            self.ledger.start(
                group.owned.values, group.owned.row_of_each_value(), np.zeros(len(group.owned.values), np.int64), None
            )
            self.generation = int(self.members.generation[self.numbers()].max())
            self.leader = 0
            self._state = STABLE

    def join(self, member: Member, *, starts: bool = True) -> None:
        """A new member's FindCoordinator and JoinGroup.

        Reproduces GroupMetadataManager.classicGroupJoinNewMember, classicGroupJoinNewStaticMember,
        classicGroupJoinNewDynamicMember and addMemberThenRebalanceOrCompleteJoin. A dynamic member is told its id first, and
        joins again with it (KIP-394).
        """
        if member.protocol != self.protocol:
            ConsumerTimeline.converted(self, self.owner, self.generation, self._expiries).join(member, starts=starts)
            return
        self._check_protocols(member)
        old = self.present.with_instance(member.instance_id)
        if old is not None:
            self._replace(old, member, starts=starts)
            return
        now = self.clock.now
        reason = "not provided" if member.is_static else f"need to re-join with the given member-id: {member.member_id}"
        if self._state == PREPARING and self._previous_state == EMPTY:
            self._new_member_added = True
        self.present[member.number] = member
        self._most_members = max(self._most_members, len(self.present))
        self.members.joins[member.number] = now
        if self.leader == NONE:
            self.leader = member.number
        began = self._state != PREPARING
        if began:
            instance = member.instance_id or "null"
            text = f"Adding new member {member.member_id} with group instance id {instance}; client reason: {reason}"
            self.prepare(text)
        if starts:
            self.request("FindCoordinator", member, now)
        if not member.is_static:
            self.request("JoinGroup", member, now, "MEMBER_ID_REQUIRED")
        if not began:
            self._look()

    def _check_protocols(self, member: Member) -> None:
        """Raise InvalidQuestion for a member that no assignor of the group suits: ClassicGroup.supportsProtocols."""
        if len(self.members.assignor_lists) == 1:
            return
        lists = [self.members.assignor_lists[code] for code in distinct(self.members.assignors[self.numbers()])]
        if self._state != EMPTY and not any(all(one in assignors for assignors in lists) for one in member.assignors):
            own = ", ".join(assignor.name for assignor in member.assignors)
            detail = (
                f"Member {member.member_id!r} supports no assignor that all others support, only {own}, at {self.clock.now} ms "
            )
            detail += "(INCONSISTENT_GROUP_PROTOCOL). A change of assignor must end before the next one begins."
            raise InvalidQuestion(detail, "events", self.cause or 0)

    def _replace(self, old: Member, member: Member, *, starts: bool) -> None:
        """A static member comes back before its session is over: no rebalance in a stable group whose protocol stays the same.

        Reproduces GroupMetadataManager.updateStaticMemberThenRebalanceOrCompleteJoin and ClassicGroup.replaceStaticMember
        (KIP-345, KIP-814).
        """
        now = self.clock.now
        del self.present[old.number]
        self.present[member.number] = member
        self._expiries.pop(old.number, None)
        self.members.is_new[member.number] = False
        self.members.generation[member.number] = self.members.generation[old.number]
        if self.leader == old.number:
            self.leader = member.number
        if starts:
            self.request("FindCoordinator", member, now)
        if self._state == STABLE and self._selected() == self._protocol:
            self.request("JoinGroup", member, now)
            self.request("SyncGroup", member, now)
            mine = np.flatnonzero(self.owner == old.number).astype(np.int32)
            self.owner[mine] = member.number
            self.ledger.start_one(mine, member.number, now, None)
            self.members.generation[member.number] = self.generation
            self._watch_metadata()
            return
        self.owner[self.owner == old.number] = NONE
        self.members.joins[member.number] = now
        if self._state == STABLE:
            self.prepare(
                f"Group's selectedProtocol will change because static member {member.member_id} with instance id "
                f"{member.instance_id} joined with change of protocol; client reason: not provided"
            )
        elif self._state == COMPLETING:
            self.prepare(
                f"Updating metadata for static member {member.member_id} with instance id {member.instance_id}; "
                "client reason: not provided"
            )
        else:
            self._look()

    def leave(self, member: Member, client_reason: str) -> None:
        """A dynamic member sends LeaveGroup: GroupMetadataManager.classicGroupLeaveToClassicGroup. A static one stays silent."""
        if member.is_static:
            self.crash(member)
            return
        self.ledger.stop_member(member.number, self.clock.now)
        if member.number not in self.present:
            return
        self._remove(member)
        reason = f"explicit `LeaveGroup` request for ({member.member_id}) members."
        if self._state in (STABLE, COMPLETING):
            self.prepare(reason)
            self.request("LeaveGroup", member, self.clock.now)
        else:
            self.request("LeaveGroup", member, self.clock.now)
            self._look()

    def crash(self, member: Member) -> None:
        """Heartbeats stop. A member that waits for others to join is only missed in the next generation.

        Reproduces ClassicGroupMember.hasSatisfiedHeartbeat.
        """
        now, number = self.clock.now, member.number
        self.ledger.stop_member(number, now)
        if number not in self.present:
            return
        if self._state == PREPARING and self.members.joins[number] <= now:
            if self.members.is_new[number]:
                self._expire_at(number, member.started_ms + JOIN_TIMEOUT_MS)
            return
        self.members.joins[number] = self.members.syncs[number] = NEVER
        self._expire_at(number, self.last_beat(number, now) + self.timing.session_timeout_ms)

    def stall(self, member: Member) -> None:
        """A member that does not poll joins later; beyond ``max.poll.interval.ms`` it leaves, or if static falls silent.

        Reproduces AbstractCoordinator.HeartbeatThread, handlePollTimeoutExpiry and maybeLeaveGroup.
        """
        number, now = member.number, self.clock.now
        until = int(self.members.stalled_until[number])
        if self._state == PREPARING and now < self.members.joins[number] < until:
            self.members.joins[number] = until
        if until - now > self.timing.rebalance_timeout_ms:
            self.later(now + self.timing.rebalance_timeout_ms, self._stop_polling, member, until)

    def _stop_polling(self, member: Member, until: int) -> None:
        """AbstractCoordinator.handlePollTimeoutExpiry, maybeLeaveGroup."""
        if self.members.died[member.number] != NEVER or member.number not in self.present:
            return
        self.members.died[member.number] = self.clock.now
        self.leave(member, "consumer poll timeout has expired.")
        self.later(until, self._poll_again, member)

    def _poll_again(self, member: Member) -> None:
        """ConsumerCoordinator.poll, in which a client without a generation joins as a new member; it knows its coordinator."""
        self.join(self.successor(member), starts=False)

    def resubscribe(self, member: Member) -> None:
        """The next poll joins again: ConsumerCoordinator.rejoinNeededOrPending. One that waits for others does so later."""
        self.later(self.next_poll(member.number, self.clock.now), self._join_with_new_subscription, member)

    def _join_with_new_subscription(self, member: Member) -> None:
        """ConsumerCoordinator.rejoinNeededOrPending: the joinedSubscription is no longer the subscription."""
        number, columns = member.number, self.members
        if columns.died[number] != NEVER:
            return
        waits = self._state == PREPARING and columns.joins[number] <= self.clock.now
        changed = columns.topics[number] != columns.joined[number]
        if waits:
            self._changed_late.add(number)
        elif not changed and self._state == STABLE and number in self.present:
            unread = (self.owner == number) & (self.ledger.reader == NONE)
            self.ledger.start_one(np.flatnonzero(unread).astype(np.int32), number, self.clock.now, None)
        elif changed:
            if not columns.eager[number]:
                kept = np.isin(self.topology.topic_of, columns.topics_of(number))
                self.ledger.stop(np.flatnonzero((self.ledger.reader == number) & ~kept).astype(np.int32), self.clock.now)
            self.rejoin(member, SUBSCRIPTION)

    def topics_changed(self) -> None:
        """The leader sees it when it refreshes its metadata, and joins again: ConsumerCoordinator.rejoinNeededOrPending."""
        self._watch_metadata()
