"""Plan a reassignment: with the fewest copies or to the evenest load, in batches, each with its rollback.

The `ETag` is the `plan_id`. If no placement keeps all rules, the answer is a 422 of type `infeasible` with the rules that
`clash` and `remedies`; if the search ends without one, although there may be one, of type `not-found`. As an Arrow stream
(`Accept: application/vnd.apache.arrow.stream`) or `text/csv` the answer is the table of moves: `topic_name`, `partition_id`,
`from`, `to`, `reason`, `batch`; with `?frontier=true` it is the frontier.
"""

from service.api.reassignments.document import FORM
from service.api.reassignments.schema import FrontierSchema
from service.web.blueprint import Blueprint

blueprint = Blueprint("reassignments", __name__, description="current placement → a plan to a better one")

EXAMPLE = {
    "objective": "fewest-moves",
    "racks": "strict",
    "brokers": [
        {"broker_id": 0, "rack_id": "a"},
        {"broker_id": 1, "rack_id": "b"},
        {"broker_id": 2, "rack_id": "a", "draining": True},
    ],
    "topics": [
        {
            "topic_name": "orders",
            "placements": [{"partition_id": 0, "replicas": [2, 1]}, {"partition_id": 1, "replicas": [1, 0]}],
            "partition_bytes": [1_000_000_000, 2_000_000_000],
        }
    ],
    "limits": {"moves_per_broker": 5, "throttle_bytes_per_second": 50_000_000},
}

blueprint.decision("/v1/reassignments", FORM, "planReassignment", "reassignment", __doc__, example=EXAMPLE, query=FrontierSchema)
