"""Records written as lines of JSON are those that are read one by one."""

from __future__ import annotations

import json
import re

import pytest

from service.core.budget import limited
from service.wire.coordinator_records import (
    TOMBSTONE,
    UNREAD,
    VALUE,
    read_group_record,
    read_records,
    read_share_group_state_record,
)
from tests.support.captures import captures
from tests.support.time_limits import Looks
from tests.support.wire_encoding import varint
from tests.wire.test_offset_commits import as_keys

READERS = {"group_record": read_group_record, "share_group_state_record": read_share_group_state_record}


@pytest.mark.parametrize("kind", READERS)
def test_every_captured_record_has_a_line_and_an_unreadable_one_its_error(kind):
    records = [(b"\x7f\xff", None), *((each.key, each.value) for each in captures() if each.kind == kind), (b"", b"")]
    sizes = []
    keys, values = (as_keys(part) for part in zip(*records, strict=True))
    with limited(Looks(lambda: None, sizes.append)):
        texts = read_records(keys, values, READERS[kind])
    text = texts.text.tobytes()
    for row, record in enumerate(records):
        line = text[texts.offsets[row] : texts.offsets[row + 1]]
        if row in texts.unreadable:
            with pytest.raises(type(texts.unreadable[row]), match=re.escape(str(texts.unreadable[row]))):
                READERS[kind](*record)
            assert (texts.kind[row], line) == (UNREAD, b"")
            continue
        read = READERS[kind](*record)
        assert texts.kind[row] == (TOMBSTONE if record[1] is None else VALUE)
        fields = {"record_type": read.type, "record_name": read.name, "key": read.key, "value_version": read.version}
        assert json.loads(line) == {**fields, "value": read.value}
        assert (texts.record_type[row], texts.version[row]) == (read.type, read.version or 0)
        for ends, document in ((texts.key[row], read.key), (texts.value[row], read.value)):
            assert json.loads(text[ends[0] : ends[1]]) == document
    assert set(texts.unreadable) == set((texts.kind == UNREAD).nonzero()[0].tolist()) >= {0, len(records) - 1}
    assert sum(sizes) > len(text)


@pytest.mark.parametrize("count", [1, 2**9], ids=["one record", "many records"])
def test_the_time_is_looked_at_among_the_records_and_within_one(count):
    subtopologies = 2**12 // count
    value = b"\x00\x00\x00\x00\x00\x01" + varint(subtopologies + 1) + (b"\x01" * 7 + b"\x00") * subtopologies + b"\x00"
    keys, values = as_keys([b"\x00\x17\x00\x01g"] * count), as_keys([value] * count)
    looks = []

    def look():
        looks.append(None)
        if len(looks) == 20:
            raise TimeoutError

    with limited(Looks(look)), pytest.raises(TimeoutError):
        read_records(keys, values, read_group_record)
