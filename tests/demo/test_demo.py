"""The demo's figures against the same worked out plainly: counters, zlib, kafka-python's murmur2, Kafka's rules in a line."""

from __future__ import annotations

import warnings
import zlib
from collections import Counter
from functools import cache

import numpy as np
import pytest
from click.testing import CliRunner

from demo import decisions, flights
from demo.__main__ import main

with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # kafka-python's, on import
    from kafka.partitioner.default import murmur2

HASHES = {
    "java": lambda key: murmur2(key.encode()) & 0x7FFFFFFF,
    "librdkafka:consistent_random": lambda key: zlib.crc32(key.encode()),
}


@pytest.fixture(scope="module")
def choices():
    return flights.read()


@pytest.fixture(scope="module")
def answered():
    """The service, with every answer kept: (ask, {path: [answer, …]})."""
    service = decisions.in_process()
    answers: dict[str, list[dict]] = {}

    def ask(path, question):
        answer = service(path, question)
        answers.setdefault(path, []).append(answer)
        return answer

    return ask, answers


@pytest.fixture(scope="module")
def partitioned(choices, answered):
    return {(keyed.name, n): decisions.partition(answered[0], keyed, n) for n in decisions.PARTITIONS_COUNTS for keyed in choices}


def test_every_flight_is_a_record(choices):
    assert [keyed.name for keyed in choices] == ["carrier", "tail number", "route"]
    assert {len(keyed.keys) for keyed in choices} == {336_776}


def test_some_tail_numbers_are_missing(choices):
    assert [keyed.keys.null_count for keyed in choices] == [0, 2_512, 0]


def test_the_hottest_key_is_the_most_common(choices):
    for keyed in choices:
        counts = Counter(key for key in keyed.keys.to_pylist() if key is not None)
        assert keyed.hottest == counts.most_common(1)[0]
        assert len(keyed.distinct) == len(counts)


@pytest.mark.parametrize("partitions_count", decisions.PARTITIONS_COUNTS)
@pytest.mark.parametrize("name", ["carrier", "tail number", "route"])
def test_records_stand_where_their_keys_hash_says(partitioned, name, partitions_count):
    """A record without a key may be anywhere, but it is somewhere."""
    result = partitioned[name, partitions_count]
    counts = Counter(key for key in result.keyed.keys.to_pylist() if key is not None)
    elsewhere = 0
    for partitioner, hashed in HASHES.items():
        of_keys, of_records = (np.zeros(partitions_count, int) for _ in range(2))
        for key, records in counts.items():
            of_keys[hashed(key) % partitions_count] += 1
            of_records[hashed(key) % partitions_count] += records
        found = result.records[partitioner]
        assert (found >= of_records).all()
        assert (found - of_records).sum() == result.keyed.keys.null_count
        assert result.key_skew[partitioner] == pytest.approx(of_keys.max() / of_keys.mean())
        assert result.record_skew[partitioner] == pytest.approx(found.max() / found.mean())
        assert result.best_skew <= result.record_skew[partitioner]
    java, librdkafka = HASHES.values()
    for key, records in counts.items():
        elsewhere += records * (java(key) % partitions_count != librdkafka(key) % partitions_count)
    assert result.elsewhere == pytest.approx(elsewhere / counts.total())


@pytest.mark.parametrize("partitions_count", decisions.PARTITIONS_COUNTS)
@pytest.mark.parametrize("assignor", decisions.ASSIGNORS)
def test_members_get_what_the_assignors_rule_says(partitioned, answered, choices, assignor, partitions_count):
    """range: of each topic a run of consecutive ids; roundrobin: all partitions in turn."""
    topics = [partitioned[keyed.name, partitions_count] for keyed in choices]
    result = decisions.assign(answered[0], assignor, topics)
    partitions, records, turn = np.zeros(6, int), np.zeros(6, int), 0
    for topic in sorted(topics, key=lambda topic: topic.keyed.topic_name):
        quotas = [partitions_count // 6 + (member < partitions_count % 6) for member in range(6)]
        runs = np.repeat(np.arange(6), quotas)
        for partition_id in range(partitions_count):
            member = runs[partition_id] if assignor == "range" else turn % 6
            partitions[member] += 1
            records[member] += topic.records["java"][partition_id]
            turn += 1
    assert result.partitions.tolist() == partitions.tolist()
    assert result.records.tolist() == records.tolist()
    assert result.records.sum() == 3 * 336_776
    assert result.partition_skew == pytest.approx(partitions.max() / partitions.mean())


@pytest.mark.parametrize("partitions_count", decisions.PARTITIONS_COUNTS)
@pytest.mark.parametrize("placer", decisions.PLACERS)
def test_brokers_hold_what_the_answer_places(partitioned, answered, choices, placer, partitions_count):
    topics = [partitioned[keyed.name, partitions_count] for keyed in choices]
    result = decisions.place(answered[0], placer, topics)
    answer = answered[1]["/v1/replica-placements"][-1]
    replicas, leaders, records, racks = Counter(), Counter(), Counter(), []
    for topic, placed in zip(topics, answer["topics"], strict=True):
        for row in placed["placements"]:
            replicas.update(row["replicas"])
            leaders[row["replicas"][0]] += 1
            records[row["replicas"][0]] += int(topic.records["java"][row["partition_id"]])
            racks.append(len({broker % 3 for broker in row["replicas"]}))
    for reported, counted in ((result.replicas, replicas), (result.leaders, leaders), (result.records, records)):
        assert reported.tolist() == [counted[broker] for broker in range(6)]
    assert result.racks.tolist() == racks


def test_each_partition_has_a_replica_on_every_rack(partitioned, answered, choices):
    for placer in decisions.PLACERS:
        result = decisions.place(answered[0], placer, [partitioned[keyed.name, 12] for keyed in choices])
        assert set(result.racks.tolist()) == {3}


@cache
def shown(columns: int, *arguments: str) -> str:
    """What the demo prints on a terminal of this width."""
    result = CliRunner().invoke(main, arguments, env={"COLUMNS": str(columns)}, catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


@pytest.mark.parametrize("columns", [100, 140])
def test_it_fits_its_terminal(columns):
    """And says what it found: the null keys, the hottest route, every table."""
    output = shown(columns)
    assert max(map(len, output.splitlines())) <= columns
    assert "…" not in output
    for text in ("336,776 flights", "2,512", "JFK-LAX", "Key → partition", "Partition → consumer", "Replica → broker"):
        assert text in output


@pytest.mark.slow
def test_a_running_server_gives_the_same_figures(server):
    assert shown(100, "--url", server.url) == shown(100)
