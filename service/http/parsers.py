"""Bodies that are an Arrow stream or JSON lines: the request's large list. The query's parameters are the rest."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Final

import orjson
import pyarrow as pa
from flask import Request
from marshmallow import Schema
from werkzeug.exceptions import BadRequest, HTTPException, RequestEntityTooLarge

from service.core.budget import check_time
from service.core.errors import InvalidQuestion
from service.http.application import PROGRESS
from service.http.blueprint import Parser
from service.http.bodies import body_pieces, check_arrow, check_json, check_utf8, checked_messages, read_body
from service.http.deciding import request_budget, reserve
from service.http.fields import query_values
from service.http.json.codec import loads
from service.http.media_types import ARROW_STREAM, JSON, JSON_LINES


class StreamParser(Parser):
    """The service's parser, which also takes an Arrow stream, or JSON lines, for one list of the body.

    members : the members of the JSON body that a stream replaces; the field of the first is given the ArrowBody, or the values
    lines : whether it takes JSON lines
    """

    def __init__(self, *members: str, read_json: Callable[[bytes], Any], lines: bool) -> None:
        super().__init__(read_json)
        self.members, self.lines = members, lines
        self.media_types = (JSON, ARROW_STREAM, JSON_LINES) if lines else (JSON, ARROW_STREAM)

    def load_json(self, req: Request, schema: Schema) -> Any:
        """The body: JSON, or a stream and the query."""
        is_arrow = req.mimetype == ARROW_STREAM
        if not is_arrow and not (self.lines and req.mimetype in MEDIA_TYPES):
            return super().load_json(req, schema)
        values = query_values(req.environ.get("QUERY_STRING", ""), schema)
        for name in self.members:
            if name in values:
                raise InvalidQuestion(f"Not allowed: the stream has the {name}.", name)
        if is_arrow:
            values.pop("explain", None)  # of the query's own schema
        return values | {self.members[0]: ArrowBody(req) if is_arrow else read_lines(read_body(req))}

    def load_querystring(self, req: Request, schema: Schema) -> Any:
        """The query; beside a stream, only the parameters of its own schema."""
        values = super().load_querystring(req, schema)
        return values if req.is_json else {name: value for name, value in values.items() if name in schema.fields}


class ArrowBody:
    """A request's body as an Arrow stream that has not been read yet. It is read once: whole, or batch by batch."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._pieces = body_pieces(request)
        self._limit = request.max_content_length or 0
        request.environ[PROGRESS].end_body = self._read_rest

    def _read_rest(self) -> None:
        """Read what has not been read, so that a caller who still sends it can read the answer."""
        with suppress(HTTPException):
            for _ in self._pieces:
                pass

    def table(self, *columns: str) -> pa.Table:
        """All of it, as a table of exactly these columns. Raises BadRequest, RequestEntityTooLarge, InvalidQuestion."""
        self._pieces = iter(())
        body = read_body(self._request)
        check_arrow(body, self._limit)
        try:
            source = pa.BufferReader(body)
            with pa.ipc.open_stream(source) as stream:
                _check_columns(stream.schema, columns, ())
                table = stream.read_all()
            table.validate()  # the lengths of buffers; the columns of keys are checked in full
            _check_end(source.read(1))
        except (pa.ArrowException, OSError, ValueError) as error:
            raise BadRequest(f"The body is not an Arrow stream: {error}") from None
        return table

    def batches(self, columns: tuple[str, ...], optional: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        """Its batches, while it arrives, with these columns and perhaps the optional ones. Raises the same errors."""
        budget = request_budget()
        check_time, reserve_largest = budget.check_time, budget.reserve_largest()

        def reserve(size: int) -> None:
            check_time()
            reserve_largest(size)

        try:
            source = Pieces(checked_messages(self._pieces, self._limit, reserve))
            with pa.ipc.open_stream(pa.PythonFile(source, "r")) as stream:
                _check_columns(stream.schema, columns, optional)
                for batch in stream:
                    batch.validate()  # the lengths of buffers; the column of keys is checked in full
                    yield batch
                _check_end(source.read(1))
        except OverflowError as error:
            raise RequestEntityTooLarge(
                f"A batch of the stream takes {error} bytes; at most {self._limit} are allowed."
            ) from None
        except (pa.ArrowException, OSError, ValueError) as error:
            raise BadRequest(f"The body is not an Arrow stream: {error}") from None


def _check_columns(schema: pa.Schema, columns: tuple[str, ...], optional: tuple[str, ...]) -> None:
    try:
        names = schema.names
    except UnicodeDecodeError as error:
        raise BadRequest(f"The body is not an Arrow stream: the name of a column is not UTF-8: {error.object!r}.") from None
    if len(set(names)) == len(names) and set(columns) <= set(names) <= {*columns, *optional}:
        return
    expected = " and ".join(columns) + "".join(f", optionally {name}" for name in optional)
    raise InvalidQuestion(f"The stream has the columns {names}, expected {expected}.")


def _check_end(rest: bytes) -> None:
    """Raise ValueError if bytes follow the end of a stream: Arrow leaves them unread, even if they are another stream."""
    if rest:
        raise ValueError("more bytes follow its end")


class Pieces:
    """Pieces of bytes as a file, whose buffers are not copied."""

    closed = False

    def __init__(self, pieces: Iterator[bytes | bytearray]) -> None:
        self._pieces, self._left = pieces, pa.py_buffer(b"")

    def read_buffer(self, size: int) -> pa.Buffer:
        """At most so many bytes of the next piece; none at the end."""
        while not self._left.size and (piece := next(self._pieces, None)) is not None:
            self._left = pa.py_buffer(piece)
        size = min(size, self._left.size)
        taken, self._left = self._left.slice(0, size), self._left.slice(size)
        return taken

    def read(self, size: int) -> bytes:
        """The same, as bytes."""
        taken: bytes = self.read_buffer(size).to_pybytes()
        return taken


MEDIA_TYPES: Final = (JSON_LINES, "application/jsonl")

LINE_BYTES: Final = 64
"""Memory for each line beside its text: its bytes object, and its places in two lists."""

CHECKED_LINES: Final = 10_000
"""Lines between two checks of the time, where each is read by itself."""


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
        check_time()
    try:
        return loads(line)
    except ValueError as error:
        reason = error.msg if isinstance(error, orjson.JSONDecodeError) else str(error)
        raise BadRequest(f"Line {number} of the body is not JSON: {reason}") from None
