"""Hash codes are Java's."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.core.jvm import hashing
from service.core.keys import columns
from tests.reference import hashes as twins
from tests.support import golden

CASES = defaultdict(list)
for _case in golden.lines("java/hash-codes"):
    if _case["input"]["operation"] != "topic_id_partition_hash_code":  # of the clients' class, which no answer depends on
        CASES[_case["input"]["operation"]].append(_case)


def longs(values):
    return np.array(values, np.int64)


def codes(operation: str, inputs: list[dict]) -> np.ndarray:
    """The hash codes of a whole file's cases of one operation."""
    strings = hashing.java_hash_codes([each.get("topic", "") for each in inputs])
    if operation in ("string_hash_code", "optional_string_hash_code"):
        return hashing.string_hash_codes(columns.strings([each["value"] for each in inputs]).keys)
    if operation == "uuid_hash_code":
        most, least = (longs([each[f"{half}_significant_bits"] for each in inputs]) for half in ("most", "least"))
        return hashing.long_hash_codes(most ^ least)
    assert operation == "topic_partition_hash_code"
    return hashing.topic_partition_hash_codes(strings, np.array([each["partition_id"] for each in inputs], np.int32))


@pytest.mark.parametrize("operation", list(CASES))
def test_hash_codes_are_those_of_the_real_classes(operation):
    cases = CASES[operation]
    expected = [case["expected"]["hash_code"] if operation == "uuid_hash_code" else case["expected"] for case in cases]
    assert codes(operation, [case["input"] for case in cases]).tolist() == expected


@given(st.lists(st.text(st.characters(), max_size=12), max_size=8))
def test_string_hash_codes_are_their_twin_halves_of_surrogate_pairs_included(texts):
    expected = [twins.string_hash_code(text) for text in texts]
    assert hashing.java_hash_codes(texts).tolist() == expected
    assert [hashing.string_hash_code(text) for text in texts] == expected
