"""Sticky assignment when subscriptions differ: fill up, then move until nothing can be evened out any more.

1. *Keep* what members own, save partitions of topics they no longer subscribe to and, with racks, those without a replica on the
   member's rack.
2. *Fill*. Topics with the fewest subscribers first, ids ascending: each partition nobody keeps goes to the subscriber with the
   fewest partitions, of equals to the first by member_id. (With racks: first as far as a subscriber matches the partition.)
3. *Set aside* topics with fewer than two subscribers, and members that have all that they could have, all of such topics.
4. *Reassign*, unless something had to be taken from somebody, over the partitions that were free, and then over all: passes over
   the list, until one moves nothing. A partition moves when a subscriber has at least two fewer than its holder; it goes to the
   subscriber with the fewest. If a member of an older generation claims it and has at least two fewer, it goes back there. If
   another partition of the topic went the opposite way before, that one moves in its stead (sticky_movements).
5. *Restore* what there was before step 4 if members were then not less unequal (never seen to happen).

Kafka asks before every partition whether the group is balanced, and ends the pass if so. As long as members have only what they
subscribe to, that changes nothing: in a balanced group nobody has two fewer than the holder of a partition that he could have.
So the question is put only when it counts: when a member holds something odd (``peculiar`` below), before a move.

Example: A subscribes to t, B to t and u, one partition each. u-0 goes to B, which then has one; so t-0 goes to A.

Source: AbstractStickyAssignor.GeneralAssignmentBuilder (Apache Kafka 4.3.1).
Plain-Python twin: tests/reference/sticky.py, ``general``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numba import njit

from service.core.assignors.classic.members import subscribers
from service.core.assignors.classic.racks import on_rack
from service.core.assignors.classic.sticky_movements import (
    Movements,
    alike,
    copied,
    move,
    no_movements,
    partition_to_move,
)
from service.core.errors import KafkaAssignorFails
from service.core.grouping import grouped_arrays
from service.core.jvm.hashing import java_hash_codes, topic_partition_hash_codes
from service.core.model import NONE

if TYPE_CHECKING:
    from service.core.assignors.classic.sticky_claims import Claims
    from service.core.model import Bools, Group, Int32s, Int64s


@dataclass(frozen=True)
class General:
    """The outcome. Arrays over partitions as in ``Claims``.

    kept : int32[partitions]      the member that keeps each partition (step 1), or NONE
    filled : int32[partitions]    the member that has each after step 2, or NONE
    holders : int32[partitions]   the member that has each in the end, or NONE
    twice : int32[partitions]     the member that keeps it although it was given to another (or once more to the same), or NONE;
                                  empty when there is none
    revoked : had something to be taken from a member (step 1)?
    passes, moves : (over the free partitions, over all)
    restored : was step 4 undone?
    """

    kept: Int32s
    filled: Int32s
    holders: Int32s
    twice: Int32s
    revoked: bool
    passes: tuple[int, int]
    moves: tuple[int, int]
    restored: bool


_SETTLED: Final = 0
_NULL_POINTER: Final = 1
_ENDLESS: Final = 2

_FEW: Final = 4
"""So many times a look through all members is faster than a heap of them."""

_STAY: Final = -1
_THROW: Final = -2


class _Game(NamedTuple):
    """The group, and who has what so far.

    first : int32[topics + 1]        the first partition of each topic
    topics : int32[topics]           the topics in the assignor's order
    readers_of, readers              topic → its subscribers, in the leader's order
    racks : int32[members]           each member's rack
    racks_of, partition_racks        partition → racks of its replicas
    places : int32[members]          where each member stands in the map of assignments
    possible : int32[members]        how many partitions each member's topics have in all
    former : int32[partitions]       the member of an older generation that claims each partition, or NONE
    peculiar : bool                  do members perhaps hold what they do not subscribe to, what does not exist, or the same?

    free : bool[partitions]          was it unassigned after step 1?
    holders, twice : int32[partitions]   as in ``General``
    counts : int32[members]          how many partitions each member has
    keys : int64[members]            (count, rank by member_id) as one number: members in the assignor's order
    taking_part : bool[members]      False for members set aside
    """

    first: Int32s
    topics: Int32s
    readers_of: Int32s
    readers: Int32s
    racks: Int32s
    racks_of: Int32s
    partition_racks: Int32s
    places: Int32s
    possible: Int32s
    former: Int32s
    peculiar: bool
    free: Bools
    holders: Int32s
    twice: Int32s
    counts: Int32s
    keys: Int64s
    taking_part: Bools


def solve(group: Group, claims: Claims) -> General:
    """Assign a group whose subscriptions differ; raises KafkaAssignorFails where Kafka throws, or never answers."""
    topics, existing = group.topics, group.topics.partitions_count
    readers = subscribers(group, claims.order)
    reader_ids = claims.order[readers.values]
    ordered = np.argsort(readers.lengths(), kind="stable").astype(np.int32)
    rank = np.full(len(claims.topics), len(ordered), np.int32)
    rank[ordered] = np.arange(len(ordered), dtype=np.int32)
    racks = claims.partition_racks

    kept, counts, possible, revoked = _keep(
        claims.owners, claims.topic_of, topics.first, readers.offsets, reader_ids, claims.racks, racks.offsets, racks.values
    )
    free = claims.free(group, kept, rank)
    beyond = bool((kept[existing:] != NONE).any())
    both = free & (kept != NONE) if beyond else free[:0]
    former = _former(claims.order, group.generations, group.owned.offsets, group.owned.values, len(kept))
    fresh = not counts.any()
    ranks = np.empty(len(group), np.int64)
    ranks[claims.by_id] = np.arange(len(group))
    places = np.empty(len(group), np.int32)
    places[claims.second_order] = np.arange(len(group), dtype=np.int32)
    game = _Game(
        topics.first,
        ordered,
        readers.offsets,
        reader_ids,
        claims.racks,
        racks.offsets,
        racks.values,
        places,
        possible,
        former,
        beyond or bool((former != NONE).any()),
        free,
        np.where(free, np.int32(NONE), kept) if beyond else kept.copy(),
        np.where(both, kept, np.int32(NONE)) if beyond else np.full(len(kept), NONE, np.int32),
        counts,
        counts * np.int64(len(group)) + ranks,
        np.ones(len(group), np.bool_),
    )
    _fill(game, claims.rack_aware, len(group.rack_ids))
    filled = game.holders.copy()
    _set_aside(game, claims.topic_of)
    passes, moves, restored = (int(not revoked), 1), (0, 0), False
    if game.peculiar or _somebody_has_two_more(game):
        hashes = java_hash_codes(topics.names)[claims.topic_of[:existing]]
        codes = topic_partition_hash_codes(hashes, claims.partition_ids[:existing])
        status, at, passes, moves, restored = _even_out(game, no_movements(codes), revoked, fresh)
        if status == _NULL_POINTER:
            raise _null_pointer(group, claims, game, at)
        if status == _ENDLESS:
            raise _endless(group, claims, game, at)
    twice = game.twice if both.any() else game.twice[:0]
    return General(kept, filled, game.holders, twice, revoked, passes, moves, restored)


@njit(nogil=True, cache=True)
def _keep(
    owners: Int32s,
    topic_of: Int32s,
    first: Int32s,
    readers_of: Int32s,
    readers: Int32s,
    rack_of: Int32s,
    racks_of: Int32s,
    racks: Int32s,
) -> tuple[Int32s, Int32s, Int32s, bool]:
    """Step 1 (assignOwnedPartitions): who keeps each partition, how many each member keeps, how many partitions its topics have,
    and whether somebody has to give one up.
    """
    kept = np.full(len(owners), NONE, np.int32)
    counts = np.zeros(len(rack_of), np.int32)
    possible = np.zeros(len(rack_of), np.int32)
    revoked = False
    subscribes = np.full(len(rack_of), NONE, np.int32)  # the last topic that the member was seen to subscribe to
    existing = first[-1]
    for topic in range(len(first) - 1):
        for i in range(readers_of[topic], readers_of[topic + 1]):
            subscribes[readers[i]] = topic
            possible[readers[i]] += first[topic + 1] - first[topic]
        for partition in range(first[topic], first[topic + 1]):
            owner = owners[partition]
            if owner == NONE:
                continue
            rack = rack_of[owner]
            if subscribes[owner] == topic and (rack == NONE or on_rack(racks_of, racks, partition, rack)):
                kept[partition] = owner
                counts[owner] += 1
            else:
                revoked = True
    for partition in range(existing, len(owners)):
        owner = owners[partition]
        if owner != NONE:
            if rack_of[owner] == NONE and owner in readers[readers_of[topic_of[partition]] : readers_of[topic_of[partition] + 1]]:
                kept[partition] = owner
                counts[owner] += 1
            else:
                revoked = True
    return kept, counts, possible, revoked


@njit(nogil=True, cache=True)
def _former(order: Int32s, generations: Int32s, owned_of: Int32s, owned: Int32s, partitions: int) -> Int32s:
    """The member of an older generation, of several the newest of these, that claims each partition (prepopulate…)."""
    newest = NONE
    for generation in generations:
        newest = max(newest, generation)
    former = np.full(partitions, NONE, np.int32)
    for member in order:
        if generations[member] < newest:
            for i in range(owned_of[member], owned_of[member + 1]):
                other = former[owned[i]]
                if other == NONE or generations[member] > generations[other]:
                    former[owned[i]] = member
    return former


# ---- who has fewest ----------------------------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def _sink(heap: Int32s, size: int, where: Int32s, keys: Int64s, at: int) -> None:
    """Restore a binary heap of members, smallest key first, after the key of ``heap[at]`` has grown.

    where : int32[members]   the place of each member in the heap; written
    """
    member = heap[at]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and keys[heap[child + 1]] < keys[heap[child]]:
            child += 1
        if keys[heap[child]] >= keys[member]:
            break
        heap[at] = heap[child]
        where[heap[at]] = at
        at = child
    heap[at] = member
    where[member] = at


@njit(nogil=True, cache=True)
def _rise(heap: Int32s, where: Int32s, keys: Int64s, at: int) -> None:
    """Restore the heap after the key of ``heap[at]`` has shrunk."""
    member = heap[at]
    while at > 0 and keys[heap[(at - 1) // 2]] > keys[member]:
        heap[at] = heap[(at - 1) // 2]
        where[heap[at]] = at
        at = (at - 1) // 2
    heap[at] = member
    where[member] = at


@njit(nogil=True, cache=True)
def _heapify(heap: Int32s, size: int, where: Int32s, keys: Int64s) -> None:
    """Make a heap of ``heap[:size]``."""
    for at in range(size):
        where[heap[at]] = at
    for at in range(size // 2 - 1, -1, -1):
        _sink(heap, size, where, keys, at)


# ---- step 2 ------------------------------------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def _fill(game: _Game, rack_aware: bool, racks_count: int) -> None:  # noqa: FBT001
    """Step 2 (maybeAssign). A topic's partitions come one after the other, so a heap of its subscribers serves them all."""
    members = len(game.counts)
    heap = np.empty(members, np.int32)
    where = np.zeros(members, np.int32)
    if rack_aware:
        _fill_by_rack(game, racks_count)
    for topic in game.topics:
        readers = game.readers[game.readers_of[topic] : game.readers_of[topic + 1]]
        given = 0
        for partition in range(game.first[topic], game.first[topic + 1]):
            if not game.free[partition] or game.holders[partition] != NONE:
                continue
            given += 1
            if given <= _FEW:
                _give(game, partition, _with_fewest(readers, game.keys))
                continue
            if given == _FEW + 1:
                heap[: len(readers)] = readers
                _heapify(heap, len(readers), where, game.keys)
            _give(game, partition, heap[0])
            _sink(heap, len(readers), where, game.keys, 0)


