"""The placers on offer: a placer is a plain function ``(Cluster, Wish, JavaRandom) → int32[partitions, replication_factor]``.

Its values are indices of brokers, the leader in column 0. The generator is the caller's, so that several topics can be placed
from one, as one CreateTopics request does. Those of an installed plug-in come through the entry-point group
``service.placers``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from service.core.placers import admin_utils, explanations, modulo, striped
from service.core.registry import Registry, Strategy

if TYPE_CHECKING:
    from collections.abc import Callable

    from service.core.jvm.random import JavaRandom
    from service.core.model import Cluster, Wish

LATEST: Final = "4.3.1"

REASSIGN_GENERATE: Final = "kafka-reassign-generate"
"""The placer whose question is about existing topics: ``reassign_generate.propose`` answers it."""


@dataclass(frozen=True)
class Placer(Strategy):
    """One way to place replicas.

    kafka_versions : the releases whose answers it can give
    options : the members of Wish, beyond the counts and the first id, that it heeds
    explain : how ``run`` comes to its answer, as a JSON object: ``(cluster, wish, generator as before the run, at most so many
        entries a list)``; None when there is nothing to tell
    """

    kafka_versions: tuple[str, ...] = (LATEST,)
    options: tuple[str, ...] = ()
    explain: Callable[[Cluster, Wish, JavaRandom, int], dict[str, Any]] | None = None


BUILT_IN: Final[tuple[Placer, ...]] = (
    Placer(
        name="modulo",
        run=modulo.place,
        reproduces="the rule of thumb; no class of Kafka's",
        summary="Partition i on broker i mod n, replica j on broker (i + j) mod n, in the order given.",
        kafka_versions=("0.10.2.1", "3.9.2", "4.0.2", LATEST),
        explain=explanations.explain_modulo,
    ),
    Placer(
        name="rack-unaware",
        run=admin_utils.place_rack_unaware,
        reproduces="AdminUtils.assignReplicasToBrokers, Kafka 0.10.2.1 to 4.0.2, RackAwareMode.Disabled",
        summary="Round robin from a random start, followers at a random distance that grows each time round.",
        kafka_versions=("0.10.2.1", "3.9.2", "4.0.2", LATEST),
        options=("start_index", "replica_shift", "partition_0_leader"),
        explain=explanations.explain_rack_unaware,
    ),
    Placer(
        name="rack-aware",
        run=admin_utils.place_rack_aware,
        reproduces="AdminUtils.assignReplicasToBrokers, Kafka 0.10.2.1 to 4.0.2, RackAwareMode.Enforced (KIP-36)",
        summary="The same over a list in which racks alternate; followers go to racks without a replica first.",
        kafka_versions=("0.10.2.1", "3.9.2", "4.0.2", LATEST),
        options=("start_index", "replica_shift", "partition_0_leader"),
        explain=explanations.explain_rack_aware,
    ),
    Placer(
        name="striped",
        run=striped.place,
        reproduces="StripedReplicaPlacer, kafka-metadata 4.3.1 (KRaft controllers)",
        summary="Stripes over racks, then over brokers; unfenced brokers lead, and order is shuffled after each full round.",
        explain=explanations.explain_striped,
    ),
    Placer(
        name=REASSIGN_GENERATE,
        run=striped.place,
        reproduces="kafka-reassign-partitions --generate, kafka-tools 4.3.1 (one StripedReplicaPlacer for all topics)",
        summary="Places existing topics anew on a list of brokers; it has its own request fields, from `topics_to_move` on.",
    ),
)

PLACERS: Final = Registry("placer", "service.placers", BUILT_IN)
