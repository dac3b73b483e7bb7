"""What each of several partition counts would mean for a topic: how even it is, what moves, and which count keeps the limits."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor
from typing import TYPE_CHECKING

import numpy as np

from service.core.measures import Spread, spread
from service.core.sizing.distinct_keys import BYTES, RECORDS
from service.core.sizing.random_baseline import Chance, Weights, skew_by_chance

if TYPE_CHECKING:
    from service.core.model import Int64s
    from service.core.sizing.counter import Counts, Moved


@dataclass(frozen=True)
class Limits:
    """What the busiest partition may come to. None: anything.

    records_per_second, bytes_per_second : of one partition
    skew : of records, and of bytes where they are known
    """

    records_per_second: float | None = None
    bytes_per_second: float | None = None
    skew: float | None = None


@dataclass(frozen=True)
class Rates:
    """What the whole topic takes in, of records with a key. None: not known."""

    records_per_second: float | None = None
    bytes_per_second: float | None = None


@dataclass(frozen=True)
class Measure:
    """How one kind of load (keys, records or bytes) lies on the partitions.

    counts : int64[partitions]
    gini : 0 when all have the same, near 1 when one has all
    empty_partitions : how many have nothing
    floor : the skew that the heaviest key alone makes, whatever the hash: no partition count and no partitioner goes below it
    chance : the skew that random partitions would give
    """

    counts: Int64s
    spread: Spread
    gini: float
    empty_partitions: int
    floor: float
    chance: Chance

    @property
    def verdict(self) -> str:
        """Is the skew "chance", "above chance" or "below chance", at 99 %?"""
        slack = 1e-9 * self.spread.skew  # the same number, added up in another order
        if self.spread.skew > self.chance.high + slack:
            return "above chance"
        return "below chance" if self.spread.skew < self.chance.low - slack else "chance"


@dataclass(frozen=True)
class Plan:
    """One partitioner with one partition count.

    keys, records, bytes : bytes is None where they are not known
    moved : None where today's count is not known
    multiple : is the count a multiple of today's? Then partition p splits into p, p + today's count, p + twice today's count …
    busiest : what the busiest partition takes in
    meets : limit's name → is it kept?
    """

    partitioner: str
    partitions_count: int
    keys: Measure
    records: Measure
    bytes: Measure | None
    moved: Moved | None
    multiple: bool | None
    busiest: Rates
    meets: dict[str, bool]


@dataclass(frozen=True)
class Reach:
    """What the counts of one partitioner reach.

    smallest : limit's name → the smallest count asked about that keeps it; "all" → that keeps every limit; None: none does
    out_of_reach : limit's name → why no count at all keeps it, or beyond which none does
    """

    partitioner: str
    smallest: dict[str, int | None]
    out_of_reach: dict[str, str]


def gini(counts: Int64s) -> float:
    """The Gini coefficient: half the mean difference of two partitions ÷ the mean; 0.0 when nothing is there."""
    total = float(counts.sum())
    if total == 0:
        return 0.0
    n = len(counts)
    ranks = 2.0 * np.arange(1, n + 1) - n - 1
    return float((ranks * np.sort(counts)).sum()) / (n * total)


def plans(counts: Counts, rates: Rates, limits: Limits) -> list[Plan]:
    """Each partitioner with each count, in the order in which they were asked about."""
    weights = {
        "keys": Weights.equal(counts.distinct.held),  # a sample is as uneven as a sample is
        "records": counts.distinct.weights_for_chance(RECORDS),
        "bytes": counts.distinct.weights_for_chance(BYTES),
    }
    found = []
    chances: dict[tuple[str, int, int], Chance] = {}
    for name in counts.names:
        alone = dict(zip(("records", "bytes"), counts.as_one_key(name), strict=True))
        for n in counts.partitions_counts:
            of_plan = {}
            for what, of in weights.items():
                if what == "bytes" and not counts.has_bytes:
                    continue
                asked = (what, n, alone.get(what, 0))
                if asked not in chances:
                    chances[asked] = skew_by_chance(of.and_one(alone.get(what, 0)), n)
                of_plan[what] = chances[asked]
            found.append(_plan(counts, name, n, of_plan, rates, limits))
    return found


def _plan(counts: Counts, name: str, n: int, chances: dict[str, Chance], rates: Rates, limits: Limits) -> Plan:
    totals = counts.totals(name, n)._asdict()
    heaviest = {
        "keys": min(1, counts.distinct.held),
        "records": _heaviest(counts, name, RECORDS),
        "bytes": _heaviest(counts, name, BYTES),
    }
    measures = {what: measure(totals[what], heaviest[what], chance) for what, chance in chances.items()}
    records, sizes = measures["records"], measures.get("bytes")
    busiest = Rates(
        _busiest(records, counts.records, rates.records_per_second), _busiest(sizes, counts.bytes, rates.bytes_per_second)
    )
    meets: dict[str, bool] = {}
    if limits.records_per_second is not None and busiest.records_per_second is not None:
        meets["records_per_second"] = busiest.records_per_second <= limits.records_per_second
    if limits.bytes_per_second is not None and busiest.bytes_per_second is not None:
        meets["bytes_per_second"] = busiest.bytes_per_second <= limits.bytes_per_second
    if limits.skew is not None:
        meets["skew"] = max(records.spread.skew, sizes.spread.skew if sizes else 1.0) <= limits.skew
    current = counts.current
    return Plan(
        partitioner=name,
        partitions_count=n,
        keys=measures["keys"],
        records=records,
        bytes=sizes,
        moved=None if current is None else counts.moved(name, n),
        multiple=None if current is None else n % current == 0,
        busiest=busiest,
        meets=meets,
    )


def measure(counts: Int64s, heaviest: int, chance: Chance) -> Measure:
    """How a load lies on the partitions.

    counts : int64[partitions]
    heaviest : the least that the heaviest key weighs
    """
    total = int(counts.sum())
    return Measure(
        counts=counts,
        spread=spread(counts),
        gini=gini(counts),
        empty_partitions=int((counts == 0).sum()),
        floor=max(1.0, heaviest * len(counts) / total) if total else 1.0,
        chance=chance,
    )


def _heaviest(counts: Counts, name: str, column: int) -> int:
    """The least that the heaviest key weighs; all records without a key are one where the partitioner takes them so."""
    found = counts.distinct.heaviest(column, 1)
    return max(found[0][1] - found[0][2] if found else 0, counts.as_one_key(name)[column])


def _busiest(load: Measure | None, total: int, rate: float | None) -> float | None:
    """The busiest partition's part of a rate."""
    if load is None or rate is None:
        return None
    return load.spread.max / total * rate if total else 0.0


