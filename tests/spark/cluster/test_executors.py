"""Processes of this machine in place of Spark: the same results, without Java; and how they fail and end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from pyarrow import csv

from service.cli import main
from service.core.errors import InvalidQuestion
from service.spark.cluster.executors import Processes
from service.spark.errors import JobFailed
from service.spark.runner import processes_of
from service.spark.tasks.splits import UnreadableFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NUMBERS = pa.schema({"number": pa.int64()})


def same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Each task gives its number twice."""
    for batch in batches:
        yield batch
        yield batch


def without_parquet(_: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    raise UnreadableFile("b.parquet cannot be read as Parquet: Corrupt")


def without_question(_: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    raise InvalidQuestion("is missing", "members", 3)


def with_a_bug(_: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    raise ZeroDivisionError("division by zero")


def killed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The second task is killed; the others give their numbers."""
    for batch in batches:
        if batch["number"][0].as_py() == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        yield batch


def asleep(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    time.sleep(600)
    yield from batches


def test_every_task_runs_once_and_the_rows_are_in_the_order_of_the_tasks() -> None:
    processes = Processes(2)
    rows = processes.run(same, 7, NUMBERS)
    assert rows["number"].to_pylist() == [number for number in range(7) for _ in range(2)]
    assert (processes.finished, processes.tasks) == (7, 7)


@pytest.mark.parametrize(
    ("function", "fault"),
    [
        (without_parquet, "b.parquet cannot be read as Parquet: Corrupt"),
        (without_question, "is missing"),
        (with_a_bug, "ZeroDivisionError: division by zero"),
        (killed, "a process was killed, probably for want of memory"),
    ],
)
def test_a_task_that_fails_fails_the_job(function: Callable[..., Any], fault: str) -> None:
    with pytest.raises(JobFailed, match=fault):
        Processes(2).run(function, 9, NUMBERS)


def children_of(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def eventually(look: Callable[[], list[str]], right: Callable[[list[str]], bool]) -> list[str]:
    """What ``look`` sees as soon as that is right."""
    deadline = time.monotonic() + 60
    while not right(pids := look()):
        assert time.monotonic() < deadline, pids
        time.sleep(0.05)
    return pids


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_processes_end_with_the_driver(end: signal.Signals) -> None:
    """Ctrl-C, a stop and a kill of the driver alone leave none."""
    script = (
        "from tests.spark.cluster.test_executors import NUMBERS, asleep; from service.spark.cluster.executors import Processes; "
        "Processes(3).run(asleep, 3, NUMBERS)"
    )
    driver = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        children = eventually(lambda: children_of(driver.pid), lambda pids: len(pids) == 3)
        if end == signal.SIGINT:
            os.killpg(driver.pid, end)  # as a terminal does
        else:
            driver.send_signal(end)
        assert driver.wait(30) != 0
        eventually(lambda: [pid for pid in children if Path(f"/proc/{pid}").exists()], lambda pids: not pids)
    finally:
        driver.kill()
        driver.wait()


def test_where_spark_is_named_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    cores = len(os.sched_getaffinity(0))
    monkeypatch.setattr("pyspark.sql.SparkSession.getActiveSession", lambda: None)
    counts = {None: cores, "local[*]": cores, "local": 1, "local[4]": 4}
    counts |= dict.fromkeys(("local[0]", "local[2,3]", "spark://host:7077", "k8s://https://host", "sc://host"))
    for master, count in counts.items():
        processes = processes_of(master, ["results", "a.parquet"])
        assert (processes and processes.count) == count, master
    assert processes_of(None, ["results", "s3a://bucket/a.parquet"]) is None
    assert processes_of(None, ["hdfs://host/results", "a.parquet"]) is None
    assert processes_of(None, ["file:///results", "file:///a.parquet"]) is not None
    monkeypatch.setenv("SPARK_REMOTE", "sc://host")
    assert processes_of(None, ["results", "a.parquet"]) is None


# ---- the jobs, both ways -----------------------------------------------------------------------------------------------

RECORDS = {"key": [f"{i * 7919 % 997}" if i % 7 else "x" for i in range(9000)], "partition": [i % 3 for i in range(9000)]}
GROUP = {"topics": [{"topic_name": f"t{i}", "partitions_count": 5} for i in range(2)], "members": [{"member_id": "b"}]}
GROUPS = [
    *({"group_id": f"g{i}", **GROUP, "members": [{"member_id": f"m{m}"} for m in range(1 + i % 4)]} for i in range(40)),
    {"group_id": "twice", **GROUP, "members": [{"member_id": "a"}] * 2},
]
TOPICS = [
    {"topic_name": f"t{i}", "brokers": [{"broker_id": b} for b in range(4)], "partitions_count": 4, "replication_factor": rf}
    for i, rf in enumerate((1, 2, 3, None))
] + [{"topic_name": None}]


def written(folder: Path, name: str, table: pa.Table) -> str:
    """Two files of several row groups."""
    (folder / name).mkdir()
    half = len(table) // 2
    for file, part in (("a", table.slice(0, half)), ("b", table.slice(half))):
        pq.write_table(part, folder / name / f"{file}.parquet", row_group_size=max(half // 3, 1))
    return str(folder / name)


@pytest.fixture
def commands(tmp_path: Path) -> dict[str, list[str]]:
    """Jobs over local files, with rejected rows in each."""
    records = written(tmp_path, "records", pa.table(RECORDS))
    groups = written(tmp_path, "groups", pa.Table.from_pylist(GROUPS))
    bodies = written(tmp_path, "bodies", pa.table({"body": [*map(json.dumps, GROUPS), "[", None]}))
    topics = written(tmp_path, "topics", pa.Table.from_pylist(TOPICS))
    lines, rows = (str(tmp_path / name) for name in ("records.csv", "bodies.csv"))
    csv.write_csv(pq.read_table(records), lines)
    csv.write_csv(pq.read_table(bodies), rows)
    placements, brokers = (str(tmp_path / name) for name in ("placements.csv", "brokers.csv"))
    csv.write_csv(pa.table({"topic_name": ["t"] * 9, "partition_id": [*range(9)], "replicas": ["[1, 0]"] * 9}), placements)
    csv.write_csv(
        pa.table({"broker_id": [*range(4)], "rack_id": [None, "a", "b", "a"], "draining": [True, *[None] * 3]}), brokers
    )
    key = ["--key-format", "long"]
    tried = ["--assignor", "range", "--assignor", "consumer:uniform"]
    return {
        "skew": ["skew", records, "--partitions-counts", "3,12", "--current", "3", *key],
        "mismatch": ["mismatch", records, *key],
        "fleet": ["fleet", groups, "--topics", topics, *tried],
        "reassign": ["reassign", placements, "--brokers", brokers, "--objective", "even"],
        "bodies": ["fleet", bodies, "--body-column", "body", *tried],
        "CSV": ["mismatch", lines, "--partitions-count", "3", *key],
        "bodies in CSV": ["fleet", rows, "--body-column", "body", *tried],
    }


def results(command: list[str], into: Path) -> dict[str, Any]:
    """What the command writes: tables as sorted rows, documents."""
    done = CliRunner().invoke(main, ["pipeline", *command, "--into", str(into)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = {}
    for path in sorted(into.iterdir()):
        if path.suffix == ".parquet":
            found[path.name] = sorted(map(repr, pq.read_table(path).to_pylist()))
        elif path.suffix == ".json":
            found[path.name] = json.loads(path.read_text())
    return found


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_the_results_are_those_of_spark(request: pytest.FixtureRequest, tmp_path: Path, commands: dict[str, list[str]]) -> None:
    """Every table, every rejected row, every figure and every request."""
    by_spark = {name: results(command, tmp_path / f"{name}-spark") for name, command in commands.items()}
    request.getfixturevalue("without_spark")
    for name, command in commands.items():
        in_processes = results(command, tmp_path / f"{name}-processes")
        assert in_processes.keys() == by_spark[name].keys(), name
        for file, content in in_processes.items():
            assert content == by_spark[name][file], (name, file)
        assert name == "reassign" or in_processes["quarantine.parquet"], name
    assert by_spark["reassign"]["moves.parquet"]
    assert by_spark["fleet"]["summary.json"]["topics"]["wrong_rows"] > 0
    assert by_spark["fleet"]["summary.json"]["groups"]["group_assignments"]
    of_csv, of_parquet = (by_spark[name]["summary.json"] for name in ("CSV", "mismatch"))
    assert of_csv == of_parquet | {"partitions_count_found": False}
    assert by_spark["fleet"]["summary.json"]["groups"] == by_spark["bodies"]["summary.json"]["groups"] | {"wrong_rows": 1}


@pytest.mark.slow
def test_local_parquet_needs_no_java(tmp_path: Path, commands: dict[str, list[str]]) -> None:
    """The command as a user has it on a machine without a JDK."""
    nowhere = {**os.environ, "JAVA_HOME": str(tmp_path), "PATH": str(tmp_path)}
    command = [sys.executable, "-m", "service", "pipeline", *commands["skew"], "--into", str(tmp_path / "out"), "--json"]
    done = subprocess.run(command, env=nowhere, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["records"] == 9000 - sum(key == "x" for key in RECORDS["key"])
    rejected = pq.read_table(tmp_path / "out" / "quarantine.parquet")
    assert pc.all(pc.equal(rejected["record"], "x")).as_py()
    assert rejected.num_rows == RECORDS["key"].count("x")
