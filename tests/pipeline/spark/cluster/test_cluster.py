"""The pipeline on a cluster: Spark's own master, a worker whose Python lacks this project, and a Connect server before them."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import sysconfig
import time
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest

from service.pipeline.analyses.fleet.assignments import Choice, assign_groups
from tests.reference.hashes import murmur2
from tests.support.jvm import INTERPRETED, SHORT_LIVED, short_lived_spark, with_archive
from tests.support.serving import free_port

pytestmark = pytest.mark.slow

SPARK = Path(pyspark.__file__).parent
SECONDS = 600
"""Until a daemon listens, or a driver is done, on a machine that has other work."""

DELTA = "io.delta:delta-spark_4.2_2.13:4.4.0"

DRIVER = """
import fcntl, json, sys, tempfile
from contextlib import ExitStack
from click.testing import CliRunner
from service.cli import main
from service.pipeline.spark.cluster.session import spark_session
master, data, options, commands = sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), json.loads(sys.argv[4])
with ExitStack() as session:
    with open(tempfile.gettempdir() + "/partition-allocator-ivy.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # Ivy does not expect another process at its cache
        spark = session.enter_context(spark_session("tests", master=master, **options))
    if "packages" in options:
        spark.read.parquet(data + "/groups.parquet").write.format("delta").saveAsTable("groups")
    for command in commands:
        done = CliRunner().invoke(main, ["pipeline", *command])
        if done.exit_code:
            sys.exit(f"{command}: {done.output} {done.exception!r}")
"""
"""Several jobs of one session, for the sake of the tests' time."""

SETTINGS = INTERPRETED | {
    "spark.executor.memory": "512m",
    "spark.sql.shuffle.partitions": "1",
    "spark.ui.enabled": "false",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "1",  # default: 50 tasks to read a table's log
}


def listens(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Where the cluster's files are."""
    return tmp_path_factory.mktemp("cluster")


@pytest.fixture(scope="module")
def python(home):
    """The executors': it has what this one has, but for the project."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home / "venv"], check=True)
    (site,) = (home / "venv" / "lib").glob("python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")  # .pth files in there are not read
    python = home / "venv" / "bin" / "python"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [python, "-c", "import numba, service"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=home, env=environment)
    assert "No module named 'service'" in done.stderr
    return python


@pytest.fixture(scope="module")
def daemon(home, python):
    """``daemon(port, "spark-class", …)`` runs one of Spark's programs until the tests are over, and returns when it listens."""
    running = []
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "SPARK_HOME")}
    environment |= {
        "JAVA_TOOL_OPTIONS": " ".join((*SHORT_LIVED, with_archive())),
        "PYSPARK_PYTHON": str(python),
        "XDG_CACHE_HOME": str(home / "cache"),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "512m",
        "SPARK_NO_DAEMONIZE": "1",
    }

    def start(port, program, *arguments):
        with (home / f"{port}.log").open("wb") as log:
            running.append(
                subprocess.Popen([SPARK / "bin" / program, *arguments], stdout=log, stderr=log, env=environment, cwd=home)
            )
        deadline = time.monotonic() + SECONDS
        while not listens(port):
            assert running[-1].poll() is None and time.monotonic() < deadline, (home / f"{port}.log").read_text()  # noqa: PT018
            time.sleep(0.1)

    yield start
    for process in reversed(running):
        process.terminate()
    for process in running:
        process.wait(120)


@pytest.fixture(scope="module")
def cluster(home, daemon):
    """The URL of a master with one worker, of one core: a second would compile the same kernels at the same time."""
    ports = [free_port() for _ in range(4)]
    address = ("--host", "127.0.0.1", "--webui-port")
    package = "org.apache.spark.deploy"
    daemon(ports[0], "spark-class", f"{package}.master.Master", *address, str(ports[2]), "--port", str(ports[0]))
    url = f"spark://127.0.0.1:{ports[0]}"
    resources = ("--port", str(ports[1]), "-c", "1", "-m", "1g", "-d", str(home / "work"), url)
    daemon(ports[1], "spark-class", f"{package}.worker.Worker", *address, str(ports[3]), *resources)
    return url