@njit(nogil=True, cache=True)
def _with_fewest(members: Int32s, keys: Int64s) -> int:
    """The member with the smallest key."""
    best = members[0]
    for member in members:
        best = member if keys[member] < keys[best] else best
    return int(best)


@njit(nogil=True, cache=True)
def _fill_by_rack(game: _Game, racks_count: int) -> None:
    """What of step 2 can be done without mismatch: a heap for the topic's subscribers of each rack, and of none."""
    members = len(game.counts)
    where = np.empty(members, np.int32)
    for topic in game.topics:
        readers = game.readers[game.readers_of[topic] : game.readers_of[topic + 1]]
        labels = np.empty(len(readers), np.int32)
        for i in range(len(readers)):
            labels[i] = game.racks[readers[i]] if game.racks[readers[i]] != NONE else racks_count
        heap_of, places = grouped_arrays(labels, racks_count + 1)
        heaps = readers[places]
        for rack in range(racks_count + 1):
            _heapify(heaps[heap_of[rack] : heap_of[rack + 1]], heap_of[rack + 1] - heap_of[rack], where, game.keys)
        for partition in range(game.first[topic], game.first[topic + 1]):
            if not game.free[partition]:
                continue
            best, best_rack = NONE, NONE
            stop = game.racks_of[partition + 1]
            for i in range(game.racks_of[partition], stop + 1):
                rack = game.partition_racks[i] if i < stop else racks_count
                if heap_of[rack] < heap_of[rack + 1]:
                    member = heaps[heap_of[rack]]
                    if best == NONE or game.keys[member] < game.keys[best]:
                        best, best_rack = member, rack
            if best != NONE:
                _give(game, partition, best)
                heap = heaps[heap_of[best_rack] : heap_of[best_rack + 1]]
                _sink(heap, len(heap), where, game.keys, 0)


