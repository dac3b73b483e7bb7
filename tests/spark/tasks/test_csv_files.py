"""Plain CSV: what tasks read themselves is what Spark would read, and everything else is left to Spark."""

from __future__ import annotations

import random
import re

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from service.cli import main
from service.spark.cluster.executors import Executors, Processes
from service.spark.io import plain_files, reading
from service.spark.io.scan import ScanSource
from service.spark.io.sources import CORRUPT, Source
from service.spark.tasks import csv_files
from service.spark.tasks.splits import UnreadableFile

PIECES = [
    "a",
    "B7",
    " ",
    "\t",
    '"',
    '""',
    "'",
    "\\",
    "#",
    ",",
    ",",
    ";",
    "é",
    "\u2028",
    "\ufeff",
    "\x01",
    "NULL",
    "nan",
    "-0",
    "🎏",
]


def is_plain(text: bytes, separator: str, columns: int) -> bool:
    """What has_plain_lines says, with a regular expression."""
    field = rf'(?:"(?:[^"\r\n]|"")*"|[^"\r\n{re.escape(separator)}]*)'
    record = re.compile(rf"{field}(?:{re.escape(separator)}{field}){{{columns - 1}}}")
    *lines, last = re.split("\r?\n", text.decode())
    begins_blank = any(line[:1] and line[0] <= " " for line in (*lines, last))
    return "\0" not in text.decode() and not begins_blank and all(line == "" or record.fullmatch(line) for line in (*lines, last))


@given(st.lists(st.sampled_from([*PIECES, "\n", "\r\n", "\r", "\0"]), max_size=12), st.sampled_from(",;\t "), st.integers(1, 3))
def test_plain_lines_are_those_of_the_grammar(pieces, separator, columns):
    text = "".join(pieces).encode()
    data = np.frombuffer(text, np.uint8)
    assert csv_files.has_plain_lines(data, csv_files._kinds(separator), columns) == is_plain(text, separator, columns)


def lines_of(separator: str, columns: int) -> list[str]:
    """Random plain lines, many of them odd."""
    draw = random.Random(separator)
    drawn = ("".join(draw.choices([*PIECES, separator, separator, ""], k=draw.randrange(12))) for _ in range(20_000))
    return [line for line in drawn if is_plain(line.encode(), separator, columns)]


@pytest.mark.slow
@pytest.mark.parametrize(("separator", "end", "columns"), [(",", "\n", 3), (";", "\r\n", 2), ("\t", "\n", 2), (",", "\n", 1)])
def test_what_tasks_read_is_what_spark_reads(spark, write, separator, end, columns):
    names = ["key", "a b", 'q"é'][:columns]
    header = separator.join(f'"{name.replace(chr(34), 2 * chr(34))}"' for name in names)
    lines = lines_of(separator, columns)
    assert len(lines) > 1000
    lines += [header, "", header]  # which is a record wherever it is not the first line
    source = Source.parse(write("records.csv", end.join([header, *lines])), {"sep": separator})
    by_spark = reading.read(spark, source)
    table = by_spark.toArrow()
    corrupt = [row for row in table.to_pylist() if row[CORRUPT] is not None]
    assert not corrupt
    file = plain_files.csv_file(source)
    assert file.schema() == pa.schema({name: pa.string() for name in by_spark.columns if name != CORRUPT})
    rows = pa.Table.from_batches(file.batches(names)).to_pylist()
    assert rows == table.drop_columns(CORRUPT).to_pylist()
    assert {None, "NULL"} < {row["key"] for row in rows}


@pytest.mark.parametrize("block_bytes", [1, 7, csv_files.BLOCK_BYTES])
def test_a_line_is_read_by_one_split_alone(write, monkeypatch, block_bytes):
    """However small splits and blocks are, and whatever a line's length is."""
    monkeypatch.setattr(csv_files, "BLOCK_BYTES", block_bytes)
    values = ["x" * (i * i % 23) or None for i in range(200)]
    for end in ("\n", ""):
        text = "key,n\n" + "\n".join(f"{value or ''},{i}" for i, value in enumerate(values)) + end
        file = plain_files.csv_file(Source.parse(write("records.csv", text)))
        for tasks in (1, 3, 50, len(text)):
            lists = file.splits(tasks)
            assert checked(file, lists)
            rows = [row for task in lists for batch in file.few_rows_of(task, ["n", "key"], 3) for row in batch.to_pylist()]
            assert rows == [{"n": str(i), "key": value} for i, value in enumerate(values)]
        assert [row["n"] for batch in file.having(["n"], "n", ["3", "199", "x"]) for row in batch.to_pylist()] == ["3", "199"]


