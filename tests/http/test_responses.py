"""Which of JSON, CSV and Arrow an answer is: the one that ``Accept`` prefers."""

from __future__ import annotations

import csv
import io
import json
import tracemalloc
from types import SimpleNamespace

import pyarrow as pa
import pytest
from flask import request

from service.http.application import PROGRESS
from service.http.deciding import json_response
from service.http.json.codec import LongText
from service.http.memory import RESERVED
from tests.http.test_problems import assert_problem

ARROW = "application/vnd.apache.arrow.stream"
KEYS = {"keys": ["a", "b", "c"]}
BROKERS = [{"broker_id": i} for i in range(3)]
QUESTIONS = {
    "/v1/partitions": ({"partitions_count": 3, **KEYS}, 3, "record,partition_id"),
    "/v1/coordinators": ({"group_id": 'a,"b"'}, 1, "kafka_version,topic_name,partition_id,partitions_count,coordinator_key"),
    "/v1/group-assignments": (
        {"topics": [{"topic_name": "t", "partitions_count": 4}], "members": [{"member_id": "m"}]},
        4,
        "topic_name,partition_id,member_id",
    ),
    "/v1/replica-placements": (
        {"partitions_count": 5, "replication_factor": 2, "brokers": BROKERS},
        5,
        "topic_name,partition_id,replicas",
    ),
    "/v1/partitioner-comparisons": ({"partitioners": ["java", "sarama"], "partitions_count": 3, **KEYS}, None, None),
    "/v1/partition-count-plans": ({"partitions_counts": [3, 6], **KEYS}, None, None),
    "/v1/keyless-distributions": (
        {"partitions": [{"partition_id": 0, "leader_id": 0}, {"partition_id": 1, "leader_id": 1}], "brokers": BROKERS[:2]},
        2,
        "partition_id,share",
    ),
}


@pytest.mark.parametrize("path", QUESTIONS)
def test_every_computing_answer_is_also_a_table(client, path):
    body, rows, names = QUESTIONS[path]
    answer = client.post(path, json=body, headers={"Accept": "text/csv"})
    if answer.status_code == 422:
        pytest.fail(answer.text)
    assert answer.mimetype == "text/csv"
    found = list(csv.DictReader(io.StringIO(answer.text, newline="")))
    assert found
    if rows is not None:
        assert len(found) == rows
        assert ",".join(found[0]) == names
    table = pa.ipc.open_stream(client.post(path, json=body, headers={"Accept": ARROW}).data).read_all()
    assert len(table) == len(found)


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        (None, "application/json"),
        ("", "application/json"),
        ("*/*", "application/json"),
        ("image/png", "application/json"),
        ("text/csv", "text/csv"),
        ("TEXT/CSV", "text/csv"),
        ("text/*", "text/csv"),
        ("text/csv; charset=utf-8", "text/csv"),
        ("text/csv;q=0.5, application/json;q=0.9", "application/json"),
        ("text/csv;q=0.9, application/json;q=0.5", "text/csv"),
        ("application/json;q=0.1, */*;q=0.05, text/csv;q=0.2", "text/csv"),
        ("*/*;q=0.1, text/csv", "text/csv"),
        ("text/csv;q=0, */*", "application/json"),
        ("application/json;q=0, text/csv;q=0.001", "text/csv"),
        (f"{ARROW}, text/csv;q=0.9", ARROW),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "application/json"),
        ("text/csv;q=nonsense, application/json;q=0.5", "application/json"),
        (";;,q=", "application/json"),
        ("application/json;q=0, */*", ARROW),
        ("application/json;q=0, text/*;q=0.5, */*;q=0.1", "text/csv"),
        ("application/*;q=0, */*", "text/csv"),
        ("application/*;q=0.2, application/json;q=0.9, text/csv;q=0.5", "application/json"),
        ("application/*, application/json;q=0.1, text/csv;q=0.5", ARROW),
        (f"*/*, application/json;q=0, {ARROW};q=0", "text/csv"),
        ("*/*;q=0, application/json", "application/json"),
        ("text/csv;q=0", "application/json"),
        ("application/json;charset=utf-8;q=0, text/csv", "text/csv"),
        ("*/*;q=0.0001", "application/json"),
    ],
)
def test_the_answer_is_what_the_accept_header_prefers(client, accept, expected):
    headers = {} if accept is None else {"Accept": accept}
    response = client.get("/v1/partitions?key=a&partitions_count=3", headers=headers)
    assert response.mimetype == expected


def test_a_problem_is_a_problem_document_whatever_the_accept_header(client):
    response = client.get("/v1/partitions?key=a", headers={"Accept": "text/csv"})
    assert response.status_code == 422
    assert response.mimetype == "application/problem+json"


def test_names_with_commas_quotes_and_line_ends_come_back_as_they_were(client):
    name = 'a,"b"\nc\r\n'
    body = {"topics": [{"topic_name": "t", "partitions_count": 1}], "members": [{"member_id": name}]}
    answer = client.post("/v1/group-assignments", json=body, headers={"Accept": "text/csv"})
    assert next(csv.DictReader(io.StringIO(answer.text, newline="")))["member_id"] == name


