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

ATTEMPTS = 3
"""A machine that is busy for a second delays members, who then do not join at the times of the question."""

EVENTS = [
    {"at_ms": 7_000, "type": "member_joins", "member": {"member_id": "c3"}},
    {"at_ms": 12_000, "type": "member_leaves", "member_id": "c2"},
]


def lived(attempt: int) -> dict[str, Any]:
    """The question of an attempt."""
    return {
        "group_protocol": "classic",
        "assignor": "cooperative-sticky",
        "group_id": f"live-{attempt}",
        "timing": TIMING,
        "topics": [{"topic_name": f"live-{attempt}", "partitions_count": 6}],
        "members": [{"member_id": "c1"}, {"member_id": "c2"}],
        "events": EVENTS,
    }


@pytest.mark.slow
def test_a_join_and_a_leave(client: FlaskClient) -> None:
    with running_broker(*broker_properties(TIMING)) as broker:
        warm(broker)
        for attempt in range(ATTEMPTS):
            body = lived(attempt)
            recorded = {"request": body, **live(broker, body)}
            answer = client.post("/v1/group-rebalances", json=question(recorded)).get_json()
            real = [(step.epoch, unnamed(step)) for step in steps(recorded)]
            simulated = [(step.epoch, unnamed(step)) for step in answered(recorded, answer)]
            states_of_both = [[state for _, state in each] for each in (answered_states(answer), states(recorded))]
            if simulated == real and states_of_both[0] == states_of_both[1]:
                break
    assert simulated == real
    assert states_of_both[0] == states_of_both[1]
    assert answered_reasons(recorded, answer) == reasons(recorded)
