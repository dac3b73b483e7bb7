"""The skew that chance gives is that of keys thrown at random."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.planner.sizing.random_baseline import HEAVY, RandomSkew, Weights, random_skew
from tests.reference.random_baseline import best_maximum, least_maximum, skews

GENERATOR = np.random.default_rng(3)
KEYS = {
    "few": np.ones(100),
    "many": np.ones(20_000),
    "zipf": 1 / np.arange(1, 10_001),
    "lognormal": GENERATOR.lognormal(0, 2, 3_000),
    "exponential": GENERATOR.exponential(1, 10_000),
}


@pytest.mark.parametrize("name", KEYS)
@pytest.mark.parametrize("partitions_count", [2, 12, 64, 65, 1000])
def test_the_band_is_that_of_a_simulation(name, partitions_count):
    weights = KEYS[name]
    known = Weights.equal(len(weights)) if name in ("few", "many") else Weights.of(weights)
    chance = random_skew(known, partitions_count)
    simulated = np.array(skews(list(weights), partitions_count, 1000, seed=partitions_count))
    # What is above 1 is what counts; a quantile of a thousand throws is itself uncertain by the distance of its neighbours.
    uncertain = 4 * simulated.std() * (1 / 1000 + 1 / 2000) ** 0.5  # both are means of random throws
    assert chance.mean == pytest.approx(simulated.mean(), abs=uncertain + 0.02 * (chance.mean - 1))
    low = np.quantile(simulated, [0.0005, 0.02])
    high = np.quantile(simulated, [0.98, 0.9999])
    step = 0.01 * (chance.mean - 1)
    assert low[0] - step <= chance.low <= low[1] + step
    assert high[0] - step <= chance.high <= high[1] + 3 * step
    inside = ((simulated >= chance.low - 1e-9) & (simulated <= chance.high + 1e-9)).mean()
    assert inside >= 0.975


def test_equal_keys_given_one_by_one_or_by_number_are_the_same():
    assert random_skew(Weights.of(np.ones(HEAVY)), 12) == random_skew(Weights.equal(HEAVY), 12)
    one_by_one, by_number = (random_skew(weights, 12) for weights in (Weights.of(np.ones(5000)), Weights.equal(5000)))
    assert one_by_one.mean == pytest.approx(by_number.mean, rel=0.01)


def test_a_sample_says_nearly_what_all_keys_say():
    weights = np.sort(GENERATOR.exponential(1, 40_000))[::-1]
    of_all = random_skew(Weights.of(weights), 48)
    of_sample = random_skew(Weights.of(weights[100:][::4], 4.0, weights[:100]), 48)
    assert of_sample.mean == pytest.approx(of_all.mean, rel=0.01)


def test_the_same_question_has_the_same_answer():
    assert random_skew(Weights.of(KEYS["zipf"]), 12) == random_skew(Weights.of(KEYS["zipf"]), 12)


@pytest.mark.parametrize(
    ("weights", "partitions_count"), [(Weights.equal(10), 1), (Weights.equal(0), 5), (Weights.of(np.zeros(3)), 5)]
)
def test_what_cannot_be_uneven_is_even(weights, partitions_count):
    assert random_skew(weights, partitions_count) == RandomSkew(1.0, 1.0, 1.0)


def test_a_hot_key_makes_chance_alone_give_a_large_skew():
    """A tenth of all records on one key, over 100 partitions: skew 10 is no fault of the hash."""
    assert random_skew(Weights.of(np.array([1000] + [1] * 9000)), 100).low >= 10


@given(st.lists(st.integers(1, 40), max_size=7), st.integers(1, 4))
def test_no_placement_is_below_the_least_maximum(weights, partitions_count):
    bound = Weights.of(np.array(weights, np.int64)).least_maximum(partitions_count)
    assert bound == least_maximum(weights, partitions_count)
    assert bound <= best_maximum(weights, partitions_count)


@given(st.lists(st.integers(1, 10**6), max_size=300), st.integers(1, 50))
def test_the_least_maximum_is_its_twins(weights, partitions_count):
    assert Weights.of(np.array(weights, np.int64)).least_maximum(partitions_count) == least_maximum(weights, partitions_count)


def test_the_least_maximum_of_many_keys_considers_the_heaviest():
    """A lower bound still, if a weaker one: the keys beyond HEAVY are left out."""
    weights = np.array([900, *[10] * 2000])
    assert Weights.of(weights).least_maximum(2) == least_maximum(weights[:HEAVY].tolist(), 2) < least_maximum(weights.tolist(), 2)
    assert Weights.equal(700).least_maximum(1000) == 1


@given(st.lists(st.integers(1, 100), max_size=40), st.integers(0, 100))
def test_weights_divide_into_those_above_a_weight_and_the_others(weights, weight):
    heavier, others = Weights.of(np.array(weights, np.int64)).divided(weight)
    assert heavier == sum(each > weight for each in weights)
    assert others.heavy.tolist() == sorted((each for each in weights if each <= weight), reverse=True)


def test_weights_beyond_the_heaviest_divide_together():
    assert Weights.of(np.full(2000, 7)).divided(6.0)[0] == 2000
    assert Weights.of(np.full(2000, 7)).divided(6.0)[1].total == 0
    heavier, others = Weights.of(np.array([100] * HEAVY + [1] * 500)).divided(50.0)
    assert (heavier, others.total) == (HEAVY, 500)
