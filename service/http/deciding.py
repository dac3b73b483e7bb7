"""From a question to its response, the part of a view that is the same in every family.

The budget of the request, the answer, and its JSON, Arrow stream or CSV, none with Python work per row.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Final, cast
from wsgiref.types import WSGIEnvironment

import pyarrow as pa
from flask import Response, request
from marshmallow import ValidationError
from werkzeug.exceptions import NotAcceptable
from werkzeug.http import parse_options_header

from service.core.budget import Budget, limited
from service.http.application import PROGRESS, Progress, current_request
from service.http.fields import QuerySchema
from service.http.forms import PARAMETER, A, Form, Q, Refused, details_of
from service.http.json.codec import dump_text, joined, without
from service.http.media_types import ARROW_STREAM, CSV, JSON, JSON_LINES
from service.http.problems import of_messages
from service.http.tables import without_formulas, written, written_bytes


def request_budget() -> Budget:
    """What this request may take.

    A body that is read as a stream counts from the start, by its length, which our server knows also if it came in chunks.
    """
    request = current_request()
    environ = request.environ
    progress: Progress = environ[PROGRESS]
    app, limits = progress.app, progress.app.limits
    announced = (request.content_length or 0) if "CONTENT_LENGTH" in environ else 0  # which a GET has not
    return Budget(
        limits,
        partial(app.reserve, environ),
        partial(app.lengthen, environ),
        limits["max_explained"],
        progress.started,
        limits["max_request_seconds"],
        progress.cpu_started,
        max(1.0, progress.sent_bytes / 1_000, announced / 1_000),
    )


def reserve(size: int) -> None:
    """Reserve bytes of memory for this request until its response has been sent. Raises 413 or 503."""
    environ = current_request().environ
    environ[PROGRESS].app.reserve(environ, size)


ESCAPED_CSV = "text/csv; header=present; formulas=escape"

STREAMED_BYTES: Final = 2**24
"""An answer with more bytes of LongTexts is made while it is sent. The server makes the rest of it between two requests, a
millisecond for a block; below this size a thread is faster."""


class WholeResponse(Response):
    """An answer of which all is there, as a list of one piece.

    Werkzeug would copy its headers, to complete a Location that it has not, and wrap its bytes, to encode and to close them.
    """

    def get_wsgi_response(self, environ: WSGIEnvironment) -> tuple[Iterable[bytes], str, list[tuple[str, str]]]:
        """See Werkzeug."""
        if environ["REQUEST_METHOD"] == "HEAD":
            return super().get_wsgi_response(environ)
        (whole,) = pieces = cast("list[bytes]", self.response)
        return pieces, self.status, [*self.headers, ("Content-Length", str(len(whole)))]


def preferred(*offered: str) -> str:
    """The media type that the request's Accept header prefers (RFC 9110, 12.5.1); the first of those offered if it names none.

    offered : default: JSON, ARROW_STREAM, CSV. Raises NotAcceptable if the header excludes the first and accepts no other.
    """
    offered = offered or (JSON, ARROW_STREAM, CSV)
    if current_request().environ.get("HTTP_ACCEPT", "*/*") == "*/*":  # request.headers would be made for this alone
        return offered[0]
    qualities = {media_type: _quality(media_type) for media_type in offered}
    best = max(offered, key=lambda media_type: qualities[media_type] or 0)
    if qualities[best] or qualities[offered[0]] is None:
        return best
    raise NotAcceptable(f"The Accept header excludes all media types of this answer: {', '.join(offered)}.")


def _quality(media_type: str) -> float | None:
    """The quality that the most specific range of the Accept header gives a media type; None if no range covers it."""
    ranges = ("*/*", media_type.partition("/")[0] + "/*", media_type)
    found: tuple[int, float] | None = None
    for value, quality in request.accept_mimetypes:
        name = value.partition(";")[0].strip().lower()  # of "text/csv; charset=utf-8", which is no other type than text/csv
        if name in ranges:
            found = max(found or (0, 0.0), (ranges.index(name), quality))
    return None if found is None else found[1]


def json_response(document: Any) -> Response:
    """A JSON answer; NumPy arrays and LongTexts in it are written as they are.

    The LongTexts of a large answer are made while it is sent, if its size is known; for others memory is reserved.
    """
    text, long_bytes = dump_text(document)
    if text.exact and long_bytes > STREAMED_BYTES:
        return Response(text.pieces, mimetype=JSON, headers={"Content-Length": str(text.size)})
    if long_bytes:
        reserve(long_bytes)
    return in_pieces(list(text.pieces), JSON)


def in_pieces(pieces: list[bytes], media_type: str) -> Response:
    """An answer whose text is in pieces."""
    if len(pieces) == 1:
        return WholeResponse(pieces, mimetype=media_type)
    return Response(_handed_over(pieces), mimetype=media_type, headers={"Content-Length": str(sum(map(len, pieces)))})


def _handed_over(pieces: list[bytes]) -> Iterator[bytes]:
    """The pieces, each of which leaves the list."""
    pieces.reverse()
    while pieces:
        yield pieces.pop()


def table(columns: pa.Table, media_type: str) -> Response:
    """A table as ARROW_STREAM or CSV, for whose text memory is reserved."""
    reserve(written_bytes(columns, media_type))
    if media_type == CSV and _escapes_formulas():
        return in_pieces(written(without_formulas(columns), CSV), ESCAPED_CSV)
    return in_pieces(written(columns, media_type), media_type)


def _escapes_formulas() -> bool:
    """Whether the first of the Accept header's CSV types has the parameter ``formulas=escape``."""
    for value, quality in request.accept_mimetypes:
        media_type, parameters = parse_options_header(value)
        if media_type.lower() == CSV and quality:
            return parameters.get("formulas", "").lower() == "escape"
    return False


