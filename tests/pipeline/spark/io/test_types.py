"""One file has one answer: by the tasks' own reader, by Spark's, and by ``plan``."""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from service.core.errors import InvalidQuestion
from service.core.keys.columns import SERIALIZED
from service.pipeline.analyses import results
from service.pipeline.analyses.skew.scan import SkewScan
from service.pipeline.files.key_columns import check_format, joined, read_keys
from service.pipeline.files.types import java_text, text_of
from service.pipeline.spark.cluster.jvm import failure
from service.pipeline.spark.cluster.progress import progress
from service.pipeline.spark.cluster.session import tasks_of
from service.pipeline.spark.errors import WrongSource
from service.pipeline.spark.io import reading
from service.pipeline.spark.io.scan import ScanSource
from service.pipeline.spark.io.sinks import Pipeline, Sink
from service.pipeline.spark.io.sources import Source
from tests.pipeline.spark.io.test_quotes import keys_of_csv

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


NOON = dt.datetime(2026, 1, 16, 12, tzinfo=dt.UTC).replace(tzinfo=None)
TIMES = [NOON, NOON.replace(microsecond=120_000), None, NOON.replace(year=1969, microsecond=1000)]
COLUMNS = {
    "u8": pa.array([0, 255, None, 7], pa.uint8()),
    "u16": pa.array([0, 65_535, None, 7], pa.uint16()),
    "u32": pa.array([0, 2**32 - 1, None, 7], pa.uint32()),
    "u64": pa.array([0, 2**64 - 1, None, 7], pa.uint64()),
    "i8": pa.array([-1, 127, None, 7], pa.int8()),
    "i64": pa.array([-1, 2**62, None, 7]),
    "number": pa.array([Decimal(0), Decimal(10**20), None, Decimal(7)], pa.decimal128(38, 0)),
    "price": pa.array([Decimal("0.00"), Decimal("12.50"), None, Decimal("-7.10")], pa.decimal128(9, 2)),
    "single": pa.array([0.1, 253.0, None, 1e10], pa.float32()),
    "double": pa.array([0.1, 253.0, None, 1e-5]),
    "flag": pa.array([True, False, None, True]),
    "day": pa.array([NOON.date(), dt.date(1969, 12, 31), None, NOON.date()]),
    "ms": pa.array(TIMES, pa.timestamp("ms")),
    "us": pa.array(TIMES, pa.timestamp("us", "UTC")),
    "berlin": pa.array(TIMES, pa.timestamp("us", "Europe/Berlin")),
    "text": pa.array(["a", "b", None, "é"]),
    "word": pa.array(["a", "b", None, "a"]).dictionary_encode(),
    "user": pa.array([{"id": 1}, {"id": 2}, None, {"id": None}]),
}
DIRECT = ("u8", "u16", "u32", "i8", "i64", "single", "double", "flag", "text", "word", "user.id")


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> Path:
    found = tmp_path_factory.mktemp("types") / "keys.parquet"
    pq.write_table(pa.table({"tenant": ["t"] * 4, **COLUMNS}), found)
    return found


def keys_of(table: pa.Table, columns: tuple[str, ...], key_format: str | None) -> Counter[bytes]:
    """The serialized keys of a table and their records, as a scan has them."""
    kind = pa.string() if len(columns) > 1 else table.schema.field(columns[0]).type
    scan = SkewScan(columns, check_format(kind, key_format), ("java",), (3,))
    (rows,) = scan.of_batches(iter(table.select(columns).to_batches()))
    assert rows.column("rejected").to_pylist() == [0]
    sample = results.merged(rows.column("partial").to_pylist()).sample
    return Counter({key: int(weights[0]) for key, weights in sample.weights.items()})


def _pipeline(spark: SparkSession, path: Path) -> Pipeline:
    """That of a whole module, whose results nobody writes."""
    return Pipeline(spark, Sink(spark, str(path.parent)), partial(progress, spark))


