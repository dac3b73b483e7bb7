"""The cheapest of the most even assignments: the fewest moves, then the most partitions read on the reader's rack.

*Network*: ``Rooms`` bound what each member gets; what remains is a minimum-cost flow.

    source → kinds of partitions → ───────────────────── kept ─────────────────────→ claimants → sink
                      └─ moved → kinds of topics [→ their racks] → kinds of members ──↗  └→ the rest → sink

A kind holds what nothing tells apart: partitions of topics with the same subscribers, claimed by the same members, with replicas
on the same racks; members with the same subscription, on the same rack, that may keep nothing. So there are few nodes, and the
flow says only how many partitions go which way; they are then dealt to the edges in turns.

*Prices*: reading from another rack costs 1, a move more than all racks along a cycle of the network, one partition more than a
member's room at the price before more than all moves along it. A flow is cheapest if no cycle is cheaper, so the sum decides as
the three one by one. Where moves are limited (``limited``), a move costs as much as several of the latter.
"""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Final, NamedTuple

import numpy as np

from service.core.budget import check_time
from service.core.kernels import kernel
from service.core.model import NONE, Bools, Group, Int32s, Int64s, Ragged
from service.core.ragged import grouped, grouped_arrays, rows_and_places
from service.planner.flows import Edges, augment, cost, dual_bound, fill, network
from service.planner.kinds import Claimed, Kinds

# How much each member must read in the most even assignment.
#
# *Levels*: subscriptions split the members into classes. In every most even assignment (the least majorised: for every k, the k
# most loaded members together have as little as can be) a member of level l has l or l - 1 partitions, and the partitions of a
# topic go to the subscribers of the lowest level only. Conversely, every assignment that obeys this is a most even one. So the
# levels turn "as even as can be" into bounds, and what is left to decide is a matter of cost.
#
# *Algorithm*: if no member may have more than c, the members that the partitions left over could reach, perhaps by way of
# others, are those of levels above c (the source's side of a least cut). So a largest flow splits a class in two; each round
# splits all classes at once, at their averages, and every third time in the middle, which bounds the rounds.
#
# Example: A and B subscribe to t, with 5 partitions, B and C to u, with 1. A and B share t: their level is 3. C gets u, which
# B, who has more, leaves to it: the level of C and of u is 1.
#
# Source: Frank and Murota, "Decreasing minimization on M-convex sets" (2022), on the canonical partition.


class Levels(NamedTuple):
    """The levels of kinds of topics and of members.

    topics : int64[kinds of topics]     that of the subscribers that get its partitions
    members : int64[kinds of members]   0 for a kind without topics
    """

    topics: Int64s
    members: Int64s


def levels(sizes: Int64s, counts: Int64s, subscribers: Ragged) -> Levels:
    """The levels.

    sizes : int64[kinds of topics]     partitions of each kind, at least 1
    counts : int64[kinds of members]   members of each kind, at least 1
    subscribers : Ragged kind of topic → kinds of members, at least one
    """
    topics, members = len(sizes), len(counts)
    of_topics, of_members = subscribers.row_of_each_value(), subscribers.values
    tails = np.concatenate([np.zeros(topics), 1 + of_topics, 1 + topics + np.arange(members)]).astype(np.int32)
    heads = np.concatenate([1 + np.arange(topics), 1 + topics + of_members, np.full(members, 1 + topics + members)])
    open_edges = np.full(len(of_topics), sizes.sum())
    # A level lies above `low` and is at most `high`; a class is what has the same two.
    low = np.zeros(topics + members, np.int64)
    high = np.full(topics + members, sizes.sum())
    high[topics:][np.bincount(of_members, minlength=members) == 0] = 0
    nothing = np.zeros(len(tails), np.int64)
    through = network(topics + members + 2, tails, heads.astype(np.int32), nothing, nothing)
    rounds = 0
    while (undecided := high - low > 1).any():
        most = _most(sizes, counts, low, high, bisect=rounds % 3 == 2)
        same = low[of_topics] == low[topics + of_members]
        through.left[:] = 0
        from_source = np.where(undecided[:topics], sizes, 0)
        through.left[through.place] = np.concatenate([from_source, np.where(same, open_edges, 0), most[topics:] * counts])
        sent = 1
        while sent:
            check_time()
            sent, steps = augment(through)
        above = steps[1:-1] >= 0
        low[above & undecided] = most[above & undecided]
        high[~above & undecided] = most[~above & undecided]
        rounds += 1
    return Levels(high[:topics], high[topics:])


