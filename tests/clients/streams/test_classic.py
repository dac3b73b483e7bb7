"""The task assignors of the leaders of classic Streams groups."""

from __future__ import annotations

from random import Random

import pytest

from service.api.streams import FORM
from service.core.budget import Budget
from tests.support.golden import each
from tests.support.task_groups import clients_differ, streams_clients

VECTORS = [f"releases/4.3.1/streams-classic-{name}" for name in ("high-availability", "sticky", "fallback-prior", "racks")]
HAS_ANOTHER_TABLE = {12, 24, 48, 96}
"""Elements for which ``new HashSet<>(collection)`` makes a larger table than a set into which they come one by one."""


@each(*VECTORS)
def test_a_leader_assigns_as_streams_does(case):
    request, expected = case["request"], case["expected"]
    answer = FORM.document(FORM.decide(FORM.question(request), Budget()))
    assert answer["probing_rebalance"] == expected["probing_rebalance"]
    stateful = sum(each["tasks_count"] for each in request["subtopologies"] if each["stateful"])
    if request["assignor"] == "high-availability" or stateful not in HAS_ANOTHER_TABLE:
        assert answer["assignments"] == expected["assignments"]
    else:  # the program copied the set of stateful tasks, which Kafka does not do; standby tasks follow its order
        for ours, theirs in zip(answer["assignments"], expected["assignments"], strict=True):
            assert ours["active_tasks"] == theirs["active_tasks"]


@pytest.mark.parametrize("seed", range(90))
def test_a_random_group_is_assigned_as_by_streams(seed):
    assert clients_differ(streams_clients(Random(f"clients-{seed}"))) is None
