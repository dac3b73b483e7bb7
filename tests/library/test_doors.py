"""What HTTP refuses the library refuses with the same problem; what its arguments alone can have is named by the argument."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

import partition_allocator as library
from partition_allocator import Rejected

TOPICS = {"orders": 3}
BIG = 2**64


@pytest.mark.parametrize(
    ("path", "body", "call"),
    [
        (
            "/v1/partitions",
            {"partitions_count": 6, "key_format": "int", "keys": [1, 2**31]},
            lambda: library.partitions([1, 2**31], 6, key_format="int"),
        ),
        (
            "/v1/partitions",
            {"partitions_count": 6, "key_format": "long", "keys": [1, BIG]},
            lambda: library.partitions([1, BIG], 6, key_format="long"),
        ),
        (
            "/v1/partitions",
            {"partitions_count": 6, "key_format": "long", "keys": [None, "1"]},
            lambda: library.partitions([None, "1"], 6, key_format="long"),
        ),
        (
            "/v1/partitions",
            {"partitions_count": 6, "key_format": "boolean", "keys": [True, 2]},
            lambda: library.partitions([True, 2], 6, key_format="boolean"),
        ),
        ("/v1/partitions", {"partitions_count": BIG, "keys": ["a"]}, lambda: library.partitions(["a"], BIG)),
        (
            "/v1/partitions",
            {"partitions_count": 6, "key_format": "float", "keys": [1.5, 1e300]},
            lambda: library.partitions([1.5, 1e300], 6, key_format="float"),
        ),
        (
            "/v1/partitions",
            {"partitions_count": 6, "key_format": ["int"], "keys": ["a"]},
            lambda: library.partitions(["a"], 6, key_format=["int"]),
        ),
        (
            "/v1/partition-count-plans",
            {"partitions_counts": [6], "key_format": "int", "histogram": [{"key": 2**31, "records": 2, "bytes": 5}]},
            lambda: library.plan([2**31], [6], records=[2], bytes=[5], key_format="int"),
        ),
        (
            "/v1/partitioner-fingerprints",
            {"key_format": "int", "observations": [{"key": 2**31, "partition_id": 2}]},
            lambda: library.fingerprint([2**31], [2], key_format="int"),
        ),
        (
            "/v1/member-count-plans",
            {"topics": [{"topic_name": "orders", "partitions_count": 3}], "members": [], "members_counts": 5},
            lambda: library.member_counts(TOPICS, 0, members_counts=5),
        ),
        (
            "/v1/placement-audits",
            {"brokers": [{"broker_id": 0}], "placements": [{"partition_id": 0, "replicas": [0], "replica": 1}]},
            lambda: library.audit(1, [{"partition_id": 0, "replicas": [0], "replica": 1}]),
        ),
        (
            "/v1/reassignments",
            {"brokers": [{"broker_id": BIG}], "topics": []},
            lambda: library.reassign([{"broker_id": BIG}], {}),
        ),
        (
            "/v1/decodings",
            {"kind": "group_record", "value_base64": None},
            lambda: library.decode("group_record", value_base64=None),
        ),
    ],
)
def test_the_same_problem(client, path, body, call):
    problem = client.post(path, data=json.dumps(body), content_type="application/json").json
    del problem["request_id"]
    with pytest.raises(Rejected) as raised:
        call()
    assert raised.value.problem == problem
    assert str(raised.value).startswith(problem["errors"][0]["pointer"])


def test_keys_that_arrow_cannot_hold_have_the_services_partitions(client):
    """Half a surrogate pair, which Java's strings can have; and a number of Java that JSON writes as text."""
    for keys, key_format in ((["\ud800", None, "Grüße"], None), ([1.5, "NaN"], "double"), ((1, 2**53 + 1), "double")):
        body = {"partitions_count": 12, "keys": list(keys), "key_format": key_format or "string"}
        assert (
            np.ma.getdata(library.partitions(keys, 12, key_format=key_format)).tolist()
            == client.post("/v1/partitions", json=body).json["partitions"]
        )
    rows = [{"key": "\ud800", "partition_id": 1}, {"key": "b", "partition_id": 2}]
    answer = library.fingerprint(iter(["\ud800", "b"]), [1, 2], 12)
    assert answer == client.post("/v1/partitioner-fingerprints", json={"observations": rows, "partitions_count": 12}).json


def test_a_histogram_keeps_its_key_format():
    rows = [{"key": 1, "records": 3}, {"key": 2, "records": 1}]
    by_columns = library.plan([1, 2], [6], records=[3, 1], key_format="long")
    assert library.plan(partitions_counts=[6], histogram=rows, key_format="long") == by_columns


