"""``POST /v1/group-assignments``: partitions → group members."""

from typing import Any

from flask import Response
from marshmallow import fields

from service.api.groups.request import GroupAssignment, GroupAssignmentSchema, GroupParser
from service.api.groups.response import Details, GroupAssignmentAnswerSchema, answer, compared
from service.core.rebalances.rebalance import rebalance
from service.web.blueprint import Blueprint
from service.web.context import decision, settings
from service.web.fields import about
from service.web.schemas import ExplainSchema


class GroupQuerySchema(ExplainSchema):
    """The query."""

    moves = fields.Boolean(
        load_default=None,
        truthy={"true"},
        falsy={"false"},
        metadata=about("whether to list each partition that moves; by default if there are few"),
    )


class GroupBlueprint(Blueprint):
    """The resource, with its parser."""

    ARGUMENTS_PARSER = GroupParser()


blueprint = GroupBlueprint("group-assignments", __name__, description="partitions → group members")

EXAMPLE = {
    "assignor": "cooperative-sticky",
    "group_id": "billing",
    "topics": [{"topic_name": "orders", "partitions_count": 7}],
    "members": [
        {"member_id": "c1", "owned_partitions": [{"topic_name": "orders", "partition_ids": [0, 1, 2, 3]}]},
        {"member_id": "c2", "owned_partitions": [{"topic_name": "orders", "partition_ids": [4, 5, 6]}]},
        {"member_id": "c3"},
    ],
}
"""A body for the reference page."""


@blueprint.post("/v1/group-assignments")
@blueprint.arguments(GroupAssignmentSchema, example=EXAMPLE)
@blueprint.arguments(GroupQuerySchema, location="query")
@blueprint.response(200, GroupAssignmentAnswerSchema)
@blueprint.doc(operationId="assignGroup")
def assign_group(question: GroupAssignment, query: dict[str, Any]) -> Response:
    """Assign a group's partitions to its members.

    As `text/csv` or an Arrow stream (`Accept: application/vnd.apache.arrow.stream`) the answer is its table: `topic_name`,
    `partition_id`, `member_id`; with `moves=true` that of the moves: `topic_name`, `partition_id`, `from_member_id`,
    `to_member_id`. With `expected`, the answer says whether it is `alike`, and where it differs.
    """
    group = question.group
    report = decision("assignment", f"{question.group_protocol}-{question.assignor.name}")
    report.sees(partitions=group.topics.partitions_count, members=len(group))
    with report.compute():
        if question.expected is None:
            outcome, comparison = rebalance(group, question.assignor), None
        else:
            group, outcome, comparison = compared(question)
        report.gives(outcome.load.skew, subject=question.group_id, moved=outcome.movement.moved)
    with report.render():
        explained = settings().max_explained if query["explain"] else 0
        return answer(question, group, outcome, Details(explained, query["moves"], comparison))
