"""What a rebalance moves, and the least it could."""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from service.core.assignors import Assignor
from service.core.kernels import kernel
from service.core.measures import Spread, occurrences, spread
from service.core.model import NONE, Assignment, Group, Int32s, Int64s, Ragged, distinct
from service.core.ragged import changed, claimed_once, taken, transposed
from service.planner.flows import Edges, cost, fill
from service.planner.kinds import Claimed, Kinds, claims_of

# The fewest partitions that an assignment must move; an assignor's excess is the cost of its heuristics.
#
# *Question*: of all assignments that assign every partition to a subscriber and are at least as even as this one, what is the
# least number of claimed partitions that go to a member that did not claim them? *At least as even* is majorization: for every
# k, the k most loaded members together have no more than the k most loaded have here.
#
# *Algorithm*: if all members have the same subscription and no partition is claimed twice, a member can keep its claims as far
# as its load allows, and the most that all members keep is ``min over k of (L[k] + all claims - C[k])``: L[k] is the sum of the
# k largest loads, C[k] that of the k largest claims (the rank formula of a polymatroid). Otherwise it is a minimum-cost flow:
#
#     source → partitions claimed by the same members → ─────────────────── cost 0 ──────────────────→ member → steps → sink
#                                     └─ cost 1 if claimed → topics alike → members subscribed alike ───↗
#
# Interchangeable partitions, topics and members share a node, which keeps the network small. The *steps* keep the loads even:
# with loads sorted l[1] ≥ l[2] ≥ …, step j takes ``j × (l[j] - l[j + 1])`` in all, ``l[j] - l[j + 1]`` from each member.
#
# Example: A and B subscribe to t and u, C to u; t and u have 2 partitions each, all owned by A. B and C get one each, A keeps
# two: the loads are 2, 1, 1, and at least 2 partitions must move.
#
# Source: Hardy, Littlewood and Pólya on majorization; Ford and Fulkerson's primal-dual method, with Dinic's blocking flows.

LARGEST_NETWORK: Final = 500_000
"""Most edges. Thousands of members with as many distinct subscriptions would make a larger one, and delay the answer."""


def fewest_possible_moves(group: Group, loads: Int32s) -> int | None:
    """The least number of claimed partitions that any assignor must assign to another member.

    loads : int32[members]   partitions assigned to each member; an assignment is as even as this one if, for every k, its k
        most loaded members together have no more than the k most loaded have here

    None if the loads are not those of an assignment of each partition to one subscriber (share groups with several
    members to a partition), and if the network is larger than LARGEST_NETWORK.
    """
    topics = len(group.topics)
    subscribed = group.subscriptions.below(topics)
    subscriber_counts = occurrences(subscribed.values, topics)
    counts = group.topics.partitions_counts()
    offered = subscriber_counts > 0
    if loads.sum() != counts[offered].sum():
        return None
    alike = bool((~offered | (subscriber_counts == len(group))).all())
    if alike:
        claims_of_each = claimed_once(group.owned, np.repeat(offered, counts))
        if claims_of_each is not None:
            return _least_for_loads(claims_of_each, loads)
        claims, claimed = claims_of(group.owned, subscribed, group.topics.topic_of)
        if len(claims.values) == np.count_nonzero(claimed & np.repeat(offered, counts)):
            return _least_for_loads(claims.lengths(), loads)
    every_member = np.arange(len(group), dtype=np.int32)
    kinds = Kinds.of(group, every_member, racks_matter=False)
    return _cheapest_flow(kinds, Claimed.of(group, every_member, kinds, None, racks_matter=False), loads)


def _least_for_loads(claimed: Int32s, loads: Int32s) -> int:
    """The least if all members have the same subscription and claims are unique. claimed : int32[members], claims per member"""
    more = np.cumsum(np.sort(claimed)[::-1]) - np.cumsum(np.sort(loads)[::-1])
    return max(0, int(more.max(initial=0)))


