"""The simulator against recordings of a real broker with real consumers (``tests/support/record_timelines.py``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.timelines import FOLDER, answered, question, recording, steps, unnamed

if TYPE_CHECKING:
    from flask.testing import FlaskClient

NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))


@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_timeline_is_the_simulated_one(client: FlaskClient, name: str) -> None:
    recorded = recording(name)
    response = client.post("/v1/group-rebalances", json=question(recorded))
    answer = response.get_json()
    assert response.status_code == 200, answer
    real, simulated = steps(recorded), answered(recorded, answer)
    assert [step.epoch for step in simulated] == [step.epoch for step in real]
    assert [unnamed(step) for step in simulated] == [unnamed(step) for step in real]
    heartbeat = recorded["request"]["timing"]["heartbeat_interval_ms"]
    late = [
        (one.at_ms, other.at_ms)
        for one, other in zip(simulated, real, strict=True)
        if abs(one.at_ms - other.at_ms) > 1.5 * heartbeat
    ]
    assert not late
