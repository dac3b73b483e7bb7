"""``POST /v1/replica-placements``: replicas → brokers."""

from dataclasses import replace

from flask import Response

from service.api.placements.document import ReplicaPlacementAnswerSchema
from service.api.placements.form import FORM
from service.api.placements.schema import ReplicaPlacementSchema
from service.decisions.placements.question import PlacementQuestion
from service.web.blueprint import Blueprint
from service.web.deciding import decide
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
"""A body for the reference page."""


@blueprint.post("/v1/replica-placements")
@blueprint.arguments(ReplicaPlacementSchema, example=EXAMPLE)
@blueprint.arguments(ExplainSchema, location="query")
@blueprint.response(200, ReplicaPlacementAnswerSchema)
@blueprint.doc(operationId="placeReplicas")
def place_replicas(question: PlacementQuestion, query: dict[str, bool]) -> Response:
    """Place partitions' replicas on brokers.

    As an Arrow stream (`Accept: application/vnd.apache.arrow.stream`) or `text/csv` the answer is its table: `topic_name`,
    `partition_id`, `replicas` (a list, or text with commas).
    """
    return decide("placement", FORM, replace(question, explain=query["explain"]))
