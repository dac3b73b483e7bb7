"""The library gives the service's answers, from and to NumPy, pandas and Arrow."""

from __future__ import annotations

import doctest
import re
import uuid
from datetime import date
from itertools import islice

import numpy as np
import pyarrow as pa
import pytest

import partition_allocator
from partition_allocator import Rejected, assign, fingerprint, library, partitions, place
from tests.support.golden import PROJECT, lines

KEYS = ["order-1", None, "Grüße", ""]


def test_the_guide_is_true():
    failed, tried = doctest.testfile(str(PROJECT / "docs" / "library.md"), module_relative=False)
    assert (failed, tried > 5) == (0, True)
    for module in (partition_allocator, library):
        failed, tried = doctest.testmod(module)
        assert (failed, tried > 0) == (0, True)


def test_every_name_is_there_and_no_other():
    assert all(hasattr(partition_allocator, name) for name in partition_allocator.__all__)
    assert dir(partition_allocator) == sorted(partition_allocator.__all__)
    functions = {name for name, of in vars(library).items() if getattr(of, "__module__", "") == library.__name__}
    assert functions | {"Answer", "Rejected"} == set(partition_allocator.__all__)
    for name in functions:
        assert getattr(partition_allocator, name).__doc__.count("\n"), name
    with pytest.raises(AttributeError, match="no attribute 'partition'"):
        partition_allocator.partition  # noqa: B018


@pytest.mark.parametrize("partitioner", ["java", "librdkafka:consistent_random", "sarama"])
def test_keys_of_any_container_get_the_services_partitions(client, partitioner):
    pd = pytest.importorskip("pandas")
    body = {"partitioner": partitioner, "partitions_count": 12, "keys": KEYS, "random_seed": 5}
    expected = client.post("/v1/partitions", json=body).json["partitions"]
    for keys in (
        KEYS,
        tuple(KEYS),
        np.array(KEYS, object),
        pd.Series(KEYS),
        pa.array(KEYS),
        pa.chunked_array([KEYS[:2], KEYS[2:]]),
    ):
        answer = partitions(keys, 12, partitioner, random_seed=5)
        assert answer.dtype == np.int32
        assert answer.tolist() == expected


def test_numbers_are_serialized_as_the_key_format_says(client):
    for key_format, keys in (
        ("long", [1, 2, 3]),
        ("int", [1, 2, 3]),
        ("short", [1, 2, 3]),
        ("double", [1.5, 2.0]),
        ("float", [1.5]),
    ):
        body = {"partitions_count": 12, "key_format": key_format, "keys": keys}
        assert partitions(keys, 12, key_format=key_format).tolist() == client.post("/v1/partitions", json=body).json["partitions"]
    assert partitions([1, 2, 3], 12).tolist() == partitions([1, 2, 3], 12, key_format="long").tolist()
    assert partitions([b"order-1"], 12).tolist() == partitions(["order-1"], 12).tolist()
    text = str(uuid.UUID(int=7))
    assert partitions([text], 12, key_format="uuid").tolist() == partitions([text], 12).tolist()


@pytest.mark.parametrize(
    ("key", "shown"), [("order-1", '["order-1"]'), (b"a", "[b'a']"), (7, "[7]"), (None, "[None]"), (1.5, "[1.5]")]
)
def test_a_single_key_is_an_error_that_shows_the_list(key, shown):
    with pytest.raises(TypeError, match=re.escape(shown)):
        partitions(key, 6)
    with pytest.raises(TypeError, match="partition_ids must be a list"):
        fingerprint(["a"], 3)


def test_columns_of_several_lengths_are_an_error_that_gives_the_lengths():
    with pytest.raises(ValueError, match=r"^Every column needs a value for each key: key has 1, partition_id has 2\.$"):
        fingerprint(["a"], [0, 1])


def test_integers_that_pandas_has_made_doubles_are_an_error_that_names_the_remedies():
    pd = pytest.importorskip("pandas")
    keys = pd.Series([1, 2, None, 2**53])
    assert keys.dtype == float
    for container in (keys, keys.to_numpy()):
        with pytest.raises(TypeError, match=r"key_format.*Int64"):
            partitions(container, 6)
    expected = partitions([1, 2, None, 2**53], 6).tolist()
    assert partitions(keys.astype("Int64"), 6).tolist() == expected
    assert partitions(keys, 6, key_format="long").tolist() == expected
    assert partitions(keys, 6, key_format="double").tolist() == partitions([1.0, 2.0, None, 2.0**53], 6).tolist() != expected
    assert len(partitions(pd.Series([1.5, None]), 6)) == 2, "these are doubles"
    assert len(partitions(pd.Series([1.0, 2.0]), 6)) == 2, "none is missing"


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: assign("orders", 3), "topics"),
        (lambda: assign({"orders": 3}, "c1"), "members"),
        (lambda: assign({"orders": 3}, [1]), "members"),
        (lambda: place("3", 1, 1), "brokers"),
        (lambda: partition_allocator.audit(3, "0,1"), "placements"),
        (lambda: partition_allocator.reassign(3, ["orders"]), "topics"),
        (lambda: partition_allocator.lint("plan.json", 3, {"orders": [[0]]}), "reassignment"),
        (lambda: partition_allocator.rebalances({"orders": 3}, 2, {"at_ms": 5}), "events"),
        (lambda: partitions(["a", 1], 6), "keys"),
        (lambda: partitions({"a", "b"}, 6), "keys"),
        (lambda: partitions(pa.table({"key": ["a"]}), 6), "keys"),
    ],
)
def test_an_argument_of_a_wrong_type_is_named(call, name):
    with pytest.raises(TypeError, match=f"^{name} must be"):
        call()


