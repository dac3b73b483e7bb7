"""Copies against evenness: the evenest placement with each number of copies, from the fewest to those of the evenest.

*Question*: how even can the brokers be within a number of copies?

*Algorithm*: the sum of squares + λ × copies is again a minimum-cost flow with a convex cost at each broker. From the sets with
the fewest copies, which are the best for a large λ, follow one path of exchanges after another, each time the one that gains most
per copy. Then the sets are the best for λ = gain ÷ copies of that path (successive shortest paths), so no others with as few
copies are more even. Between two points of this curve, where a path copies several replicas, the line between them is a bound.

A path a → b gains (last replica on a) - (one more on b) in the sum of squares. The paths from all brokers are searched together:
the label of a broker is the most of den × (last replica on a) - num × copies over all paths from any a to it, for λ = num ÷ den.
The best ratio is found by Dinkelbach's iteration. All of it is exact, in integers (``_scale``).

Source: Ahuja, Magnanti and Orlin, Network Flows, on parametric flows; Dinkelbach, On Nonlinear Fractional Programming (1967).
"""

from dataclasses import dataclass
from math import ceil, floor, lcm
from typing import Final, NamedTuple, Self

import numpy as np

from service.core.kernels import borrowing_kernel, inner_kernel, kernel
from service.core.model import NONE, Bools, Float64s, Int32s, Int64s
from service.planner.reassignments.search.exchanges import DONE, IMPOSSIBLE, MORE, TURN, ReplicaSets, in_turns, list_exchanges
from service.planner.reassignments.search.paths import (
    COST_BIT,
    FAR,
    MOST,
    cancel,
    carry_out,
    exchange_all,
    find_all,
    is_lighter,
    path_to,
    search,
    weighs,
)

_LARGEST: Final = 2**60
"""Labels stay below it."""


_ROUNDING: Final = 1e-12


@dataclass(frozen=True)
class Curve:
    """Points in the order of their copies, the first before anything was copied for evenness.

    copies, amounts : int64[points], replicas and bytes copied
    sums : float64[points], the sum of load² ÷ weight over the brokers; load : replicas or bytes
    least, most, deviations : float64[points]   the least and the most load ÷ weight of a broker, and their standard deviation
    fits : bool[points], within all capacities
    corner : copies and sum of the last point that is proven the evenest with so few copies; later ones fill up a limit
    slope : how much of the sum a copy more than there gains at most; 0.0 if there is nothing to gain
    step : sums differ by multiples of it
    optimal : whether there are such points at all
    """

    copies: Int64s
    amounts: Int64s
    sums: Float64s
    least: Float64s
    most: Float64s
    deviations: Float64s
    fits: Bools
    corner: tuple[int, float]
    slope: float
    step: float
    optimal: bool

    def __len__(self) -> int:
        return len(self.copies)

    def at(self, copies: Int64s) -> Float64s:
        """float64[...], no sets that copy so many replicas have a smaller sum: on the line between two points."""
        return np.interp(copies, self.copies, self.sums)

    def bound(self, copies: int) -> float:
        """No sets that copy at most this number of replicas, and at least those of the corner, have a smaller sum."""
        fewest, total = self.corner
        most_gained = self.slope * max(0, copies - fewest)
        return total - self.step * floor(most_gained / self.step * (1 + _ROUNDING))

    def fewest(self, total: float) -> int:
        """Sets with a sum as small as this, at most that of the corner, copy at least this number of replicas."""
        fewest, most = self.corner
        gained = most - total
        return fewest if gained <= 0 or self.slope <= 0 else fewest + ceil(gained / self.slope * (1 - _ROUNDING))


class Record(NamedTuple):
    """What a search copies and may copy, for kernels.

    limits, copied : int64[2]   the most replicas and bytes to copy, and how much is copied
    sizes : int64[partitions of the state], bytes
    loads, capacities : int64[brokers], bytes
    points : int64[1]; copies, amounts, sums, least, most, deviations, fits : as in Curve
    """

    limits: Int64s
    copied: Int64s
    sizes: Int64s
    loads: Int64s
    capacities: Int64s
    points: Int64s
    copies: Int64s
    amounts: Int64s
    sums: Float64s
    least: Float64s
    most: Float64s
    deviations: Float64s
    fits: Bools

    @classmethod
    def start(
        cls, limits: Int64s, copied: tuple[int, int], sizes: Int64s, loads: Int64s, capacities: Int64s, keep: int = 1
    ) -> Self:
        """Before the first point. keep : the most points that are kept; of more, the first and the last"""
        copies, amounts = np.zeros((2, keep), np.int64)
        sums, least, most, deviations = np.zeros((4, keep), np.float64)
        now, points, fits = np.array(copied, np.int64), np.zeros(1, np.int64), np.zeros(keep, np.bool_)
        return cls(limits, now, sizes, loads, capacities, points, copies, amounts, sums, least, most, deviations, fits)

    def curve(self, corner: tuple[int, float], slope: float, step: float, *, optimal: bool) -> Curve:
        """The points so far."""
        of_points = (self.copies, self.amounts, self.sums, self.least, self.most, self.deviations, self.fits)
        return Curve(*(each[: int(self.points[0])] for each in of_points), corner, slope, step, optimal)  # type: ignore[arg-type,call-arg]


