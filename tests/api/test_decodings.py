"""``/v1/decodings`` as a caller sees it."""

from __future__ import annotations

import base64
import json

import pyarrow as pa
import pytest

from service.api.decoded_records import table
from service.api.decodings import FORM
from service.core.budget import Budget, OutOfTime, limited
from service.core.kafka_versions import FORMATTERS_3_9, LATEST
from service.decisions.decodings import DecodingQuestion, RecordsToDecode
from service.decisions.decodings import answer as answered
from service.http.media_types import ARROW_STREAM
from service.http.parsers import JSON_LINES
from service.http.problems import kebab
from tests.support.captures import PROTOCOL, RECORDS, captures
from tests.support.golden import lines
from tests.support.time_limits import OVER
from tests.support.wire_encoding import classic_value, commit_key, commit_value
from tests.wire.test_offset_commits import as_keys

PATH = "/v1/decodings"
SUBSCRIPTION = "AAMAAAABAAVhLjNyOf////8AAAABAAVhLjNyOQAAAAMAAAAAAAAAAgAAApcAAAClAAx6b25lLTIvcm93LTE="


@pytest.mark.parametrize("name", RECORDS)
def test_records_are_read_and_printed_as_kafka_does(client, name):
    release = name.removeprefix("printed-by-") if name.startswith("printed-by-") else "4.3.1"
    for case in lines(f"offsets/{name}"):
        response = client.post(PATH, json={"kind": RECORDS[name], "kafka_version": release, **case["input"]})
        expected = case["expected"]
        assert response.status_code == (422 if "error" in expected else 200), (case["id"], response.text)
        assert {field: response.json.get(field, "absent") for field in expected} == expected, case["id"]
        if "error" in expected:
            refused(case, response.json)


@pytest.mark.parametrize("name", PROTOCOL)
def test_what_consumers_send_is_read_as_kafka_does(client, name):
    for case in lines(f"protocol/{name}"):
        response = client.post(PATH, json={"kind": case["kind"], "bytes_base64": case["bytes_base64"]})
        expected = case["decoded"]
        if "error" in expected:
            assert response.status_code == 422, (case["id"], response.text)
            assert {field: response.json[field] for field in expected} == expected, case["id"]
            refused(case, response.json)
        else:
            assert response.status_code == 200, (case["id"], response.text)
            assert (response.json["version"], response.json["decoded"]) == (case["version"], expected), case["id"]


def test_formatters_of_3_9_print_what_later_ones_cannot_read(client):
    """Neither knows the record type 99."""
    record = {"kind": "group_record", "key_base64": "AGM=", "value_base64": None}
    line = '{"key":{"version":99,"data":"unknown"},"value":null}'
    for release, *printed in (("3.9.1", line, ""), ("4.3.1", "", None), ("3.4.1", None, "")):
        problem = client.post(PATH, json={**record, "kafka_version": release})
        shown = [problem.json.get(name) for name in ("offsets_formatter", "scala_offsets_formatter")]
        assert (problem.status_code, shown) == (422, printed)


def test_formatters_of_3_4_are_those_that_3_9_deprecates(client):
    record = {"kind": "group_record", "key_base64": "AAIAAWc=", "value_base64": None}
    old, new = (client.post(PATH, json={**record, "kafka_version": release}).json for release in ("3.4.1", "3.9.1"))
    assert old["scala_group_metadata_formatter"] == new["scala_group_metadata_formatter"] == "g::NULL\n"
    assert "group_metadata_formatter" not in old


def test_formatters_of_2_8_fail_on_what_they_do_not_know(client):
    record = {"kind": "group_record", "kafka_version": "2.8.2", "key_base64": "AGM=", "value_base64": None}
    problem = client.post(PATH, json=record)
    assert problem.status_code == 422
    for name in ("scala_offsets_formatter", "scala_group_metadata_formatter"):
        assert problem.json[name]["message"] == "Unknown group metadata message version: 99"
    commit = record | {"key_base64": "AAEAAWcAAXQAAAAA", "value_base64": "AAQ="}
    assert client.post(PATH, json=commit).json["scala_offsets_formatter"]["message"] == "Unknown offset message version: 4"


def test_formatters_of_3_9_name_the_version_that_they_do_not_know(client):
    record = {"kind": "group_record", "kafka_version": "3.9.1", "key_base64": "AAEAAWcAAXQAAAAA", "value_base64": "AAU="}
    problem = client.post(PATH, json=record)
    assert problem.json["scala_offsets_formatter"] == {
        "error": "IllegalState",
        "exception": "java.lang.IllegalStateException",
        "message": "Unknown offset message version: 5",
    }


