"""Results of many runs as one table: each row says which run it is of, and a run is there once."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from service import __version__
from service.cli import main
from service.pipeline.spark.tasks.parquet_files import STAMP_COLUMNS

KEYS = "keys:1000?keys=50&seed={}"
PLANS, WINDOWS = "plans.parquet", "windows.parquet"


@pytest.fixture
def groups(write):
    """A table of one group."""
    return write("groups.jsonl", '{"group_id": "g", "topics": [{"topic_name": "t", "partitions_count": 2}], "members": []}\n')


def run(*command, fails=""):
    done = CliRunner().invoke(main, ["pipeline", *command])
    assert (fails in done.output) if fails else done.exit_code == 0, (done.output, done.exception)
    return done.stdout


def skew(into, seed, *options, fails=""):
    return run("skew", KEYS.format(seed), "--partitions", "3", "--into", str(into), *options, fails=fails)


@pytest.mark.usefixtures("spark")
def test_every_table_and_the_summary_say_which_run_they_are_of(tmp_path):
    before = datetime.now(UTC)
    summary = json.loads(skew(tmp_path / "out", 1, "--topic", "orders").rpartition("}")[0] + "}")
    for table in (tmp_path / "out").glob("*.parquet"):
        rows = pq.read_table(table)
        assert {(field.name, field.type) for field in STAMP_COLUMNS} <= {(field.name, field.type) for field in rows.schema}
        for stamp in rows.select(STAMP_COLUMNS.names).to_pylist():
            assert stamp == {name: summary[name] for name in stamp} | {
                "computed_at": datetime.fromisoformat(summary["computed_at"])
            }
    assert (summary["source"], summary["topic"], summary["version"]) == (
        KEYS.format(1),
        "orders",
        __version__,
    )
    assert timedelta() <= datetime.fromisoformat(summary["computed_at"]) - before < timedelta(minutes=10)


@pytest.mark.usefixtures("spark")
def test_appended_runs_are_one_table_and_a_repeated_run_is_there_once(groups, tmp_path):
    """By tables of the driver (skew), of Spark (load) and of tasks (fleet)."""
    (tmp_path / "records.csv").write_text("topic,partition,timestamp\nt,0,1700000000000\n")
    jobs = {
        "skew": ([KEYS.format(1), "--partitions", "3"], "plans", 1),
        "load": ([str(tmp_path / "records.csv")], "subjects", 1),
        "fleet": ([groups, "--assignor", "range"], "assignments", 1),
    }
    for job, (arguments, table, rows) in jobs.items():
        into = tmp_path / job
        for run_id in ("2026-11-28T00:00:00+00:00", "b", "b"):
            run(job, *arguments, "--into", str(into), "--append", "--run-id", run_id)
        found = pq.read_table(into / f"{table}.parquet").to_pylist()
        assert sorted(row["run_id"] for row in found) == sorted(["2026-11-28T00:00:00+00:00", "b"] * rows)
        assert len({row["computed_at"] for row in found}) == 2
        assert json.loads((into / "summary.json").read_text())["run_id"] == "b"


@pytest.mark.usefixtures("spark")
def test_runs_are_not_mixed_with_tables_of_one(tmp_path):
    skew(tmp_path / "one", 1)
    skew(tmp_path / "one", 2, "--append", fails="was written without --append")
    skew(tmp_path / "many", 1, "--append")
    skew(tmp_path / "many", 2, fails="has several runs, written with --append")
    skew(tmp_path / "other", 1, "--run-id", "a/b", fails="letters, digits")


def test_tables_go_to_tables_of_a_lake(spark, groups, tmp_path):
    """ORC stands for Delta, which needs a package; test_history.py has those of a database."""
    for run_id in ("a", "b", "b"):
        options = ("--run-id", run_id, "--tables", f"orc:{tmp_path}/lake", "--into", str(tmp_path / "out"))
        run("fleet", groups, "--assignor", "range", *options)
    (row,) = pq.read_table(tmp_path / "out" / "assignments.parquet", columns=["group_id", "assignor"]).to_pylist()
    table = spark.read.orc(f"{tmp_path}/lake/fleet_assignments")
    rows = [each.asDict() for each in table.select("run_id", "group_id", "assignor").orderBy("run_id").collect()]
    assert rows == [{"run_id": run_id, **row} for run_id in "ab"]
    assert Path(tmp_path / "out" / "report.html").is_file()
