"""The order of HashMap and HashSet, against the JDK's own answers, a plain twin and the running JVM."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.core.jvm.ordering import capacity_for_set, first_of_set, iteration_order, order_in_large_table
from service.core.kernels import kernel
from tests.reference import hash_order
from tests.reference.java_random import signed
from tests.support import golden, jvm

HASHES = st.lists(st.integers(-(2**31), 2**31 - 1), max_size=200, unique=True)


@kernel
def _first(hashes: np.ndarray, count: int) -> np.ndarray:  # type: ignore[type-arg]
    return first_of_set(hashes, count)


def utf16(text: str) -> list[int]:
    """Java's chars, which are also its natural order of strings."""
    raw = text.encode("utf-16-be", "surrogatepass")
    return [raw[i] << 8 | raw[i + 1] for i in range(0, len(raw), 2)]


def string_hash(text: str) -> int:
    """String.hashCode as its documentation has it."""
    units = utf16(text)
    return signed(sum(unit * pow(31, len(units) - 1 - i, 2**32) for i, unit in enumerate(units)), 32)


def hash_and_rank(key: Any, key_type: str) -> tuple[int, Any]:
    """hashCode() of a vector's key, and something that compares as compareTo does."""
    if key_type == "integer":
        return key, key
    if key_type == "string":
        return string_hash(key), utf16(key)
    if key_type == "topic_partition":
        return signed(31 * (31 + key[1]) + string_hash(key[0]), 32), 0
    raw = base64.urlsafe_b64decode(key + "==")
    high, low = (int.from_bytes(half, "big") for half in (raw[:8], raw[8:]))
    return signed((high ^ low) >> 32 ^ (high ^ low), 32), (signed(high, 64), signed(low, 64))


def requested_capacity(asked: dict[str, Any]) -> int:
    """The capacity that a vector's constructor comes to."""
    size = len(asked["keys"])
    constructor = asked["constructor"]
    if "argument" in asked:
        return int(asked["argument"])
    if constructor == "HashSet(Collection)":
        return capacity_for_set(size)
    return int(np.float32(size) / np.float32(0.75) + np.float32(1.0)) if "Map)" in constructor else 16


def calls_of(asked: dict[str, Any], keys: list[Any]) -> np.ndarray:
    """A vector's insertions and removals, as ``iteration_order`` takes them."""
    index = {repr(key): i for i, key in enumerate(keys)}
    entered = [index[repr(key)] for key in asked["keys"]]
    removed = [~index[repr(key)] for key in asked.get("remove", [])]
    return np.array(entered + removed + [index[repr(key)] for key in asked.get("then_add", [])], np.int32)


@golden.each("java/hash-iteration-order")
def test_orders_are_the_jdk_s(case: dict[str, Any]) -> None:
    """Every constructor, way of insertion, removal and tree bucket."""
    values = case["input"]
    keys = list({repr(key): key for key in values["keys"] + values.get("remove", []) + values.get("then_add", [])}.values())
    pairs = [hash_and_rank(key, values["key_type"]) for key in keys]
    hashes = np.array([code for code, _ in pairs], np.int32)
    ranks = np.empty(len(keys), np.int32)
    ranks[sorted(range(len(keys)), key=lambda i: pairs[i][1])] = np.arange(len(keys), dtype=np.int32)
    options = {
        "capacity": requested_capacity(values),
        "compute": values.get("insert_with") in {"compute", "computeIfAbsent", "merge"},
        "ranks": ranks,
    }
    played = iteration_order(hashes, calls=calls_of(values, keys), **options)
    assert [keys[i] for i in played] == case["expected"]
    if keys == values["keys"] and "remove" not in values:
        assert iteration_order(hashes, **options).tolist() == played.tolist()


@settings(deadline=None)
@given(HASHES, st.integers(0, 300), st.booleans())
def test_chains_equal_the_twin(hashes: list[int], capacity: int, compute: Any) -> None:
    """Any keys, any capacity, both ways of insertion."""
    try:
        expected = hash_order.iteration_order(hashes, capacity, compute=compute)
    except AssertionError:
        return
    assert iteration_order(np.array(hashes, np.int32), capacity=capacity, compute=compute).tolist() == expected