def refused(case, problem):
    """The problem has Kafka's name, and the place in the bytes."""
    assert problem["type"].endswith(":" + kebab(problem["error"])), case["id"]
    (error,) = problem["errors"]
    bytes_there = {**case, **case.get("input", {})}[error["pointer"].removeprefix("/")]
    assert 0 <= problem["offset"] <= len(base64.b64decode(bytes_there or "")), case["id"]


def test_a_subscription_is_also_a_member_that_can_be_assigned(client):
    capture = {"kind": "subscription", "bytes_base64": SUBSCRIPTION, "member_id": "c1", "instance_id": "i1"}
    member = client.post(PATH, json=capture).json["member"]
    assert member == {
        "member_id": "c1",
        "instance_id": "i1",
        "rack_id": "zone-2/row-1",
        "generation_id": 165,
        "topic_names": ["a.3r9"],
        "owned_partitions": [{"topic_name": "a.3r9", "partition_ids": [0, 2, 663]}],
    }
    topics = [{"topic_name": "a.3r9", "partitions_count": 700}]
    question = {"assignor": "cooperative-sticky", "topics": topics, "members": [member]}
    assert client.post("/v1/group-assignments", json=question).json["movement"]["retained"] == 3


def test_user_data_that_an_assignor_skips_is_marked_unreadable(client):
    answer = client.post(PATH, json={"kind": "sticky_user_data", "bytes_base64": "AAAAAQAB"}).json
    assert answer["decoded"] == {"previous_assignment": [], "generation": -1}
    assert answer["unreadable"] == {"offset": 6, "detail": "topic has a length of 1 bytes, and 0 are left"}
    assert "unreadable" not in client.post(PATH, json={"kind": "sticky_user_data", "bytes_base64": "AAAAAA=="}).json


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/kind"),
        ({"kind": "colour"}, "/kind"),
        ({"kind": "assignment"}, "/bytes_base64"),
        ({"kind": "assignment", "bytes_base64": "AAA"}, "/bytes_base64"),
        ({"kind": "assignment", "bytes_base64": "ä"}, "/bytes_base64"),
        ({"kind": "assignment", "bytes_base64": None}, "/bytes_base64"),
        ({"kind": "assignment", "bytes_base64": "AAA=", "key_base64": "AAA="}, "/key_base64"),
        ({"kind": "group_record", "key_base64": "AAA="}, "/value_base64"),
        ({"kind": "group_record", "value_base64": "AAA="}, "/key_base64"),
        ({"kind": "group_record", "key_base64": "AAA=", "value_base64": None, "kafka_version": "2.0"}, "/kafka_version"),
        ({"kind": "group_record", "bytes_base64": "AAA=", "key_base64": "AAA=", "value_base64": None}, "/bytes_base64"),
        (
            {"kind": "share_group_state_record", "key_base64": "AAA=", "value_base64": None, "kafka_version": "0.10.2.1"},
            "/kafka_version",
        ),
        ({"kind": "assignment", "bytes_base64": "AAA=", "colour": 1}, "/colour"),
    ],
)
def test_what_is_wrong_is_pointed_at(client, body, pointer):
    response = client.post(PATH, json=body)
    assert response.status_code == 422
    assert [error["pointer"] for error in response.json["errors"]] == [pointer]


def test_an_assignment_comes_back_as_owned_partitions(client):
    data = b"\x00\x00\x00\x00\x00\x02" + 2 * (b"\x00\x01t\x00\x00\x00\x01\x00\x00\x00\x04") + b"\xff\xff\xff\xff"
    answer = client.post(PATH, json={"kind": "assignment", "bytes_base64": base64.b64encode(data).decode()}).json
    assert answer["owned_partitions"] == [{"topic_name": "t", "partition_ids": [4, 4]}]


# ---- many records ----------------------------------------------------------------------------------------------------------


def captured(kind):
    return [capture for capture in captures() if capture.kind == kind]


def as_base64(data):
    return None if data is None else base64.b64encode(data).decode()


def as_rows(records):
    return [{"key_base64": as_base64(each.key), "value_base64": as_base64(each.value)} for each in records]


