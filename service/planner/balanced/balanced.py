"""``balanced``: the provably best assignment. No class of Kafka's does this.

*Rules*, in this order:

1. Every partition of a topic with subscribers goes to one of them.
2. The numbers of partitions are as even as subscriptions allow: for every k, the k members with the most have together as few as
   can be. So the maximum is least, and so is the variance.
3. The fewest partitions move: go to a member that does not claim them, though another does.
4. The most partitions are read on the reader's rack, if partitions and members have racks.

*Algorithm*: where all subscribe alike, no member claims what another does and racks do not matter, a formula (``alike``). Else
two flows, through what nothing tells apart: ``levels`` finds how much each member must read, ``transport`` who reads what.

With weights or capacities that differ, 2. is the least maximum of load ÷ capacity, then the next, as far as it can be found:
``weighing``.

Ties go by member_id, topic name and partition id, so the order of members and topics in the request does not matter. What nothing
decides is dealt in turns, which spreads the partitions of a topic. A claim counts whatever its generation, as in ``movement``.
"""

import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from service.core.assignors.coordinator import topic_arrays
from service.core.budget import reserve_in_turn
from service.core.certificate import Certificate, Objective
from service.core.errors import InvalidQuestion
from service.core.measures import occurrences, weighted_load
from service.core.model import NONE, Assignment, Bools, Group, Int32s, Int64s, Ragged, Topics, offsets_of, ranks_of
from service.core.printable import counted
from service.core.ragged import claimed_once, grouped, rows_and_places, taken
from service.planner.balanced.transport import MOST_STEPS, Levels, Limited, Rooms, Routes, levels, ship, ship_within
from service.planner.balanced.weighing import EVERY_ONE, nearest, weigh
from service.planner.balanced.weighted import Glance
from service.planner.kinds import Kinds, claims_of

# The most even assignment where all members subscribe alike and no member claims what another does: a formula.
#
# Every member gets ⌊n ÷ m⌋ of n partitions or one more. One more goes first to members that own as many, by member_id; so a
# member keeps what it owns up to its load, and no assignment as even keeps more. What is left over is dealt in turns, so that
# the partitions of a topic go to different members.
#
# If fewer may move, the most loaded members give up one partition after the other, and the least loaded get these and what no
# member owned: no assignment that moves as few is more even.


def assign_alike(owned: Ragged, order: Int32s, counting: Bools, room: Int64s) -> Int32s:
    """The member of each partition, int32[partitions], NONE where it does not count.

    owned : Ragged member → partitions it claims, none claimed twice; those from ``len(counting)`` on do not exist
    order : int32[members], the members by member_id; at least one
    counting : bool[partitions], those that are to be assigned
    room : int64[members], how many each member gets

    Plain-Python twin, by trying everything: tests/reference/balanced_groups.py.
    """
    claims, holder = owned.below(len(counting)), np.full(len(counting), NONE, np.int32)
    holder[claims.values] = claims.row_of_each_value()
    holder[~counting] = NONE
    held = grouped(holder, len(order))
    member, place = rows_and_places(held.offsets)
    holder[held.values[place >= room[member]]] = NONE
    left = (room - np.minimum(held.lengths(), room))[order]
    # What no member holds is dealt in rounds, each to those that have room then.
    turns = Ragged.of_lengths(left, np.repeat(order, left))
    rounds = grouped(rows_and_places(turns.offsets)[1], int(left.max()))
    holder[counting & (holder == NONE)] = turns.values[rounds.values]
    return holder


def rooms(claims: Int32s, order: Int32s, count: int, max_moves: int | None) -> Int64s:
    """int64[members], how many of ``count`` partitions each member gets. claims : int32[members], how many it owns"""
    each, more = divmod(count, len(order))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    most_even = np.full(len(order), each, np.int64)
    most_even[np.lexsort((rank, claims <= each))[:more]] += 1
    if max_moves is None or np.maximum(claims - most_even, 0).sum() <= max_moves:
        return most_even
    kept = _levelled(claims.astype(np.int64), rank, -max_moves)
    return _levelled(kept, rank, count - int(kept.sum()))


def _levelled(loads: Int64s, rank: Int64s, change: int) -> Int64s:
    """The loads, after the least have got some, or the most given some, one by one. rank : int64[members], for ties"""
    if change < 0:
        return -_levelled(-loads, rank, -change)
    low, high = int(loads.min()), int(loads.max()) + change
    low += bisect_right(
        range(low + 1, high + 1), change, key=lambda level: np.maximum(level - loads, 0).sum()
    )  # all are filled to it
    filled = np.maximum(loads, low)
    rest = change - int((filled - loads).sum())
    at_level = np.flatnonzero(filled == low)
    filled[at_level[np.argsort(rank[at_level])[:rest]]] += 1
    return filled


