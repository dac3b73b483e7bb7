"""``/v1/partition-count-plans`` as a caller sees it. What the numbers are is tests/planner/sizing/test_plans.py's."""

from __future__ import annotations

import gzip
import os
import statistics
import struct
import threading
from pathlib import Path

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.csv
import pytest
import requests

from service.api.partition_counts import LISTED, MOST
from service.app import create_app
from service.config import Settings
from service.core.kafka_versions import LATEST
from service.core.keys.columns import key_value
from service.planner.sizing import distinct_keys
from tests.support.serving import serving

ARROW = "application/vnd.apache.arrow.stream"
PATH = "/v1/partition-count-plans"
HISTOGRAM = [{"key": f"key-{i}", "records": 1 + i % 5, "bytes": 100 * (i % 7)} for i in range(200)]
QUESTION = {
    "partitioners": ["java", "librdkafka:consistent_random"],
    "partitions_counts": [6, 9, 12],
    "current_partitions_count": 6,
    "histogram": HISTOGRAM,
    "duration_seconds": 10,
    "max_partition_records_per_second": 8,
    "max_partition_bytes_per_second": 900,
    "max_skew": 1.6,
    "hottest_keys": 3,
}
QUERY = "&".join(
    f"{name}={','.join(map(str, value)) if isinstance(value, list) else value}"
    for name, value in QUESTION.items()
    if name != "histogram"
)


def stream(table: pa.Table, rows: int = 64) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=rows)
    return sink.getvalue().to_pybytes()


TABLE = pa.Table.from_pylist(HISTOGRAM)


def pointers(response) -> list[str]:
    assert response.status_code == 422, response.data
    return [error["pointer"] for error in response.json["errors"]]


def test_a_histogram_a_list_of_its_keys_and_a_stream_have_the_same_answer(client):
    answer = client.post(PATH, json=QUESTION)
    assert answer.status_code == 200, answer.data
    streamed = client.post(f"{PATH}?{QUERY}", data=stream(TABLE), content_type=ARROW)
    assert streamed.json == answer.json
    zipped = gzip.compress(stream(TABLE))
    again = client.post(f"{PATH}?{QUERY}", data=zipped, content_type=ARROW, headers={"Content-Encoding": "gzip"})
    assert again.json == answer.json
    ask = {"partitions_counts": [6], "keys": [row["key"] for row in HISTOGRAM for _ in range(row["records"])]}
    of_keys = client.post(PATH, json=ask).json["plans"][0]
    of_histogram = answer.json["plans"][0]
    assert {what: of_keys[what] for what in ("keys", "records")} == {what: of_histogram[what] for what in ("keys", "records")}
    assert (of_keys["bytes"], of_keys["moved"], of_keys["multiple"], of_keys["matrix"]) == (None, None, None, None)


def test_a_plans_partitions_are_those_of_v1_partitions(client):
    answer = client.post(PATH, json=QUESTION).json
    for plan in answer["plans"]:
        ask = {"partitioner": plan["partitioner"], "keys": [row["key"] for row in HISTOGRAM]}
        new, old = (
            client.post("/v1/partitions", json={**ask, "partitions_count": n}).json["partitions"]
            for n in (plan["partitions_count"], 6)
        )
        records = np.bincount(new, [row["records"] for row in HISTOGRAM], plan["partitions_count"])
        assert plan["records"]["counts"] == records.tolist()
        assert plan["records"]["skew"] == pytest.approx(max(records) / statistics.mean(records))
        assert plan["moved"]["keys"] == pytest.approx(np.mean(np.array(new) != np.array(old)))
        assert plan["busiest"]["records_per_second"] == pytest.approx(max(records) / 10)
        assert plan["meets"]["records_per_second"] == (max(records) / 10 <= 8)
        matrix = plan["matrix"]
        cells = dict(zip(zip(matrix["from_partition_ids"], matrix["to_partition_ids"], strict=True), matrix["keys"], strict=True))
        assert cells == {pair: list(zip(old, new, strict=True)).count(pair) for pair in zip(old, new, strict=True)}


def test_a_multiple_splits_every_partition_and_mixes_none(client):
    answer = client.post(PATH, json=QUESTION).json
    splits = {plan["partitions_count"]: plan["splits"] for plan in answer["plans"] if plan["partitioner"] == "java"}
    assert splits[9] is None
    assert splits[12] == [{"partition_id": p, "into": [p, p + 6]} for p in range(6)]
    (matrix,) = [p["matrix"] for p in answer["plans"] if (p["partitioner"], p["partitions_count"]) == ("java", 12)]
    for old, new in zip(matrix["from_partition_ids"], matrix["to_partition_ids"], strict=True):
        assert new in splits[12][old]["into"]