@njit(nogil=True, cache=True)
def _give(game: _Game, partition: int, member: int) -> None:
    game.holders[partition] = member
    game.counts[member] += 1
    game.keys[member] += len(game.counts)


# ---- steps 3 to 5 ------------------------------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def _somebody_has_two_more(game: _Game) -> bool:
    """Is any member that takes part two ahead of any other? Else nothing moves, provided that nothing is peculiar."""
    counts = game.counts[game.taking_part]
    return len(counts) > 0 and counts.max() - counts.min() > 1


@njit(nogil=True, cache=True)
def _set_aside(game: _Game, topic_of: Int32s) -> None:
    """Step 3 for members (canConsumerParticipateInReassignment)."""
    for member in range(len(game.counts)):
        game.taking_part[member] = game.counts[member] < game.possible[member]
    if game.taking_part.all():
        return
    for partition in range(len(topic_of)):
        topic, holder = topic_of[partition], game.holders[partition]
        if holder != NONE and game.readers_of[topic + 1] - game.readers_of[topic] >= 2:
            game.taking_part[holder] = True
            if game.twice[partition] != NONE:
                game.taking_part[game.twice[partition]] = True


@njit(nogil=True, cache=True)
def _even_out(
    game: _Game,
    movements: Movements,
    revoked: bool,  # noqa: FBT001
    fresh: bool,  # noqa: FBT001
) -> tuple[int, int, tuple[int, int], tuple[int, int], bool]:
    """Steps 4 and 5 (balance).

    Returns how it ended, where (the partition, if it did not settle), passes and moves of the two reassignments, and whether they
    were undone.
    """
    before = game.holders.copy()
    counts = game.counts.copy()
    passes = moves = 0
    if not revoked:
        status, at, passes, moves, movements = _reassign(game, True, movements)
        if status != _SETTLED:
            return status, at, (passes, 0), (moves, 0), False
    status, at, more_passes, more_moves, movements = _reassign(game, False, movements)
    restored = False
    if status == _SETTLED and not fresh and more_moves > 0:
        restored = bool(_inequality(game.counts, game.taking_part) >= _inequality(counts, game.taking_part))
        if restored:
            game.holders[:] = before
    return status, at, (passes, more_passes), (moves, more_moves), restored


