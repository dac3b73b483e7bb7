"""Connect's assignors beside Connect's own workers."""

from __future__ import annotations

from random import Random

import pytest

from service.api.connect import FORM
from service.clients.connect import TASK_BITS, Work, backoff, serialized
from service.core.budget import Budget
from service.core.jvm.hashing import java_hash_codes
from service.decisions.connect import ConnectQuestion, answer
from tests.support.golden import each
from tests.support.jvm import kafka_jvm
from tests.support.task_groups import connect_differs, connect_rounds

VECTORS = [f"releases/4.3.1/connect-{protocol}" for protocol in ("eager", "compatible", "sessioned")]


@each(*VECTORS)
def test_a_leader_assigns_as_connect_does(case):
    question = FORM.question(case["request"])
    rounds = FORM.document(answer(question, Budget()))["rounds"]
    assert [each["assignments"] for each in rounds] == [each["assignments"] for each in case["expected"]["rounds"]]


@pytest.mark.parametrize("seed", range(40))
def test_workers_keep_and_leaders_remember_what_connects_own_do(seed):
    assert connect_differs(connect_rounds(Random(f"connect-{seed}"))) is None


def test_the_delay_between_revocations_grows_up_to_the_setting():
    assert [backoff(attempts, 300_000) for attempts in range(1, 6)] == [40, 1_600, 64_000, 300_000, 300_000]
    assert [backoff(attempts, 60) for attempts in (1, 2, 2**31 - 1)] == [40, 59, 59]
    assert [backoff(1, most) for most in (0, 1, 2, 39, 40, 41)] == [0, 1, 2, 39, 40, 40]


def test_the_delay_is_that_of_javas_own_exponential_backoff():
    java = kafka_jvm().org.apache.kafka.common.utils.internals.ExponentialBackoff
    for most in (2, 60, *range(1_000, 400_000, 13_000)):
        exponential = java(1, 40, most, 0.0)
        assert [backoff(attempts, most) for attempts in range(1, 6)] == [exponential.backoff(n) for n in range(1, 6)], most


def test_a_message_lists_tasks_by_connector():
    names = ("a", "b", "c")  # the buckets of a HashSet are in this order
    work = Work.of([2, 0], [1 << TASK_BITS, 2 << TASK_BITS, 1 << TASK_BITS | 7, 3])
    read = serialized(work, java_hash_codes(names))
    assert list(read.connectors) == [0, 2]
    assert list(read.tasks) == [3, 2 << TASK_BITS, 1 << TASK_BITS, 1 << TASK_BITS | 7]


def follow_ups(*workers: list[str], **more) -> list[tuple[str | None, int, int]]:
    """Of each rebalance: why it is, when, and how many connectors and tasks it revokes."""
    rounds = [{"at_ms": 1_000 * i, "workers": [{"member_id": each} for each in row]} for i, row in enumerate(workers)]
    rounds[0]["connectors"] = [{"connector_name": "c", "tasks_count": 4}]
    result = answer(ConnectQuestion(rounds, leader_id="w1", follow_ups=True, **more), Budget())
    return [(each.event, each.group.now_ms, each.revokes) for each in result.rounds]


def test_follow_ups_are_those_that_workers_cause_by_themselves():
    joins = [(None, 0, 0), (None, 1_000, 2), ("rejoin-after-revocation", 1_000, 0)]
    assert follow_ups(["w1"], ["w1", "w2"]) == joins
    assert follow_ups(["w1", "w2"], ["w1"]) == [(None, 0, 0), (None, 1_000, 0), ("delay-over", 301_000, 0)]
    back = follow_ups(["w1", "w2"], ["w1"], ["w1", "w2"])
    assert back == [(None, 0, 0), (None, 1_000, 0), (None, 2_000, 0)]  # in time, so that there is no delay any more
    assert follow_ups(["w1"], ["w1", "w2"], assignor="eager") == [(None, 0, 0), (None, 1_000, 0)]
