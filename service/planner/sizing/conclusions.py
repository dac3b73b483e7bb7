"""How even one partition count is and why, and which count keeps the limits, in words.

Better and worse are said of what the fullest partition has: records or bytes per second, or its share. The skew is a ratio to a
mean that shrinks with each further partition, so it is compared with chance at one count only, never between counts.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import floor
from typing import Final

from service.core.keys.columns import key_text
from service.core.printable import printable
from service.planner.sizing.counter import KeyCounter, hashing_rule
from service.planner.sizing.distinct_keys import BYTES, NAMED, RECORDS
from service.planner.sizing.plans import EVEN, CountLimits, CountPlan, Measure, Rates

LISTED: Final = 3
"""Most hot keys that a sentence names."""

LONGEST: Final = 40
"""Most characters of a key in a sentence."""

ALL: Final = 0.9995
"""From this share of the load on, hot keys have all of it."""

MOST_COUNTS: Final = 8
"""Most partition counts that a sentence lists."""

UNITS: Final = {"records_per_second": "records/s", "bytes_per_second": "bytes/s", "mb_per_second": "MB/s"}
"""Of rates and their limits."""

NOUNS: Final = ("records", "bytes")
"""What RECORDS and BYTES count."""


CAUSES: Final = {
    "even": "spread evenly",
    "hot-keys": "hot keys are the cause",
    "chance": "as by chance",
}
"""Verdicts in two or three words, except ``partitioner``, which depends on the side of the band."""


@dataclass(frozen=True)
class Decision:
    """What the counts of one partitioner say about the limits.

    plans : ascending; plan : the one in question
    recommended, needs_new_topic : as of LimitReach; None: there is none
    proposed : were the counts proposed, not given?
    """

    plans: list[CountPlan]
    plan: CountPlan
    rates: Rates
    limits: CountLimits
    recommended: int | None
    needs_new_topic: int | None
    proposed: bool


def cause(measure: Measure) -> str:
    """The verdict on a measure, in a few words."""
    if measure.verdict == "partitioner":
        is_more_even = measure.spread.skew < measure.chance.low
        return "more even than by chance" if is_more_even else "less even than by chance: the partitioner is the cause"
    return CAUSES[measure.verdict]


def conclusion(counter: KeyCounter, decision: Decision, key_format: str) -> str:
    """How even the records are and why, and which count keeps the limits; first what no count can do.

    Of bytes, if they are what is limited; else they follow if they are uneven for another reason, or because of other keys.
    """
    plan = decision.plan
    limits = decision.limits
    of_bytes = limits.bytes_per_second is not None or limits.mb_per_second is not None
    column = BYTES if plan.bytes is not None and of_bytes and limits.records_per_second is None else RECORDS
    sentences = [*_alone(counter, decision, key_format), *_without_key(counter, plan, column, key_format)]
    sentences.append(_sentence(counter, decision, column, key_format))
    other = RECORDS if column == BYTES else BYTES
    of, of_other = _measure(plan, column), _measure(plan, other)
    if plan.bytes is not None and of_other.verdict != "even":
        keys, keys_of_other = (_hot_keys(counter, plan, each, key_format) for each in (column, other))
        if of.verdict != of_other.verdict or keys != keys_of_other:
            sentences.append(_sentence(counter, decision, other, key_format))
    sentences += _within_limits(counter, decision, column, key_format)
    if plan.needs_new_topic and not decision.needs_new_topic:
        sentences.append(f"Kafka cannot remove partitions, so {partitions(plan.partitions_count)} would need a new topic.")
    return " ".join(sentences)


def partitions(count: int) -> str:
    """``"12 partitions"``."""
    return f"{count} partitions" if count != 1 else "one partition"


def amount(plan: CountPlan, column: int) -> str:
    """What the fullest partition has: a rate where it is known, else its share."""
    return _amount(_fullest(plan, column), plan, column)


def _amount(share: float, plan: CountPlan, column: int) -> str:
    """A share of the topic's load as a rate, if the topic's rate is known."""
    of, busiest = _measure(plan, column), plan.busiest
    fullest = of.spread.max / of.total if of.total else 1.0
    limit, what = ("bytes_per_second", "bytes/s") if column == BYTES else ("records_per_second", "records/s")
    per_second: float | None = getattr(busiest, limit)
    if busiest.mb_per_second is not None and (column == BYTES or plan.bytes is None) and limit not in plan.meets:
        return f"{_number(busiest.mb_per_second * share / fullest)} MB/s"
    if per_second is not None:
        return f"{_number(per_second * share / fullest)} {what}"
    return f"{_percent(share)} of the {NOUNS[column]}"


def _number(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 100 else f"{rate:.3g}"


def _percent(share: float) -> str:
    """Never 100 % of what is not all, nor 0 % of something."""
    text = f"{100 * share:.3g}%"
    return "more than 99.9%" if text == "100%" and share < 1 else text


def _alone(counter: KeyCounter, decision: Decision, key_format: str) -> Iterator[str]:
    """That no count can keep a rate, because one key is above it."""
    plan, limits, rates = decision.plan, decision.limits, decision.rates
    for column, rate, limit, unit, most in (
        (BYTES if plan.bytes else RECORDS, rates.mb_per_second, limits.mb_per_second, "MB/s", limits.mb_of),
        (RECORDS, rates.records_per_second, limits.records_per_second, "records/s", "a partition takes"),
        (BYTES, rates.bytes_per_second, limits.bytes_per_second, "bytes/s", "a partition takes"),
    ):
        of = _measure(plan, column)
        is_known = rate is not None and limit is not None and of.total > 0 and not (column == BYTES and plan.bytes is None)
        if is_known and rate is not None and limit is not None and (alone := of.heaviest / of.total * rate) > limit:
            who = next(iter(_heaviest_names(counter, plan, column, key_format)), "the heaviest key")
            who = _capital(who) if who in ("the null key", "the empty key", "the heaviest key") else who
            yield f"No count works: {who} alone writes {_number(alone)} {unit}, {most} {_number(limit)}. Split or drop the key."


def _without_key(counter: KeyCounter, plan: CountPlan, column: int, key_format: str) -> Iterator[str]:
    of = _measure(plan, column)
    if of.unhashed:
        rule = hashing_rule(plan.partitioner)
        no_key = "no key or an empty one" if rule.empty_as_null and counter.empty[0] else "no key"
        hashed, names = of.total - of.unhashed, _heaviest_names(counter, plan, column, key_format)
        has = f"; of those with a key, {names[0]} has all" if names and of.heaviest == hashed else ""
        yield f"{_percent(of.unhashed / of.total)} of the {NOUNS[column]} have {no_key}, which producers spread evenly{has}."


def _within_limits(counter: KeyCounter, decision: Decision, column: int, key_format: str) -> Iterator[str]:
    """Which count keeps the limits, of those that were planned; without limits, what no count can do."""
    counts, limits = [plan.partitions_count for plan in decision.plans], decision.plan.meets
    planned = f"{'proposed' if decision.proposed else 'planned'} ({_listed(counts)})"
    most = decision.plans[-1]
    of = _measure(most, column)
    if "hot-keys" == of.verdict != _measure(decision.plan, column).verdict and (
        names := _hot_keys(counter, most, column, key_format)
    ):
        least = _amount(of.heaviest / of.total, most, column)
        yield f"No partition count brings the fullest partition below the {least} that {names[0]} alone has."
    if not limits:
        if decision.proposed:
            yield f"Which of the counts {planned} is enough depends on what a partition can take: no limit was given."
        return
    larger = "" if decision.needs_new_topic is None else " as large as the current one"
    name = f"With {decision.plan.partitioner}, " if len(counter.names) > 1 else ""
    best = next((plan for plan in decision.plans if plan.partitions_count == decision.recommended), None)
    if best is not None:
        fewest = "" if len(counts) == 1 else f", the fewest of those {planned}{larger} that do"
        keep = "keep" if best.partitions_count != 1 else "keeps"
        yield _capital(f"{name}{partitions(best.partitions_count)} {keep} {_limit(decision, best)}{fewest}.")
    else:
        fullest = min(decision.plans, key=lambda plan: _fullest(plan, column))
        least = (
            f"the least that the fullest partition has is {amount(fullest, column)}, with {partitions(fullest.partitions_count)}"
        )
        yield _capital(
            f"{name}of the counts {planned}, none{larger} keeps {'the limit' if len(limits) == 1 else 'every limit'}; {least}."
        )
        share, skew = of.heaviest / max(of.total, 1), decision.limits.skew
        if skew is not None and most.partitions_count * share > skew:
            who = next(iter(_heaviest_names(counter, most, column, key_format)), "the heaviest key")
            yield f"Above {partitions(int(skew / share))}, the {_percent(share)} of {who} alone exceed the limit of the skew."
    if decision.needs_new_topic is not None:
        yield f"{_capital(partitions(decision.needs_new_topic))} would, in a new topic: Kafka cannot remove partitions."
    yield from _of_ratios(decision, best, column)


def _fullest(plan: CountPlan, column: int) -> float:
    """The fullest partition's share."""
    of = _measure(plan, column)
    return of.spread.max / of.total if of.total else 0.0