@njit(nogil=True, cache=True)
def _inequality(counts: Int32s, taking_part: Bools) -> np.int32:
    """The differences between the counts of all pairs of members, added up (getBalanceScore), in Java's int with its overflow."""
    ascending = np.sort(counts[taking_part])
    total = np.int64(0)
    for i in range(len(ascending)):
        total += np.int64(2 * i - len(ascending) + 1) * ascending[i]
    return np.int32(total)


@njit(nogil=True, cache=True)
def _reassign(game: _Game, only_free: bool, movements: Movements) -> tuple[int, int, int, int, Movements]:  # noqa: FBT001
    """Step 4 over one list (performReassignments): passes until nothing moves.

    Endless movement is recognised by a state at the start of a pass that is, to the last record, that of an earlier pass. After
    1, 2, 4, 8 … passes the state is remembered, and compared with until the next is (Brent's way to find a cycle).

    Returns how it ended; the partition at which it threw, or one that moves for ever; passes; moves; the records.
    """
    passes = total = 0
    moved = NONE
    heap = np.empty(len(game.counts), np.int32)
    where = np.zeros(len(game.counts), np.int32)
    witness = np.full(2, NONE, np.int32)
    remembered, records = game.holders[:0].copy(), movements
    while True:
        if passes & (passes - 1) == 0:
            if passes > 0:
                remembered, records = game.holders.copy(), copied(movements)
        elif np.array_equal(remembered, game.holders) and alike(records, movements):
            return _ENDLESS, moved, passes, total, movements
        status, moved, moves, movements = _pass(game, only_free, movements, heap, where, witness)
        passes += 1
        total += moves
        if status != _SETTLED or moves == 0:
            return status, moved, passes, total, movements


