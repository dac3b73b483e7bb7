"""Place partitions' replicas on brokers.

As an Arrow stream (`Accept: application/vnd.apache.arrow.stream`) or `text/csv` the answer is its table: `topic_name`,
`partition_id`, `replicas` (a list, or text with commas).
"""

from service.api.placements.document import FORM
from service.web.blueprint import Blueprint
from service.web.schemas import ExplainSchema

blueprint = Blueprint("replica-placements", __name__, description="replicas → brokers")

EXAMPLE = {
    "placer": "striped",
    "random_seed": 7,
    "topic_name": "orders",
    "partitions_count": 6,
    "replication_factor": 2,
    "brokers": [{"broker_id": 1, "rack_id": "a"}, {"broker_id": 2, "rack_id": "b"}, {"broker_id": 3, "rack_id": "c"}],
}

blueprint.decision("/v1/replica-placements", FORM, "placeReplicas", "placement", __doc__, example=EXAMPLE, query=ExplainSchema)
