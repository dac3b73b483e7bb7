"""What a view needs from the running app: its metrics, and the budget of its request."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from flask import current_app, request

from service.decisions.budget import Budget
from service.web.middleware import PROGRESS

if TYPE_CHECKING:
    from service.telemetry.metrics import Decision, Metrics
    from service.web.middleware import Progress


def request_budget() -> Budget:
    """What this request may take. While kernels are being compiled its CPU is not limited: most of it is the compiler's."""
    environ = request.environ
    progress: Progress = environ[PROGRESS]
    hooks = progress.hooks
    limits = hooks.extensions["limits"]
    is_warm = hooks.extensions["warm"].is_set()
    return Budget(
        limits,
        partial(hooks.reserve, environ),
        partial(hooks.lengthen, environ),
        limits["max_explained"],
        progress.started,
        limits["max_request_seconds"],
        progress.cpu_started,
        max(1.0, progress.sent_bytes / 1_000) if is_warm else math.inf,
    )


def reserve(size: int) -> None:
    """Reserve bytes of memory for this request until its response has been sent. Raises 413 or 503."""
    current_app.extensions["request_hooks"].reserve(request.environ, size)


def metrics() -> Metrics:
    """The metrics of the running app."""
    of_app: Metrics = current_app.extensions["metrics"]
    return of_app


def decision(name: str, strategy: str, parsed: float | None = None) -> Decision:
    """The report of this request's decision ("partition", "assignment", "placement").

    parsed : when its body had been read, by time.perf_counter; default: now
    """
    progress: Progress = request.environ[PROGRESS]

    def phase_ended(phase: str, phase_started: float, now: float) -> None:
        if progress.span is not None:
            progress.span.phase(phase, phase_started, now, strategy)
        if now > progress.deadline:
            request_budget().check_time()

    of_app: Metrics = progress.hooks.extensions["metrics"]
    return of_app.decision(name, strategy, progress.started, phase_ended, parsed)
