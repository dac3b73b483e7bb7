"""Shares beside what was simulated and beside another optimiser; intervals beside how often they hold the truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize

from service.core.partitioners import PARTITIONERS
from service.planner.attribution.fingerprints import fingerprint
from service.planner.attribution.mixtures import Pairs, Patterns, Z, intervals, likelihoods, merged, most_likely, wilson
from service.planner.attribution.observations import observe
from tests.support.questions import ask, column

N = 12
NAMES = ("java", "librdkafka:consistent_random", "sarama")


def place(name: str, keys: list[str], n: int = N) -> np.ndarray:
    return np.asarray(ask({"partitioner": name, "partitions_count": n, "keys": keys}).partitions, np.int32)


def zipf(draw: np.random.Generator, keys: int, records: int, exponent: float = 1.0) -> np.ndarray:
    weights = np.arange(1, keys + 1) ** -exponent
    return draw.choice(keys, records, p=draw.permutation(weights / weights.sum()))


def writers_in(shares: tuple[float, ...], records: int, draw: np.random.Generator) -> np.ndarray:
    """Exactly these shares of the records, in random order."""
    return draw.permutation(np.repeat(np.arange(len(shares)), np.rint(np.array(shares) * records).astype(int)))


@pytest.mark.parametrize("shares", [(0.9, 0.1), (0.6, 0.3, 0.1), (0.99, 0.01)])
@pytest.mark.parametrize("exponent", [0.0, 1.0])
def test_the_shares_of_records_are_found_where_keys_repeat(shares, exponent):
    """50 records for a key: nearly every key has a pair of each writer, so distinct pairs say nothing about the shares."""
    draw = np.random.default_rng(5)
    names = [f"flight-{i}" for i in range(400)]
    key_of, writer_of = zipf(draw, 400, 20_000, exponent), writers_in(shares, 20_000, draw)
    placed = np.stack([place(name, names) for name in NAMES[: len(shares)]])
    seen = observe(column([names[i] for i in key_of], "string"), "string", placed[writer_of, key_of])
    result = fingerprint(PARTITIONERS, seen, range(N, N + 1))
    assert [result.writers[i][0] for i in range(len(shares))] == list(NAMES[: len(shares)])
    assert result.mixture.chance_share == 0
    for part, (low, high), share in zip(result.mixture.components, result.intervals, shares, strict=False):
        assert part.share == pytest.approx(share, abs=0.004)
        assert low < share < high
        assert high - low < 0.03


def simulated(
    draw: np.random.Generator, shares: tuple[float, ...], keys: int, records: int, n: int, *, owned: bool, chance: float = 0
):
    """Patterns and pairs of a topic, and the share that each writer really has in it.

    owned : does each key have one writer, instead of each record?
    """
    placed = draw.integers(0, n, (len(shares), keys))
    key_of = zipf(draw, keys, records, 0.8)
    writer_of = draw.choice(len(shares), keys, p=shares)[key_of] if owned else draw.choice(len(shares), records, p=shares)
    where, by_chance = placed[writer_of, key_of], draw.random(records) < chance
    where = np.where(by_chance, draw.integers(0, n, records), where)
    pairs, times = np.unique(key_of * n + where, return_counts=True)
    codes, code_of = np.unique((placed[:, pairs // n] == pairs % n).T @ (1 << np.arange(len(shares))), return_inverse=True)
    explained = (codes[:, None] >> np.arange(len(shares)) & 1).astype(np.bool_)
    totals = np.bincount(code_of), np.bincount(code_of, times).astype(np.int64)
    actual = [float(((writer_of == i) & ~by_chance).mean()) for i in range(len(shares))]
    patterns = Patterns(n, explained, np.zeros_like(explained), *totals)
    return patterns, Pairs((pairs // n).astype(np.int32), code_of, times.astype(float)), [*actual, float(by_chance.mean())]


@pytest.mark.parametrize("chance", [0.0, 0.2])
@pytest.mark.parametrize("shares", [(0.9, 0.1), (0.6, 0.3, 0.1)])
def test_another_optimiser_comes_to_the_same_shares(shares, chance):
    """SciPy's, over the plain log-likelihood of the records."""
    for seed in range(5):
        patterns, _, _ = simulated(np.random.default_rng(seed), shares, 300, 5_000, N, owned=False, chance=chance)
        of_patterns = likelihoods(patterns, list(range(len(shares))))
        components = of_patterns.shape[1]

        def loss(weights, of_patterns=of_patterns, counts=patterns.observations):
            return -float(counts @ np.log(of_patterns @ weights)) / counts.sum()

        other = minimize(
            loss, np.full(components, 1 / components), bounds=[(1e-12, 1)] * components, tol=1e-12,
            constraints={"type": "eq", "fun": lambda weights: weights.sum() - 1},
        )  # fmt: skip
        ours = most_likely(of_patterns, patterns.observations)
        assert ours == pytest.approx(other.x, abs=1e-4)
        assert loss(ours) <= other.fun + 1e-12


