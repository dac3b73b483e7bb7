"""Offset commits read by the million are those that are read one by one."""

from __future__ import annotations

import base64

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from service.core.budget import limited
from service.core.model import Keys
from service.wire.coordinator_records import read_group_record
from service.wire.errors import Unreadable
from service.wire.offset_commits import COMMIT, OTHER, RECORDS_BETWEEN_LOOKS, TOMBSTONE, read_offset_commits
from tests.support.captures import captures
from tests.support.time_limits import Looks
from tests.wire.test_altered_bytes import altered

RECORDS = [(capture.key, capture.value) for capture in captures() if capture.kind == "group_record"]


def as_keys(rows):
    lengths = [0 if row is None else len(row) for row in rows]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    data = np.frombuffer(bytearray(b"".join(row or b"" for row in rows)), np.uint8)
    return Keys(offsets, data, np.array([row is not None for row in rows], np.bool_))


def text(keys, i):
    return bytes(keys.data[keys.offsets[i] : keys.offsets[i + 1]])


def rows_of(records):
    """What the kernel says of each record; None where it leaves it."""
    commits = read_offset_commits(as_keys([key for key, _ in records]), as_keys([value for _, value in records]))
    for i, kind in enumerate(commits.kind):
        if kind == OTHER:
            yield None
            continue
        key = {
            "group": text(commits.group, i).decode(),
            "topic": text(commits.topic, i).decode(),
            "partition": commits.partition[i],
        }
        if kind == TOMBSTONE:
            yield key, None
            continue
        assert kind == COMMIT
        topic_id = text(commits.topic_id, i)
        value = {
            "offset": commits.offset[i],
            "leaderEpoch": commits.leader_epoch[i],
            "metadata": text(commits.metadata, i).decode(),
            "commitTimestamp": commits.commit_timestamp[i],
            "expireTimestamp": commits.expire_timestamp[i],
            "topicId": base64.urlsafe_b64encode(topic_id)[:22].decode() or None,
        }
        yield key, value


def one_by_one(key, value):
    """The same from the general reader; None if it is no offset commit, "unreadable" if it cannot be read."""
    try:
        record = read_group_record(key, value)
    except Unreadable:
        return "unreadable"
    if record.type not in (0, 1):
        return None
    absent = {"leaderEpoch": -1, "expireTimestamp": -1, "topicId": None}
    return record.key, None if record.value is None else {**absent, **record.value}


def check(records):
    left = 0
    for (key, value), row in zip(records, rows_of(records), strict=True):
        expected = one_by_one(key, value)
        if row is None:
            left += expected is not None and expected != "unreadable"
        else:
            assert row == expected
    return left


def test_every_recorded_offset_commit_is_read_by_the_kernel():
    assert check(RECORDS) == 0
    commits = [row for row in rows_of(RECORDS) if row is not None]
    assert len(commits) > 50


@given(st.lists(st.one_of(st.sampled_from(RECORDS), altered().map(lambda found: (found.key, found.value))), max_size=8))
def test_what_the_kernel_reads_of_altered_records_is_what_the_general_reader_reads(records):
    check(records)


def test_a_record_without_a_key_and_a_name_that_is_no_utf_8_are_left_to_the_general_reader():
    key = b"\x00\x01\x00\x02\xc3\x28\x00\x01t\x00\x00\x00\x01"
    assert list(rows_of([(key, None)])) == [None]
    commits = read_offset_commits(as_keys([None, key]), as_keys([b"\x00\x00", None]))
    assert list(commits.kind) == [OTHER, OTHER]


def test_arrays_that_begin_in_the_middle_of_a_buffer_are_read_where_they_begin():
    keys, values = (as_keys([record[part] for record in RECORDS]) for part in (0, 1))
    some = slice(5, 60)
    middle = read_offset_commits(
        Keys(keys.offsets[some], keys.data, keys.valid[5:59]), Keys(values.offsets[some], values.data, values.valid[5:59])
    )
    whole = read_offset_commits(keys, values)
    assert np.array_equal(middle.kind, whole.kind[5:59])
    assert np.array_equal(middle.offset, whole.offset[5:59])
    assert text(middle.group, 3) == text(whole.group, 8)


def test_the_time_is_looked_at_every_few_milliseconds():
    records, looks = as_keys([b""] * (RECORDS_BETWEEN_LOOKS + 1)), []
    with limited(Looks(lambda: looks.append(None))):
        read_offset_commits(records, records)
    assert len(looks) == 2
