"""Every placement that the real classes made, and every refusal, word for word."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from service.core.errors import KafkaError
from service.core.jvm.random import JavaRandom
from service.core.placers.controller import Controller, TopicRequest, TopicResult, protocol_name
from service.core.placers.reassign_generate import CurrentTopic, propose
from tests.support import golden
from tests.support.placement_requests import answer, cluster_of, refusal, request_of

if TYPE_CHECKING:
    from service.core.model import Cluster

ONE_TOPIC = (
    "adminutils",
    "adminutils-large",
    "adminutils-errors",
    "adminutils-edge",
    "adminutils-add-partitions",
    "striped",
    "striped-large",
    "striped-errors",
    "worked-examples",
)


@golden.each(*(f"placement/{name}" for name in ONE_TOPIC))
def test_one_topic_is_placed_as_kafka_did(case: dict[str, Any]) -> None:
    """Placements and errors, at the release named."""
    body = case["request"]
    request = request_of(body, case.get("kafka_version", "4.3.1"))
    placed = answer(body["placer"], cluster_of(body["brokers"]), request, JavaRandom(body.get("random_seed", 0)))
    assert placed == case["expected"]


@golden.each("placement/adminutils-add-partitions")
def test_partitions_are_added_as_kafka_did(case: dict[str, Any]) -> None:
    """From partition 0's first replica, as AdminUtils.addPartitions goes about it, whatever the brokers' order."""
    body = {key: value for key, value in case["request"].items() if key != "start_index"}
    request = replace(request_of(body), partition_0_leader=case["derived_from"]["partition_0_replicas"][0])
    brokers = body["brokers"][::-1]
    assert answer(body["placer"], cluster_of(brokers), request, JavaRandom(0)) == case["expected"]


@golden.each("placement/striped-topics")
def test_topics_share_one_random(case: dict[str, Any]) -> None:
    """Several topics go on from where the one before, refused or not, has left the generator."""
    request = case["request"]
    cluster, random = cluster_of(request["brokers"]), JavaRandom(request["random_seed"])
    placed = [
        {"topic_name": topic["topic_name"], **answer(request["placer"], cluster, request_of(topic), random)}
        for topic in request["topics"]
    ]
    assert placed == case["expected"]["topics"]


@golden.each("placement/controller")
def test_a_controller_answers_as_kafka_s_did(case: dict[str, Any]) -> None:
    """CreateTopics and CreatePartitions, one after another, the refused ones between them."""
    request = case["request"]
    cluster = cluster_of(request["brokers"])
    controller = Controller(
        cluster, JavaRandom(request["random_seed"]), request["default_partitions_count"], request["default_replication_factor"]
    )
    results = []
    for operation in request["operations"]:
        try:
            answers = getattr(controller, operation["operation"])(TopicRequest(**topic) for topic in operation["topics"])
        except KafkaError as error:
            results.append([{**refusal(error), "error": protocol_name(error)}])
        else:
            results.append([topic_result(cluster, answer) for answer in answers])
    assert results == case["expected"]["results"]


def topic_result(cluster: Cluster, result: TopicResult) -> dict[str, Any]:
    """A controller's result for one topic in the vectors' words."""
    if result.placement is None:
        return {"topic_name": result.topic_name, "error": result.error.name, "message": result.error.message}
    placements = []
    for partition, brokers in enumerate(result.placement.tolist(), result.first_partition_id):
        replicas = cluster.broker_ids[brokers].tolist()
        in_sync = cluster.broker_ids[[b for b in brokers if not cluster.fenced[b]]].tolist()
        placements.append({"partition_id": partition, "replicas": replicas, "in_sync_replicas": in_sync, "leader": in_sync[0]})
    return {"topic_name": result.topic_name, "placements": placements}


@golden.each("placement/reassign-generate")
def test_proposals_are_the_reassignment_tool_s(case: dict[str, Any]) -> None:
    """kafka-reassign-partitions --generate with a seeded Random: every topic, every refusal."""
    request = case["request"]
    cluster = cluster_of(request["cluster_brokers"])
    described: dict[str, list[tuple[int, int]]] = {}
    for partition in request["current_assignments"]:
        described.setdefault(partition["topic_name"], []).append((partition["partition_id"], len(partition["replicas"])))
    current = {name: CurrentTopic(*np.array(rows, np.int32).T) for name, rows in described.items()}
    broker_list = np.array(request["broker_list"], np.int32)
    topics, random = request["topics_to_move"], JavaRandom(request["random_seed"])
    if "error" in case["expected"]:
        with pytest.raises(KafkaError) as error:
            propose(cluster, broker_list, topics, current, random, rack_aware=request["rack_aware"])
        assert refusal(error.value) == case["expected"]
        return
    proposal = propose(cluster, broker_list, topics, current, random, rack_aware=request["rack_aware"])
    proposed = [
        (name, partition, cluster.broker_ids[brokers].tolist())
        for name, placement in proposal.items()
        for partition, brokers in enumerate(placement)
    ]
    expected = json.loads(case["expected"]["proposed_json"])["partitions"]
    assert proposed == [(row["topic"], row["partition"], row["replicas"]) for row in expected]
