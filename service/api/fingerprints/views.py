"""``/v1/partitioner-fingerprints``: which partitioner wrote this, and to how many partitions."""

from __future__ import annotations

from dataclasses import dataclass
from operator import methodcaller
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from marshmallow import Schema, ValidationError, fields, post_load, validate

from service.api.fingerprints.partitioner_classes import chosen
from service.api.fingerprints.response import PartitionerFingerprintsAnswerSchema, document, table
from service.config import environment_name
from service.core.attribution.equivalents import UNDECIDED
from service.core.attribution.fingerprints import explain, fingerprint
from service.core.attribution.observations import observe
from service.core.errors import InvalidQuestion, LimitExceeded
from service.core.keys.columns import FORMATS
from service.web import json_arrays, keys, responses
from service.web.arrow_parser import StreamParser
from service.web.blueprint import Blueprint
from service.web.context import decision, settings
from service.web.fields import Integer, about
from service.web.schemas import ExplainSchema, KafkaVersion

if TYPE_CHECKING:
    from flask import Response

    from service.core.keys.columns import Column
    from service.core.model import Int32s
    from service.core.partitioners import Partitioner

MOST_COUNTS: Final = 100_000
"""Most partitions that are tried where the count is not given."""

DEFAULT_COUNTS: Final = 4_096
"""As many are tried at least, if the caller does not say how many."""


class FingerprintsBlueprint(Blueprint):
    """The resource, which also takes an Arrow stream."""

    ARGUMENTS_PARSER = StreamParser("observations", "key", "partition_id")


blueprint = FingerprintsBlueprint("partitioner-fingerprints", __name__, description="keys and partitions → which partitioner")


class ObservationSchema(Schema):
    """A record that was seen."""

    key = fields.Raw(allow_none=True, load_default=None, metadata={"description": "absent or null: a record without a key"})
    partition_id = Integer(required=True, minimum=0, metadata=about("the partition that it was seen on"))


@dataclass(frozen=True)
class Seen:
    """Observations as columns. values : the keys as they came; partition_ids : int32[n]"""

    values: Any
    partition_ids: Int32s


