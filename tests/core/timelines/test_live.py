"""The simulator against a real broker and real consumers, now. ``tests/vectors/timelines`` has more such timelines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.broker import running_broker
from tests.support.live_groups import broker_properties, live, warm
from tests.support.record_timelines import TIMING
from tests.support.timelines import (
    answered,
    answered_reasons,
    answered_states,
    question,
    reasons,
    states,
    steps,
    unnamed,
)

if TYPE_CHECKING:
    from flask.testing import FlaskClient

EVENTS = [
    {"at_ms": 7_000, "type": "member_joins", "member": {"member_id": "c3"}},
    {"at_ms": 12_000, "type": "member_leaves", "member_id": "c2"},
]


@pytest.mark.slow
def test_a_join_and_a_leave(client: FlaskClient) -> None:
    body: dict[str, Any] = {
        "group_protocol": "classic",
        "assignor": "cooperative-sticky",
        "group_id": "live",
        "timing": TIMING,
        "topics": [{"topic_name": "live-0", "partitions_count": 6}],
        "members": [{"member_id": "c1"}, {"member_id": "c2"}],
        "events": EVENTS,
    }
    with running_broker(*broker_properties(TIMING)) as broker:
        warm(broker)
        recorded = {"request": body, **live(broker, body)}
    answer = client.post("/v1/group-rebalances", json=question(recorded)).get_json()
    real, simulated = steps(recorded), answered(recorded, answer)
    assert [(step.epoch, unnamed(step)) for step in simulated] == [(step.epoch, unnamed(step)) for step in real]
    assert [state for _, state in answered_states(answer)] == [state for _, state in states(recorded)]
    assert answered_reasons(recorded, answer) == reasons(recorded)
