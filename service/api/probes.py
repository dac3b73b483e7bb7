"""What operators ask: is it alive, is it ready, what has it measured, what is its contract."""

import re
from base64 import b64encode
from collections.abc import Callable
from hashlib import sha256
from typing import Any, Final

import yaml
from flask import Blueprint, Response, current_app, make_response, request
from flask_swagger_ui import get_swaggerui_blueprint

from service.http.application import PROGRESS
from service.http.blueprint import Api
from service.http.error_handlers import respond
from service.http.problems import problem

NOT_READY = (
    "Kernels of partitioners, assignors and placers are being compiled, once per installation. In a WSGI server other than "
    "`partition-allocator serve`, call service.server.warm.warm() before app.extensions['warm'].set()."
)

PAGE_POLICY: Final = (
    "default-src 'none'; script-src 'self'{scripts}; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
"""The policy of an HTML page: scripts of this service only, requests to it only. Swagger UI sets styles by script."""

blueprint = Blueprint("operations", __name__)

docs = get_swaggerui_blueprint(
    "/docs",
    "/openapi.yaml",
    config={
        "app_name": "partition-allocator",
        "validatorUrl": "none",
        "oauth2RedirectUrl": "/docs/oauth2-redirect.html",  # by default the page would quote the request's Host header
    },
)
"""Swagger UI from its own package's files: a browser asks no outside host."""


def allowing_its_scripts(show: Callable[..., Any]) -> Callable[..., Response]:
    """Swagger UI's view. Its page has one script in itself; the policy names it by its hash, and so allows no other."""

    def view(**path: str) -> Response:
        response = make_response(show(**path))
        if response.mimetype == "text/html":
            response.direct_passthrough = False
            scripts = re.findall(rb"<script>(.*?)</script>", response.get_data(), re.DOTALL)
            hashes = "".join(f" 'sha256-{b64encode(sha256(script).digest()).decode()}'" for script in scripts)
            response.headers["Content-Security-Policy"] = PAGE_POLICY.format(scripts=hashes)
        return response

    return view


@blueprint.get("/v1")
def start() -> Response:
    """The way to the reference page, for who has only the address."""
    return Response("See /docs\n", 302, {"Location": "/docs/"}, mimetype="text/plain")


@blueprint.get("/healthz")
def live() -> Response:
    """The process answers."""
    return Response("ok\n", mimetype="text/plain")


@blueprint.get("/readyz")
def ready() -> Response:
    """Partitioners and Kafka's own assignors and placers are compiled: questions to them wait for no compiler."""
    if not current_app.extensions["warm"].is_set():
        return respond(problem(503, "not-ready", "Not ready", NOT_READY))
    return Response("ready\n", mimetype="text/plain")


@blueprint.get("/metrics")
def scrape() -> Response:
    """Prometheus's text format, for all workers."""
    return Response(request.environ[PROGRESS].app.metrics.exposition(), content_type="text/plain; version=0.0.4; charset=utf-8")


@blueprint.get("/openapi.yaml")
def contract() -> Response:
    """The contract, as ``openapi.yaml`` in the repository has it."""
    return Response(current_app.extensions["openapi_yaml"](), mimetype="application/yaml")


def openapi_yaml(api: Api) -> str:
    """The contract as the committed text: keys in the order in which they were written."""
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)  # libyaml's, where PyYAML has it: 0.15 s instead of 0.8
    text: str = yaml.dump(api.spec.to_dict(), Dumper=dumper, sort_keys=False, allow_unicode=True, width=120)
    return text
