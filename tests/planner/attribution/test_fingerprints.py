"""Who wrote it: kernels beside their twins, verdicts beside what was simulated, and what users saw in the field."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.core.budget import limited
from service.core.partitioners import PARTITIONERS
from service.planner.attribution import fingerprints, mixtures
from service.planner.attribution.equivalents import PROBES, UNDECIDED, classify, hash_all, probe_keys
from service.planner.attribution.fingerprints import DOUBT, SAMPLE, STEP, fingerprint
from service.planner.attribution.mixtures import NEVER, Patterns, likelihoods, log_likelihood, most_likely, unmix
from service.planner.attribution.observations import explained_by, find_patterns, first_rows, matches, observe
from tests.reference import fingerprints as twin
from tests.support.golden import lines
from tests.support.questions import SUSPECTS, ask, column
from tests.support.time_limits import Looks

N = 12


def place(name: str, keys: list, n: int = N) -> np.ndarray:
    return np.asarray(ask({"partitioner": name, "partitions_count": n, "keys": keys}).partitions, np.int32)


def judge(keys: list, partition_ids, counts: range = range(N, N + 1), names=None, **limits):
    partitioners = SUSPECTS if names is None else [PARTITIONERS[name] for name in names]
    seen = observe(column(list(keys), "string"), "string", np.asarray(partition_ids, np.int32))
    return fingerprint(partitioners, seen, counts, **limits)


def writers(found) -> list[str]:
    return [found.partitioners.classes[part.class_index].names[0] for part in found.mixture.components]


def open_counts(partition_ids) -> range:
    return range(int(max(partition_ids)) + 1, 4097)


KEYS = [f"order-{i}" for i in range(1000)]

KEYED = [
    one.name
    for one in SUSPECTS
    if one.hashing_rule is not None and "string" in one.encoding.formats and one.name != "java:sticky"
]
"""Those that hash keys, but for one that cannot be asked without the sizes of the records."""


# The kernels and their twins


@given(
    st.lists(st.lists(st.one_of(st.none(), st.integers(-(2**31), 2**32)), min_size=5, max_size=5), min_size=1, max_size=4),
    st.lists(st.integers(0, 40), min_size=5, max_size=5),
    st.lists(st.one_of(st.integers(1, 60), st.integers(1, 2**31 - 1)), min_size=1, max_size=5),
)
def test_matches_are_counted_as_the_twin_counts_them(dividends, partitions, counts):
    values = np.array([[np.nan if d is None else d for d in row] for row in dividends], np.float64)
    tried = np.arange(len(values) * len(counts)).reshape(len(values), len(counts)) % 3 != 1
    counted = matches(values, np.array(partitions, np.int32), np.array(counts, np.int64), tried)
    assert counted.tolist() == (tried * np.array(twin.matches(dividends, partitions, counts))).tolist()


@given(
    st.lists(st.lists(st.integers(-1, 3), min_size=6, max_size=6), max_size=60),
    st.lists(st.integers(0, 3), min_size=6, max_size=6),
)
def test_a_bit_says_which_writer_explains_a_pair(partitions, seen):
    bits = explained_by(np.array(partitions, np.int32).reshape(-1, 6), np.array(seen, np.int32))
    assert bits.tolist() == [sum(1 << w for w, row in enumerate(partitions) if row[i] == seen[i]) for i in range(6)]


@given(st.lists(st.tuples(st.sampled_from([None, "", "a", "b", "c"]), st.integers(0, 2)), min_size=1, max_size=40))
def test_a_pair_counts_once_however_often_it_was_seen(pairs):
    seen = observe(column([key for key, _ in pairs], "string"), "string", np.array([p for _, p in pairs], np.int32))
    often = Counter(pairs)
    assert seen.pairs == len(often)
    assert seen.keys == len({key for key, _ in pairs if key is not None})
    assert {pairs[row]: int(times) for row, times in zip(seen.rows, seen.times, strict=True)} == often
    assert seen.rows.tolist() == sorted(pairs.index(pair) for pair in often)
    assert [pairs[seen.rows[i]] for i in seen.pair_indices] == pairs
    assert [seen.rows[seen.key_indices.tolist().index(i)] for i in seen.key_indices] == [
        next(row for row in seen.rows if pairs[row][0] == pairs[of][0]) for of in seen.rows
    ]


@given(st.lists(st.tuples(st.sampled_from([None, "", "a", "b", "c", "d"]), st.integers(0, 4)), min_size=1, max_size=60))
def test_patterns_hold_every_pair_with_who_explains_it(pairs):
    keys, partition_ids = [key for key, _ in pairs], [partition for _, partition in pairs]
    some = [PARTITIONERS[name] for name in ("java", "librdkafka:consistent", "librdkafka:consistent_random", "spark")]
    group = classify(some, "string", has_null=True, has_empty=True)
    patterns = find_patterns(group.classes, observe(column(keys, "string"), "string", np.array(partition_ids, np.int32)), [5])[5]
    placed = hash_all(group.classes, column(keys, "string"), "string").partitions(5)
    expected: Counter = Counter()
    often: Counter = Counter()
    for i, pair in enumerate(pairs):
        row = tuple(placed[:, i] == partition_ids[i]), tuple(placed[:, i] == UNDECIDED)
        often[row] += 1
        expected[row] += pairs.index(pair) == i
    assert {
        (tuple(explained), tuple(undecided)): (number, seen)
        for explained, undecided, number, seen in zip(
            patterns.explained.tolist(),
            patterns.undecided.tolist(),
            patterns.pairs.tolist(),
            patterns.observations.tolist(),
            strict=True,
        )
    } == {row: (expected[row], often[row]) for row in expected}


def test_examples_are_the_first_that_fit():
    group = classify([PARTITIONERS["java"], PARTITIONERS["sarama"]], "string", has_null=False, has_empty=False)
    java, sarama = place("java", KEYS), place("sarama", KEYS)
    mixed = np.where(np.arange(1000) % 3 == 0, sarama, java)
    mixed[500:] = (java[500:] + 1) % N
    seen = observe(column(KEYS, "string"), "string", mixed)
    found = first_rows(group.classes, seen, N, [(3, 1), (3, 2), (3, 0)], 4)
    for rows, (by_java, by_sarama) in zip(found, [(True, False), (False, True), (False, False)], strict=True):
        fits = [i for i in range(1000) if ((java[i] == mixed[i]) == by_java) and ((sarama[i] == mixed[i]) == by_sarama)]
        assert rows == fits[:4]


# Mixtures


@given(
    st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(1, 50)), min_size=1, max_size=4, unique_by=lambda row: row[:2]),
    st.integers(2, 40),
)
def test_the_likelihood_is_the_greatest_of_any_shares(rows, n):
    """No other shares, on a grid, are likelier; and the likelihood is that of a plain sum."""
    explained = np.array([row[:2] for row in rows], np.bool_)
    pairs = np.array([row[2] for row in rows], np.int64)
    patterns = Patterns(n, explained, np.zeros_like(explained), pairs, pairs)
    shares, likelihood = most_likely(likelihoods(patterns, [0, 1]), pairs), log_likelihood(patterns, [0, 1])
    assert shares.sum() == pytest.approx(1)
    plain = [row[:2] for row in rows for _ in range(row[2])]
    assert likelihood == pytest.approx(twin.log_likelihood(plain, list(shares[:2]), n), abs=1e-3)
    grid = [(a / 20, b / 20) for a in range(20) for b in range(20 - a)]
    assert likelihood >= max(twin.log_likelihood(plain, [*two], n) for two in grid) - 1e-3


def test_shares_count_observations_and_evidence_counts_pairs():
    """One pair seen a hundred times is one hundred records, but one piece of evidence."""
    patterns = Patterns(
        N, np.array([[True, False], [False, True]]), np.zeros((2, 2), np.bool_), np.array([30, 10]), np.array([30, 110])
    )
    mixture = unmix(patterns, 2)
    assert [part.class_index for part in mixture.components] == [1, 0]
    assert [part.share for part in mixture.components] == pytest.approx([110 / 140, 30 / 140], abs=1e-3)
    assert [(part.pairs, part.of) for part in mixture.components] == [(10, 10), (30, 30)]
    exact = twin.tail(10, 10, Fraction(1, N - 1))
    assert mixture.components[0].log_chance == pytest.approx(math.log(exact))


def test_chance_alone_is_called_a_writer_in_less_than_one_of_a_thousand_questions():
    draw = np.random.default_rng(0)
    hashes = hash_all(classify(PARTITIONERS, "string", has_null=False, has_empty=False).classes, column(KEYS, "string"), "string")
    placed = hashes.partitions(N)
    called = 0
    for _ in range(1000):
        explained = (placed[:, :100] == draw.integers(0, N, 100)).T
        ones = np.ones(100, np.int64)
        called += len(unmix(Patterns(N, explained, np.zeros_like(explained), ones, ones), len(placed)).components) > 0
    assert called <= 4  # expected: at most 1; 5 would come by chance once in 250 runs


# Verdicts


@pytest.mark.parametrize("name", KEYED)
def test_every_partitioner_is_identified_by_thirty_keys(name):
    """With its own class of those that no key tells from it, and the numbers that counting gives."""
    keys = [f"{'Zy' * (i % 5)}customer-{i * 7919}" for i in range(30)]
    partition_ids = ask({"partitioner": name, "partitions_count": N, "keys": keys}).partitions
    result = judge(keys, partition_ids)
    assert result.verdict == "identified"
    (part,) = result.mixture.components
    assert name in result.partitioners.classes[part.class_index].names
    assert result.candidates_count == 1
    assert result.more_samples == 0
    for candidate in result.candidates:
        alone = result.partitioners.classes[candidate.class_index].names
        placed = ask({"partitioner": alone[0], "partitions_count": N, "keys": keys}).partitions
        explained = int((np.asarray(placed) == np.asarray(partition_ids)).sum())
        assert (candidate.pairs, candidate.of) == (explained, 30)
        assert math.exp(candidate.log_chance) == pytest.approx(float(twin.tail(explained, 30, Fraction(1, N))))
        assert candidate.ruled_out == (name not in alone)


@pytest.mark.parametrize("name", ["java", "sarama", "librdkafka:consistent_random", "spark"])
@pytest.mark.parametrize("n", [3, 12, 50, 1000])
def test_the_partition_count_is_found_too(name, n):
    keys = [f"k-{i}" for i in range(60)]
    result = judge(keys, place(name, keys, n), open_counts(place(name, keys, n)))
    assert result.verdict == "identified"
    assert result.mixture.partitions_count == n
    assert writers(result) == [name]


def test_one_wrong_writer_of_twelve_is_found_with_its_share():
    """92 % java, 8 % librdkafka's default, with and without the partition count."""
    java, rdkafka = place("java", KEYS), place("librdkafka:consistent_random", KEYS)
    mixed = np.where(np.arange(1000) % 25 < 2, rdkafka, java)
    for counts in (range(N, N + 1), open_counts(mixed)):
        result = judge(KEYS, mixed, counts)
        assert result.verdict == "mixture"
        assert writers(result) == ["java", "librdkafka:consistent_random"]
        assert [part.share for part in result.mixture.components] == pytest.approx([0.92, 0.08], abs=0.01)
        assert result.mixture.partitions_count == N
        assert result.mixture.unexplained == 0
        only_java = [i for i in range(1000) if mixed[i] == java[i] and mixed[i] != rdkafka[i]]
        only_rdkafka = [i for i in range(1000) if mixed[i] != java[i]]
        assert result.examples == (tuple(only_java[:3]), tuple(only_rdkafka[:3]), ())
        java_part, rdkafka_part = result.mixture.components
        assert (rdkafka_part.pairs, rdkafka_part.of) == (len(only_rdkafka), len(only_rdkafka))
        left = [i for i in range(1000) if mixed[i] != rdkafka[i]]
        assert (java_part.pairs, java_part.of) == (len(only_java), len(left))


