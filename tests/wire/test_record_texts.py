"""Records written as JSON by the million are those that are read one by one."""

from __future__ import annotations

import json
import time
from contextlib import nullcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.core.clock import limited
from service.wire import record_texts
from service.wire.coordinator_records import read_group_record, read_share_group_state_record
from service.wire.errors import Unreadable
from service.wire.record_texts import UNREAD, VALUE, read_group_records, read_share_group_state_records
from tests.support.captures import captures
from tests.support.time_limits import Looks, Over
from tests.support.wire_encoding import varint
from tests.wire.test_altered_bytes import altered
from tests.wire.test_offset_commits import as_keys

READERS = {
    "group_record": (read_group_record, read_group_records),
    "share_group_state_record": (read_share_group_state_record, read_share_group_state_records),
}
RECORDS = {kind: [(each.key, each.value) for each in captures() if each.kind == kind] for kind in READERS}


def in_bulk(kind, records, reserve=lambda _: None):
    """The document of each record; None where the kernel leaves it."""
    with limited(Looks(lambda: None), reserve):
        texts = READERS[kind][1](as_keys([key for key, _ in records]), as_keys([value for _, value in records]))
    lines = iter(texts.lines())
    return [None if unread else json.loads(next(lines)) for unread in (texts.kind == UNREAD).tolist()]


def one_by_one(kind, key, value):
    try:
        record = READERS[kind][0](key, value)
    except Unreadable:
        return None
    version = {"value_version": record.version, "value": record.value}
    return {"record_type": record.type, "record_name": record.name, "key": record.key, **version}


@pytest.mark.parametrize("kind", READERS)
def test_every_captured_record_has_the_same_text(kind):
    for bulk, record in zip(in_bulk(kind, RECORDS[kind]), RECORDS[kind], strict=True):
        alone = one_by_one(kind, *record)
        assert bulk == alone or (bulk is None and "\ufffd" in str(alone))  # what is not UTF-8 is left to the other reader


@given(st.lists(altered(), min_size=1, max_size=8))
def test_altered_records_have_the_same_text_or_are_left_to_the_other_reader(found):
    for kind in READERS:
        records = [(each.key, each.value) for each in found]
        for bulk, pair in zip(in_bulk(kind, records), records, strict=True):
            assert bulk is None or bulk == one_by_one(kind, *pair), pair


def test_a_text_that_outgrows_its_room_is_begun_again():
    topology = max(RECORDS["group_record"], key=lambda pair: len(pair[1] or b""))
    small = (b"\x00\x17\x00\x01g", b"\x00\x00\x00\x00\x00\x01\x81\x08" + b"\x01" * 8 * 1000)  # a thousand empty subtopologies
    sizes = []
    assert in_bulk("group_record", [small, topology, small], sizes.append) == [
        one_by_one("group_record", *pair) for pair in (small, topology, small)
    ]
    assert len(sizes) > 1


def test_a_repeated_tag_is_left_to_the_other_reader():
    repeated = b"\x00\x04" + bytes(8) + b"\xff" * 4 + b"\x01" + bytes(8) + b"\x02" + 2 * (b"\x00\x10" + b"\x07" * 16)
    key = b"\x00\x01\x00\x01g\x00\x01t" + bytes(4)
    assert in_bulk("group_record", [(key, repeated)]) == [None]
    assert one_by_one("group_record", key, repeated)["value"]["topicId"]


@pytest.mark.parametrize("count", [1, 2**15], ids=["one record", "many records"])
def test_the_kernel_looks_at_the_time_among_the_records_and_within_one(count, monkeypatch):
    """A body of 256 MB took 6 s whatever its limit. In this one are four looks, and none between rounds."""
    monkeypatch.setattr(record_texts, "FIRST_BYTES", 32)  # the text has room
    subtopologies = 2**19 // count
    value = b"\x00\x00\x00\x00\x00\x01" + varint(subtopologies + 1) + (b"\x01" * 7 + b"\x00") * subtopologies + b"\x00"
    keys, values = as_keys([b"\x00\x17\x00\x01g"] * count), as_keys([value] * count)

    def seconds(*limit) -> float:
        started = time.thread_time()
        with pytest.raises(TimeoutError) if limit else nullcontext(), limited(*limit) if limit else nullcontext():
            assert (read_group_records(keys, values).kind == VALUE).all()
        return time.thread_time() - started

    whole = min(seconds() for _ in range(2))  # the first may load the kernel
    assert seconds(Over(on_clock=True)) < whole / 2
    assert seconds(Over(on_clock=False)) < whole / 2
