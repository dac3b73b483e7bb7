"""Assign a group's partitions to its members.

As `text/csv` or an Arrow stream (`Accept: application/vnd.apache.arrow.stream`) the answer is its table: `topic_name`,
`partition_id`, `member_id`; with `moves=true` that of the moves: `topic_name`, `partition_id`, `from_member_id`,
`to_member_id`; with `frontier=true` the frontier; of `spark:kafka-source` with `lag` the ranges: `topic_name`,
`partition_id`, `from_offset`, `until_offset`, `member_id`. With `expected`, the answer says whether it is `alike`, and where
it differs.
"""

from dataclasses import asdict
from functools import partial
from itertools import compress, pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa

from service.api import form_of
from service.api.group_schemas import ELSEWHERE, GroupAssignmentSchema, read_body
from service.core.certificate import Certificate
from service.core.measures import ZoneTraffic
from service.core.model import NONE, Float64s, Group, Int32s, OffsetRanges, Ragged
from service.decisions.groups.answer import (
    FEW_MOVES,
    MAX_DIFFERENCES,
    Assigned,
    GroupAnswer,
    GroupComparison,
    answer,
    conclusion,
)
from service.decisions.groups.question import Alternative, GroupQuestion, Settled, costs
from service.decisions.groups.rows import has_lag
from service.decisions.groups.tables import (
    assignments_table,
    difference_rows,
    frontier_table,
    moves_table,
    ranges_table,
)
from service.http import fields
from service.http.fields import Bool
from service.http.forms import (
    AnswerSchema,
    AssignedSchema,
    CountsSchema,
    ExplainSchema,
    Form,
    LoadsSchema,
    Operation,
    ZoneTrafficSchema,
    assigned_by,
    counts_document,
    loads_document,
)
from service.http.json.codec import LongText, dumps
from service.http.json.rows import Part, json_list
from service.planner.rebalances import Moves


class AssignmentDifferenceSchema(AnswerSchema):
    """A partition whose members are not those expected."""

    topic_name = fields.String()
    partition_id = fields.Integer()
    expected_member_ids = fields.List(fields.String(), "empty: expected to be unassigned")
    member_ids = fields.List(fields.String(), "the members that get it; empty: unassigned")


class TopicPartitionsAnswerSchema(AnswerSchema):
    """Partitions of one topic, ascending."""

    topic_name = fields.String()
    partition_ids = fields.List(fields.Integer())


class MemberAssignmentSchema(AnswerSchema):
    """What one member gets."""

    member_id = fields.String()
    partitions = fields.List(
        fields.Nested(TopicPartitionsAnswerSchema),
        "sorted by topic name in Java's string order; topics without a partition for it are left out",
    )


class MovementSchema(AnswerSchema):
    """What changes hands, counted per member and partition; claims in `owned_partitions` count as they are made."""

    retained = fields.Integer("the member owned it and still has it")
    moved = fields.Integer("the member has it and did not own it, but another member did")
    added = fields.Integer("the member has it, and it had no owner")
    revoked = fields.Integer("the member owned it and no longer has it")
    fewest_possible_moves = fields.Integer(
        "the smallest possible `moved` of an assignment as balanced as this one (for every k, the k most loaded members have "
        "together no more than here; what is withheld for a follow-up counts as moved). Null if a partition has several "
        "members, as in share groups with more members than partitions, and if thousands of members subscribe to as many "
        "different sets of topics, for which it would take too long",
        allow_none=True,
    )


class PartitionMoveSchema(AnswerSchema):
    """A partition that changes hands."""

    topic_name = fields.String()
    partition_id = fields.Integer()
    from_member_id = fields.String("owned it; null: an additional member gets it", allow_none=True)
    to_member_id = fields.String("gets it; null: no member does", allow_none=True)


class ObjectiveSchema(AnswerSchema):
    """One aim of an assignor that proves its answer."""

    value = fields.Float("what this answer has")
    bound = fields.Float("a bound for all answers that are as good in the previous objectives")
    gap = fields.Float("how far `value` may be from the optimum, as a share of the larger; 0: it is optimal")
    method = fields.String("how value and bound were found", detail=True)