@kernel
def mark(record: Record, loads: Int64s, weights: Int64s, usable: Bools) -> None:
    """Add a point; if there is no room, instead of the last. loads : int64[brokers], what is evened out"""
    at = min(record.points[0], len(record.copies) - 1)
    record.points[0] += 1
    count, total, squares, products = 0, 0.0, 0.0, 0.0
    least, most, fits = np.inf, 0.0, True
    for b in range(len(loads)):
        if not usable[b]:
            continue
        share = loads[b] / weights[b]
        least, most = min(least, share), max(most, share)
        count, total, squares, products = count + 1, total + share, squares + share * share, products + share * loads[b]
        fits &= record.loads[b] <= record.capacities[b]
    record.copies[at], record.amounts[at] = record.copied[0], record.copied[1]
    record.sums[at], record.least[at], record.most[at], record.fits[at] = products, least, most, fits
    record.deviations[at] = np.sqrt(max(0.0, squares / count - (total / count) ** 2)) if count > 0 else 0.0


class _Labels(NamedTuple):
    """The best path to each broker: int64[brokers] value and copies, int32[brokers] exchanges and the broker before."""

    values: Int64s
    costs: Int64s
    hops: Int32s
    previous: Int32s

    @classmethod
    def undefined(cls, brokers: int) -> Self:
        """For a search to fill."""
        return cls(*np.empty((2, brokers), np.int64), *np.empty((2, brokers), np.int32))


def trade(s: ReplicaSets, record: Record) -> Curve:
    """Copy more from sets that are the evenest with the fewest copies, within the limits of ``record``. Changes both."""
    s.paid[0] = True
    list_exchanges(s)
    scale, ratio = np.array([_scale(s)], np.int64), np.array([0, 1], np.int64)
    mark(record, s.loads, s.weights, s.usable)
    labels = _Labels.undefined(len(s.loads))
    optimal = in_turns(s, lambda: _copy_more(s, record, scale, ratio, labels), MOST) == DONE
    last = min(int(record.points[0]), len(record.copies)) - 1
    corner = int(record.copies[last]), float(record.sums[last])
    gain, copies = ratio.tolist()
    if gain:
        in_turns(s, lambda: _fill_up(s, record, scale), MOST)
    step = 2.0 if (s.weights == 1).all() else 1 / int(scale[0])
    return record.curve(corner, gain / copies / int(scale[0]), step, optimal=optimal)


