"""The plan: where all replicas and leaders end.

*Question*: which sets of brokers keep the hard rules (distinct usable brokers, the rack rule, ``max_replicas``), copy the fewest
replicas, and among these load the brokers most evenly, or the reverse?

*Algorithm*: both orders are minimum-cost flows with a convex cost at each broker, and the network is never built. The sets to
start from (``start``) have the fewest copies. Then paths of exchanges (``paths``) improve what comes next in the order until none
improves, which proves the optimum. As long as no partition copies more than it would alone, an exchange that costs a copy cannot
be part of a path without cost; so "fewest-moves" considers the partitions that move, and no others.

Of plans that are as good in all of that, the replicas stay on their rack where swaps of two partitions let them (``same_rack``).

Where leaders of that plan are fewer than a broker is to have of a topic, replicas are pinned to it first (``topic_leaders``).

``per_topic`` swaps replicas of two topics as long as that evens them out, without a proof that no other swaps would do better.

Between no copy and the evenest load, ``tolerance`` gives each broker a band within which replicas weigh nothing
(``ReplicaSets.low``), and ``max_moves`` goes along the curve of copies against evenness (``trade``).

With bytes, and where ``capacity_bytes`` bind, this is a packing problem: single exchanges improve it, and a bound says how far
it may be from the optimum.
"""

from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from service.core.model import NONE, Bools, Int32s, Int64s, Ragged
from service.planner.reassignments.evenness import (
    band,
    evenest_with,
    fewest_bytes,
    least_unevenness,
    outside_band,
    squares,
    unevenness,
)
from service.planner.reassignments.feasibility.feasible import bytes_of_brokers, feasible_sets, fits, packed, pins_within
from service.planner.reassignments.feasibility.infeasibility import explain
from service.planner.reassignments.feasibility.packing import PACKED, Effort
from service.planner.reassignments.feasibility.start import enough, pin
from service.planner.reassignments.leaders import elect, first_of, leading
from service.planner.reassignments.model import NO_LIMIT, ROUNDING, Brokers, Goal, Pins, Placements, Plan, bytes_on
from service.planner.reassignments.resources.loads import Loads, evenness_of_resources, fewest_for_resources, weighted
from service.planner.reassignments.resources.search import even_out_leaders, even_out_replicas
from service.planner.reassignments.search.byte_balance import EXCEEDED, Exchanged, balance_bytes
from service.planner.reassignments.search.exchanges import ReplicaSets, in_turns
from service.planner.reassignments.search.paths import improve
from service.planner.reassignments.search.same_rack import Swaps, stay_on_racks
from service.planner.reassignments.search.topic_balance import even_out_topics
from service.planner.reassignments.search.trade import Curve, Record, even_out_freely, trade
from service.planner.reassignments.sets import Permits, added, copied, has_room, in_order, in_sync_after

# The best sets for a goal: those to start from, improved in the order of the goal, and brought below ``capacity_bytes``.


@dataclass(frozen=True)
class _Improved:
    """What has improved sets, and how good they are then.

    moves : of replicas because of ``capacity_bytes``, as ``fits`` returns them
    fewest : no sets that are as good in what comes before copies copy fewer replicas; None if it is not known
    evenest : no sets that are as good in what comes before evenness are more even; None if it is not known
    outside : int32[...], the brokers that are not within the tolerance of a resource
    curve : what led there, if there is a limit of copies and replicas are counted
    led : the replicas, leaders first, as the resources of the goal have them; None: no leaders are chosen
    """

    moves: int
    fewest: int | None = None
    evenest: float | None = None
    outside: Int32s = field(default_factory=lambda: np.empty(0, np.int32))
    curve: Curve | None = None
    led: Ragged | None = None

    @property
    def crowded(self) -> bool:
        """Did replicas have to move again because of ``capacity_bytes``?"""
        return self.moves != 0


@dataclass(frozen=True, kw_only=True)
class BestSets(_Improved):
    """Where the replicas go.

    copies : int64[partitions]   the fewest copies of each partition that is alone in the cluster
    on_racks : where they go if more of them are to stay on their rack, which is as good otherwise; None if no more do
    """

    replicas: Ragged
    copies: Int64s
    on_racks: Ragged | None


