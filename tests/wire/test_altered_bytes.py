"""Whatever the bytes are, reading ends: with what they say, or with Unreadable and the place where reading failed."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.wire.consumer_protocol import read_subscription
from service.wire.coordinator_records import read_group_record
from service.wire.errors import Unreadable
from service.wire.reader import java_text
from tests.support.captures import Capture, captures
from tests.support.wire_reading import KINDS, RECORDS, check_twin, read

LENGTHS_THAT_LIE = (
    b"\x7f\xff\xff\xff",
    b"\xff\xff\xff\xff",
    b"\x80\x00\x00\x00",
    b"\xff\xff\xff\xff\x0f",
    b"\xff\xff\xff\xff\x7f",
)


@st.composite
def altered(draw):
    """A captured message in which a few bytes are flipped, cut out, doubled or overwritten by a length that lies."""
    capture = draw(st.sampled_from(captures()))
    part = "data" if capture.kind not in RECORDS else draw(st.sampled_from(("key", "value") if capture.value else ("key",)))
    data = bytearray(getattr(capture, part))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(data)))
        what = draw(st.sampled_from(("flip", "cut", "double", "lie", "insert")))
        if what == "flip" and at < len(data):
            data[at] ^= 1 << draw(st.integers(0, 7))
        elif what == "cut":
            del data[at : at + draw(st.integers(1, 40))]
        elif what == "double":
            data[at:at] = data[at : at + 40]
        elif what == "lie":
            lie = draw(st.sampled_from(LENGTHS_THAT_LIE))
            data[at : at + len(lie)] = lie
        else:
            data[at:at] = draw(st.binary(max_size=8))
    return capture._replace(**{part: bytes(data)})


@given(altered())
def test_a_message_is_read_as_by_its_twin(capture):
    check_twin(capture)


def test_every_capture_is_read_as_by_its_twin():
    for capture in captures():
        check_twin(capture)


@pytest.mark.parametrize("elements", [b"", b"\x01", b"\x00\x00\x00\x07", bytes(9)])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 9])
def test_a_list_of_numbers_that_ends_within_an_element_is_refused_at_that_element(elements, count):
    check_twin(Capture("sticky_user_data", b"\x00\x00\x00\x00\x00\x01\x00\x01t" + count.to_bytes(4) + elements))


def test_more_values_than_are_read_at_once_are_read():
    topics = b"".join(b"\x00\x02t%c" % (65 + i % 26) for i in range(1000))
    data = b"\x00\x00" + (1000).to_bytes(4) + topics + b"\xff\xff\xff\xff"
    assert len(read_subscription(data).topic_names) == 1000
    check_twin(Capture("subscription", data))


@given(altered())
def test_altered_bytes_are_read_or_refused_with_their_place(capture):
    read(capture)


@given(st.sampled_from(KINDS), st.binary(max_size=60), st.binary(max_size=60))
def test_foreign_bytes_are_read_or_refused_with_their_place(kind, key, value):
    read(Capture(kind, key, key, value))


def test_bytes_that_are_cut_off_anywhere_are_read_or_refused():
    shortest = {}
    for capture in captures():
        head = (capture.kind, capture.key[:2], (capture.value or capture.data)[:2])
        if head not in shortest or len(capture.value or b"") < len(shortest[head].value or b""):
            shortest[head] = capture
    for capture in shortest.values():
        for end in range(len(capture.key)):
            assert read(capture._replace(key=capture.key[:end])), "a key has no optional end"
        for end in range(len(capture.value or b"")):
            read(capture._replace(value=capture.value[:end]))
        for end in range(len(capture.data)):
            read(capture._replace(data=capture.data[:end]))


@pytest.mark.parametrize(
    "data",
    [
        b"\x00\x00\x7f\xff\xff\xff",  # 2147483647 topics
        b"\x00\x00\x00\x00\x00\x01\x00\x01t\x7f\xff\xff\xff",  # 2147483647 bytes of user data
        b"\x00\x01\x00\x00\x00\x00\xff\xff\xff\xff\x7f\xff\xff\xff",  # 2147483647 owned topics
    ],
)
def test_a_length_that_lies_allocates_nothing(data):
    tracemalloc.start()
    with pytest.raises(Unreadable):
        read_subscription(data)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100_000


def test_a_group_record_of_a_million_tagged_fields_that_are_not_there_is_refused_at_once():
    key = b"\x00\x03\x00\x01g"
    with pytest.raises(Unreadable) as refused:
        read_group_record(key, b"\x00\x00\x00\x00\x00\x01\xff\xff\xff\x07")
    assert (refused.value.part, refused.value.offset) == ("value", 10)


def test_the_place_is_the_first_byte_of_what_could_not_be_read():
    key = b"\x00\x01\x00\x05group\x00\x05topic\x00\x00\x00\x07"
    with pytest.raises(Unreadable, match="byte 11: topic has a length of 5 bytes, and 2 are left"):
        read_group_record(key[:13], b"")
    with pytest.raises(Unreadable, match="byte 2: offset takes 8 bytes, and 3 are left"):
        read_group_record(key, b"\x00\x03\x00\x00\x00")


def test_what_is_no_utf_8_becomes_what_java_makes_of_it():
    assert java_text(b"a\xff\xc3(\xe2\x82") == "a\ufffd\ufffd(\ufffd"
    assert java_text(b"\xed\xa0\x80!\xed\xa0") == "\ufffd!\ufffd"
