"""Columns whose names have characters that mean something to Spark: a dot, a backquote, a space."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from pyarrow import csv

from service.cli import main
from service.pipeline.files.types import integers
from service.pipeline.spark import load as load_job
from service.pipeline.spark.io.columns import integer
from service.pipeline.spark.io.reading import read
from service.pipeline.spark.io.sources import Source

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from service.pipeline.spark.io.sinks import Pipeline

NAMES = {"key": "record.key", "topic": "a`b", "partition": "topic partition", "timestamp": "ts.ms`", "bytes": "value.size.bytes"}
ROWS = pa.table(
    {
        NAMES["key"]: ["a", "b", "a", None],
        NAMES["topic"]: ["t"] * 4,
        NAMES["partition"]: [0, 1, 0, -1],
        NAMES["timestamp"]: [0, 1000, 2000, 3000],
        NAMES["bytes"]: [1, 2, 3, 4],
        "record": ["not the key"] * 4,
    }
)


@pytest.fixture
def source(request: pytest.FixtureRequest, tmp_path: Path) -> list[str]:
    """The rows in a file, as arguments."""
    kind = request.param
    path = tmp_path / f"rows.{kind.partition(' ')[0]}"
    if kind == "csv":
        csv.write_csv(ROWS, path)
    elif kind.startswith("parquet"):
        pq.write_table(ROWS, path)
    else:
        path.write_bytes(b"".join(json.dumps(row).encode() + b"\n" for row in ROWS.to_pylist()))
        if kind != "jsonl":
            path.write_bytes(path.read_bytes() + b"\xff\n")
    return [str(path), *(("--read-option", "mergeSchema=false") if kind == "parquet by Spark" else ())]


def summary_of(job: str, source: list[str], into: Path, **columns: str) -> dict:
    options = [part for name, column in columns.items() for part in (f"--{name}-column", column)]
    done = CliRunner().invoke(main, ["pipeline", job, *source, *options, "--into", str(into)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    summary: dict = json.loads((into / "summary.json").read_text())
    return summary


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("source", ["csv", "parquet"], indirect=True)
def test_any_name_is_the_name_of_a_key(source: list[str], tmp_path: Path) -> None:
    """In scans, which have one way through text by Spark and one through files that tasks read."""
    skew = summary_of("skew", source, tmp_path / "skew", key=NAMES["key"], bytes=NAMES["bytes"])
    assert (skew["records"], [key["key"] for key in skew["hottest_keys"]]) == (3, ["a", "b"])
    assert skew["bytes"] == 6  # digits in CSV are a size
    mismatch = summary_of("mismatch", source, tmp_path / "mismatch", key=NAMES["key"], partition=NAMES["partition"])
    assert (mismatch["records"], mismatch["rejected"]["no partition below 2"]) == (3, 1)


OF_LOAD = {name: NAMES[name] for name in ("topic", "partition", "bytes")}


def without_partition(rejected: Path) -> dict[str, Any]:
    """The rejected row that has none."""
    rows = pq.read_table(rejected).to_pylist()
    (record,) = (json.loads(row["record"]) for row in rows if row["reason"] == "no partition")
    return record


@pytest.mark.slow
@pytest.mark.parametrize("source", ["jsonl", "jsonl with faults", "parquet", "parquet by Spark"], indirect=True)
def test_any_name_is_a_name_to_every_reader(source: list[str], pipeline: Pipeline, tmp_path: Path) -> None:
    """What a job does with the names after it has read them is the same for all."""
    path, *options = source
    columns = {f"{name}_column": column for name, column in OF_LOAD.items() if name != "bytes"}
    partitions, _, _, rejected = load_job._measured(
        pipeline, Source.parse(path, dict(option.split("=") for option in options[1:])), {},
        **columns, size_columns=(OF_LOAD["bytes"],), time_column=NAMES["timestamp"], topic=None, window_seconds=60,
        duration_seconds=None, time_zone="UTC",
    )  # fmt: skip
    assert sorted((row.partition, row.records, row.bytes) for row in partitions.collect()) == [(0, 2, 4), (1, 1, 2)]
    assert rejected["no partition"] == 1
    record = without_partition(tmp_path / "results" / "quarantine.parquet")
    assert record.keys() == {name for name in ROWS.column_names if name not in (NAMES["key"], "record")}


@pytest.mark.parametrize("kind", [pa.string(), pa.float64(), pa.int64()])
def test_an_integer_is_the_same_to_spark(spark: SparkSession, tmp_path: Path, kind: pa.DataType) -> None:
    texts = ["0", "1.0", " 2 ", "+3", "-4.", "1.5", "x", "", "1e3", str(10**18)]
    values: list[Any] = {pa.float64(): [0.0, 1.0, 1.5, -2.0, float("nan"), 1e300, None], pa.int64(): [0, -1, None]}.get(
        kind, texts
    )
    column = pa.array(values, kind)
    path = tmp_path / "values.parquet"
    pq.write_table(pa.table({"a.b`c": column}), path)
    frame = read(spark, Source.parse(str(path)))
    read_by_spark = frame.select(integer(frame, "a.b`c")).toArrow().column(0).to_pylist()
    assert read_by_spark == integers(column).to_pylist()
    expected = {pa.float64(): [0, 1, None, -2, None, None, None], pa.int64(): [0, -1, None]}
    assert read_by_spark == expected.get(kind, [0, 1, 2, 3, -4, *[None] * 5])


@pytest.mark.slow
def test_timestamps_of_nanoseconds_are_exact_whatever_their_column_is_called(spark: SparkSession, tmp_path: Path) -> None:
    nanos = [1_763_900_000_000_000_000 + 1000 * i for i in range(100)]
    path = tmp_path / "times.parquet"
    pq.write_table(pa.table({"a.b`c": pa.array(nanos, pa.timestamp("ns", "UTC"))}), path)
    times = read(spark, Source.parse(str(path))).toArrow().column(0).cast(pa.int64()).to_pylist()
    assert times == [nano // 1000 for nano in nanos]
