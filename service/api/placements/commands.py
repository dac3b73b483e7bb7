"""The commands that a request for replicas can give: place topics, operate a controller, generate a reassignment."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from service.api.placements.response import Placed, controller_placements_json, in_quotes, placements_json, reassignment_json
from service.core.errors import KafkaError
from service.core.jvm.random import JavaRandom
from service.core.model import Cluster, Int32s, PlacementRequest
from service.core.placers import Placer
from service.core.placers.controller import Controller, TopicRequest, TopicResult, protocol_name
from service.core.placers.reassign_generate import CurrentTopic, Proposal, propose


@dataclass(frozen=True)
class Outcome:
    """The outcome of a command.

    placed : the placements, in the order of the answer
    render : makes the members of the answer that only this command has
    """

    placed: list[Placed]
    render: Callable[[], dict[str, Any]]
    explanation: dict[str, Any] | None = None


@dataclass(frozen=True)
class Command:
    """What the placer is to do; each form of the request has one."""

    cluster: Cluster

    def run(self, placer: Placer, random: JavaRandom, explained: int) -> Outcome:
        """Carry it out. explained : most entries of a list in the explanation; 0: no explanation"""
        raise NotImplementedError


@dataclass(frozen=True)
class Place(Command):
    """Create topics, one after another. alone : there is one topic, whose error is the whole answer"""

    requests: tuple[tuple[str, PlacementRequest], ...]
    alone: bool

    def run(self, placer: Placer, random: JavaRandom, explained: int) -> Outcome:
        """See Command."""
        results: list[Placed | tuple[str, KafkaError]] = []
        explanations: list[dict[str, Any]] = []
        each = max(1, explained // max(1, len(self.requests)))
        cluster = self.cluster
        for name, request in self.requests:
            before = random.copy()
            try:
                placement = placer.run(cluster, request, random)
            except KafkaError as refusal:
                if self.alone:
                    raise
                results.append((name, refusal))
                continue
            results.append(Placed(name, request.partition_ids(), placement))
            if cluster.known_load is not None:
                cluster = replace(cluster, known_load=cluster.known_load.added(placement))
            if placer.explain and len(explanations) < explained:
                explanations.append({"topic_name": name, **placer.explain(self.cluster, request, before, each)})
        placed = [result for result in results if isinstance(result, Placed)]
        if self.alone:
            return Outcome(placed, lambda: {**self._one(placed[0]), **self._reassignment(placed)}, *explanations)
        return Outcome(
            placed,
            lambda: {"topics": [self._topic(result) for result in results], **self._reassignment(placed)},
            {"topics": explanations} if explanations else None,
        )

    def _one(self, topic: Placed) -> dict[str, Any]:
        return {"placements": placements_json(self.cluster, topic)}

    def _topic(self, result: Placed | tuple[str, KafkaError]) -> dict[str, Any]:
        if isinstance(result, Placed):
            return {"topic_name": result.topic_name, **self._one(result)}
        name, refusal = result
        error = {"error": type(refusal).__name__, "exception": refusal.exception, "message": refusal.message}
        return {"topic_name": name, **error}

    def _reassignment(self, placed: list[Placed]) -> dict[str, Any]:
        return {"reassignment": reassignment_json(self.cluster, placed)}


@dataclass(frozen=True)
class Operate(Command):
    """Send requests to a KRaft controller, one after another."""

    requests: tuple[tuple[str, tuple[TopicRequest, ...]], ...]
    default_partitions_count: int
    default_replication_factor: int
    kafka_version: str

    def run(self, _: Placer, random: JavaRandom, explained: int) -> Outcome:
        """See Command."""
        controller = Controller(
            self.cluster,
            random,
            self.default_partitions_count,
            self.default_replication_factor,
            kafka_version=self.kafka_version,
        )
        act = {"create_topics": controller.create_topics, "create_partitions": controller.create_partitions}
        results: list[list[TopicResult] | KafkaError] = []
        for operation, topics in self.requests:
            try:
                results.append(act[operation](topics))
            except KafkaError as refusal:
                results.append(refusal)
        placed = [_placed(topic) for request in results if isinstance(request, list) for topic in request if topic.error is None]
        order = controller.brokers.tolist() if explained else []
        ids = self.cluster.broker_ids[order[:explained]]
        explanation = {"broker_list": ids, "rule": "brokers reach the placer in the order of the controller's hash map"}
        return Outcome(placed, lambda: {"results": [self._result(r) for r in results]}, explanation if explained else None)

    def _result(self, request: list[TopicResult] | KafkaError) -> list[dict[str, Any]]:
        if isinstance(request, KafkaError):
            return [{"error": protocol_name(request), "exception": request.exception, "message": request.message}]
        return [self._topic(topic) for topic in request]

    def _topic(self, topic: TopicResult) -> dict[str, Any]:
        if topic.error:
            return {"topic_name": topic.topic_name, "error": topic.error.name, "message": topic.error.message}
        fragment = controller_placements_json(self.cluster, _placed(topic))
        return {"topic_name": topic.topic_name, "placements": fragment}


def _placed(topic: TopicResult) -> Placed:
    replicas = topic.placement
    assert replicas is not None  # noqa: S101  it has no error
    return Placed(topic.topic_name, np.arange(len(replicas), dtype=np.int32) + np.int32(topic.first_partition_id), replicas)


@dataclass(frozen=True)
class Generate(Command):
    """Generate a reassignment, as ``kafka-reassign-partitions --generate`` does."""

    broker_list: Int32s
    topics_to_move: tuple[str, ...]
    current: dict[str, CurrentTopic] = field(repr=False)
    rack_aware: bool = True

    def run(self, _: Placer, random: JavaRandom, explained: int) -> Outcome:
        """See Command."""
        proposal: Proposal = propose(
            self.cluster, self.broker_list, self.topics_to_move, self.current, random, rack_aware=self.rack_aware
        )
        placed = [
            Placed(name, np.arange(len(replicas), dtype=np.int32), replicas)
            for name, replicas in zip(proposal.topic_names, proposal.placements, strict=True)
        ]

        def members() -> dict[str, Any]:
            proposed, again = (reassignment_json(self.cluster, placed, log_dirs=True) for _ in range(2))
            return {"proposed_json": in_quotes(proposed), "reassignment": again}

        return Outcome(placed, members)