@dataclass(frozen=True)
class Search:
    """A search for the best sets.

    chosen : int32[...]   the partitions that may move, small ones first: they stand first in the brokers' lists, so paths take
        them first
    points : the most points of the curve that it keeps
    """

    brokers: Brokers
    placements: Placements
    goal: Goal
    chosen: Int32s
    points: int = 1

    @classmethod
    def of(cls, brokers: Brokers, placements: Placements, goal: Goal, *, whole_curve: bool = False) -> "Search":
        """whole_curve : whether every point is kept"""
        chosen = placements.chosen()
        chosen = chosen[np.argsort(placements.bytes_of_each()[chosen], kind="stable")]
        points = 2 + int(placements.replication_factors[chosen].sum(dtype=np.int64)) if whole_curve else 1
        return cls(brokers, placements, goal, chosen, points)

    def best(self) -> BestSets | None:
        """The sets, in order; None if none are found that keep all rules."""
        even_first = self.goal.objective == "even"
        # Evening out may take replicas from a broker that replaces another, which is to keep them, unless the rules forbid that.
        for hold in (True, False) if even_first and (self.brokers.replaced_by != NONE).any() else (False,):
            found = self._best(hold=hold, paid=even_first and not self.goal.limited)
            if found is not None:
                return found
        return None

    def _best(self, *, hold: bool, paid: bool) -> BestSets | None:
        cluster = self.brokers, self.placements, self.goal, self.chosen
        sets = feasible_sets(*cluster, paid=paid, hold=hold)
        if not sets.feasible or sets.state is None:
            return None
        state = sets.state
        improved = self._improve(state)
        if improved.moves == EXCEEDED:  # evened out, they do not fit
            state = feasible_sets(*cluster, hold=hold).state or state
            rows = self.brokers, self.placements, self.chosen, state
            if fits(*rows) == EXCEEDED and packed(*rows, Effort()) != PACKED:
                return None
            if self.goal.balance == "bytes":  # as far as capacities allow
                improved = replace(self._balance_bytes(state), moves=EXCEEDED)
            elif self.goal.resources:
                improved = replace(self._balance_resources(state), moves=EXCEEDED)
        copies = np.zeros(len(self.placements), np.int64)
        copies[self.chosen] = sets.copies
        replicas = improved.led or in_order(self.brokers, self.placements, self.chosen, state)
        may_change = not improved.crowded and self.points == 1 and not self.goal.resources
        on_racks = self._on_racks(state) if may_change else None
        return BestSets(**vars(improved), replicas=replicas, copies=copies, on_racks=on_racks)

    def _on_racks(self, state: ReplicaSets) -> Ragged | None:
        """The sets with more replicas that stay on their rack, by changes of ``state`` that the goal does not count."""
        goal, in_bytes = self.goal, self.goal.balance == "bytes"
        loads = bytes_of_brokers(self.brokers, self.placements, self.chosen, state)
        topics = self.placements.topics[self.chosen]
        swaps = Swaps(
            self.placements.bytes_of_each()[self.chosen],
            self.brokers.capacity_bytes - loads,
            topics if goal.per_topic else np.zeros_like(topics),
            np.array([in_bytes]),
            np.array([not (in_bytes or goal.per_topic or goal.tolerance is not None)]),
        )
        changed = stay_on_racks(state, swaps, self.brokers.listed)
        return in_order(self.brokers, self.placements, self.chosen, state) if changed else None

    def _improve(self, state: ReplicaSets) -> _Improved:
        if self.goal.balance == "bytes":
            return self._balance_bytes(state)
        if self.goal.resources:
            return self._balance_resources(state)
        if self.goal.limited:
            improved = self._trade(state)
        elif self.goal.tolerance is not None:
            improved = self._approach(state, self.goal.tolerance)
        else:
            optimal = improve(state, even_first=self.goal.objective == "even")
            improved = _Improved(0, self._copied(state)[0], squares(self.brokers, state.loads)) if optimal else _Improved(0)
        if self.goal.per_topic:
            even_out_topics(state, self.placements.topics[self.chosen])
        moves = fits(self.brokers, self.placements, self.chosen, state)
        return replace(improved, moves=moves)

    def _trade(self, state: ReplicaSets) -> _Improved:
        """The evenest with this number of copies."""
        optimal = improve(state, even_first=False)
        copies, amount = self._copied(state)
        if not self.goal.within_limits(copies, amount):
            return _Improved(0, copies if optimal else None)
        record = self._record(state, copies, amount)
        curve = trade(state, record)
        if not (optimal and curve.optimal and len(state.weights)):  # without brokers there is nothing to even out
            return _Improved(0, curve=curve)
        unit = float(state.weights[0] / self.brokers.weights[0])  # the sum with these weights is less than with the integers
        reached = squares(self.brokers, state.loads)
        evenest = None if self.goal.max_moves is None else curve.bound(self.goal.max_moves) * unit
        return _Improved(0, curve.fewest(reached / unit), evenest, curve=curve)

    def _record(self, state: ReplicaSets, copies: int, amount: int) -> Record:
        sizes = self.placements.bytes_of_each()[self.chosen]
        loads = bytes_of_brokers(self.brokers, self.placements, self.chosen, state)
        return Record.start(self.goal.limits(), (copies, amount), sizes, loads, self.brokers.capacity_bytes, self.points)

    def _approach(self, state: ReplicaSets, tolerance: float) -> _Improved:
        """The fewest copies that bring the brokers into the band, or as near as the rules allow, and then the evenest."""
        low, high = band(self.brokers.usable, self.brokers.weights, state.loads, tolerance)
        state.low[:], state.high[:], state.parts[:] = low, high, (1, 0)
        optimal = improve(state, even_first=True)
        state.parts[:] = 0, 1
        outside = self.brokers.usable & ((state.loads < low) | (state.loads > high))
        most = state.most.copy()
        state.most[:] = np.where(outside, state.loads, np.minimum(most, high))
        if not outside.any() and (state.weights == 1).all():  # then no path leads out of the band, and paths are found sooner
            improve(state, even_first=False)
        evenest = even_out_freely(state, np.where(outside, state.loads, low)) and not outside.any()
        state.most[:] = most
        reached = squares(self.brokers, state.loads) if optimal and evenest else None
        return _Improved(0, self._copied(state)[0] if optimal else None, reached)

    def _balance_bytes(self, state: ReplicaSets) -> _Improved:
        moves = fits(self.brokers, self.placements, self.chosen, state)
        copies, amount = self._copied(state)
        if moves == EXCEEDED or (self.goal.limited and not self.goal.within_limits(copies, amount)):
            return _Improved(moves)
        record = self._record(state, copies, amount)
        low, high = np.full(len(self.brokers), -1, np.int64), np.full(len(self.brokers), -1, np.int64)
        if self.goal.tolerance is not None:
            low, high = band(self.brokers.usable, self.brokers.weights, record.loads, self.goal.tolerance)
        done = Exchanged.none(state, record.sizes, per_byte=self.goal.max_bytes is not None)
        most_cost = int(self.goal.objective == "even")
        in_turns(state, lambda: balance_bytes(state, record, (low, high), most_cost, done))
        return _Improved(moves, curve=record.curve((0, 0.0), 0.0, 1.0, optimal=False))

    def _balance_resources(self, state: ReplicaSets) -> _Improved:
        moves = fits(self.brokers, self.placements, self.chosen, state)
        if moves == EXCEEDED or (self.goal.limited and not self.goal.within_limits(*self._copied(state))):
            return _Improved(moves)
        replicas, outside = even_out_replicas(self.brokers, self.placements, self.goal, self.chosen, state)
        return _Improved(moves, outside=np.flatnonzero(outside).astype(np.int32), led=replicas)

    def _copied(self, state: ReplicaSets) -> tuple[int, int]:
        """The replicas and bytes that the sets copy."""
        copies = copied(self.placements, in_order(self.brokers, self.placements, self.chosen, state))
        return int(copies.sum()), int(copies @ self.placements.bytes_of_each())


