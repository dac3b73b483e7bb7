"""Sticky assignment when subscriptions differ: fill up, then move until nothing can be evened out any more.

1. *Keep* what members own, save partitions of topics they no longer subscribe to and, with racks, those without a replica on the
   member's rack.
2. *Fill*. Topics with the fewest subscribers first, ids ascending: each partition no member keeps goes to the subscriber with the
   fewest partitions, of equals to the first by member_id. (With racks: first as far as a subscriber matches the partition.)
3. *Set aside* topics with fewer than two subscribers, and members that have all that they could have, all of such topics.
4. *Reassign*, unless something had to be taken from somebody, over the partitions that were free, and then over all: passes over
   the list, until one moves nothing. A partition moves when a subscriber has at least two fewer than its owner; it goes to the
   subscriber with the fewest. If a member of an older generation claims it and has at least two fewer, it goes back there. If
   another partition of the topic went the opposite way before, that one moves in its stead (movements.py).
5. *Restore* what there was before step 4 if members were then not less unequal (never seen to happen).

Here are step 1 and what is said where Kafka does not answer; step 2 is in state.py, steps 3 to 5 are in reassign.py. What
each finds and leaves is in state.py.

Example: A subscribes to t, B to t and u, one partition each. u-0 goes to B, which then has one; so t-0 goes to A.

Source: AbstractStickyAssignor.GeneralAssignmentBuilder.
Plain-Python twin: tests/reference/sticky.py, ``general``.
"""

from dataclasses import dataclass

import numpy as np

from service.core.assignors.classic.members import on_rack, topic_subscribers
from service.core.assignors.classic.sticky.claims import Claims
from service.core.assignors.classic.sticky.movements import most_bytes, no_movements
from service.core.assignors.classic.sticky.reassign import ENDLESS, NULL_POINTER, even_out, nearly_equal, set_aside
from service.core.assignors.classic.sticky.state import State, fill
from service.core.budget import current_deadline, in_time, reserve_in_turn
from service.core.errors import KafkaAssignorFails
from service.core.jvm.hashing import java_hash_codes, topic_partition_hash_codes
from service.core.kernels import kernel
from service.core.model import NONE, Group, Int32s, offsets_of, ranks_of


@dataclass(frozen=True)
class General:
    """The outcome. Arrays over partitions as in ``Claims``.

    kept : int32[partitions]      the member that keeps each partition (step 1), or NONE
    filled : int32[partitions]    the member that has each after step 2, or NONE
    new_owners : int32[partitions]   the member that has each in the end, or NONE
    duplicates : int32[partitions]   the member that keeps it although it was given to another (or once more to the same), or
                                     NONE; empty if there is none
    passes, moves : (over the free partitions, over all)
    restored : was step 4 undone?
    """

    kept: Int32s
    filled: Int32s
    new_owners: Int32s
    duplicates: Int32s
    passes: tuple[int, int]
    moves: tuple[int, int]
    restored: bool


def solve(group: Group, claims: Claims, tolerance: int) -> General:
    """Assign a group whose subscriptions differ; raises KafkaAssignorFails where Kafka throws, or never answers.

    tolerance : as in ``State``
    """
    state, kept, revoked = _after_step_1(group, claims, tolerance)
    fresh, has_duplicates = not state.counts.any(), bool((state.duplicates != NONE).any())
    fill(state, claims.rack_aware, len(group.rack_ids))
    filled = state.new_owners.copy()
    set_aside(state)
    passes, moves, restored = (int(not revoked), 1), (0, 0), False
    if state.has_stale_claims or not nearly_equal(state):
        reserve_in_turn(most_bytes(group))
        existing, deadline = group.topics.partitions_count, current_deadline()
        hashes = java_hash_codes(group.topics.names)[claims.topic_of[:existing]]
        codes = topic_partition_hash_codes(hashes, claims.partition_ids[:existing])
        status, at, passes, moves, restored = even_out(state, no_movements(codes), revoked, fresh, deadline)
        if in_time(status) == NULL_POINTER:
            raise _null_pointer(group, claims, state, at)
        if status == ENDLESS:
            raise _endless(group, state, at)
    duplicates = state.duplicates if has_duplicates else state.duplicates[:0]
    return General(kept, filled, state.new_owners, duplicates, passes, moves, restored)


