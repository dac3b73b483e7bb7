"""``POST /v1/decodings``: captured bytes of Kafka's → JSON."""

from flask import Response, request

from service.api.decodings.document import FORM
from service.decisions.decodings import OFFSETS_TOPIC, DecodingQuestion
from service.web.blueprint import Blueprint
from service.web.deciding import decide
from service.web.json.lines import LinesParser
from service.web.media_types import ARROW_STREAM, CSV, JSON, JSON_LINES

blueprint = Blueprint("decodings", __name__, LinesParser("records"), description="captured bytes → JSON")

EXAMPLE = {
    "kind": "subscription",
    "bytes_base64": "AAMAAAABAAVhLjNyOf////8AAAABAAVhLjNyOQAAAAMAAAAAAAAAAgAAApcAAAClAAx6b25lLTIvcm93LTE=",
}


@blueprint.operation("/v1/decodings", FORM, "decode", example=EXAMPLE)
def decode(question: DecodingQuestion) -> Response:
    """Decode captured bytes.

    Many records of one kind are the list `records`, or the body is a stream: JSON lines (`application/x-ndjson`), each like an
    element of `records`, or an Arrow stream with the columns `key` and `value` (binary); the other fields are then query
    parameters. The answer is JSON, or with `Accept` JSON lines, an Arrow stream or CSV; by default a stream is answered by a
    stream. An unreadable record is replaced by its error. The kind `offsets_topic` puts groups together, and
    its answer is always JSON.
    """
    return decide("decoding", FORM, question, *_offered(question))


def _offered(question: DecodingQuestion) -> tuple[str, ...]:
    """The media types of the answer, that of the body first."""
    if question.records is None or question.kind == OFFSETS_TOPIC:
        return (JSON,)
    own = {ARROW_STREAM: ARROW_STREAM, JSON: JSON}.get(request.mimetype, JSON_LINES)
    return (own, *(each for each in (JSON, JSON_LINES, ARROW_STREAM, CSV) if each != own))
