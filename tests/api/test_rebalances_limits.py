"""A simulation costs what its body may ask for, and no more; what it would cost is known before it starts."""

from __future__ import annotations

import gzip
import json
import threading
import time
import tracemalloc
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import requests

from service.app import create_app
from service.config import Settings
from service.decisions.rebalances.answer import LONG_CELLS, Extent
from service.planner.timelines.course import Course
from tests.support.kept import nothing_kept_of
from tests.support.serving import serving

if TYPE_CHECKING:
    from collections.abc import Callable

    from flask.testing import FlaskClient

pytestmark = pytest.mark.usefixtures("few_draws")

PATH = "/v1/group-rebalances"
PROTOCOLS = ("classic", "consumer", "share")
TOPICS = [{"topic_name": "o", "partitions_count": 1}]


def group(*events: dict[str, Any], **changes: Any) -> dict[str, Any]:
    quick = {"timing": {"poll_interval_ms": 0}, "detail": "totals"}
    return {"topics": TOPICS, "members": [{"member_id": "a"}], "events": [*events], **quick, **changes}


def scales(members_count: int, at_ms: int = 0) -> dict[str, Any]:
    return {"at_ms": at_ms, "type": "scales", "members_count": members_count}


ROLL = {"at_ms": 60_000, "type": "rolling_restart", "down_ms": 5_000, "pause_ms": 10_000}


def appearing(count: int) -> list[dict[str, Any]]:
    """Topics that are created and deleted."""
    events = []
    for i in range(count):
        events.append({"at_ms": i, "type": "topic_created", "topic": {"topic_name": f"t{i}", "partitions_count": 1}})
        events.append({"at_ms": i, "type": "topic_deleted", "topic_name": f"t{i}"})
    return events


def posted(client: FlaskClient, body: dict[str, Any]) -> tuple[int, dict[str, Any], float]:
    """The status and the answer, and the seconds of CPU."""
    packed = gzip.compress(json.dumps(body, separators=(",", ":")).encode(), 1)
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    started = time.process_time()
    response = client.post(PATH, data=packed, headers=headers)
    return response.status_code, response.get_json(), time.process_time() - started


