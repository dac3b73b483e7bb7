"""Partition counts compared for a topic: how even each one is and why, what moves, and which limits it keeps."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from math import ceil
from typing import Final, Literal

import numpy as np

from service.core.errors import InvalidQuestion
from service.core.measures import Spread, spread
from service.core.model import Int64s
from service.core.printable import counted
from service.planner.sizing.counter import KeyCounter, Moved, hashing_rule
from service.planner.sizing.distinct_keys import BYTES, RECORDS
from service.planner.sizing.random_baseline import HEAVY, RandomSkew, Weights, random_skew

EVEN: Final = 1.1
"""Up to this skew a load counts as even, and up to this many times the mean a key does not count as hot."""

Verdict = Literal["even", "hot-keys", "chance", "partitioner"]
"""The cause of a skew; see ``Measure.verdict``."""


@dataclass(frozen=True)
class CountLimits:
    """The most that the busiest partition may have. None: no limit.

    records_per_second, bytes_per_second : into one partition
    skew : of records, and of bytes where they are known
    mb_per_second : what producers write to one partition, or one consumer reads from it, in MB/s; the smaller
    mb_of : which of them
    """

    records_per_second: float | None = None
    bytes_per_second: float | None = None
    skew: float | None = None
    mb_per_second: float | None = None
    mb_of: str = ""


@dataclass(frozen=True)
class Rates:
    """What producers write to the whole topic, records without a key included. None: not known.

    mb_per_second : the throughput that the topic must reach, in MB/s; of records of equal size where their bytes are not known
    """

    records_per_second: float | None = None
    bytes_per_second: float | None = None
    mb_per_second: float | None = None


@dataclass(frozen=True)
class Measure:
    """How one kind of load (keys, records or bytes) is distributed over the partitions.

    counts : int64[partitions], unhashed records included, as whole records; ``spread`` is of their exact shares
    unhashed : what the partitioner places without a hash, as records without a key: producers spread it evenly
    gini : 0 if all partitions have the same load, near 1 if one has all of it
    empty_partitions : the number of partitions with nothing
    heaviest : the weight of the heaviest key, or the least possible one
    floor : a lower bound of the skew of any partitioner at this count (``Weights.least_maximum``): the heaviest key alone, or
        keys of which two must share a partition
    hot_keys : the number of keys that weigh more than EVEN × the mean of a partition, each by itself
    hot_share : their share of the load
    chance : the skew that random partitions would give
    others : the most that chance puts on a partition of the other keys alone, ÷ the mean of all; 0.0 where no verdict needs it
    skew_without_hot_keys : of all others; None without hot keys, or if nothing is left or it is not known where hot keys lie
    """

    counts: Int64s
    spread: Spread
    gini: float
    empty_partitions: int
    heaviest: int
    floor: float
    hot_keys: int
    hot_share: float
    chance: RandomSkew
    others: float
    unhashed: int = 0
    skew_without_hot_keys: float | None = None

    @property
    def total(self) -> int:
        """What lies on all partitions together."""
        return int(self.counts.sum())

    @property
    def verdict(self) -> Verdict:
        """The cause of the skew: the first of these that applies.

        even : the skew is at most EVEN
        hot-keys : ``floor`` is above EVEN, and the skew at most EVEN × ``floor``, so that no partitioner does notably better
        partitioner : the skew is above the band of chance
        hot-keys : there are hot keys, and the skew is above ``others``: without them, no partition would be as full by chance
        partitioner : the skew is below the band: the partitioner is more even than chance
        chance : the skew is in the band
        """
        skew = self.spread.skew
        slack = 1e-9 * skew  # the same number, summed in another order
        if skew <= EVEN:
            return "even"
        if self.floor > EVEN and skew <= EVEN * self.floor:
            return "hot-keys"
        if skew > self.chance.high + slack:
            return "partitioner"
        if self.hot_keys and skew > self.others + slack:
            return "hot-keys"
        return "partitioner" if skew < self.chance.low - slack else "chance"


@dataclass(frozen=True)
class CountPlan:
    """One partitioner with one partition count.

    keys, records, bytes : bytes is None where they are not known
    moved : None if the current count is not known
    needs_new_topic : is the count below the current one? Kafka cannot remove partitions. None if the current one is not known
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
    needs_new_topic: bool | None
    multiple: bool | None
    busiest: Rates
    meets: dict[str, bool]


