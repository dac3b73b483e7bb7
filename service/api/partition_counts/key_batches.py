"""Keys with their records and bytes, a batch at a time: from JSON lists, or from an Arrow stream while it arrives."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from io import BufferedReader, RawIOBase
from operator import methodcaller
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from flask import after_this_request
from marshmallow import Schema, ValidationError, fields
from werkzeug.exceptions import BadRequest, HTTPException, RequestEntityTooLarge

from service.arrow.keys import from_arrow
from service.config import environment_name
from service.core.errors import InvalidQuestion, LimitExceeded
from service.web import json_arrays, keys, responses
from service.web.arrow_limits import checked_messages
from service.web.blueprint import Parser
from service.web.bodies import body_pieces
from service.web.context import settings
from service.web.fields import Integer, Number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flask import Request, Response

    from service.core.keys.columns import Column
    from service.core.model import Int64s

COLUMNS: Final = ("key", "records", "bytes")
MOST: Final = 2**53
"""Largest number of records, or bytes, of one row; also JSON's largest exact one."""


@dataclass(frozen=True)
class KeyTable:
    """A batch of keys.

    records, bytes : int64[n], what each stands for; None: one record, bytes not known
    """

    column: Column
    key_format: str
    records: Int64s | None
    bytes: Int64s | None
    rows: int

    def __len__(self) -> int:
        return self.rows


class KeysParser(Parser):
    """The service's parser, which also takes an Arrow stream with everything but the keys in the query."""

    def load_json(self, req: Request, schema: Schema) -> Any:
        """The body: JSON, or an Arrow stream."""
        if req.mimetype != responses.ARROW_STREAM:
            return super().load_json(req, schema)
        given: dict[str, Any] = {}
        for name, values in req.args.lists():
            field = schema.fields.get(name)
            if name in ("keys", "histogram"):
                raise InvalidQuestion("the keys are in the stream", f"/{name}")
            if name in ("partitioners", "partitions_counts"):
                given[name] = [_number(part) if name == "partitions_counts" else part for v in values for part in v.split(",")]
            elif len(values) > 1:
                raise InvalidQuestion("given more than once", f"/{name}")
            else:
                given[name] = _number(values[0]) if isinstance(field, Integer | Number) else values[0]
        return given | {"keys": ArrowBody(req)}


def _number(text: str) -> Any:
    """A query's digits as a number; anything else as it is, for the schema to refuse."""
    digits = text.removeprefix("-")
    if not digits.isascii() or len(digits) > 30 or not digits.replace(".", "", 1).isdigit():
        return text
    return float(text) if "." in digits else int(text)


class ArrowBody:
    """A request's body as an Arrow stream that has not been read yet."""

    def __init__(self, request: Request) -> None:
        self._pieces = body_pieces(request)
        self._limit = request.max_content_length or 0
        after_this_request(self._take_in)

    def _take_in(self, response: Response) -> Response:
        """Take in what has not been read, so that a caller who still sends it can read the answer."""
        with suppress(HTTPException):
            for _ in self._pieces:
                pass
        return response

    def tables(self, key_format: str | None) -> Iterator[KeyTable]:
        """Its batches. Raises BadRequest for what is no Arrow stream, InvalidQuestion for what is wrong with a column."""
        try:
            yield from self._tables(key_format)
        except OverflowError as error:
            raise RequestEntityTooLarge(
                f"A batch of the stream takes {error} bytes; at most {self._limit} are given to one."
            ) from None
        except (pa.ArrowException, OSError, ValueError) as error:
            raise BadRequest(f"The body is no Arrow stream: {error}") from None

    def _tables(self, key_format: str | None) -> Iterator[KeyTable]:
        first = 0
        pieces = checked_messages(self._pieces, self._limit)
        with pa.ipc.open_stream(pa.PythonFile(BufferedReader(Pieces(pieces)), "r")) as stream:
            names = stream.schema.names
            if "key" not in names or not set(names) <= set(COLUMNS) or len(set(names)) < len(names):
                raise InvalidQuestion(f"the stream has the columns {names}; key is wanted, and perhaps records and bytes", "")
            for batch in stream:
                _check_size(first + len(batch), "/key")
                if len(batch):
                    column, own = from_arrow(pa.chunked_array([batch.column("key")]), key_format, "/key/{}")
                    weights = [_weights(batch.column(n), n, first) if n in names else None for n in COLUMNS[1:]]
                    yield KeyTable(column, own, weights[0], weights[1], len(batch))
                first += len(batch)


