"""The application factory: the only place that knows every part."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from flask import Flask

from service import __version__
from service.api import catalogue, probes
from service.api.co_partitionings.views import blueprint as co_partitionings
from service.api.comparisons.views import blueprint as comparisons
from service.api.coordinators.views import blueprint as coordinators
from service.api.decodings.views import blueprint as decodings
from service.api.fingerprints.views import blueprint as fingerprints
from service.api.groups.views import blueprint as groups
from service.api.keyless.views import blueprint as keyless
from service.api.partition_counts.views import blueprint as partition_counts
from service.api.partitions.views import blueprint as partitions
from service.api.placements.views import blueprint as placements
from service.config import Settings
from service.telemetry.metrics import Metrics
from service.web.blueprint import create_api
from service.web.json_codec import OrjsonProvider
from service.web.middleware import RequestHooks, security_scheme

if TYPE_CHECKING:
    from service.telemetry.tracing import Tracing

RESOURCES: tuple[object, ...] = (
    partitions,
    catalogue.partitioners,
    comparisons,
    fingerprints,
    partition_counts,
    keyless,
    co_partitionings,
    coordinators,
    decodings,
    groups,
    catalogue.assignors,
    placements,
    catalogue.placers,
)


ABOUT = """\
Kafka's three questions of partition allocation, answered exactly as Apache Kafka 4.3.1 and its clients do: key → partition,
partition → group member, replica → broker. The service keeps no state: the same request always gives the same answer.

Errors are `application/problem+json`; a rejected body's `errors` name each fault by JSON pointer. `explain=true` adds how an
answer came about. `Accept: text/csv` or `application/vnd.apache.arrow.stream` gives an answer's main table.
"""


def create_app(settings: Settings | None = None, *, log_requests: bool = False) -> Flask:
    """The service as a WSGI app. Raises service.auth.authenticator.UnfitCredentials for credentials that cannot be read.

    settings : default: those of the environment
    log_requests : a line for each request on standard output
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
        API_SPEC_OPTIONS={"info": {"description": ABOUT}, "security": [{}, {"bearer": []}]},
    )
    app.extensions.update(settings=settings, metrics=Metrics(settings.max_subjects), warm=threading.Event())
    api = create_api(app)
    api.spec.components.security_scheme("bearer", security_scheme())
    for resource in RESOURCES:
        api.register_blueprint(resource)
    app.register_blueprint(probes.blueprint)
    app.register_blueprint(probes.docs)
    app.extensions["openapi_yaml"] = probes.openapi_yaml(api)
    app.extensions["request_hooks"] = RequestHooks(
        app, settings, app.extensions["metrics"], _tracing(settings), log_requests=log_requests
    )
    return app


def _tracing(settings: Settings) -> Tracing | None:
    if not settings.otlp_endpoint:
        return None
    from service.telemetry.tracing import Tracing  # noqa: PLC0415 - nobody else waits for OpenTelemetry

    return Tracing(settings.otlp_endpoint)
