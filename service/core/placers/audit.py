"""Does a placement obey what Kafka's own placer (StripedReplicaPlacer, KRaft) keeps to?

Its two constraints: no broker holds two replicas of a partition, and no fenced broker leads. Its goals: a partition's replicas
on as many racks as there can be, and leaders spread over the brokers. How evenly they are depends on its draws and on the size of
racks, so "even" is: no broker leads more partitions than in the worst of DRAWS placements of the same size by the placer itself.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from service.core.jvm.random import JavaRandom
from service.core.measures import Load, distinct_in_rows, load_of, racks_of
from service.core.model import NONE, Cluster, Int32s, PlacementRequest, Ragged
from service.core.placers import striped

DRAWS: Final = 32
"""Placements of the placer that a placement is measured by."""


@dataclass(frozen=True)
class Audit:
    """What is wrong with a topic's placement, and what mends it.

    doubled : partitions of which a broker holds more than one replica
    unknown : partitions with a replica on a broker that the cluster does not have
    wrong_factor : partitions that have another number of replicas than the topic's factor
    crowded : partitions on fewer racks than there could be (brokers without a rack are a rack of their own)
    unled : partitions that no unfenced broker of the cluster leads
    load : what each broker has
    most_leaders : how many partitions a broker may lead; see above
    copies : the fewest replicas that have to be copied to another broker so that nothing of the first four is left
    leader_changes : the fewest partitions that have to get another leader so that no broker leads more than it may

    The partitions are rows of the placement: int32[...], ascending.
    """

    doubled: Int32s
    unknown: Int32s
    wrong_factor: Int32s
    crowded: Int32s
    unled: Int32s
    load: Load
    most_leaders: int
    copies: int
    leader_changes: int

    @property
    def obeys(self) -> bool:
        """Is there nothing to mend?"""
        return not (self.copies or self.leader_changes or len(self.wrong_factor))


def audit(cluster: Cluster, placement: Ragged, replication_factor: int) -> Audit:
    """The audit of a topic's placement.

    placement : Ragged partition → brokers, the leader first, NONE for one that the cluster does not have
    Raises KafkaError where the cluster cannot hold the replicas, so that there is nothing to compare with.
    """
    brokers, lengths, count = placement.values, placement.lengths(), len(placement)
    known, racks = brokers != NONE, racks_of(cluster)
    distinct, on_racks = (distinct_in_rows(placement, holders, known) for holders in (brokers, racks[brokers]))
    unknown = np.bincount(placement.row_of_each_value()[~known], minlength=count)
    doubled = lengths - distinct - unknown
    racks_possible = min(replication_factor, len(np.unique(racks)))
    # Each free place takes a copy, and a copy reaches at most one more rack: there is always one to spare on a rack held twice.
    copies = np.maximum(np.maximum(replication_factor - distinct, racks_possible - on_racks), 0)

    first = np.full(count, NONE, np.int32)
    first[lengths > 0] = brokers[placement.offsets[:-1][lengths > 0]]
    led = (first != NONE) & ~cluster.fenced[first]
    load = load_of(cluster, placement)
    shape = (array.tobytes() for array in (cluster.broker_ids, cluster.racks, cluster.fenced))
    most = _most_leaders_of(cluster.rack_ids, *shape, count, replication_factor)
    allowed = np.where(cluster.fenced, 0, most)
    return Audit(
        doubled=_rows(doubled > 0),
        unknown=_rows(unknown > 0),
        wrong_factor=_rows(lengths != replication_factor),
        crowded=_rows(on_racks < racks_possible),
        unled=_rows(~led),
        load=load,
        most_leaders=most,
        copies=int(copies.sum()),
        leader_changes=int(np.maximum(load.leaders - allowed, 0).sum() + np.count_nonzero(first == NONE)),
    )


def _rows(mask: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Int32s:
    return np.flatnonzero(mask).astype(np.int32)


@lru_cache(maxsize=512)
def _most_leaders_of(
    rack_ids: tuple[str, ...], broker_ids: bytes, racks: bytes, fenced: bytes, partitions_count: int, replication_factor: int
) -> int:
    cluster = Cluster(
        np.frombuffer(broker_ids, np.int32), rack_ids, np.frombuffer(racks, np.int32), np.frombuffer(fenced, np.bool_)
    )
    request = PlacementRequest(partitions_count, replication_factor)
    draws = (striped.place(cluster, request, JavaRandom(seed)) for seed in range(DRAWS))
    return max(int(np.bincount(placement[:, 0], minlength=1).max()) for placement in draws)