def _of_ratios(decision: Decision, best: CountPlan | None, column: int) -> Iterator[str]:
    """A limit of the skew may exclude counts with which the fullest partition has less."""
    if decision.limits.skew is None or best is None:
        return
    better = [plan for plan in decision.plans if not plan.meets["skew"] and _fullest(plan, column) < _fullest(best, column)]
    if better:
        least = min(better, key=lambda plan: _fullest(plan, column))
        yield (
            f"{_capital(partitions(least.partitions_count))} exceed the limit of the skew, a ratio to a mean that shrinks, "
            f"although the fullest partition would have less: {amount(least, column)}."
        )


def _limit(decision: Decision, best: CountPlan) -> str:
    """What the fullest partition has of what it may have."""
    limits, busiest, of = decision.limits, best.busiest, []
    for name, unit in UNITS.items():
        rate, limit = getattr(busiest, name), getattr(limits, name)
        if rate is not None and limit is not None:
            of.append(f"{_number(rate)} of {_number(limit)} {unit}")
    if limits.skew is not None:
        skew = max(best.records.spread.skew, best.bytes.spread.skew if best.bytes else 1.0)
        of.append(f"{_times(skew)} of {_times(limits.skew)} × the mean")
    return f"{'the limit' if len(of) == 1 else 'every limit'}: the fullest partition has {' and '.join(of)}"


