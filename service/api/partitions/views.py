"""``/v1/partitions``: key → partition.

A request is a JSON body, an Arrow stream with the rest in the query, or one key in the query.
"""

from typing import cast

from flask import Response, request

from service.api.partitions.request import Allocation, PartitionQuerySchema, PartitionsSchema
from service.api.partitions.response import PartitionsAnswerSchema, distribution, document, table
from service.core.model import Int32s
from service.core.partitioners import allocate
from service.web.blueprint import Blueprint
from service.web.context import check_limit, decision
from service.web.keys import KeysParser, fields_of
from service.web.responses import respond
from service.web.schemas import ExplainSchema
from service.web.tables import ARROW_STREAM, CSV, JSON

blueprint = Blueprint("partitions", __name__, KeysParser("keys"), description="key → partition")

EXAMPLE = {"partitioner": "java", "partitions_count": 6, "keys": ["order-1", "order-2", None], "random_seed": 1}
"""A body for the reference page."""


@blueprint.post("/v1/partitions")
@blueprint.arguments(PartitionsSchema, example=EXAMPLE)
@blueprint.arguments(ExplainSchema, location="query")
@blueprint.response(200, PartitionsAnswerSchema)
@blueprint.doc(operationId="allocatePartitions")
def allocate_partitions(allocation: Allocation, query: dict[str, bool]) -> Response:
    """Compute the partition of each key.

    The body may also be an Arrow stream with a column `key` (binary, string, integers, floats, booleans), the other fields being
    query parameters; its answer is an Arrow stream with a column `partition_id`, unless `Accept` says otherwise. As `text/csv`
    the answer has the columns `record` and `partition_id`.
    """
    offered = (ARROW_STREAM, JSON, CSV) if request.mimetype == ARROW_STREAM else ()
    return answer(allocation, *offered, explained=query["explain"])


@blueprint.get("/v1/partitions")
@blueprint.query(PartitionQuerySchema)
@blueprint.response(200, PartitionsAnswerSchema)
@blueprint.doc(operationId="allocatePartition")
def allocate_partition(allocation: Allocation) -> Response:
    """Compute the partition of one key: what POST answers for `keys: [key]`."""
    return answer(allocation, explained=allocation.explained)


def answer(allocation: Allocation, *offered: str, explained: bool) -> Response:
    """Run the partitioner, and answer in the media type that the request prefers. offered : as for ``respond``"""
    partitioner, question = allocation.partitioner, allocation.question
    if explained:
        check_limit("max_explained", len(question.keys), "keys to be explained", "explain")
    report = decision("partition", partitioner.name)
    with report.compute(), fields_of(**allocation.members):
        result = allocate(partitioner, question)
        counts, evenness = None, None
        if not partitioner.gives_tokens:
            counts, evenness = distribution(cast("Int32s", result.partitions), question.partitions_count)
    report.sees(keys=len(result.partitions))
    if evenness is not None and len(result.partitions) > 1:  # one key's says nothing of its topic
        report.gives(evenness.skew, subject=allocation.topic_name)
    with report.render():
        return respond(
            lambda: document(allocation, result, counts, evenness, explained=explained),
            lambda media_type: table(allocation, result, media_type),
            *offered,
        )
