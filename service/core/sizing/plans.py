"""Partition counts compared for a topic: how even each one is, what moves, and which count keeps the limits."""

from dataclasses import dataclass
from math import floor

import numpy as np

from service.core.measures import Spread, spread
from service.core.model import Int64s
from service.core.sizing.counter import KeyCounter, Moved
from service.core.sizing.distinct_keys import BYTES, RECORDS
from service.core.sizing.random_baseline import RandomSkew, Weights, random_skew


@dataclass(frozen=True)
class Limits:
    """The most that the busiest partition may have. None: no limit.

    records_per_second, bytes_per_second : into one partition
    skew : of records, and of bytes where they are known
    """

    records_per_second: float | None = None
    bytes_per_second: float | None = None
    skew: float | None = None


@dataclass(frozen=True)
class Rates:
    """What producers write to the whole topic, in records with a key. None: not known."""

    records_per_second: float | None = None
    bytes_per_second: float | None = None


@dataclass(frozen=True)
class Measure:
    """How one kind of load (keys, records or bytes) is distributed over the partitions.

    counts : int64[partitions]
    gini : 0 if all partitions have the same load, near 1 if one has all of it
    empty_partitions : the number of partitions with nothing
    floor : the skew that the heaviest key alone causes; no partitioner is below it at this count
    chance : the skew that random partitions would give
    """

    counts: Int64s
    spread: Spread
    gini: float
    empty_partitions: int
    floor: float
    chance: RandomSkew

    @property
    def verdict(self) -> str:
        """Is the skew "chance", "above chance" or "below chance", at 99 %?"""
        slack = 1e-9 * self.spread.skew  # the same number, summed in another order
        if self.spread.skew > self.chance.high + slack:
            return "above chance"
        return "below chance" if self.spread.skew < self.chance.low - slack else "chance"


@dataclass(frozen=True)
class Plan:
    """One partitioner with one partition count.

    keys, records, bytes : bytes is None where they are not known
    moved : None if the current count is not known
    multiple : is the count a multiple of the current count c? Then partition p splits into p, p + c, p + 2c …
    busiest : the rates into the busiest partition
    meets : limit → is it kept?
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
    """Which limits the counts of one partitioner keep.

    smallest : limit → the smallest of the counts that keeps it; "all" → the smallest that keeps every limit; None: none does
    out_of_reach : limit → why no count can keep it, or above which count none can
    """

    partitioner: str
    smallest: dict[str, int | None]
    out_of_reach: dict[str, str]


def gini(counts: Int64s) -> float:
    """The Gini coefficient: half the mean difference of two partitions ÷ the mean; 0.0 if all are empty."""
    total = float(counts.sum())
    if total == 0:
        return 0.0
    n = len(counts)
    ranks = 2.0 * np.arange(1, n + 1) - n - 1
    return float((ranks * np.sort(counts)).sum()) / (n * total)


def plans(counter: KeyCounter, rates: Rates, limits: Limits) -> list[Plan]:
    """Each partitioner with each count, in the order of the counter's parameters."""
    weights = {
        "keys": Weights.equal(counter.distinct.held),  # a sample of keys is as uneven as that many keys
        "records": counter.distinct.weights_for_chance(RECORDS),
        "bytes": counter.distinct.weights_for_chance(BYTES),
    }
    result = []
    chances: dict[tuple[str, int, int], RandomSkew] = {}
    for name in counter.names:
        as_one_key = dict(zip(("records", "bytes"), counter.as_one_key(name), strict=True))
        for n in counter.partitions_counts:
            of_plan = {}
            for what, of in weights.items():
                if what == "bytes" and not counter.has_bytes:
                    continue
                parameters = (what, n, as_one_key.get(what, 0))
                if parameters not in chances:
                    chances[parameters] = random_skew(of.and_one(as_one_key.get(what, 0)), n)
                of_plan[what] = chances[parameters]
            result.append(_plan(counter, name, n, of_plan, rates, limits))
    return result