BY_FORMULA: Final = "All members subscribe alike: each gets the average, rounded down or up, and keeps what it owns up to that."
BY_LEVELS: Final = (
    "All members subscribe alike: the most loaded give up as many partitions as may move, and the least loaded get them."
)
BY_FLOW: Final = "A largest flow finds how many partitions each member must read; the bound is of topics that only some read."
BY_LIMITED_FLOW: Final = (
    "Minimum-cost flows find the least largest load that so few moves reach, and then the least sum of squares, whose bound "
    "is the flow's Lagrangian."
)
BY_CHEAPEST_FLOW: Final = "A minimum-cost flow finds which partitions each member reads; the bound is the flow's dual."

SUBSCRIPTION_BYTES: Final = 180
SUBSCRIPTION_WITH_RACKS_BYTES: Final = 380
PARTITION_BYTES: Final = 60
RACK_BYTES: Final = 80
"""Most memory of the networks for each subscription, without and with racks, and of the kinds for each partition and each rack of
a partition, beyond what any assignment takes. Measured: 156, 345, 23 and less."""


STEP_BYTES: Final = 200
"""Most memory of an edge for a step of a member's load."""


def assign(group: Group, max_moves: int | None = None, glance: Glance | None = None) -> Assignment:
    """The best assignment, with its certificate.

    max_moves : how many partitions may move; None: as many as the most even loads take
    glance : with weights, a less thorough look; None: as thorough as can be
    Raises InvalidQuestion if more must move than may.
    """
    if not len(group):
        nothing = grouped(np.empty(0, np.int32), 0)
        return Assignment(nothing, certificate=_certified(group, nothing, 0, 0, _Proof(0, 0, 0, BY_FORMULA), None))
    if max_moves is not None:
        check_moves(group, max_moves)
    order = group.by_id
    if _is_weighed(group):
        _reserve(group)
        holders, certificate = weigh(group, order, max_moves, glance)
        return Assignment(_rows(holders, order), certificate=certificate)
    racks_matter = group.topics.racks is not None and bool((group.racks != NONE).any())
    counting = _subscribed_by_all(group)
    if counting is not None and not racks_matter:
        claims = claimed_once(group.owned, counting)
        if claims is not None:
            return _by_formula(group, order, counting, claims, max_moves)
    _reserve(group, steps=max_moves is not None)
    kinds = Kinds.of(group, order, racks_matter=racks_matter)
    bounds = levels(kinds.sizes, kinds.counts, kinds.subscribers)
    routes = Routes.of(group, order, kinds, bounds, racks_matter=racks_matter)
    shipped = ship(routes, Rooms.of_levels(bounds))
    even = _bound(kinds, bounds)
    if max_moves is None or shipped.moves <= max_moves:
        moves = shipped.moves if shipped.proven else 0
        elsewhere = shipped.elsewhere if shipped.proven else None
        proof = _Proof(int(even.max(initial=0)), int(even @ even), moves, BY_FLOW, elsewhere)
    else:
        routes = Routes.of(group, order, kinds, None, racks_matter=racks_matter)
        limited = ship_within(routes, int(even.max(initial=0)), max_moves)
        shipped, proof = limited.shipped, _proof_of(limited, order, even, max_moves)
    rows = _rows(shipped.holders, order)
    rack_local = None
    if racks_matter:
        most = None if proof.elsewhere is None else len(rows.values) - proof.elsewhere
        rack_local = nearest(group, len(rows.values) - shipped.elsewhere, most, BY_CHEAPEST_FLOW)
    return Assignment(rows, certificate=_certified(group, rows, int(kinds.sizes.sum()), shipped.moves, proof, rack_local))


@dataclass(frozen=True)
class _Proof:
    """Bounds of the largest load, the sum of squares of loads, moves, and reads on other racks; and how the first two were found.

    elsewhere : partitions read on other racks; None: not known
    """

    largest: int
    squares: int
    moves: int
    method: str
    elsewhere: int | None = None


def _proof_of(limited: Limited, order: Int32s, even: Int64s, max_moves: int) -> _Proof:
    """The bounds where moves are limited. even : the loads if they are not"""
    loads = np.bincount(limited.shipped.holders[limited.shipped.holders != NONE], minlength=len(order)).astype(np.int64)
    squares = int(even @ even)
    shipped, patience = limited.shipped, limited.patience
    if patience is None:
        return _Proof(limited.largest, squares, limited.fewest_moves, BY_LIMITED_FLOW)
    squares = max(squares, int(loads @ loads) - 2 * patience * (max_moves - shipped.moves))
    return _Proof(limited.largest, squares, shipped.moves, BY_LIMITED_FLOW, limited.elsewhere)


