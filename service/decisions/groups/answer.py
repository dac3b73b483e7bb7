"""The answer: who owns which partitions, what moves, what other assignors would do, and what that comes to in sentences."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from service.core.budget import Budget, Figures
from service.core.measures import NOT_KNOWN, ZoneTraffic, read_nearby, weighted_load, zone_traffic
from service.core.model import NONE, Float64s, Group, Ragged
from service.core.printable import counted, first_few
from service.core.ragged import ascending, transposed
from service.decisions.groups.question import Alternative, GroupQuestion, Settled, alternatives, check, strategy
from service.decisions.groups.rows import expected_group, has_lag, read_group, with_counts
from service.decisions.groups.tables import difference_rows
from service.planner.rebalances import (
    Differences,
    Moves,
    Rebalance,
    differences,
    final_rows,
    follow_up,
    moves,
    rebalance,
    rebalance_by,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.core.assignors import Assignor
    from service.planner.balanced.balanced import TradeOff

MOST_RUNS: Final = 32

MOST_CELLS: Final = 4_000_000
"""Partitions × members of all runs together, but one run in any case; some tenths of a second."""


@dataclass(frozen=True)
class Range:
    """A figure over several runs."""

    least: float
    mean: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Range:
        """The range of the values, of which there are some."""
        return cls(min(values), float(np.mean(values)), max(values))

    def __str__(self) -> str:
        if self.least == self.most:
            return f"{self.least:,g}"
        return f"{self.least:,g} to {self.most:,g} ({self.mean:,.4g} on average)"


@dataclass(frozen=True)
class Outcomes:
    """Runs of a library on one group.

    runs : how many; the first is the one that is answered
    member_load : ``min``, ``max`` and ``skew`` of the partitions per member
    movement : the figures of ``Movement``
    """

    runs: int
    member_load: dict[str, Range]
    movement: dict[str, Range]

    @property
    def sentence(self) -> str:
        """What a reader should know of the other runs."""
        times = f"Over {self.runs} runs" if self.runs > 1 else "In this run"
        moved, fullest = self.movement["moved"], self.member_load["max"]
        return f"{times}, the fullest member gets {fullest} partitions, and partitions that move to another member: {moved}."


def outcomes(group: Group, first: Rebalance, seed: int) -> Outcomes | None:
    """The run that is answered, and further ones; None where no run of a library decides anything. seed : of the first"""
    chance = first.assignment.left_open
    if chance is None or chance.run is None:
        return None
    runs = min(MOST_RUNS, max(1, MOST_CELLS // max(1, group.topics.partitions_count * len(group))))
    figures = [_figures(first)]
    figures += [_figures(rebalance_by(group, first.assignment.of_run(seed + i))) for i in range(1, runs)]
    load, moves = ({name: Range.of([each[of][name] for each in figures]) for name in figures[0][of]} for of in (0, 1))
    return Outcomes(runs, load, moves)


def _figures(run: Rebalance) -> tuple[dict[str, float], dict[str, float]]:
    """The loads and the movement of a run."""
    return {name: getattr(run.load, name) for name in ("min", "max", "skew")}, asdict(run.movement)


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


def in_answer_order(group: Group, rows: Ragged, owners: Ragged) -> Ragged:
    """Ragged member → partitions, each row by topic name and partition_id.

    rows : the same, in any order; owners : Ragged partition → members, ascending: ``rows`` transposed
    """
    if not len(group.unknown_partitions) and ascending(rows.offsets, rows.values):
        return rows
    rows = transposed(owners, len(group))
    if len(owners) > group.topics.partitions_count and (rows.values >= group.topics.partitions_count).any():
        # Partitions that do not exist have the highest indices, but are listed with their topic.
        topics, ids = group.topic_partitions(rows.values)
        rows = Ragged(rows.offsets, rows.values[np.lexsort((ids, topics, rows.row_of_each_value()))])
    return rows


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
            *warnings(group, by_load=outcome.assignment.certificate is not None),
            *(assignor.warnings(group) if assignor.warnings else ()),
            *(() if outcome.assignment.left_open is None else (outcome.assignment.left_open.warning,)),
            *(() if runs is None else (runs.sentence,)),
            *read_nearby(crossing),
        ],
        assignor.explain(group, outcome.assignment, budget.explained) if question.explain and assignor.explain else None,
        traffic,
        runs,
    )


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


def conclusion(answer: GroupAnswer) -> str:
    """Who gets how many partitions, and what moves; with what is expected, whether the assignor gives that."""
    comparison = answer.comparison
    return _assigned(answer) if comparison is None else _compared_sentence(answer, comparison)


def _assigned(answer: GroupAnswer) -> str:
    first, last = answer.first.outcome, (answer.second or answer.first).outcome
    members, load, movement = len(answer.first.group), last.load, first.movement
    if not members:
        return "There are no members, so nothing is assigned."
    many = counted(int(load.max), "partition") if load.min == load.max else f"{load.min:,} to {load.max:,} partitions"
    parts = [f"{answer.assignor.name} gives {counted(members, 'member')} {many}{' each' * (members > 1)}"]
    claims, exist = answer.first.group.owned.values, answer.first.group.topics.partitions_count
    owned = np.unique(claims)
    had = int((owned < exist).sum())
    if had and answer.question.protocol == "share":
        of = counted(movement.retained + movement.revoked - int((claims >= exist).sum()), "owned partition")
        parts.append(f"{movement.retained:,} of {of} {'stays' if movement.retained == 1 else 'stay'} with the member")
    elif had:
        moved, runs = answer.settled.movement.moved, ""
        if answer.outcomes is not None and answer.second is None:
            runs = f" in this run, {answer.outcomes.movement['moved']} in {answer.outcomes.runs} runs"
        parts.append(f"{moved:,} of {counted(had, 'owned partition')} {'moves' if moved == 1 else 'move'}{runs}")
    if had < len(owned):
        parts.append(f"{counted(len(owned) - had, 'partition that is owned does', 'partitions that are owned do')} not exist")
    if len(last.unassigned):
        parts.append(f"{counted(len(last.unassigned), 'partition goes', 'partitions go')} to no member")
    chance = first.assignment.left_open
    open_to = (
        "" if chance is None else f" The library leaves the member of {counted(len(chance.partitions), 'partition')} to chance."
    )
    return f"{'; '.join(parts)}.{open_to}"


def _compared_sentence(answer: GroupAnswer, comparison: GroupComparison) -> str:
    group, differing, later = comparison.expected, comparison.differences, ""
    if len(differing) and answer.second_differences is not None:
        differing, later = answer.second_differences, ", after a second rebalance"
    left_open = comparison.left_open
    compared = counted(group.total_partitions - left_open, "partition")
    chance = f" Of {counted(left_open, 'partition')} the library leaves the member to chance." if left_open else ""
    name = f"The assignor {answer.assignor.name}"
    if left_open == group.total_partitions and left_open:
        all_left = f"the library leaves the member of all {counted(left_open, 'partition')} to chance"
        return f"Whether {answer.assignor.name} gives what is expected is not known: {all_left}."
    if not len(differing):
        return f"{name} gives exactly what is expected{later}: {compared}, {counted(len(group), 'member')}.{chance}"
    [first] = difference_rows(group, differing, 1)
    given, expected = (", ".join(first[each]) or "no member" for each in ("member_ids", "expected_member_ids"))
    return (
        f"{name} gives {len(differing)} of {compared} to other members than expected{later}, such as "
        f"{first['topic_name']}-{first['partition_id']}: to {given}, expected {expected}.{chance}"
    )
