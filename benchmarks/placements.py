"""Replica → broker: 100,000 partitions on 1,000 brokers in ten racks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchmarks import jvm
from benchmarks.harness import Row, benchmark, seconds
from service.core.jvm.random import JavaRandom
from service.core.model import Cluster, PlacementRequest
from service.strategies import PLACERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.harness import Sides

RACKS = 10
REAL_CLASS = {
    "rack-aware": "AdminUtils rack-aware (kafka-server-common 4.0.2)",
    "striped": "StripedReplicaPlacer (kafka-metadata 4.3.1)",
}


def cluster_of(brokers: int) -> Cluster:
    """Broker i on rack i mod 10, none of them fenced."""
    ids = np.arange(brokers, dtype=np.int32)
    return Cluster(ids, tuple(f"rack{i}" for i in range(RACKS)), ids % RACKS, np.zeros(brokers, np.bool_))


@benchmark(
    *(
        Row(f"placements/{name}", "s", 1.0, f"100,000 partitions × 1,000 brokers × RF 3 ÷ the JVM's {real}")
        for name, real in REAL_CLASS.items()
    ),
    rounds=2,
)
def place(partitions: int = 100_000, brokers: int = 1_000) -> Iterator[Sides]:
    """AdminUtils starts at broker 0 without a shift, the striped placer with java.util.Random(42), on both sides."""
    jvm.require()
    cluster = cluster_of(brokers)
    request = PlacementRequest(partitions, replication_factor=3, start_index=0)
    shape = {"brokers": brokers, "racks": RACKS, "partitions": partitions}

    def ours() -> list[float]:
        return [seconds(lambda run=PLACERS[name].run: run(cluster, request, JavaRandom(42)), runs=11) for name in REAL_CLASS]

    def reference() -> list[float]:
        wanted = tuple({"what": what, **shape} for what in REAL_CLASS.values())
        return [line["median_s"] for line in jvm.times("time-placement.sh", "place", wanted=wanted)]

    yield ours, reference