_ROUNDS: Final = 100
"""Most plans that are made one after another until the next would not be more even."""
_ROUNDING: Final = 1e-12


def plan(brokers: Brokers, placements: Placements, goal: Goal) -> Plan:
    """The best placement that can be reached from the current one. Raises Infeasible.

    With a limit of copies that the rules alone exceed, the plan is the one with the fewest copies.
    """
    free = _found(brokers, placements, goal)
    if free is None:
        raise explain(brokers, placements, goal)
    free = _keeping_in_sync(brokers, placements, goal, free)
    if enough(placements, free.replicas.firsts()):
        return free
    pinned, fewest = (None if goal.only_leaders else pin(brokers, placements, goal)) or (None, 0)
    best = None if pinned is None else _with_pins(brokers, pinned, goal, free)
    if best is None:
        raise explain(brokers, placements, goal)
    return _bounded(brokers, placements, goal, best, free, fewest)


def _keeping_in_sync(brokers: Brokers, placements: Placements, goal: Goal, free: Plan) -> Plan:
    """The plan, in which partitions that get fewer replicas keep one in sync, where any ended without and one may stay."""
    now, then = placements.replicas, free.replicas
    fewer = placements.replication_factors < now.lengths()
    if placements.in_sync is None or goal.only_leaders or not fewer.any():
        return free
    ends_in_sync = first_of(then, in_sync_after(brokers, placements, then) & brokers.live[then.values]) != NONE
    may_stay = placements.in_sync_now(brokers) & Permits.of(brokers, placements).kept(now) & fewer[now.row_of_each_value()]
    any_kept = first_of(now, may_stay)
    if not (~ends_in_sync & (any_kept != NONE)).any():
        return free
    kept = first_of(now, may_stay & ~added(then, now))  # what stays in sync anyway; else the first that may
    kept = np.where(kept == NONE, any_kept, kept)
    partitions = np.flatnonzero(kept != NONE).astype(np.int32)
    result = _found(brokers, replace(placements, pins=Pins(partitions, kept[partitions])), goal)
    if result is None or len(result.outside) > len(free.outside):
        return free
    bounds = min(result.cost, free.lower_bound), min(result.evenness, free.evenness_bound)
    return replace(result, lower_bound=bounds[0], evenness_bound=bounds[1])


