"""The heaviest partition first to the least loaded subscriber: heaps find the member that a look at all finds."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from service.core.model import NONE
from service.planner.balanced.exchanges import Items
from service.planner.balanced.weighted import restore, spread
from tests.reference import balanced_groups


@st.composite
def shares(draw):
    """Items in small numbers, so that loads tie, with the members of each kind of topic, and who holds what already."""
    kinds = draw(st.lists(st.integers(0, 2), min_size=1, max_size=9))
    kinds = np.unique(kinds, return_inverse=True)[1].astype(np.int32)
    capacities = np.array([draw(st.sampled_from([1.0, 1.0, 2.0, 3.0])) for _ in kinds])
    readers = [sorted(draw(st.sets(st.integers(0, int(kinds.max())), min_size=1))) for _ in range(draw(st.integers(1, 3)))]
    weights = sorted(draw(st.lists(st.integers(0, 5), max_size=40)), reverse=True)
    topics = [draw(st.integers(0, len(readers) - 1)) for _ in weights]
    may = [[member for member, kind in enumerate(kinds) if kind in readers[topic]] for topic in topics]
    owners = [draw(st.sampled_from([NONE, *some])) for some in may]
    holders = [owner if draw(st.booleans()) else NONE for owner in owners]
    items = Items(
        np.array(weights, np.int64),
        np.array(topics, np.int32),
        np.array(owners, np.int32),
        kinds,
        capacities,
        np.cumsum([0, *map(len, readers)]).astype(np.int32),
        np.array([kind for some in readers for kind in some], np.int32),
    )
    return items, [set(some) for some in may], np.array(holders, np.int32)


@given(shares(), st.sampled_from([0.0, 4.0, 9.5]))
def test_heaps_find_whom_a_look_at_all_members_finds(drawn, bound):
    items, may, holders = drawn
    held = holders != NONE
    loads = np.bincount(holders[held], items.weights[held], len(items.kinds)).astype(np.int64)
    expected_holders, expected_loads = holders.tolist(), loads.tolist()
    balanced_groups.spread(
        items.weights.tolist(), may, items.owners.tolist(), items.capacities.tolist(), expected_holders, expected_loads, bound
    )
    spread(items, holders, loads, bound)
    assert holders.tolist() == expected_holders
    assert loads.tolist() == expected_loads


@given(shares(), st.data())
def test_owners_keep_as_many_partitions_of_one_weight_and_kind_as_their_members_have(drawn, data):
    items, may, _ = drawn
    holders = np.array([data.draw(st.sampled_from(sorted(some))) for some in may], np.int32)
    classes = list(zip(items.weights.tolist(), items.topics.tolist(), strict=True))
    had, owned = Counter(zip(classes, holders.tolist(), strict=True)), Counter(zip(classes, items.owners.tolist(), strict=True))
    restore(items, holders)
    assert Counter(zip(classes, holders.tolist(), strict=True)) == had
    kept = sum(map(int, holders == items.owners))
    assert kept == sum(min(count, owned[held]) for held, count in had.items())
