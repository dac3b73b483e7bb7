"""Evenness, as a textbook has it, of counts and of loads."""

from __future__ import annotations

import statistics
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.core.measures import Spread, spread

HELD = st.lists(st.integers(0, 10**6), max_size=20)


def textbook(held: list[float]) -> dict[str, float]:
    """The spread of what each holder has."""
    if not held:
        return {"min": 0, "max": 0, "mean": 0, "stddev": 0, "skew": 1}
    mean = statistics.fmean(held)
    return {
        "min": min(held),
        "max": max(held),
        "mean": mean,
        "stddev": statistics.pstdev(held),
        "skew": max(held) / mean if mean else 1,
    }


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float64])
@given(HELD, st.integers(0, 5))
def test_a_spread_is_the_textbooks(dtype, held, absent):
    """Those who have nothing may be left out of the array, and count all the same."""
    evenness = spread(np.array(held, dtype), len(held) + absent)
    assert asdict(evenness) == pytest.approx(textbook([*held, *[0] * absent]))
    assert {type(evenness.min), type(evenness.max)} == {float if dtype == np.float64 else int}


def test_nothing_at_all_is_perfectly_even():
    assert spread(np.zeros(0, np.int32)) == Spread(0, 0, 0.0, 0.0, 1.0)