@njit(nogil=True, cache=True)
def _pass(  # noqa: C901, PLR0912 (a kernel)
    game: _Game,
    only_free: bool,  # noqa: FBT001
    movements: Movements,
    heap: Int32s,
    where: Int32s,
    witness: Int32s,
) -> tuple[int, int, int, Movements]:
    """One pass over the partitions of topics with two subscribers or more.

    heap, where : int32[members]   room to work in
    witness : int32[2]             as in ``_balanced``
    Returns how it ended, the last partition moved (or that at which it threw), the number of moves, and the records.
    """
    moves, last = 0, NONE
    for topic in game.topics:
        start, stop = game.readers_of[topic], game.readers_of[topic + 1]
        if stop - start < 2:
            continue
        size, fewest, all_take_part = 0, NONE, True
        for i in range(start, stop):
            reader = game.readers[i]
            if not game.taking_part[reader]:
                all_take_part = False
            elif fewest == NONE or game.keys[reader] < game.keys[fewest]:
                fewest = reader
        heaped = False
        for partition in range(game.first[topic], game.first[topic + 1]):
            if only_free and not game.free[partition]:
                continue
            holder = game.holders[partition]
            to = _STAY
            if game.former[partition] != NONE:
                to = _back(game, holder, game.former[partition])
            if to == _STAY:
                if all_take_part:
                    if game.counts[holder] > game.counts[fewest] + 1:
                        to = fewest
                else:
                    to = _to_fewest(game, topic, partition, holder, fewest)
            if to == _STAY:
                continue
            if game.peculiar and _balanced(game, topic, partition, to, witness):
                return _SETTLED, last, moves, movements
            if to == _THROW:
                return _NULL_POINTER, partition, moves, movements

            moved = partition_to_move(movements, topic, partition, holder, to)
            source = game.holders[moved]
            movements = move(movements, topic, moved, source, to)
            if not heaped:
                for i in range(start, stop):
                    if game.taking_part[game.readers[i]]:
                        heap[size] = game.readers[i]
                        size += 1
                _heapify(heap, size, where, game.keys)
                heaped = True
            game.counts[source] -= 1
            game.keys[source] -= len(game.counts)
            if where[source] < size and heap[where[source]] == source:
                _rise(heap, where, game.keys, where[source])
            _give(game, moved, to)
            if where[to] < size and heap[where[to]] == to:
                _sink(heap, size, where, game.keys, where[to])
            fewest = heap[0]
            moves += 1
            last = moved
    return _SETTLED, last, moves, movements


@njit(nogil=True, cache=True)
def _back(game: _Game, holder: int, former: int) -> int:
    """Does a partition go back to the member of an older generation that claims it? Then that; or _STAY, or _THROW."""
    if not game.taking_part[former]:
        return _THROW
    return former if game.counts[holder] > game.counts[former] + 1 else _STAY


@njit(nogil=True, cache=True)
def _to_fewest(game: _Game, topic: int, partition: int, holder: int, fewest: int) -> int:
    """The same where some subscriber has been set aside, at whose sight Kafka throws if it has not found another before.

    It looks for one with two fewer first among the subscribers on the partition's racks, if the holder is on one of them.
    """
    readers = game.readers[game.readers_of[topic] : game.readers_of[topic + 1]]
    rack = game.racks[holder]
    if rack != NONE and on_rack(game.racks_of, game.partition_racks, partition, rack):
        for reader in readers:
            rack = game.racks[reader]
            if rack != NONE and on_rack(game.racks_of, game.partition_racks, partition, rack):
                if not game.taking_part[reader]:
                    return _THROW
                if game.counts[holder] > game.counts[reader] + 1:
                    return fewest
    for reader in readers:
        if not game.taking_part[reader]:
            return _THROW
        if game.counts[holder] > game.counts[reader] + 1:
            return fewest
    return _STAY


