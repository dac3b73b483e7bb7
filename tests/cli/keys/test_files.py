"""Keys come out of CSV, JSON lines and Parquet as they went in, in batches, and what is wrong with a file is said."""

from __future__ import annotations

import gzip
import io
import json
import os
import pty
import subprocess
import sys
import tracemalloc
from contextlib import suppress

import click
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from service.cli import main
from service.cli.keys import files
from service.pipeline.files import reader
from service.pipeline.files.rejected import RejectedRows, WrongTable
from service.pipeline.files.types import typed

KEYS = ["007", None, "a,b", 'say "hi"', "two\nlines", "2024-01-01", "ключ"]


def write(path, keys, counts):
    """The rows in the format that the file's name says."""
    suffix = path.suffix
    if suffix == ".parquet":
        pq.write_table(pa.table({"x": keys, "id": pa.array(keys), "n": pa.array(counts, pa.int64())}), path)
    elif suffix == ".jsonl":
        path.write_text("".join(json.dumps({"x": 1, "id": k, "n": n}) + "\n" for k, n in zip(keys, counts, strict=True)))
    else:
        between = "\t" if suffix == ".tsv" else ","
        cells = ["" if k is None else '"{}"'.format(str(k).replace('"', '""')) for k in keys]
        path.write_text(
            f"x{between}id{between}n\n" + "".join(f"1{between}{c}{between}{n}\n" for c, n in zip(cells, counts, strict=True))
        )
    return str(path)


def rows(file, columns=None, **options):
    batches = list(files.read(file, columns or {"key": "id"}, **options))
    return pa.Table.from_batches(batches)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet"])
def test_keys_come_out_as_they_went_in(suffix, tmp_path):
    """Text stays text: a CSV's 007 is no number, a JSON date no timestamp."""
    file = write(tmp_path / f"f.{suffix}", KEYS, range(7))
    table = rows(file, {"partition_id": "n", "key": "id"})
    assert table.column_names == ["partition_id", "key"]
    assert table["key"].to_pylist() == KEYS
    assert table["partition_id"].type == pa.int32()
    assert table["partition_id"].to_pylist() == list(range(7))


def test_an_empty_cell_is_no_key_and_an_empty_text_elsewhere_is_one(tmp_path):
    csv, jsonl = tmp_path / "f.csv", tmp_path / "f.jsonl"
    csv.write_text('id,n\na,1\n,2\n"",3\n')
    assert rows(str(csv))["key"].to_pylist() == ["a", None, None]
    jsonl.write_text('{"id": "a"}\n{"id": null}\n{"id": ""}\n')
    assert rows(str(jsonl))["key"].to_pylist() == ["a", None, ""]
    pq.write_table(pa.table({"id": ["a", None, ""]}), tmp_path / "f.parquet")
    assert rows(str(tmp_path / "f.parquet"))["key"].to_pylist() == ["a", None, ""]


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
@pytest.mark.parametrize(
    ("key_format", "kind", "keys"), [("long", pa.int64(), [1, None, 2**60]), ("int", pa.int32(), [-1, 2, None])]
)
def test_text_becomes_the_numbers_that_the_key_format_says(suffix, key_format, kind, keys, tmp_path):
    file = tmp_path / f"f.{suffix}"
    if suffix == "csv":
        file.write_text("id,n\n" + "".join(f"{'' if k is None else k},1\n" for k in keys))
    else:
        write(file, keys, [1] * 3)
    table = rows(str(file), key_format=key_format)
    assert table["key"].type == kind
    assert table["key"].to_pylist() == keys


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_1_0_is_an_integer_and_what_is_no_partition_is_named_with_its_place(suffix, tmp_path):
    """Pandas writes integers so beside a missing value."""
    path = tmp_path / f"seen.{suffix}"
    partitions = [0.0, 1.0, 1.5, -1.0, 2.0**31, None]
    if suffix == "parquet":
        pq.write_table(pa.table({"key": list("abcdef"), "partition": partitions}), path)
    elif suffix == "csv":
        cells = ["" if value is None else str(value) for value in partitions]
        path.write_text("key,partition\n" + "".join(f"{key},{cell}\n" for key, cell in zip("abcdef", cells, strict=True)))
    else:
        values = [0, "1", *partitions[2:]]
        lines = [json.dumps({"key": key, "partition": value}) for key, value in zip("abcdef", values, strict=True)]
        path.write_text("\n\n".join(lines))
    rejected = RejectedRows()
    read = rows(str(path), {"key": "key", "partition_id": "partition"}, rejected=rejected)
    assert (read["key"].to_pylist(), read["partition_id"].to_pylist()) == (["a", "b"], [0, 1])
    assert rejected.reasons == {"column 'partition' has no partition": 3, "no value in column 'partition'": 1}
    third, fourth = {"csv": ("row 4", "row 5"), "parquet": ("row 3", "row 4"), "jsonl": ("line 5", "line 7")}[suffix]
    assert f"{third}: column 'partition' has no partition: '1.5'" in rejected.sentence()
    assert f"{fourth}: column 'partition' has no partition: '-1.0'" in rejected.sentence()


