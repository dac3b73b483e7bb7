"""Clusters, and what is placed on them, from Arrow to arrays."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from service.core.budget import Budget
from service.core.measures import load_of
from service.core.model import NONE, BrokerLoad, Cluster, Int32s, Ragged, indices_in
from service.decisions.rows import LONGEST_TOPIC_NAME, NAME, in_range, plain_names

BROKER = pa.struct(
    {"broker_id": pa.int32(), "rack_id": NAME, "fenced": pa.bool_(), "weight": pa.float64(), "cordoned": pa.bool_()}
)
PLACEMENT = pa.struct({"partition_id": pa.int32(), "replicas": pa.list_(pa.int32())})
CURRENT = pa.struct({"topic_name": NAME, "partition_id": pa.int32(), "replicas": pa.list_(pa.int32())})


def plain_current(rows: pa.StructArray) -> bool:
    """Is every row of type CURRENT, none null, well-formed by itself?"""
    names, ids, replicas = (rows.field(name) for name in ("topic_name", "partition_id", "replicas"))
    return bool(
        names.null_count == ids.null_count == replicas.null_count == replicas.values.null_count == 0
        and in_range(ids, 0)
        and plain_names(names, LONGEST_TOPIC_NAME)
    )


def plain_placements(rows: pa.StructArray) -> bool:
    """Is every row of type PLACEMENT, none null, well-formed by itself?"""
    ids, replicas = rows.field("partition_id"), rows.field("replicas")
    return ids.null_count == replicas.null_count == replicas.values.null_count == 0 and in_range(ids, 0)


def read_placement(rows: pa.StructArray, cluster: Cluster) -> tuple[Int32s, Ragged]:
    """The ids of these partitions, and of each the brokers as indices of the cluster, NONE for one that it does not have.

    rows : of type PLACEMENT; the cluster has no broker id twice
    """
    replicas = rows.field("replicas")
    lengths = np.array(pc.list_value_length(replicas), np.int64)
    brokers = indices_in(cluster.broker_ids, np.array(replicas.flatten(), np.int32))
    return np.array(rows.field("partition_id"), np.int32), Ragged.of_lengths(lengths, brokers)


def uncordoned(brokers: pa.StructArray) -> pa.StructArray:
    """The rows of type BROKER that may get new replicas.

    Reproduces BrokerHeartbeatManager.UsableBrokerIterator (KIP-1066, since 4.3.0): the placer never sees a broker of which every
    log directory is cordoned, or that is shutting down.
    """
    return brokers.filter(pc.invert(is_cordoned(brokers)))


def is_cordoned(brokers: pa.StructArray) -> pa.BooleanArray:
    """Of each row of type BROKER, whether the broker gets no new replicas."""
    return pc.fill_null(brokers.field("cordoned"), False)


def read_cluster(brokers: pa.StructArray) -> Cluster:
    """The cluster of these rows of type BROKER."""
    racks = pc.dictionary_encode(brokers.field("rack_id"))
    return Cluster(
        np.array(brokers.field("broker_id"), np.int32),
        tuple(racks.dictionary.to_pylist()),
        np.array(pc.fill_null(racks.indices, NONE), np.int32),
        np.array(pc.fill_null(brokers.field("fenced"), False), np.bool_),
    )


def check_brokers(cluster: Cluster, replicas: int, budget: Budget) -> None:
    """Raise LimitExceeded for brokers among which so many replicas take too long to place.

    Where racks differ in size, or only some have a broker that may lead, each replica may pass over all racks, and the brokers
    that a rack has more than the smallest. Each takes as long as ten cells of an assignment.
    """
    budget.check("max_placement_cells", len(cluster) ** 2, "brokers × brokers", "brokers")
    sizes = np.unique(cluster.racks, return_counts=True)[1]
    passed_over = len(sizes) + len(cluster) - len(sizes) * int(sizes.min(initial=len(cluster)))
    what = "10 × replicas × racks and brokers that one may pass over"
    budget.check("max_assignment_cells", 10 * replicas * passed_over, what, "brokers")


def read_load(brokers: pa.StructArray, current: pa.StructArray | None, cluster: Cluster) -> BrokerLoad:
    """What the brokers have already. current : rows of type CURRENT, replicas on unknown brokers do not count; None: nothing"""
    weights = np.array(pc.fill_null(brokers.field("weight"), 1.0), np.float64)
    nothing = np.zeros(len(cluster), np.int64)
    if current is None:
        return BrokerLoad(weights, nothing, nothing)
    _, placement = read_placement(current, cluster)
    load = load_of(cluster, placement)
    return BrokerLoad(weights, load.replicas, load.leaders)
