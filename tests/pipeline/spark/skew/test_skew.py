"""``skew``: the same partitions as the service, the same figures by every path, and what is said of what does not fit."""

from __future__ import annotations

from collections import Counter
from functools import cache

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from service.cli import main
from service.core.keys.columns import Text, byte_strings
from service.core.partitioners import PARTITIONERS
from service.pipeline.analyses import results
from service.pipeline.analyses.skew import scan as skew_scan
from service.pipeline.analyses.skew.answer import answer_from
from service.pipeline.analyses.skew.scan import KeySample, SkewResult, SkewScan
from service.pipeline.spark import skew as job
from service.pipeline.spark.cluster import session
from service.pipeline.spark.io import scan
from service.pipeline.spark.io.sources import Source
from service.pipeline.spark.tasks.parquet_files import SplitReader
from service.planner.sizing.counter import KeyCounter, hashing_rule, key_hashes_of
from service.planner.sizing.plans import CountLimits, Rates

COUNTS = (4, 6, 12, 35)
OPTIONS = {
    "key_columns": ("key",),
    "key_separator": "-",
    "key_format": None,
    "partitioners": ("java", "librdkafka:consistent_random"),
    "partitions_counts": COUNTS,
    "current": 12,
    "size_columns": ("value",),
    "duration_seconds": None,
    "max_partition_records_per_second": None,
    "max_partition_bytes_per_second": None,
    "max_skew": None,
    "max_keys": 2**16,
}
HASHING = tuple(p.name for p in PARTITIONERS if p.hashing_rule is not None and "string" in p.encoding.formats)


@cache
def records() -> pa.Table:
    """20,000 records: Zipf's keys, some of them null, and values of different lengths."""
    draw = np.random.default_rng(6)
    keys = [f"key-{key}" if key % 7 else None for key in draw.zipf(1.3, 20_000) % 5_000]
    return pa.table({"key": pa.array(keys, pa.string()), "value": pa.array(["x" * n for n in draw.integers(0, 9, 20_000)])})


@pytest.fixture
def parquet(tmp_path):
    """A folder of two files with several row groups each."""
    folder = tmp_path / "records"
    folder.mkdir()
    pq.write_table(records().slice(0, 15_000), folder / "a.parquet", row_group_size=2_000)
    pq.write_table(records().slice(15_000), folder / "b.parquet", row_group_size=1_000)
    return str(folder)


def keys_of(name):
    """The records that the keys place: those without one too, where the client hashes them as one."""
    if hashing_rule(name).null_hash is not None:
        return records().column("key").to_pylist()
    return records().column("key").drop_null().to_pylist()


BY_SPARK = {"mergeSchema": "false"}
"""With an option of its reader, Spark reads the Parquet."""


def scanned(pipeline, source, *, read_options=(), **options):
    scan_source, of_records = job.prepare(pipeline, Source.parse(source, dict(read_options)), OPTIONS | options)
    assert (scan_source.files is not None) == (scan_source.source.format == "parquet" and not read_options)
    return scan_source.scan(of_records, "scanning")


def figures(result: SkewResult):
    """Everything that was counted, in plain values."""
    counts = result.counts
    return {
        "all": (counts.records, counts.bytes, counts.keyless.tolist(), counts.distinct.distinct),
        "totals": {(p, n): [of.tolist() for of in counts.totals(p, n)] for p in counts.names for n in counts.partitions_counts},
        "hottest": sorted(counts.distinct.heaviest(0, 50)),
        "sample": result.sample.weights,
    }


@pytest.mark.parametrize("name", HASHING)
def test_a_key_is_where_the_service_says(name, client, pipeline, parquet):
    """Every partitioner that hashes keys: its partition is that of /v1/partitions."""
    keys = keys_of(name)
    body = {"partitioner": name, "partitions_count": 35, "keys": keys, "key_format": "string"}
    if name == "java:sticky":  # it asks for what decides about records without a key, whether there are any or not
        body |= {"sticky_batch_size": 16_384, "records": [{"key": key, "bytes": 1} for key in body.pop("keys")]}
    answer = client.post("/v1/partitions", json=body).json
    _, of_records = job.prepare(pipeline, Source.parse(parquet), OPTIONS | {"partitioners": (name,)})
    part = results.merged(p for b in of_records.of_batches(iter(records().to_batches())) for p in b.column("partial").to_pylist())
    totals = part.counts.totals(name, 35)
    assert totals.records.tolist() == np.bincount(answer["partitions"], minlength=35).tolist()
    different = dict(zip(keys, answer["partitions"], strict=True))
    different.pop(None, None)
    assert totals.keys.tolist() == np.bincount([*different.values()], minlength=35).tolist()


