"""Sticky assignment when all members subscribe to the same topics: counts are known beforehand, so nothing is ever moved twice.

With P partitions and N members, each member gets *minimum* = P // N, and P % N of them one more (*maximum*).

1. *Keep.* Each member, in the order of the leader's HashMap, keeps what it owns: all of it if that is less than the minimum; the
   first *maximum* while there are members to have one more; else the first *minimum*. "First" is by (id, topic name); up
   to 3.4, in the order of its list. Contested partitions are not kept, and with racks, those without a replica on the member's.
2. *Match*, with racks only. Partitions that are left, those with the fewest members on their racks first, go to members short of
   the minimum in turn, else to members at the minimum, as far as somebody is on a rack of theirs.
3. *Deal.* What is left goes round the members short of the minimum by member_id, then one each to members at the minimum.

Example: t has 5 partitions; A owned all: 5 // 2 = 2, and one member gets 3. A keeps t-0, t-1, t-2, B gets t-3, t-4.

Source: AbstractStickyAssignor.ConstrainedAssignmentBuilder.
Plain-Python twin: tests/reference/sticky.py, ``constrained``.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from service.core.assignors.classic.members import on_rack
from service.core.assignors.classic.sticky.claims import Claims
from service.core.errors import KafkaAssignorFails
from service.core.kernels import inner_kernel, kernel
from service.core.model import NONE, Bools, Group, Int32s, Ragged
from service.core.ragged import grouped_arrays, indices_of, put


@dataclass(frozen=True)
class Constrained:
    """The outcome. Arrays over partitions as in ``Claims``.

    kept : int32[partitions]      the member that keeps each partition, or NONE
    matched : int32[partitions]   the member that is given it by rack (step 2), or NONE; empty without racks
    free, takers : int32[...]     the partitions that are dealt in turn (step 3), ascending unless there are racks, and to whom
    minimum, members_with_more : what each member gets, and how many members get one more
    """

    kept: Int32s
    matched: Int32s
    free: Int32s
    takers: Int32s
    minimum: int
    members_with_more: int

    @property
    def dealt(self) -> Int32s:
        """int32[partitions], the member that is given each partition in turn (step 3), or NONE."""
        dealt = np.full(len(self.kept), NONE, np.int32)
        dealt[self.free] = self.takers
        return dealt

    @property
    def new_owners(self) -> Int32s:
        """int32[partitions], the member that has each in the end, or NONE."""
        return self._new_owners[0]

    @property
    def duplicates(self) -> Int32s:
        """int32[partitions], another member that keeps it too, as of ``General``."""
        return self._new_owners[1]

    @cached_property
    def _new_owners(self) -> tuple[Int32s, Int32s]:
        new_owners = self.kept.copy()
        if len(self.matched):
            np.copyto(new_owners, self.matched, where=self.matched != NONE)
        new_owners[self.free] = self.takers
        gains = len(self.free) + np.count_nonzero(self.matched != NONE)
        if np.count_nonzero(self.kept != NONE) + gains == np.count_nonzero(new_owners != NONE):
            return new_owners, new_owners[:0]
        dealt = self.dealt if not len(self.matched) else np.where(self.matched == NONE, self.dealt, self.matched)
        return new_owners, np.where(dealt == NONE, np.int32(NONE), self.kept)


def solve(group: Group, claims: Claims) -> Constrained:
    """Assign a group whose members all subscribe to the same topics; raises KafkaAssignorFails where Kafka throws."""
    if len(group) == 0:
        raise KafkaAssignorFails(
            "java.lang.ArithmeticException",
            "/ by zero",
            cause="the group has no members (/members is empty), among whom the partitions are to be divided",
            remedy="name at least one member",
        )
    counts = group.topics.partitions_counts()
    minimum, members_with_more = divmod(int(counts[claims.topics[: len(counts)]].sum()), len(group))
    racks = _Racks(len(group.rack_ids), claims.racks, *claims.partition_racks.arrays())
    kept, held, surplus, with_more, is_under_quota, is_at_quota = _keep(
        claims.second_order, claims.owners, claims.contested, racks, minimum, members_with_more
    )
    if len(claims.listed):
        kept = keep_first(claims.listed, held, len(kept))
    elif surplus.any():
        if len(group.unknown_partitions):
            _give_up(np.lexsort((claims.topic_of, claims.partition_ids)).astype(np.int32), kept, surplus)
        else:
            _give_up_existing(group.topics.first, kept, surplus)
    under_quota, at_quota = claims.by_id[is_under_quota[claims.by_id]], claims.by_id[is_at_quota[claims.by_id]]
    free = indices_of(claims.free(group, kept, np.arange(len(claims.topics), dtype=np.int32)))
    matched = np.empty(0, np.int32)
    if claims.rack_aware:
        more = members_with_more - with_more
        matched, free, under_quota, at_quota = _match(free, under_quota, at_quota, held, racks, minimum, more)
    takers, all_dealt = deal(len(free), under_quota, at_quota, held, minimum)
    if not all_dealt:
        raise KafkaAssignorFails(
            "java.lang.IllegalStateException",
            "No more unfilled consumers to be assigned.",
            cause=claims.beyond_the_end(group, kept)
            + ", so the assignor counts later partitions as unassigned although their members keep them, and runs out of members "
            "for them",
            remedy="restart that member, or reset what it owns, so that it no longer claims the partition",
        )
    return Constrained(kept, matched, free, takers, minimum, members_with_more)


def keep_first(listed: Ragged, held: Int32s, partitions: int) -> Int32s:
    """int32[partitions], the member that keeps each, or NONE: of its list the first.

    listed : Ragged member → partitions; held : int32[members]   how many of them it keeps
    """
    kept = np.full(partitions, NONE, np.int32)
    rows = listed.row_of_each_value()
    keeps = np.arange(len(rows), dtype=np.int32) - listed.offsets[rows] < held[rows]
    kept[listed.values[keeps]] = rows[keeps]
    return kept


class _Racks(NamedTuple):
    """The racks of a group.

    size : how many there are
    of_members : int32[members]   each member's rack, or NONE
    offsets, values : partition → racks of its replicas
    """

    size: int
    of_members: Int32s
    offsets: Int32s
    values: Int32s


@kernel
def _keep(
    order: Int32s, owners: Int32s, contested: Bools, racks: _Racks, minimum: int, members_with_more: int
) -> tuple[Int32s, Int32s, Int32s, int, Bools, Bools]:
    """Step 1 (assignOwnedPartitions), but for the choice of partitions that members with too many give up.

    order : int32[members]   the order in which members are looked at

    Returns who could keep each partition, how many each member keeps, how many of them it has too many, how many members have
    the maximum, who is short of the minimum, and who has the minimum and may get one more.
    """
    members = len(order)
    kept = np.empty_like(owners)
    held = np.zeros(members, np.int32)
    for partition in range(len(owners)):
        # A contested partition has an owner if a still newer claim came after; but it is not kept either.
        member = NONE if contested[partition] else owners[partition]
        if member != NONE:
            rack = racks.of_members[member]
            if rack == NONE or on_rack(racks.offsets, racks.values, partition, rack):
                held[member] += 1
            else:
                member = NONE
        kept[partition] = member
    with_more = 0
    surplus = np.zeros(members, np.int32)
    under_quota = np.zeros(members, np.bool_)
    at_quota = np.zeros(members, np.bool_)
    for member in order:
        if held[member] < minimum:
            under_quota[member] = True
        elif held[member] > minimum and with_more < members_with_more:
            surplus[member] = held[member] - minimum - 1
            with_more += 1
        else:
            surplus[member] = held[member] - minimum
            at_quota[member] = True
        held[member] -= surplus[member]
    if with_more == members_with_more:
        at_quota[:] = False
    return kept, held, surplus, with_more, under_quota, at_quota


@kernel
def _give_up(order: Int32s, kept: Int32s, surplus: Int32s) -> None:
    """Take the last partitions in ``order`` from members with a surplus: their entries in ``kept`` become NONE.

    order : int32[partitions]
    kept : int32[partitions]; surplus : int32[members]; both written
    """
    left = surplus.sum()
    i = len(order)
    while left > 0:
        i -= 1
        member = kept[order[i]]
        if member != NONE and surplus[member] > 0:
            kept[order[i]] = NONE
            surplus[member] -= 1
            left -= 1


@kernel
def _give_up_existing(first: Int32s, kept: Int32s, surplus: Int32s) -> None:
    """``_give_up`` where all partitions exist, so that their order by (id, topic name) need not be written down.

    first : int32[topics + 1]   the first partition of each topic
    """
    left = surplus.sum()
    counts = first[1:] - first[:-1]
    most = counts.max()
    with_count_of, with_count = grouped_arrays(counts, most + 1)
    topics = np.empty(len(counts), np.int32)  # those that have an id, ascending
    size = 0
    for partition_id in range(most - 1, -1, -1):
        new = with_count_of[partition_id + 2]  # topics that end with this id join those that have a larger one
        at, old, size = size + new - with_count_of[partition_id + 1], size, size + new - with_count_of[partition_id + 1]
        while new > with_count_of[partition_id + 1]:
            at -= 1
            if old > 0 and topics[old - 1] > with_count[new - 1]:
                old -= 1
                topics[at] = topics[old]
            else:
                new -= 1
                topics[at] = with_count[new]
        for i in range(size - 1, -1, -1):
            partition = first[topics[i]] + partition_id
            member = kept[partition]
            if member != NONE and surplus[member] > 0:
                kept[partition] = NONE
                surplus[member] -= 1
                left -= 1
                if left == 0:
                    return


class _Circle(NamedTuple):
    """The members short of the minimum by rack: *entries* are their places in the list, rack by rack.

    offsets, places : rack → places, ascending
    following : int32[entries + 1]   ``following[i]`` is i, or beyond i if entry i has left the circle
    gone : bool[members]             has the member at this place left it?
    """

    offsets: Int32s
    places: Int32s
    following: Int32s
    gone: Bools


class _Queue(NamedTuple):
    """The members at the minimum, in the order in which they came to it; within it the queue of each rack.

    members : int32[...]         the member of each entry; NONE where none has come yet, and for those that have one more
    behind : int32[...]          the next entry of its rack, or NONE
    head, tail : int32[racks]    the rack's first and last entry, or NONE
    """

    members: Int32s
    behind: Int32s
    head: Int32s
    tail: Int32s


@kernel
def _match(
    free: Int32s, under_quota: Int32s, at_quota: Int32s, held: Int32s, racks: _Racks, minimum: int, more: int
) -> tuple[Int32s, Int32s, Int32s, Int32s]:
    """Step 2 (assignRackAwareRoundRobin).

    free : int32[...]            the partitions that are left, ascending
    under_quota, at_quota : int32[...]   the members below the minimum, and those at it, by member_id
    held : int32[members]        how many partitions each member has; written
    more : how many members may still get more than the minimum

    Kafka looks through the lists for every partition. Here each rack has its own part of them: the members short of the minimum
    who are on it (a place in the circle is found by bisection, who has left by union-find), and a queue of those at the minimum.

    Returns the member given to each partition, and what is then left of ``free``, ``under_quota`` and ``at_quota``.
    """
    matched = np.full(len(racks.offsets) - 1, NONE, np.int32)
    rest = np.empty(len(free), np.int32)
    left = at = length = 0
    offsets, places = grouped_arrays(racks.of_members[under_quota], racks.size)
    circle = _Circle(offsets, places, np.arange(len(places) + 1, dtype=np.int32), np.zeros(len(under_quota), np.bool_))
    members = np.full(len(under_quota) + len(at_quota), NONE, np.int32)
    behind = members.copy()
    queue = _Queue(members, behind, np.full(racks.size, NONE, np.int32), np.full(racks.size, NONE, np.int32))
    for member in at_quota:
        length = _enqueue(queue, length, member, racks.of_members[member])
    for partition in _fewest_consumers_first(free, racks):
        here = _nearest(circle, at, racks, partition)
        entry = NONE
        if here == NONE and more > 0:
            for i in range(racks.offsets[partition], racks.offsets[partition + 1]):
                head = queue.head[racks.values[i]]
                if head != NONE and (entry == NONE or head < entry):
                    entry = head
        if here != NONE:
            place = circle.places[here]
            member, at = under_quota[place], place + 1
            if held[member] + 1 >= minimum:
                circle.following[here] = here + 1
                circle.gone[place] = True
                if more > 0:
                    length = _enqueue(queue, length, member, racks.of_members[member])
        elif entry != NONE:
            member = queue.members[entry]
            queue.head[racks.of_members[member]] = queue.behind[entry]
            queue.members[entry] = NONE
            more -= 1
        else:
            rest[left] = partition
            left += 1
            continue
        matched[partition] = member
        held[member] += 1
    return matched, rest[:left], under_quota[~circle.gone], queue.members[(queue.members != NONE) & (more > 0)]


@inner_kernel
def _nearest(circle: _Circle, at: int, racks: _Racks, partition: int) -> int:
    """The entry of the first member from place ``at`` on, round the circle, who is on a rack of the partition, or NONE."""
    size = nearest = len(circle.gone)
    entry = NONE
    for i in range(racks.offsets[partition], racks.offsets[partition + 1]):
        start, stop = circle.offsets[racks.values[i]], circle.offsets[racks.values[i] + 1]
        here = _next_alive(circle.following, int(start + np.searchsorted(circle.places[start:stop], at)))
        if here >= stop:
            here = _next_alive(circle.following, int(start))
        if here < stop:
            distance = circle.places[here] - at
            if distance < 0:
                distance += size
            if distance < nearest:
                nearest, entry = distance, here
    return entry


@inner_kernel
def _next_alive(following: Int32s, at: int) -> int:
    """The first entry from ``at`` on that has not left, where ``following[i]`` is i, or beyond i if i has left."""
    end = at
    while following[end] != end:
        end = following[end]
    while following[at] != end:
        following[at], at = end, following[at]
    return end


@inner_kernel
def _enqueue(queue: _Queue, length: int, member: int, rack: int) -> int:
    """Put a member at the end of the queue, and of its rack's; returns the new length."""
    queue.members[length] = member
    if rack != NONE:
        if queue.head[rack] == NONE:
            queue.head[rack] = length
        else:
            queue.behind[queue.tail[rack]] = length
        queue.tail[rack] = length
    return length + 1


