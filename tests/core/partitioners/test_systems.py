"""Partitioners of systems: keys of several parts, code points, whole numbers, hash key ranges, and who uses what."""

from __future__ import annotations

from functools import reduce
from operator import xor
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.core.errors import InvalidQuestion, UnknownStrategy
from service.core.keys import columns
from service.core.keys.columns import rows_of_keys
from service.core.partitioners import PARTITIONERS, lookup3, md5
from service.core.partitioners.allocation import explain
from service.core.partitioners.model import HASH_BITS
from service.core.partitioners.parts import parts_of
from tests.reference import hashes as twins
from tests.support.questions import ask, keys_of, question

if TYPE_CHECKING:
    from service.core.model import Int32s, Keys

PARTS = st.lists(st.lists(st.binary(max_size=5).map(lambda part: part.replace(b"\x1f", b"")), min_size=1, max_size=4), max_size=9)


@given(PARTS, st.integers(0, 3))
def test_a_key_is_taken_apart_at_its_separators(keys, skipped):
    """Also where the keys are some of the rows of a larger buffer."""
    joined = keys_of([b"\x1f".join(parts) for parts in keys])
    some = rows_of_keys(joined, slice(min(skipped, len(keys)), len(keys)))
    parts, starts = parts_of(some)
    found = [bytes(parts.data[start:end]) for start, end in zip(parts.offsets, parts.offsets[1:], strict=False)]
    assert found == [part for each in keys[skipped:] for part in each]
    assert starts.tolist() == np.cumsum([0, *(len(each) for each in keys[skipped:])])[: len(some)].tolist()


@given(PARTS.filter(len))
def test_ticdc_xors_the_crc32_of_the_parts(keys):
    texts = [[part.hex() for part in parts] for parts in keys]
    hashed = [reduce(xor, (crc32(part.encode()) for part in parts)) for parts in texts]
    asked = {"partitioner": "ticdc:index-value", "partitions_count": 1000, "keys": ["\x1f".join(parts) for parts in texts]}
    assert ask(asked).partitions.tolist() == [hash_ % 1000 for hash_ in hashed]


def code_points(keys: Keys) -> Int32s:
    return lookup3.LOOKUP3_CODE_POINTS.run(keys, "string")


@given(st.lists(st.text(max_size=30), max_size=8))
def test_the_python_library_of_event_hubs_hashes_code_points(texts):
    keys = columns.strings(texts).keys
    assert code_points(keys).tolist() == [twins.lookup3([ord(each) for each in text]) for text in texts]


def test_the_code_points_of_a_slice_are_its_own():
    keys = columns.strings(["é漢", "ключ", "a😀"]).keys
    expected = code_points(keys).tolist()
    assert code_points(rows_of_keys(keys, slice(1, 3))).tolist() == expected[1:]


DIGESTS = st.integers(0, 2**128 - 1)


@given(st.lists(DIGESTS, min_size=1, max_size=20), st.integers(1, 2**31 - 1) | st.integers(1, 9), st.data())
def test_a_shard_is_the_range_that_has_the_digest(digests, n, data):
    width = 2**128 // n
    boundary = width * data.draw(st.integers(0, n))
    digests = [*digests, *(min(max(boundary + by, 0), 2**128 - 1) for by in (-1, 0, 1)), 2**128 - 1]
    halves = np.array([[digest >> 64, digest % 2**64] for digest in digests], np.uint64)
    assert md5.shards(halves, n).tolist() == [min(digest // width, n - 1) for digest in digests]


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=9), st.integers(1, 2**31 - 1))
def test_a_whole_number_is_taken_modulo_the_count(numbers, n):
    request = {"partitioner": "pinot:modulo", "partitions_count": n, "key_format": "long", "keys": numbers}
    assert ask(request).partitions.tolist() == [number % n for number in numbers]


def test_an_integer_is_hashed_as_its_digits_where_a_tool_writes_it_so():
    of_numbers = ask({"partitioner": "pinot:murmur", "partitions_count": 50, "key_format": "int", "keys": [0, 7, 1234]})
    of_texts = ask({"partitioner": "java", "partitions_count": 50, "keys": ["0", "7", "1234"]})
    assert of_numbers.partitions.tolist() == of_texts.partitions.tolist()


def test_an_explanation_shows_all_bits_of_a_hash():
    partitioner, asked = question({"partitioner": "kinesis", "partitions_count": 2, "keys": ["abc"]})
    (steps,) = explain(partitioner, asked, ask({"partitioner": "kinesis", "partitions_count": 2, "keys": ["abc"]}))
    assert steps == {
        "key_bytes_hex": "616263",
        "rule": "key: MD5, range: h / floor(2^128 / n) rounded down, at most n - 1",
        "hash_hex": "900150983cd24fb0d6963f7d28e17f72",  # RFC 1321
        "result": 1,
    }


@pytest.mark.parametrize("name", ["kinesis", "debezium", "ticdc:ts", "maxwell"])
def test_a_system_that_always_has_a_key_refuses_a_record_without_one(name):
    key_format = PARTITIONERS[name].encoding.formats[0]
    with pytest.raises(InvalidQuestion, match="accepts no record without a key"):
        ask({"partitioner": name, "partitions_count": 3, "key_format": key_format, "keys": [None]})


def test_only_32_bits_are_compared():
    assert PARTITIONERS["kinesis"].hashing_rule is None
    assert PARTITIONERS["kinesis"].without_rule == "decides by 128 bits, not by 32"
    assert all(each.hashing_rule is None or each.hash.bits == HASH_BITS for each in PARTITIONERS)


@pytest.mark.parametrize(
    ("product", "name"),
    [
        ("cockroachdb", "franz-go:sarama-compat"),
        ("opentelemetry", "franz-go:sarama-compat"),
        ("logstash", "java"),
        ("nifi", "java"),
        ("fluentd", "ruby-kafka"),
        ("vector", "librdkafka:consistent_random"),
        ("telegraf", "sarama"),
        ("redpanda", "franz-go"),
        ("emqx", "wolff"),
        ("filebeat", "beats"),
    ],
)
def test_a_product_leads_to_the_partitioner_of_its_client(product, name):
    with pytest.raises(UnknownStrategy) as unknown:
        PARTITIONERS[product]
    assert repr(name) in str(unknown.value).partition(".")[2]
