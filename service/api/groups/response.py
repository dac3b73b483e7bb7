"""The answer of ``POST /v1/group-assignments``: its schema, its JSON, its table."""

from dataclasses import asdict, dataclass
from typing import Any, cast

import numpy as np
from flask import Response
from marshmallow import Schema, fields

from service.api.groups.details import FEW_MOVES, moves_json, moves_table, reserve_moves, warnings
from service.api.groups.expected import MAX_DIFFERENCES, AssignmentDifferenceSchema, difference_documents
from service.api.groups.request import GroupAssignment, assignment_bytes
from service.core.measures import spread, weighted_load
from service.core.model import NONE, Group, Int32s, Ragged
from service.core.rebalances.moves import Differences, Moves, differences, final_rows, follow_up, moves, within
from service.core.rebalances.rebalance import Rebalance, rebalance
from service.decisions.groups.rows import assignments_table, in_answer_order
from service.web import responses
from service.web.context import check_time, reserve
from service.web.fields import about
from service.web.json.codec import LongText, dumps
from service.web.json.rows import Part, json_list
from service.web.schemas import CountsSchema, ImplementationSchema, LoadsSchema, counts_document, implementation_document


class TopicPartitionsAnswerSchema(Schema):
    """Partitions of one topic, ascending."""

    topic_name = fields.String()
    partition_ids = fields.List(fields.Integer())


class MemberAssignmentSchema(Schema):
    """What one member gets."""

    member_id = fields.String()
    partitions = fields.List(
        fields.Nested(TopicPartitionsAnswerSchema),
        metadata=about("sorted by topic name in Java's string order; topics without a partition for it are left out"),
    )


class MovementSchema(Schema):
    """What changes hands, counted per member and partition; claims in `owned_partitions` count as they are made."""

    retained = fields.Integer(metadata=about("the member owned it and still has it"))
    moved = fields.Integer(metadata=about("the member has it and did not own it, but another member did"))
    added = fields.Integer(metadata=about("the member has it, and it had no owner"))
    revoked = fields.Integer(metadata=about("the member owned it and no longer has it"))
    fewest_possible_moves = fields.Integer(
        allow_none=True,
        metadata=about(
            "the smallest possible `moved` of an assignment as balanced as this one (for every k, the k most loaded members "
            "have together no more than here; what is withheld for a follow-up counts as moved). Null if "
            "a partition has several members, as in share groups with more members than partitions, and "
            "if thousands of members subscribe to as many different sets of topics, for which it would "
            "take too long"
        ),
    )


class PartitionMoveSchema(Schema):
    """A partition that changes hands."""

    topic_name = fields.String()
    partition_id = fields.Integer()
    from_member_id = fields.String(allow_none=True, metadata=about("owned it; null: an additional member gets it"))
    to_member_id = fields.String(allow_none=True, metadata=about("gets it; null: no member does"))


class FollowUpSchema(Schema):
    """The second rebalance of the cooperative protocol."""

    assignments = fields.List(fields.Nested(MemberAssignmentSchema))
    unassigned = fields.List(fields.Nested(TopicPartitionsAnswerSchema))
    member_load = fields.Nested(CountsSchema)
    movement = fields.Nested(MovementSchema)
    alike = fields.Boolean(metadata=about("with `expected`: whether these assignments are the expected ones"))


