"""Identify the partitioners and partition counts that explain the observed partitions of keys.

An unrelated partitioner also explains one record in `partitions_count`. A writer is therefore identified only if chance would
explain as much in fewer than 1 of 1000 such questions, and never by one key. Several writers of one topic are identified with
their shares. Without `partitioners`, those that do not write to Kafka are not considered; if the others leave records
unexplained, every hash is tried with every sign rule, and whole numbers modulo the partition count.

The body may also be an Arrow stream with the columns `key` and `partition_id`, the other fields being query parameters. As
`text/csv` or Arrow the answer is the table of candidates.
"""

from service.api.fingerprints.document import FORM
from service.web.arrow.parser import ArrowParser
from service.web.blueprint import Blueprint
from service.web.schemas import ExplainSchema

blueprint = Blueprint(
    "partitioner-fingerprints", __name__, ArrowParser("observations"), description="keys and partitions → which partitioner"
)

EXAMPLE = {
    "partitions_count": 6,
    "observations": [{"key": "order-1", "partition_id": 4}, {"key": "order-2", "partition_id": 3}],
}

blueprint.decision(
    "/v1/partitioner-fingerprints",
    FORM,
    "fingerprintPartitioners",
    "partitioner_fingerprint",
    __doc__,
    example=EXAMPLE,
    query=ExplainSchema,
)