@given(
    st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans(), st.integers(1, 10**6)), min_size=1, max_size=8),
    st.integers(2, 10**6),
)
def test_no_direction_leads_uphill_from_the_shares(rows, n):
    """The Kuhn-Tucker conditions, also where writers are alike, or explain nothing, and shares are 0."""
    explained = np.array([row[:3] for row in rows], np.bool_)
    counts = np.array([row[3] for row in rows], np.int64)
    of_patterns = likelihoods(Patterns(n, explained, np.zeros_like(explained), counts, counts), [0, 1, 2])
    shares = most_likely(of_patterns, counts)
    slopes = counts @ (of_patterns / (of_patterns @ shares)[:, None]) / counts.sum()
    assert shares.sum() == pytest.approx(1)
    assert (shares >= 0).all()
    assert (slopes <= 1 + 1e-2).all()
    assert shares @ slopes == pytest.approx(1)


def test_a_writer_alone_has_exactly_everything():
    counts = np.array([3, 7], np.int64)
    of_patterns = likelihoods(Patterns(N, np.ones((2, 1), np.bool_), np.zeros((2, 1), np.bool_), counts, counts), [0])
    shares = most_likely(of_patterns, counts)
    assert shares.tolist() == [1.0, 0.0]
    keys = Pairs(np.arange(10, dtype=np.int32), np.repeat([0, 1], [3, 7]), np.ones(10))
    low, high = intervals(of_patterns, shares, keys)[0]
    assert (low, high) == (pytest.approx(10 / (10 + Z**2)), 1.0)
    assert intervals(of_patterns, shares, keys)[1] == (0.0, pytest.approx(1 - low))


@pytest.mark.parametrize("owned", [False, True])
@pytest.mark.parametrize(("shares", "chance"), [((0.9, 0.1), 0.0), ((0.6, 0.3, 0.1), 0.0), ((0.7, 0.3), 0.2)])
def test_intervals_hold_the_share_that_each_writer_has_in_the_topic(shares, chance, owned):
    """Whether each record has its own writer, or each key."""
    draw = np.random.default_rng(11)
    held, widths = [], []
    for _ in range(100):
        patterns, pairs, actual = simulated(draw, shares, 500, 20_000, 6, owned=owned, chance=chance)
        of_patterns = likelihoods(patterns, list(range(len(shares))))
        bounds = intervals(of_patterns, most_likely(of_patterns, patterns.observations), pairs)
        held.append([low <= share <= high for (low, high), share in zip(bounds, actual, strict=True)])
        widths.append(bounds[0][1] - bounds[0][0])
    assert np.mean(held, axis=0).min() >= 0.95
    assert (np.mean(widths) > 0.05) == owned


