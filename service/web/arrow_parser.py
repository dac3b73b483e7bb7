"""Bodies that are an Arrow stream: its columns are the question's large part, the query's parameters the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
from marshmallow import fields
from werkzeug.exceptions import BadRequest

from service.core.errors import InvalidQuestion
from service.web.blueprint import Parser
from service.web.bodies import check_arrow, read_body
from service.web.fields import Integer
from service.web.responses import ARROW_STREAM

if TYPE_CHECKING:
    from flask import Request
    from marshmallow import Schema


class StreamParser(Parser):
    """The service's parser, which also takes an Arrow stream.

    member : what the columns are in the JSON body; its schema field is given the pa.Table
    columns : those that the stream has to have
    """

    def __init__(self, member: str, *columns: str) -> None:
        super().__init__()
        self.member, self.columns = member, columns

    def load_json(self, req: Request, schema: Schema) -> Any:
        """The body: JSON, or an Arrow stream."""
        if req.mimetype != ARROW_STREAM:
            return super().load_json(req, schema)
        given: dict[str, Any] = {}
        for name, value in super().load_querystring(req, schema).items() if req.args else ():
            if name == self.member:
                raise InvalidQuestion(f"the {name} are in the stream", f"/{name}")
            if name != "explain":
                given[name] = _typed(value, schema.fields.get(name))
        body = read_body(req)
        check_arrow(body, req.max_content_length or 0)
        return given | {self.member: self._table(body)}

    def load_querystring(self, req: Request, schema: Schema) -> Any:
        """The query; beside an Arrow stream, what of it is not the question's."""
        given = super().load_querystring(req, schema)
        if req.mimetype == ARROW_STREAM and isinstance(given, dict):
            return {name: value for name, value in given.items() if name == "explain"}
        return given

    def _table(self, body: bytes) -> pa.Table:
        try:
            with pa.ipc.open_stream(body) as stream:
                table = stream.read_all()
        except (pa.ArrowException, OSError) as error:
            raise BadRequest(f"The body is no Arrow stream: {error}") from None
        if sorted(table.column_names) != sorted(self.columns):
            wanted = "one is wanted" if len(self.columns) == 1 else f"{len(self.columns)} are wanted"
            raise InvalidQuestion(f"the stream has the columns {table.column_names}; {wanted}, {' and '.join(self.columns)}", "")
        return table


def _typed(value: Any, field: Any) -> Any:
    """A query's text as what its field takes; where it is none, as it is, for the schema to refuse."""
    if isinstance(field, Integer):
        return integer_or(value)
    if isinstance(field, fields.List) and isinstance(value, str):
        return [_typed(item, field.inner) for item in value.split(",")]
    return value


def integer_or(value: Any) -> Any:
    """A query's digits as an integer; anything else as it is."""
    digits = value.removeprefix("-") if isinstance(value, str) else ""
    return int(value) if digits.isascii() and digits.isdigit() and len(digits) <= 19 else value
