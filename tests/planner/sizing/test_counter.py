"""One scan gives for every partitioner and count what a scan for each alone would."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import time
from collections import Counter
from dataclasses import fields
from itertools import pairwise
from math import lcm
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from service.core.budget import limited
from service.core.errors import InvalidQuestion
from service.core.keys import columns as keys
from service.core.partitioners import PARTITIONERS, Question, allocate, allocation
from service.core.partitioners.model import AS_NULL
from service.planner.sizing import distinct_keys, frequent_keys
from service.planner.sizing.counter import BLOCK, LARGEST_PAIRED, LARGEST_SHARED, KeyCounter, add_up, count_up, key_hashes_of
from service.planner.sizing.distinct_keys import DistinctKeys, enter
from service.planner.sizing.frequent_keys import Cells, FrequentKeys, Slots, count_frequent, find, put
from service.planner.sizing.plans import CountLimits, Rates, plans
from service.planner.sizing.random_baseline import heaviest_of_few, heaviest_touched
from tests.reference import counter as plain
from tests.support.time_limits import Looks

HASHING = tuple(p.name for p in PARTITIONERS if p.hashing_rule is not None and "string" in p.encoding.formats)
SOME = ("java", "librdkafka:consistent_random", "sarama", "spark", "scala-0.8", "pulsar")
ROWS = st.lists(
    st.tuples(st.none() | st.text("abé", max_size=3) | st.text(max_size=9), st.integers(0, 1000), st.integers(0, 10**6)),
    max_size=60,
)


def counted(rows, names, counts, current, batch=1000, **options) -> KeyCounter:
    result = KeyCounter(names, counts, current, **options)
    for start in range(0, len(rows), batch):
        part = rows[start : start + batch]
        column = keys.from_text(keys.strings([key for key, _, _ in part]), "string")
        result.add(column, "string", np.array([r for _, r, _ in part], np.int64), np.array([b for _, _, b in part], np.int64))
    return result


def partitions_of(name, texts, count) -> dict[str, int]:
    encoded = PARTITIONERS[name].encoding.run(keys.strings(texts), "string")
    sticky = name == "java:sticky"  # it wants to know the sizes even of records that have a key
    options = {"sticky_batch_size": 1, "bytes": np.zeros(len(texts), np.int64)} if sticky else {}
    return dict(
        zip(texts, allocate(PARTITIONERS[name], Question(count, encoded, "string", **options)).partitions.tolist(), strict=True)
    )


def check(result: KeyCounter, rows) -> None:
    for name in result.names:
        as_null = {None, ""} if PARTITIONERS[name].empty_key == AS_NULL else {None}
        hashed = [row for row in rows if row[0] not in as_null or PARTITIONERS[name].null.counts_as is not None]
        apart = [row for row in rows if row not in hashed]
        assert result.without_key(name) == (sum(row[1] for row in apart), sum(row[2] for row in apart))
        texts = sorted({row[0] for row in hashed}, key=str)
        for count in result.partitions_counts:
            new = partitions_of(name, texts, count)
            expected = plain.lying_on(hashed, new, count)
            assert {what: values.tolist() for what, values in result.totals(name, count)._asdict().items()} == expected
            if result.current is None:
                continue
            old = partitions_of(name, texts, result.current)
            cells = plain.moving(hashed, old, new)
            moved = result.moved(name, count)
            leaving = [cell for (a, b), cell in cells.items() if a != b]
            assert [moved.keys, moved.records, moved.bytes] == [sum(cell[i] for cell in leaving) for i in range(3)]
            if lcm(count, result.current) <= LARGEST_PAIRED:
                found = dict(
                    zip(
                        zip(moved.from_partitions.tolist(), moved.to_partitions.tolist(), strict=True),
                        np.stack(moved.cells, axis=1).tolist(),
                        strict=True,
                    )
                )
                assert list(found.items()) == [(at, cell) for at, cell in cells.items() if any(cell[:2])]
            else:
                assert moved.from_partitions is None


@given(ROWS, st.lists(st.integers(1, 50), min_size=1, max_size=5, unique=True), st.none() | st.integers(1, 50), st.integers(1, 7))
def test_one_scan_gives_what_a_scan_for_each_count_and_partitioner_would(rows, counts, current, batch):
    check(counted(rows, SOME, tuple(counts), current, batch), rows)


@given(st.lists(st.text(min_size=1, max_size=9), min_size=1, max_size=60), st.lists(st.integers(1, 50), min_size=1, max_size=5))
def test_keys_by_themselves_are_counted_as_one_record_each(texts, counts):
    """Few or many beside the rows of a table, which are counted in different ways."""
    alone = KeyCounter(SOME, tuple(counts))
    alone.add(keys.from_text(keys.strings(texts), "string"), "string")
    check(alone, [(text, 1, 0) for text in texts])


def test_any_number_of_keys_can_be_the_most_that_are_held():
    held = counted([(str(i), 1, 1) for i in range(1_500)], ("java",), (3,), None, max_keys=1_500)
    assert len(held.entries("java")[0]) == 1_500
    held.add(keys.from_text(keys.strings(["one more"]), "string"), "string")
    assert held.distinct.level == 1


def test_every_partitioner_that_hashes_can_be_asked_about():
    rows = [(f"key-{i % 40}", i % 3, i) for i in range(200)] + [("", 2, 3), (None, 5, 7)]
    check(counted(rows, HASHING, (6, 7, 12), 6), rows)


def test_counts_without_a_common_multiple_of_a_size_still_give_the_shares_that_move():
    rows = [(f"key-{i % 500}", i, 2 * i) for i in range(1000)]
    check(counted(rows, ("java", "sarama"), (1009, 70_001), 997), rows)


@given(ROWS, st.integers(0, 60))
def test_two_halves_merged_are_the_whole(rows, at):
    ask = (("java", "sarama:crc32"), (3, 12, 1000, 70_001), 12)
    halves = [
        pickle.loads(pickle.dumps(counted(half, *ask)))  # noqa: S301 - our own
        for half in (rows[:at], rows[at:])
    ]
    halves[0].merge(halves[1])
    check(halves[0], rows)


def test_counts_of_other_questions_are_not_merged():
    with pytest.raises(ValueError, match="different partitioners"):
        KeyCounter(("java",), (3,)).merge(KeyCounter(("java",), (4,)))


@given(st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1), st.integers(1, 1000), st.integers(1, 1000))
def test_a_residue_tells_every_divisors_partition(hashes, n, times):
    """What KeyCounter rests on: every sign rule ends in a modulo."""
    array = np.array(hashes, np.int32)
    for sign in (allocation.MASK, allocation.UNSIGNED, allocation.REM_NEG, allocation.ABS0, allocation.PMOD):
        assert (sign.run(array, n * times) % n).tolist() == sign.run(array, n).tolist()


def test_counts_share_tables_but_no_table_outgrows_the_cache():
    assert KeyCounter(("java",), (6, 12, 18, 24, 30, 36), 6).moduli == (360,)
    moduli = KeyCounter(("java",), tuple(range(100, 130)), 12).moduli
    assert len(moduli) < 20
    assert max(moduli) <= LARGEST_SHARED


@pytest.mark.parametrize("name", ["java:round-robin", "cassandra:murmur3"])
def test_a_partitioner_that_gives_no_partition_of_a_key_is_refused(name):
    with pytest.raises(InvalidQuestion, match=name):
        KeyCounter((name,), (3,))


def test_a_key_format_that_a_partitioner_does_not_take_is_refused():
    with pytest.raises(InvalidQuestion, match="pulsar does not accept int keys"):
        KeyCounter(("java", "pulsar"), (3,)).add(keys.Numbers(np.array([1], np.int32)), "int")


def test_more_records_than_can_be_counted_are_refused():
    counts = KeyCounter(("java",), (3,))
    with pytest.raises(InvalidQuestion, match="2\\^62"):
        counts.add(keys.byte_strings([b"a"] * 3), "base64", np.full(3, 2**61, np.int64))


def heavy_tailed(n, seed=1):
    generator = np.random.default_rng(seed)
    return [
        (f"key-{key}", 1, int(size))
        for key, size in zip(generator.zipf(1.3, n) % 10**9, generator.integers(1, 9, n), strict=True)
    ]


@given(ROWS)
def test_the_heaviest_keys_are_those_of_a_plain_count(rows):
    named = [row for row in rows if row[0] is not None]
    distinct = counted(rows, ("java",), (3,), None, batch=7).distinct
    for column in (0, 1):
        weights = [weight for weight in plain.heaviest(named, column + 1) if weight]
        hottest = distinct.heaviest(column, 20)
        assert [weight for _, weight, _ in hottest] == weights[:20]
        for text, weight, error in hottest:
            assert (sum(row[column + 1] for row in named if row[0].encode() == text), 0) == (weight, error)


KEYS_THAT_TIE = st.lists(st.tuples(st.sampled_from("abcdefghijkl"), st.integers(1, 2), st.integers(0, 2)), max_size=40)


@given(KEYS_THAT_TIE, st.randoms(use_true_random=False), st.integers(1, 9))
def test_the_heaviest_keys_depend_on_neither_the_order_nor_the_batches_of_their_rows(rows, random, batch):
    """Also where keys tie with the last that has a name."""
    shuffled = random.sample(rows, len(rows))
    with patch.object(distinct_keys, "NAMED", 4):
        one, other = (counted(each, ("java",), (3,), None, batch=n).distinct for each, n in ((rows, 40), (shuffled, batch)))
    assert one.names == other.names
    for column in (0, 1):
        assert one.heaviest(column, 4) == other.heaviest(column, 4)
        assert [key[1] for key in one.heaviest(column, 4)] == [weight for weight in plain.heaviest(rows, column + 1) if weight][
            :4
        ]


@given(KEYS_THAT_TIE, st.randoms(use_true_random=False), st.lists(st.integers(0, 40), max_size=4))
def test_the_heaviest_keys_do_not_depend_on_how_the_rows_are_divided(rows, random, ends):
    """As long as each part names every key; a key that is light in every part may be left out."""
    shuffled = random.sample(rows, len(rows))
    bounds = [0, *sorted(ends), len(rows)]
    parts = [counted(shuffled[start:end], ("java",), (3,), None) for start, end in pairwise(bounds)]
    for part in parts[1:]:
        parts[0].merge(part)
    weights = Counter[str]()
    for key, records, _ in rows:
        weights[key] += records
    listed = [(key.decode(), weight) for key, weight, _ in parts[0].distinct.heaviest(0, 5)]
    assert listed == sorted(weights.items(), key=lambda each: (-each[1], each[0]))[:5]


def test_beyond_its_bound_the_keys_are_a_fair_sample_and_the_frequent_ones_are_found():
    rows = heavy_tailed(60_000)
    result = counted(rows, ("java",), (12,), None, batch=9_000, max_keys=1024)
    distinct = result.distinct
    column = keys.strings([row[0] for row in rows])
    level, held = plain.sample(key_hashes_of(column.keys).tolist(), 1024)
    assert (distinct.level, set(distinct.entries()[0].tolist())) == (level, held)
    truth = len({row[0] for row in rows})
    assert level > 0
    assert abs(distinct.distinct - truth) < 4 * distinct.relative_error * truth
    assert (
        result.totals("java", 12).records.tolist()
        == plain.lying_on(rows, partitions_of("java", [r[0] for r in rows], 12), 12)["records"]
    )
    for column in (0, 1):
        for (text, weight, error), true in zip(distinct.heaviest(column, 5), plain.heaviest(rows, column + 1)[:5], strict=True):
            assert sum(row[column + 1] for row in rows if row[0].encode() == text) == true
            assert weight - error <= true <= weight


def test_merged_samples_are_as_good_as_one():
    rows = heavy_tailed(60_000, seed=2)
    parts = [counted(part, ("java",), (12,), None, max_keys=1024) for part in (rows[:200], rows[200:40_000], rows[40_000:])]
    parts[0].merge(parts[1])
    parts[0].merge(parts[2])
    merged, truth = parts[0].distinct, len({row[0] for row in rows})
    assert abs(merged.distinct - truth) < 4 * merged.relative_error * truth
    (text, weight, error), *_ = merged.heaviest(0, 1)
    true = plain.heaviest(rows, 1)[0]
    assert weight - error <= true <= weight
    assert sum(row[0].encode() == text for row in rows) == true
    assert parts[0].records == len(rows)


def test_an_accumulator_is_arrays_numbers_and_bytes_throughout():
    distinct = counted(heavy_tailed(100), ("java",), (3,), None).distinct
    assert {type(getattr(distinct, field.name)) for field in fields(distinct)} <= {np.ndarray, int, dict, type(None)}


def test_each_kernel_is_compiled_once():
    """A second signature would be compiled while a request waits. In a process in which no other test has called them."""
    script = "from tests.planner.sizing.test_counter import signatures; print(signatures())"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert set(json.loads(done.stdout)) == {1}


def signatures() -> list[int]:
    """How often each kernel has been compiled after every kind of use."""
    rows = heavy_tailed(3000)
    merged = counted(rows, ("java",), (3, 100, 70_001), 7, batch=500, max_keys=64)
    merged.merge(counted([*rows, (None, 1, 1), ("", 1, 1)], ("java",), (3, 100, 70_001), 7, max_keys=64))
    merged.add(keys.strings(["one", "two"]), "string")
    plans(merged, Rates(), CountLimits())
    kernels = (enter, find, count_frequent, put, add_up, count_up, heaviest_of_few, heaviest_touched)
    return [len(kernel.signatures) for kernel in kernels]


KEYS_AND_WEIGHTS = st.lists(
    st.tuples(st.integers(1, 40).map(lambda key: key * 0x9E3779B97F4A7C15 % 2**63 + 1), st.integers(0, 200)), max_size=90
)


MANY_LIGHT_KEYS = [(number * 0x9E3779B97F4A7C15 % 2**63 + 1, 1) for number in range(1, 2000)]


@given(KEYS_AND_WEIGHTS, st.integers(1, 20))
@example(MANY_LIGHT_KEYS, 100)
def test_frequent_keys_are_counted_as_by_a_plain_table(rows, batch):
    slots, cells = 16, 4
    frequent = FrequentKeys(Slots.free(slots), Cells.of(np.zeros(cells, np.int64)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frequent_keys, "SLOTS", slots)
        for start in range(0, len(rows), batch):
            part = np.array(rows[start : start + batch], np.int64).reshape(-1, 2)
            frequent.add(part[:, 0].copy(), part[:, 1].copy(), np.zeros(len(part), np.bool_), 0)
        error, known, filtered = plain.frequent(rows, slots // 2, cells)
        assert frequent.error == error
        keys_ = np.array(sorted({key for key, _ in rows}), np.int64)
        weights, errors = frequent.weights_of(keys_)
    for key, most, too_much in zip(keys_.tolist(), weights.tolist(), errors.tolist(), strict=True):
        assert (most, too_much) == known.get(key, (filtered[(key >> 20) % cells],) * 2)
        assert key in known or most <= error
        assert most - too_much <= sum(weight for one, weight in rows if one == key) <= most


@given(KEYS_AND_WEIGHTS, KEYS_AND_WEIGHTS)
def test_merged_lists_of_frequent_keys_hold_every_weight_between_their_bounds(one, other):
    """Whatever either list has forgotten."""
    lists = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frequent_keys, "SLOTS", 16)
        for rows in (one, other):
            lists.append(FrequentKeys(Slots.free(16), Cells.of(np.zeros(4, np.int64))))
            columns = np.array(rows, np.int64).reshape(-1, 2)
            lists[-1].add(columns[:, 0].copy(), columns[:, 1].copy(), np.zeros(len(rows), np.bool_), 0)
        merged = lists[0].merged(lists[1])
        keys_ = np.array(sorted({key for key, _ in [*one, *other]}), np.int64)
        weights, errors = merged.weights_of(keys_)
    for key, most, too_much in zip(keys_.tolist(), weights.tolist(), errors.tolist(), strict=True):
        assert most - too_much <= sum(weight for at, weight in [*one, *other] if at == key) <= most


@given(st.lists(st.text(max_size=3), max_size=50))
def test_records_that_are_all_alike_are_counted_as_any_other(texts):
    """Without records and bytes, which is the common case, there is half the work."""
    alike = KeyCounter(SOME, (3, 12, 70_001), 12)
    alike.add(keys.strings(texts), "string")
    check(alike, [(text, 1, 0) for text in texts])


@given(st.lists(st.integers(0, 4), max_size=40), st.integers(1, 3))
@example([3], BLOCK)
@example([4, *[3] * (BLOCK - 1)], 1)
def test_a_block_of_records_is_counted_by_residue(residues, times):
    """Whether it has fewer or more records than there are residues, and also where all are of one residue."""
    rows = np.array(residues * times, np.int32)
    records = np.arange(5, dtype=np.int64)
    count_up(rows, records)
    assert records.tolist() == (np.arange(5) + np.bincount(rows, minlength=5)).tolist()


@pytest.mark.parametrize("bits", [range(16), range(21, 37), range(48, 64)], ids=["low", "middle", "high"])
def test_keys_that_are_chosen_to_collide_take_as_long_as_others(bits):
    """Murmur3 can be inverted: callers can choose the key hashes. A block of them took 6 seconds."""
    chosen = np.arange(1, BLOCK, dtype=np.int64) << bits.start
    distinct, frequent = DistinctKeys(0), FrequentKeys()
    risen = np.zeros(len(chosen), np.bool_)
    started = time.thread_time()
    distinct.add(chosen, np.array([[1, 0]]), [], lambda _: b"")
    frequent.add(chosen, np.ones(1, np.int64), risen, 2**62)
    assert distinct.holds(chosen).all()
    assert time.thread_time() - started < 1


def test_the_surest_keys_do_not_depend_on_the_tables_multiplier():
    """Also where keys weigh the same."""
    key_hashes = np.arange(1, 50, dtype=np.int64)
    lists = [FrequentKeys() for _ in range(3)]
    for each in lists:
        each.add(key_hashes, np.full(49, 7), np.zeros(49, np.bool_), 0)
    assert {tuple(each.surest(5)[0].tolist()) for each in lists} == {(1, 2, 3, 4, 5)}


def test_it_looks_at_the_time_for_each_block_of_keys():
    looks = []
    column = keys.byte_strings([b"a"] * (2 * BLOCK + 1))
    with limited(Looks(lambda: looks.append(1))):
        KeyCounter(("java",), (3,)).add(column, "hex")
    assert len(looks) == 3
