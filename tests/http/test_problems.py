"""Whatever goes wrong has one shape: application/problem+json with type, title, status and detail.

A rejected body also has ``errors``: where (a JSON pointer), and what. Each test is one way to provoke a problem.
"""

from __future__ import annotations

import time

import pyarrow as pa
import pytest

from service.app import create_app
from service.config import Settings
from service.http import error_handlers, problems
from service.http.media_types import ARROW_STREAM

PARTITIONS = {"partitions_count": 12, "keys": ["order-1"]}


def assert_problem(response, status: int, kind: str, *pointers: str) -> dict:
    """The response is a whole problem of this kind, which points at exactly these places."""
    assert response.status_code == status, response.data
    assert response.mimetype == error_handlers.MEDIA_TYPE
    assert response.json["type"] == problems.TYPE_PREFIX + kind
    assert response.json["status"] == status
    assert response.json["title"]
    assert response.json["detail"]
    assert tuple(error["pointer"] for error in response.json.get("errors", ())) == pointers
    assert response.json["detail"].startswith(f"{pointers[0]}: " if pointers and pointers[0] else "")
    return response.json


LONG = "x" * 1_000_000


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/partitions", PARTITIONS | {LONG: 1}),
        ("/v1/partitions", PARTITIONS | {"partitioner": LONG}),
        ("/v1/decodings", {"kind": LONG}),
        ("/v1/group-assignments", {"kafka_version": LONG, "topics": [], "members": []}),
    ],
    ids=["field", "strategy", "kind", "release"],
)
def test_a_long_text_of_the_callers_is_quoted_in_part_and_has_nothing_similar(client, path, body):
    started = time.process_time()
    response = client.post(path, json=body)
    assert response.status_code == 422
    assert len(response.data) < 20_000
    assert time.process_time() - started < 1


def test_the_columns_of_a_stream_are_quoted_in_part(client):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, pa.schema([(f"{LONG}{i}", pa.int8()) for i in range(3)])):
        pass
    body = sink.getvalue().to_pybytes()
    response = client.post("/v1/partitions?partitions_count=12", data=body, content_type=ARROW_STREAM)
    assert response.status_code == 422
    assert len(response.data) < 20_000


def test_an_unknown_path_is_a_404(client):
    assert_problem(client.get("/v1/nothing"), 404, "not-found")


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "FOO"])
@pytest.mark.parametrize(
    "path", ["/nothing", "/v1/nothing", "/v1%2Fnothing", "/v1//partitions", "/v1/partitions/1", "/v1/../v1", "/static/x", "/%ff"]
)
def test_an_unknown_path_is_a_404_with_any_method(client, method, path):
    assert_problem(client.open(path, method=method), 404, "not-found")


@pytest.mark.parametrize(
    "path", ["/docs/nothing", "/docs//index.html", "/docs/%2e%2e/x", "/docs/..%2f..%2fx", "/docs/%00", "/docs/%ff"]
)
def test_an_unknown_page_of_the_reference_is_a_404(client, path):
    assert_problem(client.get(path), 404, "not-found")


def test_a_wrong_method_is_a_405_that_names_the_right_ones(client):
    response = client.delete("/v1/partitions")
    assert_problem(response, 405, "method-not-allowed")
    assert "POST" in response.headers["Allow"]


@pytest.mark.parametrize("body", [b"", b"{", b'{"keys": [NaN]}', b"\xff", b'{"keys": ["\\ud800", NaN]}'])
def test_malformed_json_is_a_400(client, body):
    assert_problem(client.post("/v1/partitions", data=body, content_type="application/json"), 400, "bad-request")


@pytest.mark.parametrize("media_type", ["text/plain", "application/xml", ""])
def test_a_wrong_media_type_is_a_415_that_names_the_right_ones(client, media_type):
    response = client.post("/v1/replica-placements", data=b"{}", content_type=media_type)
    given = f", not {media_type}" if media_type else ""
    detail = assert_problem(response, 415, "unsupported-media-type")["detail"]
    assert detail == f"Content-Type must be application/json{given}."
    detail = client.post("/v1/partitions", data=b"key", content_type="text/csv").json["detail"]
    assert detail == "Content-Type must be application/json or application/vnd.apache.arrow.stream, not text/csv."


def test_a_body_over_the_limit_is_a_413():
    client = create_app(Settings(max_body_bytes=100)).test_client()
    response = client.post("/v1/partitions", json={**PARTITIONS, "keys": ["x" * 100]})
    assert_problem(response, 413, "request-entity-too-large")


def test_more_keys_than_the_limit_are_a_422_that_names_it():
    client = create_app(Settings(max_keys=3)).test_client()
    document = assert_problem(
        client.post("/v1/partitions", json={**PARTITIONS, "keys": ["k"] * 4}), 422, "limit-exceeded", "/keys"
    )
    assert "ALLOCATOR_MAX_KEYS" in document["detail"]


def test_an_unknown_field_is_a_422_that_points_at_it(client):
    assert_problem(client.post("/v1/partitions", json={**PARTITIONS, "colour": 1}), 422, "invalid-request", "/colour")


