"""What a view needs of the app that it runs in: its settings, its metrics, and the report of the decision that it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from flask import current_app
from flask.globals import app_ctx
from werkzeug.exceptions import ServiceUnavailable

from service.config import environment_name

if TYPE_CHECKING:
    from service.config import Settings
    from service.telemetry.metrics import Decision, Metrics


def settings() -> Settings:
    """The settings of the running app."""
    return cast("Settings", current_app.extensions["settings"])


def metrics() -> Metrics:
    """The metrics of the running app."""
    return cast("Metrics", current_app.extensions["metrics"])


def decision(name: str, strategy: str) -> Decision:
    """The report of the decision that this request asks for ("partition", "assignment", "placement"), once it has been read."""
    extensions, here = app_ctx.app.extensions, app_ctx.g  # each use of a proxy takes half a microsecond
    started, allowed, span = here.start, extensions["settings"].max_request_seconds, here.get("span")

    def phase_ended(phase: str, phase_started: float, now: float) -> None:
        if span is not None:
            span.phase(phase, phase_started, now, strategy)
        if now - started > allowed:
            limit = environment_name("max_request_seconds")
            raise ServiceUnavailable(
                f"The request was given up after {now - started:.1f} s: the limit {limit} is {allowed} s.", retry_after=allowed
            )

    return cast("Metrics", extensions["metrics"]).decision(name, strategy, started, phase_ended)
