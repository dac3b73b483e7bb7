"""The clients of the classic protocol: how they start, stop, stall and change, what their leader assigns, and what they read.

Source: org.apache.kafka.clients.consumer.internals.AbstractCoordinator and ConsumerCoordinator. Each method
names its own.

Assignments that a leader carries out in two rebalances are those of ``RemoteAssignor`` (clients/java): what another member still
reads is withheld from its new owner in the first. In the next the leader remembers what it has begun, if the group is still the
same, and only then asks anew.
"""

from dataclasses import replace
from typing import TypeAlias

import numpy as np

from service.core.assignors import Assignor
from service.core.assignors.classic.sticky.cooperative import withholding
from service.core.model import NONE, Assignment, Bools, Group, Int32s, Int64s, Ragged, distinct
from service.core.ragged import grouped
from service.planner.timelines.classic.coordinator import PREPARING, STABLE, ClassicCoordinator, Led
from service.planner.timelines.course import PASSED, Course
from service.planner.timelines.ledger import Wait
from service.planner.timelines.members import Member, Members, batches, polls_wait, receipts
from service.planner.timelines.model import NEVER, TimelineRebalance
from service.planner.timelines.topics import View

METADATA = "cached metadata has changed"
SUBSCRIPTION = "subscription has changed"
REVOKED = "need to revoke partitions and re-join"
"""The reasons of a client's JoinGroup: AbstractCoordinator.requestRejoin."""


