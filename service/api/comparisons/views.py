"""Compare partitioners: the share of the records on which each pair agrees, and examples of keys on which they do not.

Partitioners that agree by construction (the same hash and sign rule) are one writer. Records whose
partition depends on a counter or on chance (most clients' records without a key) are not compared. The body may also be an
Arrow stream with a column `key`, the other fields being query parameters, `partitioners` separated by commas. As `text/csv`
or Arrow the answer is the table of pairs.
"""

from service.api.comparisons.document import FORM
from service.web.arrow.parser import ArrowParser
from service.web.blueprint import Blueprint

blueprint = Blueprint(
    "partitioner-comparisons",
    __name__,
    ArrowParser("keys", read_json=FORM.read),
    description="the same keys, different partitioners",
)

EXAMPLE = {
    "partitioners": ["java", "librdkafka:consistent_random"],
    "partitions_count": 6,
    "keys": ["order-1", "order-2", "order-3"],
}

blueprint.decision("/v1/partitioner-comparisons", FORM, "comparePartitioners", "partitioner_comparison", __doc__, example=EXAMPLE)
