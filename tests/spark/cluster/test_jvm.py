"""The JVM's options, and that its output does not mix with ours."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import pytest

from service.spark.cluster import jvm
from tests.support.jvm import SHORT_LIVED_SPARK


def test_the_first_jvm_writes_an_archive_and_the_next_ones_use_it(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first = jvm.options("17").split()[0]
    option, _, archive = first.partition("=")
    assert option == "-XX:ArchiveClassesAtExit"
    (tmp_path / "partition-allocator" / archive.rpartition("/")[2]).touch()
    assert jvm.options("17").split()[0] == f"-XX:SharedArchiveFile={archive}"
    assert jvm.options("21").split()[0].startswith("-XX:ArchiveClassesAtExit="), "another Java has an archive of its own"


def test_where_no_archive_can_be_the_jvm_starts_without(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert jvm.options("17") == " ".join(jvm.LATER)
    (tmp_path / "a folder").mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a folder"))
    assert jvm.options("17") == " ".join(jvm.LATER), "Spark divides its options at spaces"


@pytest.mark.slow
def test_standard_output_is_the_summary_alone(tmp_path):
    """Spark and the JVM print as well. The archive appears when the JVM has ended, after the command."""
    (tmp_path / "keys.jsonl").write_text('{"key": "a"}\n{"key": "b"}\n')
    command = ["pipeline", "skew", str(tmp_path / "keys.jsonl"), "--into", str(tmp_path / "results"), "--master", "local[1]"]
    run = subprocess.run(
        [sys.executable, "-m", "partition_allocator", *command],
        env={**os.environ, **SHORT_LIVED_SPARK, "XDG_CACHE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    assert json.loads(run.stdout)["records"] == 2
    assert "loading settings" not in run.stderr
    for _ in range(600):
        if archives := list((tmp_path / "partition-allocator").glob("spark-*.jsa")):
            break
        time.sleep(0.2)
    assert archives
