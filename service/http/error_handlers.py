"""Problem documents as HTTP responses, ``application/problem+json``."""

from typing import Any

import werkzeug
from flask import Response, current_app, request
from werkzeug.exceptions import HTTPException, MethodNotAllowed, NotFound, ServiceUnavailable

from service.core.budget import OutOfTime
from service.core.errors import AllocatorError, PluginError
from service.http.application import PROGRESS, RETRY_SECONDS
from service.http.forms import Refused
from service.http.json.codec import dumps
from service.http.memory import Overloaded
from service.http.problems import kebab, of_allocator_error, problem

MEDIA_TYPE = "application/problem+json"


def respond(document: dict[str, Any]) -> Response:
    """A problem document as a response."""
    return Response(dumps(document | _request_id()), document["status"], mimetype=MEDIA_TYPE)


def from_allocator_error(error: AllocatorError) -> werkzeug.Response:
    """A question without an answer."""
    if isinstance(error, OutOfTime):
        return from_http_exception(ServiceUnavailable(str(error), retry_after=int(error.allowed)))
    if isinstance(error, PluginError):
        text = "%s: %s"
        current_app.logger.error(text, kebab(type(error).__name__), error.plugin, exc_info=error.__cause__, extra=_request_id())
    return respond(of_allocator_error(error))


def from_refused(error: Refused) -> Response:
    """A question whose fields are not valid."""
    return respond(error.problem)


def from_overloaded(error: Overloaded) -> werkzeug.Response:
    """A request that is turned away."""
    request.environ[PROGRESS].app.metrics.rejected.labels("full").inc()
    return from_http_exception(ServiceUnavailable(str(error), retry_after=RETRY_SECONDS))


def from_http_exception(error: HTTPException) -> werkzeug.Response:
    """What Werkzeug aborts with, headers such as ``Allow`` and ``Retry-After`` kept."""
    response = error.get_response()
    document = problem(error.code or 500, kebab(error.name.replace(" ", "-")), error.name, _detail(error))
    response.data = dumps(document | _request_id())
    response.mimetype = MEDIA_TYPE
    return response


def _detail(error: HTTPException) -> str:
    """What is wrong; Werkzeug's own sentences about paths and methods are for people who typed a URL into a browser."""
    if isinstance(error, NotFound) and error.description == NotFound.description:
        return "There is no such resource; GET /openapi.yaml lists all."
    if isinstance(error, MethodNotAllowed) and error.valid_methods:
        return f"{request.method} is not allowed here; allowed are {', '.join(sorted(error.valid_methods))}."
    return error.description or error.name


def from_exception(error: Exception) -> Response:
    """An unexpected error: logged with its traceback, which the caller never sees."""
    current_app.logger.error("unforeseen error", exc_info=error, extra=_request_id())
    return respond(problem(500, "internal-error", "Internal Server Error", "The service failed; see its log."))


def _request_id() -> dict[str, str]:
    return {"request_id": request.environ[PROGRESS].request_id}
