"""Check whether two topics are co-partitioned, as joins in Kafka Streams require, and if not, the differences and remedies.

Every join of two streams, two tables, or a stream and a table requires it; a join with a GlobalKTable or by foreign key does
not.
"""

from service.api.co_partitionings.document import FORM
from service.web.blueprint import Blueprint

blueprint = Blueprint("co-partitionings", __name__, description="two topics → can they be joined?")

EXAMPLE = {
    "topics": [
        {"topic_name": "orders", "partitions_count": 12},
        {"topic_name": "customers", "partitions_count": 6, "partitioner": "librdkafka:consistent_random"},
    ]
}

blueprint.decision("/v1/co-partitionings", FORM, "checkCoPartitioning", "co_partitioning", __doc__, example=EXAMPLE)