class CertificateSchema(AnswerSchema):
    """How good the assignment is, and how good any could be: its aims, the most important first."""

    coverage = fields.Nested(ObjectiveSchema, "partitions of topics with subscribers that have an owner")
    largest_load = fields.Nested(
        ObjectiveSchema,
        "the largest load ÷ capacity: partitions, or with `partition_weights` or `lag` their weight",
        data_key="load",
    )
    evenness = fields.Nested(
        ObjectiveSchema, "the sum of the squared numbers of partitions; absent where weights or capacities differ", optional=True
    )
    moves = fields.Nested(ObjectiveSchema, "owned partitions that go to none of their owners")
    rack_local = fields.Nested(
        ObjectiveSchema, "partitions that are read on the reader's rack; absent without racks", optional=True
    )


class TradeOffSchema(AnswerSchema):
    """What a number of moves achieves."""

    moves = fields.Integer()
    worst_load = fields.Float("the largest load ÷ capacity, as `load` of the certificate")
    stddev = fields.Float("of the members' loads ÷ capacity")
    proven = fields.Boolean("whether no assignment with so few moves has a smaller `worst_load`")


class CostsSchema(AnswerSchema):
    """What an assignor costs beside the one that is asked for."""

    largest_load = fields.Float(
        "how much higher the load of its most loaded member is than under the assignor of the request, as a share: 0.25 is a "
        "quarter more. By weight, where partitions have weights. Null if the latter load is 0",
        allow_none=True,
    )
    moves = fields.Integer("how many more partitions it moves; negative: fewer")
    local_share = fields.Float("by how much its `local_share` is smaller; null without racks", allow_none=True)


class AssignorComparisonSchema(AssignedSchema):
    """The group under another assignor, once it is at rest: after the second rebalance, where one is needed."""

    member_load = fields.Nested(CountsSchema, optional=True)
    weighted_member_load = fields.Nested(LoadsSchema, optional=True)
    movement = fields.Nested(MovementSchema, optional=True)
    zone_traffic = fields.Nested(ZoneTrafficSchema, optional=True)
    certificate = fields.Nested(CertificateSchema, optional=True)
    costs = fields.Nested(CostsSchema, optional=True)
    error = fields.String("why the assignor cannot assign this group; the loads are then absent", optional=True)


class FollowUpSchema(AnswerSchema):
    """The second rebalance of the cooperative protocol."""

    assignments = fields.List(fields.Nested(MemberAssignmentSchema))
    unassigned = fields.List(fields.Nested(TopicPartitionsAnswerSchema))
    member_load = fields.Nested(CountsSchema)
    movement = fields.Nested(MovementSchema)
    alike = fields.Boolean("with `expected`: whether these assignments are the expected ones", optional=True)


class RangeSchema(AnswerSchema):
    """A figure over several runs."""

    least = fields.Float()
    mean = fields.Float()
    most = fields.Float()


class OutcomesSchema(AnswerSchema):
    """What a library leaves to chance, over several of its runs."""

    runs = fields.Integer("how many runs; the first is the one that is answered")
    member_load = fields.Dict("`min`, `max` and `skew`", keys=fields.String(), values=fields.Nested(RangeSchema))
    movement = fields.Dict("`retained`, `moved`, `added` and `revoked`", keys=fields.String(), values=fields.Nested(RangeSchema))


class TopicRangesSchema(AnswerSchema):
    """The ranges of offsets of one topic: three lists of equal length, in the order of partitions and offsets."""

    topic_name = fields.String()
    partition_ids = fields.List(fields.Integer(), "a divided partition has several ranges")
    from_offsets = fields.List(fields.Integer())
    until_offsets = fields.List(fields.Integer(), "the offset after the last")


