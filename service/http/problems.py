"""Errors as problem documents (RFC 9457): one shape for everything that goes wrong, at every door."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from functools import reduce
from operator import getitem
from typing import Any, Final

from marshmallow import Schema
from marshmallow.fields import Nested

from service.core.errors import MAX_ERRORS, AllocatorError, InvalidQuestion, KafkaError, NoPlan, PluginError
from service.core.printable import did_you_mean
from service.http import fields
from service.http.fields import faults_in
from service.wire.errors import Unreadable

TYPE_PREFIX = "urn:partition-allocator:problem:"

LONGEST_TEXT: Final = 5_000
"""Longest text of a problem in characters: one may quote what the caller sent."""


class ErrorAtSchema(Schema):
    """One thing that is wrong with a request, and where."""

    pointer = fields.String(
        'JSON pointer into the body, or "/" and the parameter\'s name', required=True, example="/members/3/member_id"
    )
    detail = fields.String("why the value there is invalid", required=True)


class ClashSchema(Schema):
    """A rule that cannot be kept together with others."""

    rule = fields.String("its name in the request")
    detail = fields.String("the condition that it sets")


class ProblemSchema(Schema):
    """RFC 9457 problem details."""

    type = fields.String("names the kind of problem", required=True, example=TYPE_PREFIX + "invalid-replication-factor")
    title = fields.String(required=True)
    status = fields.Integer(required=True)
    detail = fields.String("what is wrong with this request, and where, as in the first of `errors`", required=True)
    errors = fields.List(fields.Nested(ErrorAtSchema), "the errors of a rejected body, each with its location")
    error = fields.String("Kafka's name of the error, if Kafka itself rejects the request")
    exception = fields.String("the Java class that Kafka throws")
    message = fields.String("Kafka's message", allow_none=True)
    request_id = fields.String("as in the header X-Request-ID, and in the service's log")
    clash = fields.List(
        fields.Nested(ClashSchema),
        "infeasible, not-found: a smallest set of rules that conflict, or that no plan found keeps",
    )
    remedies = fields.List(fields.String(), "infeasible, not-found: changes, each of which makes a plan possible")
    offset = fields.Integer("of bytes that cannot be read: the offset of the first one")
    offsets_formatter = fields.Raw("what OffsetsMessageFormatter gives for a record that cannot be read")
    group_metadata_formatter = fields.Raw("what GroupMetadataMessageFormatter gives for it")
    scala_offsets_formatter = fields.Raw("what 3.9's deprecated OffsetsMessageFormatter in Scala gives for it")
    scala_group_metadata_formatter = fields.Raw("what 3.9's GroupMetadataMessageFormatter in Scala gives for it")
    share_group_formatter = fields.Raw("what ShareGroupMessageFormatter gives for it")
    share_group_state_formatter = fields.Raw("what ShareGroupStateMessageFormatter gives for it")


def kebab(name: str) -> str:
    """``InvalidReplicationFactor`` → ``invalid-replication-factor``, ``PluginBrokeARule`` → ``plugin-broke-a-rule``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name).lower()


def pointer(field: Iterable[str | int]) -> str:
    """The JSON pointer (RFC 6901) of a path of names and rows."""
    return "".join("/" + shortened(str(part)).replace("~", "~0").replace("/", "~1") for part in field)


def shortened(text: str) -> str:
    """The text, or as much of it as a problem may have."""
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}…"


def problem(status: int, kind: str, title: str, detail: str, **members: Any) -> dict[str, Any]:
    """A problem document, whose detail begins with the place of the first of the ``errors``. kind : the last part of its type"""
    place = next((error["pointer"] for error in members.get("errors", ())), "")
    detail = shortened(f"{place}: {detail}" if place else detail)
    return {"type": TYPE_PREFIX + kind, "title": title, "status": status, "detail": detail, **members}


def of_messages(messages: Any) -> dict[str, Any]:
    """The problem of faults as Marshmallow nests them."""
    faults = list(faults_in(messages))
    detail = f"{'' if faults[0].field else 'body: '}{faults[0].detail}{_and_more(faults)}"
    return problem(422, "invalid-request", "The request is not valid", detail, errors=_errors(faults))


def of_allocator_error(error: AllocatorError) -> dict[str, Any]:
    """What the core refuses is a 422 in the core's words; what a plug-in gets wrong is a 500 that names the plug-in."""
    name = type(error).__name__
    if isinstance(error, PluginError):
        return problem(500, kebab(name), "A plug-in failed", str(error))
    members: dict[str, Any] = {}
    title = "The request is well-formed but cannot be answered"
    if isinstance(error, NoPlan):
        members = {"clash": [asdict(each) for each in error.clash], "remedies": error.remedies}
    if isinstance(error, KafkaError):
        title = "Kafka refuses this"
        members = {"error": name, "exception": error.exception, "message": error.message}
        if isinstance(error, Unreadable):
            errors = [{"pointer": pointer([f"{error.part}_base64"]), "detail": str(error)}]
            members |= {"offset": error.offset, "errors": errors, **error.printed}
    elif isinstance(error, InvalidQuestion):
        faults = [error, *error.others]
        return problem(422, kebab(name), title, f"{error}{_and_more(faults)}", errors=_errors(faults))
    return problem(422, kebab(name), title, str(error), **members)


_KINDS: Final = {list: "a list", str: "a string", int: "a number", float: "a number", bool: "a boolean", type(None): "null"}

_MISSING: Final = fields.Field.default_error_messages["required"]


def reword(messages: Any, schema: Schema, body: Any, path: tuple[str | int, ...] = (), left: int = MAX_ERRORS) -> int:
    """Let the messages of a schema name the field that may have been meant by each unknown field, rather one that is missing, and
    what came where an object is needed. The unknown fields of an object come last, by name: Marshmallow has them in the order of
    a set, which is another one in each process.

    path : to what the messages are of, at any depth
    left : most fields to look at, since a search takes a millisecond. Returns what is left of it.
    """
    if not isinstance(messages, dict):
        return left
    if messages.get("_schema") == [schema.error_messages["type"]]:
        kind = type(reduce(getitem, path, body))
        messages["_schema"] = [f"Not an object but {_KINDS.get(kind, kind.__name__)}."]
    unknown = [schema.error_messages["unknown"]]
    missing = [name for name, inner in messages.items() if name in schema.fields and inner == [_MISSING]]
    for name in sorted(name for name, inner in messages.items() if inner == unknown):
        messages[name] = messages.pop(name)
    for name, inner in messages.items():
        if left <= 0:
            break
        field = schema.fields.get(name) if isinstance(name, str) else None
        within = field.inner if isinstance(field, fields.List) else field
        if isinstance(name, int):  # a row of a list
            left = reword(inner, schema, body, (*path, name), left)
        elif field is None and inner == unknown:
            meant = did_you_mean(name, missing, most=1) or did_you_mean(name, schema.fields, most=1)
            messages[name] = [inner[0] + meant]
            left -= 1
        elif isinstance(within, Nested):
            left = reword(inner, within.schema, body, (*path, name), left)
    return left


def _errors(faults: Sequence[InvalidQuestion]) -> list[dict[str, str]]:
    return [{"pointer": pointer(fault.field), "detail": shortened(fault.detail)} for fault in faults[:MAX_ERRORS]]


def _and_more(faults: Sequence[InvalidQuestion]) -> str:
    return f" (and {len(faults) - 1} more)" if faults[1:] else ""