@pytest.fixture(scope="module")
def by_tasks(spark: SparkSession, path: Path) -> pa.Table:
    """Every column as tasks read it themselves."""
    source = ScanSource.of(_pipeline(spark, path), Source.parse(str(path)), ("tenant", *COLUMNS, "user.id"))
    assert source.files is not None
    return source.table()


@pytest.fixture(scope="module")
def by_spark(spark: SparkSession, path: Path) -> pa.Table:
    """Every column as Spark gives it to tasks."""
    by_option = Source.parse(str(path), {"mergeSchema": "false"})
    source = ScanSource.of(_pipeline(spark, path), by_option, ("tenant", *COLUMNS, "user.id"))
    assert source.files is None
    return tasks_of(source.frame, lambda batches: batches, 1).rows(source.schema).toArrow()


@pytest.mark.parametrize("key_format", [None, "string"])
def test_both_readers_and_plan_serialize_every_type_alike(by_tasks, by_spark, path, key_format):
    texts = ("text", "word", "user", "user.id")
    names = DIRECT if key_format is None else [name for name in (*COLUMNS, "user.id") if name not in texts]
    table = pq.read_table(path)
    for name in names:
        keys = keys_of(by_tasks, (name,), key_format)
        assert keys == keys_of(by_spark, (name,), key_format), name
        if "." not in name:
            column = table[name].combine_chunks()
            own = check_format(column.type, key_format)
            read, bad = read_keys(column, own)
            serialized = SERIALIZED.run(read, own)
            texts = [serialized.data[start:end].tobytes() for start, end in pairwise(serialized.offsets.tolist())]
            present = column.is_valid().to_pylist()
            assert keys == Counter(text for text, is_present in zip(texts, present, strict=True) if is_present), name
            assert bad is None


def test_both_readers_join_every_type_alike(by_tasks, by_spark, path):
    flat = tuple(name for name in ("tenant", *COLUMNS) if name != "user")
    for columns in (("tenant", "user.id"), flat):
        keys = keys_of(by_tasks, columns, None)
        assert keys == keys_of(by_spark, columns, None), columns
    local = joined([pq.read_table(path)[column].combine_chunks() for column in flat], "-")
    assert keys == Counter(text.encode() for text in local.to_pylist() if text is not None)
    assert len(keys) == 3


def test_the_text_of_a_value_is_that_of_sparks_cast(spark, path):
    frame = spark.read.parquet(str(path))
    for name in COLUMNS:
        if name not in ("user", "text", "word"):
            expected = [row[0] for row in frame.selectExpr(f"cast({name} as string)").collect()]
            assert text_of(pq.read_table(path)[name].combine_chunks()).to_pylist() == expected, name


def test_floats_are_written_as_java_writes_them(spark):
    random = np.random.default_rng(1)
    values = [*(10.0 ** random.uniform(-12, 12, 300) * random.choice([-1, 1], 300)), 0.0, -0.0, 1e7, 9_999_999.0, 1e-3, 9.99e-4]
    rows = spark.createDataFrame([(float(value),) for value in values], "x double").selectExpr("cast(x as string)").collect()
    assert text_of(pa.array(values)).to_pylist() == [row[0] for row in rows]
    assert [java_text(text) for text in ("nan", "inf", "-inf")] == ["NaN", "Infinity", "-Infinity"]


def test_a_decimal_is_a_long_or_a_text_and_a_date_a_text():
    assert check_format(pa.decimal128(38, 0), "long") == "long"
    for kind in (pa.decimal128(38, 0), pa.date32(), pa.timestamp("us")):
        with pytest.raises(InvalidQuestion, match="--key-format string takes its text"):
            check_format(kind, None)