def _listed(counts: list[int]) -> str:
    """The counts; of many, the ends."""
    return ", ".join(map(str, counts)) if len(counts) <= MOST_COUNTS else f"{len(counts)} from {counts[0]} to {counts[-1]}"


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _sentence(counter: KeyCounter, decision: Decision, column: int, key_format: str) -> str:
    plan = decision.plan
    of = _measure(plan, column)
    if of.total == of.unhashed:
        return "There is no record with a key."
    if plan.partitions_count == 1:
        return "One partition has every record."
    if of.verdict == "hot-keys":
        return _of_hot_keys(counter, plan, column, key_format)
    return _of_others(plan, column)


def _of_others(plan: CountPlan, column: int) -> str:
    """The sentence where hot keys are not the cause."""
    of, name = _measure(plan, column), plan.partitioner
    head = f"With {name} and {partitions(plan.partitions_count)}, the fullest partition has {_times(of.spread.skew)} × the mean"
    head += " in bytes" if column == BYTES else ""
    band = f"{_times(of.chance.low)} to {_times(of.chance.high)}"
    least = f" No partitioner gets below {_times(of.floor)}." if of.floor > EVEN else ""
    if of.verdict == "even":
        return f"{head}: the {NOUNS[column]} are spread evenly."
    if of.verdict == "chance":
        return f"{head}, as chance gives for these keys ({band}).{least}"
    effect = f"; {name} is more even" if of.spread.skew < of.chance.low else ", so the partitioner is the cause"
    return f"{head}. Chance gives {band} for these keys{effect}.{least}"


def _of_hot_keys(counter: KeyCounter, plan: CountPlan, column: int, key_format: str) -> str:
    """The sentence where hot keys are the cause: their share, and what no partition count changes."""
    of = _measure(plan, column)
    names = _hot_keys(counter, plan, column, key_format)
    where = f"with {plan.partitioner} and {partitions(plan.partitions_count)}"
    if not names:
        least = _amount(of.floor / plan.partitions_count, plan, column)
        return (
            f"The heaviest keys do not spread evenly: {where}, the fullest partition has {amount(plan, column)}; no partitioner "
            f"gets below {least}."
        )
    one, at_least = of.hot_keys == 1, "" if counter.distinct.level == 0 else "at least "
    listed = f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
    if of.hot_keys > LISTED:
        who = f"{of.hot_keys} keys, such as {listed},"
    else:
        who = _capital(listed) if listed.startswith(("the null key", "the empty key")) else listed
    alone = of.heaviest / of.total
    share = f"{at_least}{_percent(of.hot_share)} of the {NOUNS[column]}"
    share += "" if one else f", {names[0]} alone {_percent(alone)}"
    least = _amount(alone, plan, column)
    bound = least if "%" not in least else "that" if one else f"the {_percent(alone)} of {names[0]}"
    rest = of.skew_without_hot_keys
    without = "" if rest is None else f" Without {'this key' if one else 'these keys'}, it would have {_times(rest)} × the mean."
    few = " More keys are needed to use all partitions." if of.hot_share >= ALL else ""
    return (
        f"{who} {'has' if one else 'have'} {share}: no partition count brings the fullest partition below {bound}; {where}, it "
        f"has {amount(plan, column)}.{without}{few}"
    )


def _heaviest_names(counter: KeyCounter, plan: CountPlan, column: int, key_format: str) -> list[str]:
    """The heaviest keys as text, at most LISTED."""
    name = plan.partitioner
    without = b"" if hashing_rule(name).empty_as_null else None
    keys = [(weight - error, key) for key, weight, error in counter.distinct.heaviest(column, NAMED) if key != without]
    weighed = [(weight, _shown(key, key_format)) for weight, key in keys[:LISTED]]
    weighed.append((counter.as_one_key(name)[column], "the null key"))
    weighed.sort(key=lambda each: -each[0])
    return [text for weight, text in weighed if weight][:LISTED]