@pytest.fixture(scope="module")
def connect(cluster, daemon):
    """The URL of a Connect server whose executors are the cluster's."""
    port = free_port()
    settings = {name: SETTINGS[name] for name in SETTINGS if "delta" not in SETTINGS[name]}
    settings["spark.connect.grpc.binding.port"] = str(port)
    options = [option for name, value in settings.items() for option in ("--conf", f"{name}={value}")]
    server = ("--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal")
    daemon(port, "spark-submit", "--master", cluster, *options, *server)
    return f"sc://127.0.0.1:{port}"


@pytest.fixture(scope="module")
def data(home):
    """Keys and groups, as files."""
    folder = home / "data"
    folder.mkdir()
    pq.write_table(pa.table({"key": [f"key {i}" for i in range(3000)]}), folder / "keys.parquet", row_group_size=500)
    members = [[{"member_id": f"c{m}"} for m in range(g % 3 + 1)] for g in range(20)]
    topics = [[{"topic_name": "t", "partitions_count": g + 1}] for g in range(20)]
    groups = pa.table({"group_id": [f"g{g}" for g in range(20)], "topics": topics, "members": members})
    pq.write_table(groups, folder / "groups.parquet")
    return folder


def run(master, python, data, into, skew, *fleet, more=(), **options):
    """Two jobs on ``master``, by what they are told, and ``more``; their answers are those of this machine."""
    commands = [
        ["skew", skew, "--partitions", "5", "--into", f"{into}/skew"],
        ["fleet", *fleet, "--assignor", "range", "--into", f"{into}/fleet"],
        *more,
    ]
    environment = {**os.environ, **short_lived_spark(), "PYSPARK_PYTHON": str(python), "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, master, data, json.dumps(options), json.dumps(commands)],
        capture_output=True, text=True, check=False, env=environment, timeout=SECONDS, cwd=Path(__file__).parents[4],
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    counts = Counter((murmur2(f"key {i}".encode()) & 0x7FFFFFFF) % 5 for i in range(3000))
    assert pq.read_table(into / "skew" / "partitions.parquet")["records"].to_pylist() == [counts[p] for p in range(5)]
    groups = pq.read_table(data / "groups.parquet")
    rows = pa.Table.from_batches(assign_groups(groups.to_batches(), (Choice.parse("range"),))).to_pylist()
    written = pq.read_table(into / "fleet" / "assignments.parquet").select([*rows[0]])
    assert sorted(written.to_pylist(), key=str) == sorted(rows, key=str)


def test_jobs_run_on_a_cluster_whose_executors_lack_the_project(cluster, python, data, home, tmp_path):
    """They get it, and unpack it once. They read the Parquet themselves; the groups are a Delta table, from a package.

    The table of two runs goes to Delta, that of one of them twice; a last job counts the rows that are there.
    """
    settings = {**SETTINGS, "spark.sql.warehouse.dir": str(home / "warehouse")}
    keys, lake = f"file://{data}/keys.parquet", f"delta:{tmp_path}/lake"
    of_run = ["table:groups", "--tables", lake, "--run-id"]  # a table of one job: a commit to Delta takes a second of a core
    again = ["fleet", *of_run, "b", "--assignor", "range", "--into", f"{tmp_path}/again"]
    counted = ["skew", f"{lake}/fleet_assignments", "--key-column", "run_id", "--partitions", "1", "--into", f"{tmp_path}/rows"]
    more = [again, again, counted]
    run(cluster, python, data, tmp_path, keys, *of_run, "a", more=more, packages=[DELTA], settings=settings)
    hottest = json.loads((tmp_path / "rows" / "summary.json").read_text())["hottest_keys"]
    rows = pq.read_table(tmp_path / "fleet" / "assignments.parquet").num_rows
    assert {each["key"]: each["records"] for each in hottest} == {"a": rows, "b": rows}
    (shipped,) = (home / "cache").glob("partition-allocator-*")
    assert (shipped / "service" / "core" / "__init__.py").is_file()


def test_jobs_run_through_spark_connect(connect, broker, python, data, tmp_path):
    """There is no JVM on this side; a topic is read through the server, which fetches the connector."""
    topic = broker.topic(3)
    broker.produce(topic, [(f"key {i}", "value") for i in range(3000)])
    run(connect, python, data, tmp_path, f"kafka://{broker.bootstrap}/{topic}", f"{data}/groups.parquet")
