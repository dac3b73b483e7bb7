"""``kafka-reassign-partitions --generate``: what the tool proposes (ReassignPartitionsCommand).

A StripedReplicaPlacer places every topic anew; neither what the topics have now nor their sizes matter, beyond each topic's
partition count and replication factor. The tool's Random is unseeded; here it has a seed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from service.core.budget import check_time
from service.core.errors import AdminOperation, KafkaError
from service.core.jvm.hashing import java_hash_codes, topic_partition_hash_codes
from service.core.jvm.ordering import iteration_order
from service.core.jvm.random import JavaRandom
from service.core.model import NONE, Cluster, Int32s, PlacementRequest, java_order
from service.core.placers import striped


class AdminCommandFailed(KafkaError):
    """The tool rejects its arguments."""

    exception = "org.apache.kafka.tools.AdminCommandFailedException"


class UnknownTopicOrPartition(KafkaError):
    """A topic to move does not exist."""

    exception = "org.apache.kafka.common.errors.UnknownTopicOrPartitionException"


@dataclass(frozen=True)
class CurrentTopic:
    """A topic as the cluster describes it.

    partition_ids : int32[partitions], in the order in which the cluster describes them
    replication_factors : int32[partitions]
    """

    partition_ids: Int32s
    replication_factors: Int32s


def place(cluster: Cluster, request: PlacementRequest, random: JavaRandom) -> Int32s:
    """What the tool proposes for one topic that is to be moved to all brokers of the cluster.

    Returns int32[partitions, replication_factor], indices of brokers, the leader in column 0.
    Raises AdminOperation (some brokers have a rack and some do not), InvalidReplicationFactor, IllegalArgument.
    """
    return striped.place(_usable(cluster, cluster.broker_ids, rack_aware=True), request, random)


def propose(
    cluster: Cluster,
    broker_list: Int32s,
    topics_to_move: Sequence[str],
    current: dict[str, CurrentTopic],
    random: JavaRandom,
    *,
    rack_aware: bool = True,
) -> dict[str, Int32s]:
    """What ``--generate`` proposes for each topic, by name in Java's order.

    cluster : in the order in which the cluster lists its brokers; fenced ones count as any other
    broker_list : int32[...]   the broker ids of ``--broker-list``; those that the cluster does not have are dropped silently
    Returns int32[partitions, replication_factor] of each, indices of brokers; partition ids count from 0.
    Raises AdminCommandFailed (something twice), UnknownTopicOrPartition, AdminOperation (racks known in part),
    InvalidReplicationFactor.
    """
    _refuse_repeats("Broker list", broker_list.tolist(), broker_list)
    _refuse_repeats("List of topics to reassign", topics_to_move, java_hash_codes(topics_to_move))
    for name in topics_to_move:
        if name not in current:
            raise UnknownTopicOrPartition(f"Topic {name} not found.")
    usable = _usable(cluster, broker_list, rack_aware=rack_aware)
    brokers = np.flatnonzero(np.isin(cluster.broker_ids, broker_list)).astype(np.int32)
    placements: dict[str, Int32s] = {}
    for name, factor in _in_placing_order(topics_to_move, current):
        check_time()
        request = PlacementRequest(len(current[name].partition_ids), factor)
        placements[name] = brokers[striped.place(usable, request, random)]
    return {topics_to_move[i]: placements[topics_to_move[i]] for i in java_order(topics_to_move)}


def _refuse_repeats(what: str, items: Sequence[object], hashes: Int32s) -> None:
    """Raise AdminCommandFailed, naming the duplicates in the order of the tool's hash set."""
    distinct: set[object] = set()
    repeated: dict[object, int] = {}
    for i, item in enumerate(items):
        if item in distinct:
            repeated.setdefault(item, i)
        distinct.add(item)
    if repeated:
        order = iteration_order(hashes[list(repeated.values())])
        names = list(repeated)
        listed = ", ".join(str(names[i]) for i in order)
        raise AdminCommandFailed(f"{what} contains duplicate entries: [{listed}]")


def _usable(cluster: Cluster, broker_list: Int32s, *, rack_aware: bool) -> Cluster:
    """The brokers that may get replicas; for the tool no broker is fenced."""
    chosen = np.isin(cluster.broker_ids, broker_list)
    racks = cluster.racks[chosen]
    if not rack_aware:
        racks = np.full(len(racks), NONE, np.int32)
    elif (racks == NONE).any() and (racks != NONE).any():
        refusal = AdminOperation(
            "Not all brokers have rack information. Add --disable-rack-aware in command line to make replica assignment without "
            "rack information."
        )
        refusal.exception = "org.apache.kafka.tools.AdminOperationException"
        raise refusal
    return Cluster(cluster.broker_ids[chosen], cluster.rack_ids, racks, np.zeros(len(racks), np.bool_))


def _in_placing_order(topics_to_move: Sequence[str], current: dict[str, CurrentTopic]) -> list[tuple[str, int]]:
    """The topics in the order in which the tool places them, with the replication factor it takes for each.

    The described topics stand in a hash map, copied into a second one of their number; their partitions go from it into a
    third one, by whose order the topics enter a fourth (by computeIfAbsent), by whose order they are placed.
    """
    hashes = java_hash_codes(topics_to_move)
    described = iteration_order(hashes)
    copied = described[iteration_order(hashes[described], capacity=len(described))]
    counts = [len(current[topics_to_move[i]].partition_ids) for i in copied]
    topic_of = np.repeat(copied, counts)
    ids = np.concatenate([current[topics_to_move[i]].partition_ids for i in copied] or [np.empty(0, np.int32)])
    factors = np.concatenate([current[topics_to_move[i]].replication_factors for i in copied] or [np.empty(0, np.int32)])
    walk = iteration_order(topic_partition_hash_codes(hashes[topic_of], ids))
    calls = topic_of[walk]
    order = iteration_order(hashes, calls=calls, compute=True)
    _, first = np.unique(calls, return_index=True)
    factor_of = dict(zip(np.unique(calls).tolist(), factors[walk[first]].tolist(), strict=True))
    return [(topics_to_move[i], factor_of[i]) for i in order.tolist()]
