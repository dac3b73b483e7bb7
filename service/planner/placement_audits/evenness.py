"""How even a placer makes a topic: the skew of leaders and replicas over brokers and racks, over all that it can draw.

Where the draws are few, each is placed; otherwise some of them, drawn from one java.util.Random with seed 0.

It does not depend on how the topic is placed. Clusters have many topics of few sizes, so the last ones are kept.
"""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

from service.core.clock import looking
from service.core.jvm.random import JavaRandom
from service.core.measures.broker_load import COUNTS, Load, load_of, rack_load, rows_of_topics
from service.core.model import Cluster, Float64s, Int32s, PlacementRequest
from service.core.placers import Placer

MAX_EVERY: Final = 4_096
"""Draws up to which each is made."""

MAX_DRAWS: Final = 512
"""Placements that are made otherwise."""

MAX_STEPS: Final = 20_000_000
"""Steps of all placements together, which take a second or two; but FEWEST_DRAWS placements are made in any case."""

FEWEST_DRAWS: Final = 8

KEPT: Final = 16
"""Most results that are kept, of at most 128 KiB each."""

MEASURES: Final = ("broker_replicas", "broker_leaders", "rack_replicas", "rack_leaders")


@dataclass(frozen=True)
class Evenness:
    """The skew of each measure over the placements made.

    placements : how many were made; exhaustive : these are all draws, each once
    skews : float64[placements, 4]   the skew of each of MEASURES
    """

    placements: int
    exhaustive: bool
    skews: Float64s


def steps(cluster: Cluster, partitions: int, factor: int) -> int:
    """About how many steps a placement takes: replicas, brokers that are sorted, racks of fenced brokers that are passed over."""
    passed_over = partitions * len(cluster) if cluster.fenced.any() else 0
    return partitions * factor + 10 * len(cluster) + passed_over


def skews_of(cluster: Cluster, of_brokers: Load) -> list[float]:
    """The skew of each of MEASURES."""
    return [load.spread(name).skew for load in (of_brokers, rack_load(cluster, of_brokers)[1]) for name in COUNTS]


_kept: dict[Hashable, Evenness] = {}


def evenness(placer: Placer, cluster: Cluster, request: PlacementRequest) -> Evenness:
    """How even the placer makes a topic of this size, in a cluster without known load. Raises what the placer raises."""
    looked_at = (each.tobytes() for each in (cluster.broker_ids, cluster.racks, cluster.fenced))
    key = (placer.name, placer.run, placer.draws, request, cluster.rack_ids, *looked_at)
    known = _kept.get(key)
    if known is None:
        known = _computed(placer, cluster, request)
        if len(_kept) >= KEPT:
            _kept.clear()
        _kept[key] = known
    return known


def _computed(placer: Placer, cluster: Cluster, request: PlacementRequest) -> Evenness:
    allowed = max(FEWEST_DRAWS, MAX_STEPS // steps(cluster, request.partitions_count, request.replication_factor))
    count, placements = (placer.draws and placer.draws.every(cluster, request)) or (None, iter(()))
    if count is None or count > min(MAX_EVERY, allowed):
        count, random = (min(MAX_DRAWS, allowed) if placer.draws else 1), JavaRandom(0)
        place = placer.draws.on(cluster) if placer.draws else partial(placer.run, cluster)
        placements = (place(request, random) for _ in range(count))
        return Evenness(count, False, _skews(cluster, placements))
    return Evenness(count, True, _skews(cluster, placements))


def _skews(cluster: Cluster, placements: Iterator[Int32s]) -> Float64s:
    loads = (load_of(cluster, rows_of_topics([placement])) for placement in looking(placements, 1))
    return np.array([skews_of(cluster, load) for load in loads], np.float64)
