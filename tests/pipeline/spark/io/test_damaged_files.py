"""Files that are damaged: one line with the file and the fault, whoever reads it."""

from __future__ import annotations

import gzip

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from service.cli import main
from service.pipeline.spark.cluster.jvm import NO_FILE
from service.pipeline.spark.errors import WrongSource
from service.pipeline.spark.io.reading import read
from service.pipeline.spark.io.sources import Source
from service.pipeline.spark.tasks.parquet_files import ParquetFiles, UnreadableParquet

RECORDS = pa.table({"key": [f"key-{i * 7919 % 10_007}" for i in range(9000)], "partition": [i % 3 for i in range(9000)]})
SPARK = ("--read-option", "mergeSchema=false")
"""With an option of its reader, Spark reads the Parquet."""


def damaged(path, how):
    """Write a file of three row groups, and damage it."""
    pq.write_table(RECORDS, path, compression="snappy", row_group_size=3000)
    data = bytearray(path.read_bytes())
    page = pq.ParquetFile(path).metadata.row_group(2).column(0).dictionary_page_offset
    if how == "truncated":
        del data[len(data) // 2 :]
    elif how == "magic":
        data[-4:] = b"PARX"
    elif how == "empty":
        data.clear()
    elif how == "header":
        data[page : page + 20] = b"\xff" * 20
    else:
        data[page + 60 : page + 2060] = bytes(2000)
    path.write_bytes(data)


FAULTS = {
    "truncated": ("Parquet magic bytes not found in footer", "is not a Parquet file. Expected magic number at tail"),
    "magic": ("Parquet magic bytes not found in footer", "is not a Parquet file. Expected magic number at tail"),
    "empty": ("Parquet file size is 0 bytes", "is not a Parquet file (length is too low: 0)"),
    "header": ("Deserializing page header failed", "TProtocolException: don't know what type: 15"),
    "page": ("Corrupt snappy compressed data", "FAILED_TO_UNCOMPRESS"),
}


@pytest.mark.parametrize("how", FAULTS)
def test_a_damaged_file_is_named_with_its_fault(tmp_path, how):
    path = tmp_path / "records.parquet"
    damaged(path, how)
    with pytest.raises(UnreadableParquet) as refused:
        list(ParquetFiles([(str(path), path.stat().st_size)]).batches(["key"]))
    assert str(refused.value).startswith(f"{path} cannot be read as Parquet: ")
    assert FAULTS[how][0] in str(refused.value)
    assert str(refused.value).isprintable()


def test_another_key_in_place_of_one_is_noticed_by_the_checksum(tmp_path):
    """The page is readable, but a bit of it has changed."""
    path = tmp_path / "records.parquet"
    pq.write_table(RECORDS, path, compression="none", use_dictionary=False, write_page_checksum=True)
    path.write_bytes(path.read_bytes().replace(b"key-7919", b"key-7918", 1))
    with pytest.raises(UnreadableParquet, match=r"records\.parquet cannot be read as Parquet: .*CRC"):
        list(ParquetFiles([(str(path), path.stat().st_size)]).batches(["key"]))


def test_a_file_that_cannot_be_opened_is_named(tmp_path):
    with pytest.raises(UnreadableParquet, match=r"gone\.parquet cannot be read as Parquet: .*No such file"):
        ParquetFiles([(str(tmp_path / "gone.parquet"), 0)]).schema()


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    ("how", "place", "reader"),
    [
        ("empty", "first", "pyarrow"),
        ("truncated", "second", "pyarrow"),
        ("header", "second", "pyarrow"),
        ("magic", "first", "spark"),
        ("page", "second", "spark"),
    ],
)
def test_a_job_ends_with_the_file_and_the_fault(tmp_path, how, place, reader):
    """The first file is read by the driver, the second only by executors."""
    folder = tmp_path / "records"
    folder.mkdir()
    bad, good = ("a.parquet", "b.parquet") if place == "first" else ("b.parquet", "a.parquet")
    damaged(folder / bad, how)
    pq.write_table(RECORDS, folder / good)
    options = SPARK if reader == "spark" else ()
    complaint = refused(["skew", str(folder), "--partitions", "3", "--into", str(tmp_path / "out"), *options])
    assert bad in complaint
    assert FAULTS[how][reader == "spark"] in complaint
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_other_files_and_jobs_name_the_file_too(tmp_path):
    text = gzip.compress(b"key,partition\n" + b"a,1\n" * 100_000)
    (tmp_path / "records.csv.gz").write_bytes(text[: len(text) // 2])
    damaged(tmp_path / "groups.parquet", "truncated")
    into = ["--into", str(tmp_path / "out")]
    assert "records.csv.gz: java.io.EOFException" in refused(["skew", str(tmp_path / "records.csv.gz"), *into])
    for job in ("fleet", "offsets", "load"):
        assert "groups.parquet cannot be read as Parquet" in refused([job, str(tmp_path / "groups.parquet"), *into])


def refused(command):
    """What the command says: a line."""
    done = CliRunner().invoke(main, ["pipeline", *command])
    assert done.exit_code == 2
    assert isinstance(done.exception, SystemExit), done.exception
    assert done.output.startswith("Error: ")
    assert done.output.count("\n") == 1
    return done.output


@pytest.mark.parametrize("name", ["a[1.csv", "a{.csv", "a[1].csv", "none*.csv"])
def test_a_path_that_is_a_pattern_by_accident_is_explained(spark, tmp_path, name):
    """And a backslash before the character makes it part of the name."""
    (tmp_path / "a[1].csv").write_text("key\na\n")
    with pytest.raises(WrongSource) as refused:
        read(spark, Source.parse(str(tmp_path / name)))
    assert str(refused.value) == f"{tmp_path / name}: {NO_FILE}"
    assert read(spark, Source.parse(str(tmp_path / r"a\[1\].csv"))).count() == 1
