"""``plan`` answers for a file of any kind what the service answers for its rows."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from contextlib import suppress

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from click.testing import CliRunner, Result

from service.cli import main
from tests.api.test_partition_counts import HISTOGRAM, PATH, QUESTION

COLUMNS = ("--key-column", "id", "--records-column", "n", "--bytes-column", "size")
OPTIONS = (
    *("--partitioner", "java", "--partitioner", "librdkafka:consistent_random", "--partitions", "6,9,12", "--current", "6"),
    *("--duration-seconds", "10", "--max-partition-records-per-second", "8", "--max-partition-bytes-per-second", "900"),
    *("--max-skew", "1.6", "--hottest-keys", "3"),
)
TABLE = pa.table({name: [row[key] for row in HISTOGRAM] for name, key in (("id", "key"), ("n", "records"), ("size", "bytes"))})


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["plan", *arguments])


@pytest.fixture
def files(tmp_path):
    pa.csv.write_csv(TABLE, tmp_path / "keys.csv")
    pa.parquet.write_table(TABLE, tmp_path / "keys.parquet")
    (tmp_path / "keys.jsonl").write_text("".join(json.dumps(row) + "\n" for row in TABLE.to_pylist()))
    return tmp_path


def test_every_kind_of_file_has_the_services_own_answer(client, files):
    answer = client.post(PATH, json=QUESTION).data
    for name in ("keys.csv", "keys.parquet", "keys.jsonl"):
        ended = run(str(files / name), *COLUMNS, *OPTIONS)
        assert ended.stdout_bytes == answer + b"\n", ended.stderr


def test_standard_input_numbers_and_rows_that_are_records(client):
    answer = client.post(PATH, json={"partitions_counts": [3], "key_format": "int", "keys": [1, 2, None, 2]}).json
    command = [sys.executable, "-m", "service", "plan", "-", "--file-format", "csv", "--partitions", "3", "--key-format", "int"]
    ended = subprocess.run(command, input=b"key,x\n1,a\n2,a\n,a\n2,a\n", capture_output=True, check=True)
    assert json.loads(ended.stdout) == answer


def test_a_terminal_gets_a_bar_and_a_table(files):
    terminal, end = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "service", "plan", str(files / "keys.csv"), *COLUMNS, *OPTIONS],
        stdout=end,
        stderr=end,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "160"},
    )
    os.close(end)
    text = ""
    with suppress(OSError):  # EIO: nobody holds the other end any more
        while True:
            text += os.read(terminal, 10_000).decode(errors="replace")
    assert process.wait() == 0
    for shown in ("keys.csv", "100%", "by chance", "smallest count within the limit", "200 distinct keys"):
        assert shown in text


def test_a_fault_in_the_file_ends_the_command_with_its_place(tmp_path):
    file = tmp_path / "keys.csv"
    file.write_text("key,records\na,1\nb,many\n")
    ended = run(str(file), "--partitions", "3", "--records-column", "records")
    assert ended.exit_code == 1
    assert "many" in ended.stderr
    assert isinstance(ended.exception, SystemExit)
    assert run(str(file), "--partitions", "3", "--key-column", "id").exit_code == 1


def test_a_fault_in_the_question_is_the_services(files):
    ended = run(str(files / "keys.csv"), *COLUMNS, "--partitions", "3,0")
    assert ended.exit_code == 1
    assert "/partitions_counts/1" in ended.stderr


def test_an_empty_file_is_even(tmp_path):
    file = tmp_path / "keys.csv"
    file.write_text("key\n")
    assert json.loads(run(str(file), "--partitions", "3").stdout)["plans"][0]["records"]["skew"] == 1.0
