"""The simulator against recordings of a real broker with real consumers (``tests/support/record_timelines.py``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support import timelines
from tests.support.timelines import FOLDER, answered, question, recording, steps, unnamed

if TYPE_CHECKING:
    from flask import Flask
    from flask.testing import FlaskClient

pytestmark = pytest.mark.usefixtures("few_draws")

NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))
SLOW = [name for name in NAMES if name.startswith("polls")]
CLASSIC = [name for name in NAMES if not name.endswith(("consumer", "share")) and "migration" not in name]


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


@pytest.mark.parametrize("name", SLOW)
def test_idle_times_of_members_that_poll_seldom(client: FlaskClient, name: str) -> None:
    """Partitions are idle as long as they were, by a third more or less; what the forming of the group takes is left out.

    When a real member has given up a partition is known from its assignment, which changes a poll after it has stopped to fetch.
    """
    recorded = recording(name)
    answer = client.post("/v1/group-rebalances", json=question(recorded)).get_json()
    forming = 1 if recorded["request"]["group_protocol"] == "classic" else 2
    rows = [rebalance["idle"] for rebalance in answer["rebalances"][forming:]]
    least, figure, most = (sum(row[name] for row in rows) for name in ("least_partition_ms", "partition_ms", "most_partition_ms"))
    real = sum(ms for at_ms, ms in timelines.idle_times(recorded) if at_ms > recorded["request"]["events"][0]["at_ms"])
    assert least <= real <= most
    assert figure == pytest.approx(real, rel=1 / 3)


def assert_times(simulated: list[int], real: list[int], recorded: dict[str, Any]) -> None:
    """They differ by at most one heartbeat interval, and where polls take a while by a poll of the last member to join."""
    timing = recorded["request"]["timing"]
    most = timing["heartbeat_interval_ms"] + timing.get("poll_interval_ms", 0)
    pairs = list(zip(simulated, real, strict=True))
    assert [pair for pair in pairs if abs(pair[0] - pair[1]) > most] == []