def _most(sizes: Int64s, counts: Int64s, low: Int64s, high: Int64s, *, bisect: bool) -> Int64s:
    """int64[kinds of topics, then of members], the most that a member of its class may have in this round."""
    undecided = high - low > 1
    if bisect:
        return np.where(undecided, (low + high) // 2, high)
    classes, of_each = np.unique(low, return_inverse=True)
    topics = len(sizes)
    partitions = np.bincount(of_each[:topics], sizes, len(classes)).astype(np.int64)
    members = np.bincount(of_each[topics:], np.where(high[topics:] > 0, counts, 0), len(classes)).astype(np.int64)
    average = -(-partitions // np.maximum(members, 1))[of_each]
    return np.where(undecided, np.minimum(average, high - 1), high)


ELSEWHERE: Final = 1
"""The price of reading from another rack."""


@dataclass(frozen=True)
class Rooms:
    """How many partitions members may have, and what a move costs.

    sizes : int64[steps, kinds of members], how many more a member may have at each step
    prices : int64[steps], of each of these, as a multiple of what all moves along a cycle cost
    patience : what a move costs besides, as such a multiple
    eager : the number of claimed partitions that prefer to move where it makes no difference
    tie : what a move costs where that makes no difference to the rest, in partitions read on another rack, and 1 less if it is
        eager; None: more than all of these, and that much less if it is eager
    """

    sizes: Int64s
    prices: Int64s
    patience: int = 0
    eager: int = 0
    tie: int | None = None

    @classmethod
    def of_levels(cls, bounds: Levels) -> "Rooms":
        """A member of level l has l partitions or l - 1."""
        return cls(np.stack([np.maximum(bounds.members - 1, 0), bounds.members > 0]).astype(np.int64), np.array([0, 1]))


@dataclass(frozen=True)
class Shipped:
    """The cheapest assignment.

    holders : int32[partitions]   the member of each, by its place in ``order``, or NONE
    moves, elsewhere : claimed partitions that go to none of their claimants; partitions read from another rack
    proven : do the potentials show that nothing is cheaper?
    fits : do all partitions find room?
    """

    holders: Int32s
    moves: int
    elsewhere: int
    proven: bool
    fits: bool


@dataclass(frozen=True)
class Routes:
    """The ways that partitions can go, up to the members.

    kinds : of topics and members; some : of partitions
    keeping : int64[...], the members that may keep something, ascending
    subscribers : int64[2, pairs], kinds of topics and of members that may read them
    stops : int64[stops], kinds of topics × racks that have a subscriber there; of_stops : int64[...], that of each pair on a rack
    reads_near : bool[claims that may be kept], is the claimant on a rack of the partition?
    width : stops per kind of topic
    """

    kinds: Kinds
    some: Claimed
    keeping: Int64s
    subscribers: Int64s
    stops: Int64s
    of_stops: Int64s
    reads_near: Bools
    width: int
    racks_matter: bool

    @classmethod
    def of(cls, group: Group, order: Int32s, kinds: Kinds, bounds: Levels | None, *, racks_matter: bool) -> "Routes":
        """The ways of a group's partitions. bounds : only to members of a topic's level; None: to any that subscribe"""
        some = Claimed.of(group, order, kinds, bounds, racks_matter=racks_matter)
        pairs = np.stack([kinds.subscribers.row_of_each_value(), kinds.subscribers.values]).astype(np.int64)
        if bounds is not None:
            pairs = pairs[:, bounds.topics[pairs[0]] == bounds.members[pairs[1]]]
        width = len(group.rack_ids) + 1
        racks = kinds.racks[pairs[1]]
        stops, of_stops = np.unique(pairs[0, racks != NONE] * width + racks[racks != NONE], return_inverse=True)
        claimed_kinds = some.claimants.row_of_each_value()
        rack_of_claimant = kinds.racks[kinds.members[some.claimants.values]]
        there = some.racks.row_of_each_value().astype(np.int64) * width + some.racks.values
        reads_near = np.isin(some.pools[claimed_kinds].astype(np.int64) * width + rack_of_claimant, there)
        reads_near &= rack_of_claimant != NONE
        keeping = np.unique(some.claimants.values).astype(np.int64)
        return cls(kinds, some, keeping, pairs, stops, of_stops, reads_near, width, racks_matter)

    def turns(self) -> int:
        """The most arcs of one price on a cycle."""
        return 2 * (min(self.width, len(self.stops) + 1) + 1) * (len(self.kinds.counts) + len(self.keeping) + 1)


class _Nodes(NamedTuple):
    """The first node of each sort, after the source and the kinds of partitions; one for each of its sort follows."""

    pool: int
    stop: int
    topic: int
    member_kind: int
    keeper: int
    rest: int
    sink: int

    @classmethod
    def of(cls, routes: Routes) -> "_Nodes":
        """The nodes of a network."""
        kinds, some = routes.kinds, routes.some
        stops, keepers, member_kinds = len(routes.stops), len(routes.keeping), len(kinds.counts)
        counts = (1 + len(some.sizes), len(some.topics), stops, len(kinds.sizes), member_kinds, keepers, member_kinds)
        return cls(*accumulate(counts))


def ship(routes: Routes, rooms: Rooms) -> Shipped:
    """The cheapest assignment within the rooms."""
    kinds, some, total = routes.kinds, routes.some, int(routes.some.sizes.sum())
    nodes = _Nodes.of(routes)
    sorts = _edges(routes, rooms, nodes, total)
    edges = Edges.joined([*sorts.values()])
    through = edges.network(nodes.sink + 1)
    sent = fill(through)
    flow = through.flow()
    ends = np.cumsum([np.broadcast(*each).size for each in sorts.values()])
    flows = dict(zip(sorts, np.split(flow, ends[:-1]), strict=True))
    moves = int(flows["moved"][some.claimed].sum() + flows["eager"].sum())
    far = int(flows["kept"][~routes.reads_near].sum() + flows["elsewhere"].sum())
    proven = sent == total and cost(through, edges.prices) == dual_bound(through, edges.capacities, edges.prices, total)

    inner = slice(ends[0], ends[-3])  # between the kinds of partitions and those who get them
    starts = np.where(some.kinds == NONE, NONE, 1 + some.kinds).astype(np.int32)
    tails, heads = edges.tails[inner].astype(np.int32), edges.heads[inner].astype(np.int32)
    dealt = _dealt(starts, tails, heads, flow[inner].copy(), nodes.keeper)
    holders = _members(dealt, routes.keeping, kinds.members, nodes.keeper, nodes.rest)
    return Shipped(holders, moves, far, proven, sent == total)


def _edges(routes: Routes, rooms: Rooms, nodes: _Nodes, total: int) -> dict[str, Edges]:
    """The edges of each sort, those of the source first and those of the sink last. total : partitions"""
    kinds, some, keeping, stops = routes.kinds, routes.some, routes.keeping, routes.stops
    sizes, member_kinds = some.sizes, len(kinds.counts)
    of_topics, of_members = routes.subscribers
    on_rack = kinds.racks[of_members] != NONE
    wished = some.topics[some.racks.row_of_each_value()].astype(np.int64) * routes.width + some.racks.values
    stop_of = np.searchsorted(stops, wished)
    exists = stops[np.minimum(stop_of, len(stops) - 1)] == wished if len(stops) else np.zeros(len(wished), np.bool_)

    turns = routes.turns()
    move = ELSEWHERE * turns + 1
    more = (move + 1) * turns + 1
    elsewhere = ELSEWHERE if routes.racks_matter else 0
    stays, goes = (move, -move) if rooms.tie is None else (rooms.tie, rooms.tie - 1)
    prices = rooms.prices[:, None] * more

    each_kind, pool_of = 1 + np.arange(len(sizes)), nodes.pool + some.pools
    claimed_kinds = some.claimants.row_of_each_value()
    claimed = np.where(some.claimed, sizes, 0)
    eager = np.clip(rooms.eager - (np.cumsum(claimed) - claimed), 0, claimed)
    keepers, rests = nodes.keeper + np.arange(len(keeping)), nodes.rest + np.arange(member_kinds)
    rest = kinds.counts - np.bincount(kinds.members[keeping], minlength=member_kinds)
    return {
        "all": Edges(0, each_kind, sizes, 0),
        "kept": Edges(
            1 + claimed_kinds,
            nodes.keeper + np.searchsorted(keeping, some.claimants.values),
            sizes[claimed_kinds],
            np.where(routes.reads_near, 0, elsewhere),
        ),
        "moved": Edges(each_kind, pool_of, sizes - eager, np.where(some.claimed, rooms.patience * more + stays, 0)),
        "eager": Edges(each_kind, pool_of, eager, max(rooms.patience * more + goes, 0)),
        "to racks": Edges(nodes.pool + some.racks.row_of_each_value()[exists], nodes.stop + stop_of[exists], total, 0),
        "elsewhere": Edges(nodes.pool + np.arange(len(some.topics)), nodes.topic + some.topics, total, elsewhere),
        "from racks": Edges(nodes.stop + routes.of_stops, nodes.member_kind + of_members[on_rack], total, 0),
        "subscribers": Edges(nodes.topic + of_topics, nodes.member_kind + of_members, total, 0),
        "to keepers": Edges(nodes.member_kind + kinds.members[keeping], keepers, total, 0),
        "to rests": Edges(nodes.member_kind + np.arange(member_kinds), rests, total, 0),
        "of keepers": Edges(keepers, nodes.sink, rooms.sizes[:, kinds.members[keeping]], prices),
        "of rests": Edges(rests, nodes.sink, rooms.sizes * rest, prices),
    }


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


def _members(nodes: Int32s, keeping: Int64s, kind_of: Int32s, first_keeper: int, first_rest: int) -> Int32s:
    """int32[partitions], the member of each; of the rest of a kind, each in turn.

    nodes : int32[partitions], keepers from ``first_keeper``, the rests of kinds of members from ``first_rest``, or NONE
    keeping : int64[...], the members that are keepers, ascending
    """
    holders = np.full(len(nodes), NONE, np.int32)
    kept = (nodes != NONE) & (nodes < first_rest)
    holders[kept] = keeping[nodes[kept] - first_keeper]
    rests = kind_of.copy()
    rests[keeping] = NONE
    kinds = int(kind_of.max(initial=NONE)) + 1
    members, partitions = grouped(rests, kinds), grouped(np.maximum(nodes - np.int32(first_rest), NONE), kinds)
    kind, turn = rows_and_places(partitions.offsets)
    holders[partitions.values] = members.values[members.offsets[kind] + turn % members.lengths()[kind]]
    return holders


# The most even numbers of partitions within a number of moves, where members subscribe to different topics or racks matter.
#
# 1. The *largest load*: a minimum-cost flow finds the fewest moves if no member may have more than a cap; the least cap for
#    which these are within the limit is exact, since fewer moves never allow a lower cap.
# 2. The *evenness* within the cap, by the sum of squares of loads: of a member's j-th partition its price is j, and a move has
#    the price of ``patience`` such steps: who moves, improves the sum by more. The least patience with few enough moves is
#    found by halving; then as many partitions as the limit leaves move where that improves it by just as much.
#
# 3. Where racks matter, the same with a price of a move in reads from other racks: which partitions move, and where to.
#
# By the Lagrangian of 2., no assignment within cap and limit has a sum smaller by more than 2 × patience × the moves left, and
# none with the same sum moves fewer.

MOST_STEPS: Final = 150_000
"""Edges for the steps of all members, above which a step holds several partitions."""


@dataclass(frozen=True)
class Limited:
    """An assignment within the limit.

    largest : the least largest load; fewest_moves : with which it can be reached
    patience : of the flow; None: the steps held several partitions, so that nothing is known of the sum of squares
    elsewhere : how many partitions are read on other racks at least, with as even loads and as many moves; None: not known
    """

    shipped: Shipped
    largest: int
    fewest_moves: int
    patience: int | None
    elsewhere: int | None


def ship_within(routes: Routes, least: int, max_moves: int) -> Limited:
    """The assignment. least : what the largest load is at least."""
    kinds = len(routes.kinds.counts)

    def capped(cap: int) -> Shipped:
        return ship(routes, Rooms(np.full((1, kinds), cap), np.zeros(1, np.int64)))

    uncapped = capped(int(routes.some.sizes.sum()))
    most = int(np.bincount(uncapped.holders[uncapped.holders != NONE]).max(initial=least))

    def suffices(cap: int) -> bool:
        tried = capped(cap)
        return tried.fits and tried.moves <= max_moves

    cap = least + bisect_left(range(least, most), True, key=suffices)
    fewest = capped(cap).moves
    members = kinds + len(routes.keeping)
    width = max(1, -(-cap * members // MOST_STEPS))
    steps = -(-cap // width)
    sizes = np.full((steps, kinds), width)
    sizes[-1] = cap - width * (steps - 1)

    def patient(patience: int, eager: int = 0, tie: int | None = None) -> Shipped:
        return ship(routes, Rooms(sizes, np.arange(steps) * width, patience, eager, tie))

    patience = bisect_left(range(steps * width), True, key=lambda each: patient(each).moves <= max_moves)
    eager = 0
    if patience and width == 1:
        claimed = int(routes.some.sizes[routes.some.claimed].sum())
        eager = claimed - bisect_left(
            range(claimed), True, key=lambda fewer: patient(patience, claimed - fewer).moves <= max_moves
        )
    shipped = patient(patience, eager)
    if width > 1 or not shipped.proven:
        return Limited(shipped, cap, fewest, None, None)
    if not eager or not routes.racks_matter:
        return Limited(shipped, cap, fewest, patience, shipped.elsewhere)
    shipped, elsewhere = _nearest(routes, shipped, partial(patient, patience))
    return Limited(shipped, cap, fewest, patience, elsewhere)


def _nearest(routes: Routes, shipped: Shipped, tied: Callable[[int, int], Shipped]) -> tuple[Shipped, int | None]:
    """As even an assignment with as many moves that reads more nearby, if one is found, and how much is read elsewhere at least.

    tied : the cheapest assignment for this number of eager partitions and such a tie

    The least tie with few enough moves is found by halving. No assignment beats its price of reads and moves together.
    """
    most, claimed = routes.turns(), int(routes.some.sizes[routes.some.claimed].sum())
    tie = bisect_left(range(-most, most), True, key=lambda each: tied(0, each).moves <= shipped.moves) - most
    base = tied(0, tie)
    if not base.proven:
        return shipped, None
    eager = claimed - bisect_left(range(claimed), True, key=lambda fewer: tied(claimed - fewer, tie).moves <= shipped.moves)
    found = tied(eager, tie)
    if found.proven and found.moves == shipped.moves and found.elsewhere < shipped.elsewhere:
        shipped = found
    return shipped, base.elsewhere + tie * (base.moves - shipped.moves)