def test_the_smallest_count_that_keeps_each_limit_and_all(client):
    answer = client.post(PATH, json=QUESTION).json
    for of in answer["limits"]:
        plans = [plan for plan in answer["plans"] if plan["partitioner"] == of["partitioner"]]
        for limit in ("records_per_second", "bytes_per_second", "skew"):
            assert of["smallest"][limit] == min((p["partitions_count"] for p in plans if p["meets"][limit]), default=None)
        assert of["smallest"]["all"] == min((p["partitions_count"] for p in plans if all(p["meets"].values())), default=None)


def test_a_topics_own_rates_instead_of_a_duration(client):
    ask = {name: value for name, value in QUESTION.items() if name != "duration_seconds"}
    total = sum(row["records"] for row in HISTOGRAM), sum(row["bytes"] for row in HISTOGRAM)
    by_rates = client.post(PATH, json={**ask, "records_per_second": total[0] / 10, "bytes_per_second": total[1] / 10}).json
    by_duration = client.post(PATH, json=QUESTION).json
    for one, other in zip(by_rates["plans"], by_duration["plans"], strict=True):
        assert one["busiest"] == pytest.approx(other["busiest"])


def test_records_without_a_key_are_distinguished(client):
    ask = {"partitioners": ["java", "kafka-go:crc32"], "partitions_counts": [3], "keys": ["a", None, "", "b", None]}
    answer = client.post(PATH, json=ask).json
    assert answer["keys"]["without_key"] == {"java": 2, "kafka-go:crc32": 3}
    assert (answer["keys"]["records"], answer["keys"]["keyless"]) == (3, 2)
    assert [sum(plan["records"]["counts"]) for plan in answer["plans"]] == [5, 5]
    assert answer["hottest_keys"]["by_records"][0]["share"] == 1 / 5


def test_a_count_below_the_current_one_needs_a_new_topic(client):
    answer = client.post(PATH, json={"partitions_counts": [6, 12, 24], "current_partitions_count": 12, "keys": ["a"]}).json
    assert [plan["needs_new_topic"] for plan in answer["plans"]] == [True, False, False]
    answer = client.post(PATH, json={"partitions_counts": [12], "current_partitions_count": 24, "keys": ["a"]}).json
    assert answer["limits"][0]["conclusion"].endswith("Kafka cannot remove partitions, so 12 partitions would need a new topic.")
    assert client.post(PATH, json={"partitions_counts": [12], "keys": ["a"]}).json["plans"][0]["needs_new_topic"] is None


@pytest.mark.parametrize(
    ("keys", "pointer", "reason"),
    [
        ({"keys": []}, "/keys", "there are no records"),
        ({"keys": [None]}, "/keys", "no record has a key"),
        ({"histogram": []}, "/histogram", "there are no records"),
        ({"histogram": [{"key": "a", "records": 0}]}, "/histogram", "there are no records"),
    ],
)
def test_no_keys_are_nothing_to_plan(client, keys, pointer, reason):
    answer = client.post(PATH, json={"partitions_counts": [3], "max_skew": 1.2, **keys})
    assert (answer.status_code, answer.json["errors"]) == (
        422,
        [{"pointer": pointer, "detail": f"There is nothing to plan: {reason}."}],
    )


def test_many_partitions_are_measured_and_not_listed(client):
    answer = client.post(
        PATH, json={"partitions_counts": [LISTED + 1, 100_000], "current_partitions_count": 7, "keys": ["a"]}
    ).json
    for plan in answer["plans"]:
        assert "counts" not in plan["records"]
        assert plan["records"]["skew"] == pytest.approx(plan["partitions_count"])
        assert (plan["records"]["floor"], plan["records"]["verdict"]) == (plan["partitions_count"], "hot-keys")


