"""``POST /v1/decodings``: captured bytes of Kafka's → JSON."""

from flask import Response

from service.api.decodings.request import Capture, CaptureSchema
from service.api.decodings.response import READ, DecodingSchema
from service.web import responses
from service.web.blueprint import Blueprint

blueprint = Blueprint("decodings", __name__, description="captured bytes → JSON")


@blueprint.post("/v1/decodings")
@blueprint.arguments(CaptureSchema)
@blueprint.response(200, DecodingSchema)
@blueprint.doc(operationId="decode")
def decode(capture: Capture) -> Response:
    """Decode captured bytes."""
    return responses.answer({"kafka_version": capture.kafka_version, "kind": capture.kind, **READ[capture.kind](capture)})
