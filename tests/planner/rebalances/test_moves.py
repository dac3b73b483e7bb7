"""Moves and differences, by plain sets."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from service.core.model import NONE, Assignment, Group, Ragged, Topics
from service.planner.rebalances import differences, final_rows, moves

MEMBERS, PARTITIONS = 4, 6
ROWS = st.lists(st.lists(st.integers(0, PARTITIONS - 1), max_size=6), min_size=MEMBERS, max_size=MEMBERS)


def ragged(rows):
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.int32)
    return Ragged(offsets, np.array([value for row in rows for value in row], np.int32))


def members_of(rows):
    return [{member for member, row in enumerate(rows) if partition in row} for partition in range(PARTITIONS)]


def group(owned):
    topics = Topics(("t",), np.array([0, PARTITIONS], np.int32), None, (None,))
    nobody = np.full(MEMBERS, NONE, np.int32)
    ids = tuple(f"m{i}" for i in range(MEMBERS))
    return Group(
        topics, ids, (None,) * MEMBERS, (), nobody, ragged([[0]] * MEMBERS), nobody, ragged(owned), (), np.empty((0, 2), np.int32)
    )


@given(ROWS, ROWS)
def test_moves_are_what_plain_sets_say(owned, rows):
    result = moves(group(owned), ragged(rows))
    expected = []
    for partition, (before, after) in enumerate(zip(members_of(owned), members_of(rows), strict=True)):
        lost, gained = sorted(before - after), sorted(after - before) if before else []
        places = range(max(len(lost), len(gained)))
        expected += [(partition, *(of[i] if i < len(of) else NONE for of in (lost, gained))) for i in places]
    assert list(zip(result.partitions.tolist(), result.source.tolist(), result.target.tolist(), strict=True)) == expected


@given(ROWS, ROWS)
def test_differences_are_what_plain_sets_say(expected, rows):
    expected, rows = ([sorted(set(row)) for row in each] for each in (expected, rows))
    result = differences(ragged(expected), ragged(rows), PARTITIONS)
    pairs = zip(members_of(expected), members_of(rows), strict=True)
    assert [
        (partition, set(result.expected.row(i).tolist()), set(result.actual.row(i).tolist()))
        for i, partition in enumerate(result.partitions.tolist())
    ] == [(partition, before, actual) for partition, (before, actual) in enumerate(pairs) if before != actual]


@given(ROWS, ROWS)
def test_final_rows_add_what_is_withheld(rows, withheld):
    result = final_rows(Assignment(ragged(rows), ragged(withheld)))
    assert [result.row(i).tolist() for i in range(MEMBERS)] == [a + b for a, b in zip(rows, withheld, strict=True)]
    kept = ragged(rows).below(3)
    assert [kept.row(i).tolist() for i in range(MEMBERS)] == [[value for value in row if value < 3] for row in rows]


def test_half_a_million_moves_cost_no_hash_tables():
    """What np.unique takes for them would be most of an answer's CPU."""
    rows = [np.arange(250_000, dtype=np.int32), np.arange(250_000, 500_000, dtype=np.int32)]
    topics = Topics(("t",), np.array([0, 500_000], np.int32), None, (None,))
    before, after = (replace(group([]), topics=topics, owned=Ragged.of_rows(each)) for each in (rows, rows[::-1]))
    pairs = 7 * np.arange(500_000)
    started = time.thread_time()
    np.unique(pairs)
    of_a_hash_table = time.thread_time() - started
    started = time.thread_time()
    assert len(moves(before, after.owned)) == 500_000
    assert time.thread_time() - started < 2 * of_a_hash_table
