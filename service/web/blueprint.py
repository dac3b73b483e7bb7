"""HTTP only: what flask-smorest needs to speak the contract of ``openapi.yaml``.

A resource is a module with a ``Blueprint``; its view reads ``look up → run → answer``::

    @blueprint.post("/v1/partitions")
    @blueprint.arguments(PartitionsSchema)                      # the body; a schema's post_load makes the question
    @blueprint.arguments(ExplainSchema, location="query")
    @blueprint.response(200, PartitionsAnswerSchema)            # documents; the view renders the answer itself
    @blueprint.doc(operationId="allocatePartitions")
    def allocate_partitions(question, explain):
        report = decision("partition", question.partitioner.name)
        with report.compute():
            answer = ...
        report.sees(keys=...)
        report.gives(skew, subject=question.topic_name)
        with report.render():
            return render.answer({...})
"""

from __future__ import annotations

import http
from typing import TYPE_CHECKING, Any, cast

import flask_smorest
from apispec.ext.marshmallow import MarshmallowPlugin
from flask_smorest.utils import prepare_response, resolve_schema_instance
from marshmallow import RAISE
from webargs.core import missing
from webargs.flaskparser import FlaskParser
from werkzeug.exceptions import BadRequest, HTTPException, UnsupportedMediaType

from service.core.errors import AllocatorError
from service.web import problems
from service.web.bodies import check_json, read_body
from service.web.json_codec import loads

if TYPE_CHECKING:
    from collections.abc import Callable

    from flask import Flask, Request


class Parser(FlaskParser):
    """webargs, with our JSON and the contract's 400 and 415."""

    DEFAULT_UNKNOWN_BY_LOCATION = {**FlaskParser.DEFAULT_UNKNOWN_BY_LOCATION, "query": RAISE, "json": RAISE}  # noqa: RUF012

    read_json: Callable[[bytes], Any] = staticmethod(loads)
    """The value of a JSON text; raises ValueError for what is not JSON."""

    def _raw_load_json(self, req: Request) -> Any:
        if not req.is_json:
            raise UnsupportedMediaType(f"The body must be application/json, not {req.mimetype or 'without a media type'}.")
        body = read_body(req)
        check_json(body, req.max_content_length or 0)
        try:
            return self.read_json(body)
        except ValueError as error:
            raise BadRequest(f"The body is not JSON: {error}") from None

    def load_querystring(self, req: Request, schema: Any) -> Any:
        """The query's parameters; one that is given twice is a list, which no field accepts."""
        given = req.args.to_dict(flat=False)
        return {name: values[0] if len(values) == 1 else values for name, values in given.items()} or missing


class Blueprint(flask_smorest.Blueprint):
    """A resource."""

    ARGUMENTS_PARSER = Parser()

    def arguments(self, schema: Any, **kwargs: Any) -> Any:
        """As flask-smorest's, but with one instance of the schema for all requests: making one takes half a millisecond."""
        return super().arguments(resolve_schema_instance(schema), **kwargs)


class Api(flask_smorest.Api):
    """flask-smorest with problem+json as its errors, in the answers and in ``openapi.yaml``."""

    ERROR_SCHEMA = problems.ProblemSchema

    def _register_error_handlers(self) -> None:
        app = cast("Flask", self._app)
        app.register_error_handler(HTTPException, problems.from_http_exception)
        app.register_error_handler(AllocatorError, problems.from_allocator_error)
        app.register_error_handler(Exception, problems.from_exception)

    def _register_responses(self) -> None:
        for status in http.HTTPStatus:
            if status >= http.HTTPStatus.BAD_REQUEST:
                response = {"description": status.phrase, "schema": self.ERROR_SCHEMA}
                prepare_response(response, self.spec, problems.MEDIA_TYPE)
                self.spec.components.response(status.name, response, lazy=True)
        default = {"description": "Any other problem", "schema": self.ERROR_SCHEMA}
        prepare_response(default, self.spec, problems.MEDIA_TYPE)
        self.spec.components.response("DEFAULT_ERROR", default, lazy=True)


def create_api(app: Flask) -> Api:
    """The Api of an app, without resources yet."""

    def schema_name(schema: Any) -> str:
        name = type(schema).__name__ if not isinstance(schema, type) else schema.__name__
        return name.removesuffix("Schema")

    return Api(app, spec_kwargs={"marshmallow_plugin": MarshmallowPlugin(schema_name_resolver=schema_name)})
