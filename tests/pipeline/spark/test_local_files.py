"""Commands about a local file write with ``--into`` what the pipeline's jobs write."""

from __future__ import annotations

import csv
import itertools
import json
import math
import re
import subprocess
import sys
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from service.cli import main
from service.pipeline.spark.tasks.parquet_files import STAMP_COLUMNS
from service.report import pages

DRAW = np.random.default_rng(29)
KEYS = [f"k{i}" if i % 7 else None for i in DRAW.zipf(1.4, 3_000) % 400]
PARTITIONS = DRAW.integers(0, 6, 3_000).tolist()
PLAN = ["--key-column", "id", "--partitioner", "java", "--partitioner", "librdkafka:consistent"]
SKEW = ["--partitions", "6,9,12", "--current-partitions", "6", "--duration-seconds", "10"]
SKEW += ["--max-partition-records-per-second", "60"]


def run(*arguments: str) -> tuple[int, str]:
    """The exit status, and what is printed, without what says which run of a job it is of."""
    done = CliRunner().invoke(main, [*arguments])
    assert done.exit_code in (0, 1), done.output
    return done.exit_code, re.sub(r',\n  "run_id": .*(?=\n}\n)', "", done.stdout, flags=re.DOTALL)


def tables(folder) -> dict[str, list]:
    """Each table of a folder, as a file or as Spark's folder of files; examples and rejected rows in no certain order.

    Without the columns that say which run of a job it is of.
    """
    found = {}
    for path in folder.glob("*.parquet"):
        table = pq.read_table(path)
        table = table.drop_columns([name for name in STAMP_COLUMNS.names if name in table.column_names])
        rows = [tuple(table.column_names), *map(str, table.schema.types), *map(json.dumps, table.to_pylist())]
        found[path.name] = sorted(map(str, rows))
    return found


def assert_alike(ours, theirs) -> None:
    """Both folders have the same tables, requests and summary, and a report."""
    assert {path.name for path in ours.iterdir()} == {path.name for path in theirs.iterdir()}
    assert tables(ours) == tables(theirs)
    for path in ours.glob("*.json"):
        of_job = json.loads((theirs / path.name).read_text())
        assert json.loads(path.read_text()) == {name: of_job[name] for name in of_job if name not in STAMP_COLUMNS.names}, (
            path.name
        )
    assert (ours / "report.html").read_text().startswith("<!doctype html>")