@inner_kernel
def _fewest_consumers_first(free: Int32s, racks: _Racks) -> Int32s:
    """The partitions by the number of members on their racks, else in their order (sortPartitionsByRackConsumers)."""
    consumers = np.zeros(racks.size, np.int32)
    for rack in racks.of_members:
        if rack != NONE:
            consumers[rack] += 1
    totals = np.zeros(len(free), np.int32)
    for i in range(len(free)):
        for j in range(racks.offsets[free[i]], racks.offsets[free[i] + 1]):
            totals[i] += consumers[racks.values[j]]
    _, order = grouped_arrays(totals, len(racks.of_members) + 1)
    return free[order]


@kernel
def deal(free: int, under_quota: Int32s, at_quota: Int32s, held: Int32s, minimum: int) -> tuple[Int32s, bool]:
    """Step 3 (assignRoundRobin). Arguments as in ``_match``, but of ``free`` only how many there are.

    Returns the member given to each of the partitions left, and whether there were enough members; if so, none stays below
    the minimum (verifyUnfilledMembers): no member is given more than the minimum before.
    """
    takers = np.empty(free, np.int32)
    queue = np.empty(len(under_quota) + len(at_quota), np.int32)
    head, tail = 0, put(at_quota, queue, 0)
    circle = under_quota.copy()
    size, at, stay = len(circle), 0, 0
    rounds = free // size if size else 0  # in which no member leaves the circle
    for member in circle:
        rounds = min(rounds, minimum - held[member] - 1)
    for member in circle:
        held[member] += rounds
    for i in range(rounds):
        put(circle, takers, i * size)
    i = rounds * size
    while i < free:
        if at == size:
            size, at, stay = stay, 0, 0
        if size > 0:
            member = circle[at]
            at += 1
            held[member] += 1
            if held[member] == minimum:
                queue[tail] = member
                tail += 1
            else:
                circle[stay] = member
                stay += 1
        elif head < tail:
            member = queue[head]
            head += 1
        else:
            return takers, False
        takers[i] = member
        i += 1
    return takers, True
