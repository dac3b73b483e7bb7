"""Plan a partition count: how even each count would be, what moves, and which is the smallest within the limits.

The body may also be an Arrow stream with a column `key` (binary, string, integers, floats, booleans) and, optionally,
`records` and `bytes` (integers); the other fields are query parameters then, `partitioners` and `partitions_counts` separated
by commas. It is decoded batch by batch, so that it needs memory for the body and its largest batch. `text/csv` and Arrow
answers have one row for each partitioner and partition count.

If keys spread evenly, a throughput T needs max(T ÷ p, T ÷ c) partitions, where p is the most that producers write to one
partition and c the most that one consumer reads. With keys this count is compared with the others, and p and c are limits of the
busiest partition; without keys it is the answer.

Records without a key are spread evenly over the partitions, as producers do, except by partitioners that hash them.
"""

from service.api.partition_counts.document import FORM
from service.web.arrow.parser import ArrowParser
from service.web.blueprint import Blueprint

blueprint = Blueprint(
    "partition-count-plans", __name__, ArrowParser("keys", "histogram"), description="keys → how many partitions"
)

EXAMPLE = {
    "current_partitions_count": 6,
    "partitions_counts": [12, 18],
    "max_skew": 1.5,
    "histogram": [{"key": f"order-{i}", "records": 10} for i in range(1, 13)],
}

blueprint.decision("/v1/partition-count-plans", FORM, "planPartitionCounts", "partition_count_plan", __doc__, example=EXAMPLE)
