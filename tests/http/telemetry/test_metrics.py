"""What the service measures, in one process."""

from __future__ import annotations

import itertools
import os
import time

import pytest
from prometheus_client import values

from service.app import create_app
from service.config import Settings
from service.core.budget import Figures
from service.http.telemetry.metrics import Metrics
from service.http.telemetry.metrics_files import FOLDER_VARIABLE

PHASES = (("parse", 0.0, 0.0), ("compute", 0.0, 0.0), ("render", 0.0, 0.0))


@pytest.fixture
def client():
    """An app that has measured nothing yet."""
    return create_app().test_client()


def scrape(client) -> str:
    return client.get("/metrics").text


def test_a_decision_reports_its_skew_its_size_and_its_phases(client, monkeypatch):
    ticks = itertools.count()
    monkeypatch.setattr("service.http.deciding.time.perf_counter", lambda: next(ticks) * 0.002)
    client.post("/v1/partitions", json={"partitions_count": 2, "keys": ["a"] * 1_000})
    text = scrape(client)
    assert 'partition_allocator_skew_ratio_bucket{decision="partition",le="2.0",strategy="java"} 1.0' in text
    assert 'partition_allocator_items_sum{decision="partition",item="keys"} 1000.0' in text
    for phase in ("parse", "compute", "render"):
        assert (
            f'partition_allocator_decision_phase_seconds_total{{decision="partition",phase="{phase}",strategy="java"}} 0.00'
            in text
        )
    assert 'partition_allocator_decision_duration_seconds_count{decision="partition"} 1.0' in text


def test_short_phases_and_small_requests_are_not_recorded(client, monkeypatch):
    monkeypatch.setattr("service.http.deciding.time.perf_counter", lambda: 0.0)
    client.post("/v1/partitions", json={"partitions_count": 2, "keys": ["a"] * 999})
    text = scrape(client)
    assert 'partition_allocator_skew_ratio_count{decision="partition",strategy="java"} 1.0' in text
    assert 'partition_allocator_decision_phase_seconds_total{decision="partition",phase="compute",strategy="java"} 0.0' in text
    assert 'partition_allocator_decision_duration_seconds_count{decision="partition"} 0.0' in text
    assert "partition_allocator_items_count" not in text
    client.post("/v1/partitions", json={"partitions_count": 2, "keys": ["a"] * 1_000})
    assert 'partition_allocator_items_count{decision="partition",item="keys"} 1.0' in scrape(client)


def test_the_skew_of_one_key_is_not_news_of_its_topic(client):
    """It is always the number of partitions."""
    client.get("/v1/partitions?key=a&partitions_count=12&topic_name=orders")
    text = scrape(client)
    assert 'route="/v1/partitions",status="200"} 1.0' in text
    assert 'partition_allocator_skew_ratio_count{decision="partition",strategy="java"} 0.0' in text
    assert "partition_allocator_subject_skew_ratio{" not in text


def test_an_assignment_reports_what_it_moves(client):
    body = {
        "assignor": "range",
        "group_id": "billing",
        "topics": [{"topic_name": "t", "partitions_count": 4}],
        "members": [
            {"member_id": "a", "owned_partitions": [{"topic_name": "t", "partition_ids": [2, 3]}]},
            {"member_id": "b", "owned_partitions": [{"topic_name": "t", "partition_ids": [0, 1]}]},
        ],
    }
    assert client.post("/v1/group-assignments", json=body).json["movement"]["moved"] == 4
    text = scrape(client)
    assert 'partition_allocator_moved_partitions_sum{decision="assignment",strategy="classic-range"} 4.0' in text
    assert 'partition_allocator_subject_skew_ratio{decision="assignment",subject="billing"} 1.0' in text


def test_a_placement_reports_its_brokers(client):
    body = {"placer": "modulo", "partitions_count": 1_000, "replication_factor": 1, "brokers": [{"broker_id": 0}]}
    assert client.post("/v1/replica-placements", json=body).status_code == 200
    assert 'partition_allocator_items_count{decision="placement",item="brokers"}' in scrape(client)


def test_a_plan_reports_the_skew_that_the_named_topic_has_today(client):
    """Whether its count of today is asked about or not; what it would have with another count is no news of the topic."""
    plan = {"partitions_counts": [3, 8], "histogram": [{"key": "a", "records": 3}, {"key": "b", "records": 1}]}
    for body in ({**plan, "topic_name": "new"}, {**plan, "topic_name": "orders", "current_partitions_count": 2}):
        assert client.post("/v1/partition-count-plans", json=body).status_code == 200
    metric_lines = [line for line in scrape(client).splitlines() if line.startswith("partition_allocator_subject_skew_ratio{")]
    answer = client.post("/v1/partition-count-plans", json={**plan, "partitions_counts": [2]}).json
    skew = answer["plans"][0]["records"]["skew"]
    assert metric_lines == [f'partition_allocator_subject_skew_ratio{{decision="partition_count_plan",subject="orders"}} {skew}']