class GroupAssignmentAnswerSchema(Schema):
    """The group, assigned."""

    kafka_version = fields.String()
    group_protocol = fields.String()
    assignor = fields.String()
    implementation = fields.Nested(ImplementationSchema)
    assignments = fields.List(fields.Nested(MemberAssignmentSchema), metadata=about("members in request order"))
    unassigned = fields.List(fields.Nested(TopicPartitionsAnswerSchema), metadata=about("the partitions that no member gets"))
    member_load = fields.Nested(CountsSchema, metadata=about("partitions per member; counts in request order"))
    weighted_member_load = fields.Nested(
        LoadsSchema, metadata=about("with `partition_weights`: the weight of each member's partitions; totals in request order")
    )
    movement = fields.Nested(MovementSchema)
    follow_up_rebalance = fields.Boolean(
        metadata=about(
            "from `cooperative-sticky`: whether a second rebalance must assign the partitions that their owners revoke first. "
            "Until then they are in `unassigned`"
        )
    )
    moves = fields.List(
        fields.Nested(PartitionMoveSchema),
        metadata=about(
            f"owned partitions whose member changes, in this or a follow-up rebalance; with `moves=true`, or if there are at "
            f"most {FEW_MOVES}"
        ),
    )
    follow_up = fields.Nested(
        FollowUpSchema,
        metadata=about("if `follow_up_rebalance` is true: the second rebalance, after all members have joined again"),
    )
    alike = fields.Boolean(metadata=about("with `expected`: whether the assignments are the expected ones"))
    differences_count = fields.Integer(metadata=about("with `expected`: the partitions whose members differ"))
    differences = fields.List(
        fields.Nested(AssignmentDifferenceSchema), metadata=about(f"with `expected`: the first {MAX_DIFFERENCES} of them")
    )
    partitions_counts = fields.Dict(
        fields.String(),
        fields.Integer(),
        metadata=about("with several counts of a topic: the counts of this answer, the first that match or differ least"),
    )
    left_open = fields.List(
        fields.Nested(TopicPartitionsAnswerSchema),
        metadata=about("the partitions whose members a client's library leaves to chance; `assignments` has those of every run"),
    )
    warnings = fields.List(
        fields.String(),
        metadata=about("what is unusual in the request, and what Java or another client leaves open"),
    )
    explanation = fields.Dict(metadata=about("with `explain=true`: how the assignor decided"))


@dataclass(frozen=True)
class Comparison:
    """How an assignment differs from the one expected.

    expected : the group whose members own what they are expected to get
    counts : the partition counts tried, by topic name
    """

    expected: Group
    counts: dict[str, int]
    differences: Differences


@dataclass(frozen=True)
class Details:
    """What an answer holds beside the assignment.

    max_explained : entries of a list in the explanation; 0: none
    moves : are they asked for? None: they are in the answer if they are few
    """

    max_explained: int
    moves: bool | None
    comparison: Comparison | None


def compared(question: GroupAssignment) -> tuple[Group, Rebalance, Comparison]:
    """The group with the partition counts with which it is assigned as expected, or nearly so."""
    best: tuple[Group, Rebalance, Comparison] | None = None
    for counts, group, expected in question.candidates():
        check_time()
        outcome = rebalance(group, question.assignor)
        comparison = Comparison(expected, counts, _differences(expected, outcome))
        if best is None or len(comparison.differences) < len(best[2].differences):
            best = (group, outcome, comparison)
        if not len(comparison.differences):
            break
    return cast("tuple[Group, Rebalance, Comparison]", best)


def _differences(expected: Group, outcome: Rebalance) -> Differences:
    known = expected.topics.partitions_count
    rows = outcome.assignment.rows
    return differences(expected.owned, within(rows, known), known + len(expected.unknown_partitions))


def answer(question: GroupAssignment, group: Group, outcome: Rebalance, details: Details) -> Response:
    """The answer in the media type that the client accepts. group : the question's, with the partition counts of the answer"""
    assignment = outcome.assignment
    rows = in_answer_order(group, assignment.rows, outcome.owners)
    media_type = responses.preferred()
    if media_type != responses.JSON:
        columns = moves_table(group, _moves(group, outcome)) if details.moves else assignments_table(group, rows)
        return responses.table(columns, media_type)
    document: dict[str, Any] = {
        "kafka_version": question.kafka_version,
        "group_protocol": question.group_protocol,
        "assignor": question.assignor.name,
        "implementation": implementation_document(question.assignor),
        **_assigned(group, outcome, rows),
    }
    if group.topics.weights is not None:
        loads = weighted_load(rows, group.topics.weights)
        document["weighted_member_load"] = {"totals": loads, **asdict(spread(loads))}
    changes = outcome.movement.moved + outcome.movement.revoked
    if details.moves or (details.moves is None and 0 < changes <= FEW_MOVES):
        document["moves"] = moves_json(group, _moves(group, outcome))
    if assignment.follow_up_rebalance is not None:
        document["follow_up_rebalance"] = assignment.follow_up_rebalance
    if assignment.follow_up_rebalance:
        document["follow_up"] = _follow_up(question, group, outcome, details.comparison)
    if details.comparison is not None:
        document |= _compared_document(details.comparison)
    sentences = warnings(group) + (question.assignor.warnings(group) if question.assignor.warnings else [])
    if assignment.left_open is not None:
        document["left_open"] = topic_partitions_json(group, assignment.left_open.partitions)
        sentences.append(assignment.left_open.warning)
    if sentences:
        document["warnings"] = sentences
    if details.max_explained and question.assignor.explain:
        document["explanation"] = question.assignor.explain(group, assignment, details.max_explained)
    return responses.answer(document)