@pytest.fixture
def records(tmp_path):
    """``records("csv")``: the records in a file of this format; missing keys in CSV are ``""``."""

    def written(suffix: str) -> str:
        path = tmp_path / f"records.{suffix}"
        if suffix == "parquet":
            table = pa.table(
                {"id": KEYS, "partition": pa.array(PARTITIONS, pa.int32()), "size": pa.array(PARTITIONS, pa.int64())}
            )
            pq.write_table(table, path, row_group_size=700)
        elif suffix == "csv":
            with path.open("w", newline="") as file:
                rows = csv.writer(file, quoting=csv.QUOTE_ALL)
                columns = zip([key or "" for key in KEYS], PARTITIONS, PARTITIONS, strict=True)
                rows.writerows([("id", "partition", "size"), *columns])
        else:
            rows = [json.dumps({"id": key, "partition": p, "size": p}) for key, p in zip(KEYS, PARTITIONS, strict=True)]
            path.write_text("\n".join(rows) + "\n")
        return str(path)

    return written


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_plan_writes_what_skew_writes(records, suffix, tmp_path):
    file = records(suffix)
    size = ("--bytes-column", "size")
    ours = run("plan", file, *PLAN, *SKEW, *size, "--into", str(tmp_path / "ours"))
    theirs = run("pipeline", "skew", file, *PLAN, *SKEW, *size, "--into", str(tmp_path / "theirs"))
    assert ours == theirs
    assert_alike(tmp_path / "ours", tmp_path / "theirs")
    summary = json.loads(ours[1])
    assert (summary["records"], summary["keyless"]) == (3_000 - KEYS.count(None), KEYS.count(None))
    assert KEYS.count(None) > 0
    assert summary["bytes"] == sum(size for key, size in zip(KEYS, PARTITIONS, strict=True) if key is not None)


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(("suffix", "count"), [("csv", ()), ("parquet", ("6",)), ("jsonl", ())])
def test_fingerprint_writes_what_mismatch_writes(records, suffix, count, tmp_path):
    file, options = records(suffix), ("--key-column", "id", "--partitioner", "java", "--expected", "sarama")
    given = ("--partitions", *count) if count else ()
    ours = run("fingerprint", file, *options, *given, "--into", str(tmp_path / "ours"))
    assert ours == run("pipeline", "mismatch", file, *options, *given, "--into", str(tmp_path / "theirs"))
    assert_alike(tmp_path / "ours", tmp_path / "theirs")


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    ("commands", "rows", "rejected"),
    [
        (("plan", "skew"), "", {"no long key": 1}),
        # Spark, which reads only the key's column for skew, does not see that a line is too short.
        (
            ("fingerprint", "mismatch"), "3\n",
            {"no long key": 1, "no partition below 3": 2, "not readable as a record": 1},
        ),
    ],
)  # fmt: skip
def test_rejected_rows_are_the_same(commands, rows, rejected, write, tmp_path):
    file = write("records.csv", f"key,partition\n1,0\nx,1\n2,9\n{rows}4,z\n5,2\n6,1\n")
    options = (file, "--key-format", "long", "--partitioner", "java", "--partitions", "3")
    ours = run(commands[0], *options, "--into", str(tmp_path / "ours"))
    assert ours == run("pipeline", commands[1], *options, "--into", str(tmp_path / "theirs"))
    assert_alike(tmp_path / "ours", tmp_path / "theirs")
    assert json.loads(ours[1])["rejected"] == rejected


@pytest.mark.usefixtures("spark")
def test_lines_that_are_no_records_and_partitions_that_are_none_are_rejected_alike(write, tmp_path):
    """Spark would take an array's elements for records, and leave out what follows a record. Blank lines are none."""
    no_records = ["null", "  null", "5", '"text"', "[1]", "[]", '[{"key": "x", "partition": 1}]', "{", "true"]
    one = '{"key": "a", "partition": 1}'
    no_records += [one + after for after in (one, f", {one}", " 5", ' {"x"', "}")]
    values = (("a", 1.0), ("b", 1.5), ("c", -1), ("d", 0), ("e", None))
    records = [json.dumps({"key": key, "partition": value, "{": [{"}{": {}}, {}]}) for key, value in values]
    file = write("records.jsonl", "\n".join([*records, "", "  ", *no_records, ""]))
    options = (file, "--partitioner", "java")
    ours = run("fingerprint", *options, "--partitions", "2", "--into", str(tmp_path / "ours"))
    assert ours == run("pipeline", "mismatch", *options, "--partitions", "2", "--into", str(tmp_path / "theirs"))
    rejected = {"no partition below 2": 3, "not readable as a record": len(no_records)}
    assert (json.loads(ours[1])["records"], json.loads(ours[1])["rejected"]) == (2, rejected)
    lines = {row["record"] for row in pq.read_table(tmp_path / "theirs" / "quarantine.parquet").to_pylist()}
    assert lines > {*no_records}


