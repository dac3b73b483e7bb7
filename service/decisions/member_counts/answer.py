"""The answer: a plan for each number of members, and the fewest that are enough."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Final

import numpy as np
import pyarrow as pa

from service.core.budget import Budget, Figures
from service.core.errors import LimitExceeded
from service.core.model import Float64s, Group, Int64s, Ragged
from service.core.printable import counted
from service.core.ragged import transposed
from service.decisions.groups.answer import capacity_warnings, in_answer_order
from service.decisions.groups.question import GroupQuestion
from service.decisions.groups.question import check as check_group
from service.decisions.groups.rows import MEMBER, TOPIC, has_lag, lag_offsets, partitions_total, read_group, subscriptions_total
from service.decisions.groups.tables import assignments_array
from service.decisions.member_counts.conclusions import CountsCase, concluded, read_partitions
from service.decisions.member_counts.question import (
    MOST_MEMBERS,
    MOST_PLANS,
    Limits,
    MemberCountsQuestion,
    Plans,
    Standstill,
    faults,
    judged_plans,
    lags_of,
    standstills,
    surely,
)
from service.decisions.rows import NAME, faults_of, raise_all, struct_rows, with_columns
from service.planner.balanced.bounds import MOST_NODES
from service.planner.balanced.weighted import Glance
from service.planner.member_counts import (
    INT64,
    MembersLoad,
    MembersPlan,
    Trigger,
    at_most,
    load_of,
    metric,
    partition_lags,
    plans,
    replicas,
    useful_counts,
)
from service.planner.member_ids import IdDraw, default_client_id
from service.planner.rebalances import final_rows
from service.strategies import GROUP_PROTOCOLS, Assignor


def extended(group: GroupQuestion, count: int) -> pa.StructArray:
    """The members of a group, and further ones up to this number, with ids as Kafka draws them.

    Further ones subscribe like the last and are on the members' racks in turn.
    """
    members, now = group.members, len(group.members)
    if count <= now:
        return members
    draw = IdDraw(client_id=default_client_id(group.client, group.group_id))
    ids = members.field("member_id").to_pylist()
    drawn = pa.array(draw.further(ids, count - now, group.protocol, {*ids}), NAME)
    columns = {}
    if now:
        like_the_last = members.take(pa.array(np.full(count - now, now - 1)))
        columns = {name: like_the_last.field(name) for name in ("topic_names", "capacity")}
        columns["rack_id"] = members.field("rack_id").take(pa.array(np.arange(now, count) % now))
    return pa.concat_arrays([members, struct_rows(MEMBER, {**columns, "member_id": drawn}, count - now)])


def owning(members: pa.StructArray, group: Group, rows: Ragged) -> pa.StructArray:
    """The members with these partitions, Ragged member → partitions, as if a first rebalance had given them."""
    total = group.total_partitions
    owned = assignments_array([group], [in_answer_order(group, rows, transposed(rows, total))]).values.field("partitions")
    columns = {"owned_partitions": owned.cast(MEMBER.field("owned_partitions").type)}
    return with_columns(members, columns | {"generation_id": pa.array(np.ones(len(members), np.int32))})


OPTIONS: Final[Mapping[str | None, Callable[[Trigger], Trigger]]] = {
    None: lambda trigger: trigger,
    "limitToPartitionsWithLag": lambda trigger: replace(trigger, limit_to_partitions_with_lag=True),
    "ensureEvenDistributionOfPartitions": lambda trigger: replace(trigger, ensure_even_distribution_of_partitions=True),
    "allowIdleConsumers": lambda trigger: replace(trigger, allow_idle_consumers=True),
}
"""KEDA's name of an option → the trigger with it. KEDA refuses the first two together, and the first with the last."""

NEED_A_TOPIC: Final = ("limitToPartitionsWithLag", "ensureEvenDistributionOfPartitions")
"""Options that the scaler ``kafka`` takes only with a topic; a group of several topics then has a trigger for each."""


MOST_LAG: Final = 2**62
"""A larger weight counts as this lag."""


@dataclass(frozen=True)
class Policy:
    """A choice of KEDA's.

    option : of the trigger, by KEDA's name; None: its defaults
    triggers : how many there are, one for all topics or one for each
    total_lag : what they report, of all together, as the nearest int64
    replicas : pods; members_count : in them
    """

    option: str | None
    triggers: int
    total_lag: int
    is_active: bool
    replicas: int
    members_count: int


def policies(question: MemberCountsQuestion) -> tuple[Policy, ...]:
    """What KEDA chooses with each option, for the topics' lag, or else for their weights, rounded down."""
    if not question.is_weighted or question.group.protocol == "share":
        return ()
    lags = _lags(question)
    return tuple(_policy(question, lags, option) for option in OPTIONS)


