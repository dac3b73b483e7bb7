"""The question: a group, the numbers of members that come into question, and what its limits say of each plan."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa

from service.core.assignors import Assignor
from service.core.budget import Budget
from service.core.errors import InvalidQuestion
from service.core.model import Bools, Float64s, Group
from service.core.printable import counted
from service.decisions.groups.question import GroupQuestion
from service.decisions.groups.rows import has_lag
from service.decisions.rebalances.question import RebalancesQuestion, read_timeline, timing_faults
from service.decisions.rows import duplicates_in_list
from service.planner.member_counts import LoadBounds, MembersLoad, MembersPlan, Scaling, Trigger, smallest
from service.planner.timelines.course import MEMBER_CELLS, REBALANCE_CELLS, STEP_CELLS
from service.planner.timelines.model import Event, NewMember, Timeline
from service.planner.timelines.simulation import Simulation
from service.strategies import GROUP_PROTOCOLS, KAFKAS


@dataclass(frozen=True)
class Lags:
    """The loads of partitions, and why some are not known: bool[partitions] each.

    uncommitted : the group has committed nothing, and ``auto.offset.reset`` decides whether it reads the log or only what comes
    endless : the end of the log is not known
    negative : the committed offset is beyond the end
    """

    loads: LoadBounds
    uncommitted: Bools
    endless: Bools
    negative: Bools


def lags_of(group: Group, policy: str | None) -> Lags:
    """The loads of a group's partitions. policy : ``latest`` or ``earliest``, of partitions without an offset; None: not known

    Without a log start, a log is taken to begin at 0 at the earliest.
    """
    if group.topics.offsets is None:
        nothing = np.zeros(group.topics.partitions_count, np.bool_)
        return Lags(LoadBounds.of(group), nothing, nothing, nothing)
    committed, ends, starts = group.topics.offsets
    endless = ends < 0
    whole = np.where(endless, 0, ends - np.maximum(starts, 0)).astype(np.float64)
    uncommitted = (committed < 0) & (whole > 0)
    loads = LoadBounds.of(group)
    least = np.where(uncommitted, whole, loads.least) if policy == "earliest" else loads.least
    most = loads.least if policy == "latest" else np.where(uncommitted, whole, loads.least)
    known = replace(loads, least=least, most=most, is_unbounded=bool(endless.any()))
    return Lags(known, uncommitted, endless, ~endless & (committed > ends))


MOST_MEMBERS: Final = 100_000
"""The largest number of members that is planned."""

MOST_PLANS: Final = 1_000
"""Numbers of members that are planned where the question does not list them."""


@dataclass(frozen=True)
class Limits:
    """What every member must keep. max_load : in the unit of its load; max_lag_seconds : to work off its lag"""

    max_load: float | None = None
    max_lag_seconds: float | None = None


@dataclass(frozen=True)
class MemberCountsQuestion:
    """A group as it is now, and what it must keep.

    group : topics, members with what they own, assignor. If no member owns anything, what the assignor would give them counts
    members_counts : None: from 1 to the number of partitions, as far as ``MOST_PLANS`` allows
    consumption_rate : the load that a member works off per second; the load is then a lag
    threads_per_pod : members that run in one pod
    timing : fields of ``Timing`` and ``min_session_timeout_ms``; absent or None: Kafka's default
    price_per_gb : of what crosses zones; None: not known
    beside_balanced : plan under ``balanced`` too, where the protocol has it?
    standstill : simulate how long partitions have no reader until the group has each number of members?
    trigger, scaling : of KEDA's ScaledObject
    offset_reset_policy : what members read of partitions without a committed offset: ``latest``, ``earliest``; None: not known
    """

    group: GroupQuestion
    members_counts: tuple[int, ...] | None = None
    consumption_rate: float | None = None
    limits: Limits = Limits()
    threads_per_pod: int = 1
    timing: Mapping[str, Any] = field(default_factory=dict)
    price_per_gb: float | None = None
    standstill: bool = True
    beside_balanced: bool = True
    trigger: Trigger = field(default_factory=Trigger)
    scaling: Scaling = field(default_factory=Scaling)
    offset_reset_policy: str | None = None

    @property
    def assignors_count(self) -> int:
        """Under how many assignors the numbers are planned: share groups have no ``balanced``."""
        return 2 if self.beside_balanced and self.group.protocol != "share" else 1

    @property
    def has_lag(self) -> bool:
        """Is the load a lag, which members work off, and no rate?"""
        return self.consumption_rate is not None or has_lag(self.group.topics)

    @property
    def is_weighted(self) -> bool:
        """Have partitions a load of their own?"""
        topics = self.group.topics
        return has_lag(topics) or bool(topics.field("partition_weights").null_count < len(topics))


def as_it_is(question: MemberCountsQuestion, members: pa.StructArray, assignor: str | None) -> RebalancesQuestion:
    """The question about the rebalances of the group to which nothing happens yet. members : with what they own"""
    group = question.group
    timing = {name: value for name, value in question.timing.items() if value is not None}
    return RebalancesQuestion(
        group.topics,
        members,
        timing=timing,
        group_protocol=group.group_protocol,
        assignor=assignor,
        kafka_version=group.version,
    )


def faults(question: MemberCountsQuestion) -> Iterator[InvalidQuestion]:
    """What is wrong between the fields beside the group."""
    yield from duplicates_in_list(question.members_counts or (), "members_counts")
    if question.limits.max_lag_seconds is not None and question.consumption_rate is None:
        yield InvalidQuestion("Requires consumption_rate.", "limits", "max_lag_seconds")
    if question.consumption_rate is not None and not question.is_weighted:
        yield InvalidQuestion(
            "Requires the lag of each partition: topics[].lag or topics[].partition_weights. kafka-consumer-groups --describe "
            "prints it.",
            "consumption_rate",
        )
    if question.group.protocol in KAFKAS:
        yield from timing_faults(as_it_is(question, question.group.members, question.group.assignor))
    elif question.group.protocol in GROUP_PROTOCOLS:
        yield InvalidQuestion(f"Member counts are planned only for groups that rebalance: {', '.join(KAFKAS)}.", "group_protocol")
    if question.scaling.min_replica_count > question.scaling.max_replica_count:
        yield InvalidQuestion("Must be at most max_replica_count.", "keda", "min_replica_count")


# How long partitions have no reader until a group has another number of members: a timeline for each number.
#
# A timeline costs some milliseconds, so there is a limit on all of them together, known before the first begins. Numbers of
# members that gain something come first.

MOST_CELLS: Final = 6_000_000
"""What all timelines of an answer may cost together, in cells (see ``timelines.course.Clock``): 0.3 s."""

AT_MS: Final = 60_000
"""When members come or go; so do the events of the command ``rebalances`` that are given no time."""

REBALANCES: Final = 3
"""As many follow when members come or go: one, a second of the cooperative protocol, and one more if not all come at once."""


@dataclass(frozen=True)
class Standstill:
    """What it takes until the group has a number of members. rebalances : how many; the times : of partitions without a reader"""

    rebalances: int
    idle_partition_ms: int
    longest_idle_ms: int


def standstills(
    question: MemberCountsQuestion,
    present: pa.StructArray,
    further: pa.StructArray,
    several: Sequence[tuple[Assignor, Sequence[MembersPlan]]],
    budget: Budget,
) -> tuple[list[dict[int, Standstill]], list[str]]:
    """For each assignor and its plans, number of members → standstill, of those that were simulated; and what to know of them.

    several : the assignors keep the time by themselves
    present : the members of now, with what they own; further : those that come when the group grows
    """
    found: list[dict[int, Standstill]] = [{} for _ in several]
    if not question.standstill or not len(present):
        return found, []
    try:
        timeline = read_timeline(as_it_is(question, present, several[0][0].name), "totals", 0)
    except InvalidQuestion as fault:
        return found, [f"idle_partition_ms is not known, because the group is not stable: {fault.detail}"]
    if timeline.group.capacities is not None:
        return found, ["idle_partition_ms is not known, because a simulation treats all members alike, whatever their capacity."]
    now = len(present)
    wanted = sorted(
        (not plan.gains, plan.members_count, which, plan.moved) for which, (_, plans) in enumerate(several) for plan in plans
    )
    spent = 0
    for _, count, which, moved in wanted:
        if count == now:
            if not moved:
                found[which][count] = Standstill(0, 0, 0)
            continue
        changed = replace(timeline, assignor=several[which][0])
        spent += _cost(changed, now, count)
        if spent > MOST_CELLS:
            break
        events = _leaves(timeline, count) if count < now else _joins(timeline, further[: count - now])
        found[which][count] = _simulated(replace(changed, events=events), budget)
    simulated = sum(map(len, found))
    if spent <= MOST_CELLS:
        return found, []
    first = f"idle_partition_ms was simulated for {simulated} of {len(wanted)} plans, first for numbers of members that gain."
    return found, [f"{first} With fewer numbers in members_counts it is for more of them."]


def _joins(timeline: Timeline, further: pa.StructArray) -> tuple[Event, ...]:
    """The members that come, all at once."""
    topics = timeline.subscriptions[-1]
    rows = zip(further.field("member_id").to_pylist(), further.field("rack_id").to_pylist(), strict=True)
    return tuple(Event(AT_MS, "member_joins", member=NewMember(name, None, rack or None, topics)) for name, rack in rows)


def _leaves(timeline: Timeline, count: int) -> tuple[Event, ...]:
    """The last members leave, all at once."""
    return tuple(Event(AT_MS, "member_leaves", name) for name in timeline.group.member_ids[count:][::-1])


def _cost(timeline: Timeline, now: int, count: int) -> int:
    """What it costs at most to come to a number of members, in cells."""
    members = max(now, count)
    rebalance = REBALANCE_CELLS + MEMBER_CELLS * members + int(timeline.world.first[-1])
    return REBALANCES * timeline.cost() * rebalance + (members + abs(count - now)) * STEP_CELLS


def _simulated(timeline: Timeline, budget: Budget) -> Standstill:
    check_time = budget.check_time
    with closing(Simulation(timeline)) as simulation:
        simulation.run(lambda _: check_time())
        totals = simulation.outcome().totals
    return Standstill(totals.rebalances, totals.idle.sum_ms, totals.idle.longest_ms)


@dataclass(frozen=True)
class JudgedPlan:
    """A number of members.

    standstill : None where it was not simulated
    meets : limit → is it kept? None: not known
    """

    plan: MembersPlan
    standstill: Standstill | None
    meets: dict[str, bool | None]


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
    question: MemberCountsQuestion,
    group: Group,
    weights: Float64s,
    assignor: Assignor,
    made: list[MembersPlan],
    standstills: dict[int, Standstill],
) -> Plans:
    """The plans with what the limits say of them. weights : float64[partitions], their loads"""
    judged = [JudgedPlan(plan, standstills.get(plan.members_count), meets(question, plan.load)) for plan in made]
    limits = judged[0].meets
    recommended = smallest(made, [not each.plan.unread and all(each.meets.values()) for each in judged]) if limits else None
    unkept = [limit for limit in limits if not any(each.meets[limit] for each in judged)]
    reasons = {limit: _reason(question, group, weights, limit, made) for limit in unkept}
    return Plans(assignor, tuple(judged), tuple(plan.members_count for plan in made if plan.gains), recommended, reasons)


def surely(least: Plans, most: Plans, *, is_unbounded: bool) -> Plans:
    """What is sure of plans, of which there are those with the least that can be to read, and those with the most.

    A limit of which it is not known whether it is kept is None. Numbers gain if they do with the least, or with the most.
    """
    plans = []
    for one, other in zip(least.plans, most.plans, strict=True):
        kept = _surely(one.meets, other.meets, is_unbounded=is_unbounded)
        gains = one.plan.gains or other.plan.gains
        plans.append(replace(one, plan=replace(one.plan, gains=gains), meets=kept))
    worth = tuple(each.plan.members_count for each in plans if each.plan.gains)
    return replace(least, plans=tuple(plans), worth_using=worth, recommended=None if is_unbounded else most.recommended)


def drain_seconds(question: MemberCountsQuestion, load: MembersLoad) -> float | None:
    """How long the most loaded member works off its lag, if no more records arrive; None if it is not known."""
    return None if question.consumption_rate is None else load.worst / question.consumption_rate


def meets(question: MemberCountsQuestion, load: MembersLoad) -> dict[str, bool | None]:
    """Limit → is it kept?, of the limits that are set."""
    limits = [name for name, most in vars(question.limits).items() if most is not None]
    return {limit: keeps(question, limit, load.worst) for limit in limits}


def surely_meets(question: MemberCountsQuestion, load: MembersLoad, *, is_unbounded: bool) -> dict[str, bool | None]:
    """Limit → is it kept?; None where that is not known."""
    most = meets(question, replace(load, worst=load.worst_at_most))
    return _surely(meets(question, load), most, is_unbounded=is_unbounded)


def _surely(least: dict[str, bool | None], most: dict[str, bool | None], *, is_unbounded: bool) -> dict[str, bool | None]:
    return {limit: None if kept and (is_unbounded or not most[limit]) else kept for limit, kept in least.items()}


def keeps(question: MemberCountsQuestion, limit: str, load: float) -> bool:
    """Does a member with this load keep a limit?"""
    return bool(load / _rate(question, limit) <= getattr(question.limits, limit))


def _rate(question: MemberCountsQuestion, limit: str) -> float:
    """What a load is divided by to be compared with a limit."""
    return question.consumption_rate or 1.0 if limit == "max_lag_seconds" else 1.0


def most_load(question: MemberCountsQuestion, limit: str) -> float:
    """The most that a member may have by a limit, in the unit of its load."""
    return float(getattr(question.limits, limit)) * _rate(question, limit)


def heaviest_load(group: Group, weights: Float64s) -> float:
    """The load of the heaviest partition for the member with the largest capacity: no member that reads it can have less."""
    strongest = 1.0 if group.capacities is None or not len(group) else float(group.capacities.max())
    return float(weights.max(initial=0.0)) / strongest


def _reason(question: MemberCountsQuestion, group: Group, weights: Float64s, limit: str, made: list[MembersPlan]) -> str:
    """Why no number of members that was planned keeps a limit."""
    best, heaviest = min(made, key=lambda plan: plan.load.worst), heaviest_load(group, weights)
    alone, least = (figure(question, limit, load) for load in (heaviest, best.load.worst))
    if not keeps(question, limit, heaviest) and question.group.protocol != "share":
        return f"The heaviest partition alone has {alone}, and only one member can read it."
    return f"The least that was found is {least}, with {counted(best.members_count, 'member')}."


def figure(question: MemberCountsQuestion, limit: str, load: float) -> str:
    """A load in the unit of a limit, in words."""
    if limit == "max_lag_seconds":
        return f"{load / _rate(question, limit):,.6g} s of lag"
    return f"a load of {load:,.12g}"