@pytest.mark.usefixtures("spark")
def test_audit_writes_what_fleet_writes(tmp_path, monkeypatch):
    """Of the tables of the same snapshot. In the first topic, two partitions have all their replicas on a rack; in the last, one
    has a replica more than the others.
    """
    brokers = [{"broker_id": i, "rack_id": "ab"[i % 2], "fenced": i == 5} for i in range(6)]
    replicas = [[[0, 2], [1, 3], [2, 3]], [[i % 4, (i + 1) % 4] for i in range(8)], [[0, 1, 3], [1, 2], [2, 3]]]
    topics = [
        {
            "topic_name": name,
            "partitions_count": len(rows),
            "placements": [
                {"partition_id": i, "replicas": row, "leader": row[0], "in_sync_replicas": row} for i, row in enumerate(rows)
            ],
        }
        for name, rows in zip(("crowded", "good", "mixed"), replicas, strict=True)
    ]
    snapshot = tmp_path / "snapshot.json"
    snapshot.write_text(json.dumps({"snapshot_version": 1, "brokers": brokers, "topics": topics, "groups": []}))
    folders = {name: tmp_path / name for name in ("tables", "ours", "theirs")}
    run("body", "tables", str(snapshot), "--out", str(folders["tables"]))
    sources = [part for name in ("topics", "brokers") for part in (f"--{name}", str(folders["tables"] / f"{name}.parquet"))]
    placer = ("--placer", "rack-aware")
    monkeypatch.setattr(pages, "_numbers", itertools.count())
    ours = run("audit", str(snapshot), *placer, "--into", str(folders["ours"]))
    monkeypatch.setattr(pages, "_numbers", itertools.count())
    assert ours == run("pipeline", "fleet", *sources, *placer, "--into", str(folders["theirs"]))
    assert_alike(folders["ours"], folders["theirs"])
    varying = re.compile(r'<p class="(?:subtitle|run)">.*')  # the name of the file, and the date
    texts = [varying.sub("", (folders[name] / "report.html").read_text()) for name in ("ours", "theirs")]
    assert texts[0] == texts[1]
    summary = json.loads(ours[1])["topics"]
    assert (summary["topics"], summary["audit"]["obey"], summary["audit"]["crowded_racks"]) == (3, 1, 2)
    assert summary["audit"]["wrong_factor"] == 1
    assert sum(summary["current_broker_load"]["leaders"]["counts"]) == 14


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_compare_writes_its_answer(records, suffix, tmp_path):
    """One of two that take the same hash as unsigned or as signed."""
    names = ("librdkafka:consistent_random", "sarama:custom-crc32")
    command = ("compare", records(suffix), "--key-column", "id", "--partitions", "6")
    command += tuple(part for name in names for part in ("--partitioner", name))
    answer = json.loads(run(*command)[1])
    assert json.loads(run(*command, "--into", str(tmp_path / "ours"))[1]) == answer | {"rejected": {}}
    assert {path.name for path in (tmp_path / "ours").iterdir()} == {"pairs.parquet", "summary.json", "report.html"}
    hashes = [crc32(key.encode()) for key in KEYS if key is not None]
    agreeing = sum(each % 6 == abs(math.fmod(each - (each >> 31 << 32), 6)) for each in hashes)
    table = pq.read_table(tmp_path / "ours" / "pairs.parquet")
    assert table.to_pylist() == [
        dict(zip(table.column_names, (*names, len(hashes), agreeing, agreeing / len(hashes)), strict=True))
    ]
    assert table.column_names == ["partitioner", "other_partitioner", "keys", "agreeing_keys", "agreement"]
    verdict = (
        f"{' and '.join(names)} agree on {agreeing / len(hashes):.2%} of the {len(hashes):,} records compared, of {len(KEYS):,}"
    )
    assert verdict in (tmp_path / "ours" / "report.html").read_text()


