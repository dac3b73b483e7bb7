"""The body of a question about texts that people paste."""

from typing import Any

from marshmallow import Schema, post_load, validate

from service.descriptions.answers import DescriptionsQuestion
from service.web import described as fields
from service.web.fields import Array, Bool

MOST_TEXTS = 100


class DescriptionsSchema(Schema):
    """Texts that describe one cluster."""

    texts = Array(
        fields.String(),
        "what Kafka's tools and others print, snapshots, logs; later texts complete earlier ones",
        required=True,
        validate=validate.Length(min=1, max=MOST_TEXTS),
    )

    @post_load
    def question(self, body: dict[str, Any], **_: Any) -> DescriptionsQuestion:
        """The question."""
        return DescriptionsQuestion(tuple(body["texts"]))


class DescriptionsOptionsSchema(Schema):
    """What is to be answered besides."""

    bodies = Bool("whether to answer request bodies that the texts make, too", load_default=False)
