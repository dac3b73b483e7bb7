"""The cheapest of the most even assignments: the fewest moves, then the most partitions read on the reader's rack.

*Network*: the levels (``levels``) bound what each member gets; what remains is a minimum-cost flow.

    source → kinds of partitions → ───────────────────── kept ─────────────────────→ claimants → sink
                      └─ moved → kinds of topics [→ their racks] → kinds of members ──↗  └→ the rest → sink

A kind holds what nothing tells apart: partitions of topics with the same subscribers, claimed by the same members, with replicas
on the same racks; members with the same subscription, on the same rack, that may keep nothing. So there are few nodes, and the
flow says only how many partitions go which way; they are then dealt to the edges in turns.

*Prices*: reading from another rack costs 1, a move more than all racks along a cycle of the network, one partition more than the
level less 1 more than all moves along it. A flow is cheapest if no cycle is cheaper, so the sum decides as the three one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from service.core.kernels import kernel
from service.core.kinds import claims_of, one_of_each, rows_below, split_kinds
from service.core.model import NONE, Ragged
from service.core.optimize.flows import cost, dual_bound, fill, network
from service.core.ragged import grouped_arrays, taken, transposed

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from service.core.assignors.balanced.levels import Levels
    from service.core.model import Bools, Group, Int32s, Int64s

ELSEWHERE: Final = 1
"""The price of reading from another rack."""


@dataclass(frozen=True)
class Kinds:
    """What nothing tells apart; kinds are numbered by the first of each. Members are in the order of their member_id.

    topics : int32[topics]         the kind of each topic, NONE without subscribers
    members : int32[members]       the kind of each member
    counts : int64[kinds of members]
    racks : int32[kinds of members], NONE without one, or where racks do not matter
    sizes : int64[kinds of topics], their partitions
    subscribers : Ragged kind of topic → kinds of members, ascending
    subscribed : Ragged member → topics that exist
    """

    topics: Int32s
    members: Int32s
    counts: Int64s
    racks: Int32s
    sizes: Int64s
    subscribers: Ragged
    subscribed: Ragged

    @classmethod
    def of(cls, group: Group, order: Int32s, *, racks_matter: bool) -> Kinds:
        """The kinds of a group's topics and members. order : int32[members], the members by member_id"""
        topics = len(group.topics)
        subscribed = rows_below(taken(group.subscriptions, order), topics)
        subscribers = transposed(subscribed, topics)
        offered = np.where(subscribers.lengths() > 0, 0, NONE).astype(np.int32)
        of_topics = in_order(split_kinds(offered, subscribed.offsets, subscribed.values))
        racks = group.racks[order] if racks_matter else np.full(len(order), NONE, np.int32)
        by_rack = np.unique(racks, return_inverse=True)[1].astype(np.int32)
        of_members = in_order(split_kinds(by_rack, subscribers.offsets, subscribers.values))
        samples = np.unique(of_members, return_index=True)[1]
        stands_for = np.zeros(len(order), np.bool_)
        stands_for[samples] = True
        rows = taken(subscribers, one_of_each(of_topics))
        kept = stands_for[rows.values]
        subscribing = Ragged(np.append(0, np.cumsum(kept))[rows.offsets].astype(np.int32), of_members[rows.values[kept]])
        known = of_topics != NONE
        sizes = np.bincount(of_topics[known], group.topics.partitions_counts()[known], len(subscribing))
        counts = np.bincount(of_members).astype(np.int64)
        return cls(of_topics, of_members, counts, racks[samples], sizes.astype(np.int64), subscribing, subscribed)


def in_order(kinds: Int32s) -> Int32s:
    """The same kinds, numbered by the first of each; NONE stays."""
    known = kinds != NONE
    _, firsts, codes = np.unique(kinds[known], return_index=True, return_inverse=True)
    ranks = np.empty(len(firsts), np.int32)
    ranks[np.argsort(firsts)] = np.arange(len(firsts), dtype=np.int32)
    renumbered = np.full(len(kinds), NONE, np.int32)
    renumbered[known] = ranks[codes]
    return renumbered