@settings(deadline=None)
@given(st.lists(st.integers(0, 40), max_size=120), st.integers(0, 4), st.integers(0, 300), st.booleans())
def test_counting_equals_playing(codes: list[int], shift: int, capacity: int, compute: Any) -> None:
    """The fast way and the step-by-step way agree, also where keys crowd into few buckets."""
    hashes = np.array(codes, np.int32) << (shift * 3)
    calls = np.arange(len(codes), dtype=np.int32)
    options = {"capacity": capacity, "compute": compute}
    assert iteration_order(hashes, **options).tolist() == iteration_order(hashes, calls=calls, **options).tolist()


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(-(2**31), 2**31 - 1), st.integers(0, 12)), max_size=60),
    st.integers(0, 400),
    st.integers(0, 12),
    st.randoms(use_true_random=False),
)
def test_the_first_of_a_set_are_the_first_of_its_whole_order(
    runs: list[tuple[int, int]], consecutive: int, shift: int, random: Any
) -> None:
    """Also where keys of the lowest buckets, or only of others, crowd so that they form trees."""
    codes = [start + (i << shift) for start, size in [*runs, (7, consecutive)] for i in range(size)]
    random.shuffle(codes)
    hashes = np.array([signed(code % 2**32, 32) for code in codes], np.int32)
    expected = iteration_order(hashes).tolist()
    for count in {min(count, len(codes)) for count in (1, 2, 5, 40, 300)} - {0}:
        assert _first(hashes, count).tolist() == expected[:count]


@given(st.lists(st.tuples(st.integers(0, 60), st.booleans()), max_size=60), st.integers(0, 20), st.randoms(use_true_random=False))
def test_a_table_that_never_grows_equals_the_others(keys: list[tuple[int, bool]], shift: int, random: Any) -> None:
    """Whatever the order in which the keys are entered; where a chain becomes a tree it gives up."""
    hashes = np.array([code << shift for code, _ in keys], np.int32)
    entered = [key for key, (_, is_entered) in enumerate(keys) if is_entered]
    random.shuffle(entered)
    ranks = np.full(len(keys), -1, np.int32)
    ranks[entered] = np.arange(len(entered))
    partitions = np.array(entered, np.int32)
    try:
        expected = hash_order.iteration_order(hashes[partitions].tolist(), 128, compute=True)
    except AssertionError:
        expected = []
    assert order_in_large_table(hashes, ranks, 128).tolist() == partitions[np.array(expected, np.int32)].tolist()


def test_a_later_compute_lets_the_table_grow() -> None:
    """13 keys entered by computeIfAbsent sit in 16 buckets until the next call, even for a known key, makes them 32."""
    hashes, calls = np.array([16, *range(1, 13)], np.int32), np.arange(13, dtype=np.int32)
    once = iteration_order(hashes, calls=calls, compute=True)
    again = iteration_order(hashes, calls=np.append(calls, np.int32(0)), compute=True)
    assert hashes[once].tolist() == [16, *range(1, 13)]
    assert hashes[again].tolist() == [*range(1, 13), 16]


@pytest.mark.slow
def test_crowded_tables_equal_the_running_jvm() -> None:
    """Integers that crowd into few buckets, so that trees come, turn and go, entered and removed at random."""
    java, rng = jvm.kafka_jvm(), np.random.default_rng(20261121)
    for _ in range(40):
        numbers = (rng.permutation(400)[: rng.integers(20, 400)] << rng.integers(0, 12)).astype(np.int32)
        capacity = int(rng.integers(0, 200))
        table = java.java.util.HashMap(capacity)
        calls = []
        for i, number in enumerate(numbers.tolist()):
            table.put(number, number)
            calls.append(i)
            if rng.random() < 0.3:
                gone = int(rng.integers(0, i + 1))
                table.remove(int(numbers[gone]))
                calls.append(~gone)
        ours = iteration_order(numbers, calls=np.array(calls, np.int32), capacity=capacity)
        assert numbers[ours].tolist() == list(java.java.util.ArrayList(table.keySet()))
