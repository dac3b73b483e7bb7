"""``POST /v1/group-assignments``: partitions → group members."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from marshmallow import Schema, ValidationError, fields, post_load

from service.api.groups import request
from service.arrow.groups import (
    WrongGroup,
    assignments_table,
    in_answer_order,
    is_in_answer_order,
    partitions_total,
    read_group,
    subscriptions_total,
)
from service.config import environment_name
from service.core.assignors import GROUP_PROTOCOLS, Assignor
from service.core.assignors.classic.sticky.cooperative import CooperativeAssignment
from service.core.errors import LimitExceeded, UnknownStrategy
from service.core.kafka_versions import RELEASES, at_release
from service.core.measures import spread, weighted_load
from service.core.ragged import transposed
from service.core.rebalances.fewest_moves import fewest_possible_moves
from service.core.rebalances.movement import movement
from service.web import responses
from service.web.blueprint import Blueprint, Parser
from service.web.context import decision, settings
from service.web.fields import Subject
from service.web.schemas import CountsSchema, ExplainSchema, LoadsSchema, counts_document

if TYPE_CHECKING:
    import pyarrow as pa
    from flask import Response

    from service.core.model import Group, Int32s, Ragged


class GroupParser(Parser):
    """The service's parser, which reads large bodies by Arrow."""

    def read_json(self, body: bytes) -> Any:
        """The value of a JSON text, its ``topics`` and ``members`` as Arrow arrays if it is large and well-formed."""
        return request.read_body(body) or super().read_json(body)


class GroupBlueprint(Blueprint):
    """The resource, with its parser."""

    ARGUMENTS_PARSER = GroupParser()


blueprint = GroupBlueprint("group_assignments", __name__, description="partitions → group members")


@dataclass(frozen=True)
class GroupAssignment:
    """The question: how does this assignor assign this group?"""

    kafka_version: str
    group_protocol: str
    assignor: Assignor
    group_id: str | None
    group: Group


class GroupAssignmentSchema(Schema):
    """A group to be assigned."""

    kafka_version = fields.String(
        load_default=None,
        allow_none=True,
        metadata={
            "description": "the release of Apache Kafka whose answer is wanted; GET /v1/assignors lists each assignor's. "
            f"Absent: {RELEASES[-1]}",
            "example": RELEASES[-1],
        },
    )
    group_protocol = fields.String(
        load_default=None,
        allow_none=True,
        metadata={
            "description": "the protocol that the group speaks, as GET /v1/assignors lists them. Absent: classic",
            "example": "classic",
        },
    )
    assignor = fields.String(
        load_default=None,
        allow_none=True,
        metadata={
            "description": "the name of an assignor of that protocol, as GET /v1/assignors lists them. Absent: `range` for "
            "classic, `uniform` for consumer, `simple` for share",
            "example": "range",
        },
    )
    group_id = Subject("group")
    topics = request.topics_field()
    members = request.members_field()

    @post_load
    def ask(self, body: dict[str, Any], **_: Any) -> GroupAssignment:
        """The question, its strategy looked up, its size within the limits, its names turned into indices."""
        protocol = body["group_protocol"] or "classic"
        if protocol not in GROUP_PROTOCOLS:
            raise UnknownStrategy("group_protocol", protocol, tuple(GROUP_PROTOCOLS))
        registry, version = GROUP_PROTOCOLS[protocol], body["kafka_version"] or RELEASES[-1]
        assignor = registry.builtins[0] if body["assignor"] is None else registry[body["assignor"]]
        assignor = at_release(assignor, version)
        topics, members = body["topics"], body["members"]
        check_size(topics, members)
        try:
            group = read_group(topics, members)
        except WrongGroup as error:
            raise ValidationError(error.messages) from None
        return GroupAssignment(version, protocol, assignor, body["group_id"], group)


class TopicPartitionsAnswerSchema(Schema):
    """Partitions of one topic, ascending."""

    topic_name = fields.String()
    partition_ids = fields.List(fields.Integer())


class MemberAssignmentSchema(Schema):
    """What one member gets."""

    member_id = fields.String()
    partitions = fields.List(
        fields.Nested(TopicPartitionsAnswerSchema),
        metadata={"description": "sorted by topic name as Java sorts strings; topics of which it gets nothing are left out"},
    )


class MovementSchema(Schema):
    """What changes hands, counted per member and partition; claims in `owned_partitions` count as they are made."""

    retained = fields.Integer(metadata={"description": "the member owned it and still has it"})
    moved = fields.Integer(metadata={"description": "the member has it, did not own it, and another member did"})
    added = fields.Integer(metadata={"description": "the member has it, and nobody owned it"})
    revoked = fields.Integer(metadata={"description": "the member owned it and has it no longer"})
    fewest_possible_moves = fields.Integer(
        allow_none=True,
        metadata={
            "description": "the least that `moved` could be for an assignment as balanced as this one "
            "(for every k, the k most loaded members have together no more than here; what is withheld for a follow-up counts as "
            "moved). null where a partition "
            "has several members, as in share groups with more members than partitions, and where thousands of members "
            "subscribe to as many different sets of topics, so that the optimum would hold up the answer"
        },
    )