def test_each_path_gives_the_same(pipeline, parquet, tmp_path):
    """Executors that read Parquet themselves, Spark's own Parquet, CSV and JSON."""
    records().to_pandas().to_csv(tmp_path / "records.csv", index=False)
    records().to_pandas().to_json(tmp_path / "records.jsonl", orient="records", lines=True)
    plain, rejected = scanned(pipeline, parquet)
    assert not rejected
    values = records().to_pydict()
    counted = Counter(key for key in values["key"] if key is not None)
    assert plain.counts.records == counted.total()
    assert plain.counts.keyless[0] == 20_000 - counted.total()
    assert plain.counts.bytes + plain.counts.keyless[1] == sum(map(len, values["value"]))
    assert {key.decode(): weights[0] for key, weights in plain.sample.weights.items()} == counted
    for source in (parquet, str(tmp_path / "records.jsonl"), str(tmp_path / "records.csv")):
        assert figures(scanned(pipeline, source, read_options=BY_SPARK)[0]) == figures(plain), source


def test_large_files_are_read_once(pipeline, parquet, monkeypatch):
    """By Spark SQL, whose tasks also give the rejected rows: the same."""
    once, rejected = scanned(pipeline, parquet)
    monkeypatch.setattr(scan, "MOST_BYTES_READ_AGAIN", 0)
    monkeypatch.setattr(SplitReader, "partial", None)
    assert figures(scanned(pipeline, parquet)[0]) == figures(once)
    assert not rejected


def test_many_partial_results_are_merged_before_the_driver_gets_them(pipeline, parquet, monkeypatch):
    """Two at a time, until two are left. They come to the same."""
    few, _ = scanned(pipeline, parquet)
    monkeypatch.setattr(session, "TASK_BYTES", 2**13)
    monkeypatch.setattr(scan, "MERGED", 2)
    many, rejected = scanned(pipeline, parquet)
    assert (figures(many), rejected) == (figures(few), {})


def test_a_topic_gives_what_its_records_are(broker, pipeline):
    """Its bytes are those of keys and values."""
    topic = broker.topic(3)
    pairs = [*zip(*(records().slice(0, 3000).column(name).to_pylist() for name in ("key", "value")), strict=True)]
    broker.produce(topic, pairs)
    part, rejected = scanned(pipeline, f"kafka://{broker.bootstrap}/{topic}", key_format="string", size_columns=())
    assert not rejected
    assert {k.decode(): of[0] for k, of in part.sample.weights.items()} == Counter(key for key, _ in pairs if key is not None)
    assert part.counts.bytes == sum(len(key) + len(value) for key, value in pairs if key is not None)
    assert part.counts.keyless.tolist() == [
        sum(key is None for key, _ in pairs),
        sum(len(value) for key, value in pairs if key is None),
    ]


def test_keys_of_one_weight_move_as_their_sizes_say():
    """More tenants of one number of records than are named by records, and of different sizes."""
    counts, tenants = KeyCounter(("java",), (3, 4), max_keys=4096), [f"tenant-{i}" for i in range(300)]
    for batch in range(4):
        keys = tenants * 40 + [f"{batch}-{i}" for i in range(3_000)]
        sizes = np.array([1_000 + int(key[7:]) if key.startswith("t") else 1 for key in keys], np.int64)
        counts.add(Text(byte_strings([key.encode() for key in keys])), "string", None, sizes)
    (move,) = answer_from(SkewResult(counts, KeySample()), {}, "string", CountLimits(), Rates(), None).moves
    assert move["exact"]


