"""From the counts of a scan to the answer: plans, moves between each two counts, hottest keys.

Its size depends on partitions, counts and ``max_keys`` only.
"""

from dataclasses import dataclass
from itertools import combinations
from math import lcm
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from service.core.keys import columns as encodings
from service.core.keys.columns import key_text, key_value
from service.core.printable import first_few
from service.decisions.partition_counts import over
from service.pipeline.analyses.skew.scan import KeySample, SkewResult
from service.planner.sizing.conclusions import LISTED, LimitReach, partitions, plan_in_question, reach
from service.planner.sizing.counter import KeyCounter, hashing_rule, key_hashes_of
from service.planner.sizing.distinct_keys import BYTES, RECORDS
from service.planner.sizing.plans import CountLimits, CountPlan, Rates, plans

if TYPE_CHECKING:
    from service.core.model import Int32s

NAMED: Final = 256
"""Most hottest keys in the answer."""


Row = dict[str, Any]


@dataclass(frozen=True)
class SkewAnswer:
    """The whole answer.

    rejected : the number of rejected rows, by reason
    moves : partitioner, from_count and to_count, and the records and bytes that the two counts place on different partitions; not
        ``exact`` if estimated from a sample of keys
    hottest : the key as text and, as ``value``, as JSON, both in the key format; records and bytes, which are lower bounds, and
        ``records_error``, the most records that there may be more
    """

    counts: KeyCounter
    sample: KeySample
    rejected: dict[str, int]
    key_format: str
    plans: list[CountPlan]
    reach: list[LimitReach]
    moves: list[Row]
    hottest: list[Row]
    rates: Rates
    limits: CountLimits

    @property
    def records(self) -> int:
        """All records, those without a key included."""
        return self.counts.records + int(self.counts.keyless[0])

    @property
    def exact(self) -> bool:
        """Whether every distinct key was counted."""
        return self.counts.distinct.level == 0

    @property
    def conclusion(self) -> str:
        """The conclusion of the first partitioner of each cause, and the others of this cause, with their skew."""
        by_cause: dict[tuple[str | None, ...], dict[str, str]] = {}
        for each in self.reach:
            plan = plan_in_question(self.plans_of(each.partitioner), self.counts.current, each.recommended)
            cause = (plan.records.verdict, plan.bytes.verdict if plan.bytes else None)
            skew = f"{each.partitioner} ({plan.records.spread.skew:.3g} with {partitions(plan.partitions_count)})"
            by_cause.setdefault(cause, {}).setdefault(each.conclusion, skew)
        sentences = []
        for (conclusion, _), *others in (conclusions.items() for conclusions in by_cause.values()):
            sentences.append(conclusion)
            if others:
                sentences.append(f"The cause is the same for {first_few([skew for _, skew in others], LISTED)}.")
        return " ".join(sentences)

    def plans_of(self, partitioner: str) -> list[CountPlan]:
        """The plans of a partitioner, the fewest partitions first."""
        return sorted((plan for plan in self.plans if plan.partitioner == partitioner), key=lambda plan: plan.partitions_count)

    def reach_of(self, partitioner: str) -> LimitReach:
        """Which limits the counts of a partitioner keep, and which count is recommended."""
        return next(each for each in self.reach if each.partitioner == partitioner)


def answer_from(
    result: SkewResult,
    rejected: dict[str, int],
    key_format: str,
    limits: CountLimits,
    rates: Rates,
    duration_seconds: float | None,
    *,
    proposed: bool = False,
) -> SkewAnswer:
    """The answer.

    result : of the whole scan
    duration_seconds : the time span of its records, from which the topic's rates follow, instead of ``rates``
    proposed : as of ``reach``
    """
    counts = result.counts
    if duration_seconds is not None:
        rates = over(duration_seconds, counts, rates.mb_per_second)
    planned = plans(counts, rates, limits)
    within = reach(counts, planned, rates, limits, key_format, proposed=proposed)
    moves = [move for name in counts.names for move in _moves(counts, name, key_format)]
    hottest = _hottest(counts, key_format)
    return SkewAnswer(counts, result.sample, rejected, key_format, planned, within, moves, hottest, rates, limits)


