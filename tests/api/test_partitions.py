"""``/v1/partitions`` and ``/v1/partitioners`` as a caller sees them."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.app import create_app
from service.config import Settings
from service.core.keys.formats import FORMATS
from service.core.partitioners import PARTITIONERS
from tests.core.partitioners.test_vectors import FILES
from tests.support import golden

ARROW = "application/vnd.apache.arrow.stream"
PATH = "/v1/partitions"


def stream(column: pa.Array | pa.ChunkedArray, name: str = "key") -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, pa.schema({name: column.type})) as writer:
        writer.write_table(pa.table({name: column}))
    return sink.getvalue().to_pybytes()


def arrow_answer(response) -> pa.Table:
    assert response.status_code == 200, response.data
    assert response.mimetype == ARROW
    return pa.ipc.open_stream(response.data).read_all()


def pointers(response) -> list[str]:
    assert response.status_code == 422, response.data
    assert response.mimetype == "application/problem+json"
    return [error["pointer"] for error in response.json["errors"]]


@pytest.mark.parametrize("name", FILES)
def test_golden_requests_are_answered_as_they_are(client, name):
    for case in golden.lines(f"partitions/{name}"):
        # The standard library's JSON, so that the vectors' own spelling of numbers and halves of surrogate pairs goes out.
        response = client.post(PATH, data=json.dumps(case["request"]), content_type="application/json")
        expected = case["expected"]
        if "error" in expected:
            assert response.status_code == 422
            assert response.json["type"].endswith(":illegal-argument-exception")
            assert {name: response.json[name] for name in expected} == expected
        else:
            assert response.status_code == 200, response.data
            assert {name: response.json[name] for name in expected} == expected, case["id"]


def test_the_contracts_example(client):
    response = client.post(
        PATH, json={"partitioner": "java", "partitions_count": 12, "key_format": "string", "keys": ["order-1", None]}
    )
    assert response.json["partitions"][0] == client.get(f"{PATH}?key=order-1&partitions_count=12").json["partitions"][0]
    distribution = response.json["distribution"]
    assert sum(distribution["counts"]) == 2
    assert len(distribution["counts"]) == 12
    assert distribution["mean"] == pytest.approx(2 / 12)
    assert distribution["skew"] == pytest.approx(distribution["max"] / distribution["mean"])


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"partitions_count": 12}, "/keys"),
        ({"keys": []}, "/partitions_count"),
        ({"partitions_count": 0, "keys": []}, "/partitions_count"),
        ({"partitions_count": 2**31, "keys": []}, "/partitions_count"),
        ({"partitions_count": True, "keys": []}, "/partitions_count"),
        ({"partitions_count": 1.0, "keys": []}, "/partitions_count"),
        ({"partitions_count": "1", "keys": []}, "/partitions_count"),
        ({"partitions_count": 12, "keys": "a"}, "/keys"),
        ({"partitions_count": 12, "keys": ["a", 1]}, "/keys/1"),
        ({"partitions_count": 12, "keys": [1, True], "key_format": "int"}, "/keys/1"),
        ({"partitions_count": 12, "keys": [1, 1.0], "key_format": "int"}, "/keys/1"),
        ({"partitions_count": 12, "keys": [1, "1"], "key_format": "long"}, "/keys/1"),
        ({"partitions_count": 12, "keys": [0, 2**31], "key_format": "int"}, "/keys/1"),
        ({"partitions_count": 12, "keys": [0, 2**63], "key_format": "long"}, "/keys/1"),
        ({"partitions_count": 12, "keys": ["AA==", "AA"], "key_format": "base64"}, "/keys/1"),
        ({"partitions_count": 12, "keys": [True, 1], "key_format": "boolean"}, "/keys/1"),
        ({"partitions_count": 12, "keys": [1.0, "nan"], "key_format": "double"}, "/keys/1"),
        ({"partitions_count": 12, "keys": [1.0, 1e39], "key_format": "float"}, "/keys/1"),
        ({"partitions_count": 12, "keys": [], "key_format": "text"}, "/key_format"),
        ({"partitions_count": 12, "keys": [], "key_format": "uuid", "partitioner": "spark"}, "/key_format"),
        ({"partitions_count": 12, "keys": [], "partitioner": "jav"}, "/partitioner"),
        ({"partitions_count": 12, "keys": [], "colour": 1}, "/colour"),
        ({"partitions_count": 12, "keys": [], "counter": 1}, "/counter"),
        ({"partitions_count": 12, "keys": [], "partitioner": "java-2.3", "counter": 2**31}, "/counter"),
        ({"partitions_count": 12, "keys": [], "available_partitions": [0, 12]}, "/available_partitions/1"),
        ({"partitions_count": 12, "keys": [], "available_partitions": [0, True]}, "/available_partitions/1"),
        ({"partitions_count": 12, "keys": [], "kafka_version": "1.0"}, "/kafka_version"),
        ({"partitions_count": 12, "keys": [], "records": []}, "/records"),
        ({"partitions_count": 12, "records": [{"key": "a"}, {"key": 1}]}, "/records/1/key"),
        ({"partitions_count": 12, "records": [{}, {"partition": True}]}, "/records/1/partition"),
        ({"partitions_count": 12, "records": [{}, {"colour": 1}]}, "/records/1/colour"),
        ({"partitions_count": 12, "records": [{}, {"partition": 12}], "partitioner": "sarama"}, "/records/1/partition"),
        ({"partitions_count": 12, "keys": ["a"], "partitioner": "cassandra:murmur3"}, "/partitions_count"),
        ({"partitions_count": 12, "keys": ["a"], "partitioner": "streams:windowed", "window": {"start": 0}}, "/window/size"),
        ({"partitions_count": 12, "keys": [None], "partitioner": "java:sticky"}, "/sticky_batch_size"),
    ],
)
def test_what_is_wrong_is_pointed_at(client, body, pointer):
    assert pointer in pointers(client.post(PATH, json=body))


def test_options_of_records_are_pointed_at_in_the_first_record_that_has_them(client):
    records = [{"key": "a", "bytes": 1}, {"key": "b", "bytes": 2, "enable_switch": False}]
    response = client.post(PATH, json={"partitions_count": 6, "records": records})
    assert response.json["errors"] == [
        {
            "pointer": pointer,
            "detail": f"The partitioner java has no option {option}; it has random_seed, available_partitions.",
        }
        for pointer, option in (("/records/0/bytes", "bytes"), ("/records/1/enable_switch", "enable_switch"))
    ]


def test_half_a_surrogate_pair_may_name_the_topic(client):
    body = {"partitions_count": 12, "keys": ["order-1"], "topic_name": "\ud800"}
    assert client.post(PATH, json=body).json["partitions"] == [10]


def test_a_records_own_partition_wins(client):
    body = {"partitions_count": 12, "records": [{"key": "order-1"}, {"key": "order-1", "partition": 5}]}
    hashed = client.get(f"{PATH}?key=order-1&partitions_count=12").json["partitions"][0]
    assert client.post(PATH, json=body).json["partitions"] == [hashed, 5]


def test_the_answer_to_one_key_is_that_of_a_body_with_it(client):
    for query, body in (
        ("key=order-1&partitions_count=12", {"keys": ["order-1"], "partitions_count": 12}),
        ("partitions_count=12&random_seed=3", {"keys": [None], "partitions_count": 12, "random_seed": 3}),
        ("key=&partitions_count=12", {"keys": [""], "partitions_count": 12}),
        ("key=7&key_format=int&partitions_count=9", {"keys": [7], "key_format": "int", "partitions_count": 9}),
        ("key=true&key_format=boolean&partitions_count=9", {"keys": [True], "key_format": "boolean", "partitions_count": 9}),
        ("key=NaN&key_format=double&partitions_count=9", {"keys": ["NaN"], "key_format": "double", "partitions_count": 9}),
        ("key=a&partitioner=cassandra:murmur3", {"keys": ["a"], "partitioner": "cassandra:murmur3"}),
    ):
        assert client.get(f"{PATH}?{query}").data == client.post(PATH, json=body).data, query


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ("key=a", "/partitions_count"),
        ("key=a&partitions_count=abc", "/partitions_count"),
        ("key=a&partitions_count=1.0", "/partitions_count"),
        ("key=a&partitions_count=0", "/partitions_count"),
        ("key=a&partitions_count=2147483648", "/partitions_count"),
        ("key=a&partitions_count=1&partitions_count=2", "/partitions_count"),
        ("key=a&partitions_count=1&colour=red", "/colour"),
        ("key=x&key_format=int&partitions_count=1", "/key"),
        ("key=1_0&key_format=double&partitions_count=1", "/key"),
        ("key=AA&key_format=base64&partitions_count=1", "/key"),
        ("key=a&key_format=text&partitions_count=1", "/key_format"),
        ("key=a&partitions_count=1&partitioner=jav", "/partitioner"),
        ("key=a&partitions_count=1&counter=1", "/counter"),
        ("key=a&partitions_count=1&explain=yes", "/explain"),
    ],
)
def test_a_query_is_read_as_strictly_as_a_body(client, query, pointer):
    assert pointers(client.get(f"{PATH}?{query}")) == [pointer]


KEYS = st.lists(st.none() | st.text(max_size=6), max_size=10)
TYPES = {
    "string": [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())],
    "int": [pa.int32()],
    "short": [pa.int16()],
    "long": [pa.int64()],
    "double": [pa.float64()],
    "boolean": [pa.bool_()],
}
VALUES = {
    "string": st.text(max_size=6),
    "int": st.integers(-(2**31), 2**31 - 1),
    "short": st.integers(-(2**15), 2**15 - 1),
    "long": st.integers(-(2**63), 2**63 - 1),
    "double": st.floats(allow_nan=False, allow_infinity=False),
    "boolean": st.booleans(),
}


@pytest.mark.parametrize(("key_format", "kind"), [(f, kind) for f, kinds in TYPES.items() for kind in kinds], ids=str)
def test_an_arrow_stream_is_answered_as_the_same_keys_in_json(app, key_format, kind):
    client = app.test_client()

    @given(st.lists(st.none() | VALUES[key_format], max_size=10), st.integers(0, 3))
    @settings(max_examples=30)
    def check(values, cut):
        chunks = [pa.array(values[:cut], kind), pa.array(values[cut:], kind)]
        response = client.post(f"{PATH}?partitions_count=12", data=stream(pa.chunked_array(chunks, kind)), content_type=ARROW)
        body = {"partitions_count": 12, "key_format": key_format, "keys": values}
        assert arrow_answer(response).column("partition_id").to_pylist() == client.post(PATH, json=body).json["partitions"]

    check()


def test_binary_columns_are_the_keys_bytes(client):
    json_answer = client.post(PATH, json={"partitions_count": 12, "key_format": "base64", "keys": ["AAEC", "AwQF"]}).json
    for kind in (pa.binary(), pa.large_binary(), pa.binary(3)):
        column = pa.array([b"\0\1\2", b"\3\4\5"], kind)
        table = arrow_answer(client.post(f"{PATH}?partitions_count=12", data=stream(column), content_type=ARROW))
        assert table.schema == pa.schema({"partition_id": pa.int32()})
        assert table.column(0).to_pylist() == json_answer["partitions"]


def test_an_arrow_stream_is_answered_in_what_accept_names(client):
    body = stream(pa.array(["a", "b"]))
    for accept, mimetype in (("application/json", "application/json"), ("text/csv", "text/csv"), ("*/*", ARROW)):
        response = client.post(f"{PATH}?partitions_count=12", data=body, content_type=ARROW, headers={"Accept": accept})
        assert response.mimetype == mimetype


def test_json_is_answered_as_csv_when_asked(client):
    response = client.post(PATH, json={"partitions_count": 1, "keys": ["a", "b"]}, headers={"Accept": "text/csv"})
    assert response.text == '"record","partition_id"\n0,0\n1,0\n'


@pytest.mark.parametrize(
    ("query", "body", "pointer"),
    [
        ("partitions_count=abc", stream(pa.array(["a"])), "/partitions_count"),
        ("partitions_count=12&keys=a", stream(pa.array(["a"])), "/keys"),
        ("partitions_count=12&colour=red", stream(pa.array(["a"])), "/colour"),
        ("partitions_count=12&key_format=long", stream(pa.array([1], pa.int32())), "/key_format"),
        ("partitions_count=12&key_format=base64", stream(pa.array(["AA==", "A"])), "/keys/1"),
        ("partitions_count=12", stream(pa.array(["a"]), "value"), ""),
        ("partitions_count=12", stream(pa.array([[1]])), "/key"),
    ],
)
def test_what_is_wrong_with_a_stream_is_pointed_at(client, query, body, pointer):
    assert pointers(client.post(f"{PATH}?{query}", data=body, content_type=ARROW)) == [pointer]


@pytest.mark.parametrize(
    ("kind", "truth", "lie"),
    [
        (pa.binary(), np.array([0, 8, 9], np.int32).tobytes(), np.array([0, 8, 1], np.int32).tobytes()),
        (pa.string(), b"abcdefgh", b"abcdefg\xff"),
    ],
    ids=["backwards", "not UTF-8"],
)
def test_a_stream_that_lies_about_its_buffers_is_refused(client, kind, truth, lie):
    body = stream(pa.array(["abcdefgh", "x"], kind))
    assert body.count(truth) == 1
    response = client.post(f"{PATH}?partitions_count=12", data=body.replace(truth, lie), content_type=ARROW)
    assert pointers(response) == ["/key"]


def test_bytes_that_are_no_stream_are_a_400(client):
    assert client.post(f"{PATH}?partitions_count=12", data=b"nonsense", content_type=ARROW).status_code == 400
    assert client.post(PATH, data=b"key", content_type="text/plain").status_code == 415


def test_more_keys_than_allowed_are_refused_by_the_limits_name():
    client = create_app(Settings(max_keys=2, max_explained=1)).test_client()
    response = client.post(PATH, json={"partitions_count": 12, "keys": ["a"] * 3})
    assert pointers(response) == ["/keys"]
    assert "ALLOCATOR_MAX_KEYS = 2" in response.json["detail"]
    response = client.post(f"{PATH}?explain=true", json={"partitions_count": 12, "keys": ["a"] * 2})
    assert pointers(response) == ["/explain"]


def test_two_billion_partitions_are_counted_without_a_list(client):
    distribution = client.get(f"{PATH}?key=a&partitions_count=2147483647").json["distribution"]
    assert "counts" not in distribution
    assert (distribution["min"], distribution["max"]) == (0, 1)


def test_an_explanation_names_every_step(client):
    body = {"partitions_count": 12, "partitioner": "java-2.3", "counter": 7, "keys": ["order-1", None]}
    first, second = client.post(f"{PATH}?explain=true", json=body).json["explanation"]
    assert first["key_bytes_hex"] == b"order-1".hex()
    assert first["after_sign_rule"] == first["hash"] & 0x7FFFFFFF
    assert first["after_sign_rule"] % first["modulo"] == first["result"]
    assert "counter 7" in second["rule"]


def test_the_table_of_partitioners_says_what_each_does(client):
    table = client.get("/v1/partitioners").json["partitioners"]
    assert [line["partitioner"] for line in table] == [partitioner.name for partitioner in PARTITIONERS]
    for line in table:
        assert all(line[name] for name in ("client", "setting", "null_key", "empty_key", "explicit_partition", "summary"))
        assert set(line["key_formats"]) <= set(FORMATS)
    assert np.unique([line["partitioner"] for line in table]).size == len(table) == 78


@pytest.mark.parametrize(
    ("partitioner", "rule", "hash_", "partition"),
    [
        ("librdkafka:murmur2", "as an empty key, murmur2, seed 0x9747b28c, mask", 275646681, 9),
        ("kafka-go:murmur2-consistent", "as an empty key, murmur2, seed 0x9747b28c, mask", 275646681, 9),
        ("librdkafka:fnv1a", "as an empty key, FNV-1a 32, rem-neg", -2128831035, 3),
        ("librdkafka:consistent", "as an empty key, CRC-32 (IEEE), unsigned", 0, 0),
        ("spark", "the hash of null is 42, pmod", 42, 6),
    ],
)
def test_a_null_key_that_is_hashed_is_explained_like_a_key(client, partitioner, rule, hash_, partition):
    body = {"partitioner": partitioner, "partitions_count": 12, "keys": [None]}
    (step,) = client.post(f"{PATH}?explain=true", json=body).json["explanation"]
    assert step["rule"].startswith(f"null key: {rule}: ")
    assert (step["key_bytes_hex"], step["hash"], step["modulo"], step["result"]) == (None, hash_, 12, partition)


def test_keys_need_no_batch_size(client):
    body = {"partitioner": "java:sticky", "partitions_count": 12, "keys": ["order-1"]}
    assert client.post(PATH, json=body).json["partitions"] == [10]
    assert client.post(PATH, json={**body, "keys": [None]}).status_code == 422


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("org.apache.kafka.clients.producer.internals.DefaultPartitioner", "java"),
        ("org.apache.kafka.clients.producer.RoundRobinPartitioner", "java:round-robin"),
    ],
)
def test_a_java_class_is_accepted_as_a_partitioner(client, alias, name):
    answer = client.post(PATH, json={"partitioner": alias, "partitions_count": 12, "keys": ["a"]}).json
    assert answer["partitioner"] == name
