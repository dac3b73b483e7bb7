"""A list of strings is taken out of a JSON text, and the answer is the same as if it had not been."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.http import keys
from service.http.json import arrays
from tests.reference import json_string_lists as reference

ODD = ["keys", "12345678", "abcdefg", "é", "\N{GRINNING FACE}", "\x7f", "\\n", '\\"', "\x1f", "\0"]
PIECES = st.lists(
    st.sampled_from([*ODD, '"', '"keys"', '"keys":[', '"a"', "null", "nul", "[", "]", "{", "}", ":", ",", " ", "\n", "\\", "1"]),
    max_size=25,
).map(lambda pieces: "".join(pieces).encode())
STRINGS = st.lists(st.sampled_from(ODD[:-1]), max_size=5).map(lambda parts: f'"{"".join(parts)}"') | st.just("null")
BLANK = st.sampled_from(["", " ", "\n\t"])
LISTS = st.tuples(st.lists(STRINGS, max_size=6), BLANK).map(lambda drawn: "[" + f"{drawn[1]},{drawn[1]}".join(drawn[0]) + "]")
OTHERS = st.sampled_from(['"a":1', '"x":"keys"', '"y":{"keys":["a"]}', '"z":[["keys"]]', '"keyss":["a"]', '"w":"\\"keys\\":["'])
BODIES = st.tuples(st.lists(OTHERS, unique=True), LISTS, BLANK, st.lists(OTHERS, max_size=1)).map(
    lambda drawn: ("{" + ",".join([*drawn[0], f'"keys"{drawn[2]}:{drawn[2]}{drawn[1]}', *drawn[3]]) + "}").encode()
)


@given(PIECES | BODIES | st.binary(max_size=20).map(lambda data: b'{"keys":["' + data + b'"]}'))
def test_takes_out_what_its_plain_twin_does(text):
    taken = arrays.take_out_texts(text, "keys")
    assert (taken and (taken[0], taken[1].to_pylist())) == reference.taken_out(text, "keys")


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[",
        b'{"keys":[]}',
        b'{"keys":["a",]}',
        b'{"keys":["a"',
        b'{"keys":["a',
        b'{"keys":["\\n"]}',
        b'{"keys":["a",1]}',
        b'{"keys":["\xff"]}',
        b'{"keys":["\xed\xa0\x80"]}',
        b'{"keys":["a\nb"]}',
        b'{"x":{"keys":["a"]}}',
        b'{"keys":["a"nul]}',
    ],
)
def test_leaves_a_text_alone_that_has_no_list_of_plain_strings(text):
    assert arrays.take_out_texts(text, "keys") is None


def answers(client, monkeypatch, path: str, body: bytes) -> list[tuple[int, bytes]]:
    """The service's answers with and without the array."""
    found = []
    for large in (0, 2**30):
        monkeypatch.setattr(keys, "LARGE", large)
        response = client.post(path, data=body, content_type="application/json")
        found.append((response.status_code, response.data))
    return found


STATUSES = {
    b'"keys": ["a", null, "\xc3\xa9", ""]': 200,
    b'"keys": ["a", "\\u00e9"]': 200,
    b'"keys": ["0a", "ff"], "key_format": "hex"': 200,
    b'"keys": ["a", "ff"], "key_format": "hex"': 422,
    b'"keys": ["1", "2"], "key_format": "long"': 422,
    b'"keys": [null, null], "key_format": "long"': 200,
    b'"keys": ["NaN", "Infinity"], "key_format": "double"': 200,
    b'"keys": ["a"], "key_format": "boolean"': 422,
    b'"keys": ["a"], "kes": 1': 422,
    b'"keys": ["a"], "keys": ["b"]': 422,
    b'"keys": ["a"], "records": [{}]': 422,
    b'"keys": ["a"], "x" 1': 400,
    b'"keys": ["a"]]': 400,
    b'"keys": ["\xff"]': 400,
}


@pytest.mark.parametrize("members", STATUSES)
def test_the_answer_is_the_same(client, monkeypatch, members):
    array, objects = answers(client, monkeypatch, "/v1/partitions?explain=true", b'{"partitions_count": 5, ' + members + b"}")
    assert array == objects
    assert array[0] == STATUSES[members]


def test_a_comparison_shows_the_same_keys(client, monkeypatch):
    body = json.dumps({"partitions_count": 7, "keys": [f"order-{i}" for i in range(20)]}).encode()
    array, objects = answers(client, monkeypatch, "/v1/partitioner-comparisons", body)
    assert array == objects
    assert array[0] == 200
