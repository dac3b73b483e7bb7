"""``/v1/partitioner-comparisons`` over HTTP."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.csv
import pytest

from service.app import create_app
from service.config import Settings
from service.http.media_types import ARROW_STREAM
from tests.support.questions import ask

PATH = "/v1/partitioner-comparisons"
KEYS = ["a", "b", None, "", "order-1", "order-2", "ключ"]
SOME = ["java", "kafkajs", "librdkafka:consistent_random", "java:round-robin", "cassandra:murmur3"]


def stream(**columns) -> bytes:
    table = pa.table(columns)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def test_every_number_follows_from_the_partitions_of_each(client):
    answer = client.post(PATH, json={"partitions_count": 7, "partitioners": SOME, "keys": KEYS, "examples": 2}).json
    keyed = [key for key in KEYS if key]
    java, rdkafka = (ask({"partitioner": name, "partitions_count": 7, "keys": keyed}).partitions.tolist() for name in SOME[1:3])
    assert [writer["partitioners"] for writer in answer["writers"]] == [["java", "kafkajs"], ["librdkafka:consistent_random"]]
    agreeing = sum(a == b for a, b in zip(java, rdkafka, strict=True))
    others = [
        {"row": KEYS.index(key), "key": key, "partition_ids": [a, b]}
        for key, a, b in zip(keyed, java, rdkafka, strict=True)
        if a != b
    ]
    assert answer["pairs"] == [
        {
            "partitioners": ["java", "librdkafka:consistent_random"],
            "keys": len(keyed),
            "agreeing_keys": agreeing,
            "agreement": agreeing / len(keyed),
            "disagreements": others[:2],
        }
    ]
    assert answer["chance_agreement"] == 1 / 7
    assert answer["keys_count"] == len(KEYS)
    counts = [java.count(p) for p in range(7)]
    counts[ask({"partitioner": "java", "partitions_count": 7, "keys": [""]}).partitions[0]] += 1
    distribution = answer["writers"][0]["distribution"]
    assert (distribution["min"], distribution["max"], distribution["mean"]) == (min(counts), max(counts), (len(keyed) + 1) / 7)
    assert answer["not_compared"] == [
        {"partitioner": "java:round-robin", "reason": "ignores keys"},
        {"partitioner": "cassandra:murmur3", "reason": "gives tokens, not partitions"},
    ]


@pytest.mark.parametrize("key_format", ["string", "base64", "long"])
def test_an_arrow_stream_is_answered_as_json_is(client, key_format):
    values = {"string": ["a", None, "b"] * 9, "base64": ["AQ==", None, "Ag=="] * 9, "long": [1, None, -2] * 9}[key_format]
    column = pa.array([b"\1", None, b"\2"] * 9) if key_format == "base64" else pa.array(values)
    body = {"partitions_count": 5, "key_format": key_format, "keys": values, "partitioners": ["java", "sarama"]}
    query = {"partitions_count": 5, "partitioners": "java,sarama"}
    streamed = client.post(PATH, data=stream(key=column), query_string=query, content_type=ARROW_STREAM)
    assert streamed.json == client.post(PATH, json=body).json


def test_the_table_of_pairs_is_given_as_csv_and_as_arrow(client):
    body = {"partitions_count": 5, "keys": ["a", "b"]}
    pairs = client.post(PATH, json=body).json["pairs"]
    as_csv = pa.csv.read_csv(io.BytesIO(client.post(PATH, json=body, headers={"Accept": "text/csv"}).data))
    as_arrow = pa.ipc.open_stream(client.post(PATH, json=body, headers={"Accept": ARROW_STREAM}).data).read_all()
    assert as_csv.to_pylist() == as_arrow.to_pylist()
    assert as_arrow["agreement"].to_pylist() == [pair["agreement"] for pair in pairs]
    assert as_arrow["other_partitioner"].to_pylist() == [pair["partitioners"][1] for pair in pairs]


def test_records_placed_by_chance_are_not_compared(client):
    answer = client.post(PATH, json={"partitions_count": 5, "partitioners": ["java", "sarama"], "keys": [None, None]}).json
    assert answer["pairs"][0]["keys"] == 0
    assert answer["pairs"][0]["agreement"] is None


def test_only_partitioners_that_ignore_keys_leave_nothing_to_compare(client):
    answer = client.post(PATH, json={"partitions_count": 5, "partitioners": ["librdkafka:random"], "keys": ["a"]}).json
    assert answer["writers"] == answer["pairs"] == []


def test_more_partitions_than_can_be_counted_one_by_one_are_compared_all_the_same(client):
    answer = client.post(PATH, json={"partitions_count": 2**31 - 1, "keys": ["a", "b"]}).json
    assert "distribution" not in answer["writers"][0]


@pytest.mark.parametrize(
    ("change", "pointer", "detail"),
    [
        ({"partitioners": ["java", "jaava"]}, "/partitioners/1", "There is no partitioner 'jaava'"),
        ({"partitioners": ["java", "java"]}, "/partitioners/1", "Duplicate"),
        ({"partitioners": ["librdkafka:consistent_random", "librdkafka"]}, "/partitioners/1", "Duplicate"),
        ({"partitioners": []}, "/partitioners", "Shorter than minimum length 1"),
        ({"partitions_count": 0}, "/partitions_count", "greater than or equal to 1"),
        ({"keys": ["a", 1]}, "/keys/1", "1 is not a string"),
        ({"keys": "a"}, "/keys", "Not a list"),
        ({"examples": 101}, "/examples", "100"),
        ({"key_format": "int"}, "/keys/0", "'a' is not a valid int"),
        ({"observations": []}, "/observations", "Unknown field"),
    ],
)
def test_errors_are_reported_at_their_field(client, change, pointer, detail):
    response = client.post(PATH, json={"partitions_count": 5, "keys": ["a"], **change})
    assert response.status_code == 422
    (error,) = response.json["errors"]
    assert error["pointer"] == pointer
    assert detail in error["detail"]


def test_more_keys_than_allowed_are_refused():
    response = (
        create_app(Settings(max_keys=2, auth="off")).test_client().post(PATH, json={"partitions_count": 5, "keys": ["a"] * 3})
    )
    assert response.status_code in (413, 422)
    assert "ALLOCATOR_MAX_KEYS" in response.text


def test_the_records_of_each_partition_are_counted_in_memory_that_is_reserved(client, monkeypatch):
    """A body of 49 bytes took 240 MB."""
    sizes = []
    monkeypatch.setattr("service.http.application.App.reserve", lambda _hooks, _environ, size: sizes.append(size))
    answer = client.post(PATH, json={"partitions_count": 10**6, "keys": ["a"], "partitioners": ["java", "sarama"]})
    assert answer.status_code == 200
    assert sum(sizes) >= 2 * 8 * 10**6


def test_a_key_that_is_shown_for_each_two_classes_reserves_its_text_each_time(client, monkeypatch):
    """A key of 1 MB was an answer of 314 MB."""
    sizes = []
    monkeypatch.setattr("service.http.application.App.reserve", lambda _hooks, _environ, size: sizes.append(size))
    answer = client.post(PATH, json={"partitions_count": 1000, "keys": ["x" * 1000]})
    assert len(answer.data) > 300 * 1000
    assert sum(sizes) > 2 * len(answer.data)
