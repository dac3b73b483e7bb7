"""Identify the partitioners and partition counts that explain the observed partitions of keys.

An unrelated partitioner also explains one record in `partitions_count`. A writer is therefore identified only if chance would
explain as much in fewer than 1 of 1000 such questions, and never by one key. Several writers of one topic are identified with
their shares. Without `partitioners`, those that do not write to Kafka are not considered; if the others leave records
unexplained, every hash is tried with every sign rule, and whole numbers modulo the partition count.

The body may also be an Arrow stream with the columns `key` and `partition_id`, the other fields being query parameters. As
`text/csv` or Arrow the answer is the table of candidates.
"""

import math
from collections.abc import Iterable
from typing import Any, Final

import numpy as np
import pyarrow as pa
from marshmallow import Schema, ValidationError, post_load, validate

from service.core.keys.formats import FORMATS
from service.core.model import Int32s
from service.decisions.fingerprints import DEFAULT_COUNTS, MOST_COUNTS, FingerprintAnswer, FingerprintQuestion, answer
from service.decisions.keys import Stream, json_value
from service.http import fields
from service.http.fields import INT32, Int
from service.http.forms import AnswerSchema, ExplainSchema, Form, KafkaVersion, Operation
from service.http.lists import Array, Columns
from service.planner.attribution import conclusions
from service.planner.attribution.equivalents import UNDECIDED, PartitionerClass, PartitionerClasses
from service.planner.attribution.fingerprints import Candidate, Fingerprint, explain
from service.planner.attribution.mixtures import NEVER, Interval


class WriterSchema(AnswerSchema):
    """Partitioners that no key tells apart."""

    partitioners = fields.List(
        fields.String(),
        "those in use first, and among them the defaults of clients; empty: none in the list has this hash and sign rule",
    )
    hash = fields.String()
    sign_rule = fields.String(example="mask")


class ExcludedSchema(AnswerSchema):
    """A partitioner that says nothing about these keys."""

    partitioner = fields.String()
    reason = fields.String()


def writer_document(each: PartitionerClass) -> dict[str, Any]:
    """A class, as WriterSchema has it."""
    return {"partitioners": each.names, "hash": each.rule.hash.name, "sign_rule": each.rule.sign.name}


def excluded_documents(partitioners: PartitionerClasses) -> list[dict[str, str]]:
    """The partitioners that have no say, as ExcludedSchema has them."""
    ignoring: Iterable[tuple[str, str]] = ((name, "ignores keys") for name in partitioners.ignoring_keys)
    return [{"partitioner": name, "reason": reason} for name, reason in (*ignoring, *partitioners.excluded)]


class ObservationSchema(Schema):
    """An observed record."""

    key = fields.Raw("absent or null: a record without a key", load_default=None)
    partition_id = Int("the partition that it was observed on", required=True, minimum=0)


