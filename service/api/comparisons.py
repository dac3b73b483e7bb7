"""Compare partitioners: the share of the records on which each pair agrees, and examples of keys on which they do not.

Partitioners that agree by construction (the same hash and sign rule) are one writer. Records whose
partition depends on a counter or on chance (most clients' records without a key) are not compared. The body may also be an
Arrow stream with a column `key`, the other fields being query parameters, `partitioners` separated by commas. As `text/csv`
or Arrow the answer is the table of pairs.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from marshmallow import validate

from service.api.fingerprints import ExcludedSchema, WriterSchema, excluded_documents, writer_document
from service.core.budget import Budget, Figures
from service.core.kafka_versions import LATEST
from service.core.keys.formats import FORMATS
from service.core.printable import counted
from service.decisions import keys as key_values
from service.decisions.keys import json_value
from service.decisions.partitions import chosen
from service.decisions.rows import faults_of, raise_all
from service.http import fields
from service.http.fields import Int
from service.http.forms import AnswerSchema, Form, KafkaVersion, Operation, QuestionSchema, SpreadSchema
from service.http.keys import KeyList, read_body
from service.http.lists import Array
from service.planner.attribution.agreement import PartitionerComparison, compare

EXAMPLE_BYTES: Final = 1_000
"""Memory for each key that is shown for a disagreement, beside its text. Measured: 890."""

TEXT_FACTOR: Final = 12
"""The same for each character of it: six bytes in JSON, and a copy while that grows."""


@dataclass(frozen=True)
class ComparisonQuestion:
    """Keys of one topic, and the partitioners to compare; None: all.

    keys : a list as JSON has it, or a column of Arrow's (see ``key_values.read``)
    examples : most keys that are shown for each disagreement
    """

    partitions_count: int
    keys: Any
    partitioners: list[str] | None = None
    key_format: str | None = None
    examples: int = 3
    kafka_version: str = LATEST


@dataclass(frozen=True)
class ComparisonAnswer:
    """Which partitioners agree."""

    question: ComparisonQuestion
    result: PartitionerComparison

    @property
    def figures(self) -> Figures:
        """See Figures."""
        return Figures("all" if self.question.partitioners is None else "chosen", {"keys": self.result.records})

    @property
    def conclusion(self) -> str:
        """How often the partitioners agree, in a sentence."""
        classes, pairs = self.result.classes, self.result.pairs
        count = sum(len(each.names) for each in classes)
        if count < 2:
            return "There is nothing to compare: fewer than two of these partitioners hash such keys."
        if not pairs:
            return f"{counted(count, 'partitioner')}: no two of them put a key on different partitions."
        shares = [pair.agreeing / pair.keys for pair in pairs if pair.keys]
        if not shares:
            return "There is nothing to compare: no record has a key."
        chance = f"two unrelated hash functions agree on {agreement_text(1 / self.question.partitions_count)} by chance"
        if len(pairs) == 1:
            compared, records = pairs[0].keys, self.result.records
            of = f"the {counted(compared, 'record')} compared{f', of {records:,}' if compared < records else ''}"
            names = " and ".join(each.names[0] for each in classes)
            return f"{names} agree on {agreement_text(shares[0])} of {of}; {chance}."
        same = f"{shares.count(1):,} of the {len(shares):,} pairs agree on every record compared"
        return f"{counted(count, 'partitioner')}, {len(classes):,} of them different: {same}; {chance}."


def agreement_text(value: float) -> str:
    """A share: never 100 % of what is not all, nor 0 % of something."""
    return "over 99.99%" if 0.99995 <= value < 1 else "under 0.01%" if 0 < value < 0.00005 else f"{value:.2%}"


def answer(question: ComparisonQuestion, budget: Budget) -> ComparisonAnswer:
    """Compare the partitioners. Raises InvalidQuestion, and what the budget raises."""
    budget.check("max_keys", len(question.keys), "keys", "keys")
    faults = [*faults_of(lambda: chosen(question.partitioners))]
    if faults:
        raise_all((*faults, *faults_of(lambda: key_values.read(question.keys, question.key_format, budget))))
    column, key_format = key_values.read(question.keys, question.key_format, budget)
    partitioners, count = chosen(question.partitioners), question.partitions_count
    result = compare(partitioners, column, key_format, count, question.examples)
    # Two classes each may show the same key.
    shown = Counter(example.row for pair in result.pairs for example in pair.examples)
    texts = sum(times * len(str(key_values.json_value(question.keys, row))) for row, times in shown.items())
    budget.reserve(EXAMPLE_BYTES * shown.total() + TEXT_FACTOR * texts)
    return ComparisonAnswer(question, result)


MOST_EXAMPLES: Final = 100


class PartitionerComparisonsSchema(QuestionSchema):
    """Keys of one topic, and the partitioners to compare."""

    asks = ComparisonQuestion

    kafka_version = KafkaVersion()
    partitioners = Array(
        fields.String(),
        "names of GET /v1/partitioners; default: all",
        validate=validate.Length(min=1),
        example=["java", "librdkafka:consistent_random"],
    )
    partitions_count = Int("the topic's partitions", required=True, minimum=1, example=12)
    key_format = fields.String("as in /v1/partitions; default `string`", validate=validate.OneOf(FORMATS))
    keys = KeyList("null is a record without a key", required=True, example=["order-1"])
    examples = Int("the maximum number of keys shown for each disagreement", minimum=0, maximum=MOST_EXAMPLES, load_default=3)


class ComparedWriterSchema(WriterSchema):
    """Partitioners that put each of these keys on the same partition."""

    distribution = fields.Nested(
        SpreadSchema, "of the records whose partition follows from their key; absent above a million partitions", optional=True
    )


class DisagreementSchema(AnswerSchema):
    """A key that two partitioners put on different partitions."""

    row = fields.Integer("of the key among the keys")
    key = fields.Raw(allow_none=True)
    partition_ids = fields.List(fields.Integer(), "the partition by either, in the order of `partitioners`")


class PairSchema(AnswerSchema):
    """Two writers beside each other."""

    partitioners = fields.List(fields.String(), "the first name of either writer")
    keys = fields.Integer("records whose partition follows from their key in both; a key counts as often as it occurs")
    agreeing_keys = fields.Integer("the number of these records that both put on the same partition")
    agreement = fields.Float("their share; null where there are no such records", allow_none=True)
    disagreements = fields.List(fields.Nested(DisagreementSchema), "the first few")


class PartitionerComparisonsAnswerSchema(AnswerSchema):
    """Which partitioners agree."""

    kafka_version = fields.String()
    conclusion = fields.String("how often they agree, in a sentence")
    partitions_count = fields.Integer()
    keys_count = fields.Integer("records: every key of the request, repeated ones and null included")
    chance_agreement = fields.Float("the agreement expected of two unrelated hashes")
    writers = fields.List(fields.Nested(ComparedWriterSchema), "partitioners that agree on every one of these keys")
    pairs = fields.List(fields.Nested(PairSchema), "each pair of writers")
    not_compared = fields.List(fields.Nested(ExcludedSchema), "partitioners that were not considered")


def document(answer: ComparisonAnswer) -> dict[str, Any]:
    """The answer, as PartitionerComparisonsAnswerSchema has it."""
    question, result = answer.question, answer.result
    spreads = [{} for _ in result.classes] if result.spreads is None else [{"distribution": vars(one)} for one in result.spreads]
    return {
        "kafka_version": question.kafka_version,
        "conclusion": answer.conclusion,
        "partitions_count": question.partitions_count,
        "keys_count": result.records,
        "chance_agreement": 1 / question.partitions_count,
        "writers": [writer_document(writer) | spread for writer, spread in zip(result.classes, spreads, strict=True)],
        "pairs": [
            row
            | {
                "disagreements": [
                    {"row": one.row, "key": json_value(question.keys, one.row), "partition_ids": one.partitions}
                    for one in pair.examples
                ]
            }
            for row, pair in zip(_pairs(answer), result.pairs, strict=True)
        ],
        "not_compared": excluded_documents(result.partitioners),
    }


def table(answer: ComparisonAnswer) -> pa.Table:
    """The pairs."""
    columns = {"partitioner": pa.string(), "other_partitioner": pa.string(), "keys": pa.int64(), "agreeing_keys": pa.int64()}
    rows = [dict(zip(("partitioner", "other_partitioner"), each["partitioners"], strict=True)) | each for each in _pairs(answer)]
    return pa.Table.from_pylist(rows, pa.schema(columns | {"agreement": pa.float64()}))


def _pairs(answer: ComparisonAnswer) -> list[dict[str, Any]]:
    """The pairs without their disagreements."""
    names = [writer.names[0] for writer in answer.result.classes]
    return [
        {
            "partitioners": [names[pair.first], names[pair.second]],
            "keys": pair.keys,
            "agreeing_keys": pair.agreeing,
            "agreement": pair.agreeing / pair.keys if pair.keys else None,
        }
        for pair in answer.result.pairs
    ]


FORM: Final = Form(PartitionerComparisonsSchema(), answer, PartitionerComparisonsAnswerSchema, document, table, read=read_body)

EXAMPLE: Final = {
    "partitioners": ["java", "librdkafka:consistent_random"],
    "partitions_count": 6,
    "keys": ["order-1", "order-2", "order-3"],
}

OPERATION: Final = Operation(
    "comparePartitioners", "partitioner_comparison", "the same keys, different partitioners", EXAMPLE, columns=("keys",)
)