def test_the_cause_of_a_skew_has_its_keys_and_its_floor(client):
    """Three quarters of the records have one key."""
    rows = [{"key": key, "records": records} for key, records in (("a", 900), ("b", 100), ("c", 100), ("d", 100))]
    answer = client.post(PATH, json={"partitions_counts": [4], "histogram": rows}).json
    (plan,) = answer["plans"]
    records = {name: plan["records"][name] for name in ("verdict", "floor", "hot_keys", "hot_share")}
    assert records == {"verdict": "hot-keys", "floor": 3.0, "hot_keys": 1, "hot_share": 0.75}
    assert (plan["keys"]["verdict"], plan["keys"]["hot_keys"], plan["bytes"]) == ("chance", 0, None)
    assert answer["limits"][0]["conclusion"] == (
        "a has 75% of the records: no partition count brings the fullest partition below that; with java and 4 partitions, it "
        "has 83.3% of the records. Without this key, it would have 1.33 × the mean."
    )


def test_the_table_has_one_row_a_plan(client):
    answer = client.post(PATH, json=QUESTION).json
    for media_type, read in (("text/csv", pa.csv.read_csv), (ARROW, lambda source: pa.ipc.open_stream(source).read_all())):
        response = client.post(PATH, json=QUESTION, headers={"Accept": media_type})
        assert response.mimetype == media_type
        table = read(pa.BufferReader(response.data)).to_pylist()
        assert [row["records_skew"] for row in table] == pytest.approx([plan["records"]["skew"] for plan in answer["plans"]])
        assert [row["keys_moved"] for row in table] == pytest.approx([plan["moved"]["keys"] for plan in answer["plans"]])
        assert [row["meets_limits"] for row in table] == [all(plan["meets"].values()) for plan in answer["plans"]]


KEYED = {"partitions_counts": [3], "keys": ["a"]}


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"partitions_counts": [3]}, "/keys"),
        ({"keys": []}, "/keys"),
        ({"partitions_counts": [], "keys": []}, "/partitions_counts"),
        ({"partitions_counts": [0], "keys": []}, "/partitions_counts/0"),
        ({"partitions_counts": [3, 3], "keys": []}, "/partitions_counts/1"),
        ({**KEYED, "partitioners": ["java", "colour"]}, "/partitioners/1"),
        ({**KEYED, "partitioners": ["java:round-robin"]}, "/partitioners/0"),
        ({**KEYED, "partitioners": ["cassandra:murmur3"]}, "/partitioners/0"),
        ({**KEYED, "partitioners": ["java", "java"]}, "/partitioners/1"),
        ({**KEYED, "partitioners": ["pulsar"], "key_format": "int", "keys": [1]}, "/key_format"),
        ({"partitions_counts": [3], "keys": ["a", 1]}, "/keys/1"),
        ({"partitions_counts": [3], "keys": "a"}, "/keys"),
        ({**KEYED, "histogram": []}, "/histogram"),
        ({"partitions_counts": [3], "histogram": [{"records": 1}]}, "/histogram/0/key"),
        ({"partitions_counts": [3], "histogram": [{"key": 1}]}, "/histogram/0/key"),
        ({"partitions_counts": [3], "histogram": [{"key": "a", "records": -1}]}, "/histogram/0/records"),
        ({"partitions_counts": [3], "histogram": [{"key": "a", "records": 1.0}]}, "/histogram/0/records"),
        ({"partitions_counts": [3], "histogram": [{"key": "a", "bytes": 1}, {"key": "b"}]}, "/histogram/1/bytes"),
        ({"partitions_counts": [3], "histogram": [{"key": "a", "colour": 1}]}, "/histogram/0/colour"),
        ({"partitions_counts": [2_000_001], "keys": []}, "/partitions_counts"),
        ({**KEYED, "current_partitions_count": 2_000_000}, "/current_partitions_count"),
        ({**KEYED, "current_partitions_count": 300_000_000}, "/current_partitions_count"),
        ({**KEYED, "current_partitions_count": 2**31 - 1}, "/current_partitions_count"),
        ({"partitions_counts": [3], "histogram": [{"key": "a", "records": MOST}] * 513}, ""),
        ({"partitions_counts": [3], "histogram": [{"key": None, "records": MOST}] * 1025}, ""),
        ({**KEYED, "duration_seconds": 5e-324}, "/duration_seconds"),
        ({**KEYED, "max_skew": 1e308}, "/max_skew"),
        ({**KEYED, "max_skew": True}, "/max_skew"),
        ({**KEYED, "max_skew": 0}, "/max_skew"),
        ({**KEYED, "duration_seconds": 1, "records_per_second": 1}, "/records_per_second"),
        ({**KEYED, "max_partition_records_per_second": 1}, "/max_partition_records_per_second"),
        ({**KEYED, "duration_seconds": 1, "max_partition_bytes_per_second": 1}, "/max_partition_bytes_per_second"),
        ({**KEYED, "bytes_per_second": 1}, "/bytes_per_second"),
        ({**KEYED, "hottest_keys": 101}, "/hottest_keys"),
        ({**KEYED, "colour": 1}, "/colour"),
    ],
)
def test_what_is_wrong_is_pointed_at(client, body, pointer):
    assert pointers(client.post(PATH, json=body)) == [pointer]


