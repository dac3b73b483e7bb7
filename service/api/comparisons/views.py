"""``/v1/partitioner-comparisons``: the same keys through several clients' partitioners."""

from flask import Response

from service.api.comparisons.document import PartitionerComparisonsAnswerSchema
from service.api.comparisons.form import FORM
from service.api.comparisons.schema import PartitionerComparisonsSchema
from service.decisions.comparisons import ComparisonQuestion
from service.web.arrow.parser import KeysParser
from service.web.blueprint import Blueprint
from service.web.deciding import decide

blueprint = Blueprint(
    "partitioner-comparisons", __name__, KeysParser("keys"), description="the same keys, different partitioners"
)

EXAMPLE = {
    "partitioners": ["java", "librdkafka:consistent_random"],
    "partitions_count": 6,
    "keys": ["order-1", "order-2", "order-3"],
}
"""A body for the reference page."""


@blueprint.post("/v1/partitioner-comparisons")
@blueprint.arguments(PartitionerComparisonsSchema, example=EXAMPLE)
@blueprint.response(200, PartitionerComparisonsAnswerSchema)
@blueprint.doc(operationId="comparePartitioners")
def compare_partitioners(question: ComparisonQuestion) -> Response:
    """Compare partitioners: the share of the records on which each two agree, and examples of keys on which they do not.

    Partitioners that agree by construction (the same hash and sign rule) are one writer. Records whose
    partition depends on a counter or on chance (most clients' records without a key) are not compared. The body may also be an
    Arrow stream with a column `key`, the other fields being query parameters, `partitioners` separated by commas. As `text/csv`
    or Arrow the answer is the table of pairs.
    """
    return decide("partitioner_comparison", FORM, question)
