"""The best assignment of a group whose partitions have weights or whose members have capacities, as far as it can be found."""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from service.core.budget import check_time
from service.core.certificate import Certificate, Objective
from service.core.model import NONE, Bools, Float64s, Group, Int32s, Ragged, distinct
from service.core.ragged import taken, transposed
from service.planner.balanced.bounds import MOST_ITEMS, Choices, fewest_given
from service.planner.balanced.exchanges import Items, units_of
from service.planner.balanced.nearer import Places
from service.planner.balanced.weighted import Glance, share_out
from service.planner.kinds import Kinds, claims_of

# How many partitions are read on the reader's rack, and how many could be.

EACH_BY_ITSELF: Final = "The bound counts partitions that could be read nearby, each by itself."

MOST_CELLS: Final = 10_000_000
"""Racks of partitions × prices up to which the prices of racks are sought: half a second."""

SWEEPS: Final = 2
"""How often each price is set anew."""

SLACK: Final = 1e-9
"""What is added to the room of racks, as a share of it, and to the bound: more than rounding takes away."""


def nearest(group: Group, near: int, bound: int | None, method: str) -> Objective:
    """How many partitions are read nearby, as an aim. bound : how many could be, by this method; None: it is not known"""
    if bound is None:
        every = np.arange(group.topics.partitions_count, dtype=np.int32)
        could_be = int(np.count_nonzero(near_racks(group, every).lengths()))
        return Objective(near, could_be, EACH_BY_ITSELF, most=True)
    return Objective(near, bound, method, most=True)


