"""The coordinator of the classic protocol: its join and sync barriers, which wait for all members, eager or cooperative.

::

    Empty ──▶ PreparingRebalance ──▶ CompletingRebalance ──▶ Stable
      ▲            │  ▲                     │                   │
      └────────────┘  └─────────────────────┴───────────────────┘

A rebalance begins with a member that joins, rejoins, leaves or fails (``prepare``). The others notice it at their next heartbeat,
and send JoinGroup at their next poll; an eager member stops reading then. When all have joined, or the rebalance time-out is
over, the next generation begins (``complete``), and with the leader's SyncGroup its assignment holds (``stabilize``). A
cooperative member that has to revoke partitions then joins once more, and so begins the second rebalance.

For a whole group the times of the JoinGroups are computed at once, as columns; there is one call per rebalance, not one per
member.

Source: org.apache.kafka.coordinator.group.GroupMetadataManager, classic.ClassicGroup and classic.ClassicGroupMember. Each method
names its own.
"""

from collections import Counter
from typing import NamedTuple, Protocol

import numpy as np

from service.core.jvm.hashing import java_hash_codes
from service.core.jvm.ordering import DEFAULT_CAPACITY, iteration_order
from service.core.model import NONE, Group, Int32s, Ragged, distinct, java_order, ranks_of
from service.planner.timelines.course import PASSED, Course
from service.planner.timelines.members import Member, Members, Present, stop_eager_readers, syncs
from service.planner.timelines.model import JOIN_TIMEOUT_MS, NEVER
from service.planner.timelines.topics import View

EMPTY, PREPARING, COMPLETING, STABLE = "Empty", "PreparingRebalance", "CompletingRebalance", "Stable"

ALREADY = "group is already rebalancing"
"""A reason of a client's JoinGroup: AbstractCoordinator.requestRejoin."""


class Led(NamedTuple):
    """What a leader has assigned.

    rows : Ragged member → partitions of the group as it was before
    partitions : int32[values of the rows], the world's index of each
    view : the topics that the leader has seen
    """

    rows: Ragged
    partitions: Int32s
    view: View


class ClassicCallbacks(Protocol):
    """The clients, as their coordinator answers them."""

    def lead(self, numbers: Int32s) -> Led:
        """The leader assigns to these members."""

    def receive(self, numbers: Int32s, led: Led) -> None:
        """The responses to SyncGroup: what each of these members is assigned."""

    def regain(self, member: Member, partitions: Int32s) -> None:
        """A static member has come back and gets what its former incarnation had."""

    def come_back(self, member: Member) -> None:
        """A member that the coordinator has removed hears of it."""


