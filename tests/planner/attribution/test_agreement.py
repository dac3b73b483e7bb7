"""Partitioners compared key by key: the kernel, the writers, and the classes that were measured on the real clients."""

from __future__ import annotations

from base64 import b64encode

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.core.budget import limited
from service.core.partitioners import PARTITIONERS
from service.planner.attribution import equivalents as of
from service.planner.attribution.agreement import agreements, compare
from tests.reference import agreement as twin
from tests.support.questions import ask, column
from tests.support.time_limits import Looks

CLASSES = {
    "A": """aiokafka franz-go java java-0.8 java-2.3 kafka-go:murmur2 kafka-go:murmur2-consistent kafka-python kafkajs
        librdkafka:murmur2 librdkafka:murmur2_random sarama:murmur2 streams:windowed""",
    "B": """franz-go:sarama-crc32 kafka-go:crc32 kafka-go:crc32-consistent librdkafka:consistent librdkafka:consistent_random
        sarama:crc32""",
    "C": "franz-go:sarama-compat kafka-go:hash librdkafka:fnv1a librdkafka:fnv1a_random sarama",
    "D": "franz-go:kafka-fnv1a kafka-go:reference-hash sarama:reference",
    "E": "franz-go:sarama-fnv1a sarama:fnv1a-unsigned",
    "F": "kafkajs:legacy",
    "G": "pulsar",
    "H": "pulsar:murmur3",
    "I": "sarama:custom-crc32",
    "J": "scala-0.8:byte-array",
    "K": "spark",
}
"""Who agreed with whom on 10,000 random keys of 1 to 40 bytes and 12 partitions, when the real clients were asked."""

MEASURED = {("B", "I"): 57.7, ("C", "D"): 58.6, ("C", "E"): 58.3, ("D", "E"): 50.3, ("C", "J"): 17.3, ("A", "B"): 8.1}
"""Shares of agreement in percent, measured there."""


@given(
    st.integers(1, 4).flatmap(lambda n: st.lists(st.lists(st.integers(-1, 3), min_size=n, max_size=n), max_size=60)),
    st.integers(0, 3),
    st.integers(1, 60),
)
def test_the_kernel_counts_as_its_twin_does(rows, examples, cut):
    """Also when the keys come in two blocks."""
    partitions = np.array(rows, np.int32).reshape(len(rows), -1 if rows else 1).T.copy()
    n = len(partitions)
    tally = np.zeros((n, n, 2), np.int64)
    first, shown = np.full((n, n, examples), -1, np.int64), np.zeros((n, n, examples, 2), np.int32)
    for start in range(0, partitions.shape[1], cut):
        block = np.ascontiguousarray(partitions[:, start : start + cut])
        agreements(block, start, tally, first, shown)
    for (a, b), (both, same, others) in twin.agreements(partitions.tolist(), examples).items():
        assert tally[a, b].tolist() == [both, same]
        found = [(int(row), *pair) for row, pair in zip(first[a, b], shown[a, b].tolist(), strict=True) if row >= 0]
        assert found == others


def keys(n: int, seed: int = 7) -> list[bytes]:
    draw = np.random.default_rng(seed)
    return [draw.bytes(int(length)) for length in draw.integers(1, 41, n)]


def base64_column(values):
    return column([None if value is None else b64encode(value).decode() for value in values], "base64")


@pytest.fixture(scope="module")
def measured():
    return compare(PARTITIONERS, base64_column(keys(10_000)), "base64", 12, 3)


def test_the_writers_are_the_classes_that_the_real_clients_fall_into(measured):
    groups = [set(writer.names) for writer in measured.classes]
    for names in CLASSES.values():
        assert any(set(names.split()) <= group for group in groups), names
    assert {"platformatic"} in groups  # newer than the measurement
    assert {"brod", "wolff"} in groups
    assert len(groups) == len(CLASSES) + 2


def test_agreement_between_the_classes_is_what_was_measured(measured):
    share = {
        frozenset((measured.classes[pair.first].names[0], measured.classes[pair.second].names[0])): pair.agreeing / pair.keys
        for pair in measured.pairs
    }
    name = {
        letter: next(w.names[0] for w in measured.classes if names.split()[0] in w.names) for letter, names in CLASSES.items()
    }
    for (a, b), percent in MEASURED.items():
        assert share[frozenset((name[a], name[b]))] * 100 == pytest.approx(percent, abs=2)


