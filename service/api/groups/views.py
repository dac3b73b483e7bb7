"""Assign a group's partitions to its members.

As `text/csv` or an Arrow stream (`Accept: application/vnd.apache.arrow.stream`) the answer is its table: `topic_name`,
`partition_id`, `member_id`; with `moves=true` that of the moves: `topic_name`, `partition_id`, `from_member_id`,
`to_member_id`; with `frontier=true` the frontier; of `spark:kafka-source` with `lag` the ranges: `topic_name`,
`partition_id`, `from_offset`, `until_offset`, `member_id`. With `expected`, the answer says whether it is `alike`, and where
it differs.
"""

from service.api.groups.document import FORM
from service.decisions.groups.answer import FEW_MOVES
from service.web.blueprint import Blueprint, Parser
from service.web.fields import Bool
from service.web.schemas import ExplainSchema


class GroupQuerySchema(ExplainSchema):
    """The query."""

    moves = Bool(f"whether to list each partition that moves; by default, if there are at most {FEW_MOVES}", load_default=None)
    frontier = Bool("`balanced`: add the `frontier`, which shows what fewer moves achieve", load_default=False)


blueprint = Blueprint("group-assignments", __name__, Parser(FORM.read), description="partitions → group members")

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

blueprint.decision("/v1/group-assignments", FORM, "assignGroup", "assignment", __doc__, example=EXAMPLE, query=GroupQuerySchema)