@dataclass(frozen=True)
class Claimed:
    """Kinds of partitions, numbered by the first of each.

    kinds : int32[partitions]     the kind of each, NONE where no member subscribes to the topic
    pools : int32[kinds]          the kind of each without regard to claims: what may be read where
    topics : int32[pools]         the kind of the topic of each pool
    racks : Ragged pool → racks of its replicas on which a member is
    claimed : bool[kinds]         does any member claim them?
    claimants : Ragged kind → members that claim them and may keep them, ascending
    """

    kinds: Int32s
    pools: Int32s
    topics: Int32s
    racks: Ragged
    claimed: Bools
    claimants: Ragged

    @classmethod
    def of(cls, group: Group, order: Int32s, kinds: Kinds, bounds: Levels, *, racks_matter: bool) -> Claimed:
        """The kinds of a group's partitions."""
        count = group.topics.partitions_count
        topic_of = np.repeat(np.arange(len(group.topics), dtype=np.int32), group.topics.partitions_counts())
        pools = kinds.topics[topic_of]
        racks = Ragged(np.zeros(count + 1, np.int32), np.empty(0, np.int32))
        if racks_matter and group.topics.racks is not None:
            racks = _only(group.topics.racks, np.isin(group.topics.racks.values, kinds.racks))
            by_rack = transposed(racks, len(group.rack_ids))
            pools = in_order(split_kinds(pools, by_rack.offsets, by_rack.values))
        owned = taken(group.owned, order)
        rows = claims_of(
            owned.offsets, owned.values, topic_of, kinds.subscribed.offsets, kinds.subscribed.values, len(group.topics)
        )
        claims, claimed = Ragged(*rows[:2]), rows[2]
        of_claim = claims.row_of_each_value()
        claims = _only(claims, bounds.topics[kinds.topics[topic_of[claims.values]]] == bounds.members[kinds.members[of_claim]])
        at_first = np.where(pools == NONE, NONE, 2 * pools + claimed).astype(np.int32)
        each = in_order(split_kinds(at_first, claims.offsets, claims.values))
        samples = _firsts(each)
        of_pools = _firsts(pools)
        claimants = taken(transposed(claims, count), samples)
        return cls(each, pools[samples], kinds.topics[topic_of[of_pools]], taken(racks, of_pools), claimed[samples], claimants)


def _only(rows: Ragged, kept: Bools) -> Ragged:
    """The rows with some of their values. kept : bool[values]"""
    return Ragged(np.append(0, np.cumsum(kept))[rows.offsets].astype(np.int32), rows.values[kept])


def _firsts(kinds: Int32s) -> Int32s:
    """int32[kinds], the first of each kind; NONE is none."""
    known = np.flatnonzero(kinds != NONE)
    firsts: Int32s = known[np.unique(kinds[known], return_index=True)[1]].astype(np.int32)
    return firsts


@dataclass(frozen=True)
class Edges:
    """Edges of one sort: ``count`` from ``tails`` to ``heads``, scalars or arrays."""

    tails: npt.NDArray[Any] | int
    heads: npt.NDArray[Any] | int
    capacities: npt.NDArray[Any] | int
    prices: npt.NDArray[Any] | int

    def columns(self) -> tuple[Int64s, ...]:
        """int64[edges] each."""
        columns = np.broadcast_arrays(self.tails, self.heads, self.capacities, self.prices)
        return tuple(np.atleast_1d(column).astype(np.int64) for column in columns)


@dataclass(frozen=True)
class Shipped:
    """The cheapest assignment.

    holders : int32[partitions]   the member of each, by its place in ``order``, or NONE
    moves, elsewhere : claimed partitions that go to none of their claimants; partitions read from another rack
    proven : do the potentials show that nothing is cheaper?
    """

    holders: Int32s
    moves: int
    elsewhere: int
    proven: bool