def test_files_whose_types_differ_are_refused(pipeline, tmp_path):
    for name, kind in (("a", pa.int32()), ("b", pa.int64())):
        pq.write_table(pa.table({"key": pa.array([1, 2], kind)}), tmp_path / f"{name}.parquet")
    source = ScanSource.of(pipeline, Source.parse(str(tmp_path)), ("key",))
    with pytest.raises(Exception, match=r"b\.parquet has the column 'key' as int64, the first file .*a\.parquet as int32"):
        source.scan(SkewScan(("key",), "int", ("java",), (3,)), "scanning")


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, newline="")
    return path


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.csv", 'key,n\na,1\n"c\nd",1\nb,2\ne,"two\nlines"\na,3\n', {"a": 2, "b": 1, "c\nd": 1, "e": 1}),
        ("a.csv", 'key,n\r\n"c\r\nd",1\r\nb,2\r\n', {"c\r\nd": 1, "b": 1}),
        ("a.csv", 'n,key\r\n1,"c\r\nd"\r\n2,b\r\n', {"c\r\nd": 1, "b": 1}),
        ("a.tsv", 'n\tkey\n1\t"c\n\nd"\n2\tb\n', {"c\n\nd": 1, "b": 1}),
        ("a.csv", '"the\nkey",n\na,1\n"say ""x""",1\n', {"a": 1, 'say "x"': 1}),
    ],
)
def test_line_breaks_in_quotes_are_read(pipeline, tmp_path, name, text, expected):
    path = written(tmp_path / name, text)
    key = "the\nkey" if "the" in text else "key"
    source = ScanSource.of(pipeline, Source.parse(str(path)), (key,))
    result, rejected = source.scan(SkewScan((key,), "string", ("java",), (3,), corrupt=source.corrupt), "scanning")
    assert rejected == {}
    assert {k.decode(): int(w[0]) for k, w in result.sample.weights.items()} == expected


@pytest.mark.parametrize("form", ["parquet", "csv", "json"])
def test_names_of_folders_are_text(pipeline, tmp_path, form):
    """Escaped as Hive and Spark do, a byte for a character; without a key where Hive has a null."""
    texts = {name: name for name in ("007", "7", "2026-01-01", "true", "1e3", "東京", "日本", "50%", "a+b")}
    texts |= {"K%C3%B6ln": "KÃ¶ln", "a%20b": "a b", "a%2Fb": "a/b", "x%3Dy": "x=y", "__HIVE_DEFAULT_PARTITION__": None}
    for name in texts:
        folder = tmp_path / "t" / f"code={name}"
        folder.mkdir(parents=True)
        if form == "parquet":
            pq.write_table(pa.table({"n": [1, 2]}), folder / "a.parquet")
        else:
            written(folder / f"a.{form}", "n\n1\n2\n" if form == "csv" else "".join(json.dumps({"n": n}) + "\n" for n in (1, 2)))
    source = ScanSource.of(pipeline, Source.parse(f"{form}:{tmp_path}/t"), ("code",))
    scan = SkewScan(("code",), check_format(source.schema.field("code").type, None), ("java",), (3,), corrupt=source.corrupt)
    result, rejected = source.scan(scan, "scanning")
    assert rejected == {}
    keys = {text: 2 for text in texts.values() if text is not None}
    assert {k.decode(): int(w[0]) for k, w in result.sample.weights.items()} == keys
    assert result.counts.keyless[0] == 2


@pytest.mark.parametrize("form", ["parquet", "csv", "json"])
def test_files_in_folders_without_values_are_read(pipeline, tmp_path, form):
    """Spark would leave them out."""
    for name in ("a", "2026/b", "2026/11/c"):
        target = tmp_path / "t" / f"{name}.{form}"
        if form == "parquet":
            target.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(pa.table({"key": [name]}), target)
        else:
            written(target, f"key\n{name}\n" if form == "csv" else json.dumps({"key": name}) + "\n")
    source = ScanSource.of(pipeline, Source.parse(f"{form}:{tmp_path}/t"), ("key",))
    result, rejected = source.scan(SkewScan(("key",), "string", ("java",), (3,), corrupt=source.corrupt), "scanning")
    assert (sorted(result.sample.weights), rejected) == ([b"2026/11/c", b"2026/b", b"a"], {})


def test_records_are_chosen_and_their_columns_computed(pipeline, path):
    source = Source("parquet", str(path), where="i64 > 0", select=("concat('u-', i64) key",))
    chosen = ScanSource.of(pipeline, source, ("key",))
    result, _ = chosen.scan(SkewScan(("key",), "string", ("java",), (3,)), "scanning")
    assert result.sample.weights.keys() == {b"u-7", f"u-{2**62}".encode()}
    with pytest.raises(WrongSource, match=r"--where or --select: .*`nope` cannot be resolved"):
        ScanSource.of(pipeline, Source("parquet", str(path), where="nope > 1"), ("key",)).schema  # noqa: B018


