"""The JSON body of a question that compares partitioners."""

from typing import Final

from marshmallow import fields, validate

from service.core.keys.formats import FORMATS
from service.decisions.comparisons import ComparisonQuestion
from service.web.fields import Integer, List, about
from service.web.keys import KeyList
from service.web.schemas import KafkaVersion, QuestionSchema

MOST_EXAMPLES: Final = 100


class PartitionerComparisonsSchema(QuestionSchema):
    """Keys of one topic, and the partitioners to compare."""

    asks = ComparisonQuestion

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
