"""Leaders pinned to the first rack, as where all producers are in one datacentre; followers on the other racks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from service.core.errors import InvalidQuestion
from service.core.placers import Placer

if TYPE_CHECKING:
    from service.core.jvm.random import JavaRandom
    from service.core.model import Cluster, Int32s, PlacementRequest


def place(cluster: Cluster, request: PlacementRequest, _random: JavaRandom) -> Int32s:
    """int32[partitions, replication_factor], indices of brokers, the leader in column 0; raises InvalidQuestion."""
    leaders = np.flatnonzero((cluster.racks == 0) & ~cluster.fenced)
    followers = np.flatnonzero(cluster.racks != 0)
    if not len(leaders):
        raise InvalidQuestion("No broker of the first rack can lead.", "/brokers")
    if request.replication_factor > len(followers) + 1:
        raise InvalidQuestion(f"Only {len(followers)} brokers are on other racks.", "/replication_factor")
    partitions = np.arange(request.partitions_count)
    placement = np.empty((request.partitions_count, request.replication_factor), np.int32)
    placement[:, 0] = leaders[partitions % len(leaders)]
    for replica in range(1, request.replication_factor):
        placement[:, replica] = followers[(partitions + replica - 1) % len(followers)]
    return placement


LEADERS_ON_ONE_RACK = Placer(
    name="leaders-on-one-rack",
    run=place,
    summary="Every leader on the first rack named, every follower on other racks, in turn.",
)
