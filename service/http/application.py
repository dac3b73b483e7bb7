"""The Flask app around some resources: the parts that every app of this service has."""

from __future__ import annotations

import threading
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from flask import Flask, Request
from flask.ctx import RequestContext
from flask.json.provider import JSONProvider
from flask.sessions import NullSession, SessionInterface
from werkzeug.routing import MapAdapter, Rule

from service import __version__
from service.http import error_handlers
from service.http.blueprint import Api, create_api
from service.http.json.codec import dumps, loads
from service.http.middleware import RequestHooks, security_scheme
from service.http.telemetry.metrics import Metrics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path
    from wsgiref.types import WSGIEnvironment

    from service.config import Settings
    from service.http.telemetry.tracing import Tracing


class OrjsonProvider(JSONProvider):
    """Flask's JSON by the functions of web.json.codec."""

    def dumps(self, obj: Any, **kwargs: Any) -> str:
        """As ``web.json.codec.dumps``."""
        return dumps(obj).decode()

    def loads(self, s: str | bytes, **kwargs: Any) -> Any:
        """As ``web.json.codec.loads``."""
        return loads(s)


class _NoSessions(SessionInterface):
    """No sessions: Flask would make an empty one for each request."""

    session: Final = NullSession()

    def open_session(self, app: Flask, request: Request) -> NullSession:
        """See Flask."""
        return self.session


class _Request(Request):
    """Flask's, which would look for files of a form."""

    def close(self) -> None:
        """Nothing is open: the server closes the body."""


class _RequestContext(RequestContext):
    app: App

    def match_request(self) -> None:
        """See Flask. Werkzeug would take a path apart also where it is written as its route is."""
        request = self.request
        rule = self.app.plain_rules.get((request.method, request.path))
        if rule is None:
            super().match_request()
        else:
            request.url_rule, request.view_args = rule, {}


class App(Flask):
    """Flask, without what no route of this service has."""

    request_class = _Request
    session_interface = _NoSessions()

    @cached_property
    def plain_rules(self) -> dict[tuple[str, str], Rule]:
        """The routes without arguments, by method and path."""
        rules = (rule for rule in self.url_map.iter_rules() if not rule.arguments)
        return {(method, rule.rule): rule for rule in rules for method in rule.methods or ()}

    def request_context(self, environ: WSGIEnvironment) -> RequestContext:
        """See Flask."""
        return _RequestContext(self, environ)

    def ensure_sync(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """The function as it is: no view and no hook is ``async``, which Flask looks up for each of them in every request."""
        return func

    def create_url_adapter(self, request: Request | None) -> MapAdapter | None:
        """See Flask. Routes depend on the path alone, and none redirects, so nothing is made of the request's host and query."""
        if request is None:
            return None
        return MapAdapter(self.url_map, "", "/", "", "http", request.path, request.method)

    def preprocess_request(self) -> None:
        """See Flask. Only the app has functions that run before a view, and none of them answers."""
        for function in self.before_request_funcs[None]:
            function()

    def handle_user_exception(self, e: Exception) -> Any:
        """See Flask. Then nothing of the error holds the request any more."""
        try:
            return super().handle_user_exception(e)
        finally:
            error_handlers.release_frames(e)

    def do_teardown_request(self, exc: BaseException | None = None) -> None:
        """See Flask. Nothing is to be torn down."""


def new_app(
    settings: Settings, resources: Iterable[object], about: str = "", metrics_folder: Path | None = None
) -> tuple[Flask, Api]:
    """An app with these resources (Blueprints), and their contract; ``add_hooks`` completes it.

    about : the description in ``openapi.yaml``
    metrics_folder : where the worker processes share their metrics; default: the metrics of this process alone
    """
    app = App("service", static_folder=None)
    app.json = OrjsonProvider(app)
    app.url_map.strict_slashes = False
    app.url_map.merge_slashes = False  # /v1//x is a path that nothing has, and no redirect as HTML
    app.config.update(
        API_TITLE="partition-allocator",
        API_VERSION=__version__,
        OPENAPI_VERSION="3.1.0",
        MAX_CONTENT_LENGTH=settings.max_body_bytes,
        API_SPEC_OPTIONS={"info": {"description": about}, "security": [{}, {"bearer": []}], "servers": [{"url": "/"}]},
    )
    limits = {name: value for name, value in vars(settings).items() if name.startswith("max_")}
    app.extensions.update(
        settings=settings, limits=limits, metrics=Metrics(settings.max_subjects, metrics_folder), warm=threading.Event()
    )
    api = create_api(app)
    api.spec.components.security_scheme("bearer", security_scheme())
    for resource in resources:
        api.register_blueprint(resource)
    return app, api


def add_hooks(app: Flask, settings: Settings, tracing: Tracing | None = None, *, log_requests: bool = False) -> Flask:
    """The app, with the hooks that run before and after its views. Raises service.http.auth.InvalidCredentials."""
    metrics = app.extensions["metrics"]
    app.extensions["request_hooks"] = RequestHooks(app, settings, metrics, tracing, log_requests=log_requests)
    return app
