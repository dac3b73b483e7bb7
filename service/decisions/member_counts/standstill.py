"""How long partitions have no reader until a group has another number of members: a timeline for each number.

A timeline costs some milliseconds, so there is a limit on all of them together, known before the first begins. Numbers of members
that gain something come first.
"""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa

from service.core.assignors import Assignor
from service.core.errors import InvalidQuestion
from service.decisions.budget import Budget
from service.decisions.rebalances.question import RebalancesQuestion
from service.decisions.rebalances.timeline import read_timeline
from service.planner.member_counts import MembersPlan
from service.planner.timelines.course import MEMBER_CELLS, REBALANCE_CELLS, STEP_CELLS
from service.planner.timelines.model import Event, NewMember, Timeline
from service.planner.timelines.simulation import Simulation

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
    question: RebalancesQuestion,
    further: pa.StructArray,
    several: Sequence[tuple[Assignor, Sequence[MembersPlan]]],
    budget: Budget,
) -> tuple[list[dict[int, Standstill]], list[str]]:
    """For each assignor and its plans, number of members → standstill, of those that were simulated; and what to know of them.

    several : the assignors keep the time by themselves
    question : of ``as_it_is``; further : the members that come when the group grows
    """
    found: list[dict[int, Standstill]] = [{} for _ in several]
    try:
        timeline = read_timeline(question, "totals", 0)
    except InvalidQuestion as fault:
        return found, [f"idle_partition_ms is not known, because the group is not stable: {fault.detail}"]
    if timeline.group.capacities is not None:
        return found, ["idle_partition_ms is not known, because a simulation treats all members alike, whatever their capacity."]
    now = len(question.members)
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
