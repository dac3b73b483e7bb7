"""The clients of the classic protocol: how they start, stop, stall and change, what their leader assigns, and what they read.

Source: org.apache.kafka.clients.consumer.internals.AbstractCoordinator and ConsumerCoordinator. Each method
names its own.
"""

import numpy as np

from service.core.errors import InvalidQuestion
from service.core.model import NONE, Bools, Group, Int32s, Int64s, Ragged, distinct
from service.core.timelines.classic.coordinator import PREPARING, STABLE, ClassicCoordinator
from service.core.timelines.classic.plans import LeaderPlans, scene_of
from service.core.timelines.classic.polls import batches, polls_wait, receipts
from service.core.timelines.course import PASSED, Course
from service.core.timelines.ledger import Wait
from service.core.timelines.members import Member
from service.core.timelines.model import NEVER, TimelineRebalance
from service.core.timelines.topics import View

METADATA = "cached metadata has changed"
SUBSCRIPTION = "subscription has changed"
REVOKED = "need to revoke partitions and re-join"
"""The reasons of a client's JoinGroup: AbstractCoordinator.requestRejoin."""


class ClassicClients:
    """The members of a group of the classic protocol, and their coordinator.

    snapshot : the version of the topology that the leader assigned
    """

    def __init__(self, course: Course) -> None:
        self.course, self.coordinator = course, ClassicCoordinator(course, self)
        self.timing, self.clock, self.members = course.timing, course.clock, course.members
        self.topology, self.ledger, self.present = course.topology, course.ledger, course.present
        self.snapshot = 0
        self._watched: tuple[int, int] = (NONE, NONE)
        self._plans = LeaderPlans()

    # ---- clients that start, stop, stall and change --------------------------------------------------------------------

    def join(self, member: Member) -> None:
        """A client has started: it looks for its coordinator, and sends JoinGroup."""
        self.coordinator.join(member, starts=True)

    def leave(self, member: Member) -> None:
        """A dynamic member sends LeaveGroup; a static one stays silent."""
        self.ledger.stop_member(member.number, self.clock.now)
        if member.is_static:
            self.coordinator.miss(member)
        else:
            self.coordinator.leave(member)

    def crash(self, member: Member) -> None:
        """A client ends without a word."""
        self.ledger.stop_member(member.number, self.clock.now)
        self.coordinator.miss(member)

    def stall(self, member: Member) -> None:
        """A member that does not poll joins later; beyond ``max.poll.interval.ms`` it leaves, or if static falls silent.

        Reproduces AbstractCoordinator.HeartbeatThread, handlePollTimeoutExpiry and maybeLeaveGroup.
        """
        number, now = member.number, self.clock.now
        until = int(self.members.columns.stalled_until[number])
        if self.coordinator.state == PREPARING and now < self.members.columns.joins[number] < until:
            self.members.columns.joins[number] = until
        if until - now > self.timing.rebalance_timeout_ms:
            self.course.later(now + self.timing.rebalance_timeout_ms, self._stop_polling, member, until)

    def _stop_polling(self, member: Member, until: int) -> None:
        """AbstractCoordinator.handlePollTimeoutExpiry, maybeLeaveGroup."""
        if self.members.columns.died[member.number] != NEVER or member.number not in self.present:
            return
        self.members.columns.died[member.number] = self.clock.now
        self.leave(member)
        self.course.later(until, self._poll_again, member)

    def _poll_again(self, member: Member) -> None:
        """ConsumerCoordinator.poll, in which a client without a generation joins as a new member; it knows its coordinator."""
        self.coordinator.join(self.course.restart(member), starts=False)

    def come_back(self, member: Member) -> None:
        """A client whose member was removed joins as a new one: AbstractCoordinator.resetStateOnResponseError."""
        if self.members.columns.died[member.number] == NEVER:
            self.members.columns.died[member.number] = self.clock.now
            self.coordinator.join(self.course.restart(member), starts=False)

    def resubscribe(self, member: Member) -> None:
        """The next poll joins again: ConsumerCoordinator.rejoinNeededOrPending. One that waits for others does so later."""
        self.course.later(self.course.paces.next_poll(member.number, self.clock.now), self._join_with_new_subscription, member)

    def _join_with_new_subscription(self, member: Member) -> None:
        """ConsumerCoordinator.rejoinNeededOrPending: the joinedSubscription is no longer the subscription."""
        number, columns = member.number, self.members.columns
        if columns.died[number] != NEVER:
            return
        waits = self.coordinator.state == PREPARING and columns.joins[number] <= self.clock.now
        changed = columns.topics[number] != columns.joined[number]
        if waits:
            self.coordinator.changed_late.add(number)
        elif not changed and self.coordinator.state == STABLE and number in self.present:
            unread = (self.coordinator.owner == number) & (self.ledger.reader == NONE)
            self.ledger.start_one(np.flatnonzero(unread).astype(np.int32), number, self.clock.now, None)
        elif changed:
            if not columns.eager[number]:
                kept = np.isin(self.topology.topic_of, self.members.topics_of(number))
                self.ledger.stop(np.flatnonzero((self.ledger.reader == number) & ~kept).astype(np.int32), self.clock.now)
            self.coordinator.rejoin(member, SUBSCRIPTION)

    # ---- assignments -------------------------------------------------------------------------------------------------------

    def lead(self, numbers: Int32s) -> tuple[Ragged, View]:
        """The leader assigns: ConsumerCoordinator.onLeaderElected. Returns the members' rows, and the topics that it has seen."""
        current, columns, leader = self.course.rebalances[-1], self.members.columns, self.coordinator.leader
        topics = self.members.joined_topics(numbers)
        if not set(topics) <= set(self.members.subscriptions[columns.joined[leader]]):
            # ConsumerCoordinator.updateGroupSubscription: the leader asks for the topics that only others subscribe to.
            columns.metadata_ms[leader] = self.clock.now
        self.snapshot = self._metadata_version(leader, topics)
        view = self.topology.view(self.snapshot)
        before = self.course.groups.claiming(numbers, view, self.coordinator.owner)
        assignor = next(one for one in self.members.all[leader].assignors if one.protocol_name == self.coordinator.assignor)
        claims = self._claims(numbers, view, before) if assignor.is_cooperative else before
        if assignor.wraps is None:
            assignment = assignor.run(claims)
        else:
            scene = scene_of(leader, numbers, self.members, view)
            assignment = self._plans.assign(assignor, claims, scene, numbers, view)
        if assignment.left_open is not None:
            detail = f"At {self.clock.now} ms a timeline needs one answer of {assignor.name}. {assignment.left_open.warning}"
            raise InvalidQuestion(detail, "assignor")
        self.course.describe(current, before, assignment, assignor)
        return assignment.rows, view

    def _claims(self, numbers: Int32s, view: View, before: Group) -> Group:
        """The group as the leader of a cooperative one sees it: what each member's subscription claims.

        That is what it still reads, or read when it ended after its JoinGroup. For a member with an eager assignor in its list it
        is nothing. StickyAssignor remembers its last assignment itself (userData).
        """
        if np.array_equal(self.ledger.reader, self.coordinator.owner):
            return before
        columns, joined = self.members.columns, self.coordinator.joined
        eager = columns.eager[: len(self.members.all)]
        claimed = self.ledger.reader.copy()
        silent = joined[columns.died[joined] != NEVER]
        if len(silent):
            kept = (claimed == NONE) & np.isin(self.coordinator.owner, silent)
            claimed[kept] = self.coordinator.owner[kept]
        if eager.any():
            claimed[(claimed != NONE) & np.append(eager, False)[claimed]] = NONE
        return self.course.groups.claiming(numbers, view, claimed)

    def receive(self, numbers: Int32s, rows: Ragged, view: View) -> None:
        """Members get what they are assigned by the responses to their SyncGroups: ConsumerCoordinator.onJoinComplete."""
        columns = self.members.columns
        starts = np.full(len(self.members.all), NEVER, np.int64)
        starts[numbers] = receipts(self.course.paces, numbers, self.clock.now)
        revokes = self._hand_out(numbers, rows, view, starts)[numbers]
        synced = numbers[columns.syncs[numbers] < NEVER]
        columns.generation[synced], columns.metadata_version[synced] = self.coordinator.generation, self.snapshot
        self._join_again(numbers, revokes, starts)
        self._watch_metadata()

    def _hand_out(self, numbers: Int32s, rows: Ragged, view: View, starts: Int64s) -> Bools:
        """Members read what they are assigned. starts : int64[members], when each hears of it

        Returns bool[members], which of them lose something.
        """
        current, coordinator = self.course.rebalances[-1], self.coordinator
        owner = np.full(len(coordinator.owner), NONE, np.int32)
        owner[view.to_world[rows.values]] = numbers[rows.row_of_each_value()]
        wait = polls_wait(self.course.paces, coordinator.first_rejoin)
        revokes, missed = self.ledger.hand_out(owner, starts, self.clock.now, current, wait)
        revokes[self._had_deleted(view)] = True
        self.course.backlog(current, missed[numbers], rows, view)
        coordinator.owner = owner
        late = numbers[(starts[numbers] > self.clock.now) & (starts[numbers] < NEVER)]
        for at_ms, gains, loses in batches(owner, self.ledger.reader, starts, late):
            self.course.later(at_ms, self._sync_late, gains, loses, coordinator.generation, current, wait)
        return revokes

    def _had_deleted(self, view: View) -> Int32s:
        """int32[...], the cooperative members with partitions of topics that no longer exist, which they now revoke.

        They have them until their assignment says otherwise, or they unsubscribe: ConsumerCoordinator.onJoinComplete.
        """
        owner, columns = self.coordinator.owner, self.members.columns
        gone = (owner != NONE) & (view.from_world == NONE)
        if not gone.any():
            return owner[:0]
        owned = np.unique(np.stack([owner[gone], self.topology.topic_of[gone]]), axis=1).T.tolist()
        had = [number for number, topic in owned if topic in self.members.subscriptions[columns.joined[number]]]
        return np.array([n for n in had if not columns.eager[n] and columns.syncs[n] < NEVER], np.int32)

    def _sync_late(self, gains: Int32s, loses: Int32s, generation: int, current: TimelineRebalance, wait: Wait | None) -> None:
        """Members that poll only now get their assignment: GroupMetadataManager.classicGroupSyncToClassicGroup in Stable."""
        if generation != self.coordinator.generation:
            return
        self.clock.spend((len(gains) + len(loses)) // PASSED)
        ledger, owner = self.ledger, self.coordinator.owner
        reads, present = np.zeros(len(self.members.all) + 1, np.bool_), self.present.numbers()
        reads[present] = self.members.columns.died[present] == NEVER
        gains = gains[reads[owner[gains]] & (ledger.reader[gains] == NONE) & ledger.counted[gains]]
        loses = loses[reads[ledger.reader[loses]] & (ledger.reader[loses] != owner[loses])]
        ledger.start(gains, owner[gains], np.full(len(gains), self.clock.now, np.int64), current, wait)
        if len(loses):
            losers = distinct(ledger.reader[loses]).tolist()
            ledger.stop(loses, self.clock.now)
            self.coordinator.rejoin_all([(self.present[number], REVOKED) for number in losers])

    def _join_again(self, numbers: Int32s, revokes: Bools, starts: Int64s) -> None:
        """Who joins again at once: ConsumerCoordinator.onJoinComplete (KIP-429), rejoinNeededOrPending.

        revokes : bool[numbers], does it lose something?
        """
        columns = self.members.columns
        joins_again = revokes | (columns.topics[numbers] != columns.joined[numbers])
        again: dict[int, list[tuple[Member, str]]] = {}
        for number, has_revoked in zip(numbers[joins_again].tolist(), revokes[joins_again].tolist(), strict=True):
            rejoins = again.setdefault(int(starts[number]), [])
            rejoins.append((self.members.all[number], REVOKED if has_revoked else SUBSCRIPTION))
        for at, rejoins in again.items():
            self.course.later(at, self.coordinator.rejoin_all, rejoins)

    def regain(self, member: Member, partitions: Int32s) -> None:
        """A static member has come back and reads what its former incarnation had."""
        self.ledger.start_one(partitions, member.number, self.clock.now, None)
        self._watch_metadata()

    # ---- topics ------------------------------------------------------------------------------------------------------------

    def topics_changed(self) -> None:
        """The leader sees it when it refreshes its metadata, and joins again: ConsumerCoordinator.rejoinNeededOrPending.

        If it reads a topic that is deleted, the error of its fetch has it do so at once: FetchCollector.handleInitializeErrors.
        """
        leader, topic = self.coordinator.leader, self.topology.last_topic()
        if not self.topology.counts[topic] and leader != NONE:
            columns, first = self.members.columns, self.course.timeline.world.first
            reads = (self.coordinator.owner[first[topic] : first[topic + 1]] == leader).any()
            if reads and max(columns.stalled_until[leader], columns.metadata_ms[leader]) < self.clock.now < columns.died[leader]:
                columns.metadata_ms[leader] = self.clock.now
        self._watch_metadata()

    def _metadata_version(self, number: int, topics: list[int]) -> int:
        """The version of the topology that a member's metadata has: ConsumerCoordinator.metadataSnapshot."""
        requested_ms, known = int(self.members.columns.metadata_ms[number]), int(self.members.columns.metadata_version[number])
        self.clock.spend(self.topology.newest() - known)
        return self.topology.version_at(self.clock.now, requested_ms, topics, self.timing.metadata_max_age_ms, known)

    def _watch_metadata(self) -> None:
        """When the leader will see a newer version: Metadata.timeToNextUpdate."""
        leader, newest = self.coordinator.leader, self.topology.newest()
        if leader == NONE or min(self.snapshot, self.members.columns.metadata_version[leader]) == newest:
            return
        topics = self.members.joined_topics(self.present.numbers())
        known = self._metadata_version(leader, topics)
        if known > self.snapshot:
            self.course.later(self.clock.now, self._compare_snapshot, leader)
        requested_ms = int(self.members.columns.metadata_ms[leader])
        arrivals = self.topology.arrivals(known, requested_ms, topics, self.timing.metadata_max_age_ms)
        at_ms = int(arrivals.min(initial=NEVER))
        if (leader, at_ms) != self._watched and at_ms < NEVER:
            self._watched = (leader, at_ms)
            self.course.later(at_ms, self._refresh, leader)

    def _refresh(self, number: int) -> None:
        """The leader gets metadata."""
        self._watched = (NONE, NONE)
        if number == self.coordinator.leader and self.coordinator.state == STABLE and self.members.columns.died[number] == NEVER:
            topics = self.members.joined_topics(self.present.numbers())
            self.members.columns.metadata_version[number] = self._metadata_version(number, topics)
            self.members.columns.metadata_ms[number] = self.clock.now
            self._compare_snapshot(number)
            self._watch_metadata()

    def _compare_snapshot(self, number: int) -> None:
        """ConsumerCoordinator.rejoinNeededOrPending: the leader's assignmentSnapshot no longer matches."""
        if number != self.coordinator.leader or self.coordinator.state != STABLE or self.members.columns.died[number] != NEVER:
            return
        topics = self.members.joined_topics(self.present.numbers())
        version = self._metadata_version(number, topics)
        if (self.topology.counts_at(version)[topics] != self.topology.counts_at(self.snapshot)[topics]).any():
            self.course.cause = self.course.version_causes[version]
            self.coordinator.rejoin(self.members.all[number], METADATA)
