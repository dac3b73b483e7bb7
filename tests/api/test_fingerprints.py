"""``/v1/partitioner-fingerprints`` over HTTP."""

from __future__ import annotations

import io
import math
import random
from fractions import Fraction

import pyarrow as pa
import pyarrow.csv
import pytest

from service.app import create_app
from service.config import Settings
from service.http.media_types import ARROW_STREAM
from service.planner.attribution.observations import matches
from tests.api.test_comparisons import stream
from tests.reference import fingerprints as twin
from tests.support.questions import ask

PATH = "/v1/partitioner-fingerprints"
KEYS = [f"order-{i}" for i in range(100)]


def seen(name: str = "java", n: int = 12, keys=KEYS) -> list[dict]:
    placed = ask({"partitioner": name, "partitions_count": n, "keys": keys}).partitions.tolist()
    return [{"key": key, "partition_id": partition} for key, partition in zip(keys, placed, strict=True)]


def test_one_writer_is_identified_and_the_numbers_are_those_of_counting(client):
    answer = client.post(f"{PATH}?detail=full", json={"partitions_count": 12, "observations": seen()}).json
    assert answer["verdict"] == "identified"
    assert answer["conclusion"] == (
        "java (or one of 16 others that no key distinguishes from it) with 12 partitions explains all of 100 different pairs."
    )
    (writer,) = answer["writers"]
    assert "librdkafka:murmur2_random" in writer["partitioners"]
    assert (writer["share"], writer["share_high"]) == (1, 1), "exactly, because nothing else explains any of them"
    assert writer["share_low"] == pytest.approx(100 / (100 + 1.96**2), abs=1e-3)
    first, second = answer["candidates"][:2]
    assert (first["pairs_explained"], first["pairs"], first["ruled_out"]) == (100, 100, False)
    assert first["log10_chance"] == pytest.approx(-100 * math.log10(12))
    exact = float(twin.tail(second["pairs_explained"], 100, Fraction(1, 12)))
    assert second["chance_probability"] == pytest.approx(exact)
    assert second["chance_of_any"] == pytest.approx(min(1, exact * answer["hypotheses"]))
    assert second["ruled_out"]
    assert answer["hypotheses"] == len(answer["candidates"])
    assert answer["unexplained"] == {"share": 0.0, "share_low": 0.0, "share_high": 0.0, "pairs": 0, "examples": []}
    assert (answer["observations_count"], answer["pairs_count"], answer["keys_count"]) == (100, 100, 100)


def test_one_sample_is_never_proof(client):
    body = {"partitions_count": 15, "observations": [{"key": "TT0124", "partition_id": 10}]}
    answer = client.post(PATH, json=body).json
    assert answer["verdict"] == "undecided"
    assert answer["conclusion"].startswith("One sample is never proof: 3 candidates are left")
    assert answer["more_samples"] > 0
    assert answer["writers"] == []
    assert answer["unexplained"] is None
    body["observations"] *= 1000
    assert client.post(PATH, json=body).json["verdict"] == "undecided", "nor is the same one a thousand times"


def test_a_wrong_writer_is_named_with_its_share_and_records_of_its(client):
    observations = seen(keys=[f"k{i}" for i in range(1000)])
    for i, one in enumerate(seen("librdkafka:consistent_random", keys=[f"k{i}" for i in range(1000)])):
        if i % 25 < 2:
            observations[i] = one
    answer = client.post(PATH, json={"observations": observations}).json
    assert answer["verdict"] == "mixture"
    assert answer["conclusion"].startswith(
        "With 12 partitions: 92.2% java (90.2% to 93.8%), 7.77% librdkafka:consistent_random (6.15% to 9.77%), at 95% confidence."
    )
    assert answer["partitions_count"] == 12
    for example in answer["writers"][1]["examples"]:
        assert example["row"] % 25 < 2
        assert observations[example["row"]] == {"key": example["key"], "partition_id": example["partition_id"]}


