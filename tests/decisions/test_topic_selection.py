"""Names and patterns of topics against matching character by character."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.core.budget import Budget, OutOfTime, limited
from service.core.errors import MAX_ERRORS, LimitExceeded
from service.core.model import NONE, Cluster
from service.decisions.reassignments.selection import broker_sets, excluded_topics, topic_leaders
from service.planner.reassignments.model import Brokers

NAMES = st.text("ab.é[\\\n", min_size=1, max_size=6)
SELECTORS = st.lists(st.text("ab.é[\\\n*?", min_size=1, max_size=6), max_size=3)


def matches(pattern: str, name: str) -> bool:
    if not pattern:
        return not name
    if pattern[0] == "*":
        return matches(pattern[1:], name) or (bool(name) and matches(pattern, name[1:]))
    return bool(name) and pattern[0] in ("?", name[0]) and matches(pattern[1:], name[1:])


@given(st.lists(NAMES, unique=True, max_size=6), SELECTORS, SELECTORS)
def test_topics_are_those_that_patterns_match(names: list[str], included: list[str], excluded: list[str]) -> None:
    stays, faults = excluded_topics(pa.array(names, pa.string()), included, excluded, Budget())
    assert stays.tolist() == [
        any(matches(pattern, name) for pattern in excluded)
        or (bool(included) and not any(matches(pattern, name) for pattern in included))
        for name in names
    ]
    assert [fault.field for fault in faults] == [
        (field, row)
        for field, patterns in (("included_topics", included), ("excluded_topics", excluded))
        for row, pattern in enumerate(patterns)
        if not any(matches(pattern, name) for name in names)
    ]


@pytest.mark.parametrize("length", [10, 10_000])
def test_patterns_are_refused_by_their_length_times_that_of_the_names(length: int) -> None:
    """Many patterns take long however short the names are."""
    names = pa.array(["a" * length, "b" * length])
    most = max(2 * length, 10_000)
    budget = Budget({"max_assignment_cells": 5 * most})
    excluded_topics(names, (), ["a" * length, "*aaaa"], budget)
    with pytest.raises(LimitExceeded, match=f"{6 * most} characters of patterns") as caught:
        excluded_topics(names, ["*aaaaa"], (), budget)
    assert caught.value.field == ("included_topics",)


def test_no_more_faults_are_collected_than_an_answer_lists() -> None:
    names, budget = pa.array(["t"]), Budget()
    _, faults = excluded_topics(names, ["u"] * (2 * MAX_ERRORS), (), budget)
    assert len(faults) == MAX_ERRORS
    brokers = Brokers.of(Cluster(np.array([1], np.int32), (), np.array([NONE], np.int32), np.array([False])))
    unknown, topics = [7] * (2 * MAX_ERRORS), np.zeros(1, np.int32)
    assert len(broker_sets([("t", unknown), ("t", unknown)], names, brokers, topics, budget)[1]) == MAX_ERRORS
    assert len(topic_leaders([("t", 1, unknown), ("t", 1, unknown)], names, brokers, topics, budget)[1]) == MAX_ERRORS


def test_sets_and_rules_end_when_the_time_is_over() -> None:
    """Each takes a tenth of a millisecond, also one of a name, which no pattern looks at the time for."""
    names, topics, budget = pa.array(["t"]), np.zeros(1, np.int32), Budget(seconds=0)
    brokers = Brokers.of(Cluster(np.array([1], np.int32), (), np.array([NONE], np.int32), np.array([False])))
    with pytest.raises(OutOfTime), limited(budget):
        broker_sets([("t", [1])], names, brokers, topics, budget)
    with pytest.raises(OutOfTime), limited(budget):
        topic_leaders([("t", 1, None)], names, brokers, topics, budget)


def test_what_sets_and_rules_select_is_checked_once_for_all_of_them() -> None:
    """Each was checked again by itself, which took two thirds of its time."""
    reserved = list[int]()
    names, topics, budget = pa.array(["t", "u"]), np.zeros(1, np.int32), Budget(reserve=reserved.append)
    brokers = Brokers.of(Cluster(np.array([1], np.int32), (), np.array([NONE], np.int32), np.array([False])))
    broker_sets([("t", [1]), ("u*", [1])] * 9, names, brokers, topics, budget)
    topic_leaders([("t", 1, None), ("u*", 1, None)] * 9, names, brokers, topics, budget)
    assert len(reserved) == 2
