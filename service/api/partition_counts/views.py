"""``/v1/partition-count-plans``: what each of several partition counts would mean for a topic.

The keys come as JSON, or as an Arrow stream with the rest in the query. A stream is decoded batch by batch, so that
it needs memory for its body and its largest batch.
"""

from typing import cast

import pyarrow as pa
from flask import Response

from service.api.partition_counts.request import PartitionCountPlansSchema, PlansQuestion
from service.api.partition_counts.response import (
    PartitionCountPlansAnswerSchema,
    document,
    rows,
    throughput_document,
    throughput_table,
)
from service.core.errors import InvalidQuestion
from service.core.measures import spread
from service.core.sizing.plans import Rates, check_not_empty, plans
from service.core.sizing.reach import reach
from service.core.sizing.throughput import Throughput
from service.web.arrow.parser import ArrowParser
from service.web.blueprint import Blueprint
from service.web.context import decision
from service.web.responses import respond

blueprint = Blueprint(
    "partition-count-plans", __name__, ArrowParser("keys", "histogram"), description="keys → how many partitions"
)

EXAMPLE = {
    "current_partitions_count": 6,
    "partitions_counts": [12, 18],
    "max_skew": 1.5,
    "histogram": [{"key": f"order-{i}", "records": 10} for i in range(1, 13)],
}
"""A body for the reference page."""


@blueprint.post("/v1/partition-count-plans")
@blueprint.arguments(PartitionCountPlansSchema, example=EXAMPLE)
@blueprint.response(200, PartitionCountPlansAnswerSchema)
@blueprint.doc(operationId="planPartitionCounts")
def plan_partition_counts(question: PlansQuestion) -> Response:
    """Plan a partition count: how even each count would be, what moves, and which is the smallest within the limits.

    The body may also be an Arrow stream with a column `key` (binary, string, integers, floats, booleans) and, optionally,
    `records` and `bytes` (integers); the other fields are query parameters then, `partitioners` and `partitions_counts` separated
    by commas. It is decoded batch by batch, so that it needs memory for the body and its largest batch. `text/csv` and Arrow
    answers have one row for each partitioner and partition count.

    If keys spread evenly, a throughput T needs max(T ÷ p, T ÷ c) partitions, where p is the most that producers write to one
    partition and c the most that one consumer reads. With keys this count is compared with the others; without keys it is the
    answer.
    """
    if question.batches is None:
        return _answer_throughput(question)
    counts = question.counts
    report = decision("partition_count_plan", counts.names[0] if len(counts.names) == 1 else "several")
    with report.compute():
        key_format, rows_read = "string", 0
        for batch in question.batches:
            key_format, rows_read = batch.key_format, rows_read + len(batch)
            counts.add(batch.column, key_format, batch.records, batch.bytes)
        check_not_empty(counts, question.keys_field)
        rates = _rates(question)
        results = plans(counts, rates, question.limits)
        reached = reach(counts, results, rates, question.limits, key_format)
    report.sees(keys=rows_read)
    if question.topic_name is not None and counts.current is not None:  # what the topic has, not what it might have
        report.gives(spread(counts.totals(counts.names[0], counts.current).records).skew, subject=question.topic_name)
    with report.render():
        return respond(lambda: document(question, results, reached, key_format), lambda _: pa.Table.from_pylist(rows(results)))


def _answer_throughput(question: PlansQuestion) -> Response:
    needed = cast("Throughput", question.throughput)
    with decision("partition_count_plan", "throughput").render():
        return respond(lambda: throughput_document(question), lambda _: throughput_table(needed))


def _rates(question: PlansQuestion) -> Rates:
    """What the topic takes in: as given, or by the duration."""
    counts, seconds, rates = question.counts, question.duration_seconds, question.rates
    if not counts.has_bytes and (rates.bytes_per_second is not None or question.limits.bytes_per_second is not None):
        field = "bytes_per_second" if rates.bytes_per_second is not None else "max_partition_bytes_per_second"
        raise InvalidQuestion("Requires the bytes of each key.", field)
    if seconds is None:
        return rates
    return Rates(counts.records / seconds, counts.bytes / seconds if counts.has_bytes else None)
