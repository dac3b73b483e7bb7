"""``POST /v1/group-assignments``: partitions → group members."""

from dataclasses import replace
from typing import Any

from flask import Response
from marshmallow import fields

from service.api.groups.document import GroupAssignmentAnswerSchema
from service.api.groups.form import FORM
from service.api.groups.schema import GroupAssignmentSchema, read_body
from service.decisions.groups.question import GroupQuestion
from service.web.blueprint import Blueprint, Parser
from service.web.deciding import decide
from service.web.fields import about
from service.web.schemas import ExplainSchema


class GroupParser(Parser):
    """The service's parser, reading large bodies with Arrow."""

    read_json = staticmethod(read_body)


class GroupQuerySchema(ExplainSchema):
    """The query."""

    moves = fields.Boolean(
        load_default=None,
        truthy={"true"},
        falsy={"false"},
        metadata=about("whether to list each partition that moves; by default if there are few"),
    )
    frontier = fields.Boolean(
        load_default=False,
        truthy={"true"},
        falsy={"false"},
        metadata=about("`balanced`: add the `frontier`, which shows what fewer moves achieve"),
    )


blueprint = Blueprint("group-assignments", __name__, GroupParser(), description="partitions → group members")

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
def assign_group(question: GroupQuestion, query: dict[str, Any]) -> Response:
    """Assign a group's partitions to its members.

    As `text/csv` or an Arrow stream (`Accept: application/vnd.apache.arrow.stream`) the answer is its table: `topic_name`,
    `partition_id`, `member_id`; with `moves=true` that of the moves: `topic_name`, `partition_id`, `from_member_id`,
    `to_member_id`; with `frontier=true` the frontier; of `spark:kafka-source` with `lag` the ranges: `topic_name`,
    `partition_id`, `from_offset`, `until_offset`, `member_id`. With `expected`, the answer says whether it is `alike`, and where
    it differs.
    """
    known = {name: value for name, value in query.items() if hasattr(question, name)}  # one of another family may have neither
    return decide("assignment", FORM, replace(question, **known))
