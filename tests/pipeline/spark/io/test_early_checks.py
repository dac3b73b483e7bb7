"""A wrong path, an empty file and a missing column are refused before Spark starts."""

from __future__ import annotations

import gzip

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from service.cli import main
from service.pipeline.spark.errors import WrongSource
from service.pipeline.spark.io import sources
from service.pipeline.spark.io.sources import Source
from service.pipeline.spark.tasks.parquet_files import UnreadableParquet


def checked(location, *columns: str) -> None:
    sources.check(Source.parse(str(location)), columns)


def test_paths_that_hold_the_columns_pass(tmp_path):
    (tmp_path / "a.csv").write_text("\ufeffkey,partition\n1,2\n")
    (tmp_path / "b.tsv").write_text("key\tpartition\n")
    (tmp_path / "c.jsonl").write_text('{"key": "a"}\n{"key": "b", "partition": 1}\njunk\n')
    with gzip.open(tmp_path / "d.csv.gz", "wt") as file:
        file.write("key,partition\n")
    (tmp_path / "e" / "partition=7").mkdir(parents=True)
    pq.write_table(pa.table({"key": ["a"]}), tmp_path / "e" / "partition=7" / "0.parquet")
    for name in ("a.csv", "b.tsv", "c.jsonl", "d.csv.gz", "e"):
        checked(tmp_path / name, "key", "partition")
    for elsewhere in ("s3a://bucket/a.parquet", str(tmp_path / "*.csv"), "table:a.b", "kafka://host/topic"):
        checked(elsewhere, "anything")


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("gone.parquet", None, "gone.parquet does not exist"),
        ("empty.csv", "", "empty.csv is empty"),
        ("a.csv", "kee,n\n", r"has no column 'key' \(did you mean 'kee'\?\); it has kee, n"),
        ("a.parquet", "junk", "a.parquet cannot be read as Parquet"),
        ("a.jsonl", "junk\n", "has no record that is readable as JSON"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path, name, content, text):
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises((WrongSource, UnreadableParquet), match=text):
        checked(tmp_path / name, "key")


@pytest.mark.usefixtures("without_spark")
def test_the_command_ends_before_spark_starts(tmp_path):
    (tmp_path / "a.csv").write_text("id,n\n1,2\n")
    for job in ("skew", "mismatch", "load"):
        done = CliRunner().invoke(main, ["pipeline", job, str(tmp_path / "a.csv"), "--into", str(tmp_path / "out")])
        assert (done.exit_code, done.output.count("\n")) == (2, 1), done.output
        assert "has no column" in done.output


def test_a_cluster_reads_paths_of_its_own(monkeypatch):
    assert sources.is_here(None, {})
    assert sources.is_here("local[2]", {})
    assert not sources.is_here("spark://host:7077", {})
    assert not sources.is_here(None, {"spark.hadoop.fs.defaultFS": "hdfs://host"})
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    assert not sources.is_here(None, {})


def test_small_files_are_those_that_spark_has_little_to_do_with(tmp_path):
    """Then Spark's queries are interpreted: nothing else changes."""
    folder = tmp_path / "records"
    (folder / "day=1").mkdir(parents=True)
    (folder / "day=1" / "a.csv").write_bytes(b"x" * 1000)
    assert sources.bytes_here(Source.parse(f"csv:{folder}")) <= 1000
    (folder / "b.csv.gz").write_bytes(b"x")
    assert sources.bytes_here(Source.parse(f"csv:{folder}")) > 1000
    assert sources.bytes_here(Source.parse(str(folder / "b.csv.gz"))) <= 1000
    for elsewhere in ("keys:1", "kafka://broker/topic", "table:t", "s3a://bucket/t.csv", f"{folder}/*.csv"):
        assert sources.bytes_here(Source.parse(elsewhere)) > 1000