class Observations(Columns):
    """Observations as columns, also from an Arrow stream."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(ObservationSchema, {"key": None, "partition_id": pa.int32()}, **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        if isinstance(value, Stream):
            table = value.table("key", "partition_id")
            return {"key": table.column("key"), "partition_id": _partition_ids(table.column("partition_id"))}
        return super()._deserialize(value, attr, data, **kwargs)


def _partition_ids(column: pa.ChunkedArray) -> Int32s:
    if not pa.types.is_integer(column.type):
        raise ValidationError(f"A column of {column.type} cannot hold partition ids; use integers.")
    if column.null_count:
        raise ValidationError({column.is_null().index(True).as_py(): {"partition_id": ["Field may not be null."]}})
    partition_ids = np.array(column.to_numpy())
    outside = (partition_ids < 0) | (partition_ids > INT32)
    if outside.any():
        row = int(outside.argmax())
        raise ValidationError({row: {"partition_id": [f"{partition_ids[row]} is not a partition."]}})
    return partition_ids.astype(np.int32)


class PartitionerFingerprintsSchema(Schema):
    """Records that were seen, each with its key and its partition."""

    kafka_version = KafkaVersion()
    observations = Observations(
        required=True, example=[{"key": "order-1", "partition_id": 10}, {"key": "order-2", "partition_id": 6}]
    )
    partitions_count = Int(
        "the topic's partitions when the records were written; absent: unknown", minimum=1, allow_none=True, example=12
    )
    max_partitions_count = Int(
        f"the largest count to try if none is given; default {DEFAULT_COUNTS}, or twice the largest partition",
        minimum=1,
        maximum=MOST_COUNTS,
    )
    key_format = fields.String("as in /v1/partitions; default `string`", validate=validate.OneOf(FORMATS))
    partitioners = Array(fields.String(), "names of GET /v1/partitioners; default: all", validate=validate.Length(min=1))
    schema_ids = Array(
        Int(minimum=0),
        "ids of a schema registry that may stand before the keys, tried where the keys' text explains nothing; default: 0 to 100",
        validate=validate.Length(1, 1000),
    )
    max_candidates = Int("the maximum number of candidates to list", minimum=1, maximum=1000, load_default=20)
    examples = Int("the maximum number of records to show for each writer", minimum=0, maximum=100, load_default=3)

    @post_load
    def question(self, body: dict[str, Any], **_: Any) -> FingerprintQuestion:
        """The question."""
        observations = body.pop("observations")
        return FingerprintQuestion(observations["key"], np.array(observations["partition_id"]), **body)


INTERVAL: Final = (
    "the lower end of the 95% interval of the share in what the writers write, of which the observations are a sample. Keys "
    "count as independent of each other; the records of a key need not be"
)

VERDICTS: Final = ("identified", "mixture", "undecided", "unexplained")


class ExampleSchema(AnswerSchema):
    """A record that was seen."""

    row = fields.Integer("among the observations")
    key = fields.Raw(allow_none=True)
    partition_id = fields.Integer()


class FoundWriterSchema(WriterSchema):
    """A writer whose part is no chance."""

    partitions_count = fields.Integer("with which it explains them: the topic's, or one that the topic had before it grew")
    share = fields.Float("of the observations, by maximum likelihood")
    share_low = fields.Float(INTERVAL)
    share_high = fields.Float("the upper end of that interval")
    pairs_explained = fields.Integer("pairs explained of those that the other writers do not explain")
    pairs_left = fields.Integer("the number of these pairs")
    chance_probability = fields.Float("probability that chance alone explains as many")
    log10_chance = fields.Float("its logarithm, because it may be too small for a number", detail=True)
    examples = fields.List(fields.Nested(ExampleSchema), "the first ones that only this writer explains")


class UnexplainedSchema(AnswerSchema):
    """What no writer that was found explains."""

    share = fields.Float("of the observations; part of them may be explained by chance")
    share_low = fields.Float(INTERVAL)
    share_high = fields.Float("the upper end of that interval")
    pairs = fields.Integer()
    examples = fields.List(fields.Nested(ExampleSchema))


class CandidateSchema(WriterSchema):
    """A writer at a partition count."""

    partitions_count = fields.Integer()
    pairs_explained = fields.Integer()
    pairs = fields.Integer("different pairs whose partition follows from the key")
    chance_probability = fields.Float("probability that chance alone explains as many")
    log10_chance = fields.Float("its logarithm, because it may be too small for a number", detail=True)
    chance_of_any = fields.Float(
        "upper bound of the probability that chance explains the evidence under any hypothesis", detail=True
    )
    ruled_out = fields.Boolean("whether the pairs contradict it")
    more_samples = fields.Integer(
        "the number of further samples, of other keys, that rules it out with a probability of 99% if the first candidate is "
        "right; null if it is ruled out or in the answer, or if no number does (see `inseparable`)",
        allow_none=True,
    )
    inseparable = fields.Boolean("whether it puts every key of this format on the same partition as the first candidate")


class ObservationStepSchema(AnswerSchema):
    """How an observation fits the writers, at the likeliest partition count."""

    partition_id = fields.Integer()
    explained_by = fields.List(fields.String(), "the first name of each writer that puts the key there")
    elsewhere = fields.Dict("where the others put it", keys=fields.String(), values=fields.Integer())


class PartitionerFingerprintsAnswerSchema(AnswerSchema):
    """Who wrote it."""

    kafka_version = fields.String()
    verdict = fields.String(
        "`identified`: one writer explains everything, be it with several partition counts; `mixture`: several do, or one and "
        "chance; `undecided`: more samples are needed; `unexplained`: no partitioner explains more than chance, or those that do "
        "explain less than half",
        validate=validate.OneOf(VERDICTS),
    )
    conclusion = fields.String("the verdict in a sentence")
    partitions_count = fields.Integer("the likeliest count; null if no count is likelier than others", allow_none=True)
    earlier_partitions_counts = fields.List(
        fields.Integer(),
        "those that the topic probably had before it grew, ascending: writers explain records only with these",
    )
    observations_count = fields.Integer()
    pairs_count = fields.Integer("different pairs of key and partition; repeated ones prove nothing more")
    keys_count = fields.Integer("different keys")
    key_transformation = fields.String(
        "as what the keys were hashed, if not as they are given: their text as it is explains nothing", allow_none=True
    )
    hypotheses = fields.Integer("the number of combinations of writer and partition count that were tried")
    more_samples = fields.Integer(
        "the number of further samples, of other keys, that leaves one answer; null if no number does", allow_none=True
    )
    writers = fields.List(fields.Nested(FoundWriterSchema), "the writers, the greatest share first")
    unexplained = fields.Nested(UnexplainedSchema, "null: no writer is identified", allow_none=True)
    candidates = fields.List(
        fields.Nested(CandidateSchema),
        "the likeliest first; where `partitions_count` is not given, those that are not ruled out",
    )
    candidates_count = fields.Integer("the number of candidates that are not ruled out, listed or not")
    not_considered = fields.List(fields.Nested(ExcludedSchema), "partitioners that were not considered")
    explanation = fields.List(
        fields.Nested(ObservationStepSchema), "with `explain=true`, one for each observation", optional=True
    )


def document(answer: FingerprintAnswer) -> dict[str, Any]:
    """The answer, as PartitionerFingerprintsAnswerSchema has it."""
    question, result, observations = answer.question, answer.result, answer.observations

    def examples(rows: tuple[int, ...]) -> list[dict[str, Any]]:
        return [
            {"row": row, "key": json_value(question.keys, row), "partition_id": int(question.partition_ids[row])} for row in rows
        ]

    mixture = result.mixture
    body = {
        "kafka_version": question.kafka_version,
        "verdict": result.verdict,
        "conclusion": answer.conclusion,
        "partitions_count": mixture.partitions_count if result.count_found else None,
        "earlier_partitions_counts": result.earlier_counts,
        "observations_count": len(question.partition_ids),
        "pairs_count": observations.pairs,
        "keys_count": observations.keys,
        "key_transformation": result.transformation,
        "hypotheses": result.hypotheses,
        "more_samples": _samples(result.more_samples),
        "writers": [_component(result, i) | {"examples": examples(rows)} for i, rows in enumerate(result.examples[:-1])],
        "unexplained": {
            **_within(*((mixture.chance_share, result.intervals[-1]) if mixture.unexplained else (0.0, (0.0, 0.0)))),
            "pairs": mixture.unexplained,
            "examples": examples(result.examples[-1]),
        }
        if mixture.components
        else None,
        "candidates": [_candidate(result, candidate) for candidate in result.candidates],
        "candidates_count": result.candidates_count,
        "not_considered": excluded_documents(result.partitioners),
    }
    if question.explain:
        body["explanation"] = _explanation(question.partition_ids, result)
    return body


def _explanation(partition_ids: Int32s, result: Fingerprint) -> list[dict[str, Any]]:
    names = [writer.label for writer in result.partitioners.classes]
    return [
        {
            "partition_id": partition_id,
            "explained_by": [name for name, partition in zip(names, row, strict=True) if partition == partition_id],
            "elsewhere": {
                name: partition for name, partition in zip(names, row, strict=True) if partition not in (partition_id, UNDECIDED)
            },
        }
        for partition_id, row in zip(partition_ids.tolist(), explain(result).T.tolist(), strict=True)
    ]


def _within(part: float, interval: Interval) -> dict[str, float]:
    return {"share": part, "share_low": interval[0], "share_high": interval[1]}


def _component(result: Fingerprint, i: int) -> dict[str, Any]:
    part = result.mixture.components[i]
    return {
        **writer_document(conclusions.class_of(result, i)),
        "partitioners": result.writers[i],
        "partitions_count": result.partitioners.classes[part.class_index].partitions_count or result.mixture.partitions_count,
        **_within(part.share, result.intervals[i]),
        "pairs_explained": part.pairs,
        "pairs_left": part.of,
        "chance_probability": math.exp(part.log_chance),
        "log10_chance": part.log_chance / math.log(10),
    }


def _candidate(result: Fingerprint, candidate: Candidate) -> dict[str, Any]:
    each = result.partitioners.classes[candidate.class_index]
    return {
        **writer_document(each),
        "partitions_count": each.partitions_count or candidate.partitions_count,
        "pairs_explained": candidate.pairs,
        "pairs": candidate.of,
        "chance_probability": math.exp(candidate.log_chance),
        "log10_chance": candidate.log_chance / math.log(10),
        "chance_of_any": min(1.0, math.exp(candidate.log_chance) * result.hypotheses),
        "ruled_out": candidate.ruled_out,
        "more_samples": _samples(candidate.more_samples),
        "inseparable": candidate.more_samples == NEVER,
    }


def _samples(count: int | None) -> int | None:
    return None if count == NEVER else count


def table(answer: FingerprintAnswer) -> pa.Table:
    """The candidates; those of the answer with their shares."""
    result = answer.result
    shares = {
        (part.class_index, result.mixture.partitions_count): _within(part.share, interval)
        for part, interval in zip(result.mixture.components, result.intervals, strict=False)
    }
    rows = [_candidate(result, each) | shares.get((each.class_index, each.partitions_count), {}) for each in result.candidates]
    kinds = {
        **dict.fromkeys(("partitioners", "hash", "sign_rule"), pa.string()),
        **dict.fromkeys(("partitions_count", "pairs_explained", "pairs", "more_samples"), pa.int64()),
        **dict.fromkeys(
            ("chance_probability", "log10_chance", "chance_of_any", "share", "share_low", "share_high"), pa.float64()
        ),
        "ruled_out": pa.bool_(),
    }
    return pa.Table.from_pylist([row | {"partitioners": " ".join(row["partitioners"])} for row in rows], pa.schema(kinds))


FORM: Final = Form(
    PartitionerFingerprintsSchema(), answer, PartitionerFingerprintsAnswerSchema, document, table, stream="observations"
)

EXAMPLE: Final = {
    "partitions_count": 6,
    "observations": [{"key": "order-1", "partition_id": 4}, {"key": "order-2", "partition_id": 3}],
}

OPERATION: Final = Operation(
    "fingerprintPartitioners",
    "partitioner_fingerprint",
    "keys and partitions → which partitioner",
    EXAMPLE,
    query=ExplainSchema,
    columns=("observations",),
)