def reach(counts: Counts, of: list[Plan], rates: Rates, limits: Limits) -> list[Reach]:
    """What each partitioner's counts reach, of the limits that were given.

    of : the ``plans`` of these counts
    """
    found = []
    for name in counts.names:
        ascending = sorted((plan for plan in of if plan.partitioner == name), key=lambda plan: plan.partitions_count)
        kept = ascending[0].meets if ascending else {}
        smallest = {limit: next((plan.partitions_count for plan in ascending if plan.meets[limit]), None) for limit in kept}
        if kept:
            smallest["all"] = next((plan.partitions_count for plan in ascending if all(plan.meets.values())), None)
        found.append(Reach(name, smallest, _out_of_reach(counts, name, rates, limits)))
    return found


def _out_of_reach(counts: Counts, name: str, rates: Rates, limits: Limits) -> dict[str, str]:
    """Limits that the heaviest key breaks by itself."""
    reasons = {}
    for limit, total, column, rate, allowed in (
        ("records_per_second", counts.records, RECORDS, rates.records_per_second, limits.records_per_second),
        ("bytes_per_second", counts.bytes, BYTES, rates.bytes_per_second, limits.bytes_per_second),
    ):
        alone = None if rate is None or total == 0 else _heaviest(counts, name, column) / total * rate
        if alone is not None and allowed is not None and alone > allowed:
            reasons[limit] = f"the heaviest key alone brings {alone:.6g}, so that no partition count keeps it"
    if limits.skew is not None:
        totals = np.array([counts.records, counts.bytes]) + counts.as_one_key(name)
        shares = [_heaviest(counts, name, column) / totals[column] for column in (RECORDS, BYTES) if totals[column]] or [0.0]
        if max(shares) > 0 and max(counts.partitions_counts) * max(shares) > limits.skew:
            most = floor(limits.skew / max(shares))
            reasons["skew"] = f"the heaviest key has {max(shares):.2%}, so that no count above {most} keeps it"
    return reasons