@njit(nogil=True, cache=True)
def _balanced(game: _Game, topic: int, partition: int, to: int, witness: Int32s) -> bool:  # noqa: C901, PLR0912 (a kernel)
    """Is the group balanced (isBalanced)?

    topic, partition, to : the move that is about to be made, most likely a proof that it is not; or ``to`` is _THROW
    witness : int32[2]   the member and the partition that proved it last, or NONE; written
    """
    if to >= 0:
        for i in range(game.readers_of[topic], game.readers_of[topic + 1]):
            if game.readers[i] == to and _could_have(game, to, partition):
                return False
    if witness[0] != NONE and _could_have(game, witness[0], witness[1]):
        return False
    least = most = NONE
    for member in range(len(game.counts)):
        if game.taking_part[member]:
            least = game.counts[member] if least == NONE else min(least, game.counts[member])
            most = max(most, game.counts[member])
    if least >= most - 1:
        return True
    for other in game.topics:
        readers = game.readers[game.readers_of[other] : game.readers_of[other + 1]]
        least = NONE
        for reader in readers:
            if game.taking_part[reader] and game.counts[reader] != game.possible[reader]:
                least = game.counts[reader] if least == NONE else min(least, game.counts[reader])
        if least == NONE:
            continue
        for odd in range(game.first[other], game.first[other + 1]):
            if game.counts[_seen_holder(game, odd)] > least + 1:
                for reader in readers:
                    if _could_have(game, reader, odd):
                        witness[0], witness[1] = reader, odd
                        return False
    return True


@njit(nogil=True, cache=True)
def _could_have(game: _Game, member: int, partition: int) -> bool:
    """Could a subscriber of the partition have it, to make the group more equal?"""
    return bool(
        game.taking_part[member]
        and game.counts[member] != game.possible[member]
        and game.holders[partition] != member
        and game.twice[partition] != member
        and game.counts[_seen_holder(game, partition)] > game.counts[member] + 1
    )


@njit(nogil=True, cache=True)
def _seen_holder(game: _Game, partition: int) -> int:
    """The holder whom isBalanced sees: of two, the later one in the map of assignments."""
    holder, other = game.holders[partition], game.twice[partition]
    if other == NONE or not game.taking_part[other]:
        return int(holder)
    return int(other if not game.taking_part[holder] or game.places[other] > game.places[holder] else holder)


# ---- where Kafka does not answer ---------------------------------------------------------------------------------------


def _null_pointer(group: Group, claims: Claims, game: _Game, partition: int) -> KafkaAssignorFails:
    name = _name(group, claims, partition)
    member = int(game.former[partition])
    if member != NONE and not game.taking_part[member]:
        cause = (
            f"member {group.member_ids[member]!r} claims {name} in the older generation {group.generations[member]}, has no part "
            "in the balancing because it already has all that it subscribes to, and is looked up all the same"
        )
        remedy = "restart that member, or reset what it owns, so that it no longer claims the partition"
    else:
        cause = (
            claims.beyond_the_end(group, game.holders)
            + f", which makes a member look as if it had all that it subscribes to; so that is set aside, and missed "
            f"when {name} is to be moved"
        )
        remedy = "restart that member, or reset what it owns, so that it no longer claims the partition"
    return KafkaAssignorFails(
        "java.lang.NullPointerException",
        'Cannot invoke "java.util.List.size()" because the return value of "java.util.Map.get(Object)" is null',
        cause=cause,
        remedy=remedy,
    )


def _endless(group: Group, claims: Claims, game: _Game, partition: int) -> KafkaAssignorFails:
    name, holder = _name(group, claims, partition), group.member_ids[game.holders[partition]]
    return KafkaAssignorFails(
        None,
        None,
        cause=f"after a pass over the partitions everything is as it was before an earlier one, and {name}, now with member "
        f"{holder!r}, is one of those that move to and fro between members of different subscriptions",
        remedy="give the members equal subscriptions, or let them all join without owned partitions (restart them together)",
    )


def _name(group: Group, claims: Claims, partition: int) -> str:
    return f"{group.topics.names[claims.topic_of[partition]]}-{claims.partition_ids[partition]}"
