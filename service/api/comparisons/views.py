"""``/v1/partitioner-comparisons``: the same keys through several clients' partitioners."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from marshmallow import Schema, fields, post_load, validate

from service.api.fingerprints.partitioner_classes import ExcludedSchema, WriterSchema, chosen, excluded_documents, writer_document
from service.core.attribution.agreement import compare
from service.core.keys.columns import FORMATS
from service.web import keys, responses
from service.web.arrow_parser import StreamParser
from service.web.blueprint import Blueprint
from service.web.context import decision
from service.web.fields import Integer, about
from service.web.keys import KeyList
from service.web.schemas import KafkaVersion, SpreadSchema

if TYPE_CHECKING:
    from flask import Response

    from service.core.attribution.agreement import Comparison
    from service.core.keys.columns import Column
    from service.core.partitioners import Partitioner

MOST_EXAMPLES: Final = 100


class ComparisonsBlueprint(Blueprint):
    """The resource, which also takes an Arrow stream."""

    ARGUMENTS_PARSER = StreamParser("keys", "key")


blueprint = ComparisonsBlueprint("partitioner-comparisons", __name__, description="the same keys, different partitioners")


@dataclass(frozen=True)
class ComparisonQuestion:
    """The question. ``values`` are the keys as they came, ``named`` says whether the partitioners were."""

    kafka_version: str
    partitioners: list[Partitioner]
    named: bool
    partitions_count: int
    values: Any
    column: Column
    key_format: str
    examples: int


class PartitionerComparisonsSchema(Schema):
    """Keys of one topic, and the partitioners to compare."""

    kafka_version = KafkaVersion()
    partitioners = fields.List(
        fields.String(),
        validate=validate.Length(min=1),
        metadata=about("names of GET /v1/partitioners; default: all", example=["java", "librdkafka:consistent_random"]),
    )
    partitions_count = Integer(required=True, minimum=1, metadata=about("the topic's partitions", example=12))
    key_format = fields.String(validate=validate.OneOf(FORMATS), metadata=about("as in /v1/partitions; default `string`"))
    keys = KeyList(
        required=True,
        metadata={"description": "null is a record without a key", "type": "array", "items": {}, "example": ["order-1"]},
    )
    examples = Integer(
        minimum=0, maximum=MOST_EXAMPLES, load_default=3, metadata=about("most keys that are shown of a disagreement")
    )

    @post_load
    def ask(self, body: dict[str, Any], **_: Any) -> ComparisonQuestion:
        """The question, its strategies looked up, its size within the limits, its keys in bytes."""
        partitioners = chosen(body.get("partitioners"))
        keys.check_limit(len(body["keys"]), "/keys")
        column, key_format = keys.read(body["keys"], body.get("key_format"), "/keys/{}")
        return ComparisonQuestion(
            kafka_version=body["kafka_version"],
            partitioners=partitioners,
            named="partitioners" in body,
            partitions_count=body["partitions_count"],
            values=body["keys"],
            column=column,
            key_format=key_format,
            examples=body["examples"],
        )


class ComparedWriterSchema(WriterSchema):
    """Partitioners that put each of these keys on the same partition."""

    distribution = fields.Nested(
        SpreadSchema,
        metadata=about("of the records whose partition follows from their key; absent above a million partitions"),
    )


class DisagreementSchema(Schema):
    """A key that two partitioners put on different partitions."""

    row = fields.Integer(metadata=about("of the key among the keys"))
    key = fields.Raw(allow_none=True)
    partition_ids = fields.List(fields.Integer(), metadata=about("where either puts it, in the order of `partitioners`"))


class PairSchema(Schema):
    """Two writers beside each other."""

    partitioners = fields.List(fields.String(), metadata=about("the first name of either writer"))
    keys = fields.Integer(metadata=about("records whose partition follows from their key in both"))
    agreeing_keys = fields.Integer(metadata=about("those that both put on the same partition"))
    agreement = fields.Float(allow_none=True, metadata=about("their share; null where there are no such records"))
    disagreements = fields.List(fields.Nested(DisagreementSchema), metadata=about("the first few"))


class PartitionerComparisonsAnswerSchema(Schema):
    """Which partitioners agree."""

    kafka_version = fields.String()
    partitions_count = fields.Integer()
    keys_count = fields.Integer()
    chance_agreement = fields.Float(metadata=about("the agreement of two hashes that have nothing to do with each other"))
    writers = fields.List(
        fields.Nested(ComparedWriterSchema), metadata=about("partitioners that agree on every one of these keys")
    )
    pairs = fields.List(fields.Nested(PairSchema), metadata=about("every two writers"))
    not_compared = fields.List(fields.Nested(ExcludedSchema), metadata=about("partitioners without a say"))


@blueprint.post("/v1/partitioner-comparisons")
@blueprint.arguments(PartitionerComparisonsSchema)
@blueprint.response(200, PartitionerComparisonsAnswerSchema)
@blueprint.doc(operationId="comparePartitioners")
def compare_partitioners(question: ComparisonQuestion) -> Response:
    """Say on which share of the keys each two partitioners agree, with examples of those on which they do not.

    Partitioners that agree by construction (the same hash and sign rule) are one writer. A record of which not the key, but a
    counter or chance decides (most clients' records without a key) counts for neither. The body may also be an Arrow stream with
    a column `key`, the other fields being query parameters, `partitioners` separated by commas. As `text/csv` or Arrow the
    answer is the table of pairs.
    """
    report = decision("partitioner_comparison", "chosen" if question.named else "all")
    with report.compute():
        result = compare(
            question.partitioners, question.column, question.key_format, question.partitions_count, question.examples
        )
    report.sees(keys=result.records)
    with report.render():
        media_type = responses.wanted()
        if media_type != responses.JSON:
            return responses.table(_table(result), media_type)
        return responses.answer(_document(question, result))


def _document(question: ComparisonQuestion, result: Comparison) -> dict[str, Any]:
    spreads = [{} for _ in result.classes] if result.spreads is None else [{"distribution": vars(one)} for one in result.spreads]
    return {
        "kafka_version": question.kafka_version,
        "partitions_count": question.partitions_count,
        "keys_count": result.records,
        "chance_agreement": 1 / question.partitions_count,
        "writers": [writer_document(writer) | spread for writer, spread in zip(result.classes, spreads, strict=True)],
        "pairs": [
            {
                "partitioners": [result.classes[pair.first].names[0], result.classes[pair.second].names[0]],
                "keys": pair.keys,
                "agreeing_keys": pair.agreeing,
                "agreement": pair.agreeing / pair.keys if pair.keys else None,
                "disagreements": [
                    {"row": one.row, "key": keys.shown(question.values, one.row), "partition_ids": one.partitions}
                    for one in pair.examples
                ],
            }
            for pair in result.pairs
        ],
        "not_compared": excluded_documents(result.partitioners),
    }


def _table(result: Comparison) -> pa.Table:
    first = [result.classes[pair.first].names[0] for pair in result.pairs]
    second = [result.classes[pair.second].names[0] for pair in result.pairs]
    agreement = [pair.agreeing / pair.keys if pair.keys else None for pair in result.pairs]
    return pa.table(
        {
            "partitioner": pa.array(first, pa.string()),
            "other_partitioner": pa.array(second, pa.string()),
            "keys": pa.array([pair.keys for pair in result.pairs], pa.int64()),
            "agreeing_keys": pa.array([pair.agreeing for pair in result.pairs], pa.int64()),
            "agreement": pa.array(agreement, pa.float64()),
        }
    )