def test_three_writers_are_found():
    placed = [place(name, KEYS) for name in ("java", "sarama", "pulsar")]
    mixed = np.choose(np.where(np.arange(1000) % 10 == 0, 2, np.where(np.arange(1000) % 10 < 4, 1, 0)), placed)
    result = judge(KEYS, mixed)
    assert writers(result) == ["java", "sarama", "pulsar"]
    assert [part.share for part in result.mixture.components] == pytest.approx([0.6, 0.3, 0.1], abs=0.02)


def test_records_that_no_key_placed_are_the_rest():
    mixed = np.where(np.arange(1000) % 5 == 0, np.random.default_rng(3).integers(0, N, 1000), place("java", KEYS))
    result = judge(KEYS, mixed)
    assert result.verdict == "mixture"
    assert writers(result) == ["java"]
    assert result.mixture.chance_share == pytest.approx(0.2, abs=0.02)
    assert result.mixture.unexplained == int((mixed != place("java", KEYS)).sum())


def test_random_partitions_match_no_partitioner():
    drawn = np.random.default_rng(1).integers(0, N, 1000)
    for counts in (range(N, N + 1), open_counts(drawn)):
        result = judge(KEYS, drawn, counts)
        assert result.verdict == "unexplained"
        assert result.more_samples is None
        assert result.candidates_count == 0


