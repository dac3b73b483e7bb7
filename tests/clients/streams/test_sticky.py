"""The broker's sticky task assignor."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.api.streams import FORM
from service.core.budget import Budget
from service.core.jvm.priority_queue import PriorityQueue
from tests.support.golden import each
from tests.support.jvm import kafka_jvm
from tests.support.task_groups import streams_differs, streams_group

VECTORS = ("releases/4.3.1/streams-sticky", "releases/4.4.0/streams-sticky")


@each(*VECTORS)
def test_a_group_is_assigned_as_by_its_broker(case):
    answer = FORM.document(FORM.decide(FORM.question(case["request"]), Budget()))
    assert answer["assignments"] == case["expected"]["assignments"]


@pytest.mark.parametrize("seed", range(120))
def test_a_random_group_is_assigned_as_by_its_broker(seed):
    assert streams_differs(streams_group(Random(f"streams-{seed}"))) is None


def test_a_process_that_comes_again_lets_its_map_grow():
    """Seven processes stay in a table of eight buckets until the eighth member comes, which shares the process of another one."""
    processes = (
        "p3140533200",
        "p3199757590",
        "p2103735693",
        "p4155627392",
        "p4155627392",
        "p113601674",
        "p408901962",
        "p1340151528",
    )
    names = ("m1430", "m9084", "m7585", "m1483", "m3722", "m9867", "m3623", "m4120")
    members = [{"member_id": name, "process_id": process} for name, process in zip(names, processes, strict=True)]
    members[-1]["active_tasks"] = [{"subtopology_id": "0", "task_ids": [0]}]
    subtopologies = [{"subtopology_id": name, "tasks_count": 1 + int(name), "stateful": name == "1"} for name in "01"]
    body = {"kafka_version": "4.4.0", "num_standby_replicas": 1, "subtopologies": subtopologies, "members": members}
    assert streams_differs(body) is None
    answer = FORM.document(FORM.decide(FORM.question(body), Budget()))
    assert answer["assignments"][4]["active_tasks"] == [{"subtopology_id": "1", "task_ids": [0]}]


def test_a_queue_is_javas():
    """Elements are numbers ``key * 100 + i``; the comparator of Java's queue sees the keys alone."""
    java = kafka_jvm()
    random = Random(5)
    for _ in range(20):
        keys = [random.randrange(4) for _ in range(random.randrange(1, 40))]
        comparator = java.java.util.Map.Entry.comparingByKey()
        theirs, ours = java.java.util.PriorityQueue(11, comparator), PriorityQueue(lambda entry: entry[0])
        for i, key in enumerate(keys):
            theirs.add(java.java.util.AbstractMap.SimpleEntry(key, i))
            ours.add((key, i))
            if random.random() < 0.3:
                assert theirs.poll().getValue() == ours.poll()[1]
        assert [theirs.poll().getValue() for _ in range(len(ours))] == [ours.poll()[1] for _ in range(len(ours))]


@given(st.lists(st.integers(0, 5), min_size=1))
def test_a_queue_gives_the_least_first(keys):
    queue = PriorityQueue(lambda key: key)
    for key in keys:
        queue.add(key)
    assert [queue.poll() for _ in keys] == sorted(keys)
