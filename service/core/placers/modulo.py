"""The rule of thumb: no racks, no chance, neighbours follow the leader. No class of Kafka's does this."""

import numpy as np

from service.core.jvm.random import JavaRandom
from service.core.model import Cluster, Int32s, PlacementRequest
from service.core.placers.admin_utils import check_counts


def place(cluster: Cluster, request: PlacementRequest, _: JavaRandom) -> Int32s:
    """Replica j of the partition with id i on the broker at index ``(i + j) mod brokers``, in the order given.

    Returns int32[partitions, replication_factor], indices of brokers, the leader in column 0. Raises what AdminUtils raises
    for counts that cannot be.
    """
    check_counts(cluster, request)
    brokers = np.int32(len(cluster))
    placement = (request.partition_ids() % brokers)[:, np.newaxis] + np.arange(request.replication_factor, dtype=np.int32)
    return np.where(placement < brokers, placement, placement - brokers)
