"""Kafka's placers: a plain function each.

``(Cluster, PlacementRequest, JavaRandom) → int32[partitions, replication_factor]``

Its values are indices of brokers, the leader in column 0. The generator is the caller's, so that several topics can be placed
from one, as one CreateTopics request does.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from service.core.jvm.random import JavaRandom
from service.core.kafka_versions import LATEST
from service.core.model import Cluster, Int32s, PlacementRequest
from service.core.placers import admin_utils, explanations, modulo, reassign_generate, striped
from service.core.placers.admin_utils import check_counts
from service.core.placers.draws import RandomDraws, nothing_drawn
from service.core.placers.draws import admin_utils as admin_utils_draws
from service.core.placers.draws import striped as striped_draws
from service.core.registry import BrokenRule, Implementation, Plugin, Strategy


@dataclass(frozen=True)
class Placer(Strategy):
    """One way to place replicas.

    requests : the forms of a request that it supports, each by the field that marks it
    options : the fields of PlacementRequest, beyond the counts and the first id, that it uses
    takes_repeated_ids : may several brokers have the same id?
    draws : what it draws at random, where that can be told from a placement; None: nothing, or it is not known
    explain : how ``run`` arrives at its answer, as a JSON object: ``(cluster, request, generator as before the run, most
        entries of a list)``; None if there is nothing to explain
    """

    requests: tuple[str, ...] = ("partitions_count", "topics")
    options: tuple[str, ...] = ()
    takes_repeated_ids: bool = False
    draws: RandomDraws | None = None
    explain: Callable[[Cluster, PlacementRequest, JavaRandom, int], dict[str, Any]] | None = None


# What a placer from a plug-in must obey: checked for each of its answers, for none of a built-in's.
#
# *Rules*: the placement has a row for each partition and a column for each replica; its values are indices of brokers; no
# partition has two replicas on one broker. Counts that no cluster can hold are refused, as AdminUtils does, before the plug-in
# runs.


def guard(placer: Placer, plugin: Plugin) -> Placer:
    """The placer, its functions guarded; raises ValueError for forms or requests that it cannot have."""
    if placer.forms:
        raise ValueError("forms are for the releases of Kafka itself")
    if not {"partitions_count", "topics"}.issuperset(placer.requests):
        raise ValueError("requests must be partitions_count, topics or both")

    def run(cluster: Cluster, request: PlacementRequest, random: JavaRandom) -> Any:
        check_counts(cluster, request)
        return placer.run(cluster, request, random)

    explain = placer.explain and plugin.guarded(placer.explain)
    return replace(placer, run=plugin.guarded(run, checked), explain=explain)


def checked(placement: Any, cluster: Cluster, request: PlacementRequest, _: JavaRandom) -> Int32s:
    """The placement as int32[partitions, replication_factor]; raises BrokenRule, which names the first offending partition."""
    shape = (request.partitions_count, request.replication_factor)
    if not isinstance(placement, np.ndarray) or placement.dtype.kind not in "iu":
        raise BrokenRule(f"it returned a {type(placement).__name__}, not an array of integers")
    if placement.shape != shape:
        raise BrokenRule(f"the shape of the placement is {placement.shape}, not {shape}")
    outside = (placement < 0) | (placement >= len(cluster))
    if outside.any():
        row, column = np.argwhere(outside)[0]
        broker, partition_id = placement[row, column], request.partition_ids()[row]
        raise BrokenRule(f"partition {partition_id} is placed on broker index {broker}, which is not in [0, {len(cluster)})")
    ordered = np.sort(placement, axis=1)
    repeated = ordered[:, 1:] == ordered[:, :-1]
    if repeated.any():
        row, column = np.argwhere(repeated)[0]
        broker_id = cluster.broker_ids[ordered[row, column]]
        raise BrokenRule(f"partition {request.partition_ids()[row]} has two replicas on broker {broker_id}")
    return np.ascontiguousarray(placement, np.int32)


__all__ = ["BUILT_IN", "Placer"]

ADMIN_UTILS: Final[dict[str, dict[str, Any]]] = {"0.10.2.1": {}}
"""All releases place alike."""

BUILT_IN: Final[tuple[Placer, ...]] = (
    Placer(
        name="modulo",
        run=modulo.place,
        summary="Partition i on broker i mod n, replica j on broker (i + j) mod n, in the order given.",
        draws=nothing_drawn(modulo.place, "The rule"),
        explain=explanations.explain_modulo,
    ),
    Placer(
        name="rack-unaware",
        run=admin_utils.place_rack_unaware,
        implementation=Implementation("broker", "4.0.2", "AdminUtils.assignReplicasToBrokers, RackAwareMode.Disabled"),
        forms=ADMIN_UTILS,
        summary="Round robin from a random start, followers at a random distance that grows each time round.",
        options=("start_index", "replica_shift", "partition_0_leader"),
        takes_repeated_ids=True,
        draws=admin_utils_draws.RACK_UNAWARE,
        explain=explanations.explain_rack_unaware,
    ),
    Placer(
        name="rack-aware",
        run=admin_utils.place_rack_aware,
        implementation=Implementation("broker", "4.0.2", "AdminUtils.assignReplicasToBrokers, RackAwareMode.Enforced"),
        forms=ADMIN_UTILS,
        summary="The same over a list in which racks alternate; followers go to racks without a replica first.",
        options=("start_index", "replica_shift", "partition_0_leader"),
        takes_repeated_ids=True,
        draws=admin_utils_draws.RACK_AWARE,
        explain=explanations.explain_rack_aware,
    ),
    Placer(
        name="striped",
        run=striped.place,
        implementation=Implementation("controller", LATEST, "org.apache.kafka.metadata.placement.StripedReplicaPlacer"),
        forms={
            "4.3.0": {},
            "3.4.1": {"run": striped.place_until_4_2, "options": (), "requests": ("partitions_count", "topics")},
        },
        options=("cordoned",),
        summary="Stripes over racks, then over brokers; unfenced brokers lead, and order is shuffled after each full round.",
        requests=("partitions_count", "topics", "operations"),
        draws=striped_draws.STRIPED,
        explain=explanations.explain_striped,
    ),
    Placer(
        name="kafka-reassign-generate",
        run=reassign_generate.place,
        implementation=Implementation("tools", LATEST, "org.apache.kafka.tools.reassign.ReassignPartitionsCommand --generate"),
        forms={"4.3.1": {}},
        summary="Places existing topics again, on a list of brokers; it has its own request fields, from `topics_to_move` on.",
        requests=("topics_to_move",),
    ),
)
