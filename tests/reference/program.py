"""Plans by an integer program, over every option: the plain twin of ``service.planner.reassignments``, for small clusters.

``Program`` is the set of all placements that keep the rules. It says which rules a plan breaks, whether there is a placement at
all, and the least of what a goal counts. What is evened out must be whole numbers: then the square of a load is the most of the
lines through two neighbouring squares, and lines are added until the least is one.
"""

from __future__ import annotations

from collections import defaultdict
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from service.planner.reassignments.model import NO_LIMIT
from tests.reference.reassignments import broker_set
from tests.reference.resources import parts

if TYPE_CHECKING:
    from service.planner.reassignments.model import Brokers, Goal, Placements

Lists = list[list[int]]
Loads = dict[int, dict[int, float]]
FAR = 1e9
NODES = 1000


class Undecided(Exception):
    """The program has not come to an end after so many nodes."""


class Program:
    """Which broker has and leads which partition: a variable for each pair, first all that have it, then all that lead it."""

    def __init__(self, brokers: Brokers, placements: Placements, goal: Goal, *, hold: bool = False) -> None:
        self.brokers, self.placements, self.goal = brokers, placements, goal
        self.count = len(brokers)
        self.places = len(placements) * self.count
        self.now = [placements.replicas.row(i).tolist() for i in range(len(placements))]
        self.rules: list[tuple[str, dict[int, float], float, float]] = []
        self.most = np.zeros(2 * self.places)
        for partition, row in enumerate(self.now):
            if placements.excluded[partition] or goal.only_leaders:
                for b in row:
                    self.fix(partition, b)
            else:
                self.place(partition, row, hold=hold)
            self.lead(partition, row)
        if not goal.only_leaders:
            self.limit("max_replicas", brokers.max_replicas, [1] * len(placements))
            self.limit("capacity_bytes", brokers.capacity_bytes, placements.bytes_of_each().tolist())
        self.lead_topics()

    def rule(self, name: str, columns: dict[int, float], low: float, high: float) -> None:
        """A rule of the sum of some variables, each with its factor."""
        self.rules.append((name, columns, low, min(high, FAR)))

    def has(self, partition: int, b: int) -> int:
        """The variable of a replica."""
        return partition * self.count + b

    def leads(self, partition: int, b: int) -> int:
        """The variable of a leader."""
        return self.places + self.has(partition, b)

    def fix(self, partition: int, b: int) -> None:
        """The broker has a replica."""
        self.most[self.has(partition, b)] = 1
        self.rule("stays", {self.has(partition, b): 1}, 1, 1)

    def place(self, partition: int, row: list[int], *, hold: bool) -> None:
        """The rules of one partition's replicas."""
        brokers, factor = self.brokers, int(self.placements.replication_factors[partition])
        within, racks = broker_set(self.placements, partition), brokers.racks().tolist()
        keeps = brokers.usable if within is None else brokers.usable & within
        takes_over = {b: int(brokers.replaced_by[b]) for b in row} if factor >= len(row) else {}
        must = set(takes_over.values()) - {-1} - set(row)
        homes = [takes_over[b] if takes_over.get(b) in must else b for b in row]
        if hold and factor >= len(row):
            must |= set(brokers.replaced_by.tolist()) & set(row)
        usable = [b for b in range(self.count) if keeps[b] and (b in homes or brokers.receiving[b])]
        for b in must:
            self.rule("replaces", {self.has(partition, b): 1}, 1, 1)
        for b in usable:
            self.most[self.has(partition, b)] = 1
        self.rule("replication factor", {self.has(partition, b): 1 for b in usable}, factor, factor)
        of_rack = {rack: [b for b in usable if racks[b] == rack] for rack in {racks[b] for b in usable}}
        few = factor <= len(of_rack)
        level = next((n for n in range(factor) if sum(min(len(some), n) for some in of_rack.values()) >= factor), factor)
        for rack, some in of_rack.items():
            low, high = 0.0, FAR
            if self.goal.racks == "strict":
                low, high = (0, 1) if few else (1, FAR)
            elif self.goal.racks == "spread":
                high = max(level, sum(racks[b] == rack and keeps[b] for b in homes))
            self.rule("racks", {self.has(partition, b): 1 for b in some}, low, high)

    def lead(self, partition: int, row: list[int]) -> None:
        """One of the replicas leads, a demoted one only where there is no other."""
        brokers = self.brokers
        if self.placements.excluded[partition]:
            self.most[self.leads(partition, row[0])] = 1
            self.rule("leader stays", {self.leads(partition, row[0]): 1}, 1, 1)
            return
        rank = np.where(brokers.usable, np.where(brokers.demoted, 1, 2), 0)
        able = [b for b in range(self.count) if self.most[self.has(partition, b)]]
        self.rule("one leader", {self.leads(partition, b): 1 for b in able}, 1, 1)
        for b in able:
            self.most[self.leads(partition, b)] = 1
            self.rule("leader has it", {self.leads(partition, b): 1, self.has(partition, b): -1}, -1, 0)
            for other in able:
                if rank[other] > rank[b]:
                    self.rule("demoted", {self.leads(partition, b): 1, self.has(partition, other): 1}, 0, 1)
        if self.goal.leaders in ("keep", "demote") and rank[row[0]] == 2 and self.placements.topic_leaders is None:
            self.rule("keeps leader", {self.leads(partition, row[0]): 1, self.has(partition, row[0]): -1}, 0, 1)

    def limit(self, name: str, most: Any, amounts: list[int]) -> None:
        """What a broker may have at most."""
        for b in np.flatnonzero(self.brokers.usable & (most != NO_LIMIT)).tolist():
            self.rule(name, {self.has(i, b): amount for i, amount in enumerate(amounts)}, 0, float(most[b]))

    def lead_topics(self) -> None:
        """How many partitions of a topic a broker leads at least."""
        least = self.placements.topic_leaders
        if least is None:
            return
        for topic, b, number in zip(least.topics.tolist(), least.brokers.tolist(), least.least.tolist(), strict=True):
            of_topic = np.flatnonzero(self.placements.topics == topic).tolist()
            self.rule("min_topic_leaders", {self.leads(i, b): 1 for i in of_topic}, number, FAR)

    def _chosen(self, rows: Lists) -> Any:
        """The variables of a plan."""
        chosen = np.zeros(2 * self.places)
        for i, row in enumerate(rows):
            chosen[[self.has(i, b) for b in row]] = 1
            chosen[self.leads(i, row[0])] = 1
        return chosen

    def copies(self, *, in_bytes: bool = False) -> dict[int, float]:
        """The replicas, or bytes, that a placement copies."""
        sizes = self.placements.bytes_of_each().tolist() if in_bytes else [1] * len(self.now)
        return {
            self.has(i, b): sizes[i] for i, row in enumerate(self.now) for b in range(self.count) if b not in row and sizes[i]
        }

    def load(self, name: str) -> Loads:
        """What each usable broker has of a resource, whole numbers: CPU in twentieths."""
        found: Loads = defaultdict(dict)
        unit = 20 if name == "cpu" else 1
        for i in range(len(self.now)):
            lengths = len(self.now[i]) if self.placements.excluded[i] else int(self.placements.replication_factors[i])
            leader, follower = parts(self.brokers, self.placements, i, lengths)[name]
            for b in np.flatnonzero(self.brokers.usable).tolist():
                found[b][self.has(i, b)] = round(follower * unit)
                found[b][self.leads(i, b)] = round((leader - follower) * unit)
        return found

    def broken(self, rows: Lists) -> set[str]:
        """The names of the rules that a plan breaks. rows : the replicas of each partition, the leader first"""
        chosen = self._chosen(rows)
        names = {name for name, columns, low, high in self.rules if not low <= total(columns, chosen) <= high}
        return names | ({"may not be there"} if (chosen > self.most).any() else set())

    def counted(self, rows: Lists) -> tuple[int, int]:
        """The replicas and bytes that a plan copies."""
        comes = [set(row) - set(now) for row, now in zip(rows, self.now, strict=True)]
        sizes = self.placements.bytes_of_each().tolist()
        return sum(map(len, comes)), sum(len(some) * size for some, size in zip(comes, sizes, strict=True))

    def loads_of(self, rows: Lists, loads: Loads) -> Any:
        """int64[brokers], the loads of a plan."""
        chosen = self._chosen(rows)
        return np.array([round(total(loads.get(b, {}), chosen)) for b in range(self.count)], np.int64)

    def with_rule(self, *rule: Any) -> Program:
        """The same with another rule."""
        other = copy(self)
        other.rules = [*self.rules]
        other.rule(*rule)
        return other

    def least(self, amounts: dict[int, float], loads: Loads | None = None, most: float = np.inf) -> float | None:
        """The least sum of amounts, with an evenness of at most so much; None if no placement keeps the rules."""
        solved = self._least(amounts, loads or {}, most)
        return None if solved is None else round(total(amounts, solved))

    def evenest(self, loads: Loads) -> float | None:
        """The least sum of load² ÷ weight over the brokers; None if no placement keeps the rules."""
        solved = self._least({}, loads, np.inf)
        return None if solved is None else self._squares(loads, solved)

    def _squares(self, loads: Loads, solved: Any) -> float:
        return sum(float(round(total(load, solved))) ** 2 / float(self.brokers.weights[b]) for b, load in loads.items())

    def _least(self, amounts: dict[int, float], loads: Loads, most: float) -> Any:
        """The variables with the least amounts, or without any, of the evenest."""
        lines: set[tuple[int, int]] = set()
        around = {(at, 0) for at in range(len(loads))}
        squares = {2 * self.places + at: 1 / float(self.brokers.weights[b]) for at, b in enumerate(loads)}
        within = [(squares, -np.inf, most + 1e-6)] if most < np.inf else []
        while True:
            lines |= around
            rows = []
            for at, k in sorted(lines):  # z ≥ (2k + 1) × load − k(k + 1)
                columns = {column: (2 * k + 1) * amount for column, amount in list(loads.values())[at].items()}
                rows.append(({**columns, 2 * self.places + at: -1}, -np.inf, k * (k + 1)))
            solved = self._solve(amounts or squares, rows + within, len(loads))
            if solved is None or not loads:
                return solved
            value = self._squares(loads, solved)
            if value <= (most if amounts else total(squares, solved)) * (1 + 1e-9) + 1e-6:
                return solved
            reached = [round(total(load, solved)) for load in loads.values()]
            around = {(at, max(0, load + step)) for at, load in enumerate(reached) for step in (-1, 0)}

    def _solve(self, costs: dict[int, float], lines: list[Any], more: int) -> Any:
        """The variables at the least cost, rounded where they are whole. lines : rules of them and of ``more`` real ones"""
        width = 2 * self.places + more
        rows = [(columns, low, high) for _, columns, low, high in self.rules] + lines
        at_row = [row for row, (columns, _, _) in enumerate(rows) for _ in columns]
        at_column = [column for columns, _, _ in rows for column in columns]
        factors = [factor for columns, _, _ in rows for factor in columns.values()]
        matrix = csr_array((factors, (at_row, at_column)), shape=(len(rows), width))
        objective = np.zeros(width)
        objective[list(costs)] = list(costs.values())
        solved = milp(
            objective,
            constraints=LinearConstraint(matrix, [low for _, low, _ in rows], [high for _, _, high in rows]),
            bounds=Bounds(0, np.append(self.most, np.full(more, np.inf))),
            integrality=np.append(np.ones(2 * self.places), np.zeros(more)),
            options={"mip_rel_gap": 0.0, "node_limit": NODES},
        )
        if solved.status == 2:
            return None
        if solved.status != 0:
            raise Undecided(solved.message)
        return np.append(np.round(solved.x[: 2 * self.places]), solved.x[2 * self.places :])


def total(columns: dict[int, float], chosen: Any) -> float:
    """A sum of variables."""
    return float(sum(factor * chosen[column] for column, factor in columns.items()))
