"""Tables that the command line writes of a cluster are what the jobs of the pipeline read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from service.cli import main
from service.cli.descriptions.pipeline_tables import write_tables
from service.descriptions import Description
from tests.support.golden import CHOICE

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

SAMPLES = CHOICE / "descriptions"


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.stderr
    return result


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    """Of pasted topics, groups, sizes and racks."""
    groups = [
        str(SAMPLES / f"kafka-consumer-groups-{name}.txt") for name in ("members-verbose-2.8.2", "no-members", "state-2.8.2")
    ]
    files = [*groups, str(SAMPLES / "kafka-log-dirs.txt"), str(SAMPLES / "kafka-cluster-endpoints.txt")]
    snapshots = [part for file in files for part in ("--snapshot", file)]
    result = run("body", "tables", str(SAMPLES / "kafka-topics-2.8.2.txt"), *snapshots, "--out", str(tmp_path / "tables"))
    assert "1 group is not in the table of groups. 'idle': Group 'idle' has no members." in result.stderr
    assert "placements.parquet: 17 rows\n" in result.stderr
    return tmp_path / "tables"


@pytest.mark.slow
def test_fleet_and_reassign_read_them(
    tables: Path, tmp_path: Path, watched: Callable[[str], AbstractContextManager[None]]
) -> None:
    """Each group with its own assignor moves nothing, each topic obeys the placer, and a plan counts bytes."""
    options = ("--topics", str(tables / "topics.parquet"), "--brokers", str(tables / "brokers.parquet"))
    run("pipeline", "fleet", str(tables / "groups.parquet"), *options, "--into", str(tmp_path / "fleet"))
    (own,) = [row for row in pq.read_table(tmp_path / "fleet" / "assignments.parquet").to_pylist() if row["own"]]
    assert (own["group_id"], own["assignor"], own["moved"]) == ("billing", "range", 0)
    placed = pq.read_table(tmp_path / "fleet" / "placements.parquet").to_pylist()
    assert len(placed) == 4
    assert {row["obeys"] for row in placed} == {True}

    plan = ("--brokers", str(tables / "brokers.parquet"), "--replication-factor", "1", "--balance", "bytes")
    command = ("pipeline", "reassign", str(tables / "placements.parquet"), *plan, "--into", str(tmp_path / "plan"))
    with watched("reassign"):
        planned = run(*command, "--output", "json")
    assert json.loads(planned.stdout)
    assert pq.read_table(tmp_path / "plan" / "reassignment.parquet").num_rows > 0


@pytest.mark.slow
def test_load_reads_them(tables: Path, tmp_path: Path, watched: Callable[[str], AbstractContextManager[None]]) -> None:
    """Its consumers and its brokers, which have no bytes without --bytes-column."""
    records = pa.table({"topic": ["orders"] * 6, "partition": [0, 1, 2, 3, 4, 5], "timestamp": [0, 1, 2, 3, 4, 60_000]})
    pq.write_table(records, tmp_path / "records.parquet")
    options = ("--groups", str(tables / "groups.parquet"), "--placements", str(tables / "topics.parquet"))
    with watched("load"):
        done = run(
            "pipeline", "load", str(tmp_path / "records.parquet"), *options, "--into", str(tmp_path / "load"), "--output", "json"
        )
    summary: dict[str, Any] = json.loads(done.stdout)
    assert summary["records"] == 6
    assert summary["records_nobody_reads"] == 0
    assert summary["records_without_placement"] == 0


def test_sizes_that_are_not_all_known_are_left_out(tmp_path: Path) -> None:
    """With them capacities, which mean nothing without."""
    topic = {"topic_name": "t", "placements": [{"partition_id": i, "replicas": [1]} for i in range(2)]}
    broker = {"broker_id": 1, "rack_id": "a", "fenced": False, "capacity_bytes": 100, "advertised": "x"}
    for sizes, columns in (([5, None], 3), ([5], 3), ([5, 6], 4)):
        write_tables(Description("snapshot", (broker,), ({**topic, "partition_bytes": sizes},)), tmp_path)
        assert pq.read_table(tmp_path / "placements.parquet").num_columns == columns
        assert ("capacity_bytes" in pq.read_table(tmp_path / "brokers.parquet").column_names) == (columns == 4)
    assert not (tmp_path / "groups.parquet").exists()
