"""Which limits a partitioner's counts keep, and which count is recommended."""

from dataclasses import dataclass
from math import floor

from service.planner.sizing.conclusions import Decision, conclusion, partitions
from service.planner.sizing.counter import KeyCounter
from service.planner.sizing.plans import CountLimits, CountPlan, Rates


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
    for limit, of, rate, allowed in (
        ("records_per_second", plan.records, rates.records_per_second, limits.records_per_second),
        ("bytes_per_second", plan.bytes, rates.bytes_per_second, limits.bytes_per_second),
        ("mb_per_second", plan.bytes or plan.records, rates.mb_per_second, limits.mb_per_second),
    ):
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
