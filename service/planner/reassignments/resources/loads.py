"""What a replica takes of its broker: counts, bytes, rates and CPU, as a leader and as a follower.

Clients write to leaders and, unless they fetch from followers, read from them; followers fetch from leaders. So a leader receives
what producers write, and sends that to each follower, and to consumers what they read; a follower receives what producers write.
Cruise Control counts so (``MonitorUtils``: ``fillInReplicationBytesOut``, ``toFollowerMetricValues``).

CPU is estimated by Cruise Control's static model (``ModelUtils.estimateLeaderCpuUtilPerCore``,
``getFollowerCpuUtilFromLeaderLoad``): in proportion to 0.7 × the bytes in of a leader + 0.15 × its bytes out, and 0.15 × the
bytes in of a follower. If the CPU that brokers use is known, a leader takes its part of what its broker uses,
and a follower as much for each byte as its leader.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from service.core.measures import Load, load_of
from service.core.model import Bools, Float64s, Int32s, Int64s, Ragged
from service.planner.reassignments.evenness import band, fewest_copied, fixed_and_most, least_squares, squares
from service.planner.reassignments.model import NO_LIMIT, ROUNDING, Brokers, Goal, Placements, Plan, ResourceEvenness

LEADER_IN: Final = 0.7
LEADER_OUT: Final = 0.15
FOLLOWER_IN: Final = 0.15
"""``leader.network.inbound.weight.for.cpu.util`` and so on, the defaults of ``MonitorConfig``."""


COUNTS: Final = ("replicas", "leaders")
"""Resources of which brokers have whole numbers."""


class Parts(NamedTuple):
    """What a replica of each partition takes of a resource. leader, follower : float64[partitions]"""

    leader: Float64s
    follower: Float64s

    def on_brokers(self, replicas: Ragged, brokers_count: int) -> Float64s:
        """float64[brokers], the load of each. replicas : Ragged partition → brokers, the leader first, none empty"""
        amounts = self.follower[replicas.row_of_each_value()]
        amounts[replicas.offsets[:-1]] = self.leader
        return np.bincount(replicas.values, amounts, brokers_count).astype(np.float64)


def names_of(goal: Goal) -> tuple[str, ...]:
    """The resources of a goal, in the order of their priorities."""
    return tuple(name for level in goal.resources for name, _ in level)


def parts_of(brokers: Brokers, placements: Placements, name: str, factors: Int32s) -> Parts:
    """What replicas take of a resource of this name, one of RESOURCES, whose sizes and rates must be known.

    factors : int32[partitions], the number of replicas of each
    """
    one, nothing = np.ones(len(placements)), np.zeros(len(placements))
    if name in ("replicas", "leaders"):
        return Parts(one, one if name == "replicas" else nothing)
    if name == "bytes":
        sizes = placements.bytes_of_each().astype(np.float64)
        return Parts(sizes, sizes)
    written = nothing if placements.rates is None else placements.rates
    if name in ("bytes_per_second", "leader_bytes_per_second"):
        return Parts(written, written if name == "bytes_per_second" else nothing)
    sent = _sent(placements, factors)
    if name == "bytes_out_per_second":
        return Parts(sent, nothing)
    unit = _cpu_per_weighted_byte(brokers, placements)
    return Parts(unit * (LEADER_IN * written + LEADER_OUT * sent), unit * FOLLOWER_IN * written)


@dataclass(frozen=True)
class Loads:
    """The resources of a goal on the brokers.

    names : of the resources; parts : what the replicas of each partition take; totals : float64[brokers, resources]
    """

    names: tuple[str, ...]
    parts: tuple[Parts, ...]
    totals: Float64s

    @classmethod
    def of(cls, brokers: Brokers, placements: Placements, goal: Goal, replicas: Ragged) -> "Loads":
        """Those of a placement. replicas : Ragged partition → brokers, the leader first"""
        names = names_of(goal)
        parts = tuple(parts_of(brokers, placements, name, replicas.lengths()) for name in names)
        return cls(names, parts, np.stack([each.on_brokers(replicas, len(brokers)) for each in parts], axis=1))

    def scales(self, brokers: Brokers) -> Float64s:
        """float64[resources], the sum of squares ÷ weight of each if it were divided at will; 0 for what nothing takes."""
        usable = brokers.usable
        totals = self.totals[usable].sum(axis=0)
        return np.asarray(totals**2 / max(float(brokers.weights[usable].sum()), 1e-300), np.float64)


def band_of(brokers: Brokers, name: str, totals: Float64s, tolerance: float) -> tuple[Float64s, Float64s]:
    """float64[brokers] twice, ``band`` of a resource; what is not counted is not rounded. totals : float64[brokers], its loads"""
    if name in COUNTS:
        low, high = band(brokers.usable, brokers.weights, totals.astype(np.int64), tolerance)
        return low.astype(np.float64), high.astype(np.float64)
    usable = brokers.usable
    shares = np.where(usable, brokers.weights, 0.0) * totals[usable].sum() / max(float(brokers.weights[usable].sum()), 1e-300)
    return shares * max(0.0, 1 - tolerance), shares * (1 + tolerance)


def placed_loads(brokers: Brokers, placements: Placements, replicas: Ragged) -> tuple[Load, Load]:
    """The load now, and with other replicas (Ragged partition → brokers), of every resource that is known.

    Now, the evenness counts each broker that is live: those to be emptied still have their part. Afterwards it counts the
    brokers that may have replicas.
    """
    names = ["bytes"] * (placements.sizes is not None)
    if placements.rates is not None:
        names += ["bytes_per_second", "leader_bytes_per_second"]
        names += ["bytes_out_per_second", "cpu"] * (placements.read_rates is not None)

    def load(rows: Ragged, counted: Bools) -> Load:
        parts = ((name, parts_of(brokers, placements, name, rows.lengths())) for name in names)
        known = {name: each.on_brokers(rows, len(brokers)) for name, each in parts}
        counts = load_of(brokers.cluster, rows, counted)
        return Load({**counts.totals, **known}, counted)

    return load(placements.replicas, brokers.live), load(replicas, brokers.usable)


def _sent(placements: Placements, factors: Int32s) -> Float64s:
    """float64[partitions], the bytes per second that a leader sends to consumers and followers."""
    sent = np.zeros(len(placements)) if placements.read_rates is None else placements.read_rates
    return sent if placements.rates is None else sent + placements.rates * (factors - 1)


def _cpu_per_weighted_byte(brokers: Brokers, placements: Placements) -> Float64s:
    """float64[partitions], the CPU that the current leader's broker uses for each weighted byte per second; 1 if unknown.

    A broker whose CPU is not known, for it is gone, uses as much for each as all others together.
    """
    if brokers.cpu_usage is None or placements.rates is None:
        return np.ones(len(placements))
    now, written = placements.replicas, placements.rates
    weighted = Parts(LEADER_IN * written + LEADER_OUT * _sent(placements, now.lengths()), FOLLOWER_IN * written)
    work = weighted.on_brokers(now, len(brokers))
    known = ~np.isnan(brokers.cpu_usage) & (work > 0)
    total = work[known].sum()
    every = brokers.cpu_usage[known].sum() / total if total else 0.0
    unit = np.full(len(brokers), every)
    unit[known] = brokers.cpu_usage[known] / work[known]
    return unit[now.firsts()]


_STEPS: Final = 200
"""Halvings of an interval: more than a float has digits."""


def evenness_of_resources(
    brokers: Brokers, placements: Placements, goal: Goal, replicas: Ragged, copies: Int64s | None
) -> tuple[ResourceEvenness, ...]:
    """The resources of the goal. replicas : leaders first; copies : as in ``least_unevenness``"""
    loads, now = Loads.of(brokers, placements, goal, replicas), placements.replicas
    rows, usable = now.row_of_each_value(), brokers.usable
    excluded, leads, found = placements.excluded[rows], np.zeros(len(rows), np.bool_), []
    leads[now.offsets[:-1]] = True
    of_amounts = fixed_and_most(brokers, placements, copies)
    limits_of = {"bytes": brokers.capacity_bytes, "replicas": brokers.max_replicas}
    for name, part, totals in zip(loads.names, loads.parts, loads.totals.T, strict=True):
        # Of a partition that may change any replica may lead, so what stays takes at least the lesser of the two.
        leader, follower = (each[rows] for each in part)
        of_excluded = np.where(leads, leader, follower)
        least, most = (np.where(excluded, of_excluded, bound(leader, follower)) for bound in (np.minimum, np.maximum))
        limits = limits_of.get(name, np.full(len(brokers), NO_LIMIT))
        fixed, most_of_each = of_amounts(least, most, limits)
        fixed = np.where(usable, fixed, 0.0)
        more = max(0.0, float(totals[usable].sum() - fixed.sum()))
        value = squares(brokers, totals)
        if name in COUNTS:
            bound = _filled_whole(brokers, fixed, round(fixed.sum() + more), most_of_each)
        else:
            bound = least_squares(brokers, fixed, more, most_of_each)
        found.append(ResourceEvenness(name, value, min(value, bound * (1 - ROUNDING / 10))))
    return tuple(found)


def weighted(goal: Goal, resources: tuple[ResourceEvenness, ...], scales: Float64s) -> tuple[float, float]:
    """The value and the bound of the evenness of the first priority: the weighted sum of its resources, each ÷ its scale.

    scales : float64[resources], the sums of squares of the resources divided at will; 0 for what nothing takes
    """
    of_first = zip(goal.resources[0], resources, scales.tolist(), strict=False)
    first = [(weight / scale, each) for (_, weight), each, scale in of_first if scale > 0]
    return sum(share * each.value for share, each in first), sum(share * each.lower_bound for share, each in first)


def fewest_for_resources(brokers: Brokers, placements: Placements, goal: Goal, best: Plan) -> int:
    """A bound of the replicas that any plan copies which is as even as this one, or within the tolerance as it is.

    That is the most of what each resource needs by itself.
    """
    if goal.objective != "even" or len(best.outside):
        return 0
    loads, first = Loads.of(brokers, placements, goal, best.replicas), len(goal.resources[0])
    scales, fewest = loads.scales(brokers), 0
    shares = [
        weight / scale if scale > 0 else 0.0 for (_, weight), scale in zip(goal.resources[0], scales.tolist(), strict=False)
    ]
    for i, (name, part) in enumerate(zip(loads.names, loads.parts, strict=True)):
        most: float | tuple[Float64s, Float64s] | None = None
        if goal.tolerance is not None:
            low, high = band_of(brokers, name, loads.totals[:, i], goal.tolerance)
            most = low * (1 - ROUNDING), high * (1 + ROUNDING)
        elif i < first and shares[i] > 0:  # of the sum of the first priority, the others leave no more than this
            most = best.resources[i].lower_bound + (best.evenness - best.evenness_bound) / shares[i]
        if most is not None:
            fewest = max(fewest, fewest_copied(brokers, placements, part, most)[0])
    return fewest


def _filled_whole(brokers: Brokers, fixed: Float64s, total: int, limits: Float64s) -> float:
    """The least sum of squares ÷ weight with ``total`` whole replicas. fixed, limits : as of ``least_squares``"""
    weights = np.where(brokers.usable, brokers.weights, 0.0)
    most = np.maximum(fixed, np.where(brokers.usable, limits, np.inf))

    def up_to(level: float) -> Float64s:  # all replicas that add at most this much each
        return np.clip(np.floor((level * weights + 1) / 2), fixed, most)

    low, high = 0.0, 2.0 * (total + 1.0) / max(float(brokers.weights[brokers.usable].min(initial=1.0)), 1e-300)
    for _ in range(_STEPS):
        level = (low + high) / 2
        low, high = (level, high) if up_to(level).sum() <= total else (low, level)
    return squares(brokers, up_to(low)) + low * max(0.0, total - float(up_to(low).sum()))
