"""``/v1/co-partitionings``: can two topics be joined, and if not, what has to change?"""

from flask import Response

from service.api.co_partitionings.request import CoPartitioningQuestion, CoPartitioningsSchema
from service.api.co_partitionings.response import CoPartitioningsAnswerSchema, document
from service.core.attribution.copartitioning import copartitioning
from service.web import responses
from service.web.blueprint import Blueprint
from service.web.context import decision

blueprint = Blueprint("co-partitionings", __name__, description="two topics → can they be joined?")


@blueprint.post("/v1/co-partitionings")
@blueprint.arguments(CoPartitioningsSchema)
@blueprint.response(200, CoPartitioningsAnswerSchema)
@blueprint.doc(operationId="checkCoPartitioning")
def check_co_partitioning(question: CoPartitioningQuestion) -> Response:
    """Say whether two topics are co-partitioned, as a join of Kafka Streams needs it, and if not, what differs and what mends it.

    The requirement is that of every join of two streams, two tables, or a stream and a table; not of one with a GlobalKTable or
    by foreign key.
    """
    report = decision("co_partitioning", "streams")
    with report.compute():
        result = copartitioning(*question.topics)
    report.sees(topics=2)
    with report.render():
        return responses.answer(document(question, result))