def checked(file, lists):
    """Whether tasks find all splits plain."""
    numbers = pa.record_batch([list(range(len(lists)))], ["number"])
    (batch,) = csv_files.PlainCheck(file, lists)(iter([numbers]))
    return all(batch["plain"].to_pylist())


@pytest.mark.parametrize(
    "text",
    [
        b"", b"\n", b"\nkey\n", b"key,key\na,b\n", b"key,KEY\na,b\n", b"key,\na,b\n", b"\xef\xbb\xbfkey\na\n", b"k\xe9y\na\n",
        b"_corrupt_record\na\n", b" key\na\n", b"key\na\rb\n", b"key\n\0\n", b'key\n"a\n', b'key\n"a\nb"\n', b'key\n"a"b\n',
        b'key\na"b\n', b"key\na,b\n", b"key,b\na\n", b"key\n\xc3\n", b"key\n \n", b"key,b\na,b\nc\n", b'ke"y\na\n',
    ],
)  # fmt: skip
def test_what_is_not_plain_is_left_to_spark(tmp_path, text):
    path = tmp_path / "records.csv"
    path.write_bytes(text)
    file = plain_files.csv_file(Source.parse(str(path)))
    assert file is None or not checked(file, file.splits(1))


def test_a_line_of_any_length_takes_bounded_memory(write, monkeypatch):
    monkeypatch.setattr(csv_files, "LONGEST_LINE", 100)
    path = write("records.csv", "key\n" + "x" * 300)
    file = plain_files.csv_file(Source.parse(path))
    monkeypatch.setattr(csv_files, "BLOCK_BYTES", 10)
    assert not checked(file, file.splits(1))
    with pytest.raises(UnreadableFile, match=r"records\.csv cannot be read as CSV: a line is too long"):
        list(file.batches(["key"]))


def test_other_files_and_options_are_sparks(write, tmp_path):
    text = "key\na\n"
    assert plain_files.csv_file(Source.parse("csv:" + write("records.csv", text))) is not None
    for name in ("records.csv.gz", "_records.csv", ".records.csv", "records[1].csv"):
        assert plain_files.csv_file(Source.parse("csv:" + write(name, text))) is None, name
    path = str(tmp_path / "records.csv")
    assert plain_files.csv_file(Source.parse("csv:" + str(tmp_path))) is None
    assert plain_files.csv_file(Source.parse("file://" + path)) is not None
    for options in ({"header": "false"}, {"sep": "||"}, {"sep": '"'}, {"sep": "é"}, {"sep": ","} | {"encoding": "UTF-16"}):
        assert plain_files.csv_file(Source.parse(path, options)) is None, options


def test_a_file_that_changes_after_the_check_is_named(write):
    path = write("records.csv", "key,b\na,b\n")
    file = plain_files.csv_file(Source.parse(path))
    write("records.csv", "key,b\na\nb\n")
    with pytest.raises(UnreadableFile, match=r"records\.csv cannot be read as CSV: .*Expected 2 columns, got 1"):
        list(file.batches(["key"]))


@pytest.mark.usefixtures("without_spark")
def test_spark_starts_only_for_csv_that_is_not_plain(write, tmp_path):
    """The command as a user has it."""
    path = write("records.csv", 'key,n\n"a,",1\n,2\n' + "b,3\n" * 50_000)
    command = ["pipeline", "skew", path, "--partitions-counts", "3", "--into", str(tmp_path / "out")]
    done = CliRunner().invoke(main, command, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    write("records.csv", 'key,n\n"a,",1\n,2\n' + "b,3\n" * 50_000 + "b,3,4\n")
    with pytest.raises(AssertionError, match="Spark starts"):
        CliRunner().invoke(main, command, catch_exceptions=False)


def test_any_task_can_find_a_line_that_is_not_plain(write):
    path = write("records.csv", "key\n" + "a\n" * 1000 + 'a"\n')
    executors = Executors(lambda: pytest.fail("Spark starts"), Processes(2))
    assert ScanSource.of(executors, Source.parse(path, {"sep": ";"}), ["key"]).files is None
