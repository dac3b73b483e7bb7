"""The answer: a plan for each number of members, under the group's own assignor and under ``balanced``."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Final

import numpy as np
import pyarrow as pa

from service.core.errors import LimitExceeded, faults_of, raise_all
from service.core.model import Float64s, Group
from service.core.printable import counted
from service.decisions.budget import Budget
from service.decisions.figures import Figures
from service.decisions.groups.answer import capacity_warnings
from service.decisions.groups.question import check as check_group
from service.decisions.groups.rows import partitions_total, read_group, subscriptions_total
from service.decisions.member_counts.conclusions import CountsCase, concluded, read_partitions
from service.decisions.member_counts.judging import Plans, judged_plans, surely
from service.decisions.member_counts.lags import lags_of
from service.decisions.member_counts.members import extended, owning
from service.decisions.member_counts.policies import Policy, policies
from service.decisions.member_counts.question import MOST_MEMBERS, MOST_PLANS, MemberCountsQuestion, as_it_is, faults
from service.decisions.member_counts.standstill import Standstill, standstills
from service.planner.balanced.exhaustive import MOST_NODES
from service.planner.balanced.weighted import Glance
from service.planner.member_counts.plans import MembersLoad, MembersPlan, at_most, load_of, plans, useful_counts
from service.planner.rebalances.rebalance import final_rows
from service.strategies import GROUP_PROTOCOLS, Assignor

BALANCED: Final = "balanced"

ALL_CELLS: Final = 4_000_000
"""Partitions or subscriptions × numbers of members up to which every number is planned without being listed: half a second."""

DRAWN: Final = (
    "The ids of further members are one draw of what Kafka draws; what moves depends on it if the assignor orders by id."
)

MEMBER_BYTES: Final = 1_000
PLAN_BYTES: Final = 1_500
"""Memory of a further member, and of a plan with its text."""

MOST_STEPS: Final = 10_000_000
"""Steps that ``balanced`` searches with weights, for all numbers of members together: a quarter of a second."""


@dataclass(frozen=True)
class ChosenCount:
    """What KEDA would choose, and the load then, under the group's own assignor; None without members, and of thousands."""

    policy: Policy
    load: MembersLoad | None


@dataclass(frozen=True)
class MemberCountsAnswer:
    """The plans of a group.

    now : the load as it is; None without members
    own, balanced : under the group's own assignor, and under ``balanced``, which share groups have not
    policies : what KEDA would choose
    are_known : is it known what there is to read? If not, ``own`` and ``balanced`` have what is sure, and loads are least ones
    is_unbounded : can what is not known be any amount?
    planned : which numbers were planned: ``all`` from 1 to the number of partitions, ``useful`` ones, ``listed`` ones
    conclusion : what it comes to, in sentences
    """

    question: MemberCountsQuestion
    partitions: int
    now: MembersLoad | None
    own: Plans
    balanced: Plans | None
    policies: tuple[ChosenCount, ...]
    are_known: bool
    is_unbounded: bool
    planned: str
    conclusion: str
    warnings: tuple[str, ...]

    @property
    def current(self) -> int:
        """The number of members now."""
        return len(self.question.group.members)

    @property
    def figures(self) -> Figures:
        """See Figures."""
        group = self.question.group
        items = {"partitions": self.partitions, "members": self.own.plans[-1].plan.members_count}
        skew = None if self.now is None or not self.now.mean else self.now.worst / self.now.mean
        return Figures(f"{group.protocol}-{self.own.assignor.name}", items, skew, group.group_id)