def test_a_member_of_a_column_is_a_column(pipeline, tmp_path):
    written(tmp_path / "a.jsonl", '{"user": {"id": "u1"}, "a.b": "x"}\n{"user": null, "a.b": "y"}\n')
    source = Source.parse(str(tmp_path / "a.jsonl"))
    for name, expected in (("user.id", {b"u1"}), ("a.b", {b"x", b"y"})):
        of = ScanSource.of(pipeline, source, (name,))
        result, _ = of.scan(SkewScan((name,), "string", ("java",), (3,), corrupt=of.corrupt), "scanning")
        assert result.sample.weights.keys() == expected


def test_tasks_are_as_many_as_the_bytes_ask_for(pipeline, path):
    source = ScanSource.of(pipeline, Source.parse(str(path)), ("text",))
    large = replace(source, files=type(source.files)([(str(path), 100 * 2**30)]))
    assert len(large._reader(SkewScan(("text",), "string", ("java",), (3,))).tasks) == 200


def keys_of_json(pipeline: Pipeline, path: Path, **options: str) -> Counter[bytes]:
    source = ScanSource.of(pipeline, Source.parse(str(path), options), ("key",))
    scan = SkewScan(("key",), check_format(source.schema.field("key").type, None), ("java",), (3,), corrupt=source.corrupt)
    result, rejected = source.scan(scan, "scanning")
    assert rejected == {}
    return Counter({key: int(weights[0]) for key, weights in result.sample.weights.items()})


def test_json_is_read_once_but_for_its_first_lines(spark, pipeline, tmp_path):
    """Hadoop counts the bytes."""
    path = written(tmp_path / "a.jsonl", "".join(f'{{"key": {i % 10}, "text": "{"x" * 80}"}}\n' for i in range(40_000)))

    def bytes_read() -> int:
        return sum(of.getBytesRead() for of in spark._jvm.org.apache.hadoop.fs.FileSystem.getAllStatistics())

    before = bytes_read()
    assert keys_of_json(pipeline, path).total() == 40_000
    assert bytes_read() - before < 1.3 * path.stat().st_size


def test_json_of_another_type_is_never_read_as_if_it_were_of_the_first(pipeline, tmp_path):
    def of(name: str, *keys: str, **options: str) -> Counter[bytes]:
        text = "".join(f'{{"key": {key}}}\n' for key in [*[keys[0]] * reading.FIRST_LINES, *keys[1:]])
        return keys_of_json(pipeline, written(tmp_path / name, text), **options)

    assert of("nulls.jsonl", "null", "7") == {(7).to_bytes(8): 1}
    assert of("texts.jsonl", '"a"', "7", '"7"') == {b"a": reading.FIRST_LINES, b"7": 2}
    with pytest.raises(Exception, match=r'have key bigint, and another has not: \{"key": "x"\} --read-option samplingRatio=1'):
        of("numbers.jsonl", "1", '"x"')
    assert of("numbers.jsonl", "1", '"x"', samplingRatio="1") == {b"1": reading.FIRST_LINES, b"x": 1}


@pytest.mark.parametrize("header", ["n,key", "id,n", "n"])
def test_files_of_csv_with_other_columns_are_refused(pipeline, tmp_path, header):
    """Spark would take the columns by their places in the first file."""
    written(tmp_path / "t" / "a.csv", "key,n\na,1\n")
    written(tmp_path / "t" / "b.csv", header + "\n" + ",".join("b" * len(header.split(","))) + "\n")
    with pytest.raises(Exception) as error:  # noqa: PT011
        keys_of_csv(pipeline, f"csv:{tmp_path}/t")
    assert str(failure(error.value)) == (
        f"{tmp_path}/t/b.csv does not have the first line of the first file: write them with the same columns in one order."
    )