def even_out_freely(s: ReplicaSets, least: Int64s) -> bool:
    """Even out the sets without another copy. least : int64[brokers], the replicas that each keeps. Whether it is optimal."""
    scale, large = np.array([_scale(s)], np.int64), np.array([_LARGEST // (len(s.loads) + 1)], np.int64)
    labels = _Labels.undefined(len(s.loads))
    return in_turns(s, lambda: _descend(s, scale, large, least, labels), MOST) == DONE


def _scale(s: ReplicaSets) -> int:
    """What one replica weighs × weight: the least number that all weights divide, if labels stay small with it."""
    most = _LARGEST // (8 * (int(s.loads.sum()) + len(s.loads) + 1) * (len(s.loads) + 1))
    return max(1, min(lcm(*np.unique(s.weights).tolist()), most))


@inner_kernel
def _label(s: ReplicaSets, scale: int, num: int, den: int, least: Int64s, labels: _Labels) -> int:  # noqa: C901 (a kernel)
    """Fill the labels; returns NONE, or a broker on a cycle of negative cost. least : int64[brokers], what sources keep"""
    brokers = len(s.loads)
    values, costs, hops, previous = labels
    queue, queued = np.empty(brokers + 1, np.int32), np.zeros(brokers, np.bool_)
    at = end = 0
    for a in range(brokers):
        values[a], costs[a], hops[a], previous[a] = -FAR, 0, 0, NONE
        if s.first[a] != NONE and s.loads[a] > least[a]:
            values[a] = den * (weighs(s, a, s.loads[a] - 1) * scale // s.weights[a])
            queue[end], queued[a] = a, True
            end += 1
    sign = 1 if num > 0 else -1  # of equal paths one that copies, unless copies cost nothing
    while at != end:
        a = queue[at]
        at = (at + 1) % (brokers + 1)
        queued[a] = False
        s.work[0] += brokers
        row = s.cheapest[a]
        for b in range(brokers):
            if row[b] == IMPOSSIBLE:
                continue
            value, cost = values[a] - num * row[b], costs[a] + row[b]
            if value < values[b]:
                continue
            if value == values[b]:
                more = sign * (cost - costs[b])
                if more < 0 or (more == 0 and hops[a] + 1 >= hops[b]):
                    continue
            values[b], costs[b], hops[b], previous[b] = value, cost, hops[a] + 1, a
            if hops[b] > brokers:
                return b
            if not queued[b]:
                queue[end], queued[b] = b, True
                end = (end + 1) % (brokers + 1)
    return int(NONE)


@borrowing_kernel
def _best_sink(s: ReplicaSets, scale: int, den: int, labels: _Labels) -> tuple[int, int]:
    """The broker to which the best path leads, and its value with what the broker gets; NONE if there is none."""
    sink, best = int(NONE), int(-FAR)
    for b in range(len(s.loads)):
        if labels.previous[b] == NONE or s.loads[b] >= s.most[b] or not s.usable[b]:
            continue
        value = labels.values[b] - den * (weighs(s, b, s.loads[b]) * scale // s.weights[b])
        if sink == NONE or value > best or (value == best and labels.costs[b] > labels.costs[sink]):
            sink, best = b, value
    return sink, best


@kernel
def _descend(s: ReplicaSets, scale: Int64s, large: Int64s, least: Int64s, labels: _Labels) -> int:
    """Follow paths that save copies, or even out without a copy. DONE or MORE. large : more than any path gains"""
    while s.work[0] <= TURN:
        on_cycle = _label(s, scale[0], large[0], 1, least, labels)
        if on_cycle != NONE:
            cancel(s, on_cycle, labels.previous)
            continue
        sink, best = _best_sink(s, scale[0], 1, labels)
        if sink == NONE or best <= 0:
            return DONE
        carry_out(s, path_to(sink, labels.previous))
    return MORE


@kernel
def _copy_more(s: ReplicaSets, record: Record, scale: Int64s, ratio: Int64s, labels: _Labels) -> int:
    """Follow the path with the best ratio, until none gains or the next would copy more than the limits allow. DONE or MORE.

    ratio : int64[2], gain and copies of that path; 0 and 1 if it is not known, and at the end if none gains
    """
    least = np.zeros(len(s.loads), np.int64)
    while s.work[0] <= TURN:
        num, den = ratio[0], ratio[1]
        on_cycle = _label(s, scale[0], num, den, least, labels)
        if on_cycle != NONE:
            cancel(s, on_cycle, labels.previous)
            continue
        sink, best = _best_sink(s, scale[0], den, labels)
        if num == 0 and (sink == NONE or best <= 0):
            return DONE
        cost = labels.costs[sink] if sink != NONE else 0
        if num > 0 and (sink == NONE or best < 0 or (best == 0 and cost <= 0)):  # no path is as good any more
            ratio[0], ratio[1] = 0, 1
            continue
        if best > 0 and cost > 0:
            ratio[0], ratio[1] = (best + num * cost) // den, cost
            continue
        path = path_to(sink, labels.previous)
        partitions = find_all(s, path)
        if len(partitions) == len(path) - 1 and not _follow(s, record, path, partitions, cost):
            return DONE
    return MORE


@inner_kernel
def _follow(s: ReplicaSets, record: Record, path: Int64s, partitions: Int64s, cost: int) -> bool:
    """Carry out the exchanges; False if they would copy more than the limits allow."""
    amount = np.int64(0)
    for i in range(len(partitions)):
        amount += s.cheapest[path[i], path[i + 1]] * record.sizes[partitions[i]]
    if record.copied[0] + cost > record.limits[0] or record.copied[1] + amount > record.limits[1]:
        return False
    if exchange_all(s, path, partitions):
        for i in range(len(partitions)):
            record.loads[path[i]] -= record.sizes[partitions[i]]
            record.loads[path[i + 1]] += record.sizes[partitions[i]]
        record.copied[0] += cost
        record.copied[1] += amount
        mark(record, s.loads, s.weights, s.usable)
    return True


@kernel
def _fill_up(s: ReplicaSets, record: Record, scale: Int64s) -> int:  # noqa: C901 (a kernel)
    """Where the limit is within a path of several copies: follow the paths that gain most and copy less. DONE or MORE."""
    brokers = len(s.loads)
    closed, sources = np.zeros(brokers, np.bool_), np.zeros(brokers, np.bool_)
    key, previous, best_previous = np.empty(brokers, np.int64), np.empty(brokers, np.int32), np.empty(brokers, np.int32)
    while s.work[0] <= TURN:
        left = record.limits[0] - record.copied[0]
        best, sink, cost = 0, int(NONE), 0
        for a in range(brokers):
            if s.first[a] == NONE or left <= 0:
                continue
            sources[:] = False
            sources[a] = True
            if search(s, sources, closed, key, previous) != NONE:
                return DONE
            for b in range(brokers):
                if key[b] == FAR or s.loads[b] >= s.most[b] or key[b] >> COST_BIT > left:
                    continue
                if not is_lighter(s, b, s.loads[b], a, s.loads[a] - 1):
                    continue
                eases, weighs_there = weighs(s, a, s.loads[a] - 1), weighs(s, b, s.loads[b])
                gain = eases * scale[0] // s.weights[a] - weighs_there * scale[0] // s.weights[b]
                if gain > best:
                    best, sink, cost = gain, b, key[b] >> COST_BIT
                    best_previous[:] = previous
        if sink == NONE:
            return DONE
        path = path_to(sink, best_previous)
        partitions = find_all(s, path)
        if len(partitions) == len(path) - 1 and not _follow(s, record, path, partitions, cost):
            return DONE
    return MORE
