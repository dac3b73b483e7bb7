"""What the limits of a question say of each plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from service.core.member_counts.plans import MembersLoad, MembersPlan, smallest
from service.core.printable import counted

if TYPE_CHECKING:
    from service.core.assignors import Assignor
    from service.core.model import Group
    from service.decisions.member_counts.question import MemberCountsQuestion
    from service.decisions.member_counts.standstill import Standstill


@dataclass(frozen=True)
class JudgedPlan:
    """A number of members.

    standstill : None where it was not simulated
    meets : limit → is it kept?
    """

    plan: MembersPlan
    standstill: Standstill | None
    meets: dict[str, bool]


@dataclass(frozen=True)
class Plans:
    """The plans under one assignor.

    worth_using : the numbers that gain
    recommended : the smallest that meets all limits; None if none does, or there are none
    out_of_reach : limit → why no number that was planned keeps it
    """

    assignor: Assignor
    plans: tuple[JudgedPlan, ...]
    worth_using: tuple[int, ...]
    recommended: int | None
    out_of_reach: dict[str, str]


def judged_plans(
    question: MemberCountsQuestion, group: Group, assignor: Assignor, made: list[MembersPlan], standstills: dict[int, Standstill]
) -> Plans:
    """The plans with what the limits say of them."""
    judged = [JudgedPlan(plan, standstills.get(plan.members_count), meets(question, plan.load)) for plan in made]
    limits = judged[0].meets
    recommended = smallest(made, [not each.plan.unread and all(each.meets.values()) for each in judged]) if limits else None
    unkept = [limit for limit in limits if not any(each.meets[limit] for each in judged)]
    reasons = {limit: _reason(question, group, limit, made) for limit in unkept}
    return Plans(assignor, tuple(judged), tuple(plan.members_count for plan in made if plan.gains), recommended, reasons)


def drain_seconds(question: MemberCountsQuestion, load: MembersLoad) -> float | None:
    """How long the most loaded member works off its lag, if no more records arrive; None if it is not known."""
    return None if question.consumption_rate is None else load.worst / question.consumption_rate


def meets(question: MemberCountsQuestion, load: MembersLoad) -> dict[str, bool]:
    """Limit → is it kept?, of the limits that are set."""
    limits, drain = question.limits, drain_seconds(question, load)
    kept = {}
    if limits.max_load is not None:
        kept["max_load"] = load.worst <= limits.max_load
    if limits.max_lag_seconds is not None and drain is not None:
        kept["max_lag_seconds"] = drain <= limits.max_lag_seconds
    return kept


def _reason(question: MemberCountsQuestion, group: Group, limit: str, made: list[MembersPlan]) -> str:
    """Why no number of members that was planned keeps a limit."""
    best = min(made, key=lambda plan: plan.load.worst)
    strongest = 1.0 if group.capacities is None else float(group.capacities.max(initial=1.0))
    heaviest = (1.0 if group.topics.weights is None else float(group.topics.weights.max(initial=0.0))) / strongest
    rate = question.consumption_rate if limit == "max_lag_seconds" else None
    most = getattr(question.limits, limit) * (rate or 1.0)
    alone, least = (_figure(load, rate) for load in (heaviest, best.load.worst))
    if heaviest > most and question.group.protocol != "share":
        return f"The heaviest partition alone has {alone}, and only one member can read it."
    return f"The least that was found is {least}, with {counted(best.members_count, 'member')}."


def _figure(load: float, rate: float | None) -> str:
    return f"a load of {load:,.12g}" if rate is None else f"{load / rate:,.6g} s of lag"
