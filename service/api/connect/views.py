"""Assign a Kafka Connect group's connectors and tasks to its workers, rebalance by rebalance.

The assignment also depends on what the leader remembers and on its clock. Both are in the request, and in the answer for the
next request. As `text/csv` or an Arrow stream the answer is the table of what workers are to start and stop.
"""

from service.api.connect.document import FORM
from service.web.blueprint import Blueprint
from service.web.schemas import ExplainSchema

blueprint = Blueprint("connect-assignments", __name__, description="connectors and tasks → Connect's workers")

EXAMPLE = {
    "group_protocol": "connect",
    "assignor": "sessioned",
    "rounds": [
        {
            "connectors": [{"connector_name": "jdbc", "tasks_count": 4}, {"connector_name": "s3", "tasks_count": 2}],
            "workers": [{"member_id": "w1"}],
        },
        {"at_ms": 60_000, "workers": [{"member_id": "w1"}, {"member_id": "w2"}]},
        {"at_ms": 90_000, "workers": [{"member_id": "w1"}]},
    ],
    "follow_ups": True,
}
"""w2 joins, and leaves again."""

blueprint.decision(
    "/v1/connect-assignments", FORM, "assignConnectors", "assignment", __doc__, example=EXAMPLE, query=ExplainSchema
)