def gini(counts: Int64s) -> float:
    """The Gini coefficient: half the mean difference of two partitions ÷ the mean; 0.0 if all are empty."""
    total = float(counts.sum())
    if total == 0:
        return 0.0
    n = len(counts)
    ranks = 2.0 * np.arange(1, n + 1) - n - 1
    return float((ranks * np.sort(counts)).sum()) / (n * total)


def check_not_empty(counter: KeyCounter, *field: str) -> None:
    """Raise InvalidQuestion if no partitioner hashes any record, since every count would keep every limit. field : of the keys"""
    if not any(counter.placed(name)[0] for name in counter.names):
        reason = "no record has a key" if counter.records + counter.keyless[0] else "there are no records"
        raise InvalidQuestion(f"There is nothing to plan: {reason}.", *field)


def plans(counter: KeyCounter, rates: Rates, limits: CountLimits) -> list[CountPlan]:
    """Each partitioner with each count, in the order of the counter's parameters."""
    chance = cache(random_skew)
    weights: dict[tuple[bool, bool], dict[str, Weights]] = {}  # those of partitioners that hash the same keys are the same
    result = []
    for name in counter.names:
        rule = hashing_rule(name)
        hashed = (rule.null_hash is None, rule.empty_as_null)
        if hashed not in weights:
            weights[hashed] = {"keys": counter.weights(name, None), "records": counter.weights(name, RECORDS)}
            if counter.has_bytes:
                weights[hashed]["bytes"] = counter.weights(name, BYTES)
        result += [_plan(counter, name, n, weights[hashed], chance, rates, limits) for n in counter.partitions_counts]
    return result


Chance = Callable[[Weights, int], RandomSkew]
"""``random_skew``, which need not compute an answer again."""


def _plan(
    counter: KeyCounter, name: str, n: int, weights: dict[str, Weights], chance: Chance, rates: Rates, limits: CountLimits
) -> CountPlan:
    totals = counter.totals(name, n)._asdict()
    unhashed = dict(zip(("records", "bytes"), counter.without_key(name), strict=True))
    measures = {what: measure(totals[what], of, chance, unhashed.get(what, 0)) for what, of in weights.items()}
    for column, what in ((RECORDS, "records"), (BYTES, "bytes")):
        if what in measures:
            without = _without_hot_keys(counter, name, column, totals[what], measures[what])
            measures[what] = replace(measures[what], skew_without_hot_keys=without)
    records, sizes = measures["records"], measures.get("bytes")
    busiest = Rates(
        _busiest(records, rates.records_per_second),
        _busiest(sizes, rates.bytes_per_second),
        _busiest(sizes or records, rates.mb_per_second),
    )
    meets = {
        name: rate <= limit
        for name in ("records_per_second", "bytes_per_second", "mb_per_second")
        if (limit := getattr(limits, name)) is not None and (rate := getattr(busiest, name)) is not None
    }
    if limits.skew is not None:
        meets["skew"] = max(records.spread.skew, sizes.spread.skew if sizes else 1.0) <= limits.skew
    current = counter.current
    return CountPlan(
        partitioner=name,
        partitions_count=n,
        keys=measures["keys"],
        records=records,
        bytes=sizes,
        moved=None if current is None else counter.moved(name, n),
        needs_new_topic=None if current is None else n < current,
        multiple=None if current is None else n % current == 0,
        busiest=busiest,
        meets=meets,
    )