def test_numbers_of_numpy_are_numbers():
    assert assign({"orders": np.int64(7)}, np.int64(3)) == assign({"orders": 7}, 3)
    assert place(np.int32(4), np.int64(6), np.int64(2)) == place(4, 6, 2)
    assert partition_allocator.keyless(np.int64(4)) == partition_allocator.keyless(4)
    with pytest.raises(ValueError, match="members must not be negative: -1"):
        assign({"orders": 7}, -1)


def test_no_keys_have_no_partitions():
    assert partitions([], 12).tolist() == []
    assert len(partitions([None, None], 12, key_format="base64")) == 2


@pytest.mark.parametrize("container", [list, pa.array, lambda keys: pa.chunked_array([keys])])
def test_a_partition_that_the_client_draws_is_masked(container):
    """Unless a field says how."""
    found = partitions(container(["a", None]), 12)
    assert np.ma.getmaskarray(found).tolist() == [False, True]
    assert not np.ma.is_masked(partitions(container(["a", None]), 12, random_seed=5))
    assert not np.ma.is_masked(partitions(container(["a", None]), 12, "kafkajs:legacy", counter=1))
    assert not np.ma.is_masked(partitions(container(["a", "b"]), 12))


def test_what_the_service_rejects_is_an_error_with_its_place():
    with pytest.raises(Rejected, match="partitions_count") as raised:
        partitions(["a"], 0)
    assert raised.value.problem["errors"][0]["pointer"] == "/partitions_count"
    with pytest.raises(Rejected, match="gives tokens"):
        partitions(["a"], 3, "cassandra:murmur3")
    with pytest.raises(Rejected):
        place(2, 3, 5)
    with pytest.raises((ValueError, TypeError)):
        partitions([date(2026, 1, 1)], 3)
    with pytest.raises(ValueError, match="'arrow' or 'pandas'"):
        assign({"orders": 3}, 2, output="csv")


@pytest.mark.parametrize("form", ["arrow", "pandas"])
def test_an_assignment_is_what_the_next_one_starts_from(form):
    pytest.importorskip("pandas")
    before = assign({"orders": 7, "payments": 3}, 3, "cooperative-sticky", output=form)
    after = assign({"orders": 7, "payments": 3}, ["member-1", "member-3"], "cooperative-sticky", owned_partitions=before)
    assert after["movement"]["retained"] == sum(member != "member-2" for member in list(map(str, rows(before))))
    assert after["movement"]["moved"] == 0, "the first of two rebalances"


def rows(table):
    return table.column("member_id").to_pylist() if isinstance(table, pa.Table) else table["member_id"]


def test_rows_may_be_tables(client):
    pd = pytest.importorskip("pandas")
    topics = [{"topic_name": "orders", "partitions_count": 5}]
    members = [{"member_id": "a", "rack_id": None}, {"member_id": "b", "rack_id": "r"}]
    expected = client.post("/v1/group-assignments", json={"assignor": "range", "topics": topics, "members": members}).json
    for table in (pa.Table.from_pylist, pd.DataFrame):
        assert assign(table(topics), table(members)) == expected
    brokers = [{"broker_id": i, "rack_id": f"rack-{i % 2 + 1}"} for i in range(4)]
    assert place(pd.DataFrame(brokers), 6, 2, random_seed=1) == place(4, 6, 2, racks=2, random_seed=1)
    assert place(4, 6, 2, output="pandas").columns.tolist() == ["topic_name", "partition_id", "replicas"]


def test_the_writers_of_a_topic_are_found():
    keys = [f"k{i}" for i in range(40)]
    answer = fingerprint(keys, partitions(keys, 12, "sarama"), 12, partitioners=["java", "sarama"])
    assert [writer["partitioners"] for writer in answer["writers"]] == [["sarama"]]


def test_golden_vectors_hold_here_too():
    for case in islice(lines("placement/striped"), 20):
        request = dict(case["request"])
        if "partitions_count" in request and "error" not in case["expected"]:
            answer = place(request.pop("brokers"), request.pop("partitions_count"), request.pop("replication_factor"), **request)
            assert answer["placements"] == case["expected"]["placements"]


def test_variables_of_a_server_mean_nothing_here(monkeypatch):
    monkeypatch.setenv("ALLOCATOR_MAX_KEYS", "1")
    assert len(partitions(["a", "b"], 3)) == 2
