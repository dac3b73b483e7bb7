"""The state that the steps of the general sticky algorithm share (sticky/general.py), and the step that fills it up."""

from typing import Final, NamedTuple

import numpy as np

from service.core.heap import heapify, sift_down
from service.core.kernels import inner_kernel, kernel
from service.core.model import NONE, Bools, Int32s, Int64s
from service.core.ragged import grouped_arrays, put


class State(NamedTuple):
    """The group, and who owns what so far.

    first : int32[topics + 1]             the first partition of each topic
    topics : int32[topics]                the topics in the assignor's order
    sequence : int32[...]                 the partitions in the assignor's order
    runs : int32[runs + 1]                partitions ``sequence[runs[i]:runs[i + 1]]`` have the same subscribers: those of a topic
    topic_of : int32[partitions]          each partition's topic
    subscribers_of, subscribers           topic → its subscribers, in the leader's order
    racks : int32[members]                each member's rack
    racks_of, partition_racks             partition → racks of its replicas
    places : int32[members]               the place of each member in the map of assignments
    possible : int32[members]             the number of partitions of each member's topics
    previous_owners : int32[partitions]   the member of an older generation that claims each partition, or NONE
    has_stale_claims : bool               may members own partitions that do not exist, of other topics, or of another member?
    tolerance : int                       the difference of two members' counts at which the group still counts as balanced

    free : bool[partitions]               was it unassigned after step 1?
    new_owners, duplicates : int32[partitions]   as in ``General`` (sticky/general.py)
    counts : int32[members]               the number of partitions of each member
    keys : int64[members]                 (count, rank by member_id) as one number: members in the assignor's order
    taking_part : bool[members]           False for members set aside
    """

    first: Int32s
    topics: Int32s
    sequence: Int32s
    runs: Int32s
    topic_of: Int32s
    subscribers_of: Int32s
    subscribers: Int32s
    racks: Int32s
    racks_of: Int32s
    partition_racks: Int32s
    places: Int32s
    possible: Int32s
    previous_owners: Int32s
    has_stale_claims: bool
    tolerance: int
    free: Bools
    new_owners: Int32s
    duplicates: Int32s
    counts: Int32s
    keys: Int64s
    taking_part: Bools


@kernel
def give(state: State, partition: int, member: int) -> None:
    """Give the partition to the member."""
    state.new_owners[partition] = member
    state.counts[member] += 1
    state.keys[member] += len(state.counts)


# Step 2 of the general sticky algorithm (general.py): each partition no member keeps goes to the subscriber with the fewest.
#
# Source: AbstractStickyAssignor.GeneralAssignmentBuilder.maybeAssign.
# Plain-Python twin: tests/reference/sticky.py, ``general``.

_FEW: Final = 4
"""So many times a look through all members is faster than a heap of them."""


@kernel
def fill(state: State, rack_aware: bool, racks_count: int) -> None:  # noqa: FBT001
    """Step 2 (maybeAssign). Partitions of one topic come one after the other, so a heap of its subscribers serves them all."""
    members = len(state.counts)
    heap = np.empty(members, np.int32)
    where = np.zeros(members, np.int32)
    if rack_aware:
        _fill_by_rack(state, racks_count)
    for run in range(len(state.runs) - 1):
        of_run = state.sequence[state.runs[run] : state.runs[run + 1]]
        if len(of_run) == 0:
            continue
        topic = state.topic_of[of_run[0]]
        subscribers = state.subscribers[state.subscribers_of[topic] : state.subscribers_of[topic + 1]]
        place = 0
        for partition in of_run:
            if not state.free[partition] or state.new_owners[partition] != NONE:
                continue
            place += 1
            if place <= _FEW:
                best = subscribers[0]
                for member in subscribers:
                    best = member if state.keys[member] < state.keys[best] else best
                give(state, partition, best)
                continue
            if place == _FEW + 1:
                put(subscribers, heap, 0)
                heapify(heap, len(subscribers), where, state.keys)
            give(state, partition, heap[0])
            sift_down(heap, len(subscribers), where, state.keys, 0)


@inner_kernel
def _fill_by_rack(state: State, racks_count: int) -> None:
    """What of step 2 can be done without mismatch: a heap for the topic's subscribers of each rack, and of none."""
    members = len(state.counts)
    where = np.empty(members, np.int32)
    for topic in state.topics:
        subscribers = state.subscribers[state.subscribers_of[topic] : state.subscribers_of[topic + 1]]
        labels = np.empty(len(subscribers), np.int32)
        for i in range(len(subscribers)):
            labels[i] = state.racks[subscribers[i]] if state.racks[subscribers[i]] != NONE else racks_count
        heap_of, places = grouped_arrays(labels, racks_count + 1)
        heaps = subscribers[places]
        for rack in range(racks_count + 1):
            heapify(heaps[heap_of[rack] : heap_of[rack + 1]], heap_of[rack + 1] - heap_of[rack], where, state.keys)
        for partition in range(state.first[topic], state.first[topic + 1]):
            if not state.free[partition]:
                continue
            best, best_rack = NONE, NONE
            stop = state.racks_of[partition + 1]
            for i in range(state.racks_of[partition], stop + 1):
                rack = state.partition_racks[i] if i < stop else racks_count
                if heap_of[rack] < heap_of[rack + 1]:
                    member = heaps[heap_of[rack]]
                    if best == NONE or state.keys[member] < state.keys[best]:
                        best, best_rack = member, rack
            if best != NONE:
                give(state, partition, best)
                heap = heaps[heap_of[best_rack] : heap_of[best_rack + 1]]
                sift_down(heap, len(heap), where, state.keys, 0)