class GroupAssignmentAnswerSchema(AssignedSchema):
    """The group, assigned."""

    assignments = fields.List(fields.Nested(MemberAssignmentSchema), "members in request order")
    unassigned = fields.List(fields.Nested(TopicPartitionsAnswerSchema), "the partitions that no member gets")
    member_load = fields.Nested(CountsSchema, "partitions per member; counts in request order")
    weighted_member_load = fields.Nested(
        LoadsSchema, "with `partition_weights`: the weight of each member's partitions; totals in request order", optional=True
    )
    movement = fields.Nested(MovementSchema)
    follow_up_rebalance = fields.Boolean(
        "from `cooperative-sticky`: whether a second rebalance must assign the partitions that their owners revoke first. "
        "Until then they are in `unassigned`",
        optional=True,
    )
    moves = fields.List(
        fields.Nested(PartitionMoveSchema),
        f"owned partitions whose member changes, in this or a follow-up rebalance; with `moves=true`, or if there are at "
        f"most {FEW_MOVES}",
        optional=True,
    )
    follow_up = fields.Nested(
        FollowUpSchema,
        "if `follow_up_rebalance` is true: the second rebalance, after all members have joined again",
        optional=True,
    )
    conclusion = fields.String("who gets how many partitions, and what moves; with `expected`: whether the assignor gives it")
    alike = fields.Boolean("with `expected`: whether the assignments are the expected ones", optional=True)
    differences_count = fields.Integer("with `expected`: the partitions whose members differ", optional=True)
    differences = fields.List(
        fields.Nested(AssignmentDifferenceSchema), f"with `expected`: the first {MAX_DIFFERENCES} of them", optional=True
    )
    partitions_counts = fields.Dict(
        "with several counts of a topic: the counts of this answer, the first that match or differ least",
        keys=fields.String(),
        values=fields.Integer(),
        optional=True,
    )
    left_open = fields.List(
        fields.Nested(TopicPartitionsAnswerSchema),
        "the partitions whose members a client's library leaves to chance; `assignments` has them as in one run, that of "
        "`random_seed`. All others have the same member in every run",
        optional=True,
    )
    outcomes = fields.Nested(OutcomesSchema, "with `left_open`: figures over several runs of the library", optional=True)
    ranges = fields.List(
        fields.Nested(TopicRangesSchema),
        "from `spark:kafka-source` with `lag`: what each task of the batch reads. A partition without records has none and is "
        "in `unassigned`. If `min_partitions` or `max_records_per_partition` divides, no task prefers an executor, and all "
        "partitions with records are in `left_open`",
        optional=True,
    )
    certificate = fields.Nested(CertificateSchema, "from `balanced`: what is proven of the assignment", optional=True)
    zone_traffic = fields.Nested(ZoneTrafficSchema, "if topics have `partition_racks` and members a `rack_id`", optional=True)
    frontier = fields.List(
        fields.Nested(TradeOffSchema),
        "with `frontier=true`: what fewer moves achieve, from the fewest to those of the best balance",
        optional=True,
    )
    comparisons = fields.List(
        fields.Nested(AssignorComparisonSchema), "with `compare`: the group under each of these assignors", optional=True
    )
    warnings = fields.List(
        fields.String(), "what is unusual in the request, and what Java or another client leaves open", optional=True
    )
    explanation = fields.Dict("with `explain=true`: how the assignor decided", optional=True)


def document(answer: GroupAnswer) -> dict[str, Any]:
    """The answer, as GroupAssignmentAnswerSchema has it."""
    question, group, outcome = answer.question, answer.first.group, answer.first.outcome
    body: dict[str, Any] = {
        **assigned_by(question.version, question.protocol, answer.assignor),
        "conclusion": conclusion(answer),
        **_assigned(answer.first),
        **_certified(outcome.assignment.certificate),
    }
    body |= _weighed(answer.weighted_load, answer.traffic, question)
    if answer.moves is not None:
        body["moves"] = moves_json(group, answer.moves)
    if outcome.assignment.follow_up_rebalance is not None:
        body["follow_up_rebalance"] = outcome.assignment.follow_up_rebalance
    if answer.second is not None:
        body["follow_up"] = _assigned(answer.second)
        if answer.second_differences is not None:
            body["follow_up"]["alike"] = not len(answer.second_differences)
    if answer.comparison is not None:
        body |= _compared(answer.comparison)
    if outcome.assignment.left_open is not None:
        body["left_open"] = topic_partitions_json(group, outcome.assignment.left_open.partitions)
    if answer.outcomes is not None:
        body["outcomes"] = asdict(answer.outcomes)
    if outcome.assignment.ranges is not None:
        body["ranges"] = _ranges(group, outcome.assignment.ranges)
    return body | _remarks(answer)


