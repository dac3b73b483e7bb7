"""``/v1/co-partitionings``: can two topics be joined, and if not, what has to change?"""

from flask import Response

from service.api.co_partitionings.document import FORM
from service.decisions.co_partitionings import CoPartitioningQuestion
from service.web.blueprint import Blueprint
from service.web.deciding import decide

blueprint = Blueprint("co-partitionings", __name__, description="two topics → can they be joined?")

EXAMPLE = {
    "topics": [
        {"topic_name": "orders", "partitions_count": 12},
        {"topic_name": "customers", "partitions_count": 6, "partitioner": "librdkafka:consistent_random"},
    ]
}


@blueprint.operation("/v1/co-partitionings", FORM, "checkCoPartitioning", example=EXAMPLE)
def check_co_partitioning(question: CoPartitioningQuestion) -> Response:
    """Check whether two topics are co-partitioned, as joins in Kafka Streams require, and if not, the differences and remedies.

    Every join of two streams, two tables, or a stream and a table requires it; a join with a GlobalKTable or by foreign key does
    not.
    """
    return decide("co_partitioning", FORM, question)
