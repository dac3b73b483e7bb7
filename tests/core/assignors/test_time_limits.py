"""Assignors that no size limit bounds well end when their time is over, on small bodies that would take them minutes."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from service.app import create_app
from service.config import Settings
from service.core.budget import OUT_OF_TIME, Budget, in_time, limited
from service.http import deciding
from service.strategies import GROUP_PROTOCOLS
from tests.support.groups import group_of
from tests.support.time_limits import Over

if TYPE_CHECKING:
    from collections.abc import Callable

    from service.core.model import Group

LIMIT = 1
CLASSIC = GROUP_PROTOCOLS["classic"]
BY_PYTHON = (
    "kafka-go:rack-affinity",
    "librdkafka:cooperative-sticky",
    "sarama:cooperative-sticky",
    "sarama:roundrobin",
    "sarama:sticky",
)
"""They look at the clock in Python."""
TIMED = (
    "sticky",
    "cooperative-sticky",
    "aiokafka:sticky",
    "kafka-python:cooperative-sticky",
    "kafka-python:sticky",
    "franz-go:cooperative-sticky",
    "franz-go:sticky",
)
"""Their kernels do. Balanced has tests of its own."""


def members(count: int, **each: Any) -> list[dict[str, Any]]:
    return [{"member_id": f"m{i}", **each} for i in range(count)]


def topic(name: str, count: int, **more: Any) -> dict[str, Any]:
    return {"topic_name": name, "partitions_count": count, **more}


def owned(count: int) -> dict[str, Any]:
    return {"owned_partitions": [{"topic_name": "t", "partition_ids": list(range(count))}], "generation_id": 1}


def even() -> dict[str, Any]:
    """As many partitions for each member: each moves to the end of the order of members when it gets one."""
    return {"topics": [topic("t", 200_000)], "members": members(20_000)}


def crowded() -> dict[str, Any]:
    """One member owns all, and two others may have it: for each that moves, sarama looks at all of the topic."""
    rest = members(2, topic_names=["t", "u"])
    return {
        "topics": [topic("t", 400_000), topic("u", 1)],
        "members": [{"member_id": "a", "topic_names": ["t"], **owned(400_000)}, *rest],
    }


@pytest.mark.slow
@pytest.mark.parametrize(("name", "body"), [("librdkafka:cooperative-sticky", even), ("sarama:sticky", crowded)])
def test_what_takes_longer_than_it_may_is_a_503_in_time(name: str, body: Callable[[], dict[str, Any]]) -> None:
    small = {"assignor": name, "topics": [topic("t", 2)], "members": members(2)}
    loading = create_app(replace(Settings(), max_request_seconds=600)).test_client()
    assert loading.post("/v1/group-assignments", json=small).status_code == 200  # its kernels are there
    client = create_app(replace(Settings(), max_request_seconds=LIMIT, max_decision_bytes=2**31)).test_client()
    asked = body()
    started = time.process_time()
    response = client.post("/v1/group-assignments", json={**asked, "assignor": name})
    assert response.status_code == 503
    assert "ALLOCATOR_MAX_REQUEST_SECONDS" in response.get_json()["detail"]
    assert time.process_time() - started < LIMIT + 2


def lopsided() -> Group:
    """One owns all, and others with other subscriptions may have it: each of these assignors then moves partitions."""
    first = {"member_id": "a", "topic_names": ["t"], **owned(300)}
    return group_of({"topics": [topic("t", 300), topic("u", 1)], "members": [first, *members(2, topic_names=["t", "u"])]})


@pytest.mark.parametrize("on_clock", [True, False])
@pytest.mark.parametrize("name", TIMED)
def test_the_kernels_of_each_look_at_the_clock_and_at_the_cpu(name: str, on_clock: bool) -> None:  # noqa: FBT001
    group = lopsided()
    CLASSIC[name].run(group)
    with pytest.raises(TimeoutError), limited(Over(on_clock=on_clock)):
        CLASSIC[name].run(group)


@pytest.mark.parametrize("name", BY_PYTHON)
def test_each_in_python_looks_at_the_time(name: str) -> None:
    over = Over(on_clock=True)
    assert over.deadline
    with pytest.raises(TimeoutError), limited(over):
        CLASSIC[name].run(lopsided())


def test_an_answer_that_is_complete_too_late_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever took the time: here an assignor that does not look at the clock."""
    monkeypatch.setattr(deciding, "request_budget", lambda: Budget(started=time.perf_counter(), seconds=0.0))
    asked = {"assignor": "range", "topics": [topic("t", 2)], "members": members(2)}
    response = create_app().test_client().post("/v1/group-assignments", json=asked)
    assert response.status_code == 503
    assert "ALLOCATOR_MAX_REQUEST_SECONDS" in response.get_json()["detail"]


def test_a_kernel_that_ends_too_early_is_an_error() -> None:
    assert in_time(3) == 3
    with pytest.raises(AssertionError, match="out of time before"):
        in_time(OUT_OF_TIME)
