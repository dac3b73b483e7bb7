"""``rack-unaware`` and ``rack-aware``: AdminUtils.assignReplicasToBrokers, the placement of ZooKeeper's days.

Kafka 0.10.2.1 (kafka.admin.AdminUtils) to 4.0.2 (org.apache.kafka.admin.AdminUtils, its last release; KIP-36 for racks). The
answers are the same throughout. The words of the refusals differ in 0.10.2.1, and the class of one up to 3.4.1; a version later
than 4.0.2 gets those of 4.0.2. All arithmetic is Java's on ints, overflow included. Plain-Python twin:
tests/reference/admin_utils.py.
"""

from typing import Final

import numpy as np

from service.core.errors import AdminOperation, InvalidPartitions, InvalidReplicationFactor, KafkaError
from service.core.jvm.ordering import table_length
from service.core.jvm.random import JavaRandom
from service.core.kernels import inner_kernel, kernel
from service.core.model import NONE, Cluster, Int32s, PlacementRequest, java_order, ranks_of

SCALA: Final = "0.10.2.1"
"""The release whose AdminUtils words its refusals differently."""

SCALA_CLASSES: Final = (SCALA, "2.4.1", "2.8.2", "3.4.1")
"""The releases whose AdminUtils is written in Scala, and so is the class of one refusal."""

_SCALA_ADMIN_OPERATION: Final = "kafka.admin.AdminOperationException"


class Arithmetic(KafkaError):
    """Java's division by zero."""

    exception = "java.lang.ArithmeticException"


class IndexOutOfBounds(KafkaError):
    """Java's own, from a list: the sums of ids, start and shift have overflowed."""

    exception = "java.lang.IndexOutOfBoundsException"


class ArrayIndexOutOfBounds(KafkaError):
    """The same from an array, which the Scala class has."""

    exception = "java.lang.ArrayIndexOutOfBoundsException"


def place_rack_unaware(cluster: Cluster, request: PlacementRequest, random: JavaRandom) -> Int32s:
    """Round robin over the brokers in the order given, followers at a distance that grows each time round.

    random : draws start and shift, where the request does not give them
    Returns int32[partitions, replication_factor], indices of brokers, the leader in column 0.
    Raises InvalidPartitions, InvalidReplicationFactor; IndexOutOfBounds or ArrayIndexOutOfBounds after an int overflow.
    """
    _check_growth(request)
    check_counts(cluster, request)
    start, shift = start_and_shift(cluster, request, len(cluster), random)
    placement = np.empty((request.partitions_count, request.replication_factor), np.int32)
    negative = fill_rack_unaware(len(cluster), max(0, request.start_partition_id), start, shift, placement)
    _check_index(negative, len(cluster), request)
    return placement if request.partition_0_leader is None else by_id(cluster)[placement]


def place_rack_aware(cluster: Cluster, request: PlacementRequest, random: JavaRandom) -> Int32s:
    """As ``place_rack_unaware``, over a list in which racks alternate, followers going to racks not yet used first.

    Without any racks it is ``place_rack_unaware``. Raises AdminOperation besides when only some brokers have a rack, and
    Arithmetic when all brokers have one id.
    """
    if (cluster.racks == NONE).all():
        return place_rack_unaware(cluster, request, random)
    _check_growth(request)
    if _adds(request):
        _check_racks(cluster, request)
    check_counts(cluster, request)
    _check_racks(cluster, request)
    brokers = rack_alternated(cluster)
    start, shift = start_and_shift(cluster, request, len(brokers), random)
    if len(brokers) == 1 and request.replication_factor > 1:
        raise Arithmetic("/ by zero")
    positions = np.empty((request.partitions_count, request.replication_factor), np.int32)
    # A rack whose every broker id is repeated in another rack has no broker left, and is not counted.
    racks = np.unique(cluster.racks[brokers], return_inverse=True)[1].astype(np.int32)
    _check_index(
        fill_rack_aware(racks, max(0, request.start_partition_id), start, shift, positions), len(brokers), request, buffered=True
    )
    return brokers[positions]


