"""The request of ``/v1/partitioner-comparisons``."""

from dataclasses import dataclass
from typing import Any, Final

from marshmallow import fields, validate

from service.api.fingerprints.partitioner_classes import chosen
from service.core.keys.columns import Column
from service.core.keys.formats import FORMATS
from service.core.partitioners import Partitioner
from service.web import keys
from service.web.blueprint import Parts, QuestionSchema
from service.web.context import check_limit
from service.web.fields import Integer, List, about
from service.web.keys import KeyList
from service.web.schemas import KafkaVersion

MOST_EXAMPLES: Final = 100


@dataclass(frozen=True)
class ComparisonQuestion:
    """The question.

    named : did the request name its partitioners?
    values : the keys as a KeyList has them
    """

    kafka_version: str
    partitioners: list[Partitioner]
    named: bool
    partitions_count: int
    values: Any
    column: Column
    key_format: str
    examples: int


class PartitionerComparisonsSchema(QuestionSchema):
    """Keys of one topic, and the partitioners to compare."""

    kafka_version = KafkaVersion()
    partitioners = List(
        fields.String(),
        validate=validate.Length(min=1),
        metadata=about("names of GET /v1/partitioners; default: all", example=["java", "librdkafka:consistent_random"]),
    )
    partitions_count = Integer(required=True, minimum=1, metadata=about("the topic's partitions", example=12))
    key_format = fields.String(validate=validate.OneOf(FORMATS), metadata=about("as in /v1/partitions; default `string`"))
    keys = KeyList(required=True, metadata=about("null is a record without a key", example=["order-1"]))
    examples = Integer(
        minimum=0, maximum=MOST_EXAMPLES, load_default=3, metadata=about("the maximum number of keys shown for each disagreement")
    )

    def question(self, body: dict[str, Any], **_: Any) -> ComparisonQuestion:
        """The question: its partitioners resolved, its size within the limits, its keys in bytes."""
        partitioners = chosen(body.get("partitioners"))
        column, key_format = _keys(body)
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

    def parts(self) -> Parts:
        """The partitioners; the keys."""
        return (lambda body: chosen(body.get("partitioners")), _keys)


def _keys(body: dict[str, Any]) -> tuple[Column, str]:
    check_limit("max_keys", len(body["keys"]), "keys", "keys")
    return keys.read(body["keys"], body.get("key_format"))
