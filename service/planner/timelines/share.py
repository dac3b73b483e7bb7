"""Share groups (KIP-932), as far as their assignment goes: the coordinator assigns, and members do not revoke.

As in the consumer protocol a change raises the group epoch and the next heartbeat of any member has the target assignment
computed. A member has its partitions from its own next heartbeat on, whoever else reads them. Partitions that are new to the
group are assigned one heartbeat later, when the share coordinator has their state.

Source: org.apache.kafka.coordinator.group.GroupMetadataManager.shareGroupHeartbeat, modern.share.ShareGroup.
"""

from typing import Final

import numpy as np

from service.core.model import NONE, Group, Int32s, Int64s, Ragged
from service.core.ragged import transposed
from service.planner.timelines.consumer.clients import ConsumerClients
from service.planner.timelines.consumer.coordinator import EMPTY, STABLE, ConsumerCallbacks, ConsumerCoordinator
from service.planner.timelines.course import Course
from service.planner.timelines.ledger import Wait
from service.planner.timelines.members import Member
from service.planner.timelines.model import NEVER, TimelineRebalance
from service.planner.timelines.topics import view_of

ACKNOWLEDGES_MS: Final = 50
"""After its first answer, a member heartbeats again: some 16 to 200 ms later in the recordings, in which polls take 20 ms."""


class ShareClients(ConsumerClients):
    """The members of a share group, and their coordinator. Static members there are none."""

    def __init__(self, course: Course) -> None:
        super().__init__(course)
        self.coordinator = self.share = ShareCoordinator(course, self)
        self.ledger.log = None  # several members read a partition: there is no one reader to note

    def join(self, member: Member, *, starts: bool = True) -> None:
        """A client's first heartbeat. It acknowledges its assignment, even an empty one, by another as soon as it has it.

        Reproduces AbstractMembershipManager.maybeReconcile and shouldHeartbeatNow, for ACKNOWLEDGING.
        """
        super().join(member, starts=starts)
        self.course.later(self.clock.now + ACKNOWLEDGES_MS, self._acknowledge, member.number)

    def _acknowledge(self, number: int) -> None:
        if number in self.present and self._beats(number):
            self.heartbeat(number)

    def leave(self, member: Member, client_reason: str = "") -> None:
        """A client closes in good order. A partition that another member reads too does not stand still."""
        self.share.hand_over(member.number)
        super().leave(member, client_reason)

    def crash(self, member: Member) -> None:
        """A client ends without a word."""
        self.share.hand_over(member.number)
        super().crash(member)


class ShareCoordinator(ConsumerCoordinator):
    """The coordinator of a share group.

    assigned : of each member, by number, its partitions
    initialized : int32[names], of each topic the partitions whose state the share coordinator has; no others are assigned
    """

    heartbeat_api = "ShareGroupHeartbeat"

    def __init__(self, course: Course, clients: ConsumerCallbacks) -> None:
        super().__init__(course, clients)
        self.assigned: dict[int, Int32s] = {}
        self.initialized = np.zeros(len(course.timeline.world.names), np.int32)
        self._readers = Ragged(np.zeros(len(self.holder) + 1, np.int32), np.empty(0, np.int32))

    def resume(self, group: Group) -> None:
        """A group that has just become stable."""
        super().resume(group)
        self.assigned = {number: group.owned.row(number) for number in range(len(group.owned))}
        self._readers = transposed(group.owned, len(self.holder))
        self.initialized = self.course.timeline.world.counts.copy()

    def hand_over(self, number: int) -> None:
        """What a member reads that ends, others read that are assigned it too."""
        ledger = self.course.ledger
        gone = self.assigned.pop(number, np.empty(0, np.int32))
        for partition in gone[ledger.reader[gone] == number].tolist():
            sharers = self._readers.row(partition)
            self.clock.spend(len(sharers))
            left = sharers[self.members.columns.died[sharers] == NEVER]
            if len(left):
                ledger.reader[partition] = left[0]

    def _assign(self, current: TimelineRebalance) -> None:
        """Compute the target, and give each member its own: TargetAssignmentBuilder.build, ShareGroupAssignmentBuilder.build."""
        now = self.clock.now
        if not np.array_equal(self.view.counts, self.initialized):
            self.view = view_of(self.course.timeline.world, self.initialized.copy())
        view, numbers = self.view, self.present.numbers()
        rows = (view.from_world[self.assigned.get(number, np.empty(0, np.int32))] for number in numbers.tolist())
        owned = Ragged.of_rows([np.sort(row[row != NONE]) for row in rows])
        assigned = self._run(current, numbers, self.course.groups.owning(numbers, view, owned))
        beats = np.where(self.members.columns.died[numbers] == NEVER, self.course.paces.coming_beats(numbers, now), NEVER)
        beats[numbers == self.beating] = now
        self._hand_out(current, numbers, beats, assigned)
        self._enter(STABLE)
        current.stable_at_ms = int(beats[beats < NEVER].max(initial=now))
        self.round += 1
        self._initialize()

    def _hand_out(self, current: TimelineRebalance, numbers: Int32s, beats: Int64s, rows: Ragged) -> None:
        """Members that run read what they are assigned from their next heartbeat on. beats : int64[...]; NEVER: has ended"""
        view, ledger, alive = self.view, self.course.ledger, beats < NEVER
        kept = rows.where(alive[rows.row_of_each_value()])
        kept = Ragged(kept.offsets, view.to_world[kept.values])
        self.assigned = {number: kept.row(slot) for slot, number in enumerate(numbers.tolist()) if alive[slot]}
        readers = transposed(kept, len(ledger.reader))
        self._readers = Ragged(readers.offsets, numbers[readers.values])
        ledger.stop(np.flatnonzero((readers.lengths() == 0) & (ledger.reader != NONE)).astype(np.int32), self.clock.now)
        read = np.flatnonzero(readers.lengths()).astype(np.int32)
        slots = readers.values[readers.offsets[read]]
        unread = ledger.reader[read] == NONE
        soonest = np.minimum.reduceat(beats[readers.values], readers.offsets[read]) if len(read) else np.empty(0, np.int64)
        keeps = ~unread & (ledger.reader[read] != numbers[slots])
        ledger.reader[read[keeps]] = numbers[slots[keeps]]
        unread &= ledger.counted[read]
        joins = self.joining == self.beating
        wait = None if joins else Wait(self.since_ms, self.timing.heartbeat_interval_ms, is_middle=True)
        missed = ledger.start(read[unread], numbers[slots[unread]], soonest[unread], current, wait)
        of_members = np.bincount(slots[unread], missed, len(numbers)).astype(np.float64, copy=False)
        self.course.backlog(current, of_members, rows, view)

    def topics_changed(self) -> None:
        """A deleted topic takes its state with it."""
        self.initialized = np.minimum(self.initialized, self.course.topology.counts)
        super().topics_changed()

    def _initialize(self) -> None:
        """Have the state of new partitions written; only then they are assigned, by the next heartbeat.

        Reproduces GroupMetadataManager.maybeCreateInitializeShareGroupStateRequest and initializeShareGroupState.
        """
        counts, topics = self.course.topology.counts, self.members.joined_topics(self.present.numbers())
        if (self.initialized[topics] < counts[topics]).any():
            self.initialized[topics] = counts[topics]
            self.await_refresh()

    def _enter(self, state: str) -> None:
        """A share group is empty or stable: ShareGroup.ShareGroupState."""
        super()._enter(state if state == EMPTY else STABLE)
