"""Probabilities of chance, and numbers of samples, beside exact counting."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.planner.attribution.mixtures import NEVER, log_tail, samples_until, smallest
from tests.reference import fingerprints as twin


@given(st.integers(0, 200), st.integers(-1, 201), st.integers(1, 200))
def test_the_tail_of_a_binomial_is_exact(trials, successes, partitions_count):
    exact = twin.tail(successes, trials, Fraction(1, partitions_count))
    logarithm = log_tail(successes, trials, 1 / partitions_count)
    if exact == 0:
        assert logarithm == -math.inf
    else:
        assert logarithm == pytest.approx(math.log(exact.numerator) - math.log(exact.denominator), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("successes", "trials"), [(500, 500), (450, 500), (700, 2000)])
def test_so_is_one_that_is_too_small_for_a_number(successes, trials):
    exact = twin.tail(successes, trials, Fraction(1, 50))
    logarithm = math.log(exact.numerator) - math.log(exact.denominator)
    assert logarithm < -650
    assert log_tail(successes, trials, 1 / 50) == pytest.approx(logarithm, rel=1e-6)


def test_the_tail_of_chance_is_what_a_simulation_gives():
    draws = np.random.default_rng(0).integers(0, 12, (20_000, 30)) == 0
    for successes in (1, 3, 5, 7):
        simulated = (draws.sum(axis=1) >= successes).mean()
        assert math.exp(log_tail(successes, 30, 1 / 12)) == pytest.approx(simulated, abs=4 * (0.25 / 20_000) ** 0.5)


@given(st.lists(st.floats(0, 0.95), max_size=5), st.sampled_from([0.01, 0.3]))
def test_samples_are_as_many_as_counting_up_gives(agreements, doubt):
    assert samples_until(np.array(agreements), doubt) == twin.samples_until(agreements, doubt)


def test_what_always_agrees_is_never_told_apart():
    assert samples_until(np.array([0.1, 1.0]), 0.01) == NEVER


@given(st.integers(0, 1000), st.integers(0, 1000))
def test_the_smallest_number_is_found(threshold, start):
    assert smallest(lambda number: number >= threshold, start) == max(threshold, start)


def test_a_number_that_does_not_exist_is_not_found():
    assert smallest(lambda _: False) == NEVER
