"""A suggestion has the words of what was written, or nearly its letters."""

from __future__ import annotations

import pytest

from service.core.printable import did_you_mean, words

PLAN = ("partitioners", "partitions_counts", "current_partitions_count", "partition_ids", "max_skew", "keys")


@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [
        ("partitions", PLAN, "partitions_counts"),
        ("partitions", ("partition_ids", "partitions_count"), "partitions_count"),
        ("current", PLAN, "current_partitions_count"),
        ("current_count", PLAN, "current_partitions_count"),
        ("skew", PLAN, "max_skew"),
        ("partitioner", PLAN, "partitioners"),
        ("key", PLAN, "keys"),
        ("partitionsCounts", PLAN, "partitions_counts"),
        ("topic", ("per_topic", "topics"), "topics"),
        ("racks", ("rack_ids", "rack"), "rack"),
    ],
)
def test_the_name_with_every_word_comes_first(name, known, meant):
    assert did_you_mean(name, known, most=1) == f" Did you mean '{meant}'?"


def test_nothing_similar_is_no_suggestion():
    assert did_you_mean("zebra", PLAN) == did_you_mean("_", PLAN) == did_you_mean("partitions" * 11, PLAN) == ""


def test_words_of_a_description():
    assert words("CRC-32 (IEEE), FNV-1a 32 for confluent-kafka") == {"crc32", "ieee", "fnv1a", "32", "for", "confluent", "kafka"}