def _ranges(group: Group, ranges: OffsetRanges) -> list[dict[str, Any]]:
    """``[{"topic_name", "partition_ids", "from_offsets", "until_offsets"}]``, a row for each topic with any."""
    topics, ids = group.topic_partitions(ranges.partitions)
    places = np.append(np.flatnonzero(np.diff(topics, prepend=NONE)), len(ranges)).tolist()
    return [
        {
            "topic_name": group.topics.names[topics[start]],
            "partition_ids": ids[start:end],
            "from_offsets": ranges.starts[start:end],
            "until_offsets": ranges.ends[start:end],
        }
        for start, end in pairwise(places)
    ]


def _remarks(answer: GroupAnswer) -> dict[str, Any]:
    """What stands beside the assignment."""
    body: dict[str, Any] = {}
    if answer.frontier is not None:
        body["frontier"] = list(map(vars, answer.frontier))
    if answer.alternatives:
        body["comparisons"] = list(map(partial(_alternative, asked=answer.settled), answer.alternatives))
    if answer.warnings:
        body["warnings"] = answer.warnings
    if answer.explanation is not None:
        body["explanation"] = answer.explanation
    return body


def _alternative(each: Alternative, asked: Settled) -> dict[str, Any]:
    """An element of ``comparisons``. asked : the group under the assignor that is asked for"""
    body = assigned_by(each.question.version, each.question.protocol, each.assignor)
    settled = each.settled
    if settled is None:
        return {**body, "error": str(each.failure)}
    return {
        **body,
        "member_load": counts_document(settled.counts),
        "movement": {**asdict(settled.movement), "fewest_possible_moves": settled.fewest_possible_moves},
        **_weighed(settled.weighted_load, settled.traffic, each.question),
        **_certified(settled.certificate),
        "costs": costs(settled, asked),
    }


def _weighed(loads: Float64s | None, traffic: ZoneTraffic | None, question: GroupQuestion) -> dict[str, Any]:
    """What is there with weights, and with racks."""
    body: dict[str, Any] = {} if loads is None else {"weighted_member_load": loads_document(loads)}
    if traffic is not None:
        body["zone_traffic"] = traffic.figures(question.price_per_gb, of_lag=has_lag(question.topics))
    return body


def _certified(certificate: Certificate | None) -> dict[str, Any]:
    if certificate is None:
        return {}
    objectives = {name: each for name, each in vars(certificate).items() if each is not None}
    fields = ("value", "bound", "gap", "method")
    return {"certificate": {name: {field: getattr(each, field) for field in fields} for name, each in objectives.items()}}


def table(answer: GroupAnswer) -> pa.Table:
    """The answer's table: the frontier or the moves if they were asked for, the ranges if there are any, else who gets what."""
    group = answer.first.group
    if answer.frontier is not None:
        return frontier_table(answer.frontier)
    if answer.question.moves and answer.moves is not None:
        return moves_table(group, answer.moves)
    outcome = answer.first.outcome
    if outcome.assignment.ranges is not None:
        return ranges_table(group, outcome.assignment.ranges, outcome.owners)
    return assignments_table(group, answer.first.rows)


def _assigned(each: Assigned) -> dict[str, Any]:
    outcome = each.outcome
    return {
        "assignments": assignments_json(each.group, each.rows),
        "unassigned": topic_partitions_json(each.group, outcome.unassigned),
        "member_load": counts_document(each.rows.lengths()),
        "movement": {**asdict(outcome.movement), "fewest_possible_moves": outcome.fewest_possible_moves},
    }


def _compared(comparison: GroupComparison) -> dict[str, Any]:
    differences = comparison.differences
    return {
        "alike": not len(differences),
        "differences_count": len(differences),
        "differences": difference_rows(comparison.expected, differences, MAX_DIFFERENCES),
        **({"partitions_counts": comparison.counts} if comparison.counts else {}),
    }


def moves_json(group: Group, moves: Moves) -> LongText:
    """``[{"topic_name", "partition_id", "from_member_id", "to_member_id"}]``."""
    topics, ids = group.topic_partitions(moves.partitions)
    names = [b'{"topic_name":%s,"partition_id":' % dumps(name) for name in group.topic_names]
    members = [dumps(name) for name in (*group.member_ids, None)]
    sources, targets = (np.where(each == NONE, len(members) - 1, each) for each in (moves.source, moves.target))
    return json_list(
        len(moves),
        Part(names, topics, ids),
        Part([b',"from_member_id":' + member for member in members], sources),
        Part([b',"to_member_id":' + member + b"}" for member in members], targets),
    )