def takes_time_in_proportion(client: FlaskClient, of_size: Callable[[int], dict[str, Any]], size: int) -> dict[str, Any]:
    """The answer, once an eighth of the size has taken no less than a 24th of the CPU time: of a square it takes a 64th.

    of_size : the body
    """
    posted(client, of_size(10))
    small = min(posted(client, of_size(size // 8))[2] for _ in range(2))
    status, answer, seconds = posted(client, of_size(size))
    assert status == 200
    assert seconds < 24 * small
    return answer


def over_limit(answer: dict[str, Any]) -> bool:
    return "exceed the limit ALLOCATOR_MAX_SIMULATED_CELLS" in answer["detail"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_topics_that_come_and_go_take_memory_in_proportion(client: FlaskClient, protocol: str) -> None:
    peaks = []
    posted(client, group(*appearing(10), group_protocol=protocol))
    for count in (100, 400):
        tracemalloc.start()
        status, _, _ = posted(client, group(*appearing(count), group_protocol=protocol))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert status == 200
    assert peaks[1] < 6 * peaks[0]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_topics_that_come_and_go_take_time_in_proportion(client: FlaskClient, protocol: str) -> None:
    """They took 27 s in a classic group, as each event had all former ones looked at again."""
    takes_time_in_proportion(client, lambda size: group(*appearing(size), group_protocol=protocol), 600)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_members_that_start_at_once_take_time_in_proportion(client: FlaskClient, protocol: str) -> None:
    """90,000 took 211 s, as each looked at all others."""
    answer = takes_time_in_proportion(client, lambda size: group(scales(size), group_protocol=protocol), 6_000)
    assert answer["totals"]["rebalances"] <= 4


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_members_that_end_at_once_take_time_in_proportion(client: FlaskClient, protocol: str) -> None:
    takes_time_in_proportion(client, lambda size: group(scales(size), scales(0, 60_000), group_protocol=protocol), 6_000)


def test_too_many_restarts_are_refused_before_they_are_simulated(client: FlaskClient) -> None:
    status, answer, seconds = posted(client, group(scales(20_000), {**ROLL, "down_ms": 1, "pause_ms": 1}))
    assert status == 422
    assert over_limit(answer)
    assert "= 45000000." in answer["detail"]
    assert "rebalances × (10000 + 16 × members + partitions)" in answer["detail"]
    assert seconds < 1


def test_ways_to_run_the_group_count_together(client: FlaskClient) -> None:
    body = group(scales(330), ROLL)
    assert posted(client, body)[0] == 200
    status, answer, _ = posted(
        client, {**body, "compare": [{"assignor": name} for name in ("range", "sticky", "roundrobin", "cooperative-sticky")]}
    )
    assert (status, over_limit(answer)) == (422, True)


def test_a_larger_body_may_ask_for_more() -> None:
    client = create_app(replace(Settings(), max_simulated_cells=15_000_000)).test_client()
    members = [{"member_id": f"c{i}"} for i in range(500)]
    status, answer, _ = posted(client, group(scales(500), ROLL))
    assert (status, over_limit(answer)) == (422, True)
    quick = {**ROLL, "down_ms": 1, "pause_ms": 1}
    assert posted(client, group(quick, members=members))[0] == 200


def test_the_largest_simulation_of_a_small_body_takes_some_seconds() -> None:
    """All of it took 60 s before; this is a quarter of it."""
    client = create_app(replace(Settings(), max_simulated_cells=Settings().max_simulated_cells // 4)).test_client()
    posted(client, group(scales(3), ROLL))
    status, _, seconds = posted(client, group(scales(330), ROLL))
    assert status == 200
    assert seconds < 5
    status, answer, _ = posted(client, group(scales(375), ROLL))
    assert (status, over_limit(answer)) == (422, True)


def test_too_many_events_are_refused_before_one_is_read(client: FlaskClient) -> None:
    """A million took 22 s, so these would take five."""
    status, answer, seconds = posted(client, group(*[scales(1)] * 250_000))
    assert status == 422
    assert answer["errors"] == [{"pointer": "/events", "detail": "Longer than maximum length 10000."}]
    assert seconds < 2
    faulty = posted(client, group(*[{"type": 1}] * 10_001))[1]
    assert faulty["errors"] == answer["errors"]


def test_what_could_not_be_foreseen_is_bounded_as_well() -> None:
    """Members that heartbeat every millisecond for partitions that a stalled one does not give up: they took minutes."""
    client = create_app(replace(Settings(), max_simulated_cells=1_000_000)).test_client()
    stall = {"at_ms": 1_000, "type": "member_stalls", "member_id": "a", "for_ms": 299_000}
    body = group(stall, scales(20, 1_001), group_protocol="consumer", topics=[{"topic_name": "o", "partitions_count": 40}])
    assert posted(client, body)[0] == 200
    status, answer, seconds = posted(client, {**body, "timing": {"heartbeat_interval_ms": 1, "poll_interval_ms": 0}})
    assert (status, over_limit(answer)) == (422, True)
    assert seconds < 1


def test_the_time_limit_holds_within_a_simulation() -> None:
    client = create_app(replace(Settings(), max_request_seconds=1, max_simulated_cells=10**12)).test_client()
    posted(client, group(scales(3)))
    status, answer, seconds = posted(client, group(scales(3_000), ROLL))
    assert status == 503
    assert "ALLOCATOR_MAX_REQUEST_SECONDS" in answer["detail"]
    assert seconds < 2


def test_the_cpu_is_limited_within_a_simulation_by_the_size_of_what_was_sent() -> None:
    """Its cells do not know what another client's assignor takes: some took 20 s for 200 bytes."""
    app = create_app(replace(Settings(), max_cpu_seconds_per_kb=1, max_simulated_cells=60_000_000))
    app.extensions["warm"].set()
    client = app.test_client()
    topics = [{"topic_name": "o", "partitions_count": 10_000}]
    body = group(scales(867), ROLL, topics=topics, assignor="kafka-python:sticky")
    posted(client, group(scales(3), topics=topics, assignor="kafka-python:sticky"))
    status, answer, seconds = posted(client, body)
    assert status == 422
    assert answer["detail"] == (
        "2 seconds of CPU for each KB of the request exceed the limit ALLOCATOR_MAX_CPU_SECONDS_PER_KB = 1."
    )
    assert seconds < 2


def test_a_simulation_of_a_moment_is_not_a_long_one() -> None:
    extent = Extent(partitions=12, members=3, incarnations=7, changes=10, rows=4)
    assert extent.most_rebalances() == 104
    assert LONG_CELLS > 10 * (10_000 + 16 * 3 + 12) + 7 * 400


@pytest.mark.slow
def test_small_decisions_are_answered_while_long_simulations_have_all_other_places() -> None:
    long = group(scales(800), ROLL)
    with serving(forked=True, ALLOCATOR_WORKERS="1", ALLOCATOR_MAX_CONCURRENT="2") as server:
        statuses: list[int] = []
        threads = [
            threading.Thread(target=lambda: statuses.append(requests.post(server.url + PATH, json=long, timeout=120).status_code))
            for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        time.sleep(0.5)
        for _ in range(5):
            small = requests.post(f"{server.url}/v1/partitions", json={"partitions_count": 12, "keys": ["a"]}, timeout=120)
            assert small.status_code == 200
        assert not statuses, "they are answered before any of the long ones"
        for thread in threads:
            thread.join()
        assert set(statuses) <= {200, 503}


def test_a_topic_that_is_created_again_and_again_is_compared_in_proportion_to_the_body(client: FlaskClient) -> None:
    """Each time all of its partition_weights became Python objects."""
    topic = {"topic_name": "t", "partitions_count": 50_000, "partition_weights": [1] * 50_000}
    again = {"topic_name": "t", "partitions_count": 1, "partition_weights": [1]}
    events = [{"at_ms": 0, "type": "topic_created", "topic": again}] * 400
    status, answer, seconds = posted(client, group(*events, topics=[topic]))
    assert (status, answer["errors"][0]["pointer"]) == (422, "/events/0/topic/topic_name")
    assert seconds < 1


@pytest.mark.parametrize(
    ("fields", "event", "status"),
    [
        ({}, {"type": "member_crashes", "member_id": "m"}, 200),
        ({}, {"type": "assignor_changes", "group_protocol": "consumer"}, 200),
        ({"group_protocol": "consumer"}, {"type": "member_crashes", "member_id": "m"}, 200),
        ({"group_protocol": "share"}, {"type": "member_crashes", "member_id": "m"}, 200),
        ({}, {"type": "member_crashes", "member_id": "another"}, 422),
    ],
    ids=["classic", "converted", "consumer", "share", "fault"],
)
def test_nothing_of_a_simulation_is_left_in_memory(
    client: FlaskClient, fields: dict[str, Any], event: dict[str, Any], status: int
) -> None:
    """Its parts know one another: 2,000,000 partitions left 65 MB until the cyclic collector came."""
    body = {
        "topics": [{"topic_name": "t", "partitions_count": 6}],
        "members": [{"member_id": "m"}, {"member_id": "n"}],
        "events": [{"at_ms": 60_000, **event}],
        **fields,
    }
    with nothing_kept_of(Course):
        assert client.post(PATH, json=body).status_code == status