def measure(counts: Int64s, weights: Weights, chance: Chance = random_skew, unhashed: int = 0) -> Measure:
    """How a load is distributed over the partitions.

    counts : int64[partitions]; weights : of the keys, or least possible ones
    unhashed : a further load, which producers spread evenly
    """
    n, hashed, total = len(counts), int(counts.sum()), int(counts.sum()) + unhashed

    def with_unhashed(skew: float, of: float = hashed) -> float:
        return (skew * of + unhashed) / total if total else 1.0

    of, expected = spread((counts + unhashed / n).astype(np.float64) if unhashed else counts), chance(weights, n)
    if unhashed:
        expected = RandomSkew(*(with_unhashed(skew) for skew in (expected.mean, expected.low, expected.high)))
        counts = counts + unhashed // n
        counts[np.argsort(counts, kind="stable")[: unhashed % n]] += 1
    least = max(1.0, with_unhashed(weights.least_maximum(n) * n / hashed)) if hashed else 1.0
    hot_keys, light = weights.divided(EVEN * total / n)
    is_open = hot_keys and EVEN < of.skew <= expected.high
    return Measure(
        counts=counts,
        spread=of,
        gini=gini(counts),
        empty_partitions=int((counts == 0).sum()),
        heaviest=int(weights.heavy.max(initial=0.0)),
        floor=least,
        hot_keys=hot_keys,
        hot_share=float(weights.heavy[:hot_keys].sum()) / max(total, 1),
        chance=expected,
        others=with_unhashed(chance(light, n).high, light.total) if is_open else 0.0,
        unhashed=unhashed,
    )


def _without_hot_keys(counter: KeyCounter, name: str, column: int, hashed: Int64s, of: Measure) -> float | None:
    """The skew of all but the hot keys; see Measure. hashed : int64[partitions], what keys put on each"""
    if not 0 < of.hot_keys <= HEAVY or counter.distinct.level or counter.as_one_key(name)[0]:
        return None
    hashes, weights = counter.heaviest_hashes(name, column)
    hot = slice(0, of.hot_keys)
    n = len(hashed)
    left = hashed - np.bincount(hashing_rule(name).sign.run(hashes[hot], n), weights[hot], n) + of.unhashed / n
    return spread(left.astype(np.float64)).skew if left.any() else None


def _busiest(load: Measure | None, rate: float | None) -> float | None:
    """The busiest partition's share of a rate."""
    if load is None or rate is None:
        return None
    return load.spread.max / load.total * rate if load.total else 0.0


MOST_PROPOSED: Final = 10_000
"""Largest count that is proposed."""

MOST: Final = 2**31 - 1
"""Kafka's largest partition count."""


@dataclass(frozen=True)
class Throughput:
    """What producers and consumers need, as partition counts.

    producers, consumers : None if their rate is not known
    partitions_count : the larger of both
    """

    producers: int | None
    consumers: int | None
    partitions_count: int

    @property
    def conclusion(self) -> str:
        """What is needed, and because of whom."""
        needs = {"producers": self.producers, "consumers": self.consumers}
        parts = ", ".join(f"{count:,} for {who}" for who, count in needs.items() if count)
        partitions = counted(self.partitions_count, "partition")
        return f"Throughput needs at least {partitions} ({parts}), if keys spread evenly; hot keys may need more, or no count do."


def throughput(target: float, producer: float | None, consumer: float | None) -> Throughput:
    """The partitions that a topic needs to reach a throughput.

    target : T, of the whole topic; producer : p, what producers write to one partition at most; consumer : c, what one consumer
        reads from one partition at most; all positive, in one unit. None: no limit
    Raises InvalidQuestion for more than MOST partitions.
    """
    # As fractions of the numbers as they are written: 0.3 ÷ 0.1 is 3, not 2.9999999999999996.
    producers, consumers = (
        None if rate is None else ceil(Fraction(str(target)) / Fraction(str(rate))) for rate in (producer, consumer)
    )
    needed = max(producers or 1, consumers or 1)
    if needed > MOST:
        raise InvalidQuestion(f"The throughput needs more partitions than Kafka allows ({MOST}).", "target_mb_per_second")
    return Throughput(producers, consumers, needed)


LADDER: Final = (3, 6, 12, 24, 48, 96)
"""Counts that are proposed where nothing says how many a topic needs: their multiples divide many numbers of consumers."""


def proposed_counts(current: int | None, least: int | None) -> tuple[int, ...]:
    """Counts to compare if the caller gives none, ascending.

    current : the topic's, from which multiples are proposed, since Kafka cannot remove partitions and with a multiple no two of
        the partitions mix; None: a new topic
    least : what the rates need if keys spread evenly; None: not known
    """
    known = {current * factor for factor in (1, 2, 3, 4, 8)} if current else set(LADDER if least is None else ())
    if least is not None:
        known |= {-(-least * factor // 4) for factor in (4, 5, 6, 8, 12, 16, 32)}
    return tuple(sorted(count for count in known if (current or 1) <= count <= MOST_PROPOSED)) or (current or 1,)
