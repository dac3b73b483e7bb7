"""``POST /v1/decodings``: captured bytes of Kafka's → JSON."""

from flask import Response, request

from service.api.decodings import records
from service.api.decodings.request import OFFSETS_TOPIC, Capture, Captures, CaptureSchema
from service.api.decodings.response import READ, DecodingSchema
from service.web import responses
from service.web.blueprint import Blueprint
from service.web.context import decision, reserve
from service.web.json.codec import dump_pieces
from service.web.json.lines import JSON_LINES, LinesParser
from service.web.tables import ARROW_STREAM, CSV, JSON

blueprint = Blueprint("decodings", __name__, LinesParser("records"), description="captured bytes → JSON")

EXAMPLE = {
    "kind": "subscription",
    "bytes_base64": "AAMAAAABAAVhLjNyOf////8AAAABAAVhLjNyOQAAAAMAAAAAAAAAAgAAApcAAAClAAx6b25lLTIvcm93LTE=",
}
"""A body for the reference page."""


@blueprint.post("/v1/decodings")
@blueprint.arguments(CaptureSchema, example=EXAMPLE)
@blueprint.response(200, DecodingSchema)
@blueprint.doc(operationId="decode")
def decode(capture: Capture | Captures) -> Response:
    """Decode captured bytes.

    Many records of one kind are the list `records`, or the body is a stream: JSON lines (`application/x-ndjson`), each like an
    element of `records`, or an Arrow stream with the columns `key` and `value` (binary); the other fields are then query
    parameters. The answer is JSON, or with `Accept` JSON lines, an Arrow stream or CSV; by default a stream is answered by a
    stream. A record that cannot be read has its error in its place. The kind `offsets_topic` puts groups together, and
    its answer is always JSON.
    """
    if isinstance(capture, Captures):
        return _decode_records(capture)
    return responses.json_only({"kafka_version": capture.kafka_version, "kind": capture.kind, **READ[capture.kind](capture)})


def _decode_records(captures: Captures) -> Response:
    report = decision("decoding", captures.kind)
    head = {"kafka_version": captures.kafka_version, "kind": captures.kind}
    media_type = JSON if captures.kind == OFFSETS_TOPIC else _media_type()
    report.sees(records=len(captures.keys))
    with report.render():
        if captures.kind == OFFSETS_TOPIC:
            return responses.json_only(head | records.groups_document(captures))
        if media_type == JSON:
            return responses.answer(head | records.document(captures))
        if media_type == JSON_LINES:
            return responses.in_pieces(dump_pieces(records.json_lines(captures), reserve), JSON_LINES)
        return responses.table(records.table(captures), media_type)


def _media_type() -> str:
    """The answer's: what the caller prefers; by default that of the body."""
    own = {ARROW_STREAM: ARROW_STREAM, JSON: JSON}.get(request.mimetype, JSON_LINES)
    return responses.preferred(own, *(each for each in (JSON, JSON_LINES, ARROW_STREAM, CSV) if each != own))
