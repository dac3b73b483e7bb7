"""The JVM's options and packages, and that its output does not mix with ours."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from service.spark import jobs
from service.spark.cluster import jvm
from service.spark.io.sources import Source
from tests.support.jvm import short_lived_spark, spark_archive


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
    assert jobs.load(job).is_light({"source": Source.parse(source)}) is light
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
        [sys.executable, "-m", "partition_allocator", *command, "--package", "org.slf4j:slf4j-api:2.0.17"],
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