def as_stream(records):
    table = pa.table({name: pa.array([getattr(each, name) for each in records], pa.binary()) for name in ("key", "value")})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return {"data": sink.getvalue().to_pybytes(), "content_type": ARROW_STREAM}


@pytest.mark.parametrize("kind", ["group_record", "share_group_state_record"])
def test_each_of_many_records_has_the_answer_that_it_has_alone(client, kind):
    records = captured(kind)
    answers = client.post(PATH, json={"kind": kind, "records": as_rows(records)}).json["records"]
    for row, answer in zip(as_rows(records), answers, strict=True):
        alone = client.post(PATH, json={"kind": kind, **row}).json
        names = ("error", "exception", "message", "offset") if "error" in answer else tuple(answer)
        assert {name: alone[name] for name in names} == {name: answer[name] for name in names}
        if "error" in answer:
            assert alone["errors"] == [{"pointer": f"/{answer['part']}_base64", "detail": answer["detail"]}]


def test_a_stream_of_records_gives_a_stream_of_answers(client):
    records = captured("group_record")
    expected = client.post(PATH, json={"kind": "group_record", "records": as_rows(records)}).json["records"]
    lines = "\n".join(json.dumps(row) for row in as_rows(records)) + "\n\n"
    query = {"kind": "group_record"}
    answer = client.post(PATH, query_string=query, data=lines, content_type=JSON_LINES)
    assert answer.mimetype == JSON_LINES
    assert [json.loads(line) for line in answer.text.splitlines()] == expected
    answer = client.post(PATH, query_string=query, **as_stream(records))
    assert answer.mimetype == ARROW_STREAM
    table = pa.ipc.open_stream(answer.data).read_all().to_pylist()
    for row, document in zip(table, expected, strict=True):
        assert row["record_type"] == document.get("record_type")
        assert row["record_name"] == document.get("record_name")
        assert row["value_version"] == document.get("value_version")
        assert row["error"] == document.get("detail")
        for name in ("key", "value"):
            assert (None if row[name] is None else json.loads(row[name])) == document.get(name)
        if document.get("record_name") == "OFFSET_COMMIT" and document["value"] is not None and row["group_id"] is not None:
            assert (row["group_id"], row["committed_offset"]) == (document["key"]["group"], document["value"]["offset"])
            assert row["topic_id"] == document["value"].get("topicId")
    csv = client.post(PATH, query_string=query, headers={"Accept": "text/csv"}, **as_stream(records)).text
    assert csv.startswith('"record_type","record_name","key"')


def test_no_records_have_no_answers(client):
    for kind in ("group_record", "offsets_topic"):
        assert client.post(PATH, json={"kind": kind, "records": []}).status_code == 200
        assert client.post(PATH, query_string={"kind": kind}, data=b"", content_type=JSON_LINES).status_code == 200
        assert client.post(PATH, query_string={"kind": kind}, **as_stream([])).status_code == 200


def test_the_groups_of_a_topic_can_be_assigned(client):
    answer = client.post(PATH, query_string={"kind": "offsets_topic"}, **as_stream(captured("group_record"))).json
    assert answer["unreadable_count"] > 0
    assert answer["unreadable_records"][0]["error"]
    protocols = set()
    for state in answer["groups"]:
        group = state["group"]
        if group is None or not group["members"]:
            continue
        names = {name for member in group["members"] for name in member["topic_names"]}
        topics = [{"topic_name": name, "partitions_count": 3} for name in sorted(names)]
        assignor = {"classic": "range", "consumer": "uniform", "share": "simple"}[group["group_protocol"]]
        response = client.post("/v1/group-assignments", json={**group, "assignor": assignor, "topics": topics})
        assert response.status_code == 200 or "partition" in response.text, response.text
        protocols.add(group["group_protocol"])
    assert "classic" in protocols


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"kind": "group_record", "records": [{"key_base64": "AAM="}, {"key_base64": "A"}]}, "/records/1/key_base64"),
        ({"kind": "group_record", "records": [{"value_base64": "AAM="}]}, "/records/0/key_base64"),
        ({"kind": "group_record", "records": [{"key_base64": "\ud800"}]}, "/records/0/key_base64"),
        ({"kind": "group_record", "records": [], "key_base64": "AAM="}, "/key_base64"),
        ({"kind": "subscription", "records": []}, "/records"),
        ({"kind": "offsets_topic"}, "/records"),
        ({"kind": "group_record", "records": [], "topics": []}, "/topics"),
    ],
)
def test_records_that_do_not_fit_are_named(client, body, pointer):
    response = client.post(PATH, json=body)
    assert response.status_code == 422
    assert response.json["errors"][0]["pointer"] == pointer