def test_independent_records_give_the_interval_of_a_binomial_share():
    from scipy.stats import binomtest  # noqa: PLC0415 (it takes half a second, which each worker would spend)

    """Each key once, each record explained by one writer: Wilson's interval of as many trials."""
    patterns = Patterns(N, np.eye(2, dtype=np.bool_), np.zeros((2, 2), np.bool_), np.array([90, 10]), np.array([90, 10]))
    of_patterns = likelihoods(patterns, [0, 1])
    shares = most_likely(of_patterns, patterns.observations)
    pairs = Pairs(np.arange(100, dtype=np.int32), np.repeat([0, 1], [90, 10]), np.ones(100))
    of_java, of_rdkafka, of_chance = intervals(of_patterns, shares, pairs)
    assert of_java == pytest.approx(wilson(0.9, 100))
    assert of_rdkafka == pytest.approx(tuple(binomtest(10, 100).proportion_ci(0.95, "wilson")))
    assert of_chance == (0, pytest.approx(1 - 100 / (100 + Z**2)))


def test_one_heavy_key_that_two_writers_explain_makes_its_half_uncertain():
    """If other keys have one writer each, so may this one; if records of a key have several, its records are divided alike."""
    shared = [(key, pattern, times) for key in range(100) for pattern, times in ((0, 9), (1, 1))]
    owned = [(key, int(key % 10 == 0), 10) for key in range(100)]
    for rows, wide in ((shared, False), (owned, True)):
        keys, kinds, times = (np.array(column) for column in zip(*rows, (100, 2, 1000), strict=True))
        explained = np.array([[True, False], [False, True], [True, True]])
        totals = np.bincount(kinds), np.bincount(kinds, times).astype(np.int64)
        patterns = Patterns(N, explained, np.zeros_like(explained), *totals)
        of_patterns = likelihoods(patterns, [0, 1])
        shares = most_likely(of_patterns, patterns.observations)
        assert shares == pytest.approx([0.9, 0.1, 0])
        low, high = intervals(of_patterns, shares, Pairs(keys.astype(np.int32), kinds, times.astype(float)))[0]
        assert (low < 0.5 and high > 0.95) == wide
        assert high - low < (1 if wide else 0.02)


@given(st.floats(0, 1), st.floats(1, 1e12))
def test_wilsons_interval_solves_his_equation(share, trials):
    """Its ends are the probabilities from which the share is Z standard deviations away."""
    low, high = wilson(share, trials)
    assert 0 <= low <= share <= high <= 1 or low == pytest.approx(share) or high == pytest.approx(share)

    def distance(probability: float) -> float:
        return (share - probability) ** 2 * trials - Z**2 * probability * (1 - probability)

    if 1e-3 < share < 0.999 and trials < 1e6:
        assert low == pytest.approx(brentq(distance, 0, share), abs=1e-9)
        assert high == pytest.approx(brentq(distance, share, 1), abs=1e-9)
    assert not math.isnan(low + high)


@given(
    st.lists(st.tuples(st.lists(st.sampled_from([0.0, 0.25, 1.0]), min_size=45, max_size=45), st.integers(1, 99)), max_size=30),
    st.integers(0, 45),
)
def test_merged_patterns_are_the_distinct_rows_and_what_they_count_together(rows, components):
    """With few components and with more than a code has room for."""
    likelihoods_of_rows = np.array([[*row[:components], 0.25] for row, _ in rows]).reshape(-1, components + 1)
    counts = np.array([count for _, count in rows], np.int64)
    totals: dict[tuple[float, ...], int] = {}
    for row, count in zip(likelihoods_of_rows.tolist(), counts.tolist(), strict=True):
        totals[tuple(row)] = totals.get(tuple(row), 0) + count
    distinct, together = merged(likelihoods_of_rows, counts)
    assert dict(zip(map(tuple, distinct.tolist()), together.tolist(), strict=True)) == totals
    assert len(distinct) == len(totals)
