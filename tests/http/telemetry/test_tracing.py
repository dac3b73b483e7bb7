"""Traces reach a collector where one is configured, and nothing of OpenTelemetry is loaded elsewhere."""

from __future__ import annotations

import gzip
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest
import requests
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from werkzeug.datastructures import Headers
from werkzeug.wrappers import Request, Response

from service.config import Settings
from service.http.telemetry.tracing import Tracing
from service.server.serving import Refusal, serve
from tests.support.serving import answering, serving

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
QUESTION = {"assignor": "range", "topics": [{"topic_name": "t", "partitions_count": 3}], "members": [{"member_id": "secret-id"}]}


@contextmanager
def collector():
    """A receiver of OTLP over HTTP: its address, and the spans that it got, with their resources."""
    spans = []

    @Request.application
    def receive(request):
        assert request.path == "/v1/traces"
        packed = request.headers.get("Content-Encoding") == "gzip"
        body = gzip.decompress(request.data) if packed else request.data
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            for scope in resource.scope_spans:
                spans.extend((span, attributes(resource.resource)) for span in scope.spans)
        return Response()

    with answering(receive) as url:
        yield url, spans


def attributes(of) -> dict:
    return {item.key: getattr(item.value, item.value.WhichOneof("value")) for item in of.attributes}


@pytest.mark.slow
def test_a_request_is_a_span_of_the_callers_trace_with_its_phases_in_it():
    with collector() as (endpoint, spans):
        settings = {"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_BSP_SCHEDULE_DELAY": "100", "ALLOCATOR_ACCESS_LOG": "on"}
        with serving(
            forked=True, **settings, ALLOCATOR_WORKERS="2", OTEL_RESOURCE_ATTRIBUTES="deployment.environment=test"
        ) as server:
            headers = {"traceparent": f"00-{TRACE}-{PARENT}-01", "X-Request-ID": "asked"}
            assert requests.post(f"{server.url}/v1/group-assignments", json=QUESTION, headers=headers, timeout=120).ok
            assert requests.post(f"{server.url}/v1/group-assignments?no=1", json={}, timeout=120).status_code == 422
            deadline = time.monotonic() + 120
            while len([span for span, _ in spans if "/v1/" in span.name]) < 2 and time.monotonic() < deadline:
                time.sleep(0.05)
        of_trace = {span.name: span for span, _ in spans if span.trace_id.hex() == TRACE}
        assert of_trace.keys() == {"POST /v1/group-assignments", "parse", "compute", "render"}
        request = of_trace["POST /v1/group-assignments"]
        assert request.parent_span_id.hex() == PARENT
        assert attributes(request) == {
            "http.request.method": "POST",
            "http.route": "/v1/group-assignments",
            "http.response.status_code": 200,
            "request.id": "asked",
        }
        previous_end = request.start_time_unix_nano
        for phase in ("parse", "compute", "render"):
            span = of_trace[phase]
            assert span.parent_span_id == request.span_id
            assert attributes(span) == {"allocator.strategy": "classic-range"}
            assert previous_end <= span.start_time_unix_nano <= span.end_time_unix_nano <= request.end_time_unix_nano
            previous_end = span.end_time_unix_nano
        others = [span for span, _ in spans if span.name == "POST /v1/group-assignments" and span.trace_id.hex() != TRACE]
        assert [attributes(span)["http.response.status_code"] for span in others] == [422]
        resources = spans[0][1]
        assert resources["service.name"] == "partition-allocator"
        assert resources["deployment.environment"] == "test"
        assert not [span for span, _ in spans if b"secret" in span.SerializeToString()]


def test_a_missing_collector_has_no_effect(monkeypatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    tracing = Tracing("http://127.0.0.1:9")
    for traceparent in ("", "00-zz-zz-01", "x" * 1000):
        span = tracing.request("GET", "/v1/partitions", Headers({"traceparent": traceparent}), "id", time.perf_counter())
        assert len(span.trace_id) == 32
        span.answered(503)
    tracing._provider.shutdown()


def test_a_start_with_an_endpoint_and_without_opentelemetry_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(Refusal, match=r"pip install '\.\[tracing\]'"):
        serve(Settings(otlp_endpoint="http://127.0.0.1:9"), "127.0.0.1", 0)


def test_nothing_of_it_is_loaded_where_no_endpoint_is_configured():
    program = """
import sys
from service.app import create_app
client = create_app().test_client()
assert client.get("/v1/partitions?key=a&partitions_count=2").status_code == 200
loaded = sorted(name for name in sys.modules if name.startswith(("opentelemetry", "google.protobuf", "jwt", "cryptography")))
assert loaded == [], loaded
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