class Pieces(RawIOBase):
    """Pieces of bytes as a file."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._left = pieces, memoryview(b"")

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer from the next piece; 0 at the end."""
        while not len(self._left):
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._left = memoryview(piece)
        taken = min(len(buffer), len(self._left))
        buffer[:taken] = self._left[:taken]
        self._left = self._left[taken:]
        return taken


def _weights(array: pa.Array, name: str, first: int) -> Int64s:
    """int64[n], a column of records or bytes; first : the number of its first row in the stream."""
    if not pa.types.is_integer(array.type):
        raise InvalidQuestion(f"a column of {array.type} holds no numbers: integers do", f"/{name}")
    if array.null_count:
        raise InvalidQuestion("null is no number", f"/{name}/{first + array.is_null().index(True).as_py()}")
    values = np.array(array.to_numpy(zero_copy_only=False))
    wrong = (values < 0) | (values > MOST)
    if wrong.any():
        i = int(wrong.argmax())
        raise InvalidQuestion(f"{values[i]} is not in [0, 2^53]", f"/{name}/{first + i}")
    return values.astype(np.int64)


def tables_of_keys(values: list[Any], key_format: str) -> Iterator[KeyTable]:
    """A JSON list of keys."""
    _check_size(len(values), "/keys")
    yield KeyTable(keys.from_json(values, key_format, "/keys/{}"), key_format, None, None, len(values))


def tables_of_histogram(columns: dict[str, Any], key_format: str) -> Iterator[KeyTable]:
    """What the field Histogram gives."""
    values = columns["key"]
    _check_size(len(values), "/histogram")
    column = keys.from_json(values, key_format, "/histogram/{}/key")
    yield KeyTable(column, key_format, columns["records"], columns["bytes"], len(values))


def _check_size(rows: int, at: str) -> None:
    if rows > settings().max_keys:
        raise LimitExceeded(environment_name("max_keys"), settings().max_keys, rows, "keys", at)


class KeyList(fields.List[Any]):
    """The keys as they came: what they may be is the key format's to say."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(fields.Raw(allow_none=True), **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        if not isinstance(value, list | ArrowBody):
            raise ValidationError("Not a list.")
        return value


class HistogramRowSchema(Schema):
    """A key and what it stands for."""

    key = fields.Raw(required=True, allow_none=True, metadata={"description": "null: without a key"})
    records = Integer(minimum=0, maximum=MOST, metadata={"description": "default 1; in every row or in none"})
    bytes = Integer(minimum=0, maximum=MOST, metadata={"description": "of all these records; in every row or in none"})


class Histogram(fields.List[Any]):
    """Histogram rows as columns: ``key`` as a list, ``records`` and ``bytes`` as int64[n], or None where no row has them.

    Well-formed rows are read without Python work for each; others by the schema, which names the place.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(fields.Nested(HistogramRowSchema), **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        columns = _in_bulk(value)
        if columns is not None:
            return columns
        rows: Any = super()._deserialize(value, attr, data, **kwargs)
        columns = {"key": [row["key"] for row in rows], "records": None, "bytes": None}
        for name in COLUMNS[1:]:
            present = [name in row for row in rows]
            if any(present) and not all(present):
                raise ValidationError({present.index(False): {name: ["Other rows have it: missing here."]}})
            if any(present):
                columns[name] = np.array([row[name] for row in rows], np.int64)
        return columns


def _in_bulk(rows: Any) -> dict[str, Any] | None:
    """The same without Python work for each row; None unless every row fits to the letter."""
    if type(rows) is not list or set(map(type, rows)) != {dict} or not set(COLUMNS).issuperset(set().union(*rows)):
        return None
    if not all(map(methodcaller("__contains__", "key"), rows)):
        return None
    columns: dict[str, Any] = {"key": list(map(methodcaller("get", "key"), rows)), "records": None, "bytes": None}
    for name in COLUMNS[1:]:
        if not any(map(methodcaller("__contains__", name), rows)):
            continue
        array = json_arrays.read(list(map(methodcaller("get", name), rows)), pa.int64())
        if array is None or array.null_count:
            return None
        columns[name] = np.array(array.to_numpy(zero_copy_only=False))
        if columns[name].min() < 0 or columns[name].max() > MOST:
            return None
    return columns