def test_compare_has_a_picture_of_many_and_sets_rejected_rows_aside(write, tmp_path):
    file = write("keys.csv", "key\n1\nx\n2\n")
    command = ("compare", file, "--key-format", "long", "--partitions", "4", "--into", str(tmp_path / "ours"))
    refused = CliRunner().invoke(main, [*command, "--strict"])
    assert (refused.exit_code, (tmp_path / "ours").exists()) == (2, False)
    assert refused.stderr == f"Error: {file}: row 3: no long key: 'x'\n"
    summary = json.loads(run(*command)[1])
    assert (summary["keys_count"], summary["rejected"]) == (2, {"no long key": 1})
    rows = pq.read_table(tmp_path / "ours" / "quarantine.parquet").to_pylist()
    assert rows == [{"reason": "no long key", "record": "key=x"}]
    report = (tmp_path / "ours" / "report.html").read_text()
    assert report.count("<svg") == 1
    assert f"Show the {len(summary['pairs'])} pairs as a table" in report
    same = sum(pair["agreeing_keys"] == pair["keys"] > 0 for pair in summary["pairs"])
    assert f"{same} of the {len(summary['pairs'])} pairs agree" in report
    run(*command, "--partitioner", "java", "--partitioner", "aiokafka")
    assert "2 partitioners: no two of them" in (tmp_path / "ours" / "report.html").read_text()


@pytest.mark.parametrize(
    ("change", "detail"),
    [
        ({"topic_name": None}, "/topic_name: Must not be null or empty."),
        ({"brokers": [{"broker_id": 1}, {"broker_id": 1}]}, "/brokers: A broker_id is missing or duplicate."),
        ({"brokers": [{"broker_id": 1}, {"broker_id": "2"}]}, "tried to convert to int64"),
        ({"placements": [1]}, "placements[] is int64"),
        ({"placer": "even"}, "There is no placer 'even'"),
    ],
)
def test_an_audit_of_a_wrong_body_is_refused(change, detail, write, tmp_path):
    body = {"topic_name": "t", "brokers": [{"broker_id": 1}], "placements": [{"partition_id": 0, "replicas": [1]}]}
    refused = CliRunner().invoke(main, ["audit", write("body.json", json.dumps(body | change)), "--into", str(tmp_path / "ours")])
    assert refused.exit_code == 2
    assert detail in refused.stderr
    assert not (tmp_path / "ours").exists()


def test_an_audit_takes_placements_with_leaders(write, tmp_path):
    placement = {"partition_id": 0, "replicas": [1], "leader": 1, "in_sync_replicas": [1]}
    body = {"topic_name": "t", "brokers": [{"broker_id": 1}], "placements": [placement]}
    summary = json.loads(run("audit", write("body.json", json.dumps(body)), "--into", str(tmp_path / "ours"))[1])
    assert summary["topics"]["audit"]["obey"] == 1


def test_a_run_that_fails_leaves_nothing_and_one_that_succeeds_replaces_the_last(write, tmp_path):
    into = tmp_path / "results"
    bad, good = write("bad.csv", "key\n1\nx\n"), write("good.csv", "key\n1\n2\n")
    options = ("--key-format", "long", "--partitions", "3", "--into", str(into))
    refused = CliRunner().invoke(main, ["plan", bad, *options, "--strict"])
    assert (refused.exit_code, refused.stderr) == (2, f"Error: {bad}: no long key: x\n")
    assert not into.exists()
    assert run("plan", bad, *options)[0] == 0
    assert (into / "quarantine.parquet").exists()
    before = {path.name: path.read_bytes() for path in into.iterdir()}
    assert CliRunner().invoke(main, ["plan", bad, *options, "--strict"]).exit_code == 2
    assert {path.name: path.read_bytes() for path in into.iterdir()} == before
    assert run("plan", good, *options)[0] == 0
    assert {path.name for path in into.iterdir()} == before.keys() - {"quarantine.parquet"}


