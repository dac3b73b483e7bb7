"""JSON is UTF-8: what another encoding hides from one parser, no other parser may read."""

from __future__ import annotations

import json
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from werkzeug.exceptions import BadRequest

from service.http import bodies
from service.http.bodies import PIECE
from tests.http.test_problems import assert_problem

LINES = ("/v1/decodings?kind=group_record", "application/x-ndjson")
PARTITIONS = ("/v1/partitions", "application/json")
GROUPS = ("/v1/group-assignments", "application/json")
ENCODINGS = ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be")
HIDDEN = {
    "a question": '{"partitions_count":12,"keys":["é"]}',
    "a question in ASCII": '{"partitions_count":12,"keys":["a"]}',
    "half a surrogate pair": '{"partitions_count":12,"keys":["\\ud800"]}',
    "a duplicate member": '{"partitions_count":12,"keys":["a"],"keys":["é"]}',
    "brackets": '{"é":' + "[" * 1_000 + "]" * 1_000 + "}",
    "many values": '{"é":[' + "[]," * 100_000 + "[]]}",
}


@pytest.mark.parametrize("target", [PARTITIONS, GROUPS, LINES])
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("name", HIDDEN)
def test_another_encoding_is_a_400_that_names_the_byte(client, target, encoding, name):
    path, media_type = target
    answer = client.post(path, data=HIDDEN[name].encode(encoding), content_type=media_type)
    assert assert_problem(answer, 400, "bad-request")["detail"].startswith("The body is not UTF-8 at byte ")


@pytest.mark.parametrize("target", [PARTITIONS, GROUPS, LINES])
@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"\xed\xa0\x80", "invalid continuation byte"),  # half a surrogate pair
        (b"\xff", "invalid start byte"),
        (b"\xc0\x80", "invalid start byte"),  # a NUL in two bytes, as in Java's modified UTF-8
        (b"\xf4\x90\x80\x80", "invalid continuation byte"),  # beyond U+10FFFF
    ],
)
def test_bytes_that_are_not_utf_8_are_a_400_that_names_the_place(client, target, raw, reason):
    path, media_type = target
    for before in (0, PIECE - 13, PIECE - 12, PIECE):
        answer = client.post(path, data=b'{"keys":["' + b"a" * before + raw + b'"]}', content_type=media_type)
        detail = assert_problem(answer, 400, "bad-request")["detail"]
        assert detail == f"The body is not UTF-8 at byte {10 + before}: {reason}."


@given(st.lists(st.text(max_size=3).map(str.encode) | st.binary(max_size=4), max_size=6).map(b"".join))
def test_the_pieces_of_a_text_are_refused_where_the_whole_is(text):
    try:
        text.decode()
        offset = text.find(0)
    except UnicodeDecodeError as error:
        offset = text.find(0) if 0 in text else error.start
    with patch.object(bodies, "PIECE", 3):
        if offset < 0:
            bodies.check_utf8(text)
        else:
            with pytest.raises(BadRequest, match=f"at byte {offset}: "):
                bodies.check_utf8(text)


def test_a_text_reserves_what_its_widest_character_takes(client, monkeypatch):
    """An error of orjson holds the text as a str, and so does the parser that takes over."""
    sizes = []
    monkeypatch.setattr(bodies, "reserve", sizes.append)
    for character in ("a", "é", "漢", "😀"):
        client.post("/v1/partitions", data="[" + character + " " * 99_999, content_type="application/json")
    assert [size // 100_000 for size in sizes] == [1, 1, 2, 4]


def test_a_body_that_ends_within_a_character_is_a_400(client):
    for before in (0, PIECE - 2, PIECE - 1):
        answer = client.post("/v1/partitions", data=b'"' + b"a" * before + b"\xe6\xbc", content_type="application/json")
        detail = assert_problem(answer, 400, "bad-request")["detail"]
        assert detail == f"The body is not UTF-8 at byte {1 + before}: unexpected end of data."


def test_a_character_may_lie_in_two_pieces(client):
    for before in range(4):
        body = b" " * (PIECE - 30 - before) + '{"partitions_count":12,"keys":["😀"]}'.encode()
        assert client.post("/v1/partitions", data=body, content_type="application/json").status_code == 200


@pytest.mark.parametrize("target", [PARTITIONS, GROUPS, LINES])
def test_a_byte_order_mark_is_a_400(client, target):
    """RFC 8259 (section 8.1) allows a parser to ignore one; here a body is JSON from its first byte on."""
    path, media_type = target
    body = b"\xef\xbb\xbf" + HIDDEN["half a surrogate pair"].encode()
    detail = assert_problem(client.post(path, data=body, content_type=media_type), 400, "bad-request")["detail"]
    assert "not JSON" in detail
    assert "byte order mark" in detail or "line 1" in detail.lower()


def test_limits_hold_for_the_parser_that_reads_half_surrogate_pairs(client):
    def answer(text: str):
        return client.post("/v1/partitions", data=text, content_type="application/json")

    assert answer('{"partitions_count":12,"keys":["\\ud800"]}').json == answer('{"partitions_count":12,"keys":["?"]}').json
    assert_problem(answer('{"partitions_count":12,"keys":["\\ud800"],"keys":[]}'), 422, "invalid-request", "/keys")
    assert answer('{"keys":["\\ud800"],"a":' + "[" * 1_000 + "]" * 1_000 + "}").status_code == 422


@pytest.mark.parametrize(
    "query", ["key=%FF", "key=%ED%A0%80", "key=a&%FF=b", "key=%C3", "key=%F0%9F%98", "key=a%00b%80&key_format=string"]
)
def test_a_query_that_is_not_utf_8_is_a_400(client, query):
    answer = client.get(f"/v1/partitions?partitions_count=12&{query}")
    assert "UTF-8 at %" in assert_problem(answer, 400, "bad-request")["detail"]
    answer = client.post(f"/v1/partitions?{query}", json={"partitions_count": 12, "keys": ["a"]})
    assert_problem(answer, 400, "bad-request")


def test_a_query_of_bytes_is_read_as_utf_8(client):
    def answer(query):
        return client.get("/v1/partitions", environ_overrides={"QUERY_STRING": query})

    encoded, as_bytes = "key=%C3%A9&partitions_count=1000", "key=\xc3\xa9&partitions_count=1000"
    assert answer(as_bytes).json == answer(encoded).json
    assert "UTF-8 at %FF" in assert_problem(answer("key=\xff&partitions_count=12"), 400, "bad-request")["detail"]


def test_percent_encoding_says_the_same_as_json(client):
    for key in ("é", "😀", "%", "100%", "a\0b", "+"):
        by_query = client.get("/v1/partitions", query_string={"partitions_count": 1_000, "key": key})
        by_body = client.post("/v1/partitions", json={"partitions_count": 1_000, "keys": [key]})
        assert by_query.json["partitions"] == by_body.json["partitions"], json.dumps(key)
