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
    *("--partitioner", "java", "--partitioner", "librdkafka:consistent_random"),
    *("--partitions", "6,9,12", "--current-partitions", "6"),
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
    assert process.wait() == 1, "no count keeps the limits"
    for shown in ("keys.csv", "100%", "by chance", "none keeps", "200 distinct keys"):
        assert shown in text


def test_rows_that_cannot_be_read_are_counted_and_shown(client, tmp_path):
    answer = client.post(
        PATH, json={"partitions_counts": [3], "histogram": [{"key": "a", "records": 1}, {"key": "d", "records": 4}]}
    )
    csv_file, json_file = tmp_path / "keys.csv", tmp_path / "keys.jsonl"
    csv_file.write_text("key,records\na,1\nb,many\nc\nd,4\n")
    json_file.write_text(
        '{"key": "a", "records": 1}\n{"key": "b", "rec\n{"key": "c", "records": "many"}\n{"key": "d", "records": 4}\n'
    )
    for file, first in (
        (csv_file, "row 4: 1 cells, expected 2; row 3: column 'records' has no integer in [0, 2^53]: 'many'"),
        (json_file, "line 2: "),
    ):
        ended = run(str(file), "--partitions", "3", "--records-column", "records")
        assert ended.exit_code == 0, ended.stderr
        assert ended.stdout_bytes == answer.data + b"\n"
        assert f"2 rows were rejected ({first}" in ended.stderr
        strict = run(str(file), "--partitions", "3", "--records-column", "records", "--strict")
        assert (strict.exit_code, strict.stdout) == (2, "")


def test_a_file_without_a_row_that_can_be_read_is_refused(tmp_path):
    file = tmp_path / "keys.csv"
    file.write_text("key,records\na,few\nb,many\n")
    ended = run(str(file), "--partitions", "3", "--records-column", "records")
    assert ended.exit_code == 2
    assert ended.stderr.endswith("No row can be read. row 2: column 'records' has no integer in [0, 2^53]: 'few'\n")
    file.write_text("key,records\n" + "a,few\n" * 5_000 + "b,1\n")
    assert "More than 1000 rows cannot be read" in run(str(file), "--partitions", "3", "--records-column", "records").stderr


@pytest.mark.parametrize(("limit", "status"), [("1.0", 1), ("3", 0)])
def test_the_exit_status_says_whether_a_count_keeps_the_limits(files, limit, status):
    assert run(str(files / "keys.csv"), "--key-column", "id", "--partitions", "6-12:6", "--max-skew", limit).exit_code == status


def test_a_count_below_the_current_one_is_within_the_limits_and_out_of_reach(files):
    options = ("--key-column", "id", "--partitions", "6", "--current-partitions", "12", "--max-skew", "3", "--output", "table")
    shown = " ".join(run(str(files / "keys.csv"), *options).stdout.split())
    assert "Of the counts planned (6), none as large as the current one keeps the limit" in shown
    assert "6 partitions would, in a new topic: Kafka cannot remove partitions." in shown
    assert run(str(files / "keys.csv"), *options).exit_code == 1
    assert "hottest keys, with their share of all records:" in shown


def test_a_row_whose_count_needs_a_new_topic_is_marked(files):
    options = ("--key-column", "id", "--partitions", "6,12", "--current-partitions", "12", "--output", "table")
    shown = run(str(files / "keys.csv"), *options).stdout
    assert [line.rstrip().endswith("new topic") for line in shown.splitlines() if line.startswith(("6 ", "12 "))] == [True, False]


def test_records_without_a_key_are_shown_beside_those_with_one(tmp_path):
    file = tmp_path / "keys.csv"
    file.write_text("n,key\n1,a\n1,\n1,a\n1,b\n")
    shown = run(str(file), "--partitions", "3", "--output", "table").stdout
    assert (
        "4 records: 3 with a key, 1 without; 2 distinct keys\n"
        "hottest keys, with their share of all records, those without a key included:\n  50.00%  a" in shown
    )


@pytest.mark.parametrize(
    ("rows", "error"),
    [("", "{file}: There are no records."), ("1,\n1,\n", "/key: There is nothing to plan: no record has a key.")],
)
def test_a_file_without_keys_is_nothing_to_plan(tmp_path, rows, error):
    """Rather than even, within every limit, with each count."""
    file = tmp_path / "keys.csv"
    file.write_text("n,key\n" + rows)
    ended = run(str(file), "--partitions", "3", "--max-skew", "1.2")
    assert (ended.exit_code, ended.stdout, ended.stderr) == (2, "", f"Error: {error.format(file=file)}\n")
    hashed = run(str(file), "--partitions", "3", "--partitioner", "librdkafka:consistent")
    assert hashed.exit_code == (0 if rows else 2), "this partitioner hashes records without a key"


def test_ranges_of_counts(files):
    ended = run(str(files / "keys.csv"), "--key-column", "id", "--partitions", "12-48:12,7")
    assert [plan["partitions_count"] for plan in json.loads(ended.stdout)["plans"]] == [12, 24, 36, 48, 7]
    assert "range such as 12-48:12" in run(str(files / "keys.csv"), "--partitions", "12-").stderr


def test_throughput_alone_gives_a_count_and_beside_keys_one_more(files):
    options = ("--target-mb-per-second", "0.3", "--producer-mb-per-second", "0.1", "--consumer-mb-per-second", "0.05")
    needed = json.loads(run(*options).stdout)["throughput"]
    assert needed.pop("conclusion").startswith("Throughput needs at least 6 partitions (3 for producers, 6 for consumers)")
    assert needed == {"producers": 3, "consumers": 6, "partitions_count": 6}
    assert run(*options, "--output", "csv").stdout == '"producers","consumers","partitions_count"\n3,6,6\n'
    ended = run(str(files / "keys.csv"), "--key-column", "id", "--partitions", "12", *options)
    assert [plan["partitions_count"] for plan in json.loads(ended.stdout)["plans"]] == [12, 6]
    table = run(str(files / "keys.csv"), "--key-column", "id", *options, "--output", "table").stdout
    assert "needs at least 6 partitions (3 for producers, 6 for consumers)" in table


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((), "Give a FILE of keys"),
        (("--partitions", "6", "--target-mb-per-second", "5", "--consumer-mb-per-second", "1"), "give a FILE of keys"),
        (("--target-mb-per-second", "5"), "Missing option --producer-mb-per-second or --consumer-mb-per-second"),
        (("--target-mb-per-second", "5", "--producer-mb-per-second", "0"), "--producer-mb-per-second: "),
        (("--target-mb-per-second", "1e90", "--producer-mb-per-second", "1"), "more partitions than Kafka allows"),
    ],
)
def test_throughput_that_says_too_little_is_refused(arguments, text):
    ended = run(*arguments)
    assert ended.exit_code == 2
    assert text in ended.stderr


def test_the_table_holds_at_80_columns(files):
    ended = subprocess.run(
        [sys.executable, "-m", "service", "plan", str(files / "keys.csv"), *COLUMNS, *OPTIONS[4:], "--output", "table"],
        capture_output=True, text=True, check=False, env={**os.environ, "COLUMNS": "80"},
    )  # fmt: skip
    header, *rows = [line for line in ended.stdout.splitlines() if line.startswith(("count ", "6 ", "9 ", "12 "))]
    assert header.split() == ["count", "skew", "cause", "by", "chance", "busiest", "moved", "limits"]
    assert len(rows) == 3
    assert all("✗" in row or "✓" in row for row in rows), ended.stdout
