"""Errors as ``application/problem+json`` (RFC 9457): one shape for everything that goes wrong."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from flask import Response, current_app, request
from marshmallow import Schema, fields
from werkzeug.exceptions import UnprocessableEntity

from service.core.errors import MAX_ERRORS, AllocatorError, Infeasible, InvalidQuestion, KafkaError, PluginError
from service.core.wire.errors import Unreadable
from service.web.fields import about
from service.web.json.codec import dumps
from service.web.middleware import PROGRESS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import werkzeug
    from werkzeug.exceptions import HTTPException

MEDIA_TYPE = "application/problem+json"
TYPE_PREFIX = "urn:partition-allocator:problem:"


class ErrorAtSchema(Schema):
    """One thing that is wrong with a request, and where."""

    pointer = fields.String(
        required=True,
        metadata=about('JSON pointer into the body, or "/" and the parameter\'s name', example="/members/3/member_id"),
    )
    detail = fields.String(required=True, metadata=about("what is wrong there"))


class ClashSchema(Schema):
    """A rule that cannot be kept together with others."""

    rule = fields.String(metadata=about("its name in the request"))
    detail = fields.String(metadata=about("what it demands"))


class ProblemSchema(Schema):
    """RFC 9457 problem details."""

    type = fields.String(
        required=True, metadata=about("names the kind of problem", example=TYPE_PREFIX + "invalid-replication-factor")
    )
    title = fields.String(required=True)
    status = fields.Integer(required=True)
    detail = fields.String(required=True, metadata=about("the fault of this request"))
    errors = fields.List(fields.Nested(ErrorAtSchema), metadata=about("the faults of a rejected body, each with its place"))
    error = fields.String(metadata=about("Kafka's name of the error, if Kafka itself rejects the request"))
    exception = fields.String(metadata=about("the Java class that Kafka throws"))
    message = fields.String(allow_none=True, metadata=about("Kafka's message"))
    request_id = fields.String(metadata=about("as in the header X-Request-ID, and in the service's log"))
    clash = fields.List(fields.Nested(ClashSchema), metadata=about("infeasible: a smallest set of rules that conflict"))
    remedies = fields.List(fields.String(), metadata=about("infeasible: changes, each of which makes a plan possible"))
    offset = fields.Integer(metadata=about("of bytes that cannot be read: the offset of the first one"))
    offsets_formatter = fields.Raw(metadata=about("what OffsetsMessageFormatter gives for a record that cannot be read"))
    group_metadata_formatter = fields.Raw(metadata=about("likewise, of GroupMetadataMessageFormatter"))
    share_group_formatter = fields.Raw(metadata=about("the same of ShareGroupMessageFormatter"))
    share_group_state_formatter = fields.Raw(metadata=about("the same of ShareGroupStateMessageFormatter"))


def kebab(name: str) -> str:
    """``InvalidReplicationFactor`` → ``invalid-replication-factor``, ``PluginBrokeARule`` → ``plugin-broke-a-rule``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name).lower()


def pointer(field: Iterable[str | int]) -> str:
    """The JSON pointer (RFC 6901) of a path of names and rows."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in field)


def invalid(location: str, messages: Any) -> UnprocessableEntity:
    """A 422 for faults as Marshmallow nests them. location : ``json`` or ``query``"""
    error = UnprocessableEntity()
    error.data = {"messages": {location: messages}}  # type: ignore[attr-defined]  # as webargs does
    return error


def problem(status: int, kind: str, title: str, detail: str, **members: Any) -> Response:
    """A problem as a response. kind : the last part of its type."""
    document = {"type": TYPE_PREFIX + kind, "title": title, "status": status, "detail": detail, **members, **_request_id()}
    return Response(dumps(document), status, mimetype=MEDIA_TYPE)


def from_allocator_error(error: AllocatorError) -> Response:
    """What the core refuses is a 422 in the core's words; what a plug-in gets wrong is a 500 that names the plug-in."""
    name = type(error).__name__
    if isinstance(error, PluginError):
        current_app.logger.error("%s: %s", kebab(name), error.plugin, exc_info=error.__cause__, extra=_request_id())
        return problem(500, kebab(name), "A plug-in failed", str(error))
    members: dict[str, Any] = {}
    title = "The request is well-formed but cannot be answered"
    if isinstance(error, Infeasible):
        members = {"clash": [asdict(each) for each in error.clash], "remedies": error.remedies}
    if isinstance(error, KafkaError):
        title = "Kafka refuses this"
        members = {"error": name, "exception": error.exception, "message": error.message}
        if isinstance(error, Unreadable):
            members |= _place(error)
    elif isinstance(error, InvalidQuestion):
        faults = [error, *error.others]
        return problem(422, kebab(name), title, f"{error}{_and_more(faults)}", errors=_errors(faults))
    return problem(422, kebab(name), title, str(error), **members)


def _place(error: Unreadable) -> dict[str, Any]:
    errors = [{"pointer": pointer([f"{error.part}_base64"]), "detail": str(error)}]
    return {"offset": error.offset, "errors": errors, **error.printed}


def from_http_exception(error: HTTPException) -> werkzeug.Response:
    """What Werkzeug and webargs abort with, headers such as ``Allow`` and ``Retry-After`` kept."""
    response = error.get_response()
    status, title = error.code or 500, error.name
    detail = error.description or title
    document: dict[str, Any] = {"type": TYPE_PREFIX + kebab(title.replace(" ", "-")), "title": title, "status": status}
    messages = getattr(error, "data", {}).get("messages")
    if messages is not None:
        # webargs nests a location ("json", "query") around what Marshmallow says of the fields in it.
        faults = [fault for location in messages.values() for fault in faults_in(location)]
        first = faults[0]
        document["type"] = TYPE_PREFIX + "invalid-request"
        document["title"] = "The request is not valid"
        detail = f"{pointer(first.field) or 'body'}: {first.detail}{_and_more(faults)}"
        document["errors"] = _errors(faults)
    document["detail"] = detail
    document |= _request_id()
    response.data = dumps(document)
    response.mimetype = MEDIA_TYPE
    return response


def from_exception(error: Exception) -> Response:
    """What nobody foresaw: logged with its traceback, which the caller never sees."""
    current_app.logger.error("unforeseen error", exc_info=error, extra=_request_id())
    return problem(500, "internal-error", "Internal Server Error", "The service failed; its log says why.")


def faults_in(messages: Any, *field: str | int) -> Iterator[InvalidQuestion]:
    """The faults in Marshmallow's nested messages, which may hold faults with their own path. field : path to the messages"""
    if isinstance(messages, dict):
        for part, inner in messages.items():
            yield from faults_in(inner, *field, *(() if part == "_schema" else (part,)))
    elif isinstance(messages, list):
        for inner in messages:
            yield from faults_in(inner, *field)
    elif isinstance(messages, InvalidQuestion):
        yield messages
    else:
        yield InvalidQuestion(str(messages), *field)


def _errors(faults: list[InvalidQuestion]) -> list[dict[str, str]]:
    return [{"pointer": pointer(fault.field), "detail": fault.detail} for fault in faults[:MAX_ERRORS]]


def _and_more(faults: list[InvalidQuestion]) -> str:
    return f" (and {len(faults) - 1} more)" if faults[1:] else ""


def _request_id() -> dict[str, str]:
    return {"request_id": request.environ[PROGRESS].request_id}
