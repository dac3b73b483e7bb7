"""The coordinator of the classic protocol: its join and sync barriers, for consumers that are eager or cooperative.

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

Source: org.apache.kafka.coordinator.group.GroupMetadataManager, classic.ClassicGroup and classic.ClassicGroupMember;
org.apache.kafka.clients.consumer.internals.ConsumerCoordinator and AbstractCoordinator (Apache Kafka 4.3.1). Each method names
its own.
"""

from collections import Counter

import numpy as np

from service.core.jvm.hashing import java_hash_codes
from service.core.jvm.ordering import DEFAULT_CAPACITY, iteration_order
from service.core.model import NONE, Group, Int32s, Int64s, Ragged
from service.core.timelines.classic.polls import batches, polls_wait, receipts, stop_eager_readers, syncs
from service.core.timelines.group import PASSED, GroupTimeline
from service.core.timelines.ledger import Wait
from service.core.timelines.members import Member, distinct
from service.core.timelines.model import NEVER, Rebalance, Timeline
from service.core.timelines.topics import View

EMPTY, PREPARING, COMPLETING, STABLE = "Empty", "PreparingRebalance", "CompletingRebalance", "Stable"

ALREADY = "group is already rebalancing"
METADATA = "cached metadata has changed"
SUBSCRIPTION = "subscription has changed"
REVOKED = "need to revoke partitions and re-join"
"""The reasons of a client's JoinGroup: AbstractCoordinator.requestRejoin."""


