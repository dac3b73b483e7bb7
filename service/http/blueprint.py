"""HTTP only: what flask-smorest needs to speak the contract of ``openapi.yaml``.

``service.api.views`` makes a resource of each family's form.
"""

from __future__ import annotations

import http
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias, cast

import flask_smorest
from apispec.ext.marshmallow import MarshmallowPlugin
from flask_smorest.utils import prepare_response, resolve_schema_instance
from marshmallow import RAISE, Schema, ValidationError
from webargs.flaskparser import FlaskParser
from werkzeug.exceptions import BadRequest, HTTPException, UnsupportedMediaType

from service import __version__
from service.core.budget import limited
from service.core.errors import AllocatorError
from service.http import error_handlers, problems
from service.http.authenticator import security_scheme
from service.http.bodies import check_json, read_body
from service.http.deciding import decide, of_query, request_budget
from service.http.fields import INT32, INT64, QuerySchema, query_values
from service.http.forms import Refused
from service.http.json.codec import loads
from service.http.media_types import JSON
from service.http.memory import Overloaded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from apispec import APISpec
    from apispec.ext.marshmallow.openapi import OpenAPIConverter
    from flask import Flask, Request, Response

    from service.http.forms import Form, Operation

Offered: TypeAlias = "Callable[[Any], Iterable[str]]"

INT32_NAMES: Final = frozenset(
    (
        *("broker_id", "broker_ids", "broker_list", "generation_id", "leader", "partition", "partition_id", "partition_ids"),
        *("partitions", "partitions_count", "replicas"),
    )
)
"""Fields of answers that Kafka's protocol has as INT32, too; without bounds, since answers are not validated."""


class Parser(FlaskParser):
    """webargs, with our JSON and the contract's 400 and 415. media_types : of the bodies that it reads"""

    media_types: tuple[str, ...] = (JSON,)
    DEFAULT_UNKNOWN_BY_LOCATION = {**FlaskParser.DEFAULT_UNKNOWN_BY_LOCATION, "query": RAISE, "json": RAISE}  # noqa: RUF012

    def __init__(self, read_json: Callable[[bytes], Any] = loads) -> None:
        """read_json : the value of a JSON text; raises ValueError for what is not JSON"""
        super().__init__()
        self.read_json = read_json

    def _raw_load_json(self, req: Request) -> Any:
        if not req.is_json:
            given = f", not {req.mimetype}" if req.mimetype else ""
            raise UnsupportedMediaType(f"Content-Type must be {' or '.join(self.media_types)}{given}.")
        body = read_body(req)
        check_json(body)
        try:
            return self.read_json(body)
        except ValueError as error:
            raise BadRequest(f"The body is not JSON: {error}") from None

    def parse(self, *args: Any, **kwargs: Any) -> Any:
        """As webargs', within the limits of the request: fields with long lists look at its time."""
        with limited(request_budget()):
            return super().parse(*args, **kwargs)

    def handle_error(self, error: ValidationError, req: Request, schema: Schema, **kwargs: Any) -> NoReturn:
        """Raise the 422, in the contract's words."""
        (messages,) = error.messages_dict.values()  # of the location, query or json
        problems.reword(messages, schema, error.data)
        raise Refused(problems.of_messages(messages)) from None

    def load_querystring(self, req: Request, schema: Any) -> Any:
        """The query's parameters."""
        return query_values(req.environ.get("QUERY_STRING", ""), schema)


