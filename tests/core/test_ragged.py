"""Rows turned about."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from service.core.model import NONE, Ragged, distinct, indices_in
from service.core.ragged import ascending, first_repeat, grouped, indices_of, rows_and_places, taken, transposed

LISTS = st.lists(st.lists(st.integers(0, 5), max_size=6), max_size=6)


def ragged(lists):
    offsets = np.cumsum([0, *map(len, lists)], dtype=np.int32)
    return Ragged(offsets, np.array([value for row in lists for value in row], np.int32))


@given(st.lists(st.integers(NONE, 4), max_size=30))
def test_groups_indices_by_label(labels):
    groups = grouped(np.array(labels, np.int32), 5)
    assert [groups.row(g).tolist() for g in range(5)] == [[i for i, label in enumerate(labels) if label == g] for g in range(5)]


@given(LISTS)
def test_transposing_gives_the_rows_of_each_value(lists):
    columns = transposed(ragged(lists), 6)
    expected = [[row for row, values in enumerate(lists) for value in values if value == column] for column in range(6)]
    assert [columns.row(column).tolist() for column in range(6)] == expected


@given(LISTS)
def test_finds_the_first_value_that_a_row_repeats(lists):
    places = [(row, i) for row, values in enumerate(lists) for i in range(len(values))]
    repeats = [at for at, (row, i) in enumerate(places) if lists[row][i] in lists[row][:i]]
    assert first_repeat(ragged(lists), 6) == (repeats[0] if repeats else NONE)


@given(LISTS)
def test_tells_rows_that_ascend(lists):
    rows = ragged(lists)
    assert ascending(rows.offsets, rows.values) == all(values == sorted(values) for values in lists)


@given(LISTS, st.data())
def test_keeps_some_values_of_each_row(lists, data):
    kept = [data.draw(st.lists(st.booleans(), min_size=len(row), max_size=len(row))) for row in lists]
    rows = ragged(lists).where(np.array([flag for row in kept for flag in row], np.bool_))
    expected = [[value for value, flag in zip(*each, strict=True) if flag] for each in zip(lists, kept, strict=True)]
    assert [rows.row(i).tolist() for i in range(len(rows))] == expected


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9)), max_size=20))
def test_gathers_the_values_of_each_row(pairs):
    rows, values = np.array(pairs, np.int32).reshape(-1, 2).T
    result = Ragged.of_pairs(rows, values, 5)
    assert [result.row(i).tolist() for i in range(5)] == [[value for row, value in pairs if row == i] for i in range(5)]


@given(st.lists(st.integers(-5, 20), unique=True), st.lists(st.integers(-5, 20)))
def test_finds_values_among_those_known(known, values):
    indices = indices_in(np.array(known, np.int32), np.array(values, np.int32))
    assert indices.tolist() == [known.index(value) if value in known else NONE for value in values]


@given(st.lists(st.booleans(), max_size=30))
def test_says_where_flags_are_set(flags):
    assert indices_of(np.array(flags, np.bool_)).tolist() == [i for i, flag in enumerate(flags) if flag]


@given(LISTS)
def test_tells_each_values_row_and_place(lists):
    rows, places = rows_and_places(ragged(lists).offsets)
    assert list(zip(rows.tolist(), places.tolist(), strict=True)) == [
        (row, i) for row, values in enumerate(lists) for i in range(len(values))
    ]


@given(LISTS, st.data())
def test_takes_rows_in_any_order(lists, data):
    indices = data.draw(st.lists(st.integers(0, len(lists) - 1))) if lists else []
    rows = taken(ragged(lists), np.array(indices, np.int64))
    assert [rows.row(i).tolist() for i in range(len(rows))] == [lists[i] for i in indices]


@given(st.lists(st.integers(-3, 3), max_size=8))
def test_distinct_values_are_ascending(values):
    assert distinct(np.array(values, np.int64)).tolist() == sorted(set(values))