def _with_pins(brokers: Brokers, pinned: Placements, goal: Goal, free: Plan) -> Plan | None:
    """The plan with the pins that copy least, or a better one with others; None if none was found.

    free : the plan without pins, which "even" leaves as it is as far as it can
    """
    others = pin(brokers, replace(pinned, replicas=free.replicas), goal) if goal.objective == "even" else None
    near = None if others is None else _found(brokers, replace(pinned, pins=others[0].pins), goal)
    if near is not None and goal.resources:  # their search takes long
        return near
    plans = [near, _found(brokers, pinned, goal)]
    if goal.tolerance is not None and goal.balance == "replicas" and all(each is None or len(each.outside) for each in plans):
        within = pins_within(brokers, pinned, goal, goal.tolerance)
        plans.append(None if within is None else _found(brokers, within, goal))

    def rank(result: Plan) -> tuple[float, ...]:
        copies = copied(pinned, result.replicas)
        if not goal.within_limits(int(copies.sum()), int(copies @ pinned.bytes_of_each())):
            return np.inf, result.cost, result.evenness
        return len(result.outside), *((result.cost, result.evenness) if goal.copies_first else (result.evenness, result.cost))

    return min(filter(None, plans), key=rank, default=None)


def _bounded(brokers: Brokers, placements: Placements, goal: Goal, result: Plan, free: Plan, fewest: int) -> Plan:
    """The plan with bounds of all plans that have enough leaders of each topic, not only of those with the same pins.

    free : the plan without that rule; fewest : what any plan copies
    """
    as_few, even = result.cost <= free.lower_bound, goal.objective == "even"
    if goal.resources:
        result = with_resources(brokers, placements, goal, result, None)
        as_even_copies = fewest_for_resources(brokers, placements, goal, result)
        return replace(result, lower_bound=min(result.cost, max(fewest, as_even_copies, 0 if even else free.lower_bound)))
    floor = free.evenness_bound if even or as_few else least_unevenness(brokers, placements, goal, None)
    as_even = even and result.evenness <= free.evenness_bound * (1 + ROUNDING)
    lower_bound = max(fewest, free.lower_bound if as_even or not even else 0)
    result = replace(result, lower_bound=min(result.cost, lower_bound), evenness_bound=min(result.evenness, floor))
    return replace(result, evenness_bound=_with_as_few_copies(brokers, placements, goal, result))


