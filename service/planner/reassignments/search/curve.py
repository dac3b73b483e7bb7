"""The curve of copies against evenness, which a search writes point by point."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor
from typing import NamedTuple

import numpy as np

from service.core.kernels import kernel
from service.core.model import Bools, Float64s, Int64s


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


_ROUNDING = 1e-12


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
    ) -> Record:
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
