"""``POST /v1/group-assignments``: partitions → group members."""

from flask import Response

from service.api.groups.request import GroupAssignment, GroupAssignmentSchema, GroupParser
from service.api.groups.response import GroupAssignmentAnswerSchema, answer
from service.core.rebalances.rebalance import rebalance
from service.web.blueprint import Blueprint
from service.web.context import decision, settings
from service.web.schemas import ExplainSchema


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
        outcome = rebalance(group, question.assignor)
        report.gives(outcome.load.skew, subject=question.group_id, moved=outcome.movement.moved)
    with report.render():
        return answer(question, outcome, settings().max_explained if query["explain"] else 0)