def test_nothing_is_made_of_records_that_chance_placed(client):
    draw = [(i * i * 7919 + i // 3) % 11 for i in range(400)]
    observations = [{"key": f"k{i}", "partition_id": p} for i, p in enumerate(draw)]
    answer = client.post(PATH, json={"observations": observations}).json
    assert answer["verdict"] == "unexplained"
    assert answer["partitions_count"] is None
    assert answer["candidates_count"] == 0
    assert answer["conclusion"].startswith("No partitioner explains more of 400 different pairs than chance would. Also tried: ")


def test_explain_says_of_each_record_who_puts_it_there_and_who_does_not(client):
    body = {"partitions_count": 15, "observations": [{"key": "TT0124", "partition_id": 9}, {"partition_id": 1}]}
    body["partitioners"] = ["java", "librdkafka:consistent_random", "spark"]
    steps = client.post(f"{PATH}?explain=true", json=body).json["explanation"]
    assert steps[0] == {
        "partition_id": 9,
        "explained_by": ["librdkafka:consistent_random", "spark"],
        "elsewhere": {"java": 10},
    }
    assert set(steps[1]["elsewhere"]) == {"spark"}, "the others draw where a record without a key goes"


@pytest.mark.parametrize("kind", [pa.int8(), pa.int32(), pa.int64(), pa.uint32()])
def test_an_arrow_stream_is_answered_as_json_is(client, kind):
    observations = seen()
    columns = {
        "partition_id": pa.array([one["partition_id"] for one in observations], kind),
        "key": pa.array([one["key"] for one in observations]),
    }
    query = {"max_partitions_count": 50, "examples": 1}
    streamed = client.post(PATH, data=stream(**columns), query_string=query, content_type=ARROW_STREAM)
    assert streamed.json == client.post(PATH, json={"observations": observations, **query}).json


@pytest.mark.parametrize(
    ("columns", "detail"),
    [
        ({"key": ["a"]}, "expected key and partition_id"),
        ({"key": ["a"], "partition_id": ["1"]}, "A column of string cannot hold partition ids"),
        (
            {"key": ["a", "b"], "partition_id": pa.array([0, None], pa.int32())},
            "/observations/1/partition_id: Field may not be null",
        ),
        ({"key": ["a", "b"], "partition_id": [0, -1]}, "/observations/1/partition_id: -1 is not a partition"),
        ({"key": ["a", "b"], "partition_id": [0, 2**40]}, "/observations/1/partition_id: 1099511627776 is not a partition"),
    ],
)
def test_a_stream_with_other_columns_is_refused(client, columns, detail):
    response = client.post(PATH, data=stream(**columns), content_type=ARROW_STREAM)
    assert response.status_code == 422
    assert detail in response.text


def test_the_table_of_candidates_is_given_as_csv_and_as_arrow(client):
    body = {"partitions_count": 12, "observations": seen()[:3]}
    candidates = client.post(PATH, json=body).json["candidates"]
    as_csv = pa.csv.read_csv(io.BytesIO(client.post(PATH, json=body, headers={"Accept": "text/csv"}).data))
    as_arrow = pa.ipc.open_stream(client.post(PATH, json=body, headers={"Accept": ARROW_STREAM}).data).read_all()
    assert as_csv.column_names == as_arrow.column_names
    assert as_arrow["pairs_explained"].to_pylist() == [one["pairs_explained"] for one in candidates]
    assert as_arrow["partitioners"][0].as_py().split()[0] == "java"


@pytest.mark.parametrize(
    ("change", "pointer", "detail"),
    [
        ({"observations": []}, "/observations", "There are no observations"),
        ({"observations": [{"key": "a"}]}, "/observations/0/partition_id", "Missing data"),
        ({"observations": [{"key": "a", "partition_id": -1}]}, "/observations/0/partition_id", "greater than or equal to 0"),
        ({"observations": [{"key": "a", "partition_id": 1.0}]}, "/observations/0/partition_id", "Not an integer"),
        ({"observations": [{"key": 1, "partition_id": 1}]}, "/observations/0/key", "1 is not a string"),
        ({"observations": [{"key": "a", "partition_id": 1, "topic": "t"}]}, "/observations/0/topic", "Unknown field"),
        ({"observations": [{"key": "a", "partition_id": 12}]}, "/observations/0/partition_id", "not in [0, 12)"),
        ({"max_partitions_count": 50}, "/max_partitions_count", "Not allowed together with partitions_count"),
        ({"partitioners": ["jaava"]}, "/partitioners/0", "There is no partitioner"),
        ({"partitioners": ["java:round-robin"]}, "/partitioners", "in 0 ways"),
        ({"max_candidates": 0}, "/max_candidates", "greater than or equal to 1"),
    ],
)
def test_errors_are_reported_at_their_field(client, change, pointer, detail):
    response = client.post(PATH, json={"partitions_count": 12, "observations": seen()[:2], **change})
    assert response.status_code == 422, response.text
    (error,) = response.json["errors"]
    assert error["pointer"] == pointer
    assert detail in error["detail"]


def test_a_partition_beyond_the_largest_count_is_refused(client):
    body = {"max_partitions_count": 10, "observations": [{"key": "a", "partition_id": 10}]}
    assert client.post(PATH, json=body).json["errors"][0]["pointer"] == "/max_partitions_count"
    (error,) = client.post(PATH, json={"observations": [{"key": "a", "partition_id": 2**31 - 1}]}).json["errors"]
    assert error["pointer"] == "/observations/0/partition_id"
    assert error["detail"].endswith("at most 100000 partitions are tried: set partitions_count.")


def test_more_than_can_be_explained_one_by_one_is_refused():
    client = create_app(Settings(max_explained=2, max_keys=50, auth="off")).test_client()
    assert "ALLOCATOR_MAX_EXPLAINED" in client.post(f"{PATH}?explain=true", json={"observations": seen()[:3]}).text
    assert "ALLOCATOR_MAX_KEYS" in client.post(PATH, json={"observations": seen()}).text


def test_however_it_is_asked_no_kernel_is_compiled_twice(client):
    body = {"observations": seen()[:9]}
    client.post(PATH, json=body)
    client.post(PATH, json={**body, "partitions_count": 12})
    columns = {name: pa.array([one[name] for one in body["observations"]]) for name in ("key", "partition_id")}
    client.post(PATH, data=stream(**columns), content_type=ARROW_STREAM)
    assert len(matches.signatures) == 1


def test_the_conclusion_begins_with_what_is_unexplained(client):
    draw = random.Random(1)
    rows = [*seen(), *({"key": f"k{i}", "partition_id": draw.randrange(12)} for i in range(900))]
    answer = client.post(PATH, json={"partitions_count": 12, "observations": rows}).json
    assert answer["verdict"] == "mixture"
    share = answer["unexplained"]["share"]
    assert answer["conclusion"].startswith(f"{share:.0%} of the observations match no partitioner. With 12 partitions, ")


def test_what_no_client_does_has_a_hash_and_no_name(client):
    rows = [{"key": str(i), "partition_id": i % 12} for i in range(100)]
    answer = client.post(PATH, json={"partitions_count": 12, "observations": rows}).json
    (writer,) = answer["writers"]
    assert (writer["partitioners"], writer["hash"], writer["sign_rule"]) == ([], "the number itself", "modulo")
    assert answer["conclusion"].startswith("the number itself, modulo (no client in the list) with 12 partitions explains all")


def test_the_hash_of_a_writer_is_that_of_its_first_partitioner(client):
    (writer,) = client.post(PATH, json={"partitions_count": 2, "observations": seen("sarama", 2)}).json["writers"]
    assert (writer["partitioners"][0], writer["hash"], writer["sign_rule"]) == ("sarama", "FNV-1a 32", "rem-neg")


def test_numbers_modulo_the_count_are_called_so(client):
    rows = [{"key": i, "partition_id": i % 12} for i in range(100)]
    answer = client.post(PATH, json={"partitions_count": 12, "observations": rows, "key_format": "long"}).json
    assert answer["conclusion"].startswith("the number modulo the partition count (as scala-0.8) with 12 partitions explains all")