class ClassicCoordinator:
    """The coordinator of a group of the classic protocol.

    owner : int32[partitions], to whom the last assignment gave each, also while it is revoked: what StickyAssignor remembers
    leader : the number of the leader, or NONE
    assignor : the name of the assignor that the members have chosen
    expiries : when the sessions of silent members expire, by number
    first_rejoin : when the first member joined of those that the coordinator had
    joined : the numbers of members whose JoinGroup led to the present generation
    changed_late : the numbers of members whose subscription has changed after their JoinGroup
    """

    def __init__(self, course: Course, clients: ClassicCallbacks) -> None:
        self.course, self.clients = course, clients
        self.timing, self.clock, self.members, self.present = course.timing, course.clock, course.members, course.present
        self.owner = np.full(len(course.ledger.reader), NONE, np.int32)
        self.generation = 0
        self.leader = NONE
        self.assignor = ""
        self.state, self._previous_state = EMPTY, EMPTY
        self.expiries: dict[int, int] = {}
        self.first_rejoin = NEVER
        self.joined: Int32s = np.empty(0, np.int32)
        self.changed_late: set[int] = set()
        self._round = 0
        self._new_member_added = False
        self._most_members = 0
        self._ordered = self._order = self.present.numbers()
        self._initial_round = False
        self._straggler: tuple[int, int, int] = (NONE, NONE, NONE)

    def resume(self, group: Group) -> None:
        """A group that has just become stable. All heartbeats are due at the same times."""
        numbers, columns = self.present.numbers(), self.members.columns
        self._most_members, self.leader, self.state = len(self.present), 0, STABLE
        self.assignor = selected(self.members, self.present)
        columns.is_new[numbers] = False
        columns.generation[numbers] = np.where(group.generations == NONE, 1, group.generations)
        self.generation = int(columns.generation[numbers].max())
        self.owner[group.owned.values] = group.owned.row_of_each_value()

    # ---- JoinGroup -----------------------------------------------------------------------------------------------------

    def join(self, member: Member, *, starts: bool) -> None:
        """A new member's JoinGroup. starts : has its client just started? Then it looks for its coordinator first

        Reproduces GroupMetadataManager.classicGroupJoinNewMember, classicGroupJoinNewStaticMember,
        classicGroupJoinNewDynamicMember and addMemberThenRebalanceOrCompleteJoin. A dynamic member is told its id first, and
        joins again with it (KIP-394).
        """
        if self.state != EMPTY and not is_supported(self.members, self.present, member):
            own = ", ".join(assignor.protocol_name for assignor in member.assignors)
            detail = f"Member {member.member_id!r} supports no assignor that all others support, only {own}, "
            detail += (
                f"at {self.clock.now} ms (INCONSISTENT_GROUP_PROTOCOL). A change of assignor must end before the next one begins."
            )
            raise self.course.fault(detail)
        old = self.present.with_instance(member.instance_id)
        if old is not None:
            self._replace(old, member, starts=starts)
            return
        reason = "not provided" if member.is_static else f"need to re-join with the given member-id: {member.member_id}"
        if self.state == PREPARING and self._previous_state == EMPTY:
            self._new_member_added = True
        self.present[member.number] = member
        self._most_members = max(self._most_members, len(self.present))
        self.members.columns.joins[member.number] = self.clock.now
        if self.leader == NONE:
            self.leader = member.number
        began = self.state != PREPARING
        if began:
            instance = member.instance_id or "null"
            self._prepare(f"Adding new member {member.member_id} with group instance id {instance}; client reason: {reason}")
        if starts:
            self.course.request("FindCoordinator", member)
        if not member.is_static:
            self.course.request("JoinGroup", member, "MEMBER_ID_REQUIRED")
        if not began:
            self._look()

    def _replace(self, old: Member, member: Member, *, starts: bool) -> None:
        """A static member comes back before its session is over: no rebalance in a stable group whose protocol stays the same.

        Reproduces GroupMetadataManager.updateStaticMemberThenRebalanceOrCompleteJoin and ClassicGroup.replaceStaticMember
        (KIP-345, KIP-814).
        """
        columns = self.members.columns
        del self.present[old.number]
        self.present[member.number] = member
        self.expiries.pop(old.number, None)
        columns.is_new[member.number] = False
        columns.generation[member.number] = columns.generation[old.number]
        if self.leader == old.number:
            self.leader = member.number
        if starts:
            self.course.request("FindCoordinator", member)
        if self.state == STABLE and selected(self.members, self.present) == self.assignor:
            self.course.request("JoinGroup", member)
            self.course.request("SyncGroup", member)
            mine = np.flatnonzero(self.owner == old.number).astype(np.int32)
            self.owner[mine] = member.number
            columns.generation[member.number] = self.generation
            self.clients.regain(member, mine)
            return
        self.owner[self.owner == old.number] = NONE
        columns.joins[member.number] = self.clock.now
        if self.state == STABLE:
            self._prepare(
                f"Group's selectedProtocol will change because static member {member.member_id} with instance id "
                f"{member.instance_id} joined with change of protocol; client reason: not provided"
            )
        elif self.state == COMPLETING:
            self._prepare(
                f"Updating metadata for static member {member.member_id} with instance id {member.instance_id}; "
                "client reason: not provided"
            )
        else:
            self._look()

    def rejoin(self, member: Member, reason: str) -> None:
        """A member sends JoinGroup on its own account: GroupMetadataManager.classicGroupJoinExistingMember."""
        if member.number not in self.present or self.members.columns.died[member.number] != NEVER:
            return
        self._announce(member.number)
        if self.state == PREPARING:
            self._look()
            return
        self.members.columns.joins[member.number] = self.clock.now
        if self.state == STABLE and member.number == self.leader:
            begins = f"Leader {member.member_id} re-joining group"
        else:
            begins = f"Updating metadata for member {member.member_id}"
        self._prepare(f"{begins} during {self.state}; client reason: {reason}")

    def rejoin_all(self, rejoins: list[tuple[Member, str]]) -> None:
        """Several members join again at once; the first begins it: GroupMetadataManager.classicGroupJoinExistingMember."""
        for member, reason in rejoins:
            if self.state != PREPARING:
                self.rejoin(member, reason)
            elif member.number in self.present and self.members.columns.died[member.number] == NEVER:
                self._announce(member.number)
        self._look()

    def _announce(self, number: int) -> None:
        """A member's JoinGroup arrives, with its present subscription."""
        columns = self.members.columns
        columns.joined[number] = columns.topics[number]
        columns.joins[number] = min(self.clock.now, int(columns.joins[number]))

    def _prepare(self, reason: str) -> None:
        """Begin a rebalance: GroupMetadataManager.prepareRebalance.

        Members that wait for their assignment are told at once, the others by their next heartbeat: Heartbeat's
        REBALANCE_IN_PROGRESS.
        """
        now, state = self.clock.now, self.state
        self.course.begin(reason, PREPARING)
        self._round += 1
        self._previous_state, self.state = state, PREPARING
        self._initial_round = state == EMPTY
        self.first_rejoin = NEVER
        numbers, columns = self.present.numbers(), self.members.columns
        if state == EMPTY:
            delay = self.timing.initial_rebalance_delay_ms
            self._new_member_added = False
            remaining = max(self.timing.rebalance_timeout_ms - delay, 0)
            self.course.later(now + delay, self._end_initial_delay, self._round, delay, remaining)
            return
        waits = columns.joins[numbers] == now  # those whose JoinGroup begins it
        others = numbers[~waits]
        notice = self.course.paces.next_beats(others, now)
        if state == COMPLETING:
            notice = np.where(columns.syncs[others] <= now, now, notice)
        rejoins = self.course.paces.next_polls(others, notice)
        rejoins[columns.died[others] != NEVER] = NEVER
        columns.joins[others] = rejoins
        self.first_rejoin = int(rejoins.min(initial=NEVER))
        self.course.later(now + self.timing.rebalance_timeout_ms, self._end_join, self._round)
        self._look()

    def _end_initial_delay(self, this_round: int, delay: int, remaining: int) -> None:
        """Wait once more if a member has joined meanwhile: GroupMetadataManager.tryCompleteInitialRebalanceElseSchedule."""
        if this_round != self._round or self.state != PREPARING:
            return
        if self._new_member_added and remaining:
            self._new_member_added = False
            again = min(self.timing.initial_rebalance_delay_ms, remaining)
            self.course.later(self.clock.now + again, self._end_initial_delay, this_round, again, max(remaining - delay, 0))
        else:
            self._complete()

    def _end_join(self, this_round: int) -> None:
        """The rebalance time-out is over: GroupMetadataManager.completeClassicGroupJoin."""
        if this_round == self._round and self.state == PREPARING:
            self._complete()

    def _look(self, *, also_initial: bool = False) -> None:
        """Complete the join phase once all members have joined: GroupMetadataManager.maybeCompleteJoinPhase."""
        if self.state != PREPARING or (self._initial_round and not also_initial):
            return
        this_round, number, last = self._straggler
        waits = this_round == self._round and last > self.clock.now and self.members.columns.joins[number] == last
        if waits and number in self.present:
            return  # the others do not matter before it has joined
        numbers = self.present.numbers()
        self.clock.spend(len(numbers) // PASSED)
        joins = self.members.columns.joins[numbers]
        last = int(joins.max(initial=self.clock.now))
        if last <= self.clock.now:
            self._complete()
            return
        self._straggler = (self._round, int(numbers[joins.argmax()]), last)
        self.course.later(last, self._look_again, self._round)

    def _look_again(self, this_round: int) -> None:
        if this_round == self._round:
            self._look()

    def _complete(self) -> None:
        """Begin the next generation: GroupMetadataManager.completeClassicGroupJoin, ClassicGroup.initNextGeneration."""
        now, columns = self.clock.now, self.members.columns
        numbers = self.present.numbers()
        for number in numbers[columns.joins[numbers] > now].tolist():
            if not self.present[number].is_static:
                self._kick(self.present[number])
        numbers = self.member_order()
        joined = numbers[columns.joins[numbers] <= now]
        if self.present and not len(joined):
            self.course.later(now + self.timing.rebalance_timeout_ms, self._end_join, self._round)
            return
        if self.present and columns.joins[self.leader] > now:
            self.leader = int(joined[0])  # ClassicGroup.maybeElectNewJoinedLeader
        self.generation += 1
        self.first_rejoin = min(self.first_rejoin, now)
        current = self.course.rebalances[-1]
        current.epoch = self.generation
        stop_eager_readers(self.course.paces, numbers, now)
        if not self.present:
            self._enter(EMPTY)
            current.stable_at_ms = now
            return
        joins = columns.joins[numbers]
        self.course.requests("JoinGroup", numbers, np.where(joins <= now, joins, NEVER))
        self.assignor = selected(self.members, self.present)
        self._enter(COMPLETING)
        columns.is_new[joined] = False
        announced = joined[~np.isin(joined, list(self.changed_late))] if self.changed_late else joined
        columns.joined[announced] = columns.topics[announced]
        self.changed_late.clear()
        self._answer_joins(numbers)

    def _answer_joins(self, numbers: Int32s) -> None:
        """The responses to JoinGroup, upon which members send SyncGroup: completeClassicGroupJoin, schedulePendingSync."""
        now, columns = self.clock.now, self.members.columns
        has_joined, alive = columns.joins[numbers] <= now, columns.died[numbers] == NEVER
        columns.beat[numbers] = now
        self.joined = numbers[has_joined]
        columns.syncs[numbers] = np.where(has_joined & alive, syncs(self.course.paces, numbers, now), NEVER)
        columns.joins[numbers] = NEVER
        for number in numbers[~alive].tolist():
            self._expire_at(number, now + self.timing.session_timeout_ms)
        for number in numbers[~has_joined & alive].tolist():
            # It rejoins once it polls: its heartbeat has told it that the generation is over.
            beat = int(self.course.paces.next_beats(np.array([number]), now)[0])
            self.course.later(self.course.paces.next_poll(number, beat), self.rejoin, self.members.all[number], ALREADY)
        self._round += 1
        if int(columns.syncs[numbers].max()) >= now + self.timing.rebalance_timeout_ms:
            self.course.later(now + self.timing.rebalance_timeout_ms, self._end_sync, self._round)
        leads_at = int(columns.syncs[self.leader])
        if leads_at <= now:
            self._stabilize(self._round)
        else:
            self.course.later(leads_at, self._stabilize, self._round)

    def _stabilize(self, this_round: int) -> None:
        """The leader's SyncGroup: its assignment holds. GroupMetadataManager.classicGroupSyncToClassicGroup."""
        if this_round != self._round or self.state != COMPLETING:
            return
        numbers = self.member_order()
        led = self.clients.lead(numbers)
        self.course.requests("SyncGroup", numbers, self.members.columns.syncs[numbers])
        self._enter(STABLE)
        self.course.rebalances[-1].stable_at_ms = self.clock.now
        self._round += 1
        self.clients.receive(numbers, led)

    def _end_sync(self, this_round: int) -> None:
        """Members that have not asked for their assignment are removed: GroupMetadataManager.expirePendingSync."""
        now = self.clock.now
        if self.state not in (COMPLETING, STABLE) or this_round not in (self._round, self._round - 1):
            return
        late = [member for member in self.present.values() if self.members.columns.syncs[member.number] > now]
        if late:
            for member in late:
                self._kick(member)
            names = ", ".join(member.member_id for member in late)
            self._prepare(f"Removing [{names}] on pending sync request expiration")

    # ---- members that go -----------------------------------------------------------------------------------------------

    def leave(self, member: Member) -> None:
        """A dynamic member's LeaveGroup: GroupMetadataManager.classicGroupLeaveToClassicGroup."""
        if member.number not in self.present:
            return
        self._remove(member)
        in_generation = self.state in (STABLE, COMPLETING)
        if in_generation:
            self._prepare(f"explicit `LeaveGroup` request for ({member.member_id}) members.")
        self.course.request("LeaveGroup", member)
        if not in_generation:
            self._look()

    def miss(self, member: Member) -> None:
        """Heartbeats stop; of one that waits for others, in the next generation: ClassicGroupMember.hasSatisfiedHeartbeat."""
        now, number, columns = self.clock.now, member.number, self.members.columns
        if number not in self.present:
            return
        if self.state == PREPARING and columns.joins[number] <= now:
            if columns.is_new[number]:
                self._expire_at(number, member.started_ms + JOIN_TIMEOUT_MS)
            return
        columns.joins[number] = columns.syncs[number] = NEVER
        self._expire_at(number, self.course.paces.last_beat(number, now) + self.timing.session_timeout_ms)

    def _expire_at(self, number: int, at_ms: int) -> None:
        """GroupMetadataManager.rescheduleClassicGroupMemberHeartbeat."""
        self.expiries[number] = at_ms
        self.course.later(at_ms, self._expire, number, at_ms)

    def _expire(self, number: int, at_ms: int) -> None:
        """GroupMetadataManager.expireClassicGroupMemberHeartbeat, removeMemberAndUpdateClassicGroup."""
        if self.expiries.get(number) != at_ms or number not in self.present:
            return
        member = self.present[number]
        waits = self.state == PREPARING and self.members.columns.joins[number] <= self.clock.now
        if waits and not self.members.columns.is_new[number]:
            return
        self._remove(member)
        if self.state in (STABLE, COMPLETING):
            self._prepare(f"removing member {member.member_id} on heartbeat expiration.")
        else:
            self._look(also_initial=True)

    def _remove(self, member: Member) -> None:
        """ClassicGroup.remove: a leader's successor is the next member in the order of the broker's HashMap."""
        del self.present[member.number]
        self.expiries.pop(member.number, None)
        self.owner[self.owner == member.number] = NONE
        if self.leader == member.number:
            order = self.member_order()
            self.leader = int(order[0]) if len(order) else NONE

    def _kick(self, member: Member) -> None:
        """Remove a member that did not join or sync in time; one that still runs comes back with a new id.

        Reproduces GroupMetadataManager.completeClassicGroupJoin and expirePendingSync; UNKNOWN_MEMBER_ID in
        AbstractCoordinator.HeartbeatResponseHandler.
        """
        now, number = self.clock.now, member.number
        self.course.ledger.stop_member(number, now)
        self._remove(member)
        if self.members.columns.died[number] == NEVER:
            beat = int(self.course.paces.next_beats(np.array([number], np.int32), now)[0])
            self.course.later(self.course.paces.next_poll(number, beat), self.clients.come_back, member)

    def member_order(self) -> Int32s:
        """int32[...], the numbers of the members in the order of the coordinator's HashMap; the same array until they change."""
        if self._ordered is not self.present.numbers():
            self._ordered = self.present.numbers()
            self._order = hash_order(self.members, self.present, self._most_members)
        return self._order

    def _enter(self, state: str) -> None:
        self._previous_state, self.state = self.state, state
        self.course.rebalances[-1].states.append((self.clock.now, state))


def hash_order(members: Members, present: Present, most_members: int) -> Int32s:
    """The numbers of the members as the coordinator's HashMap gives them: ClassicGroup.currentClassicGroupMembers.

    most_members : that the group has ever had, as a HashMap never shrinks
    """
    numbers, capacity = present.numbers(), DEFAULT_CAPACITY
    while most_members > capacity * 3 // 4:
        capacity *= 2
    hashes = members.columns.hash_code[numbers].astype(np.int32)
    ranks = None
    if len(distinct(hashes)) < len(hashes):
        ranks = ranks_of(java_order([members.ids[number] for number in numbers.tolist()]))
    return numbers[iteration_order(hashes, capacity=capacity, ranks=ranks)]


def is_supported(members: Members, present: Present, member: Member) -> bool:
    """Does a member support an assignor that all members support? Reproduces ClassicGroup.supportsProtocols."""
    if len(members.assignor_lists) == 1:
        return True
    codes = distinct(members.columns.assignors[present.numbers()]).tolist()
    lists = [{one.protocol_name for one in members.assignor_lists[code]} for code in codes]
    return any(all(one.protocol_name in names for names in lists) for one in member.assignors)


def selected(members: Members, present: Present) -> str:
    """The name of the assignor with the most votes among those that all members support: ClassicGroup.selectProtocol."""
    if len(members.assignor_lists) == 1:
        return members.assignor_lists[0][0].protocol_name
    codes: list[int] = members.columns.assignors[present.numbers()].tolist()
    lists = [members.assignor_lists[code] for code in dict.fromkeys(codes)]
    if len(lists) == 1:
        return lists[0][0].protocol_name
    offered = {code: [one.protocol_name for one in members.assignor_lists[code]] for code in set(codes)}
    candidates = set.intersection(*map(set, offered.values()))
    firsts = {code: next(name for name in names if name in candidates) for code, names in offered.items()}
    votes = Counter(firsts[code] for code in codes)
    names = sorted(votes, key=lambda name: -votes[name])
    most = [name for name in names if votes[name] == votes[names[0]]]
    return most[int(iteration_order(java_hash_codes(most))[0])]
