"""The JSON body of a question that compares partitioners."""

from typing import Final

from marshmallow import validate

from service.core.keys.formats import FORMATS
from service.decisions.comparisons import ComparisonQuestion
from service.web import described as fields
from service.web.fields import Array, Int
from service.web.keys import KeyList
from service.web.schemas import KafkaVersion, QuestionSchema

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