def test_the_current_count_may_be_as_large_as_any_other(client):
    body = {**KEYED, "partitions_counts": [3, 1_999_997], "current_partitions_count": 1_999_997}
    plans = client.post(PATH, json=body).json["plans"]
    assert [plan["moved"]["keys"] for plan in plans] == [1, 0]


@pytest.mark.parametrize(
    ("table", "query", "pointer"),
    [
        (pa.table({"value": ["a"]}), "partitions_counts=3", ""),
        (pa.table({"key": ["a"], "colour": [1]}), "partitions_counts=3", ""),
        (pa.table({"key": ["a"], "records": ["1"]}), "partitions_counts=3", "/records"),
        (pa.table({"key": ["a", "b"], "records": [1, None]}), "partitions_counts=3", "/records/1"),
        (pa.table({"key": ["a"] * 70, "bytes": [1] * 69 + [-1]}), "partitions_counts=3", "/bytes/69"),
        (pa.table({"key": ["a"], "records": [MOST + 1]}), "partitions_counts=3", "/records/0"),
        (pa.table({"key": [[1]]}), "partitions_counts=3", "/key"),
        (TABLE, "partitions_counts=3,x", "/partitions_counts/1"),
        (TABLE, "partitions_counts=3&max_skew=a", "/max_skew"),
        (TABLE, "partitions_counts=3&max_skew=1&max_skew=2", "/max_skew"),
        (TABLE, "partitions_counts=3&keys=a", "/keys"),
        (TABLE, "partitions_counts=3&colour=1", "/colour"),
    ],
)
def test_what_is_wrong_with_a_stream_is_pointed_at(client, table, query, pointer):
    assert pointers(client.post(f"{PATH}?{query}", data=stream(table), content_type=ARROW)) == [pointer]


@pytest.mark.parametrize("body", [b"", b"no stream", stream(TABLE)[:300], stream(TABLE)[:-200]])
def test_what_is_no_arrow_stream_is_a_400(client, body):
    assert client.post(f"{PATH}?partitions_counts=3", data=body, content_type=ARROW).status_code == 400


def test_limits_hold_for_streams_too():
    client = create_app(Settings(max_keys=100)).test_client()
    assert pointers(client.post(f"{PATH}?partitions_counts=3", data=stream(TABLE), content_type=ARROW)) == ["/key"]
    assert pointers(client.post(PATH, json={"partitions_counts": [3], "keys": ["a"] * 101})) == ["/keys"]
    small = create_app(Settings(max_body_bytes=1000)).test_client()
    assert small.post(f"{PATH}?partitions_counts=3", data=stream(TABLE), content_type=ARROW).status_code == 413
    zipped = {"data": gzip.compress(stream(TABLE)), "content_type": ARROW, "headers": {"Content-Encoding": "gzip"}}
    assert (
        create_app(Settings(max_body_bytes=3000)).test_client().post(f"{PATH}?partitions_counts=3", **zipped).status_code == 413
    )


def test_inexact_counts_are_marked(client, monkeypatch):
    """As with more than a million different keys."""
    monkeypatch.setattr(distinct_keys.DistinctKeys, "__init__", with_room_for(64, distinct_keys.DistinctKeys.__init__))
    seen = client.post(f"{PATH}?detail=full", json=QUESTION).json["keys"]
    assert (seen["exact"], seen["records"]) == (False, sum(row["records"] for row in HISTOGRAM))
    assert "sample" in seen["method"]
    assert abs(seen["distinct"] - 200) <= 4 * seen["relative_error"] * 200


def with_room_for(max_keys, init):
    return lambda self, functions, _: init(self, functions, max_keys)


VALUES = {
    "string": ["a", "é", ""],
    "uuid": ["123e4567-e89b-12d3-a456-426614174000"],
    "base64": ["a2V5"],
    "hex": ["6b6579"],
    "short": [-3, 2**15 - 1],
    "int": [-(2**31), 7],
    "long": [-(2**63), 7],
    "float": [0.5, "NaN", "-Infinity"],
    "double": [0.1, "Infinity"],
    "boolean": [True, False],
}


