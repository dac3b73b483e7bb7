"""Simulate what happens to a group: every rebalance that the events cause, and each member's standstill.

If no member owns anything, the group forms at 0 ms; otherwise it is stable then, with what its members own. As `text/csv` or
an Arrow stream the answer is the table of rebalances, or with `compare` that of the comparisons.
"""

from service.api.rebalances.document import FORM
from service.web.blueprint import Blueprint
from service.web.schemas import ExplainSchema

blueprint = Blueprint("group-rebalances", __name__, description="a timeline of a group → its rebalances")

EXAMPLE = {
    "group_protocol": "classic",
    "assignor": "cooperative-sticky",
    "topics": [{"topic_name": "orders", "partitions_count": 6}],
    "members": [{"member_id": "c1"}, {"member_id": "c2"}],
    "events": [
        {"at_ms": 10_000, "type": "member_joins", "member": {"member_id": "c3"}},
        {"at_ms": 60_000, "type": "member_crashes", "member_id": "c1"},
    ],
}

blueprint.decision("/v1/group-rebalances", FORM, "simulateRebalances", "rebalance", __doc__, example=EXAMPLE, query=ExplainSchema)
