"""Lists of integers are taken out of a JSON text and put back where they were."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.core.model import Ragged
from service.http.json import arrays
from tests.reference import json_integer_lists as reference

INTEGERS = st.lists(st.integers(0, 2**31 - 1), max_size=4)
VALUES = st.recursive(
    st.text(max_size=4) | st.integers() | st.booleans() | st.none() | INTEGERS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)
PIECES = st.lists(st.sampled_from(['"', "\\", "[", "]", ",", " ", "\n", "0", "7", "01", "-1", "1.5", "2147483648", "{", "x"]))


@pytest.fixture(autouse=True, scope="module")
def always():
    """Short lists are taken out as well."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrays, "WORTH_IT", 0)
        yield


def lists_of(taken):
    offsets = [0]
    for length in taken.lengths.tolist():
        offsets.append(offsets[-1] + length)
    rows = Ragged(offsets, taken.values)
    return [rows.row(i).tolist() for i in range(len(rows))]


@given(VALUES.map(lambda value: json.dumps(value).encode()) | PIECES.map(lambda pieces: "".join(pieces).encode()))
def test_takes_out_what_its_plain_twin_does(text):
    taken = arrays.take_out(text)
    assert (taken and (taken.rest, lists_of(taken))) == reference.taken_out(text)


@pytest.mark.parametrize("text", [b"[1", b"[1,]", b"[01]", b"[-1]", b"[1.0]", b"[1, null]", b"[2147483648]", b"[99999999999]"])
def test_leaves_a_text_alone_whose_list_begins_with_a_number_and_is_not_one_of_integers(text):
    assert arrays.take_out(text) is None


@given(st.lists(INTEGERS, max_size=6))
def test_puts_them_back_where_they_were(lists):
    taken = arrays.take_out(json.dumps(lists).encode())
    rows = pa.array(json.loads(taken.rest), pa.list_(pa.int32()))
    assert arrays.put_back(rows, (), taken).to_pylist() == lists


@pytest.mark.parametrize("rows", [[[0]], [[0], [0], [0]], [[0], [0, 0]], [[0], None], [[0], [None]]])
def test_does_not_put_them_where_there_are_not_as_many_places(rows):
    taken = arrays.take_out(b"[[1,2],[3]]")
    assert arrays.put_back(pa.array(rows, pa.list_(pa.int32())), (), taken) is None


def test_short_lists_are_not_worth_it(monkeypatch):
    monkeypatch.setattr(arrays, "WORTH_IT", 8)
    assert arrays.take_out(b"[[1,2],[3]]") is None


def test_a_large_body_without_any_integer_list(client):
    topics = [{"topic_name": f"topic-{i}", "partitions_count": 1} for i in range(1_000)]
    members = [{"member_id": f"m-{i}", "topic_names": [topic["topic_name"] for topic in topics]} for i in range(100)]
    body = json.dumps({"topics": topics, "members": members})
    assert len(body) > 2**20
    assert client.post("/v1/group-assignments", data=body, content_type="application/json").status_code == 200
