"""The query of a question about the partition of one key."""

from typing import Any

from service.api.partitions.schema import PartitionsSchema
from service.core.keys.columns import INTEGERS
from service.decisions.keys.values import TEXTUAL
from service.decisions.partitions import PartitionsQuestion
from service.web import described as fields
from service.web.blueprint import QuerySchema
from service.web.fields import INT64, Int, from_query
from service.web.schemas import ExplainSchema


class PartitionQuerySchema(PartitionsSchema, ExplainSchema, QuerySchema):
    """The same for one key, in a query."""

    class Meta:
        """Without the fields that a query cannot hold."""

        fields = ("key", "partitions_count", "partitioner", "key_format", "counter", "random_seed", "topic_name", "explain")

    key = fields.String("absent: a record without a key", example="order-1")
    counter = Int("the round robin's counter; default 0", minimum=-INT64 - 1, maximum=INT64)
    random_seed = Int(
        "seed of java.util.Random; default 0. Neighbouring seeds have similar first draws", minimum=-INT64 - 1, maximum=INT64
    )

    def question(self, body: dict[str, Any], **_: Any) -> PartitionsQuestion:
        """The question."""
        value = _json_value(body.pop("key", None), body.get("key_format", "string"))
        return PartitionsQuestion(keys=[value], **body)


def _json_value(key: str | None, key_format: str) -> Any:
    """A query's text as the JSON value of its format; other text as it is, for the format to refuse."""
    if key is None or key_format in TEXTUAL:
        return key
    if key_format in INTEGERS:
        return from_query(key)
    if key_format == "boolean":
        return {"true": True, "false": False}.get(key, key)
    if key in ("NaN", "Infinity", "-Infinity"):
        return key
    try:
        return float(key) if key.isascii() and "_" not in key else key
    except ValueError:
        return key