def ship(
    group: Group, order: Int32s, kinds: Kinds, bounds: Levels, check_time: Callable[[], None], *, racks_matter: bool
) -> Shipped:
    """The cheapest assignment within the levels."""
    some = Claimed.of(group, order, kinds, bounds, racks_matter=racks_matter)
    sizes = np.bincount(some.kinds[some.kinds != NONE], minlength=len(some.pools)).astype(np.int64)
    total = int(sizes.sum())
    pools, topic_kinds, member_kinds = len(some.topics), len(kinds.sizes), len(kinds.counts)
    keeping = np.unique(some.claimants.values)  # the members that may keep something
    rest = kinds.counts - np.bincount(kinds.members[keeping], minlength=member_kinds)

    # The kinds of topics × racks that have a subscriber there, and the kinds of members that read from them.
    of_topics, of_members = kinds.subscribers.row_of_each_value(), kinds.subscribers.values
    open_ = bounds.topics[of_topics] == bounds.members[of_members]
    of_topics, of_members = of_topics[open_], of_members[open_]
    on_rack = kinds.racks[of_members] != NONE
    width = len(group.rack_ids) + 1
    read_there = of_topics[on_rack].astype(np.int64) * width + kinds.racks[of_members[on_rack]]
    stops, of_stops = np.unique(read_there, return_inverse=True)
    wished = some.topics[some.racks.row_of_each_value()].astype(np.int64) * width + some.racks.values
    stop_of = np.searchsorted(stops, wished)
    exists = stops[np.minimum(stop_of, len(stops) - 1)] == wished if len(stops) else np.zeros(len(wished), np.bool_)

    first_pool = 1 + len(sizes)
    first_stop = first_pool + pools
    first_topic = first_stop + len(stops)
    first_member_kind = first_topic + topic_kinds
    first_keeper = first_member_kind + member_kinds
    first_rest = first_keeper + len(keeping)
    sink = first_rest + member_kinds

    turns = 2 * (min(len(group.rack_ids), len(stops)) + 2) * (member_kinds + len(keeping) + 1)  # arcs of a price on a cycle
    move = ELSEWHERE * turns + 1
    more = (move + 1) * turns + 1
    elsewhere = ELSEWHERE if racks_matter else 0
    each_kind, each_pool = 1 + np.arange(len(sizes)), first_pool + np.arange(pools)
    claimed_kinds = some.claimants.row_of_each_value()
    rack_of_claimant = kinds.racks[kinds.members[some.claimants.values]]
    reads_near = _among(some.pools[claimed_kinds], rack_of_claimant, some.racks, width)
    level_of_keeper = bounds.members[kinds.members[keeping]]
    keepers, rests = first_keeper + np.arange(len(keeping)), first_rest + np.arange(member_kinds)
    sorts = [
        Edges(0, each_kind, sizes, 0),
        Edges(
            1 + claimed_kinds,
            first_keeper + np.searchsorted(keeping, some.claimants.values),
            sizes[claimed_kinds],
            np.where(reads_near, 0, elsewhere),
        ),
        Edges(each_kind, first_pool + some.pools, sizes, np.where(some.claimed, move, 0)),
        Edges(first_pool + some.racks.row_of_each_value()[exists], first_stop + stop_of[exists], total, 0),
        Edges(each_pool, first_topic + some.topics, total, elsewhere),
        Edges(first_stop + of_stops, first_member_kind + of_members[on_rack], total, 0),
        Edges(first_topic + of_topics, first_member_kind + of_members, total, 0),
        Edges(first_member_kind + kinds.members[keeping], keepers, total, 0),
        Edges(first_member_kind + np.arange(member_kinds), rests, total, 0),
        Edges(keepers, sink, np.maximum(level_of_keeper - 1, 0), 0),
        Edges(keepers, sink, level_of_keeper > 0, more),
        Edges(rests, sink, rest * np.maximum(bounds.members - 1, 0), 0),
        Edges(rests, sink, rest * (bounds.members > 0), more),
    ]
    columns = zip(*(each.columns() for each in sorts), strict=True)
    tails, heads, capacities, prices = (np.concatenate(column) for column in columns)
    tails, heads = tails.astype(np.int32), heads.astype(np.int32)
    through = network(sink + 1, tails, heads, capacities, prices)
    sent = fill(through, check_time)
    flow = through.flow()
    stages = np.cumsum([0, *(len(each.columns()[0]) for each in sorts)])
    inner = slice(stages[1], stages[9])
    starts = np.where(some.kinds == NONE, NONE, 1 + some.kinds).astype(np.int32)
    nodes = _dealt(starts, tails[inner], heads[inner], flow[inner].copy(), first_keeper)
    holders = _members(nodes, keeping, kinds.members, first_keeper, first_rest)
    moves = int(flow[stages[2] : stages[3]][some.claimed].sum())
    far = int(flow[stages[1] : stages[2]][~reads_near].sum() + flow[stages[4] : stages[5]].sum())
    proven = sent == total and cost(through, prices) == dual_bound(through, capacities, prices, total)
    return Shipped(holders, moves, far, proven)