def _hot_keys(counter: KeyCounter, plan: CountPlan, column: int, key_format: str) -> list[str]:
    """The heaviest hot keys as text, at most LISTED."""
    return _heaviest_names(counter, plan, column, key_format)[: min(_measure(plan, column).hot_keys, LISTED)]


def _shown(key: bytes, key_format: str) -> str:
    text = printable(key_text(key, key_format)[: LONGEST + 1])
    return text if 0 < len(text) <= LONGEST else f"{text[:LONGEST]}…" if text else "the empty key"


def _measure(plan: CountPlan, column: int) -> Measure:
    return plan.bytes if column == BYTES and plan.bytes is not None else plan.records


def _times(skew: float) -> str:
    return f"{skew:.3g}" if skew < 1000 else f"{skew:,.0f}"


@dataclass(frozen=True)
class LimitReach:
    """Which limits the counts of one partitioner keep.

    conclusion : how even the count in question is and why, in words
    smallest : limit → the smallest of the counts that keeps it; "all" → the smallest that keeps every limit; None: none does
    recommended : the smallest of the counts that keeps every limit and is no smaller than the topic's; None: none does, or there
        are no limits
    needs_new_topic : the smallest that keeps every limit, if it is below the topic's: Kafka cannot remove partitions
    out_of_reach : limit → why no count can keep it, or above which count none can
    """

    partitioner: str
    conclusion: str
    smallest: dict[str, int | None]
    recommended: int | None
    needs_new_topic: int | None
    out_of_reach: dict[str, str]


def reach(
    counter: KeyCounter, of: list[CountPlan], rates: Rates, limits: CountLimits, key_format: str, *, proposed: bool = False
) -> list[LimitReach]:
    """The limits that each partitioner's counts keep.

    of : the ``plans`` of this counter, at least one of each partitioner; proposed : did the caller give no counts?
    """
    result = []
    for name in counter.names:
        ascending = sorted((plan for plan in of if plan.partitioner == name), key=lambda plan: plan.partitions_count)
        kept = ascending[0].meets
        smallest = {limit: next((plan.partitions_count for plan in ascending if plan.meets[limit]), None) for limit in kept}
        keeping = [plan.partitions_count for plan in ascending if all(plan.meets.values())] if kept else []
        if kept:
            smallest["all"] = keeping[0] if keeping else None
        least = counter.current or 1
        recommended = next((count for count in keeping if count >= least), None)
        needs_new_topic = next((count for count in keeping if count < least), None)
        out_of_reach = _out_of_reach(ascending[-1], rates, limits)
        plan = plan_in_question(ascending, counter.current, recommended)
        decision = Decision(ascending, plan, rates, limits, recommended, needs_new_topic, proposed)
        sentence = conclusion(counter, decision, key_format)
        result.append(LimitReach(name, sentence, smallest, recommended, needs_new_topic, out_of_reach))
    return result


def plan_in_question(plans: list[CountPlan], current: int | None, recommended: int | None) -> CountPlan:
    """The plan of the current count, or else of the recommended one, or else the most even one that needs no new topic."""
    for count in (current, recommended):
        for plan in plans:
            if plan.partitions_count == count:
                return plan
    return min(plans, key=lambda plan: (plan.partitions_count < (current or 1), plan.records.spread.skew))


def _out_of_reach(plan: CountPlan, rates: Rates, limits: CountLimits) -> dict[str, str]:
    """The limits that the heaviest key alone exceeds. plan : the one with the most partitions"""
    reasons = {}
    for limit, of in zip(UNITS, (plan.records, plan.bytes, plan.bytes or plan.records), strict=True):
        rate, allowed = getattr(rates, limit), getattr(limits, limit)
        alone = None if rate is None or of is None or of.total == 0 else of.heaviest / of.total * rate
        if alone is not None and allowed is not None and alone > allowed:
            reasons[limit] = f"the heaviest key alone exceeds it ({alone:.6g} per second) at any partition count"
    if limits.skew is not None:
        totals = {"records": plan.records, "bytes": plan.bytes}
        shares = {what: of.heaviest / int(of.counts.sum()) for what, of in totals.items() if of is not None and of.heaviest}
        what = max(shares, key=shares.__getitem__, default=None)
        if what is not None and plan.partitions_count * shares[what] > limits.skew:
            most = floor(limits.skew / shares[what])
            where = f"above {partitions(most)}" if most else "at any partition count"
            reasons["skew"] = f"the heaviest key alone exceeds it ({shares[what]:.2%} of the {what}) {where}"
    return reasons