class ClassicCoordinator(GroupTimeline):
    """A group of the classic protocol.

    owner : int32[partitions], to whom the last assignment gave each, also while it is revoked: what StickyAssignor remembers
    leader : the number of the leader, or NONE
    snapshot : the version of the topology that the leader assigned
    """

    protocol = "classic"

    def __init__(self, timeline: Timeline) -> None:
        super().__init__(timeline)
        self.owner = np.full(len(self.ledger.reader), NONE, np.int32)
        self.generation = 0
        self.leader = NONE
        self.snapshot = 0
        self._state, self._previous_state = EMPTY, EMPTY
        self._round = 0
        self._new_member_added = False
        self._most_members = 0
        self._expiries: dict[int, int] = {}
        self._initial_round = False
        self._first_rejoin = NEVER
        self._changed_late: set[int] = set()
        self._straggler: tuple[int, int, int] = (NONE, NONE, NONE)
        self._watched: tuple[int, int] = (NONE, NONE)

    def state(self) -> str:
        """See GroupTimeline."""
        return self._state

    def rejoin(self, member: Member, reason: str) -> None:
        """A member of the group sends JoinGroup on its own account.

        Reproduces GroupMetadataManager.classicGroupJoinExistingMember.
        """
        if member.number not in self.present or self.members.died[member.number] != NEVER:
            return
        self._announce(member.number)
        if self._state == PREPARING:
            self._look()
            return
        self.members.joins[member.number] = self.clock.now
        if self._state == STABLE and member.number == self.leader:
            begins = f"Leader {member.member_id} re-joining group"
        else:
            begins = f"Updating metadata for member {member.member_id}"
        self.prepare(f"{begins} during {self._state}; client reason: {reason}")

    def _announce(self, number: int) -> None:
        """A member's JoinGroup arrives, with its present subscription."""
        columns = self.members
        columns.joined[number] = columns.topics[number]
        columns.joins[number] = min(self.clock.now, int(columns.joins[number]))

    def prepare(self, reason: str) -> None:
        """Begin a rebalance: GroupMetadataManager.prepareRebalance.

        Members that wait for their assignment are told at once, the others by their next heartbeat: Heartbeat's
        REBALANCE_IN_PROGRESS.
        """
        now, state = self.clock.now, self._state
        self.rebalances.append(Rebalance(now, self.cause, reason, self.protocol, [(now, PREPARING)]))
        self._round += 1
        self._previous_state, self._state = state, PREPARING
        self._initial_round = state == EMPTY
        self._first_rejoin = NEVER
        numbers, columns = self.numbers(), self.members
        if state == EMPTY:
            delay = self.timing.initial_rebalance_delay_ms
            self._new_member_added = False
            remaining = max(self.timing.rebalance_timeout_ms - delay, 0)
            self.later(now + delay, self._end_initial_delay, self._round, delay, remaining)
            return
        waits = columns.joins[numbers] == now  # those whose JoinGroup begins it
        others = numbers[~waits]
        notice = self.next_beats(others, now)
        if state == COMPLETING:
            notice = np.where(columns.syncs[others] <= now, now, notice)
        rejoins = self.next_polls(others, notice)
        rejoins[columns.died[others] != NEVER] = NEVER
        columns.joins[others] = rejoins
        self._first_rejoin = int(rejoins.min(initial=NEVER))
        self.later(now + self.timing.rebalance_timeout_ms, self._end_join, self._round)
        self._look()

    def _end_initial_delay(self, this_round: int, delay: int, remaining: int) -> None:
        """Wait once more if a member has joined meanwhile: GroupMetadataManager.tryCompleteInitialRebalanceElseSchedule."""
        if this_round != self._round or self._state != PREPARING:
            return
        if self._new_member_added and remaining:
            self._new_member_added = False
            again = min(self.timing.initial_rebalance_delay_ms, remaining)
            self.later(self.clock.now + again, self._end_initial_delay, this_round, again, max(remaining - delay, 0))
        else:
            self._complete()

    def _end_join(self, this_round: int) -> None:
        """The rebalance time-out is over: GroupMetadataManager.completeClassicGroupJoin."""
        if this_round == self._round and self._state == PREPARING:
            self._complete()

    def _look(self, *, also_initial: bool = False) -> None:
        """Complete the join phase once all members have joined: GroupMetadataManager.maybeCompleteJoinPhase."""
        if self._state != PREPARING or (self._initial_round and not also_initial):
            return
        this_round, number, last = self._straggler
        waits = this_round == self._round and last > self.clock.now and self.members.joins[number] == last
        if waits and number in self.present:
            return  # the others do not matter before it has joined
        numbers = self.numbers()
        self.clock.spend(len(numbers) // PASSED)
        joins = self.members.joins[numbers]
        last = int(joins.max(initial=self.clock.now))
        if last <= self.clock.now:
            self._complete()
            return
        self._straggler = (self._round, int(numbers[joins.argmax()]), last)
        self.later(last, self._look_again, self._round)

    def _look_again(self, this_round: int) -> None:
        if this_round == self._round:
            self._look()

    def _complete(self) -> None:
        """Begin the next generation: GroupMetadataManager.completeClassicGroupJoin, ClassicGroup.initNextGeneration."""
        now, columns = self.clock.now, self.members
        numbers = self.numbers()
        for number in numbers[columns.joins[numbers] > now].tolist():
            if not self.present[number].is_static:
                self._kick(self.present[number])
        numbers = self.member_order()
        joined = numbers[columns.joins[numbers] <= now]
        if self.present and not len(joined):
            self.later(now + self.timing.rebalance_timeout_ms, self._end_join, self._round)
            return
        if self.present and columns.joins[self.leader] > now:
            self.leader = int(joined[0])  # ClassicGroup.maybeElectNewJoinedLeader
        self.generation += 1
        self._first_rejoin = min(self._first_rejoin, now)
        current = self.rebalances[-1]
        current.epoch = self.generation
        stop_eager_readers(self, numbers, now)
        if not self.present:
            self._enter(EMPTY)
            current.stable_at_ms = now
            return
        self.requests("JoinGroup", numbers.tolist(), np.where(columns.joins[numbers] <= now, columns.joins[numbers], NEVER))
        self._protocol = self._selected()
        self._enter(COMPLETING)
        columns.is_new[joined] = False
        announced = joined[~np.isin(joined, list(self._changed_late))] if self._changed_late else joined
        columns.joined[announced] = columns.topics[announced]
        self._changed_late.clear()
        self._answer_joins(numbers)

    def _answer_joins(self, numbers: Int32s) -> None:
        """The responses to JoinGroup, upon which members send SyncGroup: completeClassicGroupJoin, schedulePendingSync."""
        now, columns = self.clock.now, self.members
        has_joined, alive = columns.joins[numbers] <= now, columns.died[numbers] == NEVER
        columns.beat[numbers] = now
        columns.syncs[numbers] = np.where(has_joined & alive, syncs(self, numbers, now), NEVER)
        columns.joins[numbers] = NEVER
        for number in numbers[~alive].tolist():
            self._expire_at(number, now + self.timing.session_timeout_ms)
        for number in numbers[~has_joined & alive].tolist():
            # It rejoins once it polls: its heartbeat has told it that the generation is over.
            beat = int(self.next_beats(np.array([number]), now)[0])
            self.later(self.next_poll(number, beat), self.rejoin, self.members.all[number], ALREADY)
        self._round += 1
        if int(columns.syncs[numbers].max()) >= now + self.timing.rebalance_timeout_ms:
            self.later(now + self.timing.rebalance_timeout_ms, self._end_sync, self._round)
        leads_at = int(columns.syncs[self.leader])
        if leads_at <= now:
            self._stabilize(self._round)
        else:
            self.later(leads_at, self._stabilize, self._round)

    def _stabilize(self, this_round: int) -> None:
        """The leader's SyncGroup: its assignment holds. GroupMetadataManager.classicGroupSyncToClassicGroup."""
        if this_round != self._round or self._state != COMPLETING:
            return
        now, current, columns = self.clock.now, self.rebalances[-1], self.members
        numbers = self.member_order()
        topics = columns.joined_topics(numbers)
        if not set(topics) <= set(columns.subscriptions[columns.joined[self.leader]]):
            # ConsumerCoordinator.updateGroupSubscription: the leader asks for the topics that only others subscribe to.
            columns.metadata_ms[self.leader] = now
        self.snapshot = self._metadata_version(self.leader, topics)
        view = self.topology.view(self.snapshot)
        before = self.group_of(numbers, view, self.owner)
        assignor = next(one for one in columns.all[self.leader].assignors if one.name == self._protocol)
        assignment = assignor.run(self._claims(numbers, view, before))
        self.describe(current, before, assignment, assignor, view)
        self.requests("SyncGroup", numbers.tolist(), columns.syncs[numbers])
        self._enter(STABLE)
        current.stable_at_ms = now
        self._hand_out(numbers, assignment.rows, view, current)
        synced = numbers[columns.syncs[numbers] < NEVER]
        columns.generation[synced], columns.metadata_version[synced] = self.generation, self.snapshot
        self._round += 1
        self._after_sync(numbers)
        self._watch_metadata()

    def _claims(self, numbers: Int32s, view: View, before: Group) -> Group:
        """The group as its leader sees it: what each member's subscription claims.

        StickyAssignor remembers its last assignment itself (userData). To CooperativeStickyAssignor a member claims what it
        still reads, which for a member with an eager assignor in its list is nothing.
        """
        if self._protocol != "cooperative-sticky" or np.array_equal(self.ledger.reader, self.owner):
            return before
        eager = self.members.eager[: len(self.members.all)]
        claimed = self.ledger.reader.copy()
        if eager.any():
            claimed[(claimed != NONE) & np.append(eager, False)[claimed]] = NONE
        return self.group_of(numbers, view, claimed)

    def _hand_out(self, numbers: Int32s, rows: Ragged, view: View, current: Rebalance) -> None:
        """Members read what they are assigned from their SyncGroup's response on: ConsumerCoordinator.onJoinComplete."""
        owner = np.full(len(self.owner), NONE, np.int32)
        owner[view.to_world[rows.values]] = numbers[rows.row_of_each_value()]
        starts = self._starts = np.full(len(self.members.all), NEVER, np.int64)
        starts[numbers] = receipts(self, numbers, self.clock.now)
        wait = polls_wait(self, self._first_rejoin)
        self._revokers, missed = self.ledger.hand_out(owner, starts, self.clock.now, current, wait)
        self.backlog(current, missed[numbers], rows, view)
        self.owner = owner
        late = numbers[(starts[numbers] > self.clock.now) & (starts[numbers] < NEVER)]
        for at_ms, gains, loses in batches(owner, self.ledger.reader, starts, late):
            self.later(at_ms, self._sync_late, gains, loses, self.generation, current, wait)

    def _sync_late(self, gains: Int32s, loses: Int32s, generation: int, current: Rebalance, wait: Wait | None) -> None:
        """Members that poll only now get their assignment: GroupMetadataManager.classicGroupSyncToClassicGroup in Stable."""
        if generation != self.generation:
            return
        self.clock.spend((len(gains) + len(loses)) // PASSED)
        ledger, reads = self.ledger, np.zeros(len(self.members.all) + 1, np.bool_)
        reads[self.numbers()] = self.members.died[self.numbers()] == NEVER
        gains = gains[reads[self.owner[gains]] & (ledger.reader[gains] == NONE) & ledger.counted[gains]]
        loses = loses[reads[ledger.reader[loses]] & (ledger.reader[loses] != self.owner[loses])]
        losers = distinct(ledger.reader[loses].astype(np.int64))
        ledger.start(gains, self.owner[gains], np.full(len(gains), self.clock.now, np.int64), current, wait)
        ledger.stop(loses, self.clock.now)
        if losers:
            self._rejoin_all([(self.present[number], REVOKED) for number in losers])

    def _after_sync(self, numbers: Int32s) -> None:
        """Who joins again at once: ConsumerCoordinator.onJoinComplete (KIP-429), rejoinNeededOrPending."""
        columns = self.members
        revokes = np.isin(numbers, self._revokers)
        joins_again = revokes | (columns.topics[numbers] != columns.joined[numbers])
        again: dict[int, list[tuple[Member, str]]] = {}
        for number, has_revoked in zip(numbers[joins_again].tolist(), revokes[joins_again].tolist(), strict=True):
            rejoins = again.setdefault(int(self._starts[number]), [])
            rejoins.append((columns.all[number], REVOKED if has_revoked else SUBSCRIPTION))
        for at, rejoins in again.items():
            self.later(at, self._rejoin_all, rejoins)

    def _rejoin_all(self, rejoins: list[tuple[Member, str]]) -> None:
        """Several members join again at once; the first begins it: GroupMetadataManager.classicGroupJoinExistingMember."""
        for member, reason in rejoins:
            if self._state != PREPARING:
                self.rejoin(member, reason)
            elif member.number in self.present and self.members.died[member.number] == NEVER:
                self._announce(member.number)
        self._look()

    def _end_sync(self, this_round: int) -> None:
        """Members that have not asked for their assignment are removed: GroupMetadataManager.expirePendingSync."""
        now = self.clock.now
        if self._state not in (COMPLETING, STABLE) or this_round not in (self._round, self._round - 1):
            return
        late = [member for member in self.present.values() if self.members.syncs[member.number] > now]
        if late:
            for member in late:
                self._kick(member)
            names = ", ".join(member.member_id for member in late)
            self.prepare(f"Removing [{names}] on pending sync request expiration")

    def _expire_at(self, number: int, at_ms: int) -> None:
        """GroupMetadataManager.rescheduleClassicGroupMemberHeartbeat."""
        self._expiries[number] = at_ms
        self.later(at_ms, self._expire, number, at_ms)

    def _expire(self, number: int, at_ms: int) -> None:
        """GroupMetadataManager.expireClassicGroupMemberHeartbeat, removeMemberAndUpdateClassicGroup."""
        if self._expiries.get(number) != at_ms or number not in self.present:
            return
        member = self.present[number]
        waits = self._state == PREPARING and self.members.joins[number] <= self.clock.now
        if waits and not self.members.is_new[number]:
            return
        self._remove(member)
        if self._state in (STABLE, COMPLETING):
            self.prepare(f"removing member {member.member_id} on heartbeat expiration.")
        else:
            self._look(also_initial=True)

    def _remove(self, member: Member) -> None:
        """ClassicGroup.remove: a leader's successor is the next member in the order of the broker's HashMap."""
        del self.present[member.number]
        self._expiries.pop(member.number, None)
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
        self.ledger.stop_member(number, now)
        self._remove(member)
        if self.members.died[number] == NEVER:
            beat = int(self.next_beats(np.array([number], np.int32), now)[0])
            self.later(self.next_poll(number, beat), self._come_back, member)

    def _come_back(self, member: Member) -> None:
        """A client whose member was removed joins as a new one: AbstractCoordinator.resetStateOnResponseError."""
        if self.members.died[member.number] == NEVER:
            self.members.died[member.number] = self.clock.now
            self.join(self.successor(member), starts=False)

    def _metadata_version(self, number: int, topics: list[int]) -> int:
        """The version of the topology that a member's metadata has: ConsumerCoordinator.metadataSnapshot."""
        requested_ms, known = int(self.members.metadata_ms[number]), int(self.members.metadata_version[number])
        self.clock.spend(self.topology.newest() - known)
        return self.topology.version_at(self.clock.now, requested_ms, topics, self.timing.metadata_max_age_ms, known)

    def _watch_metadata(self) -> None:
        """When the leader will see a newer version: Metadata.timeToNextUpdate."""
        if self.leader == NONE:
            return
        topics = self.members.joined_topics(self.numbers())
        known = self._metadata_version(self.leader, topics)
        if known > self.snapshot:
            self.later(self.clock.now, self._compare_snapshot, self.leader)
        requested_ms = int(self.members.metadata_ms[self.leader])
        arrivals = self.topology.arrivals(known, requested_ms, topics, self.timing.metadata_max_age_ms)
        at_ms = int(arrivals.min(initial=NEVER))
        if (self.leader, at_ms) != self._watched and at_ms < NEVER:
            self._watched = (self.leader, at_ms)
            self.later(at_ms, self._refresh, self.leader)

    def _refresh(self, number: int) -> None:
        """The leader gets metadata."""
        self._watched = (NONE, NONE)
        if number == self.leader and self._state == STABLE and self.members.died[number] == NEVER:
            topics = self.members.joined_topics(self.numbers())
            self.members.metadata_version[number] = self._metadata_version(number, topics)
            self.members.metadata_ms[number] = self.clock.now
            self._compare_snapshot(number)
            self._watch_metadata()

    def _compare_snapshot(self, number: int) -> None:
        """ConsumerCoordinator.rejoinNeededOrPending: the leader's assignmentSnapshot no longer matches."""
        if number != self.leader or self._state != STABLE or self.members.died[number] != NEVER:
            return
        topics = self.members.joined_topics(self.numbers())
        version = self._metadata_version(number, topics)
        if (self.topology.counts_at(version)[topics] != self.topology.counts_at(self.snapshot)[topics]).any():
            self.cause = self.version_causes[version]
            self.rejoin(self.members.all[number], METADATA)

    _protocol = ""
    _revokers: Int32s = np.empty(0, np.int32)
    _starts: Int64s = np.empty(0, np.int64)

    def member_order(self) -> Int32s:
        """The numbers of the members as the coordinator's HashMap gives them: ClassicGroup.currentClassicGroupMembers."""
        numbers = self.numbers()
        capacity = DEFAULT_CAPACITY
        while self._most_members > capacity * 3 // 4:
            capacity *= 2
        hashes = self.members.hash_code[numbers].astype(np.int32)
        ranks = None
        if len(np.unique(hashes)) < len(hashes):
            ids = [self.members.ids[number] for number in numbers.tolist()]
            by_text = sorted(range(len(ids)), key=ids.__getitem__)
            ranks = np.empty(len(ids), np.int32)
            ranks[by_text] = np.arange(len(ids), dtype=np.int32)
        order: Int32s = numbers[iteration_order(hashes, capacity=capacity, ranks=ranks)]
        return order

    def _selected(self) -> str:
        """The assignor with the most votes among those that all members support: ClassicGroup.selectProtocol."""
        codes: list[int] = self.members.assignors[self.numbers()].tolist()
        lists = [self.members.assignor_lists[code] for code in dict.fromkeys(codes)]
        if len(lists) == 1:
            return lists[0][0].name
        members = [self.members.assignor_lists[code] for code in codes]
        candidates = set.intersection(*({assignor.name for assignor in own} for own in lists))
        votes = Counter(next(one.name for one in own if one.name in candidates) for own in members)
        names = sorted(votes, key=lambda name: -votes[name])
        most = [name for name in names if votes[name] == votes[names[0]]]
        return most[int(iteration_order(java_hash_codes(most))[0])]

    def _enter(self, state: str) -> None:
        self._previous_state, self._state = self._state, state
        self.rebalances[-1].states.append((self.clock.now, state))