def _cheapest_flow(kinds: Kinds, some: Claimed, loads: Int32s) -> int | None:
    """The cost of the flow described above; None if the network is too large or cannot carry all partitions."""
    loads = np.sort(loads)[::-1].astype(np.int64)
    drops = loads - np.append(loads[1:], 0)
    steps = np.flatnonzero(drops)
    sizes, claimants, subscribers = some.sizes, some.claimants, kinds.subscribers
    members = len(loads)
    if members * (1 + len(steps)) + len(subscribers.values) + len(claimants.values) + 2 * len(sizes) > LARGEST_NETWORK:
        return None

    source, first_partitions = 0, 1
    first_topic = first_partitions + len(sizes)
    first_member_kind = first_topic + len(subscribers)
    first_member = first_member_kind + len(kinds.counts)
    first_step = first_member + members
    sink = first_step + len(steps)
    each_kind, each_member = first_partitions + np.arange(len(sizes)), first_member + np.arange(members)
    each_step = first_step + np.arange(len(steps))
    total = loads.sum()
    sorts = [
        Edges(source, each_kind, sizes, 0),
        Edges(
            first_partitions + claimants.row_of_each_value(),
            first_member + claimants.values,
            np.repeat(sizes, claimants.lengths()),
            0,
        ),
        Edges(each_kind, first_topic + some.topics[some.pools], sizes, some.claimed),
        Edges(first_topic + subscribers.row_of_each_value(), first_member_kind + subscribers.values, total, 0),
        Edges(first_member_kind + kinds.members, each_member, total, 0),
        Edges(np.repeat(each_member, len(steps)), np.tile(each_step, members), np.tile(drops[steps], members), 0),
        Edges(each_step, sink, (steps + 1) * drops[steps], 0),
    ]
    edges = Edges.joined(sorts)
    through = edges.network(sink + 1)
    return cost(through, edges.prices) if fill(through) == total else None


# A rebalance: what an assignor assigns, how even that is, which partitions it moves, and what follows a cooperative one.


@dataclass(frozen=True)
class Movement:
    """How many partitions members retain, get and revoke, counted per member and partition.

    A member *owned* a partition if its ``owned_partitions`` include it. Every claim counts, whatever its generation, even if
    several members claim the partition (each must revoke it unless it is assigned to it) or the partition no longer exists.
    Duplicate claims of one member count once.

    retained : the member owned it and is assigned it again
    moved : the member is assigned it and did not own it, but another member did
    added : the member is assigned it, and no member owned it
    revoked : the member owned it and is not assigned it

    So ``retained + moved + added`` partitions are assigned, and ``retained + revoked`` were owned.
    """

    retained: int
    moved: int
    added: int
    revoked: int


@dataclass(frozen=True)
class Rebalance:
    """The outcome of a rebalance.

    owners : Ragged partition → the members it is assigned to, ascending; partitions that do not exist included
    unassigned : int32[...], the partitions that exist and are assigned to no member, ascending; none that is left open
    load : how even the numbers of partitions per member are
    fewest_possible_moves : see ``rebalances.fewest_moves``
    """

    assignment: Assignment
    owners: Ragged
    unassigned: Int32s
    load: Spread
    movement: Movement
    fewest_possible_moves: int | None


def rebalance(group: Group, assignor: Assignor) -> Rebalance:
    """Rebalance the group. Raises KafkaAssignorFails and InvalidQuestion, as the assignor does."""
    return rebalance_by(group, assignor.run(group))


def rebalance_by(group: Group, assignment: Assignment) -> Rebalance:
    """The rebalance in which the group is assigned so."""
    owners = transposed(assignment.rows, group.total_partitions)
    unassigned = np.flatnonzero(owners.lengths()[: group.topics.partitions_count] == 0).astype(np.int32)
    if assignment.left_open is not None:
        unassigned = np.setdiff1d(unassigned, assignment.left_open.partitions, assume_unique=True)
    moves, certificate = movement(group, owners), assignment.certificate
    if certificate is not None and certificate.proves_even:
        fewest: int | None = moves.moved  # of the most even numbers of partitions, which may not be the most even weights
    else:
        fewest = fewest_possible_moves(group, assignment.final_loads())
    return Rebalance(assignment, owners, unassigned, spread(assignment.rows.lengths()), moves, fewest)


def movement(group: Group, holders: Ragged) -> Movement:
    """The movement from ``group.owned`` to an assignment. holders : Ragged partition → its members, ascending"""
    owners = transposed(group.owned, len(holders))
    return Movement(*_movement(owners.offsets, owners.values, holders.offsets, holders.values))


@kernel
def _movement(owners_of: Int32s, owners: Int32s, holders_of: Int32s, holders: Int32s) -> tuple[int, int, int, int]:
    """Merge, partition by partition, the ascending members before (owners) and after (holders).

    Plain-Python twin: tests/reference/movement.py.
    """
    retained = moved = added = revoked = 0
    for partition in range(len(owners_of) - 1):
        i, before_stop = owners_of[partition], owners_of[partition + 1]
        j, after_stop = holders_of[partition], holders_of[partition + 1]
        owned = i < before_stop
        if before_stop - i == 1 and after_stop - j == 1:  # most often
            if owners[i] == holders[j]:
                retained += 1
            else:
                moved += 1
                revoked += 1
            continue
        while i < before_stop or j < after_stop:
            before = owners[i] if i < before_stop else holders[j]
            after = holders[j] if j < after_stop else owners[i]
            member = min(before, after)
            had = i < before_stop and before == member
            has = j < after_stop and after == member
            while i < before_stop and owners[i] == member:
                i += 1
            while j < after_stop and holders[j] == member:
                j += 1
            if had and has:
                retained += 1
            elif had:
                revoked += 1
            elif owned:
                moved += 1
            else:
                added += 1
    return retained, moved, added, revoked