def test_the_sample_is_enough_for_the_count_and_all_pairs_decide():
    """More pairs than are tried with every count; the wrong writer only comes after them."""
    keys = [f"k-{i}" for i in range(2 * SAMPLE)]
    mixed = place("java", keys, 48)
    mixed[SAMPLE:] = place("sarama", keys, 48)[SAMPLE:]
    result = judge(keys, mixed, open_counts(mixed))
    assert writers(result) == ["java", "sarama"]
    assert result.mixture.partitions_count == 48
    assert [part.share for part in result.mixture.components] == pytest.approx([0.5, 0.5], abs=0.02)


def test_a_key_that_is_seen_again_proves_nothing_more():
    once = judge(["TT0124"], [10], range(15, 16))
    often = judge(["TT0124"] * 50, [10] * 50, range(15, 16))
    assert once.verdict == often.verdict == "undecided"
    assert once.candidates == often.candidates


def test_one_key_is_no_proof_even_where_chance_would_hardly_ever_do_it():
    """One in a million: still, a rule that happens to agree on one key is not ruled out by it."""
    n = 1_000_000
    result = judge(KEYS[:1], place("java", KEYS[:1], n), range(n, n + 1))
    assert writers(result) == ["java"]
    assert result.verdict == "undecided"
    assert result.more_samples == 1
    assert judge(KEYS[:2], place("java", KEYS[:2], n), range(n, n + 1)).verdict == "identified"


