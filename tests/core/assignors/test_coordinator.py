"""What a group coordinator hands to its assignors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.core.assignors.coordinator import member_order, topic_arrays
from service.core.assignors.share.share_out import owned_entries
from service.core.jvm.ordering import capacity_for_set, iteration_order
from tests.support.groups import group_of

PARTITIONS = 20_000


def entries(partition_ids):
    """What one member owns of one topic, as Kafka comes by it."""
    owned = [{"topic_name": "t", "partition_ids": partition_ids}]
    topics = [{"topic_name": "t", "partitions_count": PARTITIONS}]
    group = group_of({"topics": topics, "members": [{"member_id": "m", "topic_names": ["t"], "owned_partitions": owned}]})
    return owned_entries(member_order(group), np.zeros(1, np.int32), topic_arrays(group.topics), group.owned.arrays())[1].tolist()


@given(st.sampled_from((1, 16, 64, 128)).flatmap(lambda step: st.lists(st.integers(0, 99).map(step.__mul__), unique=True)))
def test_the_ids_of_a_topic_are_in_the_order_of_a_hash_set(partition_ids):
    """Few or many, in buckets of their own or in one, where they make a tree or double the table."""
    ids = np.array(partition_ids, np.int32)
    order = iteration_order(ids, capacity=capacity_for_set(len(ids)), ranks=ids)
    assert entries(partition_ids) == ids[order].tolist()


@pytest.mark.parametrize(("topics_count", "step"), [(31, 1), (3, 64)], ids=["short-chains", "long-chains"])
@given(st.data())
def test_a_topic_s_partitions_need_not_stand_together(topics_count, step, data):
    """Topics are in the order of a HashMap that each enters where it first occurs, a topic's ids in that of a HashSet."""
    partitions = st.tuples(st.integers(0, topics_count - 1), st.integers(0, 40).map(step.__mul__))
    owned = data.draw(st.lists(partitions, min_size=1, max_size=80, unique=True))
    topics = [{"topic_name": f"t{topic:02}", "partitions_count": 40 * step + 1} for topic in range(topics_count)]
    had = [{"topic_name": f"t{topic:02}", "partition_ids": [i]} for topic, i in owned]
    group = group_of({"topics": topics, "members": [{"member_id": "m", "owned_partitions": had}]})
    table = topic_arrays(group.topics)
    entered = np.array(list(dict.fromkeys(topic for topic, _ in owned)), np.int32)
    expected = []
    for topic in entered[iteration_order(table.hashes[entered], ranks=table.ranks[entered])].tolist():
        of_topic = np.array([i for of, i in owned if of == topic], np.int32)
        order = iteration_order(of_topic, capacity=capacity_for_set(len(of_topic)), ranks=of_topic)
        expected += (group.topics.first[topic] + of_topic[order]).tolist()
    every = np.arange(topics_count, dtype=np.int32)
    assert owned_entries(member_order(group), every, table, group.owned.arrays())[1].tolist() == expected


@pytest.mark.parametrize("count", [8, 9, 12, 13, 24, 32, 33])
def test_ids_in_one_bucket(count):
    """Nine double the table, and ten make a tree, which has another order."""
    ids = np.arange(count, dtype=np.int32)[::-1] * 256
    expected = ids[iteration_order(ids, capacity=capacity_for_set(count), ranks=ids)].tolist()
    assert entries(ids.tolist()) == expected
    assert (expected == ids.tolist()) == (count <= 9)
