"""What every placement has, placements against plain twins, and against the real classes on the JVM."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from service.core.errors import KafkaError
from service.core.jvm.random import JavaRandom
from service.core.kafka_versions import LATEST
from service.core.model import PlacementRequest
from service.core.placers.controller import Controller, PolicyViolation, TopicRequest
from service.core.placers.reassign_generate import CurrentTopic, propose
from service.strategies import PLACERS
from tests.reference import admin_utils, striped
from tests.reference.java_random import Random
from tests.support import jvm
from tests.support.parity import command
from tests.support.placement_requests import cluster_of, refusal, request_of

SEEDS = st.integers(-(2**63), 2**63 - 1)
RACKS = st.one_of(st.none(), st.sampled_from(["", "a", "b", "Aa", "BB", "rack1", "rack10", "rack2", "\ue000", "机架"]))


@st.composite
def clusters(draw: Any, racks: Any = RACKS) -> list[dict[str, Any]]:
    """Up to 16 brokers with different ids, in any order, at least one of them unfenced."""
    ids = draw(st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=16, unique=True))
    brokers = [{"broker_id": i, "rack_id": draw(racks), "fenced": draw(st.integers(0, 3)) == 0} for i in ids]
    brokers[draw(st.integers(0, len(ids) - 1))]["fenced"] = False
    return brokers


def replicas_of(placer: str, brokers: list[dict[str, Any]], request: PlacementRequest, seed: int) -> list[list[int]]:
    """Broker ids, partition by partition."""
    cluster = cluster_of(brokers)
    return cluster.broker_ids[PLACERS[placer].run(cluster, request, JavaRandom(seed))].tolist()


def explained(placer: str, brokers: list[dict[str, Any]], request: PlacementRequest, seed: int) -> list[dict[str, Any]]:
    """How each replica was found, partition by partition."""
    explain = PLACERS[placer].explain
    assert explain is not None
    partitions: list[dict[str, Any]] = explain(cluster_of(brokers), request, JavaRandom(seed), 10_000)["partitions"]
    return partitions


@settings(deadline=None)
@given(clusters(), st.integers(0, 70), st.data(), SEEDS)
def test_striped_equals_its_twin(brokers: list[dict[str, Any]], partitions: int, data: Any, seed: int) -> None:
    """Racks, none and empty, fenced brokers, rounds and shuffles."""
    factor = data.draw(st.integers(1, len(brokers)))
    try:
        expected = striped.place(brokers, partitions, factor, Random(seed))
    except AssertionError:
        assume(condition=False)
    assert replicas_of("striped", brokers, PlacementRequest(partitions, factor), seed) == expected
    assert explained("striped", brokers, PlacementRequest(partitions, factor), seed) == striped.explained(
        brokers, partitions, factor, Random(seed)
    )


@settings(deadline=None)
@given(
    clusters(st.sampled_from(["a", "b", "c", "rack10", "rack2", ""])), st.integers(1, 70), st.integers(0, 40), st.data(), SEEDS
)
@pytest.mark.parametrize("placer", ["rack-unaware", "rack-aware"])
def test_admin_utils_equals_its_twin(
    placer: str, brokers: list[dict[str, Any]], partitions: int, first: int, data: Any, seed: int
) -> None:
    """Start and shift drawn, given, or the one for both."""
    factor = data.draw(st.integers(1, len(brokers)))
    start = data.draw(st.one_of(st.none(), st.integers(0, 100)))
    shift = None if start is None else data.draw(st.one_of(st.none(), st.integers(0, 100)))
    random = Random(seed)
    at = random.next_int(len(brokers)) if start is None else start
    by = random.next_int(len(brokers)) if start is None else start if shift is None else shift
    sizes = {"partitions_count": partitions, "replication_factor": factor, "start_partition_id": first}
    request = PlacementRequest(partitions, factor, first, start, shift)
    expected = admin_utils.place(brokers, sizes, at, by, rack_aware=placer == "rack-aware")
    assert replicas_of(placer, brokers, request, seed) == expected
    assert explained(placer, brokers, request, seed) == admin_utils.explained(
        brokers, sizes, at, by, rack_aware=placer == "rack-aware"
    )


@settings(deadline=None)
@given(clusters(), st.integers(1, 50), st.integers(0, 1000), st.data())
def test_modulo_counts_along_the_brokers(brokers: list[dict[str, Any]], partitions: int, first: int, data: Any) -> None:
    """Partition i on broker i mod n, replica j on the one j further."""
    factor, ids = data.draw(st.integers(1, len(brokers))), [broker["broker_id"] for broker in brokers]
    expected = [[ids[(i + j) % len(ids)] for j in range(factor)] for i in range(first, first + partitions)]
    assert replicas_of("modulo", brokers, PlacementRequest(partitions, factor, first), 0) == expected
    for partition, replicas in zip(
        explained("modulo", brokers, PlacementRequest(partitions, factor, first), 0), expected, strict=True
    ):
        assert [replica["broker_id"] for replica in partition["replicas"]] == replicas
        assert [ids[replica["index"]] for replica in partition["replicas"]] == replicas


@settings(deadline=None)
@given(clusters(st.sampled_from(["a", "b", "c"])), st.integers(1, 50), st.data(), SEEDS)
@pytest.mark.parametrize("placer", ["modulo", "rack-unaware", "rack-aware", "striped"])
def test_no_broker_has_two_replicas_of_a_partition(
    placer: str, brokers: list[dict[str, Any]], partitions: int, data: Any, seed: int
) -> None:
    """Every placer; and where it knows racks, as many racks as can be are used (all unfenced, the same again next time)."""
    factor = data.draw(st.integers(1, len(brokers)))
    for broker in brokers:
        broker["fenced"] = False
    placed = replicas_of(placer, brokers, PlacementRequest(partitions, factor), seed)
    assert placed == replicas_of(placer, brokers, PlacementRequest(partitions, factor), seed)
    if placer == "striped":
        # A brokers' list used up in the last epoch of a round may be passed over at the start of the next: Kafka's own doing.
        placed = placed[: len(brokers)]
    assert all(len(set(replicas)) == factor for replicas in placed)
    if placer == "rack-aware":
        rack_of = {broker["broker_id"]: broker["rack_id"] for broker in brokers}
        racks = len(set(rack_of.values()))
        assert all(len({rack_of[broker] for broker in replicas}) == min(racks, factor) for replicas in placed)


def test_a_leader_is_never_fenced() -> None:
    """With striped; AdminUtils knows nothing of it."""
    brokers = [{"broker_id": i, "rack_id": "ab"[i % 2], "fenced": i > 1} for i in range(6)]
    leaders = {replicas[0] for replicas in replicas_of("striped", brokers, PlacementRequest(100, 6), 1)}
    assert leaders == {0, 1}


def theirs(program: list[str], requests: list[dict[str, Any]]) -> list[Any]:
    """The answers of one of the programs in tests/support/java to all of them."""
    lines = "".join(json.dumps(request) + "\n" for request in requests).encode()
    done = subprocess.run(program, input=lines, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, timeout=120)
    return [json.loads(line) for line in done.stdout.splitlines()]


def random_requests(placer: str, count: int) -> list[dict[str, Any]]:
    """Several topics each, some impossible, on clusters of all shapes."""
    rng = np.random.default_rng(20261121)
    requests = []
    for _ in range(count):
        names = [
            f"{'机架' if rng.random() < 0.2 else 'rack'}{i}" for i in range(rng.integers(1, 60 if rng.random() < 0.2 else 6))
        ]
        brokers = [
            {"broker_id": int(i), "fenced": bool(rng.random() < 0.15), "rack_id": str(rng.choice(names))}
            for i in rng.permutation(200)[: rng.integers(1, 80 if rng.random() < 0.2 else 12)]
        ]
        if rng.random() < 0.3:
            for broker in brokers:
                if rng.random() < rng.choice([0.3, 1.0]):
                    del broker["rack_id"]
        topics = [
            {
                "topic_name": f"t{i}",
                "partitions_count": int(rng.integers(0 if rng.random() < 0.1 else 1, 60)),
                "replication_factor": int(
                    rng.integers(0 if rng.random() < 0.1 else 1, min(len(brokers), 9) + (rng.random() < 0.1) + 1)
                ),
            }
            for i in range(rng.integers(1, 5))
        ]
        if placer != "striped":
            for topic in topics:
                topic["start_partition_id"] = int(rng.integers(0, 30))
                topic["start_index"] = int(rng.integers(-1, 40))
        requests.append(
            {"placer": placer, "random_seed": int(rng.integers(-(2**63), 2**63 - 1)), "brokers": brokers, "topics": topics}
        )
    return requests


def answered(request: dict[str, Any], release: str = LATEST) -> list[Any]:
    """Our answer in the form of the programs in tests/support/java."""
    cluster, random, answer = cluster_of(request["brokers"]), JavaRandom(request["random_seed"]), []
    place = PLACERS[request["placer"]].at(release).run
    for topic in request["topics"]:
        try:
            asked = replace(request_of(topic), kafka_version=release)
            answer.append(cluster.broker_ids[place(cluster, asked, random)].tolist())
        except KafkaError as error:
            answer.append({name: refusal(error)[name] for name in ("exception", "message")})
    return answer


@pytest.mark.slow
@pytest.mark.parametrize(
    ("placer", "program", "release", "jars"),
    [
        *(
            ("striped", "StripedPlacer.java", release, jvm.controller_jars(release))
            for release in (*jvm.COMPARED, "3.9.1", "3.4.1")
        ),
        ("rack-unaware", "AdminUtilsPlacer.java", LATEST, jvm.ADMIN_UTILS_JARS),
        ("rack-aware", "AdminUtilsPlacer.java", LATEST, jvm.ADMIN_UTILS_JARS),
        *(
            ("rack-aware", "ScalaAdminUtilsPlacer.java", release, jvm.scala_admin_utils_jars(release))
            for release in ("2.4.1", "3.4.1")
        ),
    ],
)
def test_random_clusters_equal_the_running_class(placer: str, program: str, release: str, jars: tuple[str, ...]) -> None:
    """Clusters of all shapes, several topics from one Random each, refusals included."""
    requests = random_requests(placer, 300 if release >= "4" else 60)
    for request, expected in zip(requests, theirs(command(program, *jars), requests), strict=True):
        assert answered(request, release) == expected, request


@pytest.mark.slow
def test_topic_names_are_refused_in_kafka_s_words() -> None:
    """Topic.validate, name by name."""
    kafka = jvm.kafka_jvm()
    validate = kafka.org.apache.kafka.common.internals.Topic.validate
    controller = Controller(cluster_of([{"broker_id": 0}]), JavaRandom(0), 1, 1)
    for name in ["", ".", "..", "a" * 249, "a" * 250, "a b", "ä", "a/b", "...", "a.b-c_d", "x\n"]:
        result = controller.create_topics([TopicRequest(name)])[0]
        try:
            validate(name)
        except Exception as thrown:  # noqa: BLE001  py4j's
            expected = thrown.java_exception.getMessage()
            assert (result.error.name, result.error.message) == ("INVALID_TOPIC_EXCEPTION", expected)
        else:
            assert result.error is None, name


def test_the_tools_placer_places_one_topic_as_the_tool_does_on_all_brokers() -> None:
    """So that each row of the table of placers runs in the same way."""
    brokers = [{"broker_id": i, "rack_id": "abc"[i % 3], "fenced": i == 4} for i in range(7)]
    request = PlacementRequest(20, 3)
    cluster = cluster_of(brokers)
    current = {"t": CurrentTopic(np.arange(20, dtype=np.int32), np.full(20, 3, np.int32))}
    tool = propose(cluster, cluster.broker_ids, ["t"], current, JavaRandom(5))["t"]
    assert replicas_of("kafka-reassign-generate", brokers, request, 5) == cluster.broker_ids[tool].tolist()


@pytest.mark.parametrize(("kafka_version", "limited"), [("4.3.1", False), ("4.4.0", True)])
def test_create_partitions_is_limited_since_4_4_0(*, kafka_version: str, limited: bool) -> None:
    """ReplicationControlManager.validateTotalNumberOfPartitions: topics that are unknown or do not grow do not count."""
    cluster = cluster_of([{"broker_id": 0}])
    controller = Controller(cluster, JavaRandom(0), 1, 1, kafka_version=kafka_version)
    controller.create_topics([TopicRequest("a", 9_000), TopicRequest("b", 1_000)])
    within = [TopicRequest("a", 14_000), TopicRequest("b", 6_000), TopicRequest("unknown", 20_000)]
    assert [result.error and result.error.name for result in controller.create_partitions(within)] == [
        None,
        None,
        "UNKNOWN_TOPIC_OR_PARTITION",
    ]
    beyond = [TopicRequest("a", 24_000), TopicRequest("b", 6_001)]
    if not limited:
        assert all(result.error is None for result in controller.create_partitions(beyond))
        return
    with pytest.raises(PolicyViolation, match="additional partitions per request"):
        controller.create_partitions(beyond)
