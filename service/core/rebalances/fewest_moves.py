"""The least that an assignment must move: what a user pays for Kafka's heuristics is the difference to it.

*Question*: of all assignments that give every partition to a subscriber, and whose loads are no less even than these, how many
partitions must at least go to a member that did not claim them, though somebody did? *No less even* is majorization: for every k,
the k most loaded members have together no more than the k most loaded have here.

*Algorithm*: where all members subscribe alike and no partition is claimed twice, a member can keep what it claims as far as its
load allows, and the most that all keep is ``min over k of (L[k] + all that is claimed - C[k])``: L[k] is what the k largest loads
sum up to, C[k] what the k largest claims do (the rank formula of a polymatroid). Otherwise it is a flow of least cost:

    source → partitions claimed by the same members → ─────────────────── cost 0 ──────────────────→ member → steps → sink
                                    └─ cost 1 if claimed → topics alike → members subscribed alike ───↗

Partitions, topics and members that nothing tells apart are one node, which keeps the network small. The *steps* keep the loads
even: with loads sorted l[1] ≥ l[2] ≥ …, step j takes ``j × (l[j] - l[j + 1])`` in all, ``l[j] - l[j + 1]`` from each member.

Example: A, B subscribe to t and u, C to u; t and u have 2 partitions, all of which A has. B and C get one each, A keeps two: the
loads are 2, 1, 1, and 2 partitions is the least that must move.

Source: Hardy, Littlewood and Pólya on majorization; Ford and Fulkerson's primal-dual method, with Dinic's blocking flows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numba import njit

from service.core.measures import occurrences
from service.core.model import NONE, Ragged
from service.core.optimize.min_cost_flow import least_cost
from service.core.ragged import transposed

if TYPE_CHECKING:
    from service.core.model import Bools, Group, Int32s, Int64s

LARGEST_NETWORK: Final = 500_000
"""Edges. Larger ones, which thousands of members with as many different subscriptions make, would hold up the answer."""


def fewest_possible_moves(group: Group, loads: Int32s) -> int | None:
    """The least number of partitions that another member must take over, whichever assignor were to do it.

    loads : int32[members]   what each member gets; an assignment counts as as balanced as this one if, for every k, its k most
        loaded members have together no more than the k most loaded have here

    None where the loads are not those of an assignment that gives each partition to one subscriber (share groups with several
    members to a partition), and where the network is larger than LARGEST_NETWORK.
    """
    topics = len(group.topics)
    subscribed = _rows_below(group.subscriptions, topics)
    readers_counts = occurrences(subscribed.values, topics)
    counts = group.topics.partitions_counts()
    offered = readers_counts > 0
    if loads.sum() != counts[offered].sum():
        return None
    alike = bool((~offered | (readers_counts == len(group))).all())
    if alike:
        claimed_by_each, once = _claimed_once(group.owned.offsets, group.owned.values, np.repeat(offered, counts))
        if once:
            return _least_for_loads(claimed_by_each, loads)
    topic_of = np.repeat(np.arange(topics, dtype=np.int32), counts)
    rows = _claims(group.owned.offsets, group.owned.values, topic_of, subscribed.offsets, subscribed.values, topics)
    claims, claimed = Ragged(*rows[:2]), rows[2]
    if alike and len(claims.values) == np.count_nonzero(claimed & offered[topic_of]):
        return _least_for_loads(claims.lengths(), loads)
    kinds = _Kinds.of(subscribed, transposed(subscribed, topics), counts, topic_of, claims, claimed)
    return _cheapest_flow(kinds, loads)


def _least_for_loads(claimed: Int32s, loads: Int32s) -> int:
    """The least where all may have all, and none is claimed by two. claimed : int32[members], how many each member claims"""
    more = np.cumsum(np.sort(claimed)[::-1]) - np.cumsum(np.sort(loads)[::-1])
    return max(0, int(more.max(initial=0)))


@dataclass(frozen=True)
class _Kinds:
    """What a network has nodes for: partitions, topics and members, those that nothing tells apart as one kind.

    member_kinds : int32[members]   the kind of each member
    readers : Ragged kind of topic → kinds of members that subscribe to it
    sizes : int64[kinds of partitions]   how many there are of each
    topics : int32[kinds of partitions]  the kind of their topic
    claimed : bool[kinds of partitions]  does anybody claim them?
    claimants : Ragged kind of partitions → the subscribers that claim them
    """

    member_kinds: Int32s
    readers: Ragged
    sizes: Int64s
    topics: Int32s
    claimed: Bools
    claimants: Ragged

    @classmethod
    def of(cls, subscribed: Ragged, readers: Ragged, counts: Int32s, topic_of: Int32s, claims: Ragged, claimed: Bools) -> _Kinds:
        """Tell them apart."""
        nothing = np.where((readers.lengths() > 0) & (counts > 0), 0, NONE).astype(np.int32)
        topic_kinds = told_apart(nothing, subscribed.offsets, subscribed.values)
        member_kinds = told_apart(np.zeros(len(subscribed), np.int32), readers.offsets, readers.values)
        some_member = _one_of_each(member_kinds)
        some_topic = _one_of_each(topic_kinds)
        stands_for = np.zeros(len(subscribed), np.bool_)
        stands_for[some_member] = True
        kinds_reading = [member_kinds[row[stands_for[row]]] for row in map(readers.row, some_topic)]

        of_topic = topic_kinds[topic_of]
        at_first = np.where(of_topic == NONE, NONE, 2 * of_topic + claimed).astype(np.int32)
        kinds = told_apart(at_first, claims.offsets, claims.values)
        some_partition = _one_of_each(kinds)
        sizes = np.bincount(kinds[kinds != NONE])
        claimants = transposed(claims, len(topic_of))
        rows = [claimants.row(partition) for partition in some_partition]
        return cls(
            member_kinds,
            _ragged(kinds_reading),
            sizes[sizes > 0],
            of_topic[some_partition],
            claimed[some_partition],
            _ragged(rows),
        )


def _cheapest_flow(kinds: _Kinds, loads: Int32s) -> int | None:
    """The cost of the flow that the module describes, None if the network is too large or cannot take all partitions."""
    loads = np.sort(loads)[::-1].astype(np.int64)
    drops = loads - np.append(loads[1:], 0)
    steps = np.flatnonzero(drops)
    sizes, claimants, readers = kinds.sizes, kinds.claimants, kinds.readers
    members = len(loads)
    if members * (1 + len(steps)) + len(readers.values) + len(claimants.values) + 2 * len(sizes) > LARGEST_NETWORK:
        return None

    source, first_partitions = 0, 1
    first_topic = first_partitions + len(sizes)
    first_member_kind = first_topic + len(readers)
    first_member = first_member_kind + int(kinds.member_kinds.max()) + 1
    first_step = first_member + members
    sink = first_step + len(steps)
    each_kind, each_member = first_partitions + np.arange(len(sizes)), first_member + np.arange(members)
    each_step = first_step + np.arange(len(steps))
    total = loads.sum()
    edges: list[tuple[Any, Any, Any, Any]] = [  # from, to, at most, at a cost
        (source, each_kind, sizes, 0),
        (
            first_partitions + claimants.row_of_each_value(),
            first_member + claimants.values,
            np.repeat(sizes, claimants.lengths()),
            0,
        ),
        (each_kind, first_topic + kinds.topics, sizes, kinds.claimed),
        (first_topic + readers.row_of_each_value(), first_member_kind + readers.values, total, 0),
        (first_member_kind + kinds.member_kinds, each_member, total, 0),
        (np.repeat(each_member, len(steps)), np.tile(each_step, members), np.tile(drops[steps], members), 0),
        (each_step, sink, (steps + 1) * drops[steps], 0),
    ]
    columns = zip(*(np.broadcast_arrays(*edge) for edge in edges), strict=True)
    tails, heads, capacities, costs = (np.concatenate(column) for column in columns)
    flow, cost = least_cost(
        sink + 1, tails.astype(np.int32), heads.astype(np.int32), capacities.astype(np.int64), costs.astype(np.int32)
    )
    return int(cost) if flow == total else None


def _rows_below(rows: Ragged, limit: int) -> Ragged:
    """The rows without the values from ``limit`` on."""
    below = rows.values < limit
    if below.all():
        return rows
    return Ragged(np.append(0, np.cumsum(below))[rows.offsets].astype(np.int32), rows.values[below])


def _ragged(rows: list[Int32s]) -> Ragged:
    """Rows, each an array, as one."""
    offsets = np.append(0, np.cumsum([len(row) for row in rows])).astype(np.int32)
    return Ragged(offsets, np.concatenate([np.empty(0, np.int32), *rows]))


def _one_of_each(kinds: Int32s) -> Int32s:
    """int32[...], an index of each kind that there is, kinds ascending; those of kind NONE left out."""
    one = np.full(int(kinds.max(initial=NONE)) + 1, NONE, np.int32)
    some = np.flatnonzero(kinds != NONE).astype(np.int32)
    one[kinds[some]] = some
    kept: Int32s = one[one != NONE]
    return kept


@njit(nogil=True, cache=True)
def _claimed_once(owned_of: Int32s, owned: Int32s, counting: Bools) -> tuple[Int32s, bool]:
    """How many partitions that count each member claims; False if any is claimed twice, and then the rest is not looked at.

    counting : bool[partitions], those that exist
    """
    claims = np.zeros(len(owned_of) - 1, np.int32)
    free = counting.copy()
    for member in range(len(claims)):
        for i in range(owned_of[member], owned_of[member + 1]):
            partition = owned[i]
            if partition < len(counting) and counting[partition]:
                if not free[partition]:
                    return claims, False
                free[partition] = False
                claims[member] += 1
    return claims, True


@njit(nogil=True, cache=True)
def _claims(
    owned_of: Int32s, owned: Int32s, topic_of: Int32s, subscribed_of: Int32s, subscribed: Int32s, topics: int
) -> tuple[Int32s, Int32s, Bools]:
    """What each member claims of the topics that it subscribes to, none twice; and which partitions are claimed by anybody.

    owned_of, owned : member → partitions it claims; those from ``len(topic_of)`` on do not exist
    topic_of : int32[partitions]
    subscribed_of, subscribed : member → topics
    Returns int32[members + 1] offsets, int32[...] partitions, and bool[partitions].
    """
    members = len(owned_of) - 1
    claimed = np.zeros(len(topic_of), np.bool_)
    last_claimant = np.full(len(topic_of), NONE, np.int32)
    last_reader = np.full(topics, NONE, np.int32)
    offsets = np.zeros(members + 1, np.int32)
    claims = np.empty(len(owned), np.int32)
    end = 0
    for member in range(members):
        for i in range(subscribed_of[member], subscribed_of[member + 1]):
            last_reader[subscribed[i]] = member
        for i in range(owned_of[member], owned_of[member + 1]):
            partition = owned[i]
            if partition < len(topic_of):
                claimed[partition] = True
                if last_reader[topic_of[partition]] == member and last_claimant[partition] != member:
                    last_claimant[partition] = member
                    claims[end] = partition
                    end += 1
        offsets[member + 1] = end
    return offsets, claims[:end], claimed


@njit(nogil=True, cache=True)
def told_apart(kinds: Int32s, offsets: Int32s, values: Int32s) -> Int32s:  # noqa: C901 (a kernel)
    """Split kinds until all values of one kind stand in the same rows (partition refinement, O(values)).

    kinds : int32[...]   the kind of each value to begin with, or NONE for what does not count
    offsets, values : row → values, none twice in a row

    Returns int32[...], the kind of each value; if ``kinds`` has no gaps, neither has this.
    """
    kinds = kinds.copy()
    count = 0
    for kind in kinds:
        count = max(count, kind + 1)
    sizes = np.zeros(count + len(kinds), np.int32)
    for kind in kinds:
        if kind != NONE:
            sizes[kind] += 1
    here = np.zeros(len(sizes), np.int32)  # how many of each kind are in the row
    becomes = np.zeros(len(sizes), np.int32)
    met = np.empty(len(sizes), np.int32)
    for row in range(len(offsets) - 1):
        kinds_met = 0
        for i in range(offsets[row], offsets[row + 1]):
            kind = kinds[values[i]]
            if kind != NONE:
                if here[kind] == 0:
                    met[kinds_met] = kind
                    kinds_met += 1
                here[kind] += 1
        for i in range(kinds_met):
            kind = met[i]
            becomes[kind] = kind
            if here[kind] < sizes[kind]:
                becomes[kind] = count
                sizes[count] = here[kind]
                sizes[kind] -= here[kind]
                count += 1
            here[kind] = 0
        for i in range(offsets[row], offsets[row + 1]):
            kind = kinds[values[i]]
            if kind != NONE:
                kinds[values[i]] = becomes[kind]
    return kinds