def _among(pools: Int32s, racks: Int32s, racks_of: Ragged, width: int) -> Bools:
    """bool[pools]: does each pool have the rack beside it?"""
    there = racks_of.row_of_each_value().astype(np.int64) * width + racks_of.values
    found: Bools = np.isin(pools.astype(np.int64) * width + racks, there) & (racks != NONE)
    return found


@kernel
def _dealt(starts: Int32s, tails: Int32s, heads: Int32s, flow: Int64s, first_end: int) -> Int32s:
    """The node in which each partition ends that goes along a flow; partitions in turn take the edges of a node in turn.

    starts : int32[partitions], its first node, or NONE
    tails, heads : int32[edges]; flow : int64[edges], what is to go along each; counted down
    first_end : from here on nodes are ends
    """
    of_node, edges = grouped_arrays(tails, first_end)
    following = np.full(len(tails), NONE, np.int32)  # the edges of a node in a circle
    current = np.full(first_end, NONE, np.int32)  # the edge that was taken last
    for node in range(first_end):
        opening = NONE
        for i in range(of_node[node], of_node[node + 1]):
            edge = edges[i]
            if flow[edge] > 0:
                if opening == NONE:
                    opening = edge
                else:
                    following[current[node]] = edge
                current[node] = edge
        if opening != NONE:
            following[current[node]] = opening
    nodes = starts.copy()
    for partition in range(len(nodes)):
        node = nodes[partition]
        while NONE < node < first_end:
            before = current[node]
            edge = following[before]
            flow[edge] -= 1
            if flow[edge] == 0:
                following[before] = following[edge]
            else:
                current[node] = edge
            node = heads[edge]
        nodes[partition] = node
    return nodes


@kernel
def _members(nodes: Int32s, keeping: Int32s, kind_of: Int32s, first_keeper: int, first_rest: int) -> Int32s:
    """The member of each partition: of the rest of a kind, each in turn.

    nodes : int32[partitions], keepers from ``first_keeper``, the rests of kinds of members from ``first_rest``, or NONE
    keeping : int32[...], the members that are keepers, ascending
    """
    keeps = np.zeros(len(kind_of), np.bool_)
    for member in keeping:
        keeps[member] = True
    labels = np.where(keeps, np.int32(NONE), kind_of).astype(np.int32)
    kinds = 0
    for kind in kind_of:
        kinds = max(kinds, kind + 1)
    of_kind, members = grouped_arrays(labels, kinds)
    at = of_kind[:-1].copy()
    holders = np.empty(len(nodes), np.int32)
    for partition in range(len(nodes)):
        node = nodes[partition]
        if node == NONE:
            holders[partition] = NONE
        elif node < first_rest:
            holders[partition] = keeping[node - first_keeper]
        else:
            kind = node - first_rest
            holders[partition] = members[at[kind]]
            at[kind] += 1
            if at[kind] == of_kind[kind + 1]:
                at[kind] = of_kind[kind]
    return holders
