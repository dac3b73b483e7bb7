"""Long keys that repeat are hashed once."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from service.core.keys import columns
from service.core.keys.columns import byte_strings
from service.core.partitioners import PARTITIONERS
from service.core.partitioners.murmur3 import cassandra_tokens
from service.planner.attribution import equivalents
from service.planner.attribution.equivalents import classify, hash_all
from tests.reference import repeats as twin
from tests.support.questions import column

LONG = ["x" * 200, "x" * 199 + "y", "\ud800" * 70, "?" * 210, "", None]
"""The third and the fourth are the same bytes to a client that replaces half surrogate pairs, and not to Java's hashCode()."""


@given(st.lists(st.sampled_from([b"", b"a", b"b", b"ab", b"a" * 90, b"a" * 89 + b"b", None]), min_size=1, max_size=60))
def test_first_rows_are_those_of_the_twin(keys):
    arrays = byte_strings(keys)
    rows, index = equivalents.first_rows(*arrays.arrays(), np.asarray(cassandra_tokens(arrays), np.int64))
    assert (rows.tolist(), index.tolist()) == twin.first_rows(keys)


def test_keys_that_collide_are_compared_with_few_others_and_kept_apart():
    keys = byte_strings([b"%d" % (i % 100) for i in range(300)])
    rows, index = equivalents.first_rows(*keys.arrays(), np.zeros(300, np.int64))
    assert equivalents.MAX_TRIES < len(rows) <= 300
    assert [rows[i] % 100 for i in index] == [i % 100 for i in range(300)]


@given(st.lists(st.sampled_from(LONG), min_size=1, max_size=60))
def test_hashes_of_long_keys_that_repeat_are_those_of_each_key_alone(keys):
    group = classify(PARTITIONERS, "string", has_null=True, has_empty=True)
    alone = {key: hash_all(group.classes, column([key], "string"), "string").partitions(11)[:, 0] for key in set(keys)}
    together = hash_all(group.classes, column(keys, "string"), "string").partitions(11)
    assert together.T.tolist() == [alone[key].tolist() for key in keys]


def test_only_long_keys_that_repeat_are_looked_for():
    assert equivalents.distinct(column(["a"] * 9, "string")) is None
    assert equivalents.distinct(column([f"{i:099}" for i in range(9)], "string")) is None
    found, index = equivalents.distinct(column([LONG[0]] * 9, "string")) or (None, None)
    assert columns.length(found) == 1
    assert index.tolist() == [0] * 9
