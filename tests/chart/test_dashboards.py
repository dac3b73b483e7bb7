"""Dashboards, recording rules and alerts, against a real Prometheus that scrapes the real service under load."""

from __future__ import annotations

import json
import math
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
import requests
import yaml

from service.http.auth import new_token
from service.live.cluster_metrics import GAUGES
from tests.live.clients import eventually, members_of, metrics_at
from tests.support.charts import CHART, loaded
from tests.support.golden import PROJECT
from tests.support.programs import program
from tests.support.serving import free_port, serving

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

RULES = CHART / "rules" / "partition-allocator.yaml"
NAMESPACE = "kafka"


def dashboard(name: str) -> dict:
    return json.loads((CHART / "dashboards" / name).read_text())


PANELS = [panel for panel in dashboard("partition-allocator.json")["panels"] if panel["type"] != "row"]
EXPRESSIONS = {f"{panel['title']} {target['refId']}": target["expr"] for panel in PANELS for target in panel["targets"]}
VARIABLES = {
    variable["name"]: variable["query"]
    for variable in dashboard("partition-allocator.json")["templating"]["list"]
    if variable["type"] == "query"
}
GROUPS = loaded(RULES.read_text())["groups"]
RECORDS = [rule["record"] for rule in GROUPS[0]["rules"]]
ALERTS = {rule["alert"]: rule["expr"] for group in GROUPS for rule in group["rules"] if "alert" in rule}

CAPACITY = dashboard("partition-allocator-capacity.json")
WATCHED = [
    (panel["title"], target["expr"])
    for board in (CAPACITY, dashboard("partition-allocator-cluster.json"))
    for panel in board["panels"]
    if panel["type"] not in ("row", "trend")
    for target in panel["targets"]
]
"""What the dashboards ask of the metrics of ``watch``."""


# ---- load ------------------------------------------------------------------------------------------------------------


GROUP = {
    "group_id": "billing",
    "topics": [{"topic_name": "orders", "partitions_count": 8}],
    "members": [
        {"member_id": "a", "owned_partitions": [{"topic_name": "orders", "partition_ids": [4, 5, 6, 7]}]},
        {"member_id": "b", "owned_partitions": [{"topic_name": "orders", "partition_ids": [0, 1, 2, 3]}]},
    ],
}
BROKERS = [{"broker_id": i, "rack_id": f"r{i % 3}"} for i in range(6)]
LARGE = {"partitions_count": 12, "keys": [f"key-{i}" for i in range(50_000)]}


class Load:
    """A caller of every kind of request, good and bad."""

    def __init__(self, url: str, token: str, narrow: str) -> None:
        self.url, self.headers, self.narrow = url, {"Authorization": f"Bearer {token}"}, {"Authorization": f"Bearer {narrow}"}
        self.large = json.dumps(LARGE)
        self.statuses: set[int] = set()

    def ask(self, path: str, body: object, headers: dict[str, str] | None = None) -> None:
        """Post a question; what becomes of it is remembered."""
        text = body if isinstance(body, str) else json.dumps(body)
        headers = {"Content-Type": "application/json", **(self.headers if headers is None else headers)}
        self.statuses.add(requests.post(self.url + path, data=text, headers=headers, timeout=120).status_code)

    def once(self) -> None:
        """Every decision by several strategies, every refusal."""
        for partitioner in ("java", "sarama:hash"):
            self.ask(
                "/v1/partitions", {"topic_name": "orders", "partitioner": partitioner, "partitions_count": 6, "keys": ["a", "b"]}
            )
        for assignor in ("range", "roundrobin", "sticky"):
            self.ask("/v1/group-assignments", {"assignor": assignor, **GROUP})
        for placer in ("striped", "rack-aware"):
            self.ask(
                "/v1/replica-placements",
                {"placer": placer, "topic_name": "t", "partitions_count": 9, "replication_factor": 3, "brokers": BROKERS},
            )
        for protocol in ("classic", "consumer"):
            events = [{"at_ms": 1_000, "type": "member_joins", "member": {"member_id": "c"}}]
            self.ask(
                "/v1/group-rebalances",
                {"group_protocol": protocol, "topics": GROUP["topics"], "members": [{"member_id": "a"}], "events": events},
            )
        for i in range(6):
            self.ask("/v1/partitions", {"topic_name": f"topic-{i}", "partitions_count": 6, "keys": ["a", "b"]})
        self.ask("/v1/partitions", "{")
        self.ask("/v1/partitions", {"partitions_count": 0})
        self.ask("/v1/replica-placements", {"partitions_count": 1, "replication_factor": 9, "brokers": BROKERS})
        self.ask("/v1/partitions", {"partitions_count": 1, "keys": []}, headers={})
        self.ask("/v1/group-assignments", GROUP, headers=self.narrow)
        self.ask("/v1/partitions", {"partitioner": "broken", "partitions_count": 1, "keys": ["a"]})
        with ThreadPoolExecutor(8) as callers:
            list(callers.map(lambda _: self.ask("/v1/partitions", self.large), range(8)))