def answer(question: MemberCountsQuestion, budget: Budget) -> MemberCountsAnswer:
    """Plan the numbers of members. Raises InvalidQuestion, KafkaAssignorFails, and what the budget raises."""
    found: list[Assignor] = []
    raise_all(chain(faults_of(lambda: found.append(check_group(question.group, budget))), faults(question)))
    own = found[0]
    partitions, current = partitions_total(question.group.topics), len(question.group.members)
    planned, counts = _counts(question, partitions)
    chosen = policies(question) if question.is_weighted and question.group.protocol != "share" else ()
    beside = sorted({each.members_count for each in chosen if 0 < each.members_count <= max(MOST_PLANS, counts[-1])} - {*counts})
    _reserve(question, [*counts, *beside], budget)
    everyone = extended(question.group, max(*counts, *beside, current))
    check_group(replace(question.group, members=everyone), budget)
    budget.lengthen()

    present, warnings = _present(question, own)
    further = everyone.slice(current)
    group = read_group(question.group.topics, pa.concat_arrays([present, further]))
    lags = lags_of(group, question.offset_reset_policy)
    planning = partial(plans, current=current, check_time=budget.check_time, loads=lags.loads)
    if group.topics.offsets is not None:
        group = replace(group, topics=replace(group.topics, weights=lags.loads.most, unknown=lags.endless))
    several = [(each, planning(group, counts=counts, assignor=each)) for each in _assignors(question, own, len(counts), budget)]
    standing, notes = _standstills(question, present, further, several, budget)
    assignor, made = several[0]
    loads = {each.members_count: each.load for each in (*made, *planning(group, counts=beside, assignor=assignor))}
    now = group.first_members(current)
    owned = load_of(now, now.owned, lags.loads) if current else None
    case = partial(_case, question, group, planned, standing)
    cases = [case(owned, several, lags.loads.least)]
    judged = list(cases[0].judged)
    if not lags.loads.are_known:
        most = [(each, at_most(of_each)) for each, of_each in several]
        owned_at_most = None if owned is None else replace(owned, worst=owned.worst_at_most)
        cases.append(replace(case(owned_at_most, most, lags.loads.most), is_most=True))
        pairs = zip(judged, cases[1].judged, strict=True)
        judged = [surely(*pair, is_unbounded=lags.loads.is_unbounded) for pair in pairs]
    cases = [replace(each, probe=_probe(each, present, planning, budget)) for each in cases]
    conclusion, further_warnings = concluded(lags, cases)
    return MemberCountsAnswer(
        question,
        partitions,
        owned,
        judged[0],
        judged[-1] if judged[-1].assignor.name == BALANCED else None,
        tuple(ChosenCount(each, loads.get(each.members_count)) for each in chosen),
        lags.loads.are_known,
        lags.loads.is_unbounded,
        planned,
        conclusion,
        (
            *further_warnings,
            *capacity_warnings(question.group),
            *warnings,
            *notes,
            *([DRAWN] if 0 < current < counts[-1] else ()),
            *_left_open(made),
        ),
    )


def _case(
    question: MemberCountsQuestion,
    group: Group,
    planned: str,
    standing: list[dict[int, Standstill]],
    now: MembersLoad | None,
    several: list[tuple[Assignor, list[MembersPlan]]],
    weights: Float64s,
) -> CountsCase:
    weights = np.where(read_partitions(group), weights, 0.0)
    pairs = zip(several, standing, strict=True)
    judged = tuple(judged_plans(question, group, weights, each, made, of_each) for (each, made), of_each in pairs)
    return CountsCase(question, group, weights, now, judged, planned)


def _probe(
    case: CountsCase, present: pa.StructArray, planning: Callable[..., list[MembersPlan]], budget: Budget
) -> MembersPlan | None:
    """The plan with the fewest members that could be enough, if that number was not planned and no smaller one is."""
    question, count = case.question, case.probed
    if count is None or count > max(MOST_PLANS, case.counts[-1]):
        return None
    try:
        _reserve(question, [count], budget)
    except LimitExceeded:
        return None
    further = extended(question.group, count).slice(len(present))
    group = read_group(question.group.topics, pa.concat_arrays([present, further]))
    plans = planning(group, counts=[count], assignor=case.own.assignor)
    return (at_most(plans) if case.is_most else plans)[0]


