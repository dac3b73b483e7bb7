"""Bodies that are almost JSON: a small one and the same one padded to a large one, which other parsers read, get one answer."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

BODIES = {
    "/v1/partitions": {"partitions_count": 12, "keys": ["a", "é", "\ud800", None, "b" * 20, "c", "d", "e"]},
    "/v1/group-assignments": {
        "topics": [{"topic_name": "t", "partitions_count": 12}, {"topic_name": "ü", "partitions_count": 3}],
        "members": [
            {"member_id": "m", "owned_partitions": [{"topic_name": "t", "partition_ids": list(range(10))}]},
            {"member_id": "n", "topic_names": ["t", "ü"], "rack_id": None},
        ],
    },
    "/v1/replica-placements": {"partitions_count": 3, "replication_factor": 1, "brokers": [{"broker_id": 0, "rack_id": "é"}]},
    "/v1/partition-count-plans": {"partitions_counts": [3, 6], "histogram": [{"key": "é", "records": 3, "bytes": 4}]},
}
PADDING = b" " * 2**20  # what every family takes for large
ENCODINGS = st.sampled_from(["utf-8", "utf-8", "utf-8", "utf-16", "utf-16-le", "utf-32-be", "latin-1", "utf-8-sig"])
PIECES = st.sampled_from(
    [b"", b"[", b"]", b"{", b"}", b'"', b",", b":", b"\\", b"\\ud800", b"\\u00e9", b"\xff", b"\xed\xa0\x80", b"\0", b"-0", b"1e2",
     b"0.0",
     b"null", b"true", b"NaN", b"99999999999", b'"a":1,', b"\xef\xbb\xbf", b"\xc3", b"\n", b"\x1f", b"/**/"]
)  # fmt: skip


@st.composite
def altered(draw):
    path = draw(st.sampled_from(sorted(BODIES)))
    text = json.dumps(BODIES[path], ensure_ascii=draw(st.booleans()))
    body = text.encode(draw(ENCODINGS), "replace")
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(1, len(body)))
        end = draw(st.integers(start, min(len(body), start + 8)))
        body = body[:start] + draw(PIECES) + body[end:]
    return path, body


@settings(max_examples=100)
@given(altered())
def test_a_small_body_and_the_same_one_padded_get_one_answer(app, case):
    (path, body), client = case, app.test_client()
    small = client.post(path, data=body, content_type="application/json")
    assert small.status_code < 500, small.data
    if small.status_code != 400 and body.startswith(b"{"):
        large = client.post(path, data=b"{" + PADDING + body[1:], content_type="application/json")
        assert large.status_code == small.status_code, (small.data, large.data)
        if small.status_code == 200:
            assert large.data == small.data
        else:
            assert large.json["errors"] == small.json["errors"]
    else:
        assert client.post(path, data=PADDING + body, content_type="application/json").status_code == small.status_code
