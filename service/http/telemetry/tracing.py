"""Traces: one span per request, with the child spans parse, compute and render (OpenTelemetry, OTLP over HTTP).

This module, and with it OpenTelemetry, is imported only where an endpoint is configured. OpenTelemetry reads everything else
(sampling, headers, the service's name) from its own environment variables.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from service import __version__

if TYPE_CHECKING:
    from werkzeug.datastructures import Headers


class Tracing:
    """The tracer of one app. Spans are sent in batches every few seconds, and when the process ends."""

    def __init__(self, endpoint: str) -> None:
        """Endpoint: where traces go, without the path ``/v1/traces``."""
        resource = Resource.create({SERVICE_NAME: "partition-allocator", SERVICE_VERSION: __version__})
        self._provider = TracerProvider(resource=resource.merge(OTELResourceDetector().detect()))
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint.rstrip("/") + "/v1/traces")))
        self._tracer = self._provider.get_tracer("service", __version__)
        self._propagator = TraceContextTextMapPropagator()

    def request(self, method: str, route: str, headers: Headers, request_id: str, started: float) -> RequestSpan:
        """The span of a request, part of the caller's trace if its ``traceparent`` names one (W3C Trace Context).

        started : by time.perf_counter
        """
        carrier = {name: headers[name] for name in ("traceparent", "tracestate") if name in headers}
        offset = time.time_ns() - time.perf_counter_ns()
        span = self._tracer.start_span(
            f"{method} {route}" if route else method,
            context=self._propagator.extract(carrier),
            kind=SpanKind.SERVER,
            attributes={"http.request.method": method, "http.route": route or "unmatched", "request.id": request_id},
            start_time=offset + int(started * 1e9),
        )
        return RequestSpan(self._tracer, span, offset)


class RequestSpan:
    """The span of one request.

    The times of spans are times of day. The clock is read once per request, and all else is measured by time.perf_counter, so
    that a phase never lies outside its request, however busy the machine is and whoever sets its clock.
    """

    def __init__(self, tracer: Tracer, span: Span, offset: int) -> None:
        """Offset: the time of day minus time.perf_counter, in nanoseconds."""
        self._tracer, self._span, self._offset = tracer, span, offset
        self.trace_id = f"{span.get_span_context().trace_id:032x}"

    def phase(self, name: str, started: float, ended: float, strategy: str) -> None:
        """Add the span of a phase that has ended. started, ended : by time.perf_counter"""
        span = self._tracer.start_span(
            name,
            context=set_span_in_context(self._span),
            start_time=self._offset + int(started * 1e9),
            attributes={"allocator.strategy": strategy},
        )
        span.end(self._offset + int(ended * 1e9))

    def answered(self, status: int) -> None:
        """End the span."""
        self._span.set_attribute("http.response.status_code", status)
        if status >= 500:
            self._span.set_status(StatusCode.ERROR)
        self._span.end(self._offset + int(time.perf_counter() * 1e9))