def test_a_tombstone_has_no_value(client):
    body = {"kind": "group_record", "key_base64": "AAMAAWc=", "value_base64": None}
    assert library.decode("group_record", key=bytes.fromhex("0003000167")) == client.post("/v1/decodings", json=body).json


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: library.assign(TOPICS, 2.5), "members must be a number"),
        (lambda: library.assign(TOPICS, {"a", "b"}), "members must be a number"),
        (
            lambda: library.assign(TOPICS, 1, owned_partitions=[{"member_id": "a", "partition_id": 0}]),
            "owned_partitions must have a topic_name",
        ),
        (
            lambda: library.assign(TOPICS, 1, owned_partitions=[{"member_id": "a", "topic_name": "t", "partition_id": "0"}]),
            "owned_partitions must have a p",
        ),
        (lambda: library.assign(TOPICS, 1, compare={"range"}), "compare cannot be written as JSON: it has a value of type set"),
        (lambda: library.rebalances(TOPICS, 1, [{"at_ms": 1j}]), "events cannot be written as JSON: .* complex"),
        (lambda: library.fingerprint(["a"], ["0"], 6), "partition_ids must be integers, not string"),
        (lambda: library.fingerprint(["a"], [0.5], 6), "partition_ids must be integers"),
        (lambda: library.plan(["a"], [6], records=[True]), "records must be integers, not bool"),
        (lambda: library.plan(None, [6], records=[1]), "keys must be"),
        (lambda: library.partitions([BIG], 6), "keys must be of one type"),
        (lambda: library.partitions(np.array([1j]), 6), "keys must be of one type"),
        (lambda: library.decode("assignment", "AAEA"), "bytes must be bytes, not str"),
        (lambda: library.reassign(3, {"orders": 5}), r"topics\['orders'\] must be"),
        (lambda: library.place(6, 3, 2, racks="2"), "racks must be an integer"),
    ],
)
def test_an_argument_that_no_body_has_is_named(call, error):
    with pytest.raises(TypeError, match=f"^{error}"):
        call()


@pytest.mark.parametrize("racks", [0, -1])
def test_brokers_are_on_a_rack_at_least(racks):
    with pytest.raises(ValueError, match=r"^racks must"):
        library.place(6, 3, 2, racks=racks)
    with pytest.raises(ValueError, match=r"^racks is for a number of brokers"):
        library.place([{"broker_id": 0}], 1, 1, racks=2)


def test_lists_may_be_ranges_arrays_and_columns():
    counts = library.member_counts(TOPICS, 1, members_counts=[1, 2])
    assert (
        library.member_counts(TOPICS, 1, members_counts=range(1, 3))
        == library.member_counts(TOPICS, pa.array(["member-1"]), members_counts=np.array([1, 2]))
        == counts
    )
    placed = [[0, 1], [1, 2], [2, 0]]
    expected = library.audit(3, placed)
    assert all(
        library.audit(3, of) == expected for of in (np.array(placed), [np.array(each) for each in placed], pa.array(placed))
    )
    assert library.audit(3, np.array(placed)[:, ::-1]) == library.audit(3, [each[::-1] for each in placed])


def test_tables_with_missing_values_are_rows_without_them():
    pd = pytest.importorskip("pandas")
    members = [
        {"member_id": "a", "generation_id": 4, "owned_partitions": [{"topic_name": "orders", "partition_ids": [0]}]},
        {"member_id": "b", "owned_partitions": [{"topic_name": "orders", "partition_ids": [1]}]},
    ]
    expected = library.assign(TOPICS, members, "cooperative-sticky")
    for table in (pa.Table.from_pylist, pd.DataFrame):
        assert library.assign(TOPICS, table(members), "cooperative-sticky") == expected
    rounds = [
        {
            "connectors": [{"connector_name": "c", "tasks_count": 2}],
            "workers": [{"member_id": "w", "connectors": []}, {"member_id": "v"}],
        }
    ]
    assert library.assign_connect(pa.Table.from_pylist(rounds)) == library.assign_connect(rounds)
    with pytest.raises(TypeError, match=r"^members must have one type in each column"):
        library.assign(TOPICS, pd.DataFrame({"member_id": ["a", 1]}))


def test_a_table_of_placements_has_the_sizes_of_partitions():
    rows = [{"topic_name": "t", "partition_id": i, "replicas": [i % 2], "partition_bytes": 100 * i} for i in range(3)]
    topics = [
        {
            "topic_name": "t",
            "placements": [{"partition_id": i, "replicas": [i % 2]} for i in range(3)],
            "partition_bytes": [0, 100, 200],
        }
    ]
    answers = [library.reassign(3, of, objective="even", balance="bytes") for of in (rows, pa.Table.from_pylist(rows), topics)]
    assert answers[0] == answers[1] == answers[2]
    with pytest.raises(Rejected, match=r"^/topics/0/partition_bytes/1"):
        library.reassign(3, [rows[0], {**rows[1], "partition_bytes": None}])
    current = {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [0, 1]}]}
    assert library.reassign(2, reassignment=current)["moves"]["replicas"] == 0


def test_explanations_and_all_forms_of_a_placement(client):
    for path, body, call in (
        ("/v1/coordinators", {"group_id": "g"}, library.coordinator),
        (
            "/v1/replica-placements",
            {"brokers": [{"broker_id": 0}], "topics": [{"topic_name": "t", "partitions_count": 2, "replication_factor": 1}]},
            library.place,
        ),
    ):
        answer = call(**body, explain=True)
        assert "explanation" in answer
        assert answer == client.post(f"{path}?explain=true", json=body).json
