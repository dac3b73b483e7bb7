"""What reading bodies leaves behind, and answers in pieces."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from service.http.json.codec import SHORT_BYTES, LongText, dump_text, dumps


def test_answered_errors_are_forgotten(client):
    """Their tracebacks are cycles, which only the collector finds; reading a body must not hide them from it."""

    def refuse():
        for _ in range(500):
            client.post("/v1/coordinators", json={"group_id": 1})
        return len(gc.get_objects())

    refuse()
    before = refuse()
    assert refuse() < before + 17_000


def test_a_long_text_is_written_at_its_place():
    """Between other members, in lists, and also beside a text that holds the character which marks places."""
    rows = [b"[", b"1" * SHORT_BYTES, b",2", b"]"]
    rest = {"more": [LongText([b"{}"], 2, exact=True), np.arange(3)], "empty": LongText([b'""'], 2, exact=True)}
    document = {"a\0": "\0", "rows": LongText(iter(rows), 0, exact=False), **rest}
    whole = b'{"a\\u0000":"\\u0000","rows":%s,"more":[{},[0,1,2]],"empty":""}' % b"".join(rows)
    pieces = list(dump_text(document)[0].pieces)
    assert b"".join(pieces) == whole
    assert len(pieces) == 3
    assert pieces[1] is rows[1]


def test_many_short_pieces_are_joined_to_few():
    text, _ = dump_text({"rows": LongText((b"1" * 64 for _ in range(SHORT_BYTES // 8)), 0, exact=False)})
    pieces = list(text.pieces)
    assert b"".join(pieces) == b'{"rows":%s}' % (b"1" * 8 * SHORT_BYTES)
    assert len(pieces) == 9


def test_a_value_that_json_has_not_is_refused():
    with pytest.raises(TypeError, match="not JSON serializable: object"):
        dumps({"rows": LongText([b"1"], 1, exact=True), "other": object()})