def check_counts(cluster: Cluster, request: PlacementRequest) -> None:
    """AdminUtils' first checks, in its order and words; raises InvalidPartitions or InvalidReplicationFactor."""
    scala = _in_scala(request)
    if request.partitions_count <= 0:
        raise InvalidPartitions(_worded("Number of partitions must be larger than 0", scala=scala))
    if request.replication_factor <= 0:
        raise InvalidReplicationFactor(_worded("Replication factor must be larger than 0", scala=scala))
    if request.replication_factor > len(cluster):
        text = f"Replication factor: {request.replication_factor} larger than available brokers: {len(cluster)}"
        raise InvalidReplicationFactor(_worded(text, scala=scala))


def rack_alternated(cluster: Cluster) -> Int32s:
    """int32[...], the brokers in the order that ``rack-aware`` counts along: one of each rack in turn.

    Racks go in Java's order of strings, ids upwards within a rack. Of brokers with one id the last one counts.
    """
    ids, last = np.unique(cluster.broker_ids[::-1], return_index=True)
    brokers = len(cluster) - 1 - last
    rank = ranks_of(java_order(cluster.rack_ids))
    racks = rank[cluster.racks[brokers]]
    by_rack = np.lexsort((ids, racks))
    sizes = np.bincount(racks, minlength=len(rank))
    turn = np.arange(len(brokers)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return brokers[by_rack][np.lexsort((racks[by_rack], turn))].astype(np.int32)


def _worded(text: str, *, scala: bool) -> str:
    """The Scala class begins its refusals small and ends them without a full stop."""
    return text[0].lower() + text[1:] if scala else text + "."


def _adds(request: PlacementRequest) -> bool:
    """Is this AdminUtils.addPartitions? It finds the start itself, so a request that gives one asks for the placement alone."""
    return request.partition_0_leader is not None or (request.start_partition_id > 0 and request.start_index is None)


def _in_scala(request: PlacementRequest) -> bool:
    """Does the class of 0.10.2.1 answer? It alone has addPartitions."""
    return request.kafka_version == SCALA or _adds(request)


def _check_growth(request: PlacementRequest) -> None:
    if _adds(request) and request.partitions_count <= 0:
        refusal = AdminOperation("The number of partitions for a topic can only be increased")
        refusal.exception = _SCALA_ADMIN_OPERATION
        raise refusal


def _check_racks(cluster: Cluster, request: PlacementRequest) -> None:
    if (cluster.racks == NONE).any():
        text = "Not all brokers have rack information for replica rack aware assignment"
        if _adds(request):
            text = (
                "Not all brokers have rack information. Add --disable-rack-aware in command line to make replica assignment "
                "without rack information."
            )
        refusal = AdminOperation(text if _in_scala(request) else text + ".")
        if _adds(request) or request.kafka_version in SCALA_CLASSES:
            refusal.exception = _SCALA_ADMIN_OPERATION
        raise refusal


def by_id(cluster: Cluster) -> Int32s:
    """int32[brokers], the brokers by ascending id, as addPartitions has them."""
    return np.argsort(cluster.broker_ids, kind="stable").astype(np.int32)


def start_and_shift(cluster: Cluster, request: PlacementRequest, brokers: int, random: JavaRandom) -> tuple[int, int]:
    """As given, or drawn: first the start, then the shift. A negative start is drawn, as AdminUtils has it.

    addPartitions starts at the first broker whose id is at least that of partition 0's first replica, or at the first of all.
    """
    start = request.start_index
    if request.partition_0_leader is not None:
        start = int(np.searchsorted(np.sort(cluster.broker_ids), request.partition_0_leader)) % len(cluster)
    fixed = start is not None and start >= 0
    if start is None or not fixed:
        start = random.next_int(brokers)
    if request.replica_shift is not None:
        return start, request.replica_shift
    return start, start if fixed else random.next_int(brokers)


def _check_index(index: int, brokers: int, request: PlacementRequest, *, buffered: bool = False) -> None:
    """Raise what Java's list access raises, if the kernel has met a negative index.

    buffered : the Scala class keeps this list in an ArrayBuffer, whose array has room for 16, 32, 64, …
    """
    if index < 0 and _in_scala(request):
        raise ArrayIndexOutOfBounds(
            f"Index {index} out of bounds for length {max(16, table_length(brokers)) if buffered else brokers}"
        )
    if index < 0:
        raise IndexOutOfBounds(f"Index {index} out of bounds for length {brokers}")


@inner_kernel
def _remainder(number: int, divisor: int) -> int:
    """Java's %: the sign is the number's."""
    return number % divisor if number >= 0 else -(-number % divisor)


@inner_kernel
def _replica_index(first: int, shift: int, counter: int, brokers: int) -> int:
    """AdminUtils.replicaIndex."""
    return _remainder(first + 1 + _remainder(int(np.int32(shift + counter)), brokers - 1), brokers)


@kernel
def fill_rack_unaware(brokers: int, first_id: int, start: int, shift: int, placement: Int32s) -> int:
    """Fills ``placement``; returns 0, or the negative index at which Java's list access fails."""
    for row in range(len(placement)):
        partition = int(np.int32(first_id + row))
        if partition > 0 and partition % brokers == 0:
            shift = int(np.int32(shift + 1))
        first = _remainder(int(np.int32(partition + start)), brokers)
        if first < 0:
            return first
        placement[row, 0] = first
        for replica in range(1, placement.shape[1]):
            index = _replica_index(first, shift, replica - 1, brokers)
            if index < 0:
                return index
            placement[row, replica] = index
    return 0


@kernel
def fill_rack_aware(racks: Int32s, first_id: int, start: int, shift: int, positions: Int32s) -> int:
    """Fills ``positions`` in the alternated list; returns as ``fill_rack_unaware`` does.

    racks : int32[brokers]   the rack at each position of the list, 0 … racks - 1, each with a broker at least
    """
    brokers, racks_count = len(racks), racks.max() + 1
    rack_used_by = np.full(racks_count, -1, np.int64)
    broker_used_by = np.full(brokers, -1, np.int64)
    for row in range(len(positions)):
        partition = int(np.int32(first_id + row))
        if partition > 0 and partition % brokers == 0:
            shift = int(np.int32(shift + 1))
        first = _remainder(int(np.int32(partition + start)), brokers)
        if first < 0:
            return first
        positions[row, 0] = first
        rack_used_by[racks[first]] = broker_used_by[first] = row
        racks_used, brokers_used = 1, 1
        scaled, counter = int(np.int32(shift * racks_count)), 0
        for replica in range(1, positions.shape[1]):
            while True:
                index = _replica_index(first, scaled, counter, brokers)
                if index < 0:
                    return index
                counter += 1
                new_rack, new_broker = rack_used_by[racks[index]] != row, broker_used_by[index] != row
                if (new_rack or racks_used == racks_count) and (new_broker or brokers_used == brokers):
                    break
            positions[row, replica] = index
            racks_used += new_rack
            brokers_used += new_broker
            rack_used_by[racks[index]] = broker_used_by[index] = row
    return 0


@kernel
def counters(indices: Int32s, shifts: Int32s, brokers: int) -> Int32s:
    """The counter with which each follower was found: int32[partitions, replicas]; 0 for leaders.

    The counter grows at every candidate, and a broker that has been passed over would be again until the next replica is found,
    so that each was taken at the first counter that leads to it.

    indices : int32[partitions, replicas], where on the list of brokers each replica stands
    shifts : int32[partitions], what is added to the counter: the shift, times the racks if they matter
    """
    counter_of = np.zeros_like(indices)
    for row in range(len(indices)):
        counter = 0
        for replica in range(1, indices.shape[1]):
            while _replica_index(indices[row, 0], shifts[row], counter, brokers) != indices[row, replica]:
                counter += 1
            counter_of[row, replica] = counter
            counter += 1
    return counter_of