def _lags(question: MemberCountsQuestion) -> list[Int64s]:
    """int64[...] of each topic, the lags of its partitions."""
    topics = question.group.topics
    first = np.cumsum(topics.field("partitions_count"))[:-1]
    if has_lag(topics):
        committed, ends, _ = lag_offsets(topics)
        of_topics = zip(np.split(committed, first), np.split(ends, first), strict=True)
        return [partition_lags(*each, question.trigger) for each in of_topics]
    weights = topics.field("partition_weights").flatten().to_numpy(zero_copy_only=False)
    return np.split(np.minimum(weights, float(MOST_LAG)).astype(np.int64), first)


def _policy(question: MemberCountsQuestion, lags: list[Int64s], option: str | None) -> Policy:
    trigger = OPTIONS[option](question.trigger)
    several = lags if option in NEED_A_TOPIC else [np.concatenate(lags)]
    metrics = [metric(each, trigger) for each in several]
    threads = question.threads_per_pod
    pods = replicas(metrics, trigger.lag_threshold, -(-len(question.group.members) // threads), question.scaling)
    return Policy(
        option,
        len(metrics),
        max(-INT64 - 1, min(sum(each.total_lag for each in metrics), INT64)),
        any(each.is_active for each in metrics),
        pods,
        pods * threads,
    )


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
class MemberCountsAnswer:
    """The plans of a group.

    now : the load as it is; None without members
    own, balanced : under the group's own assignor, and under ``balanced``, which share groups have not
    policies : what KEDA would choose, and the load then, under the group's own assignor; None without members, and of thousands
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
    policies: tuple[tuple[Policy, MembersLoad | None], ...]
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
    chosen = policies(question)
    beside = sorted({each.members_count for each in chosen if 0 < each.members_count <= max(MOST_PLANS, counts[-1])} - {*counts})
    _reserve(question, [*counts, *beside], budget)
    everyone = extended(question.group, max(*counts, *beside, current))
    check_group(replace(question.group, members=everyone), budget)
    budget.lengthen()

    present, warnings = _present(question, own)
    further = everyone.slice(current)
    group = read_group(question.group.topics, pa.concat_arrays([present, further]))
    lags = lags_of(group, question.offset_reset_policy)
    planning = partial(plans, current=current, loads=lags.loads)
    if group.topics.offsets is not None:
        group = replace(group, topics=replace(group.topics, weights=lags.loads.most, unknown=lags.endless))
    several = [(each, planning(group, counts=counts, assignor=each)) for each in _assignors(question, own, len(counts))]
    standing, notes = standstills(question, present, further, several, budget)
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
        tuple((each, loads.get(each.members_count)) for each in chosen),
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


def _assignors(question: MemberCountsQuestion, own: Assignor, plans_count: int) -> list[Assignor]:
    """The group's own, and ``balanced`` where the protocol has it; one, if the group's own is that."""
    if own.name != BALANCED and question.assignors_count == 1:
        return [own]
    even = GROUP_PROTOCOLS[question.group.protocol][BALANCED].at(question.group.version)
    even = replace(even, run=partial(even.run, glance=Glance(MOST_STEPS // plans_count, MOST_NODES // plans_count)))
    return [even] if own.name == BALANCED else [own, even]


def _left_open(own: list[MembersPlan]) -> list[str]:
    """That the figures are those of one run of many."""
    chance = next((plan.left_open for plan in own if plan.left_open is not None), None)
    if chance is None:
        return []
    reason = f"The library leaves to chance who gets some partitions: {chance.because}."
    return [f"{reason} Loads, moves and standstill are those of one run."]


EACH: Final = 64
"""Partitions up to which every number of members is planned; of more, those with which the share of a member falls."""


@dataclass(frozen=True)
class Need:
    """What members must do. rate : the records that one works off per second; max_lag_seconds : in how long it must"""

    rate: float
    max_lag_seconds: float


def fewest_members(group: GroupQuestion, need: Need | None, budget: Budget) -> int | None:
    """The fewest members that work off the group's lag in time; without a need, those of whom none has more partitions than now.

    group : its members own what they own now; its topics have ``lag`` if there is a need
    None if no number is enough, or no member owns anything. Raises as ``answer``.
    """
    if need is not None:
        limits = Limits(max_lag_seconds=need.max_lag_seconds)
    else:  # each partition is a load of 1
        without = {name: pa.nulls(len(group.topics), TOPIC.field(name).type) for name in ("partition_weights", "lag")}
        group = replace(group, topics=with_columns(group.topics, without))
        now = read_group(group.topics, group.members)
        limits = Limits(float(load_of(now, now.owned).most_partitions))
    if limits.max_load == 0:
        return None
    partitions = partitions_total(group.topics)
    counts = range(1, partitions + 1) if partitions <= EACH else useful_counts(partitions)
    question = MemberCountsQuestion(
        group,
        tuple(counts)[:MOST_PLANS] or (1,),
        None if need is None else need.rate,
        limits,
        standstill=False,
        beside_balanced=False,
    )
    return answer(question, budget).own.recommended