def _plan(counter: KeyCounter, name: str, n: int, chances: dict[str, RandomSkew], rates: Rates, limits: Limits) -> Plan:
    totals = counter.totals(name, n)._asdict()
    heaviest = {
        "keys": min(1, counter.distinct.held),
        "records": _heaviest(counter, name, RECORDS),
        "bytes": _heaviest(counter, name, BYTES),
    }
    measures = {what: measure(totals[what], heaviest[what], chance) for what, chance in chances.items()}
    records, sizes = measures["records"], measures.get("bytes")
    busiest = Rates(
        _busiest(records, counter.records, rates.records_per_second), _busiest(sizes, counter.bytes, rates.bytes_per_second)
    )
    meets: dict[str, bool] = {}
    if limits.records_per_second is not None and busiest.records_per_second is not None:
        meets["records_per_second"] = busiest.records_per_second <= limits.records_per_second
    if limits.bytes_per_second is not None and busiest.bytes_per_second is not None:
        meets["bytes_per_second"] = busiest.bytes_per_second <= limits.bytes_per_second
    if limits.skew is not None:
        meets["skew"] = max(records.spread.skew, sizes.spread.skew if sizes else 1.0) <= limits.skew
    current = counter.current
    return Plan(
        partitioner=name,
        partitions_count=n,
        keys=measures["keys"],
        records=records,
        bytes=sizes,
        moved=None if current is None else counter.moved(name, n),
        multiple=None if current is None else n % current == 0,
        busiest=busiest,
        meets=meets,
    )


def measure(counts: Int64s, heaviest: int, chance: RandomSkew) -> Measure:
    """How a load is distributed over the partitions.

    counts : int64[partitions]
    heaviest : the least possible weight of the heaviest key
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


def _heaviest(counter: KeyCounter, name: str, column: int) -> int:
    """The least possible weight of the heaviest key. Records without a key count as one key if they have a hash."""
    heaviest = max((weight - error for _, weight, error in counter.distinct.heaviest(column, 1)), default=0)
    return max(heaviest, counter.as_one_key(name)[column])


def _busiest(load: Measure | None, total: int, rate: float | None) -> float | None:
    """The busiest partition's share of a rate."""
    if load is None or rate is None:
        return None
    return load.spread.max / total * rate if total else 0.0


def reach(counter: KeyCounter, of: list[Plan], rates: Rates, limits: Limits) -> list[Reach]:
    """The limits that each partitioner's counts keep. of : the ``plans`` of this counter"""
    result = []
    for name in counter.names:
        ascending = sorted((plan for plan in of if plan.partitioner == name), key=lambda plan: plan.partitions_count)
        kept = ascending[0].meets if ascending else {}
        smallest = {limit: next((plan.partitions_count for plan in ascending if plan.meets[limit]), None) for limit in kept}
        if kept:
            smallest["all"] = next((plan.partitions_count for plan in ascending if all(plan.meets.values())), None)
        result.append(Reach(name, smallest, _out_of_reach(counter, name, rates, limits)))
    return result


def _out_of_reach(counter: KeyCounter, name: str, rates: Rates, limits: Limits) -> dict[str, str]:
    """The limits that the heaviest key alone exceeds."""
    reasons = {}
    for limit, total, column, rate, allowed in (
        ("records_per_second", counter.records, RECORDS, rates.records_per_second, limits.records_per_second),
        ("bytes_per_second", counter.bytes, BYTES, rates.bytes_per_second, limits.bytes_per_second),
    ):
        alone = None if rate is None or total == 0 else _heaviest(counter, name, column) / total * rate
        if alone is not None and allowed is not None and alone > allowed:
            reasons[limit] = f"the heaviest key alone brings {alone:.6g}, so that no partition count keeps it"
    if limits.skew is not None:
        totals = np.array([counter.records, counter.bytes]) + counter.as_one_key(name)
        shares = [_heaviest(counter, name, column) / totals[column] for column in (RECORDS, BYTES) if totals[column]] or [0.0]
        if max(shares) > 0 and max(counter.partitions_counts) * max(shares) > limits.skew:
            most = floor(limits.skew / max(shares))
            reasons["skew"] = f"the heaviest key has {max(shares):.2%}, so that no count above {most} keeps it"
    return reasons