@pytest.mark.parametrize(
    "command",
    [
        ("plan", "--partitions", "3"),
        ("plan", "--partitions", "3", "--into", "results"),
        ("compare", "--partitions", "3"),
        ("fingerprint",),
        ("fingerprint", "--into", "results"),
        ("pipeline", "mismatch", "--into", "results"),
    ],
)
def test_a_partitioner_that_is_given_twice_is_refused(command, write, tmp_path, monkeypatch):
    """By any of its names."""
    monkeypatch.chdir(tmp_path)
    file = write("records.csv", "key,partition\n1,0\n")
    place = "" if "--into" in command else "--partitioner: "
    for alias in ("librdkafka", "librdkafka:consistent_random"):
        options = ("--partitioner", alias, "--partitioner", "librdkafka:consistent_random")
        refused = CliRunner().invoke(main, [*command, file, *options])
        assert (refused.exit_code, refused.stderr) == (
            2, f"Error: {place}Duplicate partitioner 'librdkafka:consistent_random'.\n"
        )  # fmt: skip


def test_the_expected_partitioner_can_have_another_name(write, tmp_path):
    """An alias, which the records' writers are not listed by."""
    file, into = write("records.csv", "key,partition\n1,0\n"), str(tmp_path / "results")
    answered = CliRunner().invoke(main, ["fingerprint", file, "--expected", "librdkafka", "--into", into])
    assert answered.exit_code == 0, answered.stderr


def test_a_folder_that_cannot_be_replaced_keeps_its_results(write, tmp_path, monkeypatch):
    """The disk is full at the last file."""
    into = tmp_path / "results"
    options = ("plan", write("keys.csv", "key\n1\n2\n"), "--partitions", "3", "--into", str(into))
    run(*options)
    before = {path.name: path.read_bytes() for path in into.iterdir()}
    write_bytes = type(into).write_bytes

    def full(path, data):
        if "report" in path.name:
            raise OSError(28, "No space left on device", str(path))
        return write_bytes(path, data)

    monkeypatch.setattr(type(into), "write_bytes", full)
    refused = CliRunner().invoke(main, [*options, "--current-partitions", "3"])
    assert refused.exit_code == 2
    assert "No space left on device" in refused.stderr
    assert {path.name: path.read_bytes() for path in into.iterdir()} == before


@pytest.mark.parametrize(("name", "text"), [("mine.csv", "a\n"), ("notes.json", "{}")])
def test_a_folder_of_others_is_refused(name, text, write, tmp_path):
    into = tmp_path / "mine"
    into.mkdir()
    (into / name).write_text(text)
    file = write("keys.csv", "key\n1\n2\n")
    refused = CliRunner().invoke(main, ["plan", file, "--partitions", "3", "--into", str(into)])
    if name.endswith("json"):
        assert refused.exit_code == 2
        assert "No job wrote notes.json in this folder" in refused.stderr
        assert [path.name for path in into.iterdir()] == [name]
    else:
        assert refused.exit_code == 0, "a file that no job would replace"
    around = CliRunner().invoke(main, ["plan", file, "--partitions", "3", "--into", str(tmp_path)])
    assert f"contains the source {file}" in around.stderr


def test_no_spark_is_imported(tmp_path):
    """From standard input, into the folder in which the command runs, and into others."""
    (tmp_path / "keys.csv").write_text("key\n1\n2\n")
    topic = '{"topic_name": "t", "brokers": [{"broker_id": 1}], "placements": [{"partition_id": 0, "replicas": [1]}]}'
    (tmp_path / "topic.json").write_text(topic)
    here = tmp_path / "here"
    here.mkdir()
    program = (
        "import sys\nfrom service.cli import main\n"
        "for command in sys.argv[1:]:\n"
        " file, *words = command.split()\n"
        " sys.stdin = open(file)\n"
        " assert main(words, standalone_mode=False) in (0, None)\n"
        "assert not {'pyspark', 'py4j', 'flask'} & {*sys.modules}, 'imported'"
    )
    commands = (
        "../keys.csv plan - --file-format csv --partitions 3 --into .",
        "../keys.csv compare - --file-format csv --partitions 3 --into compared",
        "../topic.json audit - --into audited",
    )
    subprocess.run([sys.executable, "-c", program, *commands], check=True, capture_output=True, cwd=here)
    assert all((here / folder / "report.html").exists() for folder in (".", "compared", "audited"))
