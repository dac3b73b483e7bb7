"""Plans by trying everything: the plain twin of ``service.planner.reassignments``, for small clusters."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from service.planner.reassignments.model import Brokers, Goal, Placements


def allowed_sets(
    brokers: Brokers, now: list[int], factor: int, rule: str, *, within: Any = None, hold: bool = False, pinned: bool = True
) -> list[frozenset[int]]:
    """Every set of brokers that a partition may have by itself.

    within : bool[brokers], its broker set; None: all
    hold : replicas stay on a broker that replaces another; pinned : and go there from the broker that is replaced
    """
    keeps = brokers.usable if within is None else brokers.usable & within
    racks = brokers.racks().tolist()
    must = set()
    if factor >= len(now):
        must = {int(brokers.replaced_by[b]) for b in now} - {-1} - set(now)
    homes = [int(brokers.replaced_by[b]) if int(brokers.replaced_by[b]) in must else b for b in now]
    if hold and factor >= len(now):
        must |= set(brokers.replaced_by.tolist()) & set(now)
    usable = [
        b for b in range(len(brokers)) if keeps[b] and (b in homes or not (brokers.cordoned[b] or not brokers.destinations[b]))
    ]
    sizes = {rack: sum(racks[b] == rack for b in usable) for rack in {racks[b] for b in usable}}
    level = next((n for n in range(factor + 1) if sum(min(size, n) for size in sizes.values()) >= factor), factor)
    sets = []
    for chosen in map(frozenset, combinations(usable, factor)):
        on = {rack: sum(racks[b] == rack for b in chosen) for rack in sizes}
        if rule == "strict" and sum(count > 0 for count in on.values()) < min(factor, len(sizes)):
            continue
        if rule == "spread" and any(
            count > max(level, sum(racks[b] == rack and keeps[b] for b in homes)) for rack, count in on.items()
        ):
            continue
        if must <= chosen or not pinned:
            sets.append(chosen)
    return sets


def broker_set(placements: Placements, partition: int) -> Any:
    """bool[brokers], the brokers that a partition may be on whatever else is against it; None: all"""
    sets = placements.broker_sets
    return None if sets is None else sets.allowed[sets.rows[partition]]


def best(brokers: Brokers, placements: Placements, goal: Goal) -> tuple[Any, ...] | None:
    """The least (copies, sum of squares ÷ weight), in the order of the objective; None if no placement keeps the rules.

    With "even", replicas stay on a broker that replaces another if the rules allow that for all of them.
    """
    held = _best(brokers, placements, goal, hold=True) if goal.objective == "even" else None
    return held or _best(brokers, placements, goal, hold=False)


def _best(brokers: Brokers, placements: Placements, goal: Goal, *, hold: bool) -> tuple[Any, ...] | None:
    rows = [placements.replicas.row(i).tolist() for i in range(len(placements))]
    choices = [
        [frozenset(row)]
        if placements.excluded[i]
        else allowed_sets(
            brokers, row, int(placements.replication_factors[i]), goal.racks, within=broker_set(placements, i), hold=hold
        )
        for i, row in enumerate(rows)
    ]
    found, sizes = None, placements.bytes_of_each()
    for sets in product(*choices):
        counts = [sum(b in chosen for chosen in sets) for b in range(len(brokers))]
        if any(counts[b] > brokers.max_replicas[b] for b in range(len(brokers)) if brokers.usable[b]):
            continue
        loads = [sum(int(sizes[i]) for i, chosen in enumerate(sets) if b in chosen) for b in range(len(brokers))]
        if any(loads[b] > brokers.capacity_bytes[b] for b in range(len(brokers)) if brokers.usable[b]):
            continue
        if not leaders_possible(placements, sets):
            continue
        value = judged(brokers, rows, sets, goal, None if goal.balance == "replicas" else sizes)
        if found is None or value < found:
            found = value
    return found


def leaders_possible(placements: Placements, sets: Any) -> bool:
    """Can each broker lead as many partitions of each topic as it is to? By augmenting paths, one for each leader needed."""
    least = placements.topic_leaders
    if least is None:
        return True
    needs = zip(least.topics.tolist(), least.brokers.tolist(), least.least.tolist(), strict=True)
    wanted = [(topic, broker) for topic, broker, number in needs for _ in range(number)]
    leads: dict[int, int] = {}  # partition → the wanted leader that it is

    def find(at: int, seen: set[int]) -> bool:
        topic, broker = wanted[at]
        for i, chosen in enumerate(sets):
            able = placements.replicas.row(i)[0] == broker if placements.excluded[i] else broker in chosen
            if placements.topics[i] == topic and able and i not in seen:
                seen.add(i)
                if i not in leads or find(leads[i], seen):
                    leads[i] = at
                    return True
        return False

    return all(find(at, set()) for at in range(len(wanted)))


def judged(brokers: Brokers, rows: list[list[int]], sets: Any, goal: Goal, sizes: Any = None) -> tuple[Any, ...]:
    """The value of some sets: what ``best`` makes least. sizes : what a replica of each partition counts; None: 1"""
    each = [1] * len(rows) if sizes is None else [int(size) for size in sizes]
    copies = sum(len(set(chosen) - set(row)) * size for chosen, row, size in zip(sets, rows, each, strict=True))
    counts = [sum(size for chosen, size in zip(sets, each, strict=True) if b in chosen) for b in range(len(brokers))]
    weights = [float(weight) for weight in brokers.weights]
    squares = round(sum(counts[b] ** 2 / weights[b] for b in range(len(brokers)) if brokers.usable[b]), 9)
    return (copies, squares) if goal.objective == "fewest-moves" else (squares, copies)


def best_leaders(brokers: Brokers, lists: list[list[int]], leaders: list[int], free: list[bool]) -> tuple[float, int]:
    """The least (sum of squares of leaders ÷ weight, changes), over all choices of a usable leader for the free partitions, a
    demoted one only where there is no other.
    """
    usable = [[b for b in row if brokers.usable[b]] for row in lists]
    options = [
        [b for b in some if not brokers.demoted[b]] or some or row[:1] if may else row[:1]
        for row, some, may in zip(lists, usable, free, strict=True)
    ]
    values = []
    for chosen in product(*options):
        counts = [chosen.count(b) for b in range(len(brokers))]
        squares = sum(counts[b] ** 2 / float(brokers.weights[b]) for b in range(len(brokers)) if brokers.usable[b])
        values.append((round(squares, 9), sum(a != b for a, b in zip(chosen, leaders, strict=True))))
    return min(values)


def best_by_program(
    brokers: Brokers, placements: Placements, goal: Goal, around: tuple[Any, Any] | None = None
) -> tuple[int, int]:
    """The least (copies, sum of squares) of a cluster with racks and equal weights, as an integer program. For "strict".

    around : the least and the most replicas of each broker; the limit of copies is the goal's
    """
    partitions, count = len(placements), len(brokers)
    factor = placements.replication_factors.tolist()
    racks = brokers.racks()
    permitted = np.tile(brokers.receiving, (partitions, 1))
    placed = partitions * count
    steps = partitions * count  # step k of a broker costs 2k + 1
    copies = np.ones((partitions, count))
    for partition in range(partitions):
        copies[partition, placements.replicas.row(partition)] = 0
        permitted[partition, placements.replicas.row(partition)] = True
        within = broker_set(placements, partition)
        permitted[partition] &= brokers.usable & (True if within is None else within)
    squares = np.tile(2 * np.arange(partitions) + 1, (count, 1))
    first, second = (10_000.0, 1.0) if goal.objective == "fewest-moves" else (1.0, 10_000.0)
    cost = np.concatenate([first * copies.ravel(), second * squares.ravel()])
    upper = np.concatenate([permitted.ravel(), np.ones(steps)]).astype(float)
    rows, least, most = [], [], []

    def rule(low: float, high: float) -> np.ndarray:
        rows.append(np.zeros(placed + steps))
        least.append(low)
        most.append(high)
        return rows[-1]

    for partition in range(partitions):
        rule(factor[partition], factor[partition])[partition * count : (partition + 1) * count] = 1
        names = np.unique(racks[permitted[partition]])
        for rack in names:
            few = factor[partition] <= len(names)
            rule(0 if few else 1, 1 if few else np.inf)[
                partition * count + np.flatnonzero((racks == rack) & permitted[partition])
            ] = 1
    for b in range(count):
        row = rule(0, 0)
        row[b:placed:count] = 1
        row[placed + b * partitions : placed + (b + 1) * partitions] = -1
        rule(0, min(float(brokers.max_replicas[b]), 1e9))[b:placed:count] = 1
        if around is not None and brokers.usable[b]:
            rule(float(around[0][b]), float(around[1][b]))[b:placed:count] = 1
    if goal.max_moves is not None:
        rule(0, goal.max_moves)[:placed] = copies.ravel()
    solved = milp(
        cost, constraints=LinearConstraint(np.array(rows), least, most), bounds=Bounds(0, upper), integrality=np.ones(len(cost))
    )
    answer = np.round(solved.x)
    return int(copies.ravel() @ answer[:placed]), int(squares.ravel() @ answer[placed:])


def filled_greedily(brokers: Brokers, placements: Placements) -> tuple[int, np.ndarray]:
    """Copies, and replicas of each broker, when holes are filled and then the fullest broker gives to the emptiest.

    In topicmappr's manner: one partition after another, a replica on a broker that has to be left goes to the broker with the
    fewest replicas on a rack that the partition is not on; then, as long as it lowers the difference, a replica goes from the
    fullest to the emptiest such broker.
    """
    rows = [set(placements.replicas.row(i).tolist()) for i in range(len(placements))]
    now = [set(row) for row in rows]
    usable = [b for b in range(len(brokers)) if brokers.usable[b]]
    racks = brokers.racks().tolist()
    counts = np.bincount(placements.replicas.values, minlength=len(brokers))

    def fits(row: set[int], b: int) -> bool:
        return b not in row and all(racks[b] != racks[other] for other in row)

    for row in rows:
        for a in sorted(row - set(usable)):
            row.discard(a)
            counts[a] -= 1
            b = min((b for b in usable if fits(row, b)), key=lambda b: (counts[b], b))
            row.add(b)
            counts[b] += 1
    on = {b: [i for i, row in enumerate(rows) if b in row] for b in usable}
    moved = True
    while moved:
        moved = False
        for a in sorted(usable, key=lambda b: -counts[b]):
            for i in on[a]:
                rest = rows[i] - {a}
                b = min((b for b in usable if b != a and fits(rest, b)), key=lambda b: (counts[b], b), default=a)
                if counts[b] + 1 < counts[a]:
                    rows[i] = rest | {b}
                    on[a].remove(i)
                    on[b].append(i)
                    counts[a] -= 1
                    counts[b] += 1
                    moved = True
                    break
            if moved:
                break
    return sum(len(row - old) for row, old in zip(rows, now, strict=True)), counts