class GroupAssignmentAnswerSchema(Schema):
    """The group, assigned."""

    kafka_version = fields.String()
    group_protocol = fields.String()
    assignor = fields.String()
    assignments = fields.List(fields.Nested(MemberAssignmentSchema), metadata={"description": "members in request order"})
    unassigned = fields.List(
        fields.Nested(TopicPartitionsAnswerSchema), metadata={"description": "the partitions that nobody gets"}
    )
    member_load = fields.Nested(CountsSchema, metadata={"description": "partitions per member; counts in request order"})
    weighted_member_load = fields.Nested(
        LoadsSchema,
        metadata={"description": "with `partition_weights`: what each member's partitions weigh; totals in request order"},
    )
    movement = fields.Nested(MovementSchema)
    follow_up_rebalance = fields.Boolean(
        metadata={
            "description": "from `cooperative-sticky`: is a second rebalance needed, to hand out what its owners have to revoke "
            "first? Until then it is in `unassigned`"
        }
    )
    warnings = fields.List(
        fields.String(), metadata={"description": "what to know of this answer, where Java itself does not settle it"}
    )
    explanation = fields.Dict(metadata={"description": "with `explain=true`: how the assignor came to this"})


@blueprint.post("/v1/group-assignments")
@blueprint.arguments(GroupAssignmentSchema)
@blueprint.arguments(ExplainSchema, location="query")
@blueprint.response(200, GroupAssignmentAnswerSchema)
@blueprint.doc(operationId="assignGroup")
def assign_group(question: GroupAssignment, query: dict[str, bool]) -> Response:
    """Assign a group's partitions to its members.

    As `text/csv` or an Arrow stream (`Accept: application/vnd.apache.arrow.stream`) the answer is its table: `topic_name`,
    `partition_id`, `member_id`.
    """
    group = question.group
    report = decision("assignment", f"{question.group_protocol}-{question.assignor.name}")
    report.sees(partitions=group.topics.partitions_count, members=len(group))
    with report.compute():
        assignment = question.assignor.run(group)
        holders = transposed(assignment, group.topics.partitions_count + len(group.unknown_partitions))
        moves = movement(group, holders)
        load = spread(assignment.lengths())
        withheld = assignment.withheld.lengths() if isinstance(assignment, CooperativeAssignment) else 0
        fewest = fewest_possible_moves(group, assignment.lengths() + withheld)
        report.gives(load.skew, subject=question.group_id, moved=moves.moved)
    with report.render():
        in_order = assignment if is_in_answer_order(group, assignment) else in_answer_order(group, holders)
        media_type = responses.preferred()
        if media_type != responses.JSON:
            return responses.table(assignments_table(group, in_order), media_type)
        answer: dict[str, Any] = {
            "kafka_version": question.kafka_version,
            "group_protocol": question.group_protocol,
            "assignor": question.assignor.name,
            "assignments": request.assignments_json(group, in_order),
            "unassigned": request.topic_partitions_json(group, unassigned(group, holders)),
            "member_load": counts_document(assignment.lengths(), load),
            "movement": {**asdict(moves), "fewest_possible_moves": fewest},
        }
        if group.topics.weights is not None:
            loads = weighted_load(assignment, group.topics.weights)
            answer["weighted_member_load"] = {"totals": loads, **asdict(spread(loads))}
        if isinstance(assignment, CooperativeAssignment):
            answer["follow_up_rebalance"] = assignment.follow_up_rebalance
        if question.assignor.warnings and (warnings := question.assignor.warnings(group)):
            answer["warnings"] = warnings
        if query["explain"] and question.assignor.explain:
            answer["explanation"] = question.assignor.explain(group, assignment, settings().max_explained)
        return responses.answer(answer)


def unassigned(group: Group, holders: Ragged) -> Int32s:
    """int32[...], the partitions that nobody has, ascending. holders : Ragged partition → members"""
    return np.flatnonzero(holders.lengths()[: group.topics.partitions_count] == 0).astype(np.int32)


def check_size(topics: pa.StructArray, members: pa.StructArray) -> None:
    """Raise LimitExceeded for a group larger than the settings allow, before anything is made of it."""
    partitions, allowed = partitions_total(topics), settings()
    for limit, asked, what, *field in (
        ("max_partitions", partitions, "partitions", "topics"),
        ("max_assignment_cells", partitions * len(members), "partitions × members"),
        ("max_subscriptions", subscriptions_total(topics, members), "subscriptions of members to topics", "members"),
    ):
        if asked > getattr(allowed, limit):
            raise LimitExceeded(environment_name(limit), getattr(allowed, limit), asked, what, *field)