def _assigned(group: Group, outcome: Rebalance, rows: Ragged) -> dict[str, Any]:
    return {
        "assignments": assignments_json(group, rows),
        "unassigned": topic_partitions_json(group, outcome.unassigned),
        "member_load": counts_document(rows.lengths(), outcome.load),
        "movement": {**asdict(outcome.movement), "fewest_possible_moves": outcome.fewest_possible_moves},
    }


def _moves(group: Group, outcome: Rebalance) -> Moves:
    reserve_moves(group, len(outcome.assignment.rows.values))
    return moves(group, final_rows(outcome.assignment))


def _follow_up(question: GroupAssignment, group: Group, outcome: Rebalance, comparison: Comparison | None) -> dict[str, Any]:
    reserve(assignment_bytes(question.topics, question.members, responses.JSON, shared=False))
    after, second = follow_up(group, outcome, question.assignor)
    document = _assigned(after, second, in_answer_order(after, second.assignment.rows, second.owners))
    if comparison is not None:
        document["alike"] = not len(_differences(comparison.expected, second))
    return document


def _compared_document(comparison: Comparison) -> dict[str, Any]:
    differences = comparison.differences
    return {
        "alike": not len(differences),
        "differences_count": len(differences),
        "differences": list(difference_documents(comparison.expected, differences)),
        **({"partitions_counts": comparison.counts} if comparison.counts else {}),
    }


def assignments_json(group: Group, assignment: Ragged) -> LongText:
    """``[{"member_id", "partitions": [{"topic_name", "partition_ids"}]}]``, members in request order.

    assignment : Ragged member → partitions, in the answer's order
    """
    return _by_topic(group, [b'{"member_id":%s,"partitions":[' % dumps(name) for name in group.member_ids], assignment, b"]}")


def topic_partitions_json(group: Group, partitions: Int32s) -> LongText:
    """``[{"topic_name", "partition_ids"}]``; partitions : int32[...], ascending, existing ones."""
    return _by_topic(group, [b""], Ragged(np.array([0, len(partitions)], np.int32), partitions), b"")


def _by_topic(group: Group, before: list[bytes], rows: Ragged, after: bytes) -> LongText:
    """A list with, for each row, its own text ``before``, its partitions by topic, and ``after``.

    Its lines are a topic's partitions in a row each, or a row without partitions.
    """
    names = [b'{"topic_name":%s,"partition_ids":[' % dumps(name) for name in (*group.topics.names, *group.unknown_topic_names)]
    topics, ids = group.topic_partitions(rows.values)
    is_empty = rows.lengths() == 0
    begins = np.append(True, topics[1:] != topics[:-1])[: len(topics)]
    begins[rows.offsets[:-1][~is_empty]] = True
    lines = np.flatnonzero(begins).astype(np.int32)
    of_rows = np.maximum(np.diff(np.searchsorted(lines, rows.offsets)), 1)
    last = np.cumsum(of_rows) - 1
    empty = last[is_empty]
    lines = np.sort(np.concatenate([lines, rows.offsets[:-1][is_empty]]))
    labels = np.append(topics, NONE)[lines]
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