def assignments_json(group: Group, assignment: Ragged) -> LongText:
    """``[{"member_id", "partitions": [{"topic_name", "partition_ids"}]}]``, members in request order.

    assignment : Ragged member → partitions, in the answer's order
    """
    before = [b'{"member_id":%s,"partitions":[' % dumps(name) for name in group.member_ids]
    return _by_topic(group, before, assignment, b"]}")


def topic_partitions_json(group: Group, partitions: Int32s) -> LongText:
    """``[{"topic_name", "partition_ids"}]``; partitions : int32[...], ascending, existing ones."""
    return _by_topic(group, [b""], Ragged(np.array([0, len(partitions)], np.int32), partitions), b"")


def _by_topic(group: Group, before: list[bytes], rows: Ragged, after: bytes) -> LongText:
    """A list with, for each row, its own text ``before``, its partitions by topic, and ``after``.

    Its lines are a topic's partitions in a row each, or a row without partitions.
    """
    topics, ids = group.topic_partitions(rows.values)
    is_used = np.bincount(topics, minlength=group.total_topics) > 0  # the names of all others would take memory, too
    names = [b'{"topic_name":%s,"partition_ids":[' % dumps(name) for name in compress(group.topic_names, is_used)]
    is_empty = rows.lengths() == 0
    begins = np.append(True, topics[1:] != topics[:-1])[: len(topics)]
    begins[rows.offsets[:-1][~is_empty]] = True
    lines = np.flatnonzero(begins).astype(np.int32)
    of_rows = np.maximum(np.diff(np.searchsorted(lines, rows.offsets)), 1)
    last = np.cumsum(of_rows) - 1
    empty = last[is_empty]
    lines = np.sort(np.concatenate([lines, rows.offsets[:-1][is_empty]]))
    labels = np.append(np.cumsum(is_used, dtype=np.int32) - 1, NONE)[np.append(topics, NONE)[lines]]
    labels[empty] = len(names)
    openings, closings = np.zeros((2, len(lines)), np.int32)
    openings[last - of_rows + 1] = np.arange(1, len(rows) + 1)
    closings[last], closings[empty] = 1, 2
    return json_list(
        len(lines),
        Part([b"", *before], openings),
        Part([*names, b""], labels, Ragged(np.append(lines, np.int32(len(ids))), ids)),
        Part([b"]}", b"]}" + after, after], closings),
    )


_PARTITIONS: Final = Form(GroupAssignmentSchema(), answer, GroupAssignmentAnswerSchema, document, table)
"""A group of members and partitions."""


def _of(question: Any) -> Form[Any, Any]:
    """The form of the family that the question is of."""
    return _PARTITIONS if isinstance(question, GroupQuestion) else form_of(ELSEWHERE[question.protocol])


FORM: Final[Form[Any, Any]] = Form(
    GroupAssignmentSchema(),
    lambda question, budget: _of(question).answer(question, budget),
    GroupAssignmentAnswerSchema,
    lambda answer: _of(answer.question).document(answer),
    lambda answer: _of(answer.question).columns(answer, ""),
    read=read_body,
    of=lambda answer: _of(answer.question),
)
"""A group of any protocol."""


class GroupQuerySchema(ExplainSchema):
    """The query."""

    moves = Bool(f"whether to list each partition that moves; by default, if there are at most {FEW_MOVES}", load_default=None)
    frontier = Bool("`balanced`: add the `frontier`, which shows what fewer moves achieve", load_default=False)


EXAMPLE: Final = {
    "assignor": "cooperative-sticky",
    "group_id": "billing",
    "topics": [{"topic_name": "orders", "partitions_count": 7}],
    "members": [
        {"member_id": "c1", "owned_partitions": [{"topic_name": "orders", "partition_ids": [0, 1, 2, 3]}]},
        {"member_id": "c2", "owned_partitions": [{"topic_name": "orders", "partition_ids": [4, 5, 6]}]},
        {"member_id": "c3"},
    ],
}

OPERATION: Final = Operation("assignGroup", "assignment", "partitions → group members", EXAMPLE, query=GroupQuerySchema)
