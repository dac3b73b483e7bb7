"""The metrics of the service, in one registry per app.

With several worker processes prometheus-client keeps the values in files (``metrics_files``), so that any worker can answer
``/metrics`` for all of them, including those that have died.
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
from functools import cache, partial
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector

from service import __version__
from service.decisions.rows import LONGEST_TOPIC_NAME
from service.http.telemetry.metrics_files import FreeSpace, WorkerProcesses, use_files

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from service.core.budget import Figures

Phase = tuple[str, float, float]
"""parse, compute or render; when it began, and when it ended, by time.perf_counter."""

disable_created_metrics()  # type: ignore[no-untyped-call]  # a second series beside each counter, without a reader

SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
SKEWS = (1.0, 1.01, 1.02, 1.05, 1.1, 1.2, 1.35, 1.5, 2, 3, 5, 10, 100)
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
PARTITIONS = (0, 1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000)
ITEMS = PARTITIONS[4:]

SHORTEST_PHASE = 0.001
"""Seconds. A shorter phase is not recorded: the six values of three phases would be most of what a GET writes."""

FEWEST_ITEMS = ITEMS[0]
"""A request with fewer of everything is small, and its size is not recorded."""


class Metrics:
    """The metrics of one app; views report to it, the core stays silent."""

    def __init__(self, max_subjects: int, folder: Path | None = None) -> None:
        """Folder: where worker processes share their metrics; default: the metrics of this process alone."""
        self._folder = folder
        r = self.registry = CollectorRegistry()
        if folder is not None:
            use_files(folder)
        else:
            ProcessCollector(registry=r)
        self._register_decisions(r)
        self._register_http(r)
        Gauge(
            "partition_allocator_build_info",
            "Version of the service and of Python; the value is always 1.",
            ["version", "python_version"],
            registry=r,
            multiprocess_mode="max",
        ).labels(__version__, platform.python_version()).set(1)
        self.subjects = Subjects(max_subjects, folder)
        # Looking up a series by its labels takes longer than an observation.
        self._http_series = cache(self.http_seconds.labels)
        self._item_series = cache(self.items.labels)
        self._decision_series = cache(self._series_of)

    def _register_decisions(self, r: CollectorRegistry) -> None:
        histogram, gauge, counter = partial(Histogram, registry=r), partial(Gauge, registry=r), partial(Counter, registry=r)
        self.skew = histogram(
            "partition_allocator_skew_ratio",
            "Skew of decisions: maximum ÷ mean. Decisions about a single key are not included.",
            ["decision", "strategy"],
            buckets=SKEWS,
        )
        self.duration = histogram(
            "partition_allocator_decision_duration_seconds",
            "Time of decisions of at least a millisecond, from parsing to rendering.",
            ["decision"],
            buckets=SECONDS[SECONDS.index(SHORTEST_PHASE) + 1 :],
        )
        self.phases = counter(
            "partition_allocator_decision_phase_seconds",
            "Time of decisions, by phase: parse, compute, render. Only phases of at least a millisecond.",
            ["decision", "strategy", "phase"],
        )
        self.items = histogram(
            "partition_allocator_items",
            f"Size of requests, by item. Only requests with at least {FEWEST_ITEMS} of one item.",
            ["decision", "item"],
            buckets=ITEMS,
        )
        self.moved = histogram(
            "partition_allocator_moved_partitions",
            "Partitions that change owner in a decision.",
            ["decision", "strategy"],
            buckets=PARTITIONS,
        )
        self.subject_skew = gauge(
            "partition_allocator_subject_skew_ratio",
            "Latest skew of a group or topic named in a request.",
            ["decision", "subject"],
            multiprocess_mode="mostrecent",
        )
        self.subjects_dropped = counter(
            "partition_allocator_subjects_dropped",
            "Groups and topics that did not fit into partition_allocator_subject_skew_ratio.",
        )

    def _register_http(self, r: CollectorRegistry) -> None:
        gauge, counter = partial(Gauge, registry=r), partial(Counter, registry=r)
        self.http_seconds = Histogram(
            "partition_allocator_http_request_duration_seconds",
            "Time of HTTP requests.",
            ["method", "route", "status"],
            registry=r,
            buckets=SECONDS,
        )
        self.in_flight = gauge(
            "partition_allocator_http_requests_in_flight", "HTTP requests in progress.", multiprocess_mode="livesum"
        )
        self.queued = gauge(
            "partition_allocator_http_requests_queued", "HTTP requests waiting in the queue.", multiprocess_mode="livesum"
        )
        self.rejected = counter(
            "partition_allocator_http_requests_rejected",
            "HTTP requests rejected before their body was parsed, by reason: full, unauthenticated, forbidden, or unavailable: "
            "the tokens or the signing keys.",
            ["reason"],
        )
        self.jwks_failures = counter(
            "partition_allocator_jwks_fetch_failures", "Failed attempts to fetch the keys that verify JWTs."
        )
        for reason in ("full", "unauthenticated", "forbidden", "unavailable"):
            self.rejected.labels(reason)  # exported from the start, so that the first rejection is an increase

    def answered(self, decision: str, figures: Figures, phases: Sequence[Phase]) -> None:
        """Record an answer: how large its question was, how long its phases took, its skew, subject and moved partitions."""
        if max(figures.items.values()) >= FEWEST_ITEMS:
            for item, count in figures.items.items():
                self._item_series(decision, item).observe(count)
        series = self._decision_series(decision, figures.strategy)
        series.lasted(phases)
        if figures.skew is None:
            return
        series.skew.observe(figures.skew)
        if figures.moved is not None:
            self.moved.labels(decision, figures.strategy).observe(figures.moved)
        if figures.subject is not None:
            if self.subjects.admit(decision, figures.subject):
                self.subject_skew.labels(decision, figures.subject).set(figures.skew)
            else:
                self.subjects_dropped.inc()

    def _series_of(self, decision: str, strategy: str) -> DecisionSeries:
        parse, compute, render = (self.phases.labels(decision, strategy, phase) for phase in ("parse", "compute", "render"))
        return DecisionSeries(self.duration.labels(decision), parse, compute, render, self.skew.labels(decision, strategy))

    def observe_http(self, method: str, route: str, status: int, seconds: float) -> None:
        """Record an answered request. route : the URL rule, never the path"""
        self._http_series(method if method in METHODS else "other", route, status).observe(seconds)

    def exposition(self) -> bytes:
        """All metrics of all workers in Prometheus's text format."""
        registry = self.registry
        if self._folder is not None:
            registry = CollectorRegistry()
            MultiProcessCollector(registry, str(self._folder))  # type: ignore[no-untyped-call]
            registry.register(WorkerProcesses(os.getppid()))
            registry.register(FreeSpace(self._folder))
        return generate_latest(registry)