def _after_step_1(group: Group, claims: Claims, tolerance: int) -> tuple[State, Int32s, bool]:
    """The group once members have what they keep; ``General.kept``; and had a member to revoke something?"""
    topics, existing = group.topics, group.topics.partitions_count
    subscribers = topic_subscribers(group, claims.order)
    subscriber_members = claims.order[subscribers.values]
    ordered = np.argsort(subscribers.lengths(), kind="stable").astype(np.int32)
    rank = np.full(len(claims.topics), len(ordered), np.int32)
    rank[ordered] = np.arange(len(ordered), dtype=np.int32)
    racks = claims.partition_racks

    kept, counts, possible, revoked = keep(
        claims.owners,
        claims.topic_of,
        topics.first,
        subscribers.offsets,
        subscriber_members,
        claims.racks,
        racks.offsets,
        racks.values,
    )
    free = claims.free(group, kept, rank)
    beyond = bool((kept[existing:] != NONE).any())
    state = State(
        topics.first,
        ordered,
        *_in_sequence(claims, ordered),
        claims.topic_of,
        subscribers.offsets,
        subscriber_members,
        claims.racks,
        racks.offsets,
        racks.values,
        ranks_of(claims.second_order),
        possible,
        claims.previous_owners,
        beyond or bool((claims.previous_owners != NONE).any()),
        tolerance,
        free,
        np.where(free, np.int32(NONE), kept) if beyond else kept.copy(),
        np.where(free, kept, np.int32(NONE)) if beyond else np.full(len(kept), NONE, np.int32),
        counts,
        counts * np.int64(len(group)) + ranks_of(claims.by_id),
        np.ones(len(group), np.bool_),
    )
    return state, kept, revoked


def _in_sequence(claims: Claims, ordered: Int32s) -> tuple[Int32s, Int32s]:
    """``State.sequence`` and ``State.runs``. ordered : int32[topics]   the topics in the assignor's order"""
    if claims.sequence is not None:
        return claims.sequence, np.array([0, len(claims.sequence)], np.int32)
    return topic_by_topic(claims.group.topics.first, ordered)


def topic_by_topic(first: Int32s, ordered: Int32s) -> tuple[Int32s, Int32s]:
    """The same where partitions are in the order of their topics. first : int32[topics + 1], the first partition of each topic"""
    counts = np.diff(first)[ordered]
    runs = offsets_of(counts)
    return np.arange(runs[-1], dtype=np.int32) + np.repeat(first[ordered] - runs[:-1], counts), runs


@kernel
def keep(
    owners: Int32s,
    topic_of: Int32s,
    first: Int32s,
    subscribers_of: Int32s,
    subscribers: Int32s,
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
        for i in range(subscribers_of[topic], subscribers_of[topic + 1]):
            subscribes[subscribers[i]] = topic
            possible[subscribers[i]] += first[topic + 1] - first[topic]
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
            if (
                rack_of[owner] == NONE
                and owner in subscribers[subscribers_of[topic_of[partition]] : subscribers_of[topic_of[partition] + 1]]
            ):
                kept[partition] = owner
                counts[owner] += 1
            else:
                revoked = True
    return kept, counts, possible, revoked


# ---- where Kafka does not answer ---------------------------------------------------------------------------------------


def _null_pointer(group: Group, claims: Claims, state: State, partition: int) -> KafkaAssignorFails:
    name = group.partition_name(partition)
    member = int(state.previous_owners[partition])
    if member != NONE and not state.taking_part[member]:
        cause = (
            f"member {group.member_ids[member]!r} claims {name} in the older generation {group.generations[member]}; it already "
            "has all that it subscribes to, so it is left out of the balancing, and its lookup fails"
        )
    else:
        cause = (
            claims.beyond_the_end(group, state.new_owners)
            + f", so a member seems to have all that it subscribes to and is left out of the balancing; its lookup fails "
            f"when {name} moves"
        )
    return KafkaAssignorFails(
        "java.lang.NullPointerException",
        'Cannot invoke "java.util.List.size()" because the return value of "java.util.Map.get(Object)" is null',
        cause=cause,
        remedy="restart that member, or reset what it owns, so that it no longer claims the partition",
    )


def _endless(group: Group, state: State, partition: int) -> KafkaAssignorFails:
    name, owner = group.partition_name(partition), group.member_ids[state.new_owners[partition]]
    return KafkaAssignorFails(
        None,
        None,
        cause=f"after a pass over the partitions the state is the same as before an earlier pass; {name}, now with member "
        f"{owner!r}, is one of those that move back and forth between members with different subscriptions",
        remedy="give the members equal subscriptions, or let them all join without owned partitions (restart them together)",
    )
