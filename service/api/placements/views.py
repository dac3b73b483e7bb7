"""``POST /v1/replica-placements``: replicas → brokers."""

from flask import Response

from service.api.placements.request import Question, ReplicaPlacementSchema
from service.api.placements.response import ReplicaPlacementAnswerSchema, load_documents, placements_table
from service.core.jvm.random import JavaRandom
from service.core.placers.load import load_of, rows_of_topics
from service.web import responses
from service.web.blueprint import Blueprint
from service.web.context import decision, settings
from service.web.schemas import ExplainSchema, implementation_document
from service.web.tables import ARROW_STREAM, JSON

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
def place_replicas(question: Question, query: dict[str, bool]) -> Response:
    """Place partitions' replicas on brokers.

    As an Arrow stream (`Accept: application/vnd.apache.arrow.stream`) or `text/csv` the answer is its table: `topic_name`,
    `partition_id`, `replicas` (a list, or text with commas).
    """
    command, placer = question.command, question.placer
    report = decision("placement", placer.name)
    with report.compute():
        explained = settings().max_explained if query["explain"] else 0
        outcome = command.run(placer, JavaRandom(question.random_seed), explained)
        load = load_of(command.cluster, rows_of_topics([topic.replicas for topic in outcome.placed]))
        report.sees(partitions=sum(len(topic.partition_ids) for topic in outcome.placed), brokers=len(command.cluster))
        report.gives(load.spread().skew, subject=question.topic_name)
    with report.render():
        media_type = responses.preferred()
        if media_type != JSON:
            listed = media_type == ARROW_STREAM
            return responses.table(placements_table(command.cluster, outcome.placed, listed=listed), media_type)
        answer = {
            "kafka_version": question.kafka_version,
            "placer": placer.name,
            "implementation": implementation_document(placer),
            **outcome.render(),
            **load_documents(command.cluster, load),
        }
        if outcome.explanation:
            answer["explanation"] = outcome.explanation
        return responses.answer(answer)