def _hottest(counts: KeyCounter, key_format: str) -> list[Row]:
    sizes = {key: weight - error for key, weight, error in counts.distinct.heaviest(BYTES, 2 * NAMED)}
    return [
        {
            "key": key_text(key, key_format),
            "value": key_value(key, key_format),
            "records": weight - error,
            "bytes": sizes.get(key, 0),
            "records_error": error,
        }
        for key, weight, error in counts.distinct.heaviest(RECORDS, NAMED)
        if weight > error
    ]


def _column(keys: list[bytes], key_format: str) -> encodings.Column:
    """Serialized keys as the column that they were."""
    flat = encodings.byte_strings(keys)
    if key_format in encodings.TEXTS:
        return encodings.Text(flat)
    kinds = encodings.INTEGERS | encodings.FLOATS | {"boolean": np.dtype(np.bool_)}
    if key_format in kinds:
        return encodings.Numbers(flat.data.view(kinds[key_format].newbyteorder(">")).astype(kinds[key_format]))
    return flat


def _moves(counts: KeyCounter, name: str, key_format: str) -> list[Row]:
    """Between each two counts: from a table of residues that has both, else from the keys, the hottest each by itself."""
    of = hashing_rule(name)
    key_hashes, weights, hashes = counts.entries(name)
    hot: dict[bytes, list[int]] = {}
    for column in (RECORDS, BYTES) if counts.distinct.level else ():
        for key, weight, error in counts.distinct.heaviest(column, 2 * NAMED):  # all that have a name
            hot.setdefault(key, [0, 0])[column] = weight - error
    hot_weights = np.array([*hot.values()], np.int64).reshape(-1, 2)
    hot_hashes: Int32s = np.zeros(0, np.int32)
    if hot:
        column_of_hot = _column([*hot], key_format)
        hot_hashes = of.hash.run(of.encoding.run(column_of_hot, key_format), key_format)
        light = ~np.isin(key_hashes, key_hashes_of(encodings.byte_strings([*hot])))
        weights, hashes = weights[light], hashes[light]
    keyless = np.array(counts.as_one_key(name))  # of a client that hashes records without a key as if they had one
    totals = np.array([counts.records, counts.bytes]) - counts.without_key(name) + counts.keyless - keyless
    partitions = {n: of.sign.run(hashes, n) for n in counts.partitions_counts}
    hot_partitions = {n: of.sign.run(hot_hashes, n) for n in counts.partitions_counts}
    rest = totals - hot_weights.sum(axis=0)
    sampled = np.maximum(weights.sum(axis=0), 1)
    moves = []
    for a, b in combinations(sorted(counts.partitions_counts), 2):
        both = lcm(a, b)
        exact = any(modulus % both == 0 for modulus in counts.moduli)
        if exact:
            _, records, sizes = counts.totals(name, both)
            residues = np.arange(both)
            differs = residues % a != residues % b
            moved = [int(records[differs].sum()), int(sizes[differs].sum())]
        else:
            stays = partitions[a] == partitions[b]
            hot_moved = hot_weights[hot_partitions[a] != hot_partitions[b]].sum(axis=0)
            share = weights[~stays].sum(axis=0) / sampled
            if of.null_hash is not None and len({int(of.sign.run(np.array([of.null_hash], np.int32), n)[0]) for n in (a, b)}) > 1:
                hot_moved = hot_moved + keyless
            moved = [round(float(x)) for x in (hot_moved + share * rest)]
            exact = counts.distinct.level == 0
        row = {"partitioner": name, "from_count": a, "to_count": b, "records": moved[0], "bytes": moved[1], "exact": exact}
        moves.append(row)
    return moves
