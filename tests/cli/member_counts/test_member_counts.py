"""``partition-allocator member-counts``."""

from __future__ import annotations

import csv
import json
import re
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner, Result

from service.cli import main
from service.cli.member_counts import MOST_ROWS, plan_rows, policy_rows

if TYPE_CHECKING:
    from pathlib import Path

ENDS = [590_000, 740_000, 670_000, 690_000, 730_000, 700_000]
COMMITTED = [500_000, 700_000, 640_000, 660_000, 710_000, 690_000]

SNAPSHOT: dict[str, Any] = {
    "snapshot_version": 1,
    "taken_at": "2026-11-21T08:00:00Z",
    "cluster_id": "x",
    "kafka_version": "4.3.1",
    "brokers": [{"broker_id": 1}],
    "topics": [
        {
            "topic_name": "orders",
            "partitions_count": 6,
            "log_end_offsets": ENDS,
            "placements": [{"partition_id": i, "replicas": [1], "in_sync_replicas": [1]} for i in range(6)],
        }
    ],
    "groups": [
        {
            "group_id": "billing",
            "group_protocol": "classic",
            "assignor": "range",
            "group_state": "Stable",
            "members": [
                {
                    "member_id": f"consumer-billing-{i}",
                    "topic_names": ["orders"],
                    "generation_id": 7,
                    "owned_partitions": [{"topic_name": "orders", "partition_ids": [3 * i, 3 * i + 1, 3 * i + 2]}],
                }
                for i in range(2)
            ],
            "committed_offsets": [{"topic_name": "orders", "partition_ids": [*range(6)], "offsets": COMMITTED}],
        }
    ],
    "not_known": {},
}


@pytest.fixture
def snapshot(tmp_path: Path) -> str:
    path = tmp_path / "snapshot.json"
    path.write_text(json.dumps(SNAPSHOT))
    return str(path)


def run(*words: str) -> Result:
    return CliRunner().invoke(main, ["member-counts", *words], env={"COLUMNS": "80"})


def test_a_snapshot_with_one_command(snapshot: str) -> None:
    options = ("--snapshot", snapshot, "--consumption-rate", "2000", "--max-lag", "60s", "--lag-threshold", "50000")
    answer = json.loads(run(*options).stdout)
    assert answer["current"]["worst_load"] == 160_000
    assert answer["recommended"] == 6
    assert [each["replicas"] for each in answer["policies"]] == [5, 5, 6, 5]
    assert plan_rows(answer)[1][:5] == ("2 * now", "", "160,000", "", "80 s")
    assert policy_rows(answer)[0] == ("default", "5", "", "130,000", "", "65 s", "✗ lag")
    assert answer["conclusion"] == (
        "6 members are the fewest within the limits; now there are 2, not within them. With balanced, 2 members would do."
    )
    result = run(*options, "--output", "table")
    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "standstill" in result.stdout
    assert "drain" in result.stdout


def test_a_group_that_uses_the_remote_assignor_is_planned_with_balanced(tmp_path: Path) -> None:
    """Its assignor is called partition-allocator in a cluster."""
    remote = json.loads(json.dumps(SNAPSHOT))
    remote["groups"][0]["assignor"] = "partition-allocator"
    path = tmp_path / "remote.json"
    path.write_text(json.dumps(remote))
    answer = json.loads(run("--snapshot", str(path), "--consumption-rate", "2000", "--max-lag", "60s").stdout)
    assert (answer["assignor"], answer["recommended"]) == ("balanced", 2)


def test_a_limit_out_of_reach_is_exit_status_1(snapshot: str) -> None:
    result = run("--snapshot", snapshot, "--consumption-rate", "2000", "--max-lag", "10s", "--output", "table")
    assert result.exit_code == 1
    assert result.stdout.startswith("No number of members is within the limits: orders-0 alone has 45 s of lag, and")


def test_of_many_numbers_those_that_gain_have_a_row() -> None:
    answer = json.loads(run("--topic", "orders:100", "--members", "9").stdout)
    rows = plan_rows(answer)
    assert len(rows) == len({*answer["worth_using"], 9}) < MOST_ROWS
    assert answer["conclusion"].startswith("Worth using: 1, 2, 3,")
    assert any("simulated for" in sentence for sentence in answer["warnings"])


def test_more_members_than_are_worth_using() -> None:
    answer = json.loads(run("--topic", "orders:24", "--members", "10").stdout)
    assert answer["conclusion"].endswith("More than 24 members gain nothing. The current 10 members are no better than 8.")


def test_csv_and_a_picture(tmp_path: Path) -> None:
    group = ("--topic", "orders:24", "--members", "4", "--members-counts", "2,3,4")
    rows = list(csv.DictReader(run(*group, "--output", "csv").stdout.splitlines()))
    assert [row["members_count"] for row in rows] == ["2", "3", "4"] * 2
    file = tmp_path / "curve.svg"
    assert run(*group, "--svg", str(file)).exit_code == 0
    picture = ET.fromstring(file.read_text())  # noqa: S314 - our own
    assert sum(each.tag.endswith("polyline") for each in picture) == 2
    texts = [each.text for each in picture if each.tag.endswith("text")]
    assert texts[1:8] == ["0", "5", "10", "2", "3", "4", "members"], "round numbers up to 12 and from 2 to 4"


def test_a_body_is_extended_by_options(tmp_path: Path) -> None:
    body = {
        "topics": [{"topic_name": "t", "partitions_count": 4}],
        "members": [{"member_id": "a"}],
        "keda": {"lag_threshold": 3},
        "limits": {"max_load": 9},
    }
    file = tmp_path / "body.json"
    file.write_text(json.dumps(body))
    answer = json.loads(run(str(file), "--max-load", "2", "--threads-per-pod", "2").stdout)
    assert answer["recommended"] == 2
    assert [plan["pods"] for plan in answer["plans"]] == [1, 2]
    racks = [["x"], ["y"], ["y"], ["x"]]
    body["topics"] = [{**body["topics"][0], "partition_racks": racks, "partition_weights": [1e6] * 4}]
    body["members"] = [{"member_id": "a", "rack_id": "x"}, {"member_id": "b", "rack_id": "y"}]
    file.write_text(json.dumps(body))
    shown = run(str(file), "--members-counts", "1", "--price-per-gb", "0.02", "--output", "table").stdout
    assert re.search(r"own rack +cost", shown)
    assert re.search(r"0\.5 +105\b", shown)  # half of 4 MB a second, 730 hours, of 0.02 a GB: 105.12
    file.write_text("[")
    assert run(str(file)).exit_code == 2


def test_without_any_lag_partitions_count_unless_a_rate_or_limit_is_given(tmp_path: Path) -> None:
    """With a load of 0 everywhere one member would be as good as any number."""
    idle = json.loads(json.dumps(SNAPSHOT))
    idle["topics"][0]["log_end_offsets"] = COMMITTED
    path = tmp_path / "idle.json"
    path.write_text(json.dumps(idle))
    result = run("--snapshot", str(path))
    answer = json.loads(result.stdout)
    assert answer["worth_using"] == [1, 2, 3, 6]
    assert answer["current"]["worst_load"] == 3
    assert "no lag" in result.stderr
    rated = json.loads(run("--snapshot", str(path), "--consumption-rate", "2000", "--max-lag", "60s").stdout)
    assert (rated["recommended"], rated["current"]["worst_load"]) == (1, 0)
