"""Share groups (KIP-932), as far as their assignment goes: the coordinator assigns, and nobody has to revoke.

As in the consumer protocol a change raises the group epoch and the next heartbeat of any member has the target assignment
computed. A member has its partitions from its own next heartbeat on, whoever else reads them. Partitions that are new to the
group are assigned one heartbeat later, when the share coordinator has their state.

Source: org.apache.kafka.coordinator.group.GroupMetadataManager.shareGroupHeartbeat, modern.share.ShareGroup (Apache Kafka 4.3.1).
"""

from dataclasses import replace
from typing import Final

import numpy as np

from service.core.assignors import Assignor
from service.core.model import NONE, Int32s, Ragged
from service.core.ragged import transposed
from service.core.timelines.consumer.clients import ConsumerTimeline
from service.core.timelines.consumer.coordinator import EMPTY, STABLE
from service.core.timelines.ledger import Wait
from service.core.timelines.members import Member
from service.core.timelines.model import NEVER, NewMember
from service.core.timelines.topics import view_of

ACKNOWLEDGES_MS: Final = 50
"""After its first answer, a member heartbeats again: some 16 to 200 ms later in the recordings, in which polls take 20 ms."""


class ShareTimeline(ConsumerTimeline):
    """A share group. Static members there are none.

    rows : of each member, by number, the partitions that it is assigned
    initialized : int32[names], of each topic the partitions whose state the share coordinator has; no others are assigned
    """

    protocol = "share"
    heartbeat_api = "ShareGroupHeartbeat"

    def __init__(self, timeline: object) -> None:
        super().__init__(timeline)  # type: ignore[arg-type]
        self.rows: dict[int, Int32s] = {}
        self.ledger.log = None  # several members read a partition: there is no one reader to note
        self.initialized = np.zeros(len(self.timeline.world.names), np.int32)
        self._readers = Ragged(np.zeros(len(self.ledger.reader) + 1, np.int32), np.empty(0, np.int32))

    def begin(self) -> None:
        """See GroupTimeline."""
        super().begin()
        owned = self.timeline.group.owned
        if len(owned.values):
            self.rows = {number: owned.row(number) for number in range(len(owned))}
            self._readers = transposed(owned, len(self.ledger.reader))
            self.initialized = self.timeline.world.counts.copy()

    def start(self, fields: NewMember, assignors: tuple[Assignor, ...] | None = None) -> Member:
        """See GroupTimeline; a ``group.instance.id`` means nothing here."""
        return super().start(replace(fields, instance_id=None), assignors)

    def join(self, member: Member, *, starts: bool = True) -> None:
        """A client's first heartbeat. It acknowledges its assignment, even an empty one, by another as soon as it has it.

        Reproduces AbstractMembershipManager.maybeReconcile and shouldHeartbeatNow, for ACKNOWLEDGING.
        """
        super().join(member, starts=starts)
        self.later(self.clock.now + ACKNOWLEDGES_MS, self._acknowledge, member.number)

    def _acknowledge(self, number: int) -> None:
        if number in self.present and self._beats(number):
            self._heartbeat(number)

    def leave(self, member: Member, client_reason: str) -> None:
        """See ConsumerTimeline."""
        self._hand_over(member.number)
        super().leave(member, client_reason)

    def crash(self, member: Member) -> None:
        """See ConsumerTimeline."""
        self._hand_over(member.number)
        super().crash(member)

    def _hand_over(self, number: int) -> None:
        """Where another member reads a partition too, nobody misses this one."""
        gone = self.rows.pop(number, np.empty(0, np.int32))
        for partition in gone[self.ledger.reader[gone] == number].tolist():
            sharers = self._readers.row(partition)
            self.clock.spend(len(sharers))
            left = sharers[self.members.died[sharers] == NEVER]
            if len(left):
                self.ledger.reader[partition] = left[0]

    def _assign(self) -> None:
        """Compute the target, and give each member its own: TargetAssignmentBuilder.build, ShareGroupAssignmentBuilder.build."""
        now, current = self.clock.now, self._pending
        if current is None:
            return
        self._pending = None
        if not np.array_equal(self._view.counts, self.initialized):
            self._view = view_of(self.timeline.world, self.initialized.copy())
        view, numbers = self._view, self.numbers()
        rows = [view.from_world[self.rows.get(number, np.empty(0, np.int32))] for number in numbers.tolist()]
        rows = [np.sort(row[row != NONE]) for row in rows]
        offsets = np.cumsum([0, *map(len, rows)], dtype=np.int32)
        owned = Ragged(offsets, np.concatenate([np.empty(0, np.int32), *rows]))
        nothing = np.empty((0, 2), np.int32)
        before = self.group_with(numbers, view, owned, nothing)
        assignor = self._preferred(numbers)
        assignment = assignor.run(before)
        self.describe(current, before, assignment, assignor, view)
        current.epoch = self.target_epoch = self.epoch
        self._since_ms, self.assigned_at = max(self._changed_ms, self._ready_ms()), now
        beats = np.where(self.members.died[numbers] == NEVER, self.coming_beats(numbers, now), NEVER)
        beats[numbers == self._beating] = now
        self.rows = {
            number: view.to_world[assignment.rows.row(slot)]
            for slot, number in enumerate(numbers.tolist())
            if beats[slot] < NEVER
        }
        alive = beats < NEVER
        kept = alive[assignment.rows.row_of_each_value()]
        lengths = np.where(alive, assignment.rows.lengths(), 0)
        offsets = np.append(0, np.cumsum(lengths)).astype(np.int32)
        readers = transposed(Ragged(offsets, view.to_world[assignment.rows.values[kept]]), len(self.ledger.reader))
        self._readers = Ragged(readers.offsets, numbers[readers.values])
        self.ledger.stop(np.flatnonzero((readers.lengths() == 0) & (self.ledger.reader != NONE)).astype(np.int32), now)
        read = np.flatnonzero(readers.lengths()).astype(np.int32)
        slots = readers.values[readers.offsets[read]]
        unread = self.ledger.reader[read] == NONE
        soonest = np.minimum.reduceat(beats[readers.values], readers.offsets[read]) if len(read) else np.empty(0, np.int64)
        keeps = ~unread & (self.ledger.reader[read] != numbers[slots])
        self.ledger.reader[read[keeps]] = numbers[slots[keeps]]
        unread &= self.ledger.counted[read]
        every = self.timing.heartbeat_interval_ms
        wait = None if self._joining == self._beating else Wait(self._since_ms, every, is_middle=True)
        missed = self.ledger.start(read[unread], numbers[slots[unread]], soonest[unread], current, wait)
        if missed is not None:
            gets = slots[unread][soonest[unread] < NEVER]
            self.backlog(current, np.bincount(gets, missed, len(numbers)).astype(np.float64, copy=False), assignment.rows, view)
        self._enter(STABLE)
        current.stable_at_ms = int(beats[beats < NEVER].max(initial=now))
        self._round += 1
        self._initialize()

    def topics_changed(self) -> None:
        """See GroupTimeline. A deleted topic takes its state with it."""
        self.initialized = np.minimum(self.initialized, self.topology.counts)
        super().topics_changed()

    def _initialize(self) -> None:
        """Have the state of new partitions written; only then they are assigned, by the next heartbeat.

        Reproduces GroupMetadataManager.maybeCreateInitializeShareGroupStateRequest and initializeShareGroupState.
        """
        counts, topics = self.topology.counts, self.members.joined_topics(self.numbers())
        if (self.initialized[topics] < counts[topics]).any():
            self.initialized[topics] = counts[topics]
            if not self._refresh and self._pending is None:
                self._changed_ms = self.clock.now
            self._refresh = True
            self._await_heartbeat()

    def _enter(self, state: str) -> None:
        """A share group is empty or stable: ShareGroup.ShareGroupState."""
        super()._enter(state if state == EMPTY else STABLE)