@dataclass(frozen=True)
class Moves:
    """Partitions that somebody owned and that change hands, ascending.

    partitions, source, target : int32[n]; the member that had the partition and does not get it, and the one that gets it and did
        not have it; NONE where there are more of the others: a partition that no member gets, or that one more member gets
    """

    partitions: Int32s
    source: Int32s
    target: Int32s

    def __len__(self) -> int:
        return len(self.partitions)


def moves(group: Group, rows: Ragged) -> Moves:
    """The moves from ``group.owned`` to an assignment. rows : Ragged member → partitions"""
    members = max(len(group), 1)
    before, after = _pairs(group.owned, members), _pairs(rows, members)
    lost, gained = np.setdiff1d(before, after, assume_unique=True), np.setdiff1d(after, before, assume_unique=True)
    owned = distinct(before // members)
    gained = gained[np.isin(gained // members, owned)]
    lost_ranks, gained_ranks = _ranks(lost // members), _ranks(gained // members)
    # The first that loses a partition gives it to the first that gains it, and so on.
    key_lost, key_gained = (pairs // members * members + ranks for pairs, ranks in ((lost, lost_ranks), (gained, gained_ranks)))
    keys = distinct(np.concatenate([key_lost, key_gained]))
    source, target = (_looked_up(keys, of, pairs % members) for of, pairs in ((key_lost, lost), (key_gained, gained)))
    return Moves((keys // members).astype(np.int32), source, target)


def final_rows(assignment: Assignment) -> Ragged:
    """Ragged member → partitions, with what it gets only in the follow-up rebalance."""
    if assignment.withheld is None or not len(assignment.withheld.values):
        return assignment.rows
    parts = (assignment.rows, assignment.withheld)
    members = np.concatenate([part.row_of_each_value() for part in parts])
    return Ragged.of_pairs(members, np.concatenate([part.values for part in parts]), len(assignment.rows))


def _pairs(rows: Ragged, members: int) -> Int64s:
    """The pairs of an assignment, as partition × members + member, ascending, each once."""
    return distinct(rows.values.astype(np.int64) * members + rows.row_of_each_value())


def _ranks(partitions: Int64s) -> Int64s:
    """For each element of an ascending array, how many of the same stand before it."""
    starts = np.flatnonzero(np.diff(partitions, prepend=-1))
    return np.arange(len(partitions)) - np.repeat(starts, np.diff(np.append(starts, len(partitions))))


def _looked_up(keys: Int64s, known: Int64s, members: Int64s) -> Int32s:
    values = np.full(len(keys), NONE, np.int32)
    values[np.searchsorted(keys, known)] = members
    return values


def follow_up(group: Group, outcome: Rebalance, assignor: Assignor) -> tuple[Group, Rebalance]:
    """The group after a rebalance that leaves partitions to a second one, and that one.

    Every member joins again with what it was assigned, in the next generation.
    """
    generation = min(int(group.generations.max(initial=NONE)) + 1, np.iinfo(np.int32).max)
    after = replace(group, owned=outcome.assignment.rows, generations=np.full(len(group), max(generation, 1), np.int32))
    return after, rebalance(after, assignor)


@dataclass(frozen=True)
class Differences:
    """Where an assignment is not the one expected, by partition, ascending.

    partitions : int32[n]
    expected, actual : Ragged n → members
    """

    partitions: Int32s
    expected: Ragged
    actual: Ragged

    def __len__(self) -> int:
        return len(self.partitions)

    def without(self, partitions: Int32s) -> "Differences":
        """Those of all other partitions."""
        rest = np.flatnonzero(~np.isin(self.partitions, partitions)).astype(np.int32)
        return Differences(self.partitions[rest], taken(self.expected, rest), taken(self.actual, rest))


def differences(expected: Ragged, rows: Ragged, partitions_count: int) -> Differences:
    """The partitions whose members differ. expected, rows : Ragged member → partitions, each below partitions_count"""
    by_partition = [transposed(each, partitions_count) for each in (expected, rows)]
    partitions = np.flatnonzero(changed(*by_partition)).astype(np.int32)
    return Differences(partitions, *(taken(each, partitions) for each in by_partition))
