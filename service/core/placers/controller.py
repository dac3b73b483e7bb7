"""A KRaft controller's life: CreateTopics and CreatePartitions, one after another, on one StripedReplicaPlacer.

Reproduces ReplicationControlManager (kafka-metadata 4.3.0 to 4.4.0; since 4.4.0 it also limits CreatePartitions). Errors are the
protocol's, by their names in ``Errors``, and belong to one topic; only a request that is too large fails as a whole.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from service.core.budget import check_time
from service.core.errors import KafkaError
from service.core.jvm.ordering import iteration_order
from service.core.jvm.random import JavaRandom
from service.core.kafka_versions import LATEST, since
from service.core.model import Cluster, Int32s, PlacementRequest
from service.core.placers import striped

DEFAULT: Final = -1
"""The partition count or replication factor that stands for the controller's default."""

MOST_PARTITIONS: Final = 10_000
"""The most partitions of one request (ReplicationControlManager.MAX_PARTITIONS_PER_BATCH)."""

_LONGEST_NAME: Final = 249


class PolicyViolation(KafkaError):
    """The controller refuses the whole request."""

    exception = "org.apache.kafka.common.errors.PolicyViolationException"


class TopicError(Exception):
    """A topic's own error. name : what the protocol calls it"""

    def __init__(self, name: str, message: str | None) -> None:
        super().__init__(name)
        self.name = name
        self.message = message


@dataclass(frozen=True)
class TopicRequest:
    """A topic of a CreateTopics request; of CreatePartitions the factor plays no part, and the count is the new total."""

    topic_name: str
    partitions_count: int = DEFAULT
    replication_factor: int = DEFAULT


@dataclass(frozen=True)
class TopicResult:
    """The result for one topic.

    first_partition_id : the id of the first row of ``placement``
    placement : int32[partitions, replication_factor], indices of brokers; None when refused
    error : why it was refused
    """

    topic_name: str
    first_partition_id: int = 0
    placement: Int32s | None = None
    error: TopicError | None = None


@dataclass
class Controller:
    """What a controller remembers from one request to the next.

    brokers : in the order in which its hash map of registrations hands them to the placer, int32[brokers]
    topics : topic_name → partition count and the replication factor of its first partition
    kafka_version : its release
    """

    cluster: Cluster
    random: JavaRandom
    default_partitions_count: int
    default_replication_factor: int
    topics: dict[str, tuple[int, int]] = field(default_factory=dict)
    kafka_version: str = LATEST

    def __post_init__(self) -> None:
        """The brokers in the order of the controller's hash map, which has each id once."""
        self.brokers = iteration_order(self.cluster.broker_ids)
        of = self.cluster
        self._in_map_order = Cluster(of.broker_ids[self.brokers], of.rack_ids, of.racks[self.brokers], of.fenced[self.brokers])

    def create_topics(self, topics: Iterable[TopicRequest]) -> list[TopicResult]:
        """One CreateTopics request; raises PolicyViolation when it asks for too much."""
        topics = list(topics)
        counts = [self.default_partitions_count if t.partitions_count == DEFAULT else t.partitions_count for t in topics]
        if sum(count for count in counts if count > 0) > MOST_PARTITIONS:
            raise PolicyViolation("Excessively large number of partitions per request.")
        existing = dict(self.topics)
        return [self._attempt(topic, existing, self._create) for topic in topics]

    def create_partitions(self, topics: Iterable[TopicRequest]) -> list[TopicResult]:
        """One CreatePartitions request: ``partitions_count`` is what each topic is to have then. Raises PolicyViolation."""
        topics = list(topics)
        added = (t.partitions_count - self.topics.get(t.topic_name, (t.partitions_count, 0))[0] for t in topics)
        if self.kafka_version in since("4.4.0") and sum(count for count in added if count > 0) > MOST_PARTITIONS:
            raise PolicyViolation("Excessively large number of additional partitions per request.")
        return [self._attempt(topic, self.topics, self._grow) for topic in topics]

    def _attempt(self, topic: TopicRequest, existing: dict[str, tuple[int, int]], change: Any) -> TopicResult:
        check_time()
        try:
            return change(topic, existing)  # type: ignore[no-any-return]
        except TopicError as error:
            return TopicResult(topic.topic_name, error=error)

    def _create(self, topic: TopicRequest, existing: dict[str, tuple[int, int]]) -> TopicResult:
        name = topic.topic_name
        _check_name(name, existing)
        if name in existing:
            raise TopicError("TOPIC_ALREADY_EXISTS", f"Topic '{name}' already exists.")
        factor, count = topic.replication_factor, topic.partitions_count
        if factor < DEFAULT or factor == 0:
            raise TopicError(
                "INVALID_REPLICATION_FACTOR", "Replication factor must be larger than 0, or -1 to use the default value."
            )
        if count < DEFAULT or count == 0:
            raise TopicError("INVALID_PARTITIONS", "Number of partitions was set to an invalid non-positive value.")
        factor = self.default_replication_factor if factor == DEFAULT else factor
        count = self.default_partitions_count if count == DEFAULT else count
        try:
            placement = self._place(PlacementRequest(count, factor))
        except TopicError as error:
            raise TopicError(error.name, f"Unable to replicate the partition {factor} time(s): {error.message}") from None
        self.topics[name] = (count, factor)
        return TopicResult(name, 0, placement)

    def _grow(self, topic: TopicRequest, existing: dict[str, tuple[int, int]]) -> TopicResult:
        name, count = topic.topic_name, topic.partitions_count
        if name not in existing:
            raise TopicError("UNKNOWN_TOPIC_OR_PARTITION", None)
        has, factor = existing[name]
        if count == has:
            raise TopicError("INVALID_PARTITIONS", f"Topic already has {has} partition(s).")
        if count < has:
            text = f"The topic {name} currently has {has} partition(s); {count} would not be an increase."
            raise TopicError("INVALID_PARTITIONS", text)
        placement = self._place(PlacementRequest(count - has, factor, has))
        self.topics[name] = (count, factor)
        return TopicResult(name, has, placement)

    def _place(self, request: PlacementRequest) -> Int32s:
        try:
            return self.brokers[striped.place(self._in_map_order, request, self.random)]
        except KafkaError as error:
            raise TopicError(protocol_name(error), error.message) from None


def protocol_name(error: KafkaError) -> str:
    """What the protocol calls an exception: ``InvalidReplicationFactor`` → ``INVALID_REPLICATION_FACTOR``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(error).__name__).upper()


def _check_name(name: str, existing: Iterable[str]) -> None:
    """Topic.validate, then whether the name would share its metrics' name with another topic."""
    fault = None
    if not name:
        fault = "the empty string is not allowed"
    elif name in {".", ".."}:
        fault = f"'{name}' is not allowed"
    elif len(name) > _LONGEST_NAME:
        fault = f"the length of '{name}' is longer than the max allowed length {_LONGEST_NAME}"
    elif not re.fullmatch(r"[a-zA-Z0-9._-]+", name):
        fault = f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    if fault:
        raise TopicError("INVALID_TOPIC_EXCEPTION", f"Topic name is invalid: {fault}")
    unified = name.replace(".", "_")
    if "_" in unified:
        alike = next((other for other in existing if other != name and other.replace(".", "_") == unified), None)
        if alike:
            raise TopicError("INVALID_TOPIC_EXCEPTION", f"Topic '{name}' collides with existing topic: {alike}")