@pytest.mark.parametrize("key_format", VALUES)
def test_a_hot_key_is_shown_as_it_was_given(client, key_format):
    ask = {"partitions_counts": [3], "key_format": key_format, "keys": VALUES[key_format]}
    shown = [hot["key"] for hot in client.post(PATH, json=ask).json["hottest_keys"]["by_records"]]
    assert sorted(map(str, shown)) == sorted(map(str, VALUES[key_format]))
    assert {type(key) for key in shown} == {type(key) for key in VALUES[key_format]}


def test_bytes_become_a_json_value_again():
    assert key_value(struct.pack(">f", 0.5), "float") == 0.5
    assert key_value(b"\xff\xfe", "short") == -2


def test_rows_without_bytes_reserve_memory(client, monkeypatch):
    """9,000,000 nulls are a few hundred bytes of Arrow, and took 66 MB."""
    sizes = []
    monkeypatch.setattr("service.http.application.App.reserve", lambda _hooks, _environ, size: sizes.append(size))
    nulls = pa.table({"key": pa.nulls(10**6)})
    answer = client.post(f"{PATH}?partitions_counts=3", data=stream(nulls, rows=10**6), content_type=ARROW)
    assert answer.status_code == 422  # there are no keys
    assert sum(sizes) > 7 * 10**6