def test_a_table_of_brokers_may_have_1_0_for_an_integer():
    table = pa.table({"broker_id": ["1.0", " 2 ", ""], "capacity_bytes": [1e12, None, 3.0]})
    types = {"broker_id": pa.int32(), "capacity_bytes": pa.int64()}
    assert typed(table, types, "brokers.csv").to_pydict() == {"broker_id": [1, 2, None], "capacity_bytes": [10**12, None, 3]}
    for column in (["1.0", "1.5"], [1.0, 1.5]):
        with pytest.raises(WrongTable, match=r"brokers\.csv: broker_id of row 2 is '1\.5', which is not of type int32"):
            typed(pa.table({"broker_id": column}), types, "brokers.csv")


def test_a_large_file_comes_in_batches(tmp_path, monkeypatch):
    monkeypatch.setattr(reader, "BLOCK", 1000)
    monkeypatch.setattr(reader, "ROWS", 100)
    keys = [f"key-{i}" for i in range(1000)]
    for suffix in ("csv", "jsonl", "parquet"):
        file = write(tmp_path / f"f.{suffix}", keys, range(1000))
        batches = list(files.read(file, {"key": "id"}))
        assert len(batches) >= 10
        assert [key for batch in batches for key in batch["key"].to_pylist()] == keys


@pytest.mark.parametrize(("suffix", "row_group"), [("csv", None), ("jsonl", None), ("parquet", 1_000), ("parquet", 10**6)])
def test_a_few_batches_are_all_that_is_in_memory_of_a_file(suffix, row_group, tmp_path, monkeypatch):
    """Neither Arrow nor Python holds more, however long the file and whether a Parquet file is one row group or many."""
    for name in ("BLOCK", "PIECE"):
        monkeypatch.setattr(reader, name, 1 << 14)
    monkeypatch.setattr(reader, "ROWS", 1_000)
    file = tmp_path / f"f.{suffix}"
    digits = np.random.default_rng(1).bytes(16 * 100_000).hex()
    keys = [digits[i : i + 32] for i in range(0, len(digits), 32)]
    if suffix == "parquet":
        pq.write_table(pa.table({"id": keys}), file, row_group_size=row_group, use_dictionary=False)
    else:
        write(file, keys, range(len(keys)))
    tracemalloc.start()
    try:
        before = pa.total_allocated_bytes()
        most = max(
            pa.total_allocated_bytes() - before + tracemalloc.get_traced_memory()[0] for _ in files.read(str(file), {"key": "id"})
        )
    finally:
        tracemalloc.stop()
    assert most < file.stat().st_size / 2


@pytest.mark.parametrize(
    ("suffix", "header", "hint"),
    [
        ("csv", "id;n", r"The first line has no comma: separate columns by commas, or by tabs with --file-format tsv\."),
        ("csv", "id\tn", r"The first line has no comma: .*"),
        ("tsv", "id,n", r"The first line has no tab: .*"),
        ("csv", "id,n", ""),
    ],
)
def test_another_separator_than_that_of_the_format_is_named(suffix, header, hint, tmp_path):
    file = tmp_path / f"f.{suffix}"
    file.write_text(f"{header}\n")
    with pytest.raises(click.ClickException, match=rf"Column 'key' is missing; the columns are [^.]*\. ?{hint}$"):
        list(files.read(str(file), {"key": "key"}))


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet"])
def test_a_missing_column_is_named_with_those_there_are(suffix, tmp_path):
    file = write(tmp_path / f"f.{suffix}", ["a"], [1])
    with pytest.raises(click.ClickException, match=r"f.*: Column 'key' is missing; the columns are x, id, n"):
        rows(file, {"key": "key"})


def test_a_json_key_may_be_absent_here_and_there(tmp_path):
    file = tmp_path / "f.jsonl"
    file.write_text('{"n": 1}\n{"id": "a"}\n')
    assert rows(str(file))["key"].to_pylist() == [None, "a"]


