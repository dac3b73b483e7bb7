"""The simulator against recordings of a real broker with real consumers (``tests/support/record_timelines.py``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support import timelines
from tests.support.timelines import FOLDER, answered, question, recording, steps, unnamed

if TYPE_CHECKING:
    from flask import Flask
    from flask.testing import FlaskClient

NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))
CLASSIC = [name for name in NAMES if not name.endswith(("consumer", "share")) and name != "migration"]


@pytest.fixture(scope="module", params=NAMES)
def timeline(app: Flask, request: pytest.FixtureRequest) -> tuple[dict[str, Any], dict[str, Any]]:
    """A recording, and the answer to its question."""
    recorded = recording(request.param)
    response = app.test_client().post("/v1/group-rebalances", json=question(recorded))
    assert response.status_code == 200, response.get_json()
    return recorded, response.get_json()


def test_generations_and_assignments(timeline: tuple[dict[str, Any], dict[str, Any]]) -> None:
    recorded, answer = timeline
    real, simulated = steps(recorded), answered(recorded, answer)
    assert [step.epoch for step in simulated] == [step.epoch for step in real]
    assert [unnamed(step) for step in simulated] == [unnamed(step) for step in real]
    assert_times([step.at_ms for step in simulated], [step.at_ms for step in real], recorded)


def test_states(timeline: tuple[dict[str, Any], dict[str, Any]]) -> None:
    recorded, answer = timeline
    real, simulated = timelines.states(recorded), timelines.answered_states(answer)
    assert [state for _, state in simulated] == [state for _, state in real]
    assert_times([at for at, _ in simulated], [at for at, _ in real], recorded)


def test_number_of_rebalances_and_their_reasons(timeline: tuple[dict[str, Any], dict[str, Any]]) -> None:
    recorded, answer = timeline
    assert timelines.answered_reasons(recorded, answer) == timelines.reasons(recorded)
    assert answer["totals"]["rebalances"] == len(timelines.reasons(recorded))


@pytest.mark.parametrize("name", CLASSIC)
def test_requests(client: FlaskClient, name: str) -> None:
    recorded = recording(name)
    answer = client.post("/v1/group-rebalances", json=question(recorded)).get_json()
    simulated = timelines.answered_requests(recorded, answer)
    for member, real in timelines.requests(recorded).items():
        assert simulated[member][: len(real)] == real
        assert len(simulated[member]) <= len(real) + 1  # a recording ends with the last record that the broker has written


def assert_times(simulated: list[int], real: list[int], recorded: dict[str, Any]) -> None:
    """They differ by at most one heartbeat interval."""
    heartbeat = recorded["request"]["timing"]["heartbeat_interval_ms"]
    pairs = list(zip(simulated, real, strict=True))
    assert [pair for pair in pairs if abs(pair[0] - pair[1]) > heartbeat] == []