def near_racks(group: Group, partitions: Int32s) -> Ragged:
    """Ragged partition of these → racks of its replicas on which a member subscribes to its topic, ascending."""
    racks, width = group.topics.racks, len(group.rack_ids) + 1
    if racks is None:
        return Ragged(np.zeros(len(partitions) + 1, np.int32), np.empty(0, np.int32))
    subscribed = group.subscriptions.below(len(group.topics))
    there = distinct(subscribed.values.astype(np.int64) * width + group.racks[subscribed.row_of_each_value()])
    of_each = racks.row_of_each_value()
    could = np.isin(group.topics.topic_of[of_each].astype(np.int64) * width + racks.values, there)
    places = np.full(group.topics.partitions_count, NONE, np.int64)
    places[partitions] = np.arange(len(partitions))
    could &= places[of_each] != NONE
    pairs = distinct(places[of_each[could]] * width + racks.values[could])
    offsets = np.zeros(len(partitions) + 1, np.int32)
    np.cumsum(np.bincount(pairs // width, minlength=len(partitions)), out=offsets[1:])
    return Ragged(offsets, (pairs % width).astype(np.int32))


@dataclass(frozen=True)
class RackOptions:
    """Where items can be: each option is an item on a rack, or elsewhere (NONE). Every item can be elsewhere.

    items, racks : int32[options], by item; weights : float64[options], of the item; 0 elsewhere
    near, moves : bool[options], is it then read nearby, and is it a move that need not be?
    room : float64[racks], what the members there may read together; spare : how many such moves there may be
    """

    items: Int32s
    racks: Int32s
    weights: Float64s
    near: Bools
    moves: Bools
    room: Float64s
    spare: int


def most_near(options: RackOptions) -> int:
    """What no assignment has more items near than, whose members keep the room of their rack, and that moves no more.

    The bound is the dual of the linear programme of that: at any prices of room and of moves no more can be near than what room
    and moves are worth, and what each item gains at most beyond what it pays. The prices are set one after the other, each to
    its best.
    """
    if not options.near.any():
        return 0
    starts = np.flatnonzero(np.diff(options.items, prepend=-1))
    racks = options.racks
    room = np.append(options.room, 0)  # there is no room to pay for elsewhere
    prices, price = np.zeros(len(room)), 0.0
    kinds = [NONE, *np.unique(racks[racks != NONE]).tolist()]
    if len(kinds) * SWEEPS * len(options.items) > MOST_CELLS:
        kinds = [NONE]
    for kind in kinds * SWEEPS:
        check_time()
        if kind == NONE:
            price = 0.0
            pays, amounts, most = options.moves, np.ones(len(starts)), float(options.spare)
        else:
            prices[kind] = 0.0
            pays, most = racks == kind, float(room[kind])
            amounts = np.maximum.reduceat(np.where(pays, options.weights, 0), starts)
        gains = options.near - options.weights * prices[racks] - options.moves * price
        others = np.maximum.reduceat(np.where(pays, -np.inf, gains), starts)
        worth = np.maximum.reduceat(np.where(pays, gains, -np.inf), starts) - others
        # The price at which no more is bought than there is room for: the least of a dual that is convex in it.
        buys = (worth > 0) & (amounts > 0)
        limits = worth[buys] / amounts[buys]
        order = np.argsort(-limits, kind="stable")
        over = np.flatnonzero(np.cumsum(amounts[buys][order]) > most)
        best = float(limits[order[over[0]]]) if len(over) else 0.0
        if kind == NONE:
            price = best
        else:
            prices[kind] = best
    gains = options.near - options.weights * prices[racks] - options.moves * price
    bound = np.maximum.reduceat(gains, starts).sum() + room @ prices + options.spare * price
    return min(len(distinct(options.items[options.near])), int(bound * (1 + SLACK) + SLACK))


EVERY_ONE: Final = "Every partition with a subscriber has an owner."
ROUNDING: Final = 1e-9
"""Up to this share of it, a load in units is the load."""

BY_TRIAL: Final = "Every assignment that could be better was looked through."
BY_SEARCH: Final = (
    "A search, within a number of steps. The bound follows from the heaviest partitions, from topics that only some read, "
    "and from what members own."
)
BY_EXCHANGES: Final = (
    "A search let pairs of members exchange several partitions for several, within a number of steps. The bound is the dual of a "
    "linear programme: what the members of each rack may read, and how many partitions may move."
)
BY_EXCESS: Final = "The bound is what members own beyond the largest load."


def weigh(group: Group, order: Int32s, max_moves: int | None, glance: Glance | None) -> tuple[Int32s, Certificate]:
    """The member of each partition, by its place in ``order``, or NONE: int32[partitions]; and what is proven of it.

    Partitions whose load is not known are shared out by themselves, by their number ÷ capacity; ``load`` is that of the others.

    order : int32[members], the members by member_id; glance : as of ``share_out``
    """
    kinds = Kinds.of(group, order, racks_matter=False)
    topic_of, heaviest, unknown = group.topics.topic_of, group.topics.heaviest_first, group.topics.unknown
    weights, ones = group.topics.weights, np.ones(len(topic_of))
    weights = ones if weights is None else weights
    partitions = heaviest[kinds.topics[topic_of[heaviest]] != NONE]
    if unknown is None or not unknown.any():
        return _weigh(group, order, kinds, partitions, weights, max_moves, glance)
    known, others = partitions[~unknown[partitions]], partitions[unknown[partitions]]
    spare = None if max_moves is None else max_moves - _forced(group, order, kinds, others)
    holders, certificate = _weigh(group, order, kinds, known, weights, spare, glance)
    spare = None if max_moves is None else max_moves - int(certificate.moves.value)
    rest, of_rest = _weigh(group, order, kinds, others, ones, spare, glance)
    return np.where(rest == NONE, holders, rest).astype(np.int32), certificate.joined(of_rest)


def _forced(group: Group, order: Int32s, kinds: Kinds, partitions: Int32s) -> int:
    """How many of these partitions must move, because no member that claims them subscribes."""
    topic_of = group.topics.topic_of
    claims, claimed = claims_of(taken(group.owned, order), kinds.subscribed, topic_of)
    return int((claimed[partitions] & ~np.isin(partitions, claims.values)).sum())


def _weigh(
    group: Group, order: Int32s, kinds: Kinds, partitions: Int32s, weights: Float64s, max_moves: int | None, glance: Glance | None
) -> tuple[Int32s, Certificate]:
    """The same of these partitions alone. partitions : heaviest first; weights : float64[all partitions]"""
    topic_of = group.topics.topic_of
    capacities = np.ones(len(order)) if group.capacities is None else group.capacities[order]
    units, scale = units_of(weights[partitions])
    claims, claimed = claims_of(taken(group.owned, order), kinds.subscribed, topic_of)
    are_these = np.zeros(len(topic_of), np.bool_)
    are_these[partitions] = True
    claims = claims.where(are_these[claims.values])
    items = Items(
        units,
        kinds.topics[topic_of[partitions]],
        _owners(claims, group.generations[order], len(topic_of))[partitions],
        kinds.members,
        capacities,
        kinds.subscribers.offsets,
        kinds.subscribers.values,
    )
    forced = int((claimed[partitions] & (items.owners == NONE)).sum())
    may_leave = len(partitions) if max_moves is None else min(max_moves - forced, len(partitions))
    few = len(partitions) <= MOST_ITEMS
    choices = _choices(group, order, kinds, items, partitions, claims, claimed) if few else None
    racks_matter = group.topics.racks is not None and bool((group.racks != NONE).any())
    places = _places(group, order, partitions, claims, claimed) if glance is None else None
    shared = share_out(items, choices, places, may_leave, glance)
    holders = np.full(len(topic_of), NONE, np.int32)
    holders[partitions] = shared.holders

    ratios = np.bincount(shared.holders, units, len(order)) / capacities
    largest = float(ratios.max(initial=0.0))
    kept = np.count_nonzero(holders[claims.values] == claims.row_of_each_value())
    moved = int(np.count_nonzero(claimed[partitions]) - kept)
    bound = shared.least
    if len(claims.values) == np.count_nonzero(items.owners != NONE):  # nothing is claimed twice
        bound = shared.bound
        forced += fewest_given(items, largest)
    method = BY_TRIAL if shared.exact else BY_SEARCH
    actual = float((np.bincount(shared.holders, weights[partitions], len(order)) / capacities).max(initial=0.0))
    # Units are rounded: if capacities are very far apart, that can matter.
    value = largest / scale if math.isclose(actual, largest / scale, rel_tol=ROUNDING) else actual
    load = Objective(value, min(bound, largest) / scale, BY_TRIAL if bound == largest and few else method)
    rack_local = None
    if group.topics.racks is not None and racks_matter:
        racks, readers = taken(group.topics.racks, partitions), group.racks[order][shared.holders]
        rows = racks.row_of_each_value()
        near = len(distinct(rows[racks.values == readers[rows]]))
        could = near if shared.exact else None
        if places is not None and not shared.exact:
            could = most_near(_options(group, items, places, largest, moved))
        rack_local = nearest(group, near, could, BY_TRIAL if shared.exact else BY_EXCHANGES)
    coverage = Objective(len(partitions), len(partitions), EVERY_ONE, most=True)
    moves = Objective(moved, moved if shared.exact else min(forced, moved), BY_TRIAL if shared.exact else BY_EXCESS)
    return holders, Certificate(coverage, load, None, moves, rack_local)


def _owners(claims: Ragged, generations: Int32s, partitions: int) -> Int32s:
    """int32[partitions], the claimant of the last generation, of several the first by member_id; NONE without one.

    claims : Ragged member → partitions; generations : int32[members]
    """
    owners, claimed, claimants = np.full(partitions, NONE, np.int32), claims.values[::-1], claims.row_of_each_value()[::-1]
    order = np.argsort(generations[claimants], kind="stable")  # the owner of a partition comes last
    owners[claimed[order]] = claimants[order]
    return owners


def _choices(
    group: Group, order: Int32s, kinds: Kinds, items: Items, partitions: Int32s, claims: Ragged, claimed: Bools
) -> Choices:
    may, moves = np.zeros((2, len(partitions), len(order)), np.bool_)
    for topic in distinct(items.topics):
        may[items.topics == topic] = np.isin(kinds.members, kinds.subscribers.row(topic))
    moves[claimed[partitions]] = True
    place = np.full(len(claimed), NONE)
    place[partitions] = np.arange(len(partitions))
    moves[place[claims.values], claims.row_of_each_value()] = False
    near = np.ones_like(may)
    if group.topics.racks is not None:
        for item, partition in enumerate(partitions):
            near[item] = np.isin(group.racks[order], group.topics.racks.row(partition))
    return Choices(may, moves, near)


def _places(group: Group, order: Int32s, partitions: Int32s, claims: Ragged, claimed: Bools) -> Places:
    """Where items and members are. partitions : int32[items]; the others as of ``claims_of``"""
    racks = near_racks(group, partitions)
    claimants = taken(transposed(claims, len(claimed)), partitions)
    member_racks = group.racks[order].astype(np.int32)
    return Places(racks.offsets, racks.values, member_racks, claimants.offsets, claimants.values, claimed[partitions])


def _options(group: Group, items: Items, places: Places, largest: float, moved: int) -> RackOptions:
    """Where items could be with no load ÷ capacity above ``largest`` and ``moved`` moves: near, with a claimant, or elsewhere."""
    racks, claimants = (Ragged(*each) for each in (places[:2], places[3:5]))
    width, count = len(group.rack_ids), len(items.weights)
    near = racks.row_of_each_value().astype(np.int64) * width + racks.values
    on_racks, claimed = places.member_racks[claimants.values], claimants.row_of_each_value().astype(np.int64)
    stays = (claimed * width + on_racks)[on_racks != NONE]
    pairs = distinct(np.concatenate([near, stays]))
    elsewhere = np.arange(count)
    of_each = np.concatenate([pairs // width, elsewhere])
    is_kept = claimants.lengths() > 0
    may_stay = np.concatenate([np.isin(pairs, stays), np.isin(elsewhere, claimed[on_racks == NONE])])
    on_rack = np.concatenate([pairs % width, np.full(count, NONE)]).astype(np.int32)
    weights = np.concatenate([items.weights[of_each[: len(pairs)]], np.zeros(count)]).astype(np.float64)
    is_near = np.concatenate([np.isin(pairs, near), np.zeros(count, np.bool_)])
    moves = is_kept[of_each] & ~may_stay
    spare = moved - int(np.count_nonzero(places.claimed & ~is_kept))
    order = np.argsort(of_each, kind="stable")
    if not spare:
        order = order[~moves[order]]
    there = places.member_racks != NONE
    room = np.asarray(np.bincount(places.member_racks[there], items.capacities[there], width) * largest * (1 + SLACK), np.float64)
    of_each = of_each.astype(np.int32)
    return RackOptions(of_each[order], on_rack[order], weights[order], is_near[order], moves[order], room, spare)