class ObservationList(fields.List[Any]):
    """Observations as columns. Well-formed ones are read without Python work for each, faulty ones by the schema."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(fields.Nested(ObservationSchema), **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        if isinstance(value, pa.Table):
            return Seen(value.column("key"), _partition_ids(value.column("partition_id")))
        if type(value) is list and set(map(type, value)) == {dict} and {"key", "partition_id"}.issuperset(set().union(*value)):
            array = json_arrays.read(list(map(methodcaller("get", "partition_id"), value)), pa.int32())
            if array is not None and not array.null_count:
                partition_ids = np.array(array.to_numpy(zero_copy_only=False))
                if partition_ids.min() >= 0:
                    return Seen(list(map(methodcaller("get", "key"), value)), partition_ids)
        rows: Any = super()._deserialize(value, attr, data, **kwargs)
        return Seen([row["key"] for row in rows], np.array([row["partition_id"] for row in rows], np.int32))


def _partition_ids(column: pa.ChunkedArray) -> Int32s:
    if not pa.types.is_integer(column.type):
        raise ValidationError(f"A column of {column.type} holds no partition ids.")
    if column.null_count:
        raise ValidationError("Every observation has a partition_id.")
    try:
        partition_ids = np.array(column.cast(pa.int32()).to_numpy())
    except pa.ArrowException as error:
        raise ValidationError(f"{error}") from None
    if (partition_ids < 0).any():
        raise ValidationError(f"{partition_ids.min()} is no partition.")
    return partition_ids


@dataclass(frozen=True)
class FingerprintQuestion:
    """The question. partitions_counts : those that are possible"""

    kafka_version: str
    partitioners: list[Partitioner]
    named: bool
    seen: Seen
    column: Column
    key_format: str
    partitions_counts: range
    max_candidates: int
    examples: int


class PartitionerFingerprintsSchema(Schema):
    """Records that were seen, each with its key and its partition."""

    kafka_version = KafkaVersion()
    observations = ObservationList(
        required=True,
        metadata={"example": [{"key": "order-1", "partition_id": 10}, {"key": "order-2", "partition_id": 6}]},
    )
    partitions_count = Integer(
        minimum=1,
        allow_none=True,
        metadata=about("the topic's partitions when the records were written; absent: to be found", example=12),
    )
    max_partitions_count = Integer(
        minimum=1,
        maximum=MOST_COUNTS,
        metadata=about(
            f"the largest that is tried where the count is not given; default {DEFAULT_COUNTS}, or twice the largest partition"
        ),
    )
    key_format = fields.String(validate=validate.OneOf(FORMATS), metadata=about("as in /v1/partitions; default `string`"))
    partitioners = fields.List(
        fields.String(), validate=validate.Length(min=1), metadata=about("names of GET /v1/partitioners; default: all")
    )
    max_candidates = Integer(minimum=1, maximum=1000, load_default=20, metadata=about("most candidates that are listed"))
    examples = Integer(minimum=0, maximum=100, load_default=3, metadata=about("most records that are shown of each writer"))

    @post_load
    def ask(self, body: dict[str, Any], **_: Any) -> FingerprintQuestion:
        """The question, its strategies looked up, its size within the limits, its keys in bytes."""
        seen: Seen = body["observations"]
        if not len(seen.partition_ids):
            raise InvalidQuestion("there are no observations", "/observations")
        keys.check_limit(len(seen.partition_ids), "/observations")
        column, key_format = keys.read(seen.values, body.get("key_format"), "/observations/{}/key")
        return FingerprintQuestion(
            kafka_version=body["kafka_version"],
            partitioners=chosen(body.get("partitioners")),
            named="partitioners" in body,
            seen=seen,
            column=column,
            key_format=key_format,
            partitions_counts=_possible(body, seen.partition_ids),
            max_candidates=body["max_candidates"],
            examples=body["examples"],
        )


def _possible(body: dict[str, Any], partition_ids: Int32s) -> range:
    """The partition counts that the request and the observations leave possible."""
    row = int(partition_ids.argmax())
    least = int(partition_ids[row]) + 1
    given = body.get("partitions_count")
    if given is not None:
        if "max_partitions_count" in body:
            raise InvalidQuestion("the partitions_count is given", "/max_partitions_count")
        if least > given:
            raise InvalidQuestion(f"partition {least - 1} is not in [0, {given})", f"/observations/{row}/partition_id")
        return range(given, given + 1)
    most = body.get("max_partitions_count", min(max(DEFAULT_COUNTS, 2 * least), MOST_COUNTS))
    if least > most:
        raise InvalidQuestion(f"partition {least - 1} was seen, so that at most {most} is not possible", "/max_partitions_count")
    return range(least, most + 1)


@blueprint.post("/v1/partitioner-fingerprints")
@blueprint.arguments(PartitionerFingerprintsSchema)
@blueprint.arguments(ExplainSchema, location="query")
@blueprint.response(200, PartitionerFingerprintsAnswerSchema)
@blueprint.doc(operationId="fingerprintPartitioners")
def fingerprint_partitioners(question: FingerprintQuestion, query: dict[str, bool]) -> Response:
    """Say which partitioners, and which partition counts, explain where keys were seen.

    A partitioner that had nothing to do with it still explains one record in `partitions_count`; a writer is said to be found
    only where chance would explain as much in less than 1 of 1000 such questions, and never by one key. Several writers of one
    topic are found with their shares. The body may also be an Arrow stream with the columns `key` and `partition_id`, the other
    fields being query parameters. As `text/csv` or Arrow the answer is the table of candidates.
    """
    explained = query["explain"]
    observed = len(question.seen.partition_ids)
    if explained and observed > settings().max_explained:
        limit = environment_name("max_explained")
        raise LimitExceeded(limit, settings().max_explained, observed, "observations to be explained", "/explain")
    report = decision("partitioner_fingerprint", "chosen" if question.named else "all")
    with report.compute():
        observations = observe(question.column, question.key_format, question.seen.partition_ids)
        result = fingerprint(
            question.partitioners, observations, question.partitions_counts, question.max_candidates, question.examples
        )
    report.sees(keys=observed)
    with report.render():
        media_type = responses.wanted()
        if media_type != responses.JSON:
            return responses.table(table(result), media_type)
        answer = {"kafka_version": question.kafka_version, **document(result, observations, question.seen.values)}
        if explained:
            names = [each.names[0] for each in result.partitioners.classes]
            partitions = explain(result, observations)
            answer["explanation"] = [
                {
                    "partition_id": partition_id,
                    "explained_by": [name for name, partition in zip(names, row, strict=True) if partition == partition_id],
                    "elsewhere": {
                        name: partition
                        for name, partition in zip(names, row, strict=True)
                        if partition not in (partition_id, UNDECIDED)
                    },
                }
                for partition_id, row in zip(question.seen.partition_ids.tolist(), partitions.T.tolist(), strict=True)
            ]
        return responses.answer(answer)