@pytest.mark.parametrize(
    ("name", "content", "options", "complaint"),
    [
        ("f.csv", b"", {}, "The file is empty."),
        ("f.csv", b"id\nabc\n", {"key_format": "long"}, "row 2: no long key: 'abc'"),
        ("f.csv", b"id,n\na,1,2\n", {}, "row 2: 3 cells, expected 2"),
        ("f.csv", b"id\n\xff\n", {}, "row 2: key is not UTF-8"),
        ("f.csv", b"id,id\na,b\n", {}, "several columns 'id'"),
        ("f.csv", gzip.compress(b"id\na\n", mtime=0), {}, "compressed with gzip"),
        ("f.csv.gz", gzip.compress(b"id\na\n", mtime=0), {}, "compressed with gzip"),
        ("f.jsonl", b'{"id": 1}\n', {}, "line 1: 'id' is of type number, not string"),
        ("f.jsonl", b'{"id": "1"}\n', {"key_format": "int"}, "line 1: 'id' is of type string, not number"),
        ("f.jsonl", b'{"id": 70000}\n', {"key_format": "short"}, "70000"),
        ("f.jsonl", b"[1]\n", {}, "line 1: the line is of type array, not object"),
        ("f.jsonl", b"null\n", {}, "line 1: the line is of type null, not object"),
        ("f.jsonl", b" null\nnull\n", {}, "line 1: the line is of type null, not object"),
        ("f.jsonl", b'\n{"id": "2"} {"id": "3"}\n', {}, "line 2: several records in a line"),
        ("f.jsonl", b"", {}, "The file is empty."),
        ("f.parquet", b"PAR1 or so", {}, "Parquet"),
        ("f.txt", b"id\na\n", {}, "--file-format"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_the_reason(name, content, options, complaint, tmp_path):
    file = tmp_path / name
    file.write_bytes(content)
    with pytest.raises(click.ClickException, match=complaint) as refused:
        rows(str(file), **options)
    assert name in refused.value.message


def test_a_line_of_json_that_is_null_is_no_record(tmp_path):
    """Arrow crashes on one at the beginning of a block, and takes any other for a record without a key."""
    file = tmp_path / "f.jsonl"
    file.write_text('null\n{"id": "a"}\nnull\n{"id": null}\n')
    rejected = RejectedRows()
    assert rows(str(file), rejected=rejected)["key"].to_pylist() == ["a", None]
    assert rejected.count == 2


def test_parquet_cannot_come_through_a_pipe(monkeypatch):
    out, into = os.pipe()
    os.write(into, b"PAR1")
    os.close(into)
    with io.TextIOWrapper(os.fdopen(out, "rb")) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        with pytest.raises(click.ClickException, match="standard input: Parquet is read from its end"):
            rows("-", file_format="parquet")


def test_one_column_is_not_two(tmp_path):
    with pytest.raises(click.ClickException, match="Each of key, records needs a column"):
        rows(write(tmp_path / "f.csv", ["a"], [1]), {"key": "id", "records": "id"})


def test_standard_input_is_read_in_the_given_format(monkeypatch):
    out, into = os.pipe()
    os.write(into, b"id\na\nb\n")
    os.close(into)
    with io.TextIOWrapper(os.fdopen(out, "rb")) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert rows("-", file_format="csv")["key"].to_pylist() == ["a", "b"]


def test_a_terminal_gets_a_progress_bar(tmp_path):
    written = [write(tmp_path / f"f.{suffix}", ["a", "b"], [1, 2]) for suffix in ("csv", "jsonl", "parquet")]
    terminal, end = pty.openpty()
    program = f"from service.cli.keys import files; [list(files.read(file, {{'key': 'id'}})) for file in {written!r}]"
    subprocess.run([sys.executable, "-c", program], stderr=end, check=True, env={**os.environ, "TERM": "xterm"})
    os.close(end)
    shown = b""
    with suppress(OSError):  # once all is read
        while part := os.read(terminal, 10_000):
            shown += part
    for suffix in ("csv", "jsonl", "parquet"):
        _, found, rest = shown.decode().rpartition(f"f.{suffix}")
        assert found
        assert "100%" in rest.partition("f.")[0]


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_a_file_is_read_batch_by_batch(suffix, tmp_path, monkeypatch):
    monkeypatch.setattr(reader, "BLOCK", 1000)
    monkeypatch.setattr(reader, "ROWS", 100)
    keys = [f"key-{i}" for i in range(1000)]
    batches = list(files.read(write(tmp_path / f"f.{suffix}", keys, range(1000)), {"key": "id"}))
    assert max(map(len, batches)) < len(keys) / 5
    assert pa.Table.from_batches(batches)["key"].to_pylist() == keys


def test_a_file_without_rows_is_refused_by_every_command(tmp_path):
    for suffix in ("csv", "parquet"):
        file = write(tmp_path / f"f.{suffix}", [], [])
        for command in (
            ("plan", "--partitions", "3"),
            ("compare", "--partitions", "3"),
            ("fingerprint", "--partition-column", "n"),
        ):
            for into in ((), ("--into", str(tmp_path / "results"))):
                done = CliRunner().invoke(main, [command[0], file, "--key-column", "id", *command[1:], *into])
                assert (done.exit_code, done.stderr) == (2, f"Error: {file}: There are no records.\n")
