"""Kafka's placers: a plain function each.

``(Cluster, PlacementRequest, JavaRandom) → int32[partitions, replication_factor]``

Its values are indices of brokers, the leader in column 0. The generator is the caller's, so that several topics can be placed
from one, as one CreateTopics request does.
"""

from typing import Any, Final

from service.core.kafka_versions import LATEST
from service.core.placers import admin_utils, explanations, modulo, reassign_generate, striped
from service.core.placers.draws import admin_utils as admin_utils_draws
from service.core.placers.draws import nothing_drawn
from service.core.placers.draws import striped as striped_draws
from service.core.placers.model import Placer
from service.core.registry import Implementation

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