@given(st.lists(st.lists(st.integers(0, 40), max_size=60), min_size=1, max_size=6), st.integers(1, 20))
def test_a_sample_of_the_parts_is_that_of_the_whole(batches, most):
    """The keys whose key_hash begins with so many zero bits, with all that they ever weighed; never more than fit."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(skew_scan, "SAMPLE_KEYS", most)
        whole, merged = KeySample(), KeySample()
        for numbers in batches:
            keys = byte_strings([b"%d" % number for number in numbers])
            sizes = np.array(numbers, np.int64)
            whole.add(keys, key_hashes_of(keys), None, sizes)
            part = KeySample()
            part.add(keys, key_hashes_of(keys), None, sizes)
            merged.merge(part)
    counted = Counter(b"%d" % number for numbers in batches for number in numbers)
    for sample in (whole, merged):
        below = {key for key in counted if int(key_hashes_of(byte_strings([key]))[0]) % 2**64 < 2 ** (64 - sample.held.level)}
        assert sample.weights == {key: [counted[key], counted[key] * int(key)] for key in below}
        assert len(below) <= most
    assert whole.held.level == merged.held.level


def test_more_keys_than_are_held_are_estimated(pipeline, parquet):
    exact, sampled = (scanned(pipeline, parquet, max_keys=limit)[0].counts for limit in (2**16, 1024))
    assert sampled.distinct.level > 0
    assert sampled.distinct.distinct == pytest.approx(exact.distinct.distinct, rel=0.2)
    assert sampled.totals("java", 12).records.tolist() == exact.totals("java", 12).records.tolist()
    assert sampled.distinct.heaviest(0, 1)[0][0] == exact.distinct.heaviest(0, 1)[0][0]


def test_rows_that_hold_no_key_are_set_aside_and_counted(pipeline, write, tmp_path):
    text = "".join(f'{{"key": "{i}", "value": "v"}}\n' for i in range(90)) + '{"key": "x", "value": "v"}\n{"key": \n'
    part, rejected = scanned(pipeline, write("records.jsonl", text), key_format="long")
    assert (part.counts.records, rejected) == (90, {"no long key": 1, "not readable as a record": 1})
    aside = pq.read_table(tmp_path / "results" / "quarantine.parquet").to_pylist()
    assert {(row["reason"], row["record"]) for row in aside} == {("no long key", "x"), ("not readable as a record", '{"key": ')}


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--key-column", "kee"], "has no column 'kee' (did you mean 'key'?); it has key, value"),
        (["--key-format", "uuid"], "No key in key has the format uuid: 'key-"),
        (["--partitioner", "jawa"], "There is no partitioner 'jawa'"),
        (["--partitioner", "java:round-robin"], "ignores keys"),
        (["--partitioner", "pulsar", "--key-format", "uuid"], "The partitioner pulsar does not accept uuid keys"),
        (["--partitioner", "java", "--partitioner", "java"], "Duplicate partitioner 'java'."),
        (["--partitions", "0"], "0 is less than 1."),
        (["--max-partition-records-per-second", "5"], "needs --duration-seconds"),
        (["--follow"], "is not a topic"),
    ],
)
@pytest.mark.usefixtures("spark")
def test_errors_are_reported_before_the_job_starts(parquet, arguments, complaint):
    result = CliRunner().invoke(main, ["pipeline", "skew", parquet, *arguments])
    assert result.exit_code > 0
    assert complaint in result.output
    assert "Traceback" not in result.output


def test_a_source_without_keys_is_nothing_to_plan(tmp_path):
    """Rather than even, within every limit. Read by this process, without Spark."""
    pq.write_table(pa.table({"key": pa.array([], pa.string())}), tmp_path / "empty.parquet")
    arguments = ["pipeline", "skew", str(tmp_path / "empty.parquet"), "--max-skew", "1.2", "--into", str(tmp_path / "out")]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert result.stderr == f"Error: {tmp_path / 'empty.parquet'}: There are no records.\n"


@pytest.fixture(scope="module")
def done(watched, tmp_path_factory):
    """The command's results: its folder, and what it printed."""
    folder = tmp_path_factory.mktemp("skew")
    pq.write_table(records(), folder / "records.parquet")
    arguments = ["pipeline", "skew", str(folder / "records.parquet"), "--current-partitions", "12", "--partitions", "6,12,35"]
    arguments += ["--partitioner", "java", "--partitioner", "spark", "--max-skew", "3", "--bytes-column", "value"]
    with watched("skew"):
        result = CliRunner().invoke(main, [*arguments, "--into", str(folder / "out")], catch_exceptions=False)
    assert result.exit_code == 1, "only 6 partitions are within the limit, which would need a new topic"
    return folder / "out", result.output


def test_the_summary_has_the_results_first(done):
    folder, shown = done
    text = (folder / "summary.json").read_bytes()
    summary = orjson.loads(text)
    assert summary == orjson.loads(shown[: shown.rindex("}") + 1])
    assert len(text) < 10_000
    assert "histogram" not in summary
    assert list(summary)[:4] == ["job", "conclusion", "records", "keyless"]
    plans = {(row["partitioner"], row["partitions_count"]): row for row in pq.read_table(folder / "plans.parquet").to_pylist()}
    assert len(summary["plans"]) == len(plans)
    for plan in summary["plans"]:
        row = plans[plan["partitioner"], plan["partitions_count"]]
        assert (plan["skew"], plan["floor"]) == pytest.approx((row["records_skew"], row["records_floor"]))
        assert (plan["verdict"], plan["byte_verdict"]) == (row["records_verdict"], row["bytes_verdict"])
    for limits in summary["limits"]:
        assert f"; with {limits['partitioner']} and " in limits["conclusion"], "hot keys, and what the fullest partition has"
        assert limits["recommended"] is None or limits["recommended"] >= 12