def _counts(question: MemberCountsQuestion, partitions: int) -> tuple[str, list[int]]:
    """The numbers of members to plan, ascending, none twice: multiples of the threads of a pod, unless they are listed; and which
    they are.
    """
    if question.members_counts is not None:
        return "listed", sorted(question.members_counts)
    threads = question.threads_per_pod
    pods = -(-max(1, partitions) // threads)
    subscriptions = len(question.group.topics) * threads
    if pods <= MOST_PLANS and pods * max(partitions, pods * subscriptions // 2) <= ALL_CELLS:
        return "all", [count * threads for count in range(1, pods + 1)]
    useful = sorted({-(-count // threads) * threads for count in useful_counts(max(1, partitions))})
    return "useful", [count for count in useful if count <= MOST_MEMBERS][:MOST_PLANS]


def _reserve(question: MemberCountsQuestion, counts: list[int], budget: Budget) -> None:
    """Raise LimitExceeded for more work than an answer may be; reserve what the further members and the plans take."""
    topics, members = question.group.topics, question.group.members
    now, own = len(members), subscriptions_total(topics, members)
    each, text = len(topics), 0
    if now and members.field("topic_names")[now - 1].is_valid:
        names = members.field("topic_names")[now - 1].values
        each, text = len(names), names.nbytes
    partitions, further = partitions_total(topics), max(0, *(count - now for count in counts))
    budget.check("max_subscriptions", own + further * each, "subscriptions of members to topics", "members_counts")
    cells = sum(max(partitions, own + max(0, count - now) * each) for count in counts)
    assignors = question.assignors_count
    what = "sum of partitions, or subscriptions if there are more, over all members_counts × assignors"
    budget.check("max_member_plan_cells", cells * assignors, what, "members_counts")
    budget.reserve(further * (text + MEMBER_BYTES) + len(counts) * assignors * PLAN_BYTES)


def _present(question: MemberCountsQuestion, own: Assignor) -> tuple[pa.StructArray, list[str]]:
    """The members of now with what they own: if none owns anything, what the assignor gives them; and a note on that."""
    members = question.group.members
    if not len(members) or len(members.field("owned_partitions").values.field("partition_ids").values):
        return members, []
    group = read_group(question.group.topics, members)
    of_them = counted(len(members), "member")
    sentence = f"No member owns anything; moves are counted from what {own.name} assigns to the {of_them}."
    return owning(members, group, final_rows(own.run(group))), [sentence]


def _assignors(question: MemberCountsQuestion, own: Assignor, plans_count: int, budget: Budget) -> list[Assignor]:
    """The group's own, and ``balanced`` where the protocol has it; one, if the group's own is that."""
    if own.name != BALANCED and question.assignors_count == 1:
        return [own]
    even = GROUP_PROTOCOLS[question.group.protocol][BALANCED].at(question.group.version)
    even = replace(even, run=partial(even.run, glance=Glance(MOST_STEPS // plans_count, MOST_NODES // plans_count)))
    even = even.within(budget.check_time, budget.reserve_largest())
    return [even] if own.name == BALANCED else [own, even]


def _standstills(
    question: MemberCountsQuestion,
    present: pa.StructArray,
    further: pa.StructArray,
    several: list[tuple[Assignor, list[MembersPlan]]],
    budget: Budget,
) -> tuple[list[dict[int, Standstill]], list[str]]:
    if not question.standstill or not len(present):
        return [{} for _ in several], []
    return standstills(as_it_is(question, present, several[0][0].name), further, several, budget)


def _left_open(own: list[MembersPlan]) -> list[str]:
    """That the figures are those of one run of many."""
    chance = next((plan.left_open for plan in own if plan.left_open is not None), None)
    if chance is None:
        return []
    reason = f"The library leaves to chance who gets some partitions: {chance.because}."
    return [f"{reason} Loads, moves and standstill are those of one run."]