class DecisionSeries(NamedTuple):
    """The series of one decision and strategy."""

    duration: Histogram
    parse: Counter
    compute: Counter
    render: Counter
    skew: Histogram

    def lasted(self, phases: Sequence[Phase]) -> None:
        """Record how long a decision took, and each phase of it, one after the other."""
        seconds = phases[-1][2] - phases[0][1]
        if seconds < SHORTEST_PHASE:
            return
        self.duration.observe(seconds)
        for phase, started, ended in phases:
            if ended - started >= SHORTEST_PHASE:
                getattr(self, phase).inc(ended - started)


class Subjects:
    """The names that may label a metric: the first ``limit`` of all worker processes together."""

    def __init__(self, limit: int, folder: Path | None) -> None:
        self._limit = limit
        self._admitted: set[str] = set()
        self._list = None if folder is None else folder / "subjects"
        self._read_bytes = 0
        self._lock = Lock()

    def admit(self, decision: str, name: str) -> bool:
        """Whether this name labels the metrics of this decision: it is one of the first, or there is still room for it."""
        if len(name) > LONGEST_TOPIC_NAME:
            return False
        try:
            name.encode()
        except UnicodeEncodeError:  # JSON may hold half a surrogate pair
            return False
        subject = f"{decision} {name}"
        if subject not in self._admitted and len(self._admitted) < self._limit:
            with self._lock:
                self._enter(subject)
        return subject in self._admitted

    def _enter(self, subject: str) -> None:
        """Add the subject to the list that the workers share, unless others have filled it meanwhile."""
        if self._list is None:
            self._admitted.add(subject)
            return
        try:
            with self._list.open("a+b", buffering=0) as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                file.seek(self._read_bytes)
                others = file.readall()
                self._read_bytes += len(others)
                self._admitted.update(json.loads(line) for line in others.splitlines())
                if subject not in self._admitted and len(self._admitted) < self._limit:
                    line = json.dumps(subject).encode() + b"\n"
                    if file.write(line) < len(line):  # the file system is full
                        file.truncate(self._read_bytes)
                        return
                    self._read_bytes += len(line)
                    self._admitted.add(subject)
        except OSError:  # full, or there are no more file descriptors: this name does not label the metric this time
            return
