"""Keys become the bytes that Kafka's serializers and other clients make of them."""

from __future__ import annotations

import base64
import math
import struct
import uuid

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.core.errors import InvalidQuestion
from service.core.keys import columns
from service.core.model import Keys
from tests.support import golden
from tests.support.questions import column, keys_of

TEXTS = st.lists(st.none() | st.text(st.characters(), max_size=8), max_size=8)
BINARIES = st.lists(st.none() | st.binary(max_size=9), max_size=8)


def pieces(encoded: Keys) -> list[bytes | None]:
    """Encoded keys as Python bytes."""
    present = np.ones(len(encoded), np.bool_) if encoded.valid is None else encoded.valid
    data = encoded.data.tobytes()
    return [data[a:b] if there else None for a, b, there in zip(encoded.offsets[:-1], encoded.offsets[1:], present, strict=True)]


@golden.each("partitions/serializers", where=lambda case: "encoding" not in case)
def test_a_key_is_serialised_as_kafka_does(case):
    expected = None if case["bytes_base64"] is None else base64.b64decode(case["bytes_base64"])
    assert pieces(columns.SERIALIZED.run(column([case["value"]], case["key_format"]), case["key_format"])) == [expected]


@given(TEXTS)
def test_half_a_surrogate_pair_becomes_a_question_mark(texts):
    expected = [None if text is None else text.encode("utf-8", "replace") for text in texts]
    assert pieces(columns.SERIALIZED.run(columns.strings(texts), "string")) == expected


@given(BINARIES)
def test_base64_is_read_as_pythons_own_and_written_back_for_pulsar(binaries):
    texts = [None if data is None else base64.b64encode(data).decode() for data in binaries]
    read = columns.from_text(columns.strings(texts), "base64")
    assert pieces(read) == binaries
    assert pieces(columns.PULSAR.run(read, "base64")) == [None if text is None else text.encode() for text in texts]


@given(BINARIES, st.booleans())
def test_hex_is_read_in_either_case(binaries, upper):
    texts = [None if data is None else data.hex().upper() if upper else data.hex() for data in binaries]
    assert pieces(columns.from_text(columns.strings(texts), "hex")) == binaries


@given(st.text("AQgw=/+-_ z", max_size=9))
def test_base64_is_refused_when_python_refuses_it(text):
    try:
        expected = base64.b64decode(text, validate=True) if len(text) % 4 == 0 else None
    except ValueError:
        expected = None
    try:
        decoded = pieces(columns.from_base64(columns.strings([text]).keys))[0]
    except InvalidQuestion:
        decoded = None
    assert decoded == expected


@pytest.mark.parametrize(
    ("key_format", "good", "bad"),
    [
        ("base64", "AA==", "AA"),
        ("base64", "AA==", "A==="),
        ("base64", "AA==", "AA=A"),
        ("base64", "AA==", "AA==AA=="),
        ("base64", "AA==", "_-AA"),
        ("hex", "00ff", "0"),
        ("hex", "00ff", "0g"),
        ("uuid", "00000000-0000-0000-0000-000000000000", "00000000-0000-0000-0000-00000000000"),
        ("uuid", "00000000-0000-0000-0000-000000000000", "00000000-0000-0000-0000-00000000000g"),
        ("uuid", "00000000-0000-0000-0000-000000000000", "000000000000-0000-0000-0000-00000000"),
        ("short", 32767, 32768),
        ("int", -(2**31), 2**31),
        ("float", 3.4028234663852886e38, 3.5e38),
    ],
)
def test_the_first_key_that_does_not_fit_its_format_is_pointed_at(key_format, good, bad):
    with pytest.raises(InvalidQuestion) as refused:
        column([good, None, bad, bad], key_format)
    assert refused.value.field == ("keys", 2)


@given(st.lists(st.uuids(), max_size=5))
def test_a_uuid_is_its_36_characters_in_lower_case(uuids):
    texts = [str(value).upper() for value in uuids]
    assert pieces(columns.SERIALIZED.run(column(texts, "uuid"), "uuid")) == [str(value).encode() for value in uuids]
    assert uuid.UUID(int=0).hex == "0" * 32


@given(st.lists(st.none() | st.floats(), max_size=5))
def test_a_double_is_its_bits_with_one_nan(values):
    expected = [None if value is None else struct.pack(">d", math.nan if math.isnan(value) else value) for value in values]
    serialized = pieces(columns.SERIALIZED.run(column(values, "double"), "double"))
    assert serialized == [
        None if bits is None else bits if not math.isnan(struct.unpack(">d", bits)[0]) else b"\x7f\xf8" + bytes(6)
        for bits in expected
    ]


def test_numbers_of_spark_are_little_endian_and_small_ones_are_ints():
    assert pieces(columns.SPARK.run(column([1, None], "short"), "short")) == [b"\1\0\0\0", None]
    assert pieces(columns.SPARK.run(column([True], "boolean"), "boolean")) == [b"\1\0\0\0"]
    assert pieces(columns.SPARK.run(column([-0.0], "double"), "double")) == [bytes(8)]


def test_bytes_under_a_null_are_no_key():
    hidden = Keys(np.array([0, 1, 3], np.int32), np.frombuffer(bytearray(b"abc"), np.uint8), np.array([True, False]))
    assert pieces(hidden) == [b"a", None]
    assert pieces(keys_of([b"a", None])) == [b"a", None]


@given(st.lists(st.none() | st.text(st.characters(exclude_categories=())), max_size=5))
def test_the_low_byte_of_each_utf_16_unit_is_what_javascript_hashes(texts):
    """Halves of surrogate pairs are units like any other."""
    expected = [None if text is None else text.encode("utf-16-le", "surrogatepass")[::2] for text in texts]
    assert pieces(columns.LOW_BYTES.run(column(texts, "string"), "string")) == expected
