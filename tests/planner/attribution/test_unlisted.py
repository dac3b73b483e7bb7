"""Records that no client in the list wrote, and those that several wrote alike."""

from __future__ import annotations

import random
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.core.partitioners import PARTITIONERS
from service.planner.attribution.equivalents import LARGEST_NUMBER, unlisted, whole_numbers
from service.planner.attribution.fingerprints import MAX_CLASSES, fingerprint
from service.planner.attribution.observations import observe
from tests.support.questions import ask, column

KEYS = [f"order-{i}" for i in range(400)]
INTEGERS = list(range(1, 400))
NUMBERS = [str(i) for i in INTEGERS]


def judge(keys, partition_ids, n=12, key_format="string"):
    seen = observe(column(keys, key_format), key_format, np.array(partition_ids, np.int32))
    return fingerprint(PARTITIONERS, seen, range(n, n + 1), all_suspects=True)


def place(name, keys, n=12, key_format="string"):
    return ask({"partitioner": name, "partitions_count": n, "keys": keys, "key_format": key_format}).partitions.tolist()


def label(found):
    (part,) = found.mixture.components
    return found.partitioners.classes[part.class_index].label


@pytest.mark.parametrize(
    ("keys", "partition_ids", "expected"),
    [
        (NUMBERS, [int(key) % 12 for key in NUMBERS], "the number itself, modulo"),
        (KEYS, [(zlib.crc32(key.encode()) & 0x7FFFFFFF) % 12 for key in KEYS], "CRC-32 (IEEE), mask"),
    ],
)
def test_what_no_client_does_is_found_if_nothing_else_explains_it(keys, partition_ids, expected):
    result = judge(keys, partition_ids)
    assert (result.verdict, label(result)) == ("identified", f"{expected} (no client in the list)")
    assert result.writers == ((),)


@pytest.mark.parametrize(
    ("keys", "key_format", "partition_ids", "writer", "transformation"),
    [
        (INTEGERS, "long", place("java", NUMBERS), "java", "the text as decimal digits"),
        (NUMBERS, "string", place("java", INTEGERS, key_format="long"), "java", "numbers of 8 bytes, big-endian"),
        (NUMBERS, "string", place("sarama", INTEGERS, key_format="int"), "sarama", "numbers of 4 bytes, big-endian"),
    ],
)
def test_numbers_that_were_written_in_another_way_are_found_too(keys, key_format, partition_ids, writer, transformation):
    result = judge(keys, partition_ids, key_format=key_format)
    assert (label(result), result.transformation) == (writer, transformation)


def test_what_a_client_explains_is_asked_of_no_others():
    result = judge(KEYS, place("java", KEYS))
    assert result.verdict == "identified"
    assert all(each.names for each in result.partitioners.classes)
    assert ("pulsar", "does not write to Kafka") in result.partitioners.excluded


@pytest.mark.parametrize("key_format", ["string", "base64", "int", "long", "short", "uuid", "double"])
def test_there_are_never_too_many_classes(key_format):
    values = {"base64": ["YQ=="], "uuid": ["123e4567-e89b-12d3-a456-426614174000"], "double": [0.5], "string": ["7"]}
    keys = column(values.get(key_format, [7]), key_format)
    seen = observe(keys, key_format, np.array([3], np.int32))
    assert len(fingerprint(PARTITIONERS, seen, range(12, 13), all_suspects=True).partitioners.classes) <= MAX_CLASSES
    for most in (0, 3, MAX_CLASSES):
        assert len(unlisted((), keys, key_format, most)) <= most


@given(st.lists(st.one_of(st.none(), st.integers(0, LARGEST_NUMBER).map(str), st.text(max_size=3)), min_size=1, max_size=6))
def test_whole_numbers_are_read_as_python_reads_them(keys):
    numbers = whole_numbers(column(keys, "string"), "string")
    present = [key for key in keys if key is not None]
    whole = all(key.isascii() and key.isdigit() and len(key) <= 10 and int(key) < LARGEST_NUMBER for key in present)
    assert (None if numbers is None else numbers.tolist()) == (
        [0 if key is None else int(key) for key in keys] if whole else None
    )


def test_partitioners_that_no_key_tells_apart_at_this_count_are_one_writer_those_in_use_first():
    result = judge(KEYS, place("sarama", KEYS, 2), 2)
    (names,) = result.writers
    assert (result.verdict, result.more_samples, names[0], names[-1]) == ("identified", 0, "sarama", "scala-0.8:byte-array")
    assert {"sarama:reference", "sarama:fnv1a-unsigned"} <= set(names)
    (names,) = judge(KEYS, place("platformatic", KEYS, 8), 8).writers
    assert {"java", "platformatic"} <= set(names)
    assert judge(KEYS, place("platformatic", KEYS, 12)).writers == (("platformatic",),)


@pytest.mark.parametrize(("partition_id", "consistent"), [(0, True), (5, False)])
def test_an_empty_key_leaves_sure_pairs_sure(partition_id, consistent):
    """Consistent_random sends an empty key anywhere, consistent to partition 0."""
    result = judge([*KEYS, ""], [*place("librdkafka:consistent", KEYS), partition_id])
    (names,) = result.writers
    assert (result.verdict, names[0]) == ("identified", "librdkafka:consistent_random")
    assert ("librdkafka:consistent" in names) == consistent


def test_what_is_mostly_unexplained_is_not_undecided():
    keys = [str(i) for i in range(1, 20_000)]
    result = judge(keys, [int(key) * 2654435761 % 2**32 % 12 for key in keys])
    assert result.verdict == "unexplained"
    assert result.unexplained_share > 0.5


def test_five_samples_of_several_writers_are_too_few():
    placed = [*place("java", KEYS[:3]), *place("librdkafka:consistent", KEYS[3:5])]
    result = judge(KEYS[:5], placed)
    assert (result.verdict, result.more_samples) == ("undecided", 18)
    draw = random.Random(3)
    result = judge(KEYS, [draw.randrange(12) for _ in KEYS])
    assert (result.verdict, result.more_samples) == ("unexplained", None)
