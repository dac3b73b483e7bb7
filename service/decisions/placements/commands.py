"""The commands that a question about replicas can be: place topics, operate a controller, generate a reassignment."""

from dataclasses import dataclass, field, replace
from typing import Any

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
    """

    placed: list[Placed]
    explanation: dict[str, Any] | None = None

    @property
    def refused(self) -> int:
        """How many topics, or requests of several, Kafka refuses."""
        return 0


@dataclass(frozen=True)
class Created(CommandResult):
    """The topics that were to be created: a placement or a refusal each. alone : there is one, which was not refused"""

    results: list[Placed | NotPlaced] = field(default_factory=list)
    alone: bool = False

    @property
    def refused(self) -> int:
        """See CommandResult."""
        return len(self.results) - len(self.placed)


@dataclass(frozen=True)
class Operated(CommandResult):
    """For each request to a controller its topics, or its refusal."""

    results: list[list[TopicResult] | NotPlaced] = field(default_factory=list)

    @property
    def refused(self) -> int:
        """See CommandResult."""
        return sum(1 if isinstance(each, NotPlaced) else sum(topic.error is not None for topic in each) for each in self.results)


@dataclass(frozen=True)
class Generated(CommandResult):
    """A proposed reassignment."""


@dataclass(frozen=True)
class Command:
    """What the placer is to do; each form of a question is one."""

    cluster: Cluster

    def run(self, placer: Placer, random: JavaRandom, explained: int) -> CommandResult:
        """Carry it out. explained : most entries of a list in the explanation; 0: no explanation"""
        raise NotImplementedError


@dataclass(frozen=True)
class Create(Command):
    """Create topics, one after another. alone : there is one topic, whose error is the whole answer"""

    requests: tuple[tuple[str, PlacementRequest], ...]
    alone: bool

    def run(self, placer: Placer, random: JavaRandom, explained: int) -> CommandResult:
        """See Command."""
        results: list[Placed | NotPlaced] = []
        explanations: list[dict[str, Any]] = []
        each = max(1, explained // max(1, len(self.requests)))
        cluster = self.cluster
        for name, request in self.requests:
            check_time()
            before = random.copy()
            try:
                placement = placer.run(cluster, request, random)
            except KafkaError as refusal:
                if self.alone:
                    raise
                results.append(NotPlaced(name, refusal))
                continue
            results.append(Placed(name, request.partition_ids(), placement))
            if cluster.known_load is not None:
                cluster = replace(cluster, known_load=cluster.known_load.added(placement))
            if placer.explain and len(explanations) < explained:
                explanations.append({"topic_name": name, **placer.explain(self.cluster, request, before, each)})
        placed = [result for result in results if isinstance(result, Placed)]
        explanation = None
        if explanations:
            explanation = explanations[0] if self.alone else {"topics": explanations}
        return Created(placed, explanation, results, self.alone)


@dataclass(frozen=True)
class Operate(Command):
    """Send requests to a KRaft controller, one after another."""

    requests: tuple[tuple[str, tuple[TopicRequest, ...]], ...]
    default_partitions_count: int
    default_replication_factor: int
    kafka_version: str

    def run(self, _: Placer, random: JavaRandom, explained: int) -> CommandResult:
        """See Command."""
        controller = Controller(
            self.cluster, random, self.default_partitions_count, self.default_replication_factor, kafka_version=self.kafka_version
        )
        act = {"create_topics": controller.create_topics, "create_partitions": controller.create_partitions}
        results: list[list[TopicResult] | NotPlaced] = []
        for operation, topics in self.requests:
            try:
                results.append(act[operation](topics))
            except KafkaError as refusal:
                results.append(NotPlaced(None, refusal))
        placed = [created(topic) for request in results if isinstance(request, list) for topic in request if topic.error is None]
        if not explained:
            return Operated(placed, None, results)
        ids = self.cluster.broker_ids[controller.brokers.tolist()[:explained]]
        explanation = {"broker_list": ids, "rule": "brokers reach the placer in the order of the controller's hash map"}
        return Operated(placed, explanation, results)


def created(topic: TopicResult) -> Placed:
    """What a controller placed for a topic that it did not refuse."""
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

    def run(self, _: Placer, random: JavaRandom, explained: int) -> CommandResult:
        """See Command."""
        given = self.cluster, self.broker_list, self.topics_to_move, self.current
        proposal = propose(*given, random, rack_aware=self.rack_aware)
        return Generated(
            [
                Placed(name, np.arange(len(replicas), dtype=np.int32), replicas)
                for name, replicas in zip(proposal.topic_names, proposal.placements, strict=True)
            ]
        )
