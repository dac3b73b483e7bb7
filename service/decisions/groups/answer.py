"""The answer: the group, assigned; what follows; what moves; how it differs from what is expected."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from service.core.measures import NOT_KNOWN, ZoneTraffic, read_nearby, weighted_load, zone_traffic
from service.core.model import NONE, Float64s, Group, Ragged
from service.core.printable import counted, first_few
from service.decisions.figures import Figures
from service.decisions.groups.alternatives import Alternative, Settled, alternatives
from service.decisions.groups.expected import expected_group, with_counts
from service.decisions.groups.outcomes import Outcomes, outcomes
from service.decisions.groups.question import GroupQuestion, check, strategy
from service.decisions.groups.rows import has_lag, read_group
from service.decisions.groups.tables import in_answer_order
from service.planner.rebalances import (
    Differences,
    Moves,
    Rebalance,
    differences,
    final_rows,
    follow_up,
    moves,
    rebalance,
)

if TYPE_CHECKING:
    from service.core.assignors import Assignor
    from service.decisions.budget import Budget
    from service.planner.balanced.balanced import TradeOff

FEW_MOVES: Final = 100
"""Moves up to which they are in the answer without being asked for."""

MOVE_BYTES: Final = 64
"""Memory for each owned and each assigned partition while moves are sought."""

MAX_DIFFERENCES: Final = 20
"""Most differences from what is expected that an answer lists."""

NAMED: Final = 5
"""Most topics that a warning names."""


@dataclass(frozen=True)
class Assigned:
    """One rebalance of a group.

    rows : Ragged member → partitions, each row by topic name and partition_id
    """

    group: Group
    outcome: Rebalance
    rows: Ragged


@dataclass(frozen=True)
class GroupComparison:
    """How an assignment differs from the one expected.

    expected : the group whose members own what they are expected to get
    counts : the partition counts tried, by topic name
    left_open : the number of partitions that are not compared, because the library leaves their members to chance
    """

    expected: Group
    counts: dict[str, int]
    differences: Differences
    left_open: int = 0


@dataclass(frozen=True)
class GroupAnswer:
    """A group, assigned.

    first : the rebalance; second : the one that a cooperative assignor needs after it
    weighted_load : float64[members], the weight of each member's partitions, where partitions have weights
    moves : each partition that changes hands, if asked for or few
    comparison : with ``expected``; second_differences : how ``second`` differs from that
    traffic : what crosses zones after the first rebalance; None without racks
    alternatives : the group under the assignors of ``compare``
    outcomes : other runs, where the library leaves something to chance
    frontier : what fewer moves achieve, if asked for
    explanation : how the assignor decided, if asked for
    """

    question: GroupQuestion
    assignor: Assignor
    first: Assigned
    second: Assigned | None
    weighted_load: Float64s | None
    moves: Moves | None
    comparison: GroupComparison | None
    second_differences: Differences | None
    warnings: list[str]
    explanation: dict[str, Any] | None
    traffic: ZoneTraffic | None = None
    outcomes: Outcomes | None = None
    alternatives: tuple[Alternative, ...] = ()
    frontier: tuple[TradeOff, ...] | None = None

    @property
    def settled(self) -> Settled:
        """The group once it is at rest."""
        return Settled.of(self.first.group, self.first.outcome, None if self.second is None else self.second.outcome)

    @property
    def figures(self) -> Figures:
        """See Figures."""
        group, outcome, question = self.first.group, self.first.outcome, self.question
        return Figures(
            f"{question.protocol}-{self.assignor.name}",
            {"partitions": group.topics.partitions_count, "members": len(group)},
            outcome.load.skew,
            question.group_id,
            outcome.movement.moved,
        )


def answer(question: GroupQuestion, budget: Budget) -> GroupAnswer:
    """Assign the group. Raises InvalidQuestion (all faults at once), KafkaAssignorFails, and what the budget raises."""
    assignor = check(question, budget)
    if question.expected is None:
        group = read_group(with_counts(question.topics, question.counts[0]), question.members)
        first, comparison = assigned(group, rebalance(group, assignor)), None
    else:
        first, comparison = _compared(question, assignor, budget)
    given = told(question, assignor, first, comparison, budget)
    if question.frontier and assignor.frontier is not None:
        budget.lengthen()
        unlimited = strategy(replace(question, max_moves=None))
        given = replace(given, frontier=assignor.frontier(first.group, unlimited.run))
    return replace(given, alternatives=alternatives(question, first.group)) if question.compare else given


def assigned(group: Group, outcome: Rebalance) -> Assigned:
    """The rebalance with its rows in the order of an answer."""
    return Assigned(group, outcome, in_answer_order(group, outcome.assignment.rows, outcome.owners))


def told(
    question: GroupQuestion, assignor: Assignor, first: Assigned, comparison: GroupComparison | None, budget: Budget
) -> GroupAnswer:
    """All that the question asks about a rebalance, which may also be one by another assignor than its own."""
    group, outcome = first.group, first.outcome
    second = assigned(*follow_up(group, outcome, assignor)) if outcome.assignment.follow_up_rebalance else None
    weights = group.topics.weights
    runs = outcomes(group, outcome, question.random_seed or 0)
    traffic = zone_traffic(group, outcome.owners)
    crossing = (traffic or NOT_KNOWN).figures(question.price_per_gb, of_lag=has_lag(question.topics))
    return GroupAnswer(
        question,
        assignor,
        first,
        second,
        None if weights is None else weighted_load(first.rows, weights),
        _moves(question, first, budget),
        comparison,
        None if second is None or comparison is None else _differences(comparison.expected, second.group, second.outcome),
        [
            *capacity_warnings(question),
            *_warnings(assignor, first),
            *(() if runs is None else (runs.sentence,)),
            *read_nearby(crossing),
        ],
        assignor.explain(group, outcome.assignment, budget.explained) if question.explain and assignor.explain else None,
        traffic,
        runs,
    )


def _warnings(assignor: Assignor, first: Assigned) -> list[str]:
    left_open = first.outcome.assignment.left_open
    return [
        *warnings(first.group, by_load=first.outcome.assignment.certificate is not None),
        *(assignor.warnings(first.group) if assignor.warnings else ()),
        *(() if left_open is None else (left_open.warning,)),
    ]


def _moves(question: GroupQuestion, first: Assigned, budget: Budget) -> Moves | None:
    movement, assignment = first.outcome.movement, first.outcome.assignment
    few = 0 < movement.moved + movement.revoked <= FEW_MOVES
    if not (few if question.moves is None else question.moves):
        return None
    budget.reserve(MOVE_BYTES * (len(first.group.owned.values) + len(assignment.rows.values)))
    return moves(first.group, final_rows(assignment))


def _compared(question: GroupQuestion, assignor: Assignor, budget: Budget) -> tuple[Assigned, GroupComparison]:
    """The rebalance with the partition counts that assign the group as expected; if none do, with those that differ least."""
    tried: list[tuple[Group, Rebalance, GroupComparison]] = []
    for counts in question.counts:
        budget.check_time()
        topics = with_counts(question.topics, counts)
        group = read_group(topics, question.members)
        expected = expected_group(topics, question.members, question.expected or [])
        outcome = rebalance(group, assignor)
        chance = outcome.assignment.left_open
        comparison = GroupComparison(
            expected, counts, _differences(expected, group, outcome), 0 if chance is None else len(chance.partitions)
        )
        tried.append((group, outcome, comparison))
        if not len(comparison.differences):
            break
    group, outcome, comparison = min(tried, key=lambda each: len(each[2].differences))
    return assigned(group, outcome), comparison


def _differences(expected: Group, group: Group, outcome: Rebalance) -> Differences:
    """Assignors may give partitions that do not exist: those that are expected count, each by its number in ``expected``."""
    exist, rows = expected.topics.partitions_count, outcome.assignment.rows
    numbers = {(expected.topic_names[topic], i): exist + k for k, (topic, i) in enumerate(expected.unknown_partitions.tolist())}
    absent = [numbers.get((group.topic_names[topic], i), NONE) for topic, i in group.unknown_partitions.tolist()]
    values = np.concatenate([np.arange(exist, dtype=np.int32), np.array(absent, np.int32)])[rows.values]
    rows = Ragged(rows.offsets, values).where(values != NONE)
    found = differences(expected.owned, rows, expected.total_partitions)
    chance = outcome.assignment.left_open
    return found if chance is None else found.without(chance.partitions)


def capacity_warnings(question: GroupQuestion) -> list[str]:
    """That some members have no capacity, where others have one."""
    given = question.members.field("capacity")
    unknown = counted(given.null_count, "member has", "members have")
    return [f"{unknown} no capacity, which counts as 1."] if 0 < given.null_count < len(given) else []


def warnings(group: Group, *, by_load: bool = False) -> list[str]:
    """What is odd in a question, though it can be answered. by_load : does the assignor even out loads?"""
    sentences = []
    if group.topics.racks is None and (group.racks != NONE).any():
        sentences.append("The rack_id of a member does not matter, because no topic has partition_racks.")
    unknown = group.topics.unknown
    if unknown is not None:
        of_all = counted(len(unknown), "partition")
        sentences.append(f"The lag of {unknown.sum():,} of {of_all} is not known, for want of an offset; loads leave it out.")
        if by_load and not unknown.all():
            sentences.append("These partitions are shared out by their number, beside the load of the others.")
    is_subscribed = np.zeros(group.total_topics, np.bool_)
    if group.unknown_topic_names:
        is_subscribed[group.subscriptions.values] = True
    absent = zip(group.unknown_topic_names, is_subscribed[len(group.topics) :].tolist(), strict=True)
    missing = [name for name, subscribed in absent if subscribed]
    if missing:
        named = first_few(missing, NAMED, repr)
        sentences.append(f"Members subscribe to topics that are not in `topics`, and so do not exist: {named}.")
    return sentences
