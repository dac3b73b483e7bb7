"""Read what people have at hand of a cluster: the output of Kafka's tools and of many others, snapshots, logs of consumers.

The body is one text (`text/plain`), or JSON with several, of which later ones complete earlier ones: a description of topics, the
racks of brokers, a group with its offsets. `conclusion` says what was understood; what no text tells is absent.
"""

from typing import Any

from flask import Request
from werkzeug.exceptions import BadRequest

from service.api.descriptions.document import FORM
from service.api.descriptions.schema import DescriptionsOptionsSchema
from service.descriptions.pasted import utf8
from service.web.blueprint import Blueprint, Parser
from service.web.bodies import read_body
from service.web.context import reserve

TEXT = "text/plain"


class TextParser(Parser):
    """The service's parser, which also takes a text as it is."""

    media_types = (*Parser.media_types, TEXT)

    def _raw_load_json(self, req: Request) -> Any:
        if req.mimetype != TEXT:
            return super()._raw_load_json(req)
        text = read_body(req)
        reserve(2 * len(text))
        try:
            return {"texts": [utf8(text).decode()]}
        except UnicodeDecodeError as error:
            raise BadRequest(f"The text is not UTF-8 at byte {error.start}: {error.reason}.") from None


blueprint = Blueprint("descriptions", __name__, TextParser(), description="pasted texts → what they describe")

EXAMPLE = {
    "texts": [
        "Topic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\n",
        "broker,rack\n1,a\n2,b\n",
    ]
}

blueprint.decision("/v1/descriptions", FORM, "describe", "description", __doc__, example=EXAMPLE, query=DescriptionsOptionsSchema)
