"""The sticky assignors of kafka-python and aiokafka: two descendants of Java's first one (KIP-54), which one code reproduces.

*Algorithm*: read what the members say they own (claims.py). Keep it, save partitions of topics that their owner no longer
subscribes to. Each partition no member keeps goes to the subscriber with the fewest. Then partitions move one by one, until no
member can be given one more (reassign.py). Members are ordered by member_id; static ones count as any other, racks not at all.

*Left to chance*, which is the seed of each process's hashes:

* A member lists the topics that it subscribes to in the order of a set. If the lists of all members are alike to the letter,
  partitions are gone through in another order (``_from_the_fullest``) than if they only hold the same topics.
  CooperativeStickyAssignor sorts them.
* Partitions are taken from a set where members claim them in different generations (there), and where one of several that
  moved the opposite way returns (reassign.py). These sets are tried in ``TRIES`` orders.

Source: StickyPartitionAssignor and CooperativeStickyAssignor (kafka-python 3.0.12), StickyPartitionAssignor (aiokafka 0.14.0).
Plain-Python twin: tests/reference/clients/python_sticky.py.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np

from service.clients.names import by_bytes, byte_ranks
from service.clients.python_sticky import Library
from service.clients.python_sticky.reassign import THROWN, even_out
from service.core.assignors.classic.members import topic_subscribers
from service.core.assignors.classic.sticky.claims import from_the_fullest
from service.core.assignors.classic.sticky.cooperative import parted
from service.core.assignors.classic.sticky.former_claims import newest_two
from service.core.assignors.classic.sticky.general import keep, topic_by_topic
from service.core.assignors.classic.sticky.movements import most_bytes, no_movements
from service.core.assignors.classic.sticky.reassign import ENDLESS, nearly_equal, set_aside
from service.core.assignors.classic.sticky.state import State, fill
from service.core.budget import check_time, current_deadline, in_time, reserve_in_turn
from service.core.errors import KafkaAssignorFails
from service.core.model import NONE, Assignment, Group, Int32s, LeftOpen, first_occurrences
from service.core.ragged import ascending, grouped, rows_and_places

# What the members of a sticky group say that they own, as kafka-python and aiokafka read it.
#
# A partition that several members claim belongs to the one of the newest generation. That of the second newest is its *previous
# owner*, to whom it may return (reassign.py). Of two claims of one generation the first counts, save in generation 0, which the
# code takes for none: there the last counts.
#
# Source: StickyAssignmentExecutor._init_current_assignments (kafka-python 3.0.12, aiokafka 0.14.0).

NO_GENERATION: Final = 0
"""What the code takes for none."""


class ClaimedPartitions(NamedTuple):
    """Who claims what.

    owners : int32[partitions]            the member that owns each existing partition, or NONE
    previous_owners : int32[partitions]   the claimant of the second newest generation, or NONE
    last_claimants : int32[partitions]    of all claimants the last in request order, or NONE
    claimed : int32[...]                  the partitions that somebody claims, in the order in which they are first claimed
    """

    owners: Int32s
    previous_owners: Int32s
    last_claimants: Int32s
    claimed: Int32s


def read_claims(group: Group, generations: Int32s, *, ids_ascend: bool) -> ClaimedPartitions:
    """Settle the claims of the members, each of which lists its partitions topic by topic.

    generations : int32[members]   as the leader sees them
    ids_ascend : does a member sort the ids of each topic?
    """
    existing, total = group.topics.partitions_count, group.total_partitions
    sent, in_turn = _sent(group, ids_ascend=ids_ascend), np.arange(len(group), dtype=np.int32)
    owners, previous_owners = newest_two(in_turn, generations, group.owned.offsets, sent, total, NO_GENERATION)
    last_claimants = np.full(total, NONE, np.int32)
    last_claimants[sent] = group.owned.row_of_each_value()
    claimed = first_occurrences(sent[sent < existing])
    return ClaimedPartitions(owners[:existing], previous_owners[:existing], last_claimants[:existing], claimed)


def _sent(group: Group, *, ids_ascend: bool) -> Int32s:
    """int32[owned], what each member owns in the order in which it sends it: topics as they first occur."""
    owned = group.owned
    if ascending(owned.offsets, owned.values):
        return owned.values
    topics, ids = group.topic_partitions(owned.values)
    places = np.arange(len(ids))
    pairs = owned.row_of_each_value() * np.int64(group.total_topics) + topics
    _, first, pair = np.unique(pairs, return_index=True, return_inverse=True)
    return owned.values[np.lexsort((ids if ids_ascend else places, first[pair]))]


TRIES: Final = 32
"""So many orders of the partitions in sets are tried, where these decide."""


def assign(group: Group, library: Library) -> Assignment:
    """Ragged member → partitions, ascending. Raises KafkaAssignorFails where the library throws, in any of its runs."""
    return _assignment(group, library, lambda owners, _: Assignment(grouped(owners, len(group))))


def assign_cooperatively(group: Group, library: Library) -> Assignment:
    """The same; withheld is what another member claims, of several claimants the last in request order."""

    def withholding(owners: Int32s, claimants: Int32s) -> Assignment:
        here, later = parted(owners, (claimants != NONE) & (claimants != owners))
        return Assignment(grouped(here, len(group)), withheld=grouped(later, len(group)))

    return _assignment(group, library, withholding)


def _assignment(group: Group, library: Library, made_of: Callable[[Int32s, Int32s], Assignment]) -> Assignment:
    """What all runs have in common, and one of them. made_of : the member of each partition, or NONE, and its last claimant"""
    if len(group) == 0:
        raise KafkaAssignorFails(
            *library.no_members,
            cause="the group has no members (/members is empty)",
            remedy="name at least one member",
            library=library.name,
        )
    was_here = np.flatnonzero((group.owned.lengths() > 0) | (group.generations >= 0))
    if not library.rejoins and len(was_here):
        raise _cannot_join(group, library, int(was_here[0]))
    setting = _read(group, library)
    if not setting.settled:
        reserve_in_turn(most_bytes(group))
    runs = _runs(group, library, setting)
    first = next(runs)
    alike = np.ones(len(first), np.bool_)
    for owners in runs:
        alike &= owners == first
    claimants = setting.claims.last_claimants
    if alike.all():
        return made_of(first, claimants)

    def of_run(seed: int) -> Assignment:
        random = np.random.default_rng(seed)
        hashes = random.permutation(np.arange(len(first), dtype=np.int32))
        from_fullest = bool(random.choice(_orders(group, library, setting)))
        return made_of(_run(group, library, setting, hashes, from_fullest=from_fullest).owners, claimants)

    because = "the order of Python's sets, of a member's topics and of partitions, differs from process to process"
    common = made_of(np.where(alike, first, np.int32(NONE)), claimants)
    return replace(common, left_open=LeftOpen(np.flatnonzero(~alike).astype(np.int32), because, of_run))


def _orders(group: Group, library: Library, setting: "_Setting") -> list[bool]:
    """In which orders the partitions may be gone through: from the fullest member on, topic by topic, or either."""
    return [setting.equal, False] if setting.equal and not library.sorts and len(group.topics) > 1 else [setting.equal]


def _runs(group: Group, library: Library, setting: "_Setting") -> Iterator[Int32s]:
    """The member of each partition in every run that may be different: int32[partitions] each."""
    hashes = np.arange(group.topics.partitions_count, dtype=np.int32)
    orders, chances = _orders(group, library, setting), 0
    for from_fullest in orders:
        run = _run(group, library, setting, hashes, from_fullest=from_fullest)
        yield run.owners
        chances += run.chances
        if run.moves == 0:
            break
    for seed in range(TRIES if chances else 0):
        hashes = np.random.default_rng(seed).permutation(hashes)
        for from_fullest in orders:
            yield _run(group, library, setting, hashes, from_fullest=from_fullest).owners


@dataclass(frozen=True)
class _Setting:
    """What is the same in all runs.

    claims : what the members said
    ranks : int32[members]         the rank of each by member_id
    kept : int32[partitions]       the member that keeps each, or NONE
    revoked : is something taken from a member that no longer subscribes to it?
    fresh : is nothing kept?
    equal : do all members subscribe to all topics?
    filled : who owns what once every partition has an owner, as in the Java form; not changed
    settled : is there nothing to even out?
    """

    claims: ClaimedPartitions
    ranks: Int32s
    kept: Int32s
    revoked: bool
    fresh: bool
    equal: bool
    filled: State
    settled: bool


def _read(group: Group, library: Library) -> _Setting:
    """Keep, fill and set aside, which leave nothing to chance."""
    topics, members = group.topics, len(group)
    generations = np.full(members, NONE, np.int32) if library.sorts else group.generations
    claims = read_claims(group, generations, ids_ascend=library.sorts)
    subscribers = topic_subscribers(group, np.arange(members, dtype=np.int32))
    topic_of, _ = rows_and_places(topics.first)
    no_racks = np.full(members, NONE, np.int32), np.zeros(topics.partitions_count + 1, np.int32), np.empty(0, np.int32)
    kept, counts, possible, revoked = keep(
        claims.owners, topic_of, topics.first, subscribers.offsets, subscribers.values, *no_racks
    )
    ranks = byte_ranks(group.member_ids)
    by_name = by_bytes(topics.names)
    in_order = by_name[np.argsort(subscribers.lengths()[by_name], kind="stable")]
    fresh = not counts.any()
    state = State(
        topics.first,
        in_order,
        *topic_by_topic(topics.first, in_order),
        topic_of,
        subscribers.offsets,
        subscribers.values,
        *no_racks,
        np.empty(0, np.int32),
        possible,
        claims.previous_owners,
        bool((claims.previous_owners != NONE).any()),
        0,
        (kept == NONE) & (subscribers.lengths() > 0)[topic_of],
        kept.copy(),
        np.full(len(kept), NONE, np.int32),
        counts,
        counts * np.int64(members) + ranks,
        np.ones(members, np.bool_),
    )
    fill(state, False, 0)
    set_aside(state)
    equal = bool((possible == topics.partitions_count).all())
    settled = not state.has_stale_claims and nearly_equal(state)
    return _Setting(claims, ranks, kept, revoked, fresh, equal, state, settled)


@dataclass(frozen=True)
class _Try:
    """One run. owners : int32[partitions]; moves : how many of the second list; chances : how often a set decided"""

    owners: Int32s
    moves: int
    chances: int


def _run(group: Group, library: Library, setting: _Setting, hashes: Int32s, *, from_fullest: bool) -> _Try:
    """Even out; raises KafkaAssignorFails.

    hashes : int32[partitions], all different: they decide the order in a set of partitions
    from_fullest : in the order of ``_from_the_fullest``, or topic by topic?
    """
    check_time()
    state, claims = setting.filled, setting.claims
    if setting.settled:
        return _Try(state.new_owners, 0, 0)
    state = state._replace(new_owners=state.new_owners.copy(), counts=state.counts.copy(), keys=state.keys.copy())
    several = False
    if from_fullest:
        sequence, several = _from_the_fullest(setting, hashes)
        state = state._replace(sequence=sequence, runs=np.array([0, len(sequence)], np.int32))
    status, at, moves, chances = even_out(
        state, no_movements(hashes), library.undoes, setting.revoked, setting.fresh, current_deadline()
    )
    if in_time(status) == THROWN:
        raise _throws(group, library, claims, at)
    if status == ENDLESS:
        raise _endless(group, library, at)
    return _Try(state.new_owners, moves, chances + (several and moves > 0))


def _from_the_fullest(setting: _Setting, hashes: Int32s) -> tuple[Int32s, bool]:
    """The order of the partitions if all members subscribe alike, int32[partitions]; and does that of a set have a part in it?

    Again and again the member with the most partitions left gives one: one that has a previous owner if there is any, taken from
    a set of all of them; otherwise its last. Those that no member keeps follow topic by topic.

    Source: StickyAssignmentExecutor._populate_sorted_partitions.
    """
    claims, kept, rest = setting.claims, setting.kept, setting.filled.sequence
    claimed = claims.claimed[kept[claims.claimed] != NONE]
    had_others = claims.previous_owners[claimed] != NONE
    returning = claimed[had_others]
    several = bool(np.bincount(kept[returning]).max(initial=0) > 1)
    in_turn = np.concatenate([returning[np.argsort(-hashes[returning])], claimed[~had_others][::-1]])
    in_turn = in_turn[from_the_fullest(kept[in_turn], setting.ranks)]
    return np.concatenate([in_turn, rest[kept[rest] == NONE]]), several


def _throws(group: Group, library: Library, claims: ClaimedPartitions, partition: int) -> KafkaAssignorFails:
    member = int(claims.previous_owners[partition])
    return KafkaAssignorFails(
        "KeyError",
        library.key_error.format(group.member_ids[member]),
        cause=f"member {group.member_ids[member]!r} claims {group.partition_name(partition)} in the older generation "
        f"{group.generations[member]}, already has all that it subscribes to, so it is left out of the balancing, and is "
        "still to get the partition back",
        remedy="restart that member, so that it no longer claims the partition",
        library=library.name,
    )


def _cannot_join(group: Group, library: Library, member: int) -> KafkaAssignorFails:
    return KafkaAssignorFails(
        "TypeError",
        "object of type 'dict_itemiterator' has no len()",
        cause=f"member {group.member_ids[member]!r} has been in the group before, and cannot encode what it owned to join again",
        remedy="use release 2.0.3 or later, or restart all members",
        library=library.name,
    )


def _endless(group: Group, library: Library, partition: int) -> KafkaAssignorFails:
    return KafkaAssignorFails(
        None,
        None,
        cause="after a pass over the partitions the state is the same as before an earlier pass; "
        f"{group.partition_name(partition)} is one of those that move back and forth",
        remedy="restart the members together, so that they join without owned partitions",
        library=library.name,
    )