class ClassicClients:
    """The members of a group of the classic protocol, and their coordinator.

    snapshot : the version of the topology that the leader assigned
    deleted : bool[world's partitions], was it deleted since its owner was told to read it?
    deleted_ms : int64[names, 2], when each topic was last deleted, and made again
    """

    def __init__(self, course: Course) -> None:
        self.course, self.coordinator = course, ClassicCoordinator(course, self)
        course.parties.append(self)
        self.timing, self.clock, self.members = course.timing, course.clock, course.members
        self.topology, self.ledger, self.present = course.topology, course.ledger, course.present
        self.snapshot = 0
        self._watched: tuple[int, int] = (NONE, NONE)
        self._plans = LeaderPlans()
        self.deleted = np.zeros(len(self.ledger.reader), np.bool_)
        self.deleted_ms = np.full((len(self.topology.counts), 2), NEVER, np.int64)

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

    def lead(self, numbers: Int32s) -> Led:
        """The leader assigns: ConsumerCoordinator.onLeaderElected."""
        current, columns, leader = self.course.rebalances[-1], self.members.columns, self.coordinator.leader
        topics = self.members.joined_topics(numbers)
        if len(topics) > len(self.members.subscriptions[columns.joined[leader]]):
            # ConsumerCoordinator.updateGroupSubscription: the leader, whose own are among them, asks for those of others alone.
            columns.metadata_ms[leader] = self.clock.now
        self.snapshot = self._metadata_version(leader, topics)
        view, groups, owner = self.topology.view(self.snapshot), self.course.groups, self.coordinator.owner
        assignor = next(one for one in self.members.all[leader].assignors if one.protocol_name == self.coordinator.assignor)
        if assignor.drops_deleted:
            self._drop_deleted()
        claimed = self._claimed() if assignor.is_cooperative else owner
        claims = groups.claiming(numbers, view, claimed)
        before = claims if claimed is owner else groups.claiming(numbers, view, owner, mentioned=claimed)
        if assignor.wraps is None:
            assignment = assignor.run(claims)
        else:
            scene = scene_of(leader, numbers, self.members, view)
            assignment = self._plans.assign(assignor, claims, scene, numbers, view)
        self.course.explain(current, claims, assignment, assignor)
        partitions = groups.in_world(claims, view)[assignment.rows.values]
        if len(claims.unknown_partitions):  # librdkafka assigns those, too; in the group as it was they may have other numbers
            in_world = groups.in_world(before, view)
            order = np.argsort(in_world)
            numbered = order[np.searchsorted(in_world, partitions, sorter=order)].astype(np.int32)
            assignment = replace(assignment, rows=Ragged(assignment.rows.offsets, numbered))
        self.course.describe(current, before, assignment, assignor)
        return Led(assignment.rows, partitions, view)

    def _claimed(self) -> Int32s:
        """int32[world's partitions], who claims each when a cooperative group is assigned, by what the subscriptions say.

        That is what each member still reads, or read when it ended after its JoinGroup, and what it had of topics that were
        deleted: it has them until its assignment says otherwise. For a member with an eager assignor in its list it is nothing.
        StickyAssignor remembers its last assignment itself (userData).
        """
        owner = self.coordinator.owner
        if (self.ledger.reader == owner).all():
            return owner
        columns, joined = self.members.columns, self.coordinator.joined
        claimed = self.ledger.reader.copy()
        silent = joined[columns.died[joined] != NEVER]
        if len(silent):
            kept = (claimed == NONE) & np.isin(owner, silent)
            claimed[kept] = owner[kept]
        deleted = self._had_deleted()
        deleted = deleted[(columns.died[owner[deleted]] == NEVER) | np.isin(owner[deleted], joined)]
        claimed[deleted] = owner[deleted]
        claimed[columns.eager[claimed]] = NONE
        return claimed

    def receive(self, numbers: Int32s, led: Led) -> None:
        """Members get what they are assigned by the responses to their SyncGroups: ConsumerCoordinator.onJoinComplete."""
        columns = self.members.columns
        starts = np.full(len(self.members.all), NEVER, np.int64)
        starts[numbers] = receipts(self.course.paces, numbers, self.clock.now)
        revokes = self._hand_out(numbers, led, starts)[numbers]
        synced = numbers[columns.syncs[numbers] < NEVER]
        columns.generation[synced], columns.metadata_version[synced] = self.coordinator.generation, self.snapshot
        self._join_again(numbers, revokes, starts)
        self._watch_metadata()

    def _hand_out(self, numbers: Int32s, led: Led, starts: Int64s) -> Bools:
        """Members read what they are assigned when they hear of it, int64[members]. Returns which of them lose something."""
        current, coordinator, columns = self.course.rebalances[-1], self.coordinator, self.members.columns
        owner = np.full(len(coordinator.owner), NONE, np.int32)
        owner[led.partitions] = numbers[led.rows.row_of_each_value()]
        wait = polls_wait(self.course.paces, coordinator.first_rejoin)
        revokes, missed = self.ledger.hand_out(owner, starts, self.clock.now, current, wait)
        if self.deleted.any():
            lost = self._had_deleted()
            lost = lost[owner[lost] != coordinator.owner[lost]]
            losers = distinct(coordinator.owner[lost])
            revokes[losers[~columns.eager[losers] & (columns.syncs[losers] < NEVER)]] = True
            self.deleted &= (owner == coordinator.owner) & (self.ledger.reader != owner)
        self.course.backlog(current, missed[numbers], led.rows, led.view)
        coordinator.owner = owner
        late = numbers[(starts[numbers] > self.clock.now) & (starts[numbers] < NEVER)]
        for at_ms, gains, loses in batches(owner, self.ledger.reader, starts, late):
            self.course.later(at_ms, self._sync_late, gains, loses, coordinator.generation, current, wait)
        return revokes

    def _had_deleted(self) -> Int32s:
        """int32[...], the world's partitions of topics that were deleted, which the members that read them still have.

        They have them until their assignment says otherwise, or they unsubscribe: ConsumerCoordinator.onJoinComplete.
        """
        owner, members, names = self.coordinator.owner, self.members, len(self.topology.counts)
        deleted = np.flatnonzero(self.deleted & (owner != NONE))
        codes = members.columns.joined[owner[deleted]]
        subscribed = [code * names + np.array(members.subscriptions[code], np.int64) for code in distinct(codes).tolist()]
        had = np.isin(codes * names + self.topology.topic_of[deleted], np.concatenate([codes[:0], *subscribed]))
        return deleted[had].astype(np.int32)

    def _drop_deleted(self) -> None:
        """Members of librdkafka give up what was deleted as soon as their own metadata says so.

        Reproduces rd_kafka_cgrp_owned_but_not_exist_partitions (librdkafka 2.12.1); each member requests metadata in its time.
        """
        deleted = np.flatnonzero(self.deleted & (self.coordinator.owner != NONE))
        since, gone_until = self.deleted_ms[self.topology.topic_of[deleted]].T
        requested_ms, age_ms = self.members.columns.metadata_ms[self.coordinator.owner[deleted]], self.timing.metadata_max_age_ms
        seen_ms = requested_ms + -((requested_ms - since) // age_ms) * age_ms
        self.deleted[deleted[(seen_ms <= self.clock.now) & (seen_ms < gone_until)]] = False

    def _sync_late(self, gains: Int32s, loses: Int32s, generation: int, current: TimelineRebalance, wait: Wait | None) -> None:
        """Members that poll only now get their assignment: GroupMetadataManager.classicGroupSyncToClassicGroup in Stable."""
        if generation != self.coordinator.generation:
            return
        self.clock.spend((len(gains) + len(loses)) // PASSED)
        ledger, owner, died = self.ledger, self.coordinator.owner, self.members.columns.died
        if len(gains):
            gainers = owner[gains]
            starts = (died[gainers] == NEVER) & (ledger.reader[gains] == NONE) & ledger.counted[gains]
            ledger.start(gains, gainers, np.where(starts, self.clock.now, NEVER), current, wait)
        if len(loses):
            reads, present = np.zeros(len(died), np.bool_), self.present.numbers()
            reads[present] = died[present] == NEVER
            loses = loses[reads[ledger.reader[loses]] & (ledger.reader[loses] != owner[loses])]
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
        if self.topology.counts[topic]:
            self.deleted_ms[topic, 1] = min(self.deleted_ms[topic, 1], self.clock.now)
        else:
            self._topic_deleted(topic, leader)
        self._watch_metadata()

    def _topic_deleted(self, topic: int, leader: int) -> None:
        columns, now, first = self.members.columns, self.clock.now, self.course.timeline.world.first
        partitions = slice(first[topic], first[topic + 1])
        self.deleted[partitions] = True
        self.deleted_ms[topic] = now, NEVER
        reads = leader != NONE and (self.coordinator.owner[partitions] == leader).any()
        if reads and max(columns.stalled_until[leader], columns.metadata_ms[leader]) < now < columns.died[leader]:
            columns.metadata_ms[leader] = now

    def _metadata_version(self, number: int, topics: list[int]) -> int:
        """The version of the topology that a member's metadata has: ConsumerCoordinator.metadataSnapshot."""
        requested_ms, known = int(self.members.columns.metadata_ms[number]), int(self.members.columns.metadata_version[number])
        self.clock.spend(self.topology.newest - known)
        return self.topology.version_at(self.clock.now, requested_ms, topics, self.timing.metadata_max_age_ms, known)

    def _watch_metadata(self) -> None:
        """When the leader will see a newer version: Metadata.timeToNextUpdate."""
        leader, newest = self.coordinator.leader, self.topology.newest
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


Scene: TypeAlias = tuple[int, bytes, bytes, bytes]


def scene_of(leader: int, numbers: Int32s, members: Members, view: View) -> Scene:
    """What must not change for a leader to go on with what it has begun. leader : its number; numbers : of the members"""
    order = np.sort(numbers)
    counts = view.counts[members.joined_topics(numbers)]
    return leader, order.tobytes(), members.columns.joined[order].tobytes(), counts.tobytes()


class LeaderPlans:
    """What the leaders of a group have begun."""

    def __init__(self) -> None:
        self._scene: Scene | None = None
        self._target = np.empty(0, np.int32)

    def assign(self, assignor: Assignor, group: Group, scene: Scene, numbers: Int32s, view: View) -> Assignment:
        """What is assigned now. group : with what its members still read; numbers : of its members"""
        if scene == self._scene:
            slots = np.full(int(numbers.max(initial=0)) + 2, NONE, np.int32)
            slots[numbers] = np.arange(len(numbers), dtype=np.int32)
            rows = grouped(slots[self._target[view.to_world]], len(numbers))
        else:
            rows = assignor.run(group).rows
        now = withholding(group, rows)
        self._scene = scene if now.follow_up_rebalance else None
        self._target = np.full(len(view.from_world), NONE, np.int32)
        self._target[view.to_world[rows.values]] = numbers[rows.row_of_each_value()]
        return now
