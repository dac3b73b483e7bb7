"""The best sets for a goal: those to start from, improved in the order of the goal, and brought below ``capacity_bytes``."""

from dataclasses import dataclass, replace

import numpy as np

from service.core.model import NONE, Bools, Int32s, Int64s, Ragged
from service.planner.reassignments.evenness import band, squares
from service.planner.reassignments.feasibility.feasible import bytes_of_brokers, feasible_sets, fits, packed
from service.planner.reassignments.feasibility.packing import PACKED, Effort
from service.planner.reassignments.model import Brokers, Goal, Placements
from service.planner.reassignments.resources.search import even_out_replicas
from service.planner.reassignments.search.byte_balance import EXCEEDED, Exchanged, balance_bytes
from service.planner.reassignments.search.exchanges import ReplicaSets, in_turns
from service.planner.reassignments.search.paths import improve
from service.planner.reassignments.search.same_rack import Swaps, stay_on_racks
from service.planner.reassignments.search.topic_balance import even_out_topics
from service.planner.reassignments.search.trade import Curve, Record, even_out_freely, trade
from service.planner.reassignments.sets import copied, in_order


@dataclass(frozen=True)
class BestSets:
    """Where the replicas go.

    copies : int64[partitions]   the fewest copies of each partition that is alone in the cluster
    fewest : no sets that are as good in what comes before copies copy fewer replicas; None if it is not known
    evenest : no sets that are as good in what comes before evenness are more even; None if it is not known
    crowded : did replicas have to move again because of ``capacity_bytes``?
    outside : bool[brokers], those that are not within the tolerance of a resource
    on_racks : where they go if more of them are to stay on their rack, which is as good otherwise; None if no more do
    curve : what led there, if there is a limit of copies and replicas are counted
    led : are the leaders first in ``replicas``, as the resources of the goal have them?
    """

    replicas: Ragged
    copies: Int64s
    fewest: int | None
    evenest: float | None
    crowded: bool
    outside: Bools
    on_racks: Ragged | None = None
    curve: Curve | None = None
    led: bool = False


@dataclass(frozen=True)
class _Improved:
    """The proof of an improvement; see BestSets. moves : what ``fits`` returns; replicas : leaders first, if these are chosen"""

    moves: int
    fewest: int | None = None
    evenest: float | None = None
    outside: Bools | None = None
    curve: Curve | None = None
    replicas: Ragged | None = None


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
        return BestSets(
            improved.replicas or in_order(self.brokers, self.placements, self.chosen, state),
            copies,
            improved.fewest,
            improved.evenest,
            improved.moves != 0,
            np.zeros(len(self.brokers), np.bool_) if improved.outside is None else improved.outside,
            self._on_racks(state) if improved.moves == 0 and self.points == 1 and not self.goal.resources else None,
            improved.curve,
            improved.replicas is not None,
        )

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
        return _Improved(moves, outside=outside, replicas=replicas)

    def _copied(self, state: ReplicaSets) -> tuple[int, int]:
        """The replicas and bytes that the sets copy."""
        copies = copied(self.placements, in_order(self.brokers, self.placements, self.chosen, state))
        return int(copies.sum()), int(copies @ self.placements.bytes_of_each())