@pytest.fixture(scope="module")
def plugin(tmp_path_factory) -> Path:
    """An installed plug-in that fails, as the only way to a server error."""
    folder = tmp_path_factory.mktemp("plugin")
    (folder / "broken-1.0.dist-info").mkdir()
    (folder / "broken-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (folder / "broken-1.0.dist-info" / "entry_points.txt").write_text(
        "[partition_allocator.partitioners]\nbroken = broken:partitioner\n"
    )
    (folder / "broken.py").write_text(
        "import dataclasses\n"
        "from service.core.partitioners import PARTITIONERS\n\n"
        "def fail(*_, **__):\n"
        "    raise RuntimeError('a plug-in with a fault')\n\n"
        "partitioner = dataclasses.replace(PARTITIONERS.builtins[0], name='broken', run=fail)\n"
    )
    return folder


@pytest.fixture(scope="module")
def load(plugin, tmp_path_factory):
    """The service, small enough to be full, and somebody who asks it."""
    (token, line), (narrow, narrow_line) = new_token("all", ("*",)), new_token("narrow", ("partitions",))
    tokens = tmp_path_factory.mktemp("auth") / "tokens"
    tokens.write_text(f"{line}\n{narrow_line}\n")
    settings = {
        "PYTHONPATH": str(plugin),
        "ALLOCATOR_AUTH": "required",
        "ALLOCATOR_TOKENS_FILE": str(tokens),
        "ALLOCATOR_WORKERS": "1",
        "ALLOCATOR_MAX_CONCURRENT": "1",
        "ALLOCATOR_MAX_QUEUED": "1",
        "ALLOCATOR_MAX_SUBJECTS": "4",
    }
    with serving(**settings) as server:
        yield Load(server.url, token, narrow)


@pytest.fixture(scope="module")
def watch(broker):
    """The port of a ``watch`` on a real broker, with a group of two members and a topic whose keys are sampled."""
    topic, port = broker.topic(4), free_port()
    broker.produce(topic, [(f"key-{i % 7}", "x" * 100) for i in range(300)])
    command = [sys.executable, "-m", "service", "watch", "--bootstrap-server", broker.bootstrap, "--interval", "1s"]
    with members_of(broker) as members:
        for _ in range(2):
            members.librdkafka("billing", [topic], **{"auto.commit.interval.ms": "500"})
        process = subprocess.Popen(
            [*command, "--port", str(port), "--topic", topic, "--sample-keys", "100"], stderr=subprocess.DEVNULL
        )
        try:
            rate = "partition_allocator_cluster_member_records_per_second"
            eventually(lambda: metrics_at(port), lambda values: any(name.startswith(rate) for name in values))
            yield port
        finally:
            process.terminate()
            process.wait(120)


@pytest.fixture(scope="module")
def prometheus(load, watch, tmp_path_factory):
    """The URL of a Prometheus that has scraped the service, while it was asked, and a ``watch``."""
    folder = tmp_path_factory.mktemp("prometheus")
    target = load.url.removeprefix("http://")
    config = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(RULES)],
        "scrape_configs": [
            {
                "job_name": "allocator",
                "static_configs": [
                    {"targets": [target], "labels": {"namespace": NAMESPACE, "pod": "allocator-0"}},
                    {"targets": [f"127.0.0.1:{watch}"], "labels": {"namespace": NAMESPACE, "pod": "watch-0"}},
                ],
            }
        ],
    }
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    load.once()
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [
                program("prometheus"),
                f"--config.file={folder}/prometheus.yml",
                f"--storage.tsdb.path={folder}/data",
                f"--web.listen-address=127.0.0.1:{port}",
            ],
            stdout=log,
            stderr=log,
        )
    try:
        for _ in range(4):
            time.sleep(1.2)
            load.once()
        time.sleep(1.5)
        yield url
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(120)


def ask(url: str, expression: str) -> list[dict]:
    """The series that an expression gives now, with numbers only (no NaN)."""
    answer = requests.get(f"{url}/api/v1/query", params={"query": expression}, timeout=120).json()
    assert answer["status"] == "success", answer.get("error")
    return [series for series in answer["data"]["result"] if not math.isnan(float(series["value"][1]))]


def answer(url: str, load: Load, expression: str) -> list[dict]:
    """The same; on a machine so busy that scrapes are late, the load goes on until they have seen it."""
    deadline = time.monotonic() + 120
    while not (series := ask(url, expression)) and time.monotonic() < deadline:
        load.once()
        time.sleep(1.2)
    return series


# ---- tests -----------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("prometheus")
def test_the_load_has_every_outcome(load):
    """Or the next tests would not say much."""
    assert load.statuses >= {200, 400, 401, 403, 422, 500, 503}


