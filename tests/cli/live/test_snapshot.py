"""The commands for live clusters, without a cluster; tests/live/ has real ones."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from service.cli import main
from service.cli.descriptions.reading import read
from service.cli.live.snapshot import read_snapshot, write_snapshot

if TYPE_CHECKING:
    from pathlib import Path

SNAPSHOT = {
    "snapshot_version": 1,
    "brokers": [{"broker_id": 1}],
    "not_known": [],
    "log_dirs": [{"broker_id": 1, "log_dirs": [{"log_dir": "/data", "replicas": []}]}],
    "topics": [{"topic_name": "orders", "partitions_count": 2}, {"topic_name": "payments", "partitions_count": 1}],
    "groups": [{"group_id": "billing", "group_protocol": "classic"}],
}


@pytest.mark.parametrize("form", ["json", "jsonl", "parquet"])
def test_what_is_written_is_read(tmp_path: Path, form: str) -> None:
    """In each format."""
    with (tmp_path / "snapshot").open("wb") as file:
        write_snapshot(SNAPSHOT, form, file)
    assert read_snapshot(tmp_path / "snapshot") == SNAPSHOT
    with (tmp_path / "snapshot").open("rb") as file:
        assert [topic["topic_name"] for topic in read(file).topics] == ["orders", "payments"]  # by every other command


@pytest.mark.parametrize("text", ["", "[]", "{", '{"snapshot_version": 2}', "PAR1"])
def test_what_is_no_snapshot_is_refused(tmp_path: Path, text: str) -> None:
    """With the file's name."""
    (tmp_path / "snapshot").write_text(text)
    result = CliRunner().invoke(main, ["verify", "--snapshot", str(tmp_path / "snapshot")])
    assert (result.exit_code, result.stdout) == (2, "")
    assert str(tmp_path) in result.stderr


@pytest.mark.parametrize("command", ["snapshot", "verify", "watch"])
def test_the_kafka_client_is_an_extra(command: str) -> None:
    """Without it, the error says how to install it."""
    code = "import sys; sys.modules['kafka'] = None; from service.cli import main; main()"
    arguments = [sys.executable, "-c", code, command, "--bootstrap-server", "localhost:1"]
    result = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert "pip install '.[kafka]'" in result.stderr


@pytest.mark.parametrize("command", ["snapshot", "verify", "watch"])
def test_a_bootstrap_server_is_needed(command: str) -> None:
    """On the command line or in the properties file; and nothing is done before."""
    result = CliRunner().invoke(main, [command])
    assert result.exit_code == 2
    assert result.stderr.startswith("Usage: ")
    assert result.stderr.endswith("\nError: Missing option '--bootstrap-server'.\n")


@pytest.mark.parametrize("command", ["snapshot", "verify", "watch"])
def test_a_bootstrap_server_without_a_port(command: str) -> None:
    """It is refused in a sentence."""
    result = CliRunner().invoke(main, [command, "--bootstrap-server", "localhost:x"])
    assert result.exit_code == 2
    assert result.stderr == "Error: bootstrap.servers: 'localhost:x' is not HOST:PORT, such as localhost:9092.\n"


@pytest.mark.parametrize("command", ["snapshot", "verify", "watch"])
def test_names_that_are_not_text(command: str) -> None:
    """No request could hold them."""
    result = CliRunner().invoke(main, [command, "--bootstrap-server", "localhost:1", "--group", "a\udcff"])
    assert result.exit_code == 2
    assert r"Invalid value for '--group': 'a\udcff' is not UTF-8." in result.stderr
