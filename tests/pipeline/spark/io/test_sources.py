"""What can be read, in which words it is named, and what is said of what cannot be read."""

from __future__ import annotations

import socket

import pytest

from service.pipeline.spark.cluster.jvm import java_version
from service.pipeline.spark.cluster.session import require_answer
from service.pipeline.spark.errors import NoSpark, WrongSource
from service.pipeline.spark.io import reading, sources
from service.pipeline.spark.io.sources import CORRUPT, Source
from tests.support.serving import free_port


@pytest.mark.parametrize(
    ("text", "format_", "location"),
    [
        ("flights.parquet", "parquet", "flights.parquet"),
        ("data/2013", "parquet", "data/2013"),
        ("flights.csv.gz", "csv", "flights.csv.gz"),
        ("s3a://bucket/records.jsonl", "json", "s3a://bucket/records.jsonl"),
        ("csv:s3a://bucket/records", "csv", "s3a://bucket/records"),
        ("delta:/lake/orders", "delta", "/lake/orders"),
        ("table:catalog.sales.orders", "table", "catalog.sales.orders"),
    ],
)
def test_a_source_is_named_in_one_word(text, format_, location):
    source = Source.parse(text)
    assert (source.format, source.location) == (format_, location)


def test_a_topic_is_named_with_its_brokers_and_options():
    source = Source.parse("kafka://a:9092,b/orders?startingOffsets=latest", {"kafka.security.protocol": "SSL"})
    assert source == Source(
        "kafka", "orders", ("a:9092", "b:9092"), {"kafka.security.protocol": "SSL", "startingOffsets": "latest"}
    )
    assert str(source) == "kafka://a:9092,b:9092/orders"


@pytest.mark.parametrize("text", ["kafka://broker:9092", "kafka:///orders", "kafka://broker/a/b"])
def test_a_topic_without_a_name_or_a_broker_is_refused(text):
    with pytest.raises(WrongSource, match="kafka://host:port"):
        Source.parse(text)


def test_an_unreachable_broker_is_named_before_spark_is_asked():
    port = free_port()
    with pytest.raises(WrongSource, match=rf"Cannot connect to any broker: 127\.0\.0\.1:{port} \(Connection refused\)"):
        sources.check_brokers(Source.parse(f"kafka://127.0.0.1:{port}/orders"))


@pytest.mark.parametrize("scheme", ["spark", "sc"])
def test_a_cluster_that_does_not_answer_is_named_before_spark_tries_for_minutes(scheme):
    port = free_port()
    with pytest.raises(NoSpark, match=rf"Cannot connect to Spark: 127\.0\.0\.1:{port} \(Connection refused\)"):
        require_answer(f"{scheme}://127.0.0.1:{port}")
    with socket.create_server(("127.0.0.1", port)):
        require_answer(f"{scheme}://nowhere.invalid:{port},127.0.0.1:{port}/;user_id=me")


def test_a_delta_table_is_not_taken_for_plain_parquet(tmp_path):
    (tmp_path / "orders" / "_delta_log").mkdir(parents=True)
    for name in (f"{tmp_path}/orders", f"file://{tmp_path}/orders"):
        with pytest.raises(WrongSource, match=rf"is a Delta table\. Name it delta:{tmp_path}/orders"):
            sources.check_plain(Source.parse(name))
    sources.check_plain(Source.parse(f"delta:{tmp_path}/orders"))
    with pytest.raises(WrongSource, match=rf"{tmp_path} contains the Delta table {tmp_path}/orders"):
        sources.check_plain(Source.parse(str(tmp_path)))


@pytest.mark.parametrize(
    ("mark", "part"),
    [
        ("t/_delta_log/0.json", "t/p=1"),
        ("t/_delta_log/0.json", "t/p=*"),
        ("t/_delta_log/0.json", "t/p=1/a.parquet"),
        ("t/.hoodie/hoodie.properties", "t/p=1"),
        ("t/metadata/v1.metadata.json", "t/data/p=1"),
        ("t/schema/schema-0", "t/p=1"),
    ],
)
def test_a_part_of_a_lake_table_is_not_taken_for_plain_files(tmp_path, mark, part):
    for name in (mark, "t/p=1/a.parquet", "t/data/p=1/a.parquet", "plain/p=1/a.parquet"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    with pytest.raises(
        WrongSource, match=rf"is part of the \w+ table {tmp_path}/t, whose deleted rows and old versions would count"
    ):
        sources.check_plain(Source.parse(str(tmp_path / part)))
    sources.check_plain(Source.parse(str(tmp_path / "plain" / "p=1")))


@pytest.mark.parametrize(
    ("text", "location"),
    [
        ("file:/data/k", "file:///data/k"),
        ("hdfs:/data/k", "hdfs:///data/k"),
        ("dbfs:/mnt/k.csv", "dbfs:///mnt/k.csv"),
        ("csv:file:/data/k", "file:///data/k"),
        ("s3a://bucket/k", "s3a://bucket/k"),
        ("delta:/data/t", "/data/t"),
    ],
)
def test_a_path_may_have_a_scheme_without_an_authority(text, location):
    assert Source.parse(text).location == location


def test_missing_java_is_an_error_with_the_remedy(monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(NoSpark, match=f"Java 17 or later: JAVA_HOME is {tmp_path}"):
        java_version()
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoSpark, match="no java on the PATH"):
        java_version()


def test_what_looks_like_a_number_stays_text_in_a_csv(spark, write):
    frame = reading.read(spark, Source.parse(write("records.csv", 'key,n\n007,1\n,2\n"a,b",3\n')))
    assert [row.key for row in frame.collect()] == ["007", None, "a,b"]


def test_malformed_lines_are_kept_whole(spark, write):
    frame = reading.read(spark, Source.parse(write("records.jsonl", '{"key": "a"}\n{"key": \n{"key": "c"}\n')))
    assert [(row.key, row[CORRUPT]) for row in frame.collect()] == [("a", None), (None, '{"key": '), ("c", None)]


def test_times_have_an_arrow_type_like_any_column(spark):
    """A table may have columns that the job does not ask for."""
    assert reading.arrow_schema(spark.sql("SELECT current_timestamp() AS loaded_at, 'k' AS key")).names == ["loaded_at", "key"]


def test_a_missing_column_is_named_with_the_one_that_was_meant(spark, write):
    source = Source.parse(write("records.csv", "tailnum,carrier\nN1,UA\n"))
    frame = reading.read(spark, source)
    with pytest.raises(WrongSource, match=r"has no column 'tail_num' \(did you mean 'tailnum'\?\); it has tailnum, carrier"):
        sources.require_names(frame.columns, ["carrier", "tail_num"], source)


@pytest.mark.parametrize("text", ["nowhere.parquet", "table:nothing", "unheard-of:nowhere"])
def test_missing_things_are_reported_in_a_sentence(spark, text):
    with pytest.raises(WrongSource, match=text.rpartition(":")[2].removesuffix(".parquet")) as refused:
        reading.read(spark, Source.parse(text))
    assert "\n" not in str(refused.value)
