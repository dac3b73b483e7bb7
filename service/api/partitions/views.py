"""``/v1/partitions``: key → partition.

A request is a JSON body, an Arrow stream with the rest in the query, or one key in the query.
"""

from flask import Response, request

from service.api.partitions.document import FORM
from service.api.partitions.query import PartitionQuerySchema
from service.decisions.keys.values import fields_of
from service.decisions.partitions import PartitionsQuestion
from service.web.arrow.parser import ArrowParser
from service.web.blueprint import Blueprint
from service.web.deciding import decide
from service.web.media_types import ARROW_STREAM, CSV, JSON
from service.web.schemas import ExplainSchema

blueprint = Blueprint("partitions", __name__, ArrowParser("keys", read_json=FORM.read), description="key → partition")

OF_KEY = fields_of(keys=("key",))
EXAMPLE = {"partitioner": "java", "partitions_count": 6, "keys": ["order-1", "order-2", None], "random_seed": 1}


@blueprint.operation("/v1/partitions", FORM, "allocatePartitions", example=EXAMPLE, query=ExplainSchema)
def allocate_partitions(question: PartitionsQuestion) -> Response:
    """Compute the partition of each key.

    The body may also be an Arrow stream with a column `key` (binary, string, integers, floats, booleans), the other fields being
    query parameters; its answer is an Arrow stream with a column `partition_id`, unless `Accept` says otherwise. As `text/csv`
    the answer has the columns `record` and `partition_id`.
    """
    offered = (ARROW_STREAM, JSON, CSV) if request.mimetype == ARROW_STREAM else ()
    return decide("partition", FORM, question, *offered)


@blueprint.get("/v1/partitions")
@blueprint.query(PartitionQuerySchema)
@blueprint.response(200, FORM.answer_schema)
@blueprint.doc(operationId="allocatePartition")
def allocate_partition(question: PartitionsQuestion) -> Response:
    """Compute the partition of one key, like POST with `keys: [key]`."""
    with OF_KEY:
        return decide("partition", FORM, question)
