"""Plans of numbers of members."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from service.core.model import Ragged
from service.decisions.groups.question import of_rows
from service.decisions.groups.rows import read_group
from service.planner.member_counts import _read_by_first, _shares, load_of, useful_counts
from tests.reference.member_counts import shares


def test_the_useful_counts_of_24_partitions():
    assert useful_counts(24) == [1, 2, 3, 4, 5, 6, 8, 12, 24]


@given(st.integers(1, 3_000))
def test_useful_counts_are_those_whose_largest_share_falls(partitions):
    shares = [-(-partitions // count) for count in range(1, partitions + 1)]
    falls = [i + 1 for i, share in enumerate(shares) if i == 0 or share < shares[i - 1]]
    assert useful_counts(partitions) == falls
    assert len(falls) <= 2 * partitions**0.5 + 1


def test_a_partition_that_several_share_counts_for_each_as_its_share():
    topics = [{"topic_name": "t", "partitions_count": 2, "partition_weights": [10, 4]}]
    question = of_rows(topics, [{"member_id": name} for name in "abc"])
    rows = Ragged(np.array([0, 2, 3, 3], np.int32), np.array([0, 1, 1], np.int32))
    load = load_of(read_group(question.topics, question.members), rows)
    assert (load.worst, load.mean, load.most_partitions, load.idle_members) == (12.0, 14 / 3, 2, 1)


@given(st.lists(st.lists(st.integers(0, 6), max_size=5), max_size=5), st.lists(st.integers(0, 9).map(float), max_size=5))
def test_shares_are_those_of_the_twin(rows, weights):
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.int32)
    loads, counts = _shares(Ragged(offsets, np.array([each for row in rows for each in row], np.int32)), np.array(weights))
    expected_loads, expected_counts = shares(rows, weights)
    assert loads.tolist() == expected_loads
    assert counts.tolist() == expected_counts


def test_the_first_members_are_a_group():
    """As if the request had no others: who reads what, the order of members, and the topics that they read."""
    topics = [{"topic_name": name, "partitions_count": count} for name, count in (("t", 3), ("u", 4), ("v", 5))]
    subscriptions = (["u"], ["u", "no-such-topic"], ["v", "u"], [])
    members = [
        {"member_id": name, "topic_names": read, "owned_partitions": [{"topic_name": "u", "partition_ids": [i]}]}
        for i, (name, read) in enumerate(zip("dbca", subscriptions, strict=True))
    ]
    group = read_group(*_rows(topics, members))
    assert _read_by_first(group).tolist() == [0, 4, 4, 9, 9]
    for count in range(5):
        first, alone = group.first_members(count), read_group(*_rows(topics, members[:count]))
        assert first.member_ids == alone.member_ids
        assert first.by_id.tolist() == alone.by_id.tolist()
        assert first.owned.values.tolist() == alone.owned.values.tolist()
        assert first.subscriptions.offsets.tolist() == alone.subscriptions.offsets.tolist()


def _rows(topics, members):
    question = of_rows(topics, members)
    return question.topics, question.members