def _found(brokers: Brokers, placements: Placements, goal: Goal) -> Plan | None:
    """The best placement, with enough leaders of each topic if its replicas allow them; None if none was found."""
    if goal.only_leaders:
        return _only_leaders(brokers, placements, goal)
    best = Search.of(brokers, placements, goal).best()
    if best is None:
        return None
    replicas = best.replicas
    if best.crowded and goal.objective == "even" and goal.balance == "replicas" and not (goal.limited or goal.resources):
        replicas = _settled(brokers, placements, goal, replicas)
    amounts, in_bytes = placements.amounts(goal.balance), goal.balance == "bytes"
    copies = copied(placements, replicas)
    cost = int(copies @ amounts)
    bound = int(best.copies @ amounts) if best.fewest is None or best.crowded else best.fewest
    fewest = min(cost, max(bound, _copied_from_full(brokers, placements, in_bytes=in_bytes)))
    if goal.resources:
        if best.led is None:
            replicas = elect(brokers, placements, replicas, goal.leaders)
        within = best.copies if goal.objective != "even" and cost == fewest else None
        result = with_resources(brokers, placements, goal, Plan(replicas, fewest, cost, 0.0, 0.0, best.outside), within)
        known = fewest_for_resources(brokers, placements, goal, result)
        return replace(result, lower_bound=min(cost, max(fewest, known)))
    evenness = unevenness(brokers, placements, goal, replicas)
    evenest = min(evenness, _evenest(brokers, placements, goal, best, int(copies.sum()), fewest=cost == fewest))
    replicas = elect(brokers, placements, replicas, goal.leaders, per_topic=goal.per_topic)
    if best.on_racks is not None and has_room(brokers, placements, best.on_racks):
        others = elect(brokers, placements, best.on_racks, goal.leaders, per_topic=goal.per_topic)
        judged = (leading(brokers, placements, rows, per_topic=goal.per_topic) for rows in (others, replicas))
        if next(judged) <= next(judged):
            replicas = others
    result = Plan(replicas, fewest, cost, evenness, evenest, outside_band(brokers, placements, goal, replicas))
    if not in_bytes:
        return result
    fewest = max(fewest, fewest_bytes(brokers, placements, goal, result))
    return replace(result, lower_bound=min(cost, fewest), evenness_bound=_with_as_few_copies(brokers, placements, goal, result))


def _with_as_few_copies(brokers: Brokers, placements: Placements, goal: Goal, result: Plan) -> float:
    """The bound of evenness, closer if copies come first or are limited in what is counted."""
    limit = goal.max_bytes if goal.balance == "bytes" else goal.max_moves
    most = result.cost if goal.copies_first else limit
    if most is None:
        return result.evenness_bound
    bound = evenest_with(brokers, placements, placements.amounts(goal.balance), most)
    return min(result.evenness, max(result.evenness_bound, bound))


def _only_leaders(brokers: Brokers, placements: Placements, goal: Goal) -> Plan:
    """The plan that moves no replica."""
    if goal.resources and goal.leaders == "only":
        replicas = even_out_leaders(brokers, placements, goal)
    else:
        replicas = elect(brokers, placements, placements.replicas, goal.leaders, per_topic=goal.per_topic)
    evenness = unevenness(brokers, placements, goal, replicas)
    result = Plan(replicas, 0, 0, evenness, evenness)
    return with_resources(brokers, placements, goal, result, None) if goal.resources else result


def with_resources(brokers: Brokers, placements: Placements, goal: Goal, result: Plan, copies: Int64s | None) -> Plan:
    """The plan with how even its resources are. copies : as in ``least_unevenness``"""
    resources = evenness_of_resources(brokers, placements, goal, result.replicas, copies)
    scales = Loads.of(brokers, placements, goal, result.replicas).scales(brokers)
    evenness, bound = weighted(goal, resources, scales)
    return replace(result, evenness=evenness, evenness_bound=bound, resources=resources)