def test_a_line_that_is_not_json_is_named(client):
    def ask(lines):
        return client.post(PATH, query_string={"kind": "group_record"}, data=lines, content_type="application/jsonl")

    assert ask(b'{"key_base64": "AAM="}\n\n{"key_base64"}\n').json["detail"].startswith("Line 3 of the body is not JSON")
    assert ask(b'{"key_base64": "AAM="}, {"key_base64": "AAM="}').status_code == 400
    assert ask(b'{"key_base64": "AAM=", "key_base64": "AAM="}').status_code == 422
    together = b'{"key_base64": "AAM="}\n{"key_base64": "AAM="}, {"key_base64": "AAM="\n"value_base64": null}'
    assert ask(together).json["detail"].startswith("Line 2 of the body is not JSON")
    response = client.post(PATH, query_string={"kind": "group_record", "records": "1"}, data=b"", content_type=JSON_LINES)
    assert response.json["errors"][0]["detail"] == "Not allowed: the stream has the records."


CONNECTOR = bytes(16) + (1).to_bytes(4) + bytes(14)
"""An assignment of a connector without tasks."""


@pytest.mark.parametrize(
    "question",
    [
        DecodingQuestion("subscription", LATEST, base64.b64decode(SUBSCRIPTION)),
        DecodingQuestion("assignment", LATEST, bytes(20)),
        DecodingQuestion("sticky_user_data", LATEST, bytes(20)),
        DecodingQuestion("connect_metadata", LATEST, b"\0\1\0\4http" + bytes(8) + (34).to_bytes(4) + CONNECTOR),
        DecodingQuestion("connect_assignment", LATEST, CONNECTOR),
        DecodingQuestion("group_record", LATEST, key=b"\0\3\0\1g"),
        DecodingQuestion("share_group_state_record", LATEST, key=bytes(40)),
    ],
    ids=lambda question: question.kind,
)
def test_one_message_is_read_within_its_time(question):
    """A body of 24 MB took 13 s of CPU, whatever its limit."""
    with pytest.raises(OutOfTime), limited(OVER):
        answered(question, OVER)


@pytest.mark.parametrize(
    "question",
    [
        DecodingQuestion("subscription", LATEST, bytes(6) + (4).to_bytes(4) + bytes(4), assignor="sticky"),
        DecodingQuestion("group_record", LATEST, key=b"\0\2\0\1g", value=classic_value({"m": {"t": [0]}}, 1)),
        DecodingQuestion("group_record", FORMATTERS_3_9, key=b"\0\2\0\1g", value=classic_value({}, 1)),
    ],
    ids=["user data", "members", "formatters"],
)
def test_what_is_read_for_the_document_is_read_within_its_time(question):
    answer = answered(question, Budget())
    with pytest.raises(OutOfTime), limited(OVER):
        FORM.document(answer)


@pytest.mark.parametrize(
    "capture",
    [
        {"kind": "assignment", "bytes_base64": "AAAA" * 2**20},
        {"kind": "subscription", "bytes_base64": "AAAA" * 2**20},
        {"kind": "group_record", "key_base64": "AAMAAWc=", "value_base64": "AAAA" * 2**20},
    ],
    ids=lambda capture: capture["kind"],
)
def test_one_message_reserves_the_memory_of_its_fields(client, monkeypatch, capture):
    sizes = []
    monkeypatch.setattr("service.http.application.App.reserve", lambda _hooks, _environ, size: sizes.append(size))
    client.post("/v1/decodings", json=capture)
    assert sum(sizes) >= 200 * 3 * 2**20


COMMIT = as_keys([commit_key("g", "t", 0)]), as_keys([commit_value(5, 0)])


def test_the_table_of_many_records_is_made_within_its_time():
    answer = answered(DecodingQuestion("group_record", LATEST, records=RecordsToDecode(*COMMIT, {})), Budget())
    with pytest.raises(OutOfTime), limited(OVER):
        table(answer)


@pytest.mark.parametrize("kind", ["group_record", "offsets_topic"])
def test_many_records_are_read_within_their_time(kind):
    with pytest.raises(OutOfTime), limited(OVER):
        answered(DecodingQuestion(kind, LATEST, records=RecordsToDecode(*COMMIT, {})), OVER)
