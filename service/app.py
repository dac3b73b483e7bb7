"""The application factory: the only place that knows every part."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from flask import Flask, g, request

from service import __version__
from service.api import (
    assignors,
    coordinators,
    create_api,
    decodings,
    group_assignments,
    operations,
    partitioners,
    partitions,
    placers,
    replica_placements,
)
from service.api.jsons import OrjsonProvider
from service.config import Settings
from service.metrics import Metrics

if TYPE_CHECKING:
    from flask import Response

RESOURCES: tuple[object, ...] = (
    partitions.blueprint,
    partitioners.blueprint,
    coordinators.blueprint,
    decodings.blueprint,
    group_assignments.blueprint,
    assignors.blueprint,
    replica_placements.blueprint,
    placers.blueprint,
)


ABOUT = """\
Kafka's three questions of partition allocation, answered exactly as Apache Kafka 4.3.1 and its clients do: key → partition,
partition → group member, replica → broker. The service keeps no state: the same request always gives the same answer.

Errors are `application/problem+json`; a rejected body's `errors` name each fault by JSON pointer. `explain=true` adds how an
answer came about. `Accept: text/csv` or `application/vnd.apache.arrow.stream` gives an answer's main table.
"""


def create_app(settings: Settings | None = None) -> Flask:
    """The service as a WSGI app.

    settings : default: those of the environment
    """
    settings = settings or Settings.from_environment()
    app = Flask("service", static_folder=None)
    app.json = OrjsonProvider(app)
    app.url_map.strict_slashes = False
    app.config.update(
        API_TITLE="partition-allocator",
        API_VERSION=__version__,
        OPENAPI_VERSION="3.1.0",
        MAX_CONTENT_LENGTH=settings.max_body_bytes,
        API_SPEC_OPTIONS={"info": {"description": ABOUT}},
    )
    app.extensions.update(settings=settings, metrics=Metrics(settings.max_subjects), warm=threading.Event())
    api = create_api(app)
    for resource in RESOURCES:
        api.register_blueprint(resource)
    app.register_blueprint(operations.blueprint)
    app.register_blueprint(operations.docs)
    app.extensions["openapi_yaml"] = operations.openapi_yaml(api)
    _measure_http(app, app.extensions["metrics"])
    return app


def _measure_http(app: Flask, metrics: Metrics) -> None:
    """Count and time every request, by rule and never by path."""

    @app.before_request
    def start() -> None:
        g.start = time.perf_counter()
        metrics.in_flight.inc()

    @app.after_request
    def answered(response: Response) -> Response:
        route = request.url_rule.rule if request.url_rule else "unmatched"
        metrics.observe_http(request.method, route, response.status_code, time.perf_counter() - g.start)
        return response

    @app.teardown_request
    def done(_: BaseException | None) -> None:
        if "start" in g:
            metrics.in_flight.dec()