class Blueprint(flask_smorest.Blueprint):
    """A resource. parser : of its bodies; default: JSON only"""

    ARGUMENTS_PARSER = Parser()

    def __init__(self, name: str, import_name: str, parser: Parser | None = None, **kwargs: Any) -> None:
        super().__init__(name, import_name, **kwargs)
        if parser is not None:
            self.ARGUMENTS_PARSER = parser

    def response(self, *args: Any, **kwargs: Any) -> Any:
        """As flask-smorest's, which documents the answer; views render it themselves."""
        return _leaving_view(super().response(*args, **kwargs))

    @staticmethod
    def doc(**kwargs: Any) -> Any:
        """As flask-smorest's."""
        return _leaving_view(flask_smorest.Blueprint.doc(**kwargs))

    def arguments(self, schema: Any, **kwargs: Any) -> Any:
        """As flask-smorest's, but with one instance of the schema for all requests: making one takes half a millisecond."""
        return super().arguments(resolve_schema_instance(schema), **kwargs)

    def decision(
        self, path: str, form: Form[Any, Any], operation: Operation, about: str | None, offered: Offered | None = None
    ) -> None:
        """A POST that answers the question of its body as ``decide`` does.

        about : the operation, in Markdown; offered : media types of the answer to a question, if not those of ``preferred``
        """

        def view(question: Any, parameters: dict[str, Any]) -> Response:
            # The body may ask a question of another family, which lacks a parameter.
            question = replace(question, **{name: value for name, value in parameters.items() if hasattr(question, name)})
            return decide(operation.metric, form, question, *(offered(question) if offered else ()))

        view.__name__, view.__doc__ = operation.name, about
        asked = self.arguments(operation.query, location="query")(view)
        documented = self.doc(operationId=operation.name)(self.response(200, form.answer_schema)(asked))
        self.post(path)(self.arguments(form.schema, example=operation.example)(documented))

    def lookup(self, path: str, form: Form[Any, Any], operation: Operation, name: str, schema: QuerySchema, about: str) -> None:
        """A GET that answers the question of its query as ``decide`` does.

        operation : the POST of the family; name : the operationId; about : the operation, in Markdown
        """
        view = of_query(operation.metric, form, schema)
        view.__name__, view.__doc__ = name, about
        documented = self.doc(operationId=name)(self.response(200, form.answer_schema)(view))
        self.get(path)(_leaving_view(self.arguments(schema, location="query"))(documented))


def _leaving_view(decorator: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator of flask-smorest that documents the view without a wrapper: each takes 2 µs of every request."""

    def decorate(view: Any) -> Any:
        view._apidoc = decorator(view)._apidoc  # noqa: SLF001 - where flask-smorest's decorators have it
        return view

    return decorate


class Api(flask_smorest.Api):
    """flask-smorest with problem+json as its errors, in the answers and in ``openapi.yaml``."""

    ERROR_SCHEMA = problems.ProblemSchema

    def _register_error_handlers(self) -> None:
        app = cast("Flask", self._app)
        app.register_error_handler(HTTPException, error_handlers.from_http_exception)
        app.register_error_handler(AllocatorError, error_handlers.from_allocator_error)
        app.register_error_handler(Refused, error_handlers.from_refused)
        app.register_error_handler(Overloaded, error_handlers.from_overloaded)
        app.register_error_handler(Exception, error_handlers.from_exception)

    def _register_responses(self) -> None:
        abouts = {status.name: status.phrase for status in http.HTTPStatus} | {"DEFAULT_ERROR": "Any other problem"}
        for name, about in abouts.items():
            response = {"description": about, "schema": self.ERROR_SCHEMA}
            prepare_response(response, self.spec, error_handlers.MEDIA_TYPE)
            self.spec.components.response(name, response, lazy=True)

    def _register_pagination_header(self) -> None:
        """No answer has pages; clients would get a class for them."""


def create_api(app: Flask, about: str) -> Api:
    """The Api of an app, without resources yet. about : the description in ``openapi.yaml``"""
    app.config.update(
        API_TITLE="partition-allocator",
        API_VERSION=__version__,
        OPENAPI_VERSION="3.1.0",
        API_SPEC_OPTIONS={"info": {"description": about}, "security": [{}, {"bearer": []}], "servers": [{"url": "/"}]},
    )
    api = Api(app, spec_kwargs={"marshmallow_plugin": SchemaPlugin()})
    api.spec.components.security_scheme("bearer", security_scheme())
    return api


class SchemaPlugin(MarshmallowPlugin):
    """apispec's, which gives every number its ``format``."""

    def init_spec(self, spec: APISpec) -> None:
        """As apispec's."""
        super().init_spec(spec)
        cast("Any", self.converter).add_attribute_function(_number_format)


def _number_format(_: OpenAPIConverter, field: Any, *, ret: dict[str, Any]) -> dict[str, str]:
    """The ``format`` of a number. Without it generators of clients take Java's Integer, or Go's float32, which cannot hold it."""
    types = ret.get("type", ())
    if "number" in types:
        return {"format": "double"}
    if "integer" not in types:
        return {}
    bounded = ret.get("minimum", -INT64) >= -INT32 - 1 and ret.get("maximum", INT64) <= INT32
    return {"format": "int32" if bounded or field.name in INT32_NAMES else "int64"}
