"""The commands that a question about replicas can be: place topics, operate a controller, generate a reassignment."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from service.core.budget import check_time
from service.core.errors import KafkaError
from service.core.jvm.random import JavaRandom
from service.core.model import Cluster, Int32s, PlacementRequest
from service.core.placers import Placer
from service.core.placers.controller import Controller, TopicRequest, TopicResult
from service.core.placers.reassign_generate import CurrentTopic, propose


@dataclass(frozen=True)
class Placed:
    """A topic's placement.

    partition_ids : int32[partitions]
    replicas : int32[partitions, replication_factor], indices of brokers, the leader first
    """

    topic_name: str
    partition_ids: Int32s
    replicas: Int32s


@dataclass(frozen=True)
class NotPlaced:
    """A topic, or a request of several, that Kafka refuses."""

    topic_name: str | None
    error: KafkaError


@dataclass(frozen=True)
class CommandResult:
    """What became of a command.

    placed : the placements, in the order of the answer
    refused : how many topics, or requests of several, Kafka refuses
    """

    placed: list[Placed]
    explanation: dict[str, Any] | None = None
    refused: int = 0


@dataclass(frozen=True)
class Created(CommandResult):
    """The topics that were to be created: a placement or a refusal each. alone : there is one, which was not refused"""

    results: list[Placed | NotPlaced] = field(default_factory=list)
    alone: bool = False


@dataclass(frozen=True)
class Operated(CommandResult):
    """For each request to a controller its topics, or its refusal."""

    results: list[list[TopicResult] | NotPlaced] = field(default_factory=list)


@dataclass(frozen=True)
class Generated(CommandResult):
    """A proposed reassignment."""


Command: TypeAlias = Callable[[Placer, JavaRandom, int], CommandResult]
"""What the placer is to do; each form of a question is one. Its last argument is the most entries of a list in the explanation, 0
for no explanation."""


def create(
    cluster: Cluster,
    requests: Sequence[tuple[str, PlacementRequest]],
    placer: Placer,
    random: JavaRandom,
    explained: int,
    *,
    alone: bool,
) -> Created:
    """Create topics, one after another. alone : there is one topic, whose error is the whole answer"""
    results: list[Placed | NotPlaced] = []
    explanations: list[dict[str, Any]] = []
    each = max(1, explained // max(1, len(requests)))
    loaded = cluster
    for name, request in requests:
        check_time()
        before = random.copy()
        try:
            placement = placer.run(loaded, request, random)
        except KafkaError as refusal:
            if alone:
                raise
            results.append(NotPlaced(name, refusal))
            continue
        results.append(Placed(name, request.partition_ids(), placement))
        if loaded.known_load is not None:
            loaded = replace(loaded, known_load=loaded.known_load.added(placement))
        if placer.explain and len(explanations) < explained:
            explanations.append({"topic_name": name, **placer.explain(cluster, request, before, each)})
    placed = [result for result in results if isinstance(result, Placed)]
    explanation = None
    if explanations:
        explanation = explanations[0] if alone else {"topics": explanations}
    return Created(placed, explanation, len(results) - len(placed), results, alone)


def operate(
    cluster: Cluster,
    requests: Sequence[tuple[str, tuple[TopicRequest, ...]]],
    defaults: tuple[int, int],
    kafka_version: str,
    _: Placer,
    random: JavaRandom,
    explained: int,
) -> Operated:
    """Send requests to a KRaft controller, one after another. defaults : its partitions count and replication factor"""
    controller = Controller(cluster, random, *defaults, kafka_version=kafka_version)
    act = {"create_topics": controller.create_topics, "create_partitions": controller.create_partitions}
    results: list[list[TopicResult] | NotPlaced] = []
    for operation, topics in requests:
        try:
            results.append(act[operation](topics))
        except KafkaError as refusal:
            results.append(NotPlaced(None, refusal))
    answered = [topic for request in results if isinstance(request, list) for topic in request]
    placed = [created(topic) for topic in answered if topic.error is None]
    refused = len(answered) - len(placed) + sum(isinstance(request, NotPlaced) for request in results)
    if not explained:
        return Operated(placed, None, refused, results)
    ids = cluster.broker_ids[controller.brokers.tolist()[:explained]]
    explanation = {"broker_list": ids, "rule": "brokers reach the placer in the order of the controller's hash map"}
    return Operated(placed, explanation, refused, results)


def created(topic: TopicResult) -> Placed:
    """What a controller placed for a topic that it did not refuse."""
    replicas = topic.placement
    assert replicas is not None  # noqa: S101  it has no error
    return Placed(topic.topic_name, np.arange(len(replicas), dtype=np.int32) + np.int32(topic.first_partition_id), replicas)


def generate(
    cluster: Cluster,
    broker_list: Int32s,
    topics_to_move: Sequence[str],
    current: dict[str, CurrentTopic],
    _: Placer,
    random: JavaRandom,
    __: int,
    *,
    rack_aware: bool,
) -> Generated:
    """Generate a reassignment, as ``kafka-reassign-partitions --generate`` does."""
    proposed = propose(cluster, broker_list, topics_to_move, current, random, rack_aware=rack_aware)
    return Generated([Placed(name, np.arange(len(replicas), dtype=np.int32), replicas) for name, replicas in proposed.items()])
