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


blueprint = GroupBlueprint("group_assignments", __name__, description="partitions → group members")


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
        outcome = rebalance(group, question.assignor)
        report.gives(outcome.load.skew, subject=question.group_id, moved=outcome.movement.moved)
    with report.render():
        return answer(question, outcome, settings().max_explained if query["explain"] else 0)
