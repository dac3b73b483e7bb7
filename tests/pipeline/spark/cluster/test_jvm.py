"""The JVM's options and packages, and that its output does not mix with ours."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from service.pipeline.spark import jobs
from service.pipeline.spark.cluster import jvm
from service.pipeline.spark.cluster.jvm import start_failure
from service.pipeline.spark.errors import NoSpark
from service.pipeline.spark.io.sources import Source
from tests.support.jvm import short_lived_spark, spark_archive
from tests.support.programs import HEEDS_CTRL_C


def test_the_first_jvm_writes_an_archive_and_the_next_ones_use_it(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first = jvm.options("17").split()[0]
    option, _, archive = first.partition("=")
    assert option == "-XX:ArchiveClassesAtExit"
    (tmp_path / "partition-allocator" / archive.rpartition("/")[2]).touch()
    assert jvm.options("17").split()[0] == f"-XX:SharedArchiveFile={archive}"
    assert jvm.options("21").split()[0].startswith("-XX:ArchiveClassesAtExit="), "another Java has an archive of its own"


@pytest.mark.parametrize(
    ("job", "source", "light"),
    [
        ("skew", "plain", True),
        ("mismatch", "plain/part.parquet", True),
        ("skew", "csv:plain", False),
        ("skew", "days", False),
        ("skew", "kafka://localhost:1/topic", False),
        ("load", "plain", False),
    ],
)
def test_a_jvm_that_only_starts_tasks_has_no_second_compiler(tmp_path, monkeypatch, job, source, light):
    monkeypatch.chdir(tmp_path)
    for file in ("plain/part.parquet", "days/day=1/part.parquet"):
        (tmp_path / file).parent.mkdir(parents=True)
        pq.write_table(pa.table({"key": ["a"]}), tmp_path / file)
    assert jobs.JOBS[job].is_light({"source": Source.parse(source)}) is light
    assert ("-XX:TieredStopAtLevel=1" in jvm.options("17", light=light)) is light


def test_the_same_spark_installed_again_gets_another_archive(monkeypatch, tmp_path):
    """The JVM compares the times of the jars with those in the archive, and would silently start without it, each time."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars/spark-core.jar").touch()
    first = jvm.options("17")
    assert jvm.options("17") == first
    os.utime(tmp_path / "jars/spark-core.jar", (0, 0))
    assert jvm.options("17") != first