def decide(name: str, form: Form[Q, A], question: Q, *offered: str) -> Response:
    """Answer a question in the media type that the client prefers, and measure how.

    name : of the decision in metrics ("assignment")
    offered : media types, as for ``preferred``
    Raises what the form's ``answer`` and the budget raise, and NotAcceptable.
    """
    progress: Progress = current_request().environ[PROGRESS]
    budget = request_budget()
    with limited(budget):
        media_type = preferred(*offered) if form.table is not None else preferred(JSON)
        parsed = time.perf_counter()
        answer = form.answer(question, budget)
        budget.check_time()  # kernels that do not look at the clock may have taken too long
        computed = time.perf_counter()
        figures = answer.figures
        if media_type == JSON:
            document, of_answer = form.document(answer), form if form.of is None else form.of(answer)
            full = PARAMETER in current_request().environ["QUERY_STRING"].split("&")
            response = json_response(document if full else without(details_of(of_answer.answer_schema), document))
        elif form.lines is not None and media_type == JSON_LINES:
            lines = form.lines(answer)
            reserve(lines.size)
            response = in_pieces(list(joined(lines.pieces)), JSON_LINES)
        else:
            response = table(form.columns(answer, media_type), media_type)
    if figures.tag is not None:
        response.set_etag(figures.tag)
    rendered = time.perf_counter()
    phases = ("parse", progress.started, parsed), ("compute", parsed, computed), ("render", computed, rendered)
    progress.app.metrics.answered(name, figures, phases)
    if progress.span is not None:
        for phase in phases:
            progress.span.phase(*phase, figures.strategy)
    if rendered - progress.started > budget.seconds:
        budget.check_time()
    return response


def of_query(name: str, form: Form[Q, A], schema: QuerySchema) -> Callable[[], Response]:
    """A view that answers the question of its query. name : as for ``decide``"""

    def view() -> Response:
        try:
            question = schema.read(current_request().environ.get("QUERY_STRING", ""))
        except ValidationError as error:
            raise Refused(of_messages(error.messages)) from None
        return decide(name, form, question)

    return view
