"""Bodies that are JSON lines: each line is an element of the request's large list, the query's parameters are the rest."""

from typing import Any, Final

import orjson
from flask import Request
from marshmallow import Schema
from werkzeug.exceptions import BadRequest

from service.core.errors import InvalidQuestion
from service.http.arrow.parser import ArrowParser
from service.http.blueprint import query_values
from service.http.bodies import check_json, check_utf8, read_body
from service.http.context import reserve
from service.http.fields import budget
from service.http.json.codec import loads
from service.http.media_types import JSON_LINES

MEDIA_TYPES: Final = (JSON_LINES, "application/jsonl")

LINE_BYTES: Final = 64
"""Memory for each line beside its text: its bytes object, and its places in two lists."""

CHECKED_LINES: Final = 10_000
"""Lines between two checks of the time, where each is read by itself."""


class LinesParser(ArrowParser):
    """The service's parser, which also takes an Arrow stream or JSON lines for one list of the body."""

    media_types = (*ArrowParser.media_types, JSON_LINES)

    def load_json(self, req: Request, schema: Schema) -> Any:
        """The body: JSON, or a stream and the query."""
        if req.mimetype not in MEDIA_TYPES:
            return super().load_json(req, schema)
        values = query_values(req, schema)
        for name in self.members:
            if name in values:
                raise InvalidQuestion(f"Not allowed: the stream has the {name}.", name)
        return values | {self.members[0]: read_lines(read_body(req))}


def read_lines(text: bytes) -> list[Any]:
    """The values of JSON lines; empty lines are skipped. Raises BadRequest with the number of the first line that is not JSON."""
    check_utf8(text)
    reserve(2 * len(text) + LINE_BYTES * text.count(b"\n"))
    lines = [line for line in text.split(b"\n") if line and not line.isspace()]
    joined = b"[%s]" % b",\n".join(lines)
    ends = check_json(joined)
    try:
        values = loads(joined)
    except ValueError:
        values = None
    # Lines that are JSON only together have their ends within a value; a line of several values makes the list longer.
    if isinstance(values, list) and len(values) == len(lines) == ends + 1:
        return values
    return [_value(line, number) for number, line in enumerate(text.split(b"\n"), 1) if line and not line.isspace()]


def _value(line: bytes, number: int) -> Any:
    if number % CHECKED_LINES == 0:
        budget().check_time()
    try:
        return loads(line)
    except ValueError as error:
        reason = error.msg if isinstance(error, orjson.JSONDecodeError) else str(error)
        raise BadRequest(f"Line {number} of the body is not JSON: {reason}") from None