def test_where_no_archive_can_be_the_jvm_starts_without(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert jvm.options("17") == " ".join(jvm.LATER)
    (tmp_path / "a folder").mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a folder"))
    assert jvm.options("17") == " ".join(jvm.LATER), "Spark divides its options at spaces"


POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>org.slf4j</groupId><artifactId>slf4j-api</artifactId><version>2.0.17</version></project>"""


@pytest.mark.slow
def test_standard_output_is_the_summary_alone(tmp_path):
    """Spark, the JVM and Ivy print as well, which fetches a package whose jar the local Maven repository lacks.

    Any Maven build leaves there the metadata of packages whose jars it did not need. The Kafka connector needs this one.
    """
    package = tmp_path / ".m2/repository/org/slf4j/slf4j-api/2.0.17"
    package.mkdir(parents=True)
    (package / "slf4j-api-2.0.17.pom").write_text(POM)
    (tmp_path / "keys.jsonl").write_text('{"key": "a"}\n{"key": "b"}\n')
    command = ["pipeline", "skew", str(tmp_path / "keys.jsonl"), "--into", str(tmp_path / "results"), "--master", "local[1]"]
    command += ["--spark-option", f"spark.driver.extraJavaOptions=-Duser.home={tmp_path}"]
    run = subprocess.run(
        [*HEEDS_CTRL_C, sys.executable, "-m", "partition_allocator", *command, "--package", "org.slf4j:slf4j-api:2.0.17"],
        env={**os.environ, **short_lived_spark()},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    assert json.loads(run.stdout)["records"] == 2
    assert "loading settings" not in run.stderr
    assert list(tmp_path.glob(".ivy2*/jars/org.slf4j_slf4j-api-2.0.17.jar"))


@pytest.mark.slow
def test_the_archive_appears_when_the_jvm_has_ended():
    """Which is after the command."""
    assert spark_archive().stat().st_size > 10_000_000


def start(tmp_path, **environment):
    """The start of a job as a process of its own, in a session of its own."""
    (tmp_path / "keys.csv").write_text("key\na\n")
    command = ["pipeline", "skew", str(tmp_path / "keys.csv"), "--into", str(tmp_path / "results"), "--master", "local[1]"]
    return subprocess.Popen(
        [*HEEDS_CTRL_C, sys.executable, "-m", "partition_allocator", *command, *environment.pop("options", ())],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def program(path, text):
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.mark.parametrize("when", ["as it starts", "later"])
def test_ctrl_c_leaves_nothing_that_spark_has_started(when, tmp_path):
    """In place of spark-submit a program that, as the JVM does then, never ends by itself; nor does what it has started."""
    itself = "kill -INT $PPID; " if when == "as it starts" else ""
    program(
        tmp_path / "spark/bin/spark-submit",
        f"{itself}sleep 600 & echo $$ $! > {tmp_path}/new; mv {tmp_path}/new {tmp_path}/ids; wait",
    )
    process = start(tmp_path, SPARK_HOME=str(tmp_path / "spark"))
    while not (tmp_path / "ids").exists() and process.poll() is None:
        time.sleep(0.05)
    if when == "later":
        os.killpg(process.pid, signal.SIGINT)  # as a terminal sends it
    assert process.communicate(timeout=60) == ("", "")
    assert process.returncode == 130
    # It may have been killed before it wrote.
    left, ends = (tmp_path / "ids").read_text().split() if (tmp_path / "ids").exists() else [], time.monotonic() + 60
    while left := [*filter(runs, left)]:  # what has been killed ends when it gets a processor
        assert time.monotonic() < ends, left
        time.sleep(0.05)


def runs(process_id):
    """Whether there is such a process that has not ended."""
    try:
        return Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


JOBS = """
import logging, sys, time
from pathlib import Path
from service.pipeline.spark.cluster.session import spark_session

def by_rdd(spark):
    spark.sparkContext.parallelize([0], 1).foreach(lambda _: wait("by_rdd"))

def by_sql(spark):
    spark.range(1).mapInArrow(lambda batches: map(lambda _: wait("by_sql"), batches), "id long").toArrow()

def wait(name):
    Path(folder, name).touch()
    time.sleep(600)

folder = sys.argv[1]
for job in (by_rdd, by_sql):
    logging.disable(logging.NOTSET)
    try:
        with spark_session("ctrl-c", master="local[1]") as spark:
            job(spark)
    except KeyboardInterrupt:
        print("interrupted")
"""
"""Two sessions, one after the other, of one JVM."""


@pytest.mark.slow
def test_ctrl_c_ends_a_job_without_a_word_of_spark(tmp_path):
    """Nor of Py4J."""
    command = [*HEEDS_CTRL_C, sys.executable, "-c", JOBS, tmp_path]
    environment = {**os.environ, **short_lived_spark()}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for job in ("by_rdd", "by_sql"):
        while not (tmp_path / job).exists():
            assert process.poll() is None, process.communicate()
            time.sleep(0.05)
        time.sleep(0.5)  # until the driver waits
        process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60) == ("interrupted\n" * 2, "")


@pytest.mark.parametrize("version", ["1.8.0_292", "16.0.2"])
def test_an_old_java_is_refused_by_its_version(tmp_path, monkeypatch, version):
    """The first has no modules; the second has the one that Spark needs."""
    refusal = "echo Unrecognized option: --add-modules; exit 1" if version.startswith("1.") else ":"
    program(tmp_path / "bin/java", f"""if [ "$1" != -version ]; then {refusal}; fi; echo 'openjdk version "{version}"' >&2""")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(NoSpark, match=f'{tmp_path}/bin/java is openjdk version "{version}". Set JAVA_HOME to another Java.'):
        jvm.java_version()


def test_a_file_that_is_no_program_is_no_java(tmp_path, monkeypatch):
    program(tmp_path / "bin/java", "")
    (tmp_path / "bin/java").write_bytes(b"\x7fELF")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(NoSpark, match=f"{tmp_path}/bin/java does not start: Exec format error"):
        jvm.java_version()


@pytest.mark.parametrize(
    ("memory", "reason"),
    [
        ("1m", "Too small maximum heap"),
        pytest.param("100m", r"System memory \d+ must be at least 471859200", marks=pytest.mark.slow),
    ],
)
def test_a_lack_of_memory_is_told_in_a_sentence(tmp_path, memory, reason):
    """Of the JVM itself, and of Spark."""
    options = ("--spark-option", f"spark.driver.memory={memory}")
    process = start(tmp_path, **short_lived_spark(), options=options)
    remedy = "Set the memory of the driver: --spark-option spark.driver.memory=1g"
    assert re.fullmatch(rf"Error: Spark does not start: {reason}\. {remedy}\n", process.communicate(timeout=120)[1])
    assert process.returncode == 2


def test_what_ends_the_jvm_is_found_in_its_output():
    printed = """WARNING: Using incubator modules: jdk.incubator.vector
26/11/27 15:45:26 WARN Utils: Your hostname resolves to a loopback address
Exception in thread "main" org.apache.spark.SparkException: Master must either be yarn or start with spark, k8s, or local
\tat org.apache.spark.deploy.SparkSubmit.prepareSubmitEnvironment(SparkSubmit.scala:263)
"""
    gone = RuntimeError("Java gateway process exited before sending its port number.")
    assert start_failure(gone, printed) == "Master must either be yarn or start with spark, k8s, or local."
    assert start_failure(gone, "").startswith("Java gateway process exited")