@pytest.mark.parametrize("value", [True, 1.0, "1", None, [1], 2**31, 0, -1])
def test_an_integer_is_an_integer_in_its_range(client, value):
    response = client.post("/v1/partitions", json={**PARTITIONS, "partitions_count": value})
    assert_problem(response, 422, "invalid-request", "/partitions_count")


def test_an_unknown_field_of_a_row_suggests_the_one_that_may_be_meant(client):
    topic = {"topic_nam": "t", "partition_ids": [0]}
    body = {"topics": [], "members": [{"member_id": "a", "topic_namez": ["t"], "owned_partitions": [topic]}]}
    errors = {error["pointer"]: error["detail"] for error in client.post("/v1/group-assignments", json=body).json["errors"]}
    assert errors["/members/0/topic_namez"] == "Unknown field. Did you mean 'topic_names'?"
    assert errors["/members/0/owned_partitions/0/topic_nam"] == "Unknown field. Did you mean 'topic_name'?"


def test_an_unknown_field_suggests_one_that_is_missing_rather_than_another(client):
    """Of the two, ``rack_id`` is more like it."""
    errors = client.post("/v1/group-assignments", json={"topics": [], "members": [{"id": "a"}]}).json["errors"]
    assert {"pointer": "/members/0/id", "detail": "Unknown field. Did you mean 'member_id'?"} in errors


def test_unknown_fields_are_in_the_same_order_in_each_process(client):
    names = [f"x{i:02}" for i in range(20)]
    body = {**PARTITIONS, "partitions_count": 0, **dict.fromkeys(names[::-1], 1)}
    pointers = [error["pointer"] for error in client.post("/v1/partitions", json=body).json["errors"]]
    assert pointers == ["/partitions_count", *(f"/{name}" for name in names)]


def test_an_unknown_strategy_is_a_422_that_suggests_known_ones(client):
    response = client.post("/v1/partitions", json={**PARTITIONS, "partitioner": "librdkafka:murmer2"})
    assert "'librdkafka:murmur2'" in assert_problem(response, 422, "unknown-strategy", "/partitioner")["detail"]


@pytest.mark.parametrize(
    ("text", "kind"), [("[]", "a list"), ("1", "a number"), ('"x"', "a string"), ("true", "a boolean"), ("null", "null")]
)
def test_a_body_that_is_no_object_is_a_422_that_says_what_it_is(client, text, kind):
    response = client.post("/v1/group-assignments", data=text.encode(), content_type="application/json")
    assert assert_problem(response, 422, "invalid-request", "")["errors"][0]["detail"] == f"Not an object but {kind}."


def test_a_row_that_is_no_object_is_a_422_that_says_what_it_is(client):
    body = {"topics": [{"topic_name": "a", "partitions_count": 1}, "orders"], "members": [{"member_id": "c1"}, 2.5]}
    errors = {error["pointer"]: error["detail"] for error in client.post("/v1/group-assignments", json=body).json["errors"]}
    assert errors == {"/topics/1": "Not an object but a string.", "/members/1": "Not an object but a number."}


def test_kafkas_own_refusal_is_a_422_in_kafkas_words(client):
    body = {"placer": "striped", "partitions_count": 1, "replication_factor": 3, "brokers": [{"broker_id": 0}]}
    document = assert_problem(client.post("/v1/replica-placements", json=body), 422, "invalid-replication-factor")
    assert document["exception"] == "org.apache.kafka.common.errors.InvalidReplicationFactorException"
    assert document["message"].startswith("The target replication factor of 3 cannot be reached")


def test_a_request_that_takes_too_long_is_a_503_with_retry_after(monkeypatch):
    app = create_app(Settings(max_request_seconds=1))
    monkeypatch.setattr("time.perf_counter", iter(range(0, 1000, 10)).__next__)
    response = app.test_client().post("/v1/partitions", json=PARTITIONS)
    assert_problem(response, 503, "service-unavailable")
    assert response.headers["Retry-After"]


def test_an_unforeseen_error_is_a_500_without_a_traceback(caplog):
    app = create_app()

    @app.get("/broken")
    def broken() -> str:
        raise KeyError("secret")

    response = app.test_client().get("/broken")
    assert_problem(response, 500, "internal-error")
    assert b"secret" not in response.data
    assert "secret" in caplog.text


def test_half_a_surrogate_pair_is_quoted_back(client):
    body = b'{"partitioner": "\\ud800", "partitions_count": 1, "keys": []}'
    response = client.post("/v1/partitions", data=body, content_type="application/json")
    assert "\\ud800" in assert_problem(response, 422, "unknown-strategy", "/partitioner")["detail"]


def test_a_body_shorter_than_its_length_says_is_a_400(client):
    body = b'{"partitions_count": 1, "keys": []}'
    response = client.post(
        "/v1/partitions", data=body, content_type="application/json", environ_overrides={"CONTENT_LENGTH": str(len(body) + 1)}
    )
    assert_problem(response, 400, "bad-request")


def test_paths_and_methods_that_do_not_exist(client):
    assert client.get("/v1/nothing").json["detail"] == "There is no such resource; GET /openapi.yaml lists all."
    response = client.put("/v1/replica-placements")
    assert response.json["detail"] == "PUT is not allowed here; allowed are OPTIONS, POST."
    assert set(response.headers["Allow"].split(", ")) == {"OPTIONS", "POST"}