FORMULAS = ("=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", "\nx", "＝1", "a=1", "a\n=1", "'=1")
ESCAPED = ("'=1+1", "'+1", "'-1", "'@SUM(A1)", "'\tx", "'\rx", "'\nx", "'＝1", "a=1", "a\n=1", "'=1")


@pytest.mark.parametrize(
    ("accept", "members"),
    [
        ("text/csv", FORMULAS),
        ("text/csv; header=present", FORMULAS),
        ("text/csv; header=present; formulas=escape", ESCAPED),
        ('TEXT/CSV;formulas="ESCAPE";q=0.9, application/json;q=0.1', ESCAPED),
        ("text/csv;formulas=escape;q=0, text/csv", FORMULAS),
    ],
)
def test_formulas_in_csv_are_escaped_on_request(client, accept, members):
    """``=HYPERLINK(…)`` in a member's id is evaluated by the spreadsheet that opens the file."""
    topic = {"topic_name": "t", "partitions_count": len(FORMULAS)}
    body = {"topics": [topic], "members": [{"member_id": name} for name in FORMULAS], "assignor": "roundrobin"}
    answer = client.post("/v1/group-assignments", json=body, headers={"Accept": accept})
    rows = list(csv.DictReader(io.StringIO(answer.text, newline="")))
    assert {row["member_id"] for row in rows} == set(members)
    assert sorted(int(row["partition_id"]) for row in rows) == list(range(len(FORMULAS)))
    assert ("formulas=escape" in answer.content_type) == (members is ESCAPED)
    assert answer.mimetype == "text/csv"


@pytest.mark.parametrize(
    "accept",
    [
        "*/*;q=0",
        "application/json;q=0",
        "application/*;q=0",
        f"application/json;q=0, {ARROW};q=0, text/*;q=0, */*",
        "*/*;q=0, image/png",
    ],
)
def test_what_excludes_every_answer_is_a_406(client, accept):
    response = client.get("/v1/partitions?key=a&partitions_count=3", headers={"Accept": accept})
    assert_problem(response, 406, "not-acceptable")
    assert "application/json" in response.json["detail"]


def test_an_operation_without_a_table_is_json_or_a_406(client):
    body = {"kind": "subscription", "bytes_base64": "AAAAAAAA/////w=="}
    topic = {"topic_name": "t", "partitions_count": 3}
    for path, question in (("/v1/decodings", body), ("/v1/co-partitionings", {"topics": [topic, topic | {"topic_name": "u"}]})):
        for accept in ("*/*", "text/csv", "text/csv, */*"):
            assert client.post(path, json=question, headers={"Accept": accept}).status_code != 406
        answer = client.post(path, json=question, headers={"Accept": "application/json;q=0, */*"})
        assert_problem(answer, 406, "not-acceptable")


@pytest.mark.parametrize("name", ["partitioners", "assignors", "placers"])
def test_a_catalogue_is_also_a_table(client, name):
    rows = client.get(f"/v1/{name}").json[name]
    table = pa.ipc.open_stream(client.get(f"/v1/{name}", headers={"Accept": ARROW}).data).read_all()
    assert table.to_pylist() == rows
    answer = client.get(f"/v1/{name}", headers={"Accept": "text/csv"})
    assert answer.mimetype == "text/csv"
    as_texts = [{key: _as_text(value) for key, value in row.items()} for row in rows]
    assert list(csv.DictReader(io.StringIO(answer.text, newline=""))) == as_texts


def _as_text(value):
    """A value as CSV has it."""
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(value) if isinstance(value, list) else value or ""


@pytest.mark.parametrize("exact", [True, False])
def test_a_large_answer_lets_go_of_what_has_been_sent(app, exact):
    """The server has the pieces, and frees each when it is sent; the response holds none of them. If its size is known, they are
    made only then, and no memory is reserved for them.
    """
    tracemalloc.start()
    with app.test_request_context():
        request.environ.update({RESERVED: 0, PROGRESS: SimpleNamespace(app=app)})
        pieces = (b"%d" % i * 2**20 for i in range(10, 19))
        response = json_response({"rows": LongText(pieces, 9 * 2**21, exact=exact)})
        assert request.environ[RESERVED] == (0 if exact else 9 * 2**21)
    held = [tracemalloc.get_traced_memory()[0] for _ in response.iter_encoded()]
    tracemalloc.stop()
    assert response.content_length == 9 * 2**21 + len('{"rows":}')
    assert held[0] < 2**23 if exact else held[0] > 9 * 2**21
    assert held[-1] < 2**21, held


@pytest.mark.parametrize("count", [100, 200_000])
def test_small_and_large_answers_have_their_length(client, count):
    """The large one is made while it is sent, and is one JSON document all the same."""
    body = {"partitions_count": count, "replication_factor": 2, "brokers": BROKERS}
    response = client.post("/v1/replica-placements", json=body)
    assert response.headers["Content-Length"] == str(len(response.data))
    document = json.loads(response.data)
    assert [row["partition_id"] for row in document["placements"]] == [*range(count)]
    reassigned = document["reassignment"]["partitions"]
    assert [row["replicas"] for row in reassigned] == [row["replicas"] for row in document["placements"]]