@pytest.mark.parametrize("expression", EXPRESSIONS.values(), ids=EXPRESSIONS)
def test_no_panel_is_empty(prometheus, load, expression):
    grafana = {"$__rate_interval": "1m", "$namespace": NAMESPACE, "$subject": ".*"}
    for variable, value in grafana.items():
        expression = expression.replace(variable, value)
    assert "$" not in expression
    assert answer(prometheus, load, expression)


def test_the_variables_have_values(prometheus):
    """Of each, the series that Grafana looks at have the label that it lists."""
    assert list(VARIABLES) == ["namespace", "subject"]
    for query in VARIABLES.values():
        series, label = re.fullmatch(r"label_values\((.*), (\w+)\)", query).groups()
        values = ask(prometheus, series.replace("$namespace", NAMESPACE))
        assert {entry["metric"][label] for entry in values}


@pytest.mark.parametrize(("title", "expression"), WATCHED, ids=[f"{title} {i}" for i, (title, _) in enumerate(WATCHED)])
def test_no_panel_about_a_cluster_is_empty(prometheus, load, title, expression):
    """Each gives finite numbers for a real cluster; an even one has a skew of 1, and not of nothing."""
    grafana = {"$namespace": NAMESPACE, "$topic": ".*", "$group": ".*", "$window": "30s", "$limit": "0.85", "$rate": "1000"}
    for variable, value in grafana.items():
        expression = expression.replace(variable, value)
    assert "$" not in expression
    series = answer(prometheus, load, expression)
    assert series
    assert all(math.isfinite(float(one["value"][1])) for one in series)
    if title == "Days until a disk is full":
        assert all(0 <= float(one["value"][1]) <= 3650 for one in series)


@pytest.mark.parametrize("record", RECORDS)
def test_every_recording_rule_records(prometheus, load, record):
    assert answer(prometheus, load, record)


CLUSTER_ALERTS = {name: expression for name, expression in ALERTS.items() if "partition_allocator_cluster_" in expression}
CLUSTER = [
    *(expression for _, expression in WATCHED),
    *CLUSTER_ALERTS.values(),
]


@pytest.mark.parametrize("expression", CLUSTER)
def test_the_cluster_dashboard_and_alerts_look_at_what_watch_serves(expression):
    """Every metric is one of its metrics, and every label one of that metric's."""
    names = re.findall(r"partition_allocator_cluster_\w+", expression)
    labels = {"namespace", "pod"}.union(*(GAUGES[name][1] for name in names if name in GAUGES))
    assert names
    assert set(names) <= {"partition_allocator_cluster_up", *GAUGES}
    assert set(re.findall(r"(\w+)=", expression)) <= labels
    assert {label for group in re.findall(r"by \(([^)]*)\)", expression) for label in group.split(", ")} <= labels


@pytest.mark.parametrize("alert", [alert for alert, expression in ALERTS.items() if not re.search("kube_|_cluster_", expression)])
def test_every_alert_looks_at_what_there_is(prometheus, load, alert):
    """Without its threshold each gives a value: no metric or label is misspelt. kube-state-metrics is not here."""
    bare = re.sub(r"\s[<>]=?\s[\d.]+\s*$", "", ALERTS[alert]).removeprefix("absent(")
    bare = bare.removesuffix(")") if bare.count(")") > bare.count("(") else bare
    assert bare != ALERTS[alert]
    assert answer(prometheus, load, bare)


def test_prometheus_takes_every_rule(prometheus):
    groups = requests.get(f"{prometheus}/api/v1/rules", timeout=120).json()["data"]["groups"]
    assert {rule["health"] for group in groups for rule in group["rules"]} == {"ok"}


def test_the_alerts_fire_when_they_should_and_not_before():
    done = subprocess.run(
        [program("promtool"), "test", "rules", str(PROJECT / "tests" / "chart" / "rules_test.yaml")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_every_alert_is_tried():
    tried = loaded((PROJECT / "tests" / "chart" / "rules_test.yaml").read_text())["tests"]
    fired = {case["alertname"] for test in tried for case in test.get("alert_rule_test", ()) if case["exp_alerts"]}
    assert fired == set(ALERTS)


def test_the_chart_makes_a_rule_of_the_same_file():
    from tests.support.charts import TOKENS, render  # noqa: PLC0415 - needs Helm

    rule = render({**TOKENS, "rules": {"enabled": True, "runbooks": "docs"}})["PrometheusRule allocator-partition-allocator"]
    assert rule["spec"]["groups"] == GROUPS


def test_an_alert_has_no_link_that_leads_nowhere():
    from tests.support.charts import TOKENS, render  # noqa: PLC0415 - needs Helm

    rule = render({**TOKENS, "rules": {"enabled": True}})["PrometheusRule allocator-partition-allocator"]
    alerts = [alert for group in rule["spec"]["groups"] for alert in group["rules"] if "alert" in alert]
    assert len(alerts) == len(ALERTS)
    assert all(set(alert["annotations"]) == {"summary"} for alert in alerts)
