"""Loads of several resources, partition by partition, and the best of all placements: the plain twin of
``service.planner.reassignments.resources.loads`` and of what ``resources.balance`` makes least.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from service.planner.reassignments.model import Brokers, Goal, Placements
from tests.reference.reassignments import allowed_sets, broker_set

Lists = list[list[int]]


def parts(brokers: Brokers, placements: Placements, partition: int, factor: int) -> dict[str, tuple[float, float]]:
    """What the leader and a follower of a partition take of each resource."""
    written = 0.0 if placements.rates is None else float(placements.rates[partition])
    read = 0.0 if placements.read_rates is None else float(placements.read_rates[partition])
    size = 0.0 if placements.sizes is None else float(placements.sizes[partition])
    sent = read + (factor - 1) * written
    unit = _cpu_unit(brokers, placements, int(placements.replicas.row(partition)[0]))
    return {
        "replicas": (1.0, 1.0),
        "leaders": (1.0, 0.0),
        "bytes": (size, size),
        "bytes_per_second": (written, written),
        "leader_bytes_per_second": (written, 0.0),
        "bytes_out_per_second": (sent, 0.0),
        "cpu": (unit * (0.7 * written + 0.15 * sent), unit * 0.15 * written),
    }


def _cpu_unit(brokers: Brokers, placements: Placements, broker: int) -> float:
    """The CPU of a broker for each weighted byte, as Cruise Control divides it."""
    if brokers.cpu_usage is None:
        return 1.0
    work = [0.0] * len(brokers)
    for partition in range(len(placements)):
        written, read = float(placements.rates[partition]), float(placements.read_rates[partition])  # type: ignore[index]
        row = placements.replicas.row(partition).tolist()
        work[row[0]] += 0.7 * written + 0.15 * (read + (len(row) - 1) * written)
        for follower in row[1:]:
            work[follower] += 0.15 * written
    known = [b for b in range(len(brokers)) if not np.isnan(brokers.cpu_usage[b]) and work[b] > 0]
    if broker in known:
        return float(brokers.cpu_usage[broker]) / work[broker]
    return sum(float(brokers.cpu_usage[b]) for b in known) / sum(work[b] for b in known) if known else 0.0


def loads(brokers: Brokers, placements: Placements, name: str, rows: Lists) -> list[float]:
    """The load of each broker. rows : the replicas of each partition, the leader first"""
    totals = [0.0] * len(brokers)
    for partition, row in enumerate(rows):
        leader, follower = parts(brokers, placements, partition, len(row))[name]
        for i, b in enumerate(row):
            totals[b] += follower if i else leader
    return totals


def sums(brokers: Brokers, placements: Placements, goal: Goal, rows: Lists) -> list[list[float]]:
    """For each priority the sum of load² ÷ weight of each of its resources, 1 if it is divided at will."""
    found = []
    for level in goal.resources:
        found.append([])
        for name, weight in level:
            of_brokers = loads(brokers, placements, name, rows)
            usable = [b for b in range(len(brokers)) if brokers.usable[b]]
            total, weights = sum(of_brokers[b] for b in usable), sum(float(brokers.weights[b]) for b in usable)
            squares = sum(of_brokers[b] ** 2 / float(brokers.weights[b]) for b in usable)
            found[-1].append(weight * squares * weights / total**2 if total else 0.0)
    return found


def every_placement(brokers: Brokers, placements: Placements, goal: Goal) -> Iterator[Lists]:
    """Every placement that keeps the rules, with every leader that may lead."""
    choices = []
    for partition in range(len(placements)):
        row = placements.replicas.row(partition).tolist()
        if placements.excluded[partition]:
            choices.append([row])
            continue
        factor = int(placements.replication_factors[partition])
        sets = allowed_sets(brokers, row, factor, goal.racks, within=broker_set(placements, partition))
        lists = []
        for chosen in map(sorted, sets):
            may = [b for b in chosen if not brokers.demoted[b]] or chosen
            lists += [[b, *(other for other in chosen if other != b)] for b in may]
        choices.append(lists)
    for rows in product(*choices):
        counts = np.bincount([b for row in rows for b in row], minlength=len(brokers))
        used = np.zeros(len(brokers), np.int64)
        for partition, row in enumerate(rows):
            used[row] += placements.bytes_of_each()[partition]
        if ((counts <= brokers.max_replicas) & (used <= brokers.capacity_bytes))[brokers.usable].all():
            yield list(rows)