def test_shares_without_a_key_are_reported_under_the_topics_name(client):
    assert client.post("/v1/keyless-distributions", json={"partitions_count": 3, "topic_name": "clicks"}).status_code == 200
    assert 'partition_allocator_subject_skew_ratio{decision="keyless",subject="clicks"} 1.0' in scrape(client)


def test_routes_are_labelled_by_rule_and_never_by_path(client):
    client.get("/v1/no-such-thing")
    text = scrape(client)
    assert 'route="unmatched"' in text
    assert "no-such-thing" not in text


def test_named_subjects_beyond_the_limit_are_dropped_and_counted():
    client = create_app(Settings(max_subjects=3)).test_client()
    for i in range(5):
        client.post("/v1/partitions", json={"topic_name": f"topic-{i}", "partitions_count": 2, "keys": ["a", "b"]})
    text = scrape(client)
    assert text.count("partition_allocator_subject_skew_ratio{") == 3
    assert "partition_allocator_subjects_dropped_total 2.0" in text


def test_two_apps_do_not_share_their_metrics(client):
    client.post("/v1/partitions", json={"partitions_count": 2, "keys": ["a", "b"]})
    assert 'decision="partition"' not in scrape(create_app().test_client())


@pytest.mark.parametrize(
    "name", ["x" * 250, "x" * 10_000_000, "\ud800", "a\udfff"], ids=["250", "10,000,000", "half a pair", "the other half"]
)
def test_a_long_name_and_one_that_utf_8_cannot_write_label_nothing(name):
    metrics = Metrics(10)
    metrics.answered("partition", Figures("java", {"keys": 2}, 1.0, name), PHASES)
    text = metrics.exposition()
    assert b"partition_allocator_subject_skew_ratio{" not in text
    assert b"partition_allocator_subjects_dropped_total 1.0" in text
    assert b'partition_allocator_skew_ratio_count{decision="partition",strategy="java"} 1.0' in text


def test_names_of_any_script_label_metrics(client):
    for name in ("x" * 249, "Bestellungen-für-日本", 'a"b\\c\nd\0e'):
        client.post("/v1/partitions", json={"topic_name": name, "partitions_count": 2, "keys": ["a", "b"]})
    assert scrape(client).count("partition_allocator_subject_skew_ratio{") == 3


@pytest.fixture
def shared(tmp_path, monkeypatch):
    """Two Metrics that share a folder, as two workers do."""
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    monkeypatch.setattr(values, "ValueClass", values.ValueClass)
    return [Metrics(1_000, tmp_path) for _ in range(2)]


def test_workers_admit_the_same_names(shared):
    one, other = (metrics.subjects for metrics in shared)
    for i in range(600):
        assert one.admit("partition", f"one\n{i}") is (i < 500)
        assert other.admit("partition", f"other\0{i}") is (i < 500)
    assert one.admit("partition", "other\0" + "499")
    assert not one.admit("partition", "late")
    assert other.admit("partition", "one\n499")


def test_a_forked_process_counts_in_files_of_its_own(shared):
    metrics = shared[0]
    metrics.rejected.labels("full").inc(2)
    if not (process := os.fork()):
        try:
            metrics.rejected.labels("full").inc(3)
            metrics.observe_http("GET", "/of/the/child", 200, 0.1)
        finally:
            os._exit(0)
    os.waitpid(process, 0)
    metrics.rejected.labels("full").inc(4)
    text = metrics.exposition().decode()
    assert 'partition_allocator_http_requests_rejected_total{reason="full"} 9.0' in text
    assert 'partition_allocator_http_request_duration_seconds_count{method="GET",route="/of/the/child",status="200"} 1.0' in text


def test_a_new_name_takes_as_long_when_a_thousand_are_there(shared):
    def seconds(names):
        start = time.thread_time()
        for i in names:
            shared[i % 2].answered("partition", Figures("java", {"keys": 2}, 1.0, f"{i:04}" + "t" * 245), PHASES)
        return time.thread_time() - start

    first = seconds(range(100))
    assert min(seconds(range(i, i + 100)) for i in range(700, 1_000, 100)) < 3 * first