def test_the_number_of_samples_needed_is_enough():
    """Where the first candidate is right, as many more keys as are asked for leave it alone, in 99 of 100 cases."""
    cases = decided = 0
    for name in ("java", "librdkafka:consistent_random", "pulsar"):
        for start in range(50):
            keys = [f"{start}-order-{i}" for i in range(40)]
            placed = place(name, keys)
            first = judge(keys[:1], placed[:1])
            if name in names_of(first, first.candidates[0]):
                cases += 1
                decided += judge(keys[: 1 + first.more_samples], placed[: 1 + first.more_samples]).verdict == "identified"
    assert cases > 80
    assert decided >= 0.97 * cases


def names_of(found, candidate):
    return found.partitioners.classes[candidate.class_index].names


def test_the_samples_that_tell_a_rival_apart_follow_from_how_often_it_agrees():
    """TT0124 on 9 of 15 partitions: Scala's hashCode, CRC-32 and Spark's hash all put it there."""
    result = judge(["TT0124"], [9], range(15, 16))
    left = [candidate for candidate in result.candidates if not candidate.ruled_out]
    assert [names_of(result, candidate)[0] for candidate in left] == ["scala-0.8", "librdkafka:consistent_random", "spark"]
    keys = probe_keys("string")
    placed = hash_all(result.partitioners.classes, keys, "string").partitions(15)
    agreements = []
    for candidate in left[1:]:
        agreement = float((placed[candidate.class_index] == placed[left[0].class_index]).mean())
        assert candidate.more_samples == twin.samples_until([agreement], DOUBT)
        agreements.append(agreement)
    proof = next(
        m for m in range(99) if float(twin.tail(1 + m, 1 + m, Fraction(1, 15))) * result.hypotheses <= mixtures.SIGNIFICANCE
    )
    assert result.more_samples == max(twin.samples_until(agreements, DOUBT), proof)


def test_one_partition_distinguishes_no_partitioners():
    result = judge(KEYS[:9], [0] * 9, range(1, 2))
    assert result.verdict == "undecided"
    assert result.more_samples == NEVER


def test_what_puts_every_key_alike_is_never_told_apart():
    """Booleans: two keys, so that two partitioners which agree on both always will."""
    seen = observe(column([True, False], "boolean"), "boolean", np.array([0, 0], np.int32))
    result = fingerprint(PARTITIONERS, seen, range(1, 50))
    assert result.verdict == "undecided"
    assert result.more_samples == NEVER


