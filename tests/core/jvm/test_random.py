"""java.util.Random and Collections.shuffle, against the JDK's own answers, a plain twin and the running JVM."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.core.errors import IllegalArgument
from service.core.jvm.random import JavaRandom
from tests.reference import java_random
from tests.support import golden, jvm

METHODS = {
    "nextInt": lambda random, *bound: random.next_int(*bound),
    "nextLong": lambda random: java_random.signed((random.next_int() << 32) + random.next_int(), 64),
    "nextBoolean": lambda random: random.next_int() < 0,
    "nextDouble": lambda random: ((unsigned(random) >> 6 << 27) + (unsigned(random) >> 5)) / 2**53,
}
"""All that the JDK draws, of the ints that placers draw."""
LONGS = st.integers(-(2**63), 2**63 - 1)
BOUNDS = st.one_of(st.integers(1, 2**31 - 1), st.sampled_from([1, 2, 3, 2**30, 2**30 + 1, 2**31 - 1]))
CALLS = st.lists(st.one_of(st.just(()), st.tuples(BOUNDS)), max_size=30)


def unsigned(random: JavaRandom) -> int:
    """The 32 bits of an int."""
    return random.next_int() & 0xFFFFFFFF


def drawn(seed: int, calls: list[list[Any]]) -> Any:
    """The answers to the calls of a vector, or the refusal of one."""
    random = JavaRandom(seed)
    try:
        return [METHODS[name](random, *arguments) for name, *arguments in calls]
    except IllegalArgument as refusal:
        return {"error": type(refusal).__name__, "exception": refusal.exception, "message": refusal.message}


@golden.each("java/random")
def test_draws_are_the_jdk_s(case: dict[str, Any]) -> None:
    """Every call answers as java.util.Random did, one after another on one generator."""
    assert drawn(case["input"]["seed"], case["input"]["calls"]) == case["expected"]


@golden.each("java/shuffle")
def test_shuffles_are_the_jdk_s(case: dict[str, Any]) -> None:
    """Collections.shuffle draws as often as the JDK's and arranges the same."""
    random, values, lists = JavaRandom(case["input"]["seed"]), np.arange(case["input"]["size"], dtype=np.int32), []
    for _ in range(case["input"]["times"]):
        random.shuffle(values)
        lists.append(values.tolist())
    assert {"next_int_after": random.next_int(), "lists": lists} == case["expected"]


def test_a_bound_that_is_not_positive_is_java_s_illegal_argument() -> None:
    """Java's message, and no draw."""
    random = JavaRandom(0)
    with pytest.raises(IllegalArgument, match="bound must be positive"):
        random.next_int(0)
    assert random.next_int() == JavaRandom(0).next_int()


@settings(deadline=None)
@given(LONGS, CALLS, st.integers(0, 50))
def test_kernels_equal_the_twin(seed: int, calls: list[tuple[Any, ...]], size: int) -> None:
    """Any calls in any order, then a shuffle."""
    ours, twin = JavaRandom(seed), java_random.Random(seed)
    for arguments in calls:
        assert ours.next_int(*arguments) == twin.next_int(*arguments)
    values, expected = np.arange(size, dtype=np.int32), list(range(size))
    ours.shuffle(values)
    twin.shuffle(expected)
    assert values.tolist() == expected
    assert int(ours.state[0]) == twin.seed


@pytest.mark.slow
def test_draws_equal_the_running_jvm() -> None:
    """Random seeds, bounds and list sizes, asked of the JVM in one batch each."""
    java, rng = jvm.kafka_jvm(), np.random.default_rng(20261121)
    for seed in rng.integers(-(2**63), 2**63 - 1, 5).tolist():
        theirs, ours = java.java.util.Random(seed), JavaRandom(seed)
        for bound in rng.integers(1, 2**31 - 1, 20).tolist():
            assert ours.next_int(bound) == theirs.nextInt(bound)
            assert METHODS["nextLong"](ours) == theirs.nextLong()
            assert METHODS["nextDouble"](ours) == theirs.nextDouble()
        values = np.arange(int(rng.integers(2, 500)), dtype=np.int32)
        listed = java.java.util.ArrayList(values.tolist())
        java.java.util.Collections.shuffle(listed, theirs)
        ours.shuffle(values)
        assert values.tolist() == list(listed)
        assert ours.next_int() == theirs.nextInt()
