"""``history``: what happened to every group, over the records of recorded runs of real brokers and clients."""

from __future__ import annotations

import base64
import gzip
import json
import re
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import partition_allocator
from service.cli import main
from service.pipeline.spark.tasks.coordinator_records import read_records

RUNS = Path(__file__).parents[3] / "vectors" / "histories"
GROUPS = {"java-range": "orders", "java-cooperative-rolling": "payments", "java-consumer": "billing"}
RECORD = re.compile(r"CreateTime:(\d+)\tPartition:(\d+)\tOffset:(\d+)\t([^\t]*)\t([^\t]*)")
ESCAPE = re.compile(rb"\\x([0-9A-F]{2})")
TIMES = ("began_at", "joined_at", "ended_at")


def text(run):
    [path] = (RUNS / run).glob("records.txt*")
    return gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()


def unescaped(printed):
    return ESCAPE.sub(lambda escape: bytes([int(escape[1], 16)]), printed.encode())


@pytest.fixture(scope="module")
def records():
    """The records of all runs, as the Kafka source gives them."""
    rows = [RECORD.fullmatch(line).groups() for run in GROUPS for line in text(run).splitlines()]
    return pa.table(
        {
            "key": pa.array([unescaped(row[3]) for row in rows], pa.binary()),
            "value": pa.array([None if row[4] == "null" else unescaped(row[4]) for row in rows], pa.binary()),
            "partition": pa.array([int(row[1]) for row in rows], pa.int32()),
            "offset": pa.array([int(row[2]) for row in rows], pa.int64()),
            "timestamp": pa.array([int(row[0]) for row in rows], pa.timestamp("ms", "UTC")),
        }
    )


@pytest.fixture(scope="module")
def told(spark, records, tmp_path_factory):  # noqa: ARG001 - the job runs on the session that is there
    """The folder of the results."""
    folder = tmp_path_factory.mktemp("history")
    file, into = folder / "records.parquet", folder / "results"
    unreadable = pa.table({name: records[name].slice(0, 1) for name in records.column_names})
    unreadable = unreadable.set_column(0, "key", pa.array([b"\x00\x63?"], pa.binary()))
    pq.write_table(pa.concat_tables([records, unreadable]), file)
    done = CliRunner().invoke(main, ["pipeline", "history", str(file), "--into", str(into)])
    assert done.exit_code == 0, done.output
    return into


def rows_of(told, name):
    return pq.read_table(told / name).to_pylist()


def test_a_group_is_told_as_the_command_tells_it(told):
    rows = rows_of(told, "rebalances.parquet")
    heads = {row["group"]: row for row in rows_of(told, "groups.parquet")}
    for run, group in GROUPS.items():
        answer = partition_allocator.history(group, text(run))
        of_group = sorted((row for row in rows if row["group"] == group), key=lambda row: (row["life"], row["number"]))
        assert heads[group]["conclusion"] == answer["conclusion"]
        assert heads[group]["rebalances"] == len(of_group) == len(answer["rebalances"]) > 3
        for row, expected in zip(of_group, answer["rebalances"], strict=True):
            cause = expected["causes"][0] if expected["causes"] else {"kind": "unknown", "members": [], "sentence": None}
            assert (row["number"], row["cause"], row["members"], row["sentence"]) == (
                *(expected["number"], cause["kind"], cause["members"], cause["sentence"]),
            )
            assert [row["standstill_least_ms"], row["standstill_most_ms"]] == list(expected["standstill"].values())


def test_the_record_that_tells_is_where_a_rebalance_says(told, records):
    keys = {(row["partition"], row["offset"]): row["key"] for row in records.to_pylist()}
    for row in rows_of(told, "rebalances.parquet"):
        assert row["group"].encode() in keys[row["log_partition"], row["log_offset"]]


def test_another_way_counts_as_many(told, records):
    """DuckDB, over the decoded records: generations of classic groups, epochs of consumer groups."""
    places = {"log_partition": "partition", "log_offset": "offset", "timestamp": "timestamp"}
    columns = {name: records[of].cast(pa.int64()) if name == "timestamp" else records[of] for name, of in places.items()}
    nothing = pa.nulls(len(records), pa.string())
    raw = pa.table({"key": records["key"], "value": records["value"], **columns, "fault": nothing, "line": nothing})
    decoded = pa.Table.from_batches(read_records(raw.combine_chunks().to_batches()))  # noqa: F841 - DuckDB reads it
    found = duckdb.sql(
        """
        select "group", count(distinct number), max(number) - min(number) + 1 from (
            select "group", cast(value ->> (if(type = 2, '$.generation', '$.epoch')) as int) as number
            from decoded where type in (2, 3) and value is not null
        ) where number > 0 group by "group" order by "group"
        """
    ).fetchall()
    groups = rows_of(told, "groups.parquet")
    assert sorted((row["group"], row["rebalances"], row["rebalances"] + row["missing"]) for row in groups) == found


def test_tables_add_up(told):
    rebalances, groups, members, causes = (
        rows_of(told, f"{name}.parquet") for name in ("rebalances", "groups", "members", "causes")
    )
    summary = json.loads((told / "summary.json").read_text())
    assert summary["rebalances"] == len(rebalances) == sum(row["rebalances"] for row in groups)
    assert sum(row["rebalances"] for row in causes) == len(rebalances)
    assert sum(row["rebalances"] for row in members) == sum(len(row["members"]) for row in rebalances)
    assert summary["causes"] == {
        cause: sum(row["rebalances"] for row in causes if row["cause"] == cause) for cause in {row["cause"] for row in causes}
    }
    ranked = [row["standstill_least_ms"] or 0 for row in summary["worst_groups"]]
    assert ranked == sorted(ranked, reverse=True)
    assert summary["records"]["unreadable"] == 1
    [rejected] = rows_of(told, "quarantine.parquet")
    assert base64.b64decode(json.loads(rejected["record"])["key_base64"]) == b"\x00\x63?"
    assert summary["conclusion"] in (told / "report.html").read_text()
