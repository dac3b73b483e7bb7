"""What executors run is in ``service/pipeline/analyses`` or a folder named ``tasks``; a contract forbids Spark and HTTP there."""

from __future__ import annotations

import base64
import os
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from service.cli import main
from service.pipeline.spark.jobs import JOBS
from tests.support.wire_encoding import commit_key, commit_value

GROUPS = '{"group_id": "g", "topics": [{"topic_name": "t", "partitions_count": 2}], "members": [{"member_id": "m"}]}\n'
FILES = {
    "records.csv": "key,topic,partition,timestamp\na,t,0,0\nb,t,1,0\n",
    "groups.jsonl": GROUPS,
    "placements.csv": 'topic_name,partition_id,replicas\nt,0,"1,2"\nt,1,"2,1"\n',
    "brokers.csv": "broker_id\n1\n2\n3\n",
    "topics.jsonl": '{"topic_name": "t", "partitions_count": 1, "replication_factor": 1, "brokers": [{"broker_id": 1}]}\n',
}
COMMANDS = {
    "skew": ["records.csv"],
    "mismatch": ["records.csv", "--partitions", "2"],
    "load": ["records.csv", "--groups", "groups.jsonl"],
    "fleet": ["groups.jsonl", "--topics", "topics.jsonl"],
    "offsets": ["offsets.csv"],
    "history": ["offsets.csv"],
    "reassign": ["placements.csv", "--brokers", "brokers.csv"],
}


@pytest.mark.slow
def test_executors_import_tasks_alone(watched, imported, write, tmp_path):
    """The workers report after each job, as Spark ends idle ones. Jobs that other tests have watched do not run again."""
    files = {name: write(name, text) for name, text in FILES.items()}
    commit = ",".join(base64.b64encode(data).decode() for data in (commit_key("g", "t", 0), commit_value(1, 0)))
    files["offsets.csv"] = write("offsets.csv", f"key,value,partition,offset,timestamp\n{commit},0,0,0\n")
    assert set(JOBS) == COMMANDS.keys()
    for name in COMMANDS.keys() - imported.keys():
        paths = [files.get(argument, argument) for argument in COMMANDS[name]]
        with watched(name):
            done = CliRunner().invoke(main, ["pipeline", name, *paths, "--into", str(tmp_path / name)])
            assert done.exit_code == 0, done.output
    modules = set().union(*imported.values())
    pipeline = {name for name in modules if name.startswith(("service.pipeline.spark.", "service.pipeline.analyses."))}
    packages = {f"service.pipeline.spark.{name}" for name in ("cluster", "tasks")}
    assert {name for name in pipeline - packages if ".tasks." not in name and name.startswith("service.pipeline.spark.")} == set()
    assert not {name for name in modules if name.endswith((".outcome", ".report", ".summary", ".pages"))}
    assert {f"service.pipeline.analyses.{name}.scan" for name in ("skew", "mismatch")} <= pipeline
    assert {f"service.pipeline.analyses.fleet.{name}" for name in ("assignments", "placements")} <= pipeline
    assert {"service.pipeline.spark.tasks.coordinator_records", "service.pipeline.spark.tasks.group_requests"} <= pipeline


SCAN = """
import os, sys
import service.pipeline.spark.cluster.daemon
threads = {open(f"/proc/self/task/{task}/comm").read().strip() for task in os.listdir("/proc/self/task")}
before = {*sys.modules}
from service.pipeline.analyses.skew.scan import SkewScan
from service.pipeline.spark.tasks.parquet_files import ParquetFiles

scan = SkewScan(("key",), "string", ("java",), (12,))
(result,) = scan.of_batches(ParquetFiles([(sys.argv[1], 1 << 20)]).batches(["key"]))
assert result.column("rejected").to_pylist() == [0]
assert "pandas" not in sys.modules
print(sorted(threads), [name for name in sys.modules.keys() - before if name.startswith("service.")])
"""


def test_the_workers_of_a_scan_are_forked_with_its_modules(tmp_path):
    """And without pandas, which PyArrow imports to convert Python's values: both take half a second.

    A fork loses threads. The one of jemalloc comes back.
    """
    pq.write_table(pa.table({"key": ["a", "b"]}), tmp_path / "keys.parquet")
    command = [sys.executable, "-c", SCAN, str(tmp_path / "keys.parquet")]
    done = subprocess.run(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, check=True)
    assert done.stdout in ("['jemalloc_bg_thd', 'python'] []\n", "['jemalloc_bg_thd', 'python3'] []\n")