def _by_formula(group: Group, order: Int32s, counting: Bools, claims: Int32s, max_moves: int | None) -> Assignment:
    """The assignment where all members subscribe alike. counting, claims : as of ``assign_alike`` and ``rooms``"""
    room = rooms(claims, order, int(counting.sum()), max_moves)
    moved = int(np.maximum(claims - room, 0).sum())
    method = BY_FORMULA if room.max() - room.min() <= 1 else BY_LEVELS
    proof = _Proof(int(room.max()), int(room @ room), moved, method)
    rows = grouped(assign_alike(group.owned, order, counting, room), len(group))
    return Assignment(rows, certificate=_certified(group, rows, int(counting.sum()), moved, proof, None))


def _reserve(group: Group, *, steps: bool = False) -> None:
    """Reserve the memory of kinds and networks. steps : with edges for the steps of members (``limited``)"""
    topics = group.topics
    subscriptions = len(group.subscriptions.values)
    count = SUBSCRIPTION_BYTES * subscriptions
    if topics.racks is not None:
        count = SUBSCRIPTION_WITH_RACKS_BYTES * subscriptions + RACK_BYTES * len(topics.racks.values)
    if steps:
        count += STEP_BYTES * (min(MOST_STEPS, topics.partitions_count * len(group)) + len(group))
    reserve_in_turn(count + PARTITION_BYTES * topics.partitions_count)


def _rows(holders: Int32s, order: Int32s) -> Ragged:
    """The assignment of partitions to members by their places in ``order``."""
    members = np.where(holders == NONE, NONE, order[holders]).astype(np.int32)
    return grouped(members, len(order))


def _is_weighed(group: Group) -> bool:
    """Do members have different capacities, or partitions different weights?"""
    given = (group.capacities, group.topics.weights)
    return any(values is not None and len(values) > 0 and bool((values != values[0]).any()) for values in given)


def _subscribed_by_all(group: Group) -> Bools | None:
    """bool[partitions], those of topics with subscribers, if all members subscribe to these; else None."""
    topics = len(group.topics)
    subscribers = occurrences(group.subscriptions.below(topics).values, topics)
    if ((subscribers != 0) & (subscribers != len(group))).any():
        return None
    return np.repeat(subscribers > 0, group.topics.partitions_counts())


def _certified(group: Group, rows: Ragged, read: int, moves: int, proof: _Proof, rack_local: Objective | None) -> Certificate:
    """The certificate. read : the partitions of topics with subscribers"""
    loads = rows.lengths().astype(np.int64)
    given = ((group.topics.weights, 1), (group.capacities, -1))
    unit = math.prod(float(values[0]) ** power for values, power in given if values is not None and len(values))
    by_formula = proof.method in (BY_FORMULA, BY_LEVELS)
    return Certificate(
        Objective(len(rows.values), read, EVERY_ONE, most=True),
        Objective(int(loads.max(initial=0)) * unit, proof.largest * unit, proof.method),
        Objective(int(loads @ loads), proof.squares, proof.method),
        Objective(moves, proof.moves, proof.method if by_formula else BY_CHEAPEST_FLOW),
        rack_local,
    )


def _bound(kinds: Kinds, bounds: Levels) -> Int64s:
    """int64[members], the loads of classes that share evenly what no member of a lower level may read."""
    classes, of_members = np.unique(bounds.members, return_inverse=True)
    lowest = np.full(len(kinds.sizes), bounds.members.max(initial=0))
    np.minimum.at(lowest, kinds.subscribers.row_of_each_value(), bounds.members[kinds.subscribers.values])
    partitions = np.bincount(np.searchsorted(classes, lowest), kinds.sizes, len(classes)).astype(np.int64)
    members = np.bincount(of_members, kinds.counts, len(classes)).astype(np.int64)
    each, more = np.divmod(partitions, members)
    of_each, places = rows_and_places(offsets_of(members))
    return each[of_each] + (places < more[of_each])


def forced_moves(group: Group) -> int:
    """The claimed partitions that must move: of topics with subscribers, but none of those that claim them is one."""
    topics = len(group.topics)
    counts = group.topics.partitions_counts()
    subscribed = group.subscriptions.below(topics)
    claims, claimed = claims_of(group.owned, subscribed, group.topics.topic_of)
    must = claimed & np.repeat(occurrences(subscribed.values, topics) > 0, counts)
    must[claims.values] = False
    return int(np.count_nonzero(must))


def check_moves(group: Group, max_moves: int) -> None:
    """Raise InvalidQuestion if more partitions must move than may."""
    forced = forced_moves(group)
    if forced > max_moves:
        detail = f"At least {counted(forced, 'partition')} must move: no owner subscribes to the topic."
        raise InvalidQuestion(detail, "max_moves")


MOST_POINTS: Final = 41
"""Most points, if each takes little time."""