def memory(pid: int) -> int:
    """Resident bytes of a process."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.slow
def test_a_stream_takes_its_own_size_and_a_batch_of_memory():
    """260 MB, 3.6 million distinct keys, through a real server: the worker holds the body, and decodes it batch by batch."""
    batch_rows, width = 50_000, 64

    def body(batches: int):
        sink = pa.BufferOutputStream()
        generator = np.random.default_rng(1)
        schema = pa.schema({"key": pa.binary(width), "records": pa.int64()})
        with pa.ipc.new_stream(sink, schema) as writer:
            data = pa.py_buffer(generator.bytes(width * batch_rows))
            keys_ = pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), batch_rows, [None, data])
            writer.write_batch(pa.record_batch([keys_, np.ones(batch_rows, np.int64)], schema=schema))
        whole = sink.getvalue().to_pybytes()
        at = whole.index(data.to_pybytes()[:64])
        head, rest = whole[:at], whole[at + width * batch_rows : -8]
        start = whole.rindex(b"\xff\xff\xff\xff", 0, at)
        yield head + data.to_pybytes() + rest
        for _ in range(batches - 1):
            yield head[start:] + generator.bytes(width * batch_rows) + rest
        yield whole[-8:]

    with serving(
        forked=True, ALLOCATOR_WORKERS="1", ALLOCATOR_MAX_KEYS="20000000", ALLOCATOR_MAX_BODY_BYTES=str(2**30)
    ) as server:
        (worker,) = server.workers()
        url = f"{server.url}{PATH}?partitions_counts=12,24,1000&current_partitions_count=12&detail=full"

        def ask(batches: int) -> tuple[int, dict]:
            peak, done = [0], threading.Event()

            def watch() -> None:
                while not done.wait(0.02):
                    peak[0] = max(peak[0], memory(worker))

            watching = threading.Thread(target=watch)
            watching.start()
            response = requests.post(url, data=body(batches), headers={"Content-Type": ARROW}, timeout=120)
            done.set()
            watching.join()
            assert response.status_code == 200, response.text
            return peak[0], orjson.loads(response.content)

        short, _ = ask(12)
        long, answer = ask(72)
    assert answer["keys"]["records"] == 3_600_000
    assert abs(answer["keys"]["distinct"] / 3_600_000 - 1) < 4 * answer["keys"]["relative_error"]
    assert long < short + 1.25 * 60 * (width + 8) * batch_rows + 60 * 2**20, (short, long)


def test_the_keys_of_a_batch_are_not_kept(client):
    """Names of hot keys are copies: an Arrow buffer that is gone is not looked at."""
    table = pa.table({"key": [f"key-{i}" * 10 for i in range(500)]})
    answer = client.post(f"{PATH}?partitions_counts=3&hottest_keys=100", data=stream(table, rows=7), content_type=ARROW).json
    assert len({hot["key"] for hot in answer["hottest_keys"]["by_records"]} & set(table["key"].to_pylist())) == 100


def test_only_what_can_be_done_is_recommended(client):
    """Kafka cannot remove partitions."""
    body = {"histogram": [{"key": str(i), "records": 1} for i in range(5000)], "partitions_counts": [2, 4, 8], "max_skew": 1.2}

    def ask(**more):
        (limits,) = client.post(PATH, json={**body, **more}).json["limits"]
        return limits["smallest"]["all"], limits["recommended"], limits["needs_new_topic"]

    assert ask() == (2, 2, None)
    assert ask(current_partitions_count=2) == (2, 2, None)
    assert ask(current_partitions_count=4) == (2, 4, 2)
    assert ask(current_partitions_count=3) == (2, 4, 2)
    assert ask(current_partitions_count=9) == (2, None, 2)
    assert ask(max_skew=1.0) == (None, None, None)


def test_a_sample_is_not_exact(client):
    body = {"histogram": [{"key": "a", "records": 3}], "partitions_counts": [2]}
    assert client.post(PATH, json=body).json["keys"]["exact"] is True
    keys = client.post(f"{PATH}?detail=full", json={**body, "is_sample": True}).json["keys"]
    assert keys["exact"] is False
    assert "sample" in keys["method"]
    query = {"partitions_counts": "2", "is_sample": "true"}
    of_stream = client.post(PATH, data=stream(TABLE), content_type=ARROW, query_string=query).json["keys"]
    assert of_stream["exact"] is False
    refused = client.post(PATH, data=stream(TABLE), content_type=ARROW, query_string={**query, "is_sample": "1"})
    assert pointers(refused) == ["/is_sample"]


def test_throughput_without_keys_is_a_count_alone(client):
    body = {"target_mb_per_second": 50, "producer_mb_per_second": 10, "consumer_mb_per_second": 5}
    answer = client.post(PATH, json=body).json
    told = answer["throughput"].pop("conclusion")
    assert told.startswith("Throughput needs at least 10 partitions (5 for producers, 10 for consumers), if keys spread evenly;")
    counts = {"producers": 5, "consumers": 10, "partitions_count": 10}
    assert answer == {"kafka_version": LATEST, "throughput": counts}
    csv = client.post(PATH, json=body, headers={"Accept": "text/csv"}).text
    assert csv == '"producers","consumers","partitions_count"\n5,10,10\n'
    del body["consumer_mb_per_second"]
    needed = client.post(PATH, json=body).json["throughput"]
    assert needed.pop("conclusion").startswith("Throughput needs at least 5 partitions (5 for producers), if keys spread evenly;")
    assert needed == {"producers": 5, "consumers": None, "partitions_count": 5}


@pytest.mark.parametrize(("counts", "planned"), [([12, 10], [12, 10]), ([12], [12, 10]), (None, [10, 13, 15, 20, 30, 40, 80])])
def test_throughput_beside_keys_adds_its_count(client, counts, planned):
    body = {"keys": ["a", "b"], "target_mb_per_second": 50, "consumer_mb_per_second": 5}
    answer = client.post(PATH, json=body | ({"partitions_counts": counts} if counts else {})).json
    assert [plan["partitions_count"] for plan in answer["plans"]] == planned
    assert answer["throughput"]["partitions_count"] == 10


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"target_mb_per_second": 50}, "/target_mb_per_second"),
        ({"consumer_mb_per_second": 50}, "/consumer_mb_per_second"),
        ({"target_mb_per_second": 50, "producer_mb_per_second": 0}, "/producer_mb_per_second"),
        ({"target_mb_per_second": "50", "producer_mb_per_second": 1}, "/target_mb_per_second"),
        ({"target_mb_per_second": 1e12, "producer_mb_per_second": 1}, "/target_mb_per_second"),
        ({"target_mb_per_second": 1e6, "producer_mb_per_second": 1e-3, "keys": ["a"]}, "/target_mb_per_second"),
        ({"target_mb_per_second": 50, "producer_mb_per_second": 1, "max_skew": 2}, "/keys"),
        ({"target_mb_per_second": 50, "producer_mb_per_second": 1, "partitions_counts": [6]}, "/keys"),
        ({"unknown": 1}, "/unknown"),
    ],
)
def test_throughput_that_says_too_little_or_too_much_is_pointed_at(client, body, pointer):
    response = client.post(PATH, json=body)
    assert response.status_code in (413, 422)
    assert pointer in pointers(response)
