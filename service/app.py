"""The application factory. The only module that knows all parts of the service."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING

from service.api import catalogue, probes, views
from service.config import Settings
from service.core.kafka_versions import LATEST
from service.http.application import App
from service.http.blueprint import create_api
from service.http.telemetry.metrics import Metrics
from service.page import views as page

if TYPE_CHECKING:
    from pathlib import Path

    from flask import Flask

    from service.http.telemetry.tracing import Tracing

RESOURCES: tuple[object, ...] = (
    *views.BLUEPRINTS.values(),
    *catalogue.BLUEPRINTS,
)


ABOUT = f"""\
Kafka's partition allocation, computed exactly as Apache Kafka {LATEST} and its clients do: key → partition, partition → group
member, replica → broker. The service is stateless: the same request always has the same answer.

Errors are `application/problem+json`; `errors` locates each invalid value by JSON pointer. A plug-in that cannot be loaded or
raises an error is a 500 of type `plugin-failed`; one whose answer breaks a rule, such as a partition assigned twice, is a 500 of
type `plugin-broke-a-rule`; both name the plug-in. `explain=true` adds an explanation of the answer. `Accept: text/csv` or
`application/vnd.apache.arrow.stream` returns the answer's main table. A header that excludes JSON (`application/json;q=0`) and
accepts no table gets a 406. Names and keys in CSV are unchanged, and a spreadsheet may
evaluate one such as `=1+1`. With `Accept: text/csv; header=present; formulas=escape`, a text that begins with `=`, `+`, `-`, `@`,
a tab or a line break has a `'` before it.
"""


def create_app(settings: Settings | None = None, *, log_requests: bool = False, metrics_folder: Path | None = None) -> Flask:
    """The service as a WSGI app. Raises service.http.auth.InvalidCredentials for credentials that cannot be read.

    settings : default: those of the environment
    log_requests : a line for each request on standard output
    metrics_folder : where the worker processes share their metrics; default: the metrics of this process alone
    """
    settings = settings or Settings.from_environment()
    app = App(settings, Metrics(settings.max_subjects, metrics_folder), _tracing(settings), log_requests=log_requests)
    api = create_api(app, ABOUT)
    for resource in RESOURCES:
        api.register_blueprint(resource)
    app.register_blueprint(probes.blueprint)
    app.register_blueprint(probes.docs)
    app.view_functions["swagger_ui.show"] = probes.allowing_its_scripts(app.view_functions["swagger_ui.show"])
    app.register_blueprint(page.blueprint)
    app.extensions["openapi_yaml"] = cache(partial(probes.openapi_yaml, api))  # 0.1 s, which few processes spend
    return app


def _tracing(settings: Settings) -> Tracing | None:
    if not settings.otlp_endpoint:
        return None
    from service.http.telemetry.tracing import Tracing  # noqa: PLC0415 - OpenTelemetry is slow to import

    return Tracing(settings.otlp_endpoint)