def test_the_request_is_a_question_for_the_service(done, client):
    """While all keys are in it the service's figures are those of the tables."""
    folder, _ = done
    body = (folder / "partition-count-plans.json").read_bytes()
    response = client.post("/v1/partition-count-plans", data=body, content_type="application/json")
    assert response.status_code == 200
    of_service = {(plan["partitioner"], plan["partitions_count"]): plan for plan in response.json["plans"]}
    for row in pq.read_table(folder / "plans.parquet").to_pylist():
        plan = of_service[row["partitioner"], row["partitions_count"]]
        for what in ("records", "bytes", "keys"):
            assert row[f"{what}_skew"] == pytest.approx(plan[what]["skew"])


def test_what_moves_is_what_is_elsewhere(done):
    """Between each two counts, record by record."""
    folder, _ = done
    places = {}
    for name in ("java", "spark"):
        for n in (6, 12, 35):
            keys = keys_of(name)
            places[name, n] = _partitions(name, n, keys)
    for row in pq.read_table(folder / "moves.parquet").to_pylist():
        old, new = (places[row["partitioner"], row[end]] for end in ("from_count", "to_count"))
        assert row["exact"]
        assert row["records"] == int((old != new).sum())


def _partitions(name, n, keys):
    from service.app import create_app  # noqa: PLC0415

    body = {"partitioner": name, "partitions_count": n, "keys": keys}
    return np.array(create_app().test_client().post("/v1/partitions", json=body).json["partitions"])


def test_the_report_needs_nothing_else(done):
    """No script, no address to load from; every plot and table is there."""
    text = (done[0] / "report.html").read_text()
    assert "<script" not in text
    limits = orjson.loads((done[0] / "summary.json").read_bytes())["limits"]
    verdict = text.partition('<p class="verdict">')[2].partition("</p>")[0]
    assert verdict.startswith(limits[0]["conclusion"])
    assert all(of["conclusion"] in verdict or f"{of['partitioner']} (" in verdict for of in limits), "every partitioner"
    assert " src=" not in text
    assert "http" not in text.replace("http://www.w3.org", "")
    for words in (
        "Skew by partition count",
        "Hottest keys",
        "Records that move",
        "99% of random hashes",
        "prefers-color-scheme: dark",
    ):
        assert words in text
    assert text.count("<svg") == 3


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_size_may_be_1_0_as_pandas_writes_it_beside_a_missing_one(suffix, tmp_path):
    path = tmp_path / f"sized.{suffix}"
    if suffix == "csv":
        path.write_text("key,size\na,10.0\nb,\na,7.0\n")
    else:
        pq.write_table(pa.table({"key": ["a", "b", "a"], "size": [10.0, None, 7.0]}), path)
    command = ["pipeline", "skew", str(path), "--bytes-column", "size", "--partitions", "3", "--into", str(tmp_path / "results")]
    done = CliRunner().invoke(main, command, catch_exceptions=False)
    summary = orjson.loads(done.stdout)
    assert (done.exit_code, summary["bytes"]) == (0, 17)
    # An empty cell of CSV may be a value without bytes.
    assert summary["rejected"] == ({} if suffix == "csv" else {"no value in column 'size'": 1})


def test_a_row_without_a_size_is_rejected_as_by_plan(tmp_path):
    """Once for all columns, before its key is looked at; a tombstone has no bytes."""
    scan = SkewScan(("key",), "int", ("java",), (3,), size_columns=("size", "other", "value"))
    sizes = {
        "size": [1.0, None, -1.0, 2.5, 4.0, 2.0**54],
        "other": [0, None, 0, 0, None, 0],
        "value": [None, b"a", None, None, None, None],
    }
    *rejected, _ = scan.of_batches(iter([pa.record_batch({"key": ["1", "x", "3", "4", "5", "6"], **sizes})]))
    assert [(row["reason"], row["record"]) for rows in rejected for row in rows.to_pylist()] == [
        ("no value in column 'size'", "key=x, size=None, other=None, value=a"),
        ("column 'size' has no integer in [0, 2^53]", "key=3, size=-1.0, other=0, value=None"),
        ("column 'size' has no integer in [0, 2^53]", "key=4, size=2.5, other=0, value=None"),
        ("column 'size' has no integer in [0, 2^53]", "key=6, size=1.8014398509481984e+16, other=0, value=None"),
        ("no value in column 'other'", "key=5, size=4.0, other=None, value=None"),
    ]
    file = tmp_path / "keys.csv"
    file.write_text("key,size\na,1\nb,\nc,-1\n")
    for into in ((), ("--into", str(tmp_path / "results"))):
        done = CliRunner().invoke(main, ["plan", str(file), "--bytes-column", "size", "--partitions", "3", *into])
        assert done.exit_code == 0, done.output
        assert (
            into or "2 rows were rejected (row 3: no value in column 'size'; row 4: column 'size' has no integer" in done.stderr
        )
    assert orjson.loads(done.stdout)["rejected"] == {
        "column 'size' has no integer in [0, 2^53]": 1,
        "no value in column 'size'": 1,
    }