def _copied_from_full(brokers: Brokers, placements: Placements, *, in_bytes: bool) -> int:
    """A bound of the copies: what is above ``capacity_bytes`` has to leave, and is copied where no replica is given up."""
    if (placements.replication_factors < placements.replicas.lengths()).any():
        return 0
    replicas, count = placements.replicas, len(brokers)
    of_each = placements.bytes_of_each()[replicas.row_of_each_value()]
    excess = np.maximum(bytes_on(replicas, placements.bytes_of_each(), count) - brokers.capacity_bytes, 0)
    if not in_bytes:
        largest = np.ones(count, np.int64)
        np.maximum.at(largest, replicas.values, of_each)
        return int((-(-excess // largest)).sum())
    # Replicas that are smaller than the excess may bring just it; if they are not enough, one leaves that is not smaller.
    small = of_each < excess[replicas.values]
    of_small, least = np.zeros(count, np.int64), np.full(count, NO_LIMIT, np.int64)
    np.add.at(of_small, replicas.values[small], of_each[small])
    np.minimum.at(least, replicas.values[~small], of_each[~small])
    return int(np.where((excess > 0) & (of_small < excess), least, excess).sum())


def frontier(brokers: Brokers, placements: Placements, goal: Goal) -> tuple[Curve, Bools]:
    """The evenest load with each number of copies, from the fewest to those of the evenest, and bool[points], whether no plan
    with as few copies is more even. Raises NoPlan.

    With a least number of leaders, all points have the same pins, and are proven where the curve without that rule is no evener.
    """
    every = replace(goal, objective="even", tolerance=None, max_moves=NO_LIMIT, max_bytes=None, per_topic=False)
    free = curve = _curve(brokers, placements, every)
    if placements.topic_leaders is not None and free is not None:
        pinned = pin(brokers, placements, every)
        curve = None if pinned is None else _curve(brokers, pinned[0], every)
    if free is None or curve is None:
        raise explain(brokers, placements, goal)
    # Pins may be in the way of replicas that the curve without them leaves on a broker that replaces another.
    comparable = placements.topic_leaders is None or not (brokers.replaced_by != NONE).any()
    as_even = curve.sums <= free.at(curve.copies) * (1 + ROUNDING)
    return curve, curve.fits & (free.optimal and comparable) & as_even


def _curve(brokers: Brokers, placements: Placements, goal: Goal) -> Curve | None:
    """The curve; None if no placement keeps the rules, or none was found."""
    best = Search.of(brokers, placements, goal, whole_curve=True).best()
    return None if best is None else best.curve


def _evenest(brokers: Brokers, placements: Placements, goal: Goal, best: BestSets, copied: int, *, fewest: bool) -> float:
    """A bound of the evenness. copied : replicas; fewest : does the plan copy as little as any?

    Where capacities make a plan copy more than the best sets without them, it may be more even than these.
    """
    even_first = not goal.copies_first
    known = best.evenest is not None and (goal.objective == "even" or fewest)
    if known and best.crowded and not even_first:
        known = copied == best.fewest
    if known and best.evenest is not None and not best.crowded:
        return best.evenest
    alone = goal.objective != "even" and fewest and copied == int(best.copies.sum())
    floor = least_unevenness(brokers, placements, goal, best.copies if alone else None)
    return max(floor, best.evenest) if known and best.evenest is not None else floor


def _settled(brokers: Brokers, placements: Placements, goal: Goal, replicas: Ragged) -> Ragged:
    """Replicas that another plan would not make more even; the current ones if they keep all rules and are as even.

    Where ``capacity_bytes`` are in the way, an evenest placement that does not fit is made to fit, which may end up elsewhere
    each time.
    """
    now = placements.replicas
    stays = Search.of(brokers, placements, replace(goal, objective="fewest-moves", tolerance=None)).best()
    keeps_rules = stays is not None and len(stays.replicas.values) == len(now.values)
    if stays and keeps_rules and not copied(placements, stays.replicas).any() and not _evener(brokers, replicas, now):
        replicas = now
    for _ in range(_ROUNDS):
        following = Search.of(brokers, replace(placements, replicas=replicas), goal).best()
        if following is None or not _evener(brokers, following.replicas, replicas):
            break
        replicas = following.replicas
    return replicas


def _evener(brokers: Brokers, replicas: Ragged, others: Ragged) -> bool:
    """Do these replicas have a smaller sum of squares of replicas ÷ weight?"""
    return brokers.unevenness(replicas) < brokers.unevenness(others) * (1 - _ROUNDING)