def test_records_without_a_key_speak_for_those_alone_that_hash_them():
    """Consistent hashes no key as an empty one, consistent_random draws."""
    names = ["librdkafka:consistent", "librdkafka:consistent_random"]
    empty = int(place("librdkafka:consistent", [None])[0])
    keys = [*KEYS[:20], None]
    placed = [*place("librdkafka:consistent", KEYS[:20]), empty]
    fixed = judge(keys, placed, names=names)
    assert [candidate.of for candidate in sorted(fixed.candidates, key=lambda c: c.class_index)] == [21, 20]
    elsewhere = judge(keys, [*placed[:-1], (empty + 1) % N], names=names)
    assert writers(elsewhere) == ["librdkafka:consistent_random"]
    nothing = judge([None, None], [3, 4], names=["java", "librdkafka:consistent_random"])
    assert nothing.verdict == "undecided"


def test_probes_are_different_keys_of_each_format():
    for key_format in ("string", "uuid", "base64", "short", "int", "long", "float", "double"):
        group = classify([PARTITIONERS["java"]], key_format, has_null=False, has_empty=False)
        spread = np.bincount(hash_all(group.classes, probe_keys(key_format), key_format).partitions(16)[0], minlength=16)
        assert spread.sum() == PROBES
        assert spread.min() > PROBES / 16 * 0.7


# What users saw


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in lines("fingerprints/users")])
def test_what_users_posted_is_explained_and_one_sample_is_no_proof(case):
    """Of either side the writer that it turned out to be explains the partition; no side is said to be identified by it."""
    n = case["partitions_count"]
    for side in case["sides"]:
        result = judge([case["key"]], [side["partition_id"]], range(n, n + 1))
        left = [names_of(result, candidate) for candidate in result.candidates if not candidate.ruled_out]
        assert any(side["partitioner"] in names for names in left)
        assert not any(side.get("claimed", "") in names for names in left)
        if "as_likely" in side:
            assert any(side["as_likely"] in names for names in left)
        assert result.verdict == "undecided"
        assert result.more_samples > 0


def test_two_samples_of_the_same_user_decide_more_than_one():
    """Both keys of one report: the writer of each side is among fewer candidates, and still not proven."""
    one, two = (case for case in lines("fingerprints/users") if case["id"].startswith("node-rdkafka-616"))
    for side in (0, 1):
        seen = [case["sides"][side]["partition_id"] for case in (one, two)]
        result = judge([one["key"], two["key"]], seen, range(10, 11))
        assert result.candidates_count == 1
        assert one["sides"][side]["partitioner"] in names_of(result, result.candidates[0])
        assert result.verdict == "undecided"


def test_the_search_can_be_ended_at_each_of_its_steps():
    """Each key on two partitions has the most steps for its size: no writer explains it, and several nearly do."""
    names = [f"k{i // 2}" for i in range(40)]
    seen = observe(column(names, "string"), "string", np.array([(7919 * i + i % 2) % 3 for i in range(40)], np.int32))
    calls = 0

    def count() -> None:
        nonlocal calls
        calls += 1

    with limited(Looks(count)):
        fingerprint(PARTITIONERS, seen, range(3, 4), all_suspects=True)
    assert calls >= 3
    for last in range(1, calls + 1):
        left = iter(range(last - 1))
        with pytest.raises(StopIteration), limited(Looks(lambda left=left: next(left))):
            fingerprint(PARTITIONERS, seen, range(3, 4), all_suspects=True)


def test_the_time_is_looked_at_while_partition_counts_are_tried(monkeypatch):
    """In steps as large as the time between two looks allows; how many there are changes nothing."""
    seen = observe(column(["a", "b", "c"], "string"), "string", np.array([0, 1, 2], np.int32))
    results, looks = [], []
    for step in (STEP, 1):
        monkeypatch.setattr(fingerprints, "STEP", step)
        with limited(Looks(lambda step=step: looks.append(step))):
            results.append(fingerprint(PARTITIONERS, seen, range(3, 40)))
    assert results[0].candidates == results[1].candidates
    assert looks.count(1) == looks.count(STEP) + 36