FEWER_POINTS: Final = ((2_000, 41), (10_000, 21), (60_000, 6))
"""Otherwise: most points, for groups of up to this number of partitions and subscriptions."""

FEWEST_POINTS: Final = 3
"""Of larger groups."""


@dataclass(frozen=True)
class TradeOff:
    """What a number of moves achieves.

    worst_load : the largest load ÷ capacity; stddev : of all loads ÷ capacity
    proven : is no such load smaller with so few moves?
    """

    moves: int
    worst_load: float
    stddev: float
    proven: bool


def frontier(group: Group, run: Callable[..., Assignment]) -> tuple[TradeOff, ...]:
    """The trade-offs by ascending moves, each more even than those before, from the fewest moves to the best balance.

    run : ``balanced.assign`` with its limits; takes ``max_moves``
    """
    assignment = run(group)
    fewest, best = forced_moves(group), _trade_off(group, assignment)
    count = _points(group, assignment)
    # The first moves gain most, so the points are closer there.
    limits = np.unique(np.rint(fewest + (best.moves - fewest) * np.linspace(0, 1, count) ** 2).astype(np.int64))[:-1]
    tried = [_trade_off(group, run(group, max_moves=limit)) for limit in (limits.tolist() if best.moves > fewest else [])]
    points: list[TradeOff] = []
    for each in (*sorted(tried, key=lambda point: (point.moves, point.worst_load, point.stddev)), best):
        if not points or (each.worst_load, each.stddev) < (points[-1].worst_load, points[-1].stddev):
            points.append(each)
    return tuple(points)


def _points(group: Group, assignment: Assignment) -> int:
    """How many points to compute: a formula is quick, flows and searches are not."""
    if assignment.certificate is not None and assignment.certificate.load.method == BY_FORMULA:
        return MOST_POINTS
    size = group.topics.partitions_count + len(group.subscriptions.values)
    return next((points for limit, points in FEWER_POINTS if size <= limit), FEWEST_POINTS)


def _trade_off(group: Group, assignment: Assignment) -> TradeOff:
    certificate, weights = assignment.certificate, group.topics.weights
    if certificate is None:
        raise TypeError("the assignor proves nothing")
    loads = assignment.rows.lengths() if weights is None else weighted_load(assignment.rows, weights)
    ratios = loads if group.capacities is None else loads / group.capacities
    most = float(ratios.max(initial=0))
    stddev = most * float(np.std(ratios / most)) if most else 0.0  # the square of a ratio may be beyond a float
    return TradeOff(int(certificate.moves.value), certificate.load.value, stddev, certificate.load.gap == 0)


# ``balanced`` of a consumer group: a broker's assignor knows topics by their ids alone, so topics are in the order of their
# ids.
#
# Brokers that load ``BalancedAssignor`` (brokers/java) assign the same.


def assign_by_topic_id(group: Group, max_moves: int | None = None, glance: Glance | None = None) -> Assignment:
    """``balanced.assign``, with the topics in the order of their ids (Uuid.compareTo)."""
    ranks = topic_arrays(group.topics).ranks
    if (np.diff(ranks) > 0).all():
        return assign(group, max_moves, glance)
    count = group.topics.partitions_count
    order = np.argsort(ranks).astype(np.int32)
    moved = taken(Ragged(group.topics.first, np.arange(count, dtype=np.int32)), order)
    places = ranks_of(moved.values)
    by_id = replace(
        group,
        topics=_reordered(group.topics, order, moved),
        subscriptions=_mapped(group.subscriptions, ranks),
        owned=_mapped(group.owned, places),
    )
    assignment = assign(by_id, max_moves, glance)
    holders = np.full(count, NONE, np.int32)
    holders[moved.values[assignment.rows.values]] = assignment.rows.row_of_each_value()
    return replace(assignment, rows=grouped(holders, len(group)))


def _reordered(topics: Topics, order: Int32s, moved: Ragged) -> Topics:
    """The topics in another order. moved : Ragged topic → the partitions that were its own before"""
    partitions = moved.values
    return replace(
        topics,
        names=tuple(topics.names[topic] for topic in order),
        first=moved.offsets,
        racks=None if topics.racks is None else taken(topics.racks, partitions),
        ids=tuple(topics.ids[topic] for topic in order),
        weights=None if topics.weights is None else topics.weights[partitions],
        listed=None,
        unknown=None if topics.unknown is None else topics.unknown[partitions],
        leader_racks=None if topics.leader_racks is None else topics.leader_racks[partitions],
    )


def _mapped(rows: Ragged, becomes: Int32s) -> Ragged:
    """The rows with other values; what does not exist, from ``len(becomes)`` on, stays. becomes : int32[topics or partitions]"""
    values = rows.values.copy()
    known = values < len(becomes)
    values[known] = becomes[values[known]]
    return Ragged(rows.offsets, values)
