"""Each question of the service is a function of the library, and its answer is the service's."""

from __future__ import annotations

import copy
import pickle
from base64 import b64decode

import pyarrow as pa
import pytest

import partition_allocator as library
from partition_allocator import Answer
from tests.contract.test_examples import POSTS, example_of

PLACED = {"orders": [[2, 1], [0, 1]]}
TO_NO_BROKER = {"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [9]}]}


def without(body: dict, *names: str) -> dict:
    return {name: value for name, value in body.items() if name not in names}


def plan(body):
    rows = body["histogram"]
    counts, current = body["partitions_counts"], body["current_partitions_count"]
    keys, records = [row["key"] for row in rows], [row["records"] for row in rows]
    return library.plan(keys, counts, records=records, current_partitions_count=current, max_skew=body["max_skew"])


CALLS = {
    "/v1/partitioner-comparisons": lambda b: library.compare(b["keys"], b["partitions_count"], b["partitioners"]),
    "/v1/partitioner-fingerprints": lambda b: library.fingerprint(
        [each["key"] for each in b["observations"]], [each["partition_id"] for each in b["observations"]], b["partitions_count"]
    ),
    "/v1/partition-count-plans": plan,
    "/v1/keyless-distributions": lambda b: library.keyless(**b),
    "/v1/co-partitionings": lambda b: library.co_partitioning(**b),
    "/v1/coordinators": lambda b: library.coordinator(**b),
    "/v1/decodings": lambda b: library.decode(b["kind"], b64decode(b["bytes_base64"])),
    "/v1/descriptions": lambda b: library.read(*b["texts"]),
    "/v1/group-assignments": lambda b: library.assign(**b),
    "/v1/connect-assignments": lambda b: library.assign_connect(**b),
    "/v1/streams-assignments": lambda b: library.assign_streams(**b),
    "/v1/member-count-plans": lambda b: library.member_counts(**b),
    "/v1/group-rebalances": lambda b: library.rebalances(**b),
    "/v1/group-histories": lambda b: library.history(b["group_id"], *b["texts"], names=b["names"]),
    "/v1/key-traces": lambda b: library.trace(**b),
    "/v1/replica-placements": lambda b: library.place(**b),
    "/v1/placement-audits": lambda b: library.audit(**b),
    "/v1/placement-checks": lambda b: library.check(**b),
    "/v1/reassignments": lambda b: library.reassign(**b),
    "/v1/log-dir-plans": lambda b: library.log_dirs(**b),
    "/v1/reassignments:lint": lambda b: library.lint(**b),
}


@pytest.mark.parametrize("path", sorted(POSTS.keys() - {"/v1/partitions"}))
def test_the_answer_is_the_services(client, path):
    body = example_of(POSTS[path])
    answer = CALLS[path](body)
    assert answer == client.post(path, json=body).json
    assert type(answer) is Answer
    assert len(repr(answer)) < 500
    for other in (copy.copy(answer), copy.deepcopy(answer), pickle.loads(pickle.dumps(answer))):  # noqa: S301 - our own
        assert (other, other.path) == (answer, path)


@pytest.mark.parametrize("name", ["partitioners", "assignors", "placers"])
def test_the_catalogue_is_the_services(client, name):
    assert getattr(library, name)() == client.get(f"/v1/{name}").json


def test_placements_may_be_lists_or_the_table_of_place():
    table = library.place(4, 6, 2, random_seed=3, topic_name="orders", output="pandas")
    lists = {"orders": [list(map(int, replicas)) for replicas in table["replicas"]]}
    rows = [{"topic_name": "orders", "placements": [{"partition_id": i, "replicas": r} for i, r in enumerate(lists["orders"])]}]
    plans = [library.reassign(3, topics) for topics in (table, pa.Table.from_pandas(table), lists, rows)]
    assert all(each == plans[0] for each in plans)
    audits = [library.audit(4, of) for of in (table, lists["orders"])]
    assert audits[0] == audits[1]
    assert audits[0]["possible"]
    assert library.lint(plans[0]["reassignment"], 4, table)["counts"]["error"] == 0


@pytest.mark.parametrize("output", ["arrow", "pandas"])
def test_answers_with_a_table_come_as_tables(output):
    pytest.importorskip("pandas")
    keys = [f"k{i}" for i in range(60)]
    tables = [
        library.compare(keys, 6, ["java", "sarama"], output=output),
        library.fingerprint(keys, library.partitions(keys, 6), 6, output=output),
        library.plan(keys, [6, 12], output=output),
        library.keyless(4, "round-robin", output=output),
        library.rebalances({"t": 3}, 2, output=output),
        library.audit(3, [[0, 1], [1, 2]], output=output),
        library.reassign(2, PLACED, output=output),
        library.lint(
            {"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [9]}]}, 3, PLACED, output=output
        ),
    ]
    assert all(len(table) > 0 for table in tables)
