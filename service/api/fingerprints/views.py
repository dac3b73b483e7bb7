"""``/v1/partitioner-fingerprints``: which partitioner wrote this, and to how many partitions."""

from flask import Response

from service.api.fingerprints.request import FingerprintQuestion, PartitionerFingerprintsSchema
from service.api.fingerprints.response import PartitionerFingerprintsAnswerSchema, document, table
from service.core.attribution.fingerprints import fingerprint
from service.core.attribution.observations import observe
from service.web.arrow.parser import ArrowParser
from service.web.blueprint import Blueprint
from service.web.context import check_limit, check_time, decision
from service.web.responses import respond
from service.web.schemas import ExplainSchema

blueprint = Blueprint(
    "partitioner-fingerprints", __name__, ArrowParser("observations"), description="keys and partitions → which partitioner"
)

EXAMPLE = {
    "partitions_count": 6,
    "observations": [{"key": "order-1", "partition_id": 4}, {"key": "order-2", "partition_id": 3}],
}
"""A body for the reference page."""


@blueprint.post("/v1/partitioner-fingerprints")
@blueprint.arguments(PartitionerFingerprintsSchema, example=EXAMPLE)
@blueprint.arguments(ExplainSchema, location="query")
@blueprint.response(200, PartitionerFingerprintsAnswerSchema)
@blueprint.doc(operationId="fingerprintPartitioners")
def fingerprint_partitioners(question: FingerprintQuestion, query: dict[str, bool]) -> Response:
    """Identify the partitioners and partition counts that explain where keys were seen.

    An unrelated partitioner also explains one record in `partitions_count`. A writer is therefore identified only if chance would
    explain as much in fewer than 1 of 1000 such questions, and never by one key. Several writers of one topic are identified with
    their shares. Without `partitioners`, those that do not write to Kafka are not considered; if the others leave records
    unexplained, every hash is tried with every sign rule, and whole numbers modulo the partition count.

    The body may also be an Arrow stream with the columns `key` and `partition_id`, the other fields being query parameters. As
    `text/csv` or Arrow the answer is the table of candidates.
    """
    observed = len(question.partition_ids)
    if query["explain"]:
        check_limit("max_explained", observed, "observations to be explained", "explain")
    report = decision("partitioner_fingerprint", "chosen" if question.named else "all")
    with report.compute():
        observations = observe(question.column, question.key_format, question.partition_ids)
        result = fingerprint(
            question.partitioners,
            observations,
            question.partitions_counts,
            question.max_candidates,
            question.examples,
            all_suspects=not question.named,
            check_time=check_time,
        )
    report.sees(keys=observed)
    with report.render():
        return respond(lambda: document(question, result, observations, explained=query["explain"]), lambda _: table(result))
