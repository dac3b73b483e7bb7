"""What a view needs from the running app: its metrics, and the budget of its request."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

from flask import current_app

from service.decisions.budget import Budget
from service.http.middleware import PROGRESS, current_request

if TYPE_CHECKING:
    from service.decisions.figures import Figures
    from service.http.middleware import Progress
    from service.http.telemetry.metrics import Metrics


def request_budget() -> Budget:
    """What this request may take.

    A body that is read as a stream counts from the start, by its length, which our server knows also if it came in chunks.
    """
    request = current_request()
    environ = request.environ
    progress: Progress = environ[PROGRESS]
    hooks = progress.hooks
    limits = hooks.extensions["limits"]
    announced = (request.content_length or 0) if "CONTENT_LENGTH" in environ else 0  # which a GET has not
    return Budget(
        limits,
        partial(hooks.reserve, environ),
        partial(hooks.lengthen, environ),
        limits["max_explained"],
        progress.started,
        limits["max_request_seconds"],
        progress.cpu_started,
        max(1.0, progress.sent_bytes / 1_000, announced / 1_000),
    )


def reserve(size: int) -> None:
    """Reserve bytes of memory for this request until its response has been sent. Raises 413 or 503."""
    current_app.extensions["request_hooks"].reserve(current_request().environ, size)


def metrics() -> Metrics:
    """The metrics of the running app."""
    of_app: Metrics = current_app.extensions["metrics"]
    return of_app


def answered(decision: str, figures: Figures, parsed: float, computed: float) -> None:
    """Record an answer and the phases of its request, of which "render" ends now. Raises if the request is over its time limit.

    decision : "partition", "assignment", "placement"
    parsed, computed : when these phases ended, by time.perf_counter
    """
    progress: Progress = current_request().environ[PROGRESS]
    rendered = time.perf_counter()
    phases = ("parse", progress.started, parsed), ("compute", parsed, computed), ("render", computed, rendered)
    progress.hooks.metrics.answered(decision, figures, phases)
    if progress.span is not None:
        for phase in phases:
            progress.span.phase(*phase, figures.strategy)
    if rendered > progress.deadline:
        request_budget().check_time()