def test_every_number_is_that_of_the_partitioners_themselves():
    """Agreement, examples and evenness, from the partitions that each partitioner gives when it is asked alone."""
    some = [
        "java",
        "librdkafka:consistent_random",
        "librdkafka:consistent",
        "sarama",
        "spark",
        "java:round-robin",
        "cassandra:murmur3",
    ]
    texts = ["", "a", "b", None, *(f"key-{i}" for i in range(300)), None, ""]
    result = compare([PARTITIONERS[name] for name in some], column(texts, "string"), "string", 7, 2)
    assert result.partitioners.ignoring_keys == ("java:round-robin",)
    assert [name for name, _ in result.partitioners.excluded] == ["cassandra:murmur3"]
    drawn = {"java": {None}, "librdkafka:consistent_random": {None, ""}, "sarama": {None}}
    placed = {
        name: [
            -1 if text in drawn.get(name, ()) else partition
            for text, partition in zip(
                texts, ask({"partitioner": name, "partitions_count": 7, "keys": texts}).partitions, strict=True
            )
        ]
        for name in some[:5]
    }
    order = [writer.names[0] for writer in result.classes]
    assert set(order) == set(some[:5])
    expected = twin.agreements([placed[name] for name in order], 2)
    assert result.spreads is not None
    for pair in result.pairs:
        both, same, others = expected[pair.first, pair.second]
        assert (pair.keys, pair.agreeing) == (both, same)
        assert [(one.row, *one.partitions) for one in pair.examples] == others
    for name, spread in zip(order, result.spreads, strict=True):
        counts = [placed[name].count(p) for p in range(7)]
        assert (spread.min, spread.max) == (min(counts), max(counts))
        assert spread.mean == pytest.approx(sum(counts) / 7)


@pytest.mark.parametrize("key_format", ["string", "uuid", "base64", "long", "double", "boolean"])
def test_a_writer_says_what_each_of_its_partitioners_says(key_format):
    """For every partitioner and all kinds of keys: its own answer, or nothing where a counter or chance decides."""
    values = {
        "string": ["", "a", None, "ключ", "order-1"],
        "uuid": ["123e4567-e89b-12d3-a456-426614174000", None],
        "base64": ["", "AA==", None, "/////w=="],
        "long": [0, -1, None, 2**62],
        "double": [0.0, -0.0, None, 1e300],
        "boolean": [True, None, False],
    }[key_format]
    group = of.classify(PARTITIONERS, key_format, has_null=True, has_empty=True)
    said = of.hash_all(group.classes, column(values, key_format), key_format).partitions(11)
    for writer, row in zip(group.classes, said.tolist(), strict=True):
        decided = [i for i, partition in enumerate(row) if partition != of.UNDECIDED]
        request = {"partitions_count": 11, "key_format": key_format, "keys": [values[i] for i in decided]}
        for name in set(writer.names) - {"java:sticky"}:  # which cannot be asked without a batch size
            assert ask({"partitioner": name, **request}).partitions.tolist() == [row[i] for i in decided], name
        assert all(values[i] in (None, "") for i in range(len(row)) if i not in decided)


def test_dividends_are_what_the_sign_rules_take_modulo_the_count():
    texts = [f"k{i}" for i in range(500)] + [None, ""]
    group = of.classify(PARTITIONERS, "string", has_null=True, has_empty=True)
    hashes = of.hash_all(group.classes, column(texts, "string"), "string")
    for n in (1, 2, 7, 12, 4096, 2**31 - 1):
        dividends, partitions = hashes.dividends(), hashes.partitions(n)
        undecided = np.isnan(dividends)
        assert (undecided == (partitions == of.UNDECIDED)).all()
        assert (np.mod(np.where(undecided, 0, dividends), n)[~undecided] == partitions[~undecided]).all()


def test_partitioners_of_one_hash_differ_where_a_record_has_no_key():
    names = ["librdkafka:consistent", "librdkafka:consistent_random"]
    some = [PARTITIONERS[name] for name in names]
    assert len(of.classify(some, "string", has_null=False, has_empty=False).classes) == 1
    assert len(of.classify(some, "string", has_null=True, has_empty=False).classes) == 2
    assert len(of.classify(some, "string", has_null=False, has_empty=True).classes) == 2


def test_a_comparison_looks_at_the_time_at_each_block_of_keys():
    calls = []
    blocks = -(-200_000 // of.BLOCK)
    with limited(Looks(lambda: calls.append(1))):
        compare(PARTITIONERS, column(["k"] * 200_000, "string"), "string", 12, 0)
    assert len(calls) == blocks > 1
