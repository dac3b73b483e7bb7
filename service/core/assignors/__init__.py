"""The assignors on offer, by group protocol.

An assignor is a plain function ``Group → Assignment``. Those of an installed plug-in come through the entry-point group
``partition_allocator.assignors.<group protocol>`` (docs/plugins.md).
"""

from typing import Final

from service.core.assignors import plugins
from service.core.assignors.classic import range as classic_range
from service.core.assignors.classic import roundrobin as classic_roundrobin
from service.core.assignors.classic.sticky import cooperative as classic_cooperative_sticky
from service.core.assignors.classic.sticky import sticky as classic_sticky
from service.core.assignors.consumer import range as consumer_range
from service.core.assignors.consumer.uniform import uniform
from service.core.assignors.model import Assignor
from service.core.assignors.share import simple
from service.core.registry import Registry

__all__ = ["GROUP_PROTOCOLS", "Assignor"]

CLASSIC: Final[tuple[Assignor, ...]] = (
    Assignor(
        name="range",
        run=classic_range.assign,
        reproduces="kafka-clients 4.3.1 RangeAssignor (KIP-881)",
        summary="Topic by topic, each subscriber gets a run of consecutive partitions, on its own rack where that is possible.",
        explain=classic_range.explain,
        aliases=("org.apache.kafka.clients.consumer.RangeAssignor",),
    ),
    Assignor(
        name="roundrobin",
        run=classic_roundrobin.assign,
        reproduces="kafka-clients 4.3.1 RoundRobinAssignor",
        summary="Members stand in a circle; every partition of every topic goes to the next one that subscribes to it.",
        explain=classic_roundrobin.explain,
        aliases=("org.apache.kafka.clients.consumer.RoundRobinAssignor",),
    ),
    Assignor(
        name="sticky",
        run=classic_sticky.assign,
        reproduces="kafka-clients 4.3.1 StickyAssignor (KIP-54, KIP-881)",
        summary="As even as subscriptions allow, and then as few partitions as possible change their member.",
        explain=classic_sticky.explain,
        aliases=("org.apache.kafka.clients.consumer.StickyAssignor",),
    ),
    Assignor(
        name="cooperative-sticky",
        run=classic_cooperative_sticky.assign,
        reproduces="kafka-clients 4.3.1 CooperativeStickyAssignor (KIP-429, KIP-881)",
        summary="As sticky, but a partition that changes hands is given to nobody until its owner has let go of it.",
        explain=classic_cooperative_sticky.explain,
        aliases=("org.apache.kafka.clients.consumer.CooperativeStickyAssignor",),
    ),
)

CONSUMER: Final[tuple[Assignor, ...]] = (
    Assignor(
        name="uniform",
        run=uniform.assign,
        reproduces="kafka-group-coordinator 4.3.1 UniformAssignor (KIP-848)",
        summary="As even as subscriptions allow, and then few moves; what brokers do unless a group asks for something else.",
        explain=uniform.explain,
        since="4.0.1",
        aliases=("org.apache.kafka.coordinator.group.assignor.UniformAssignor",),
        earlier=(
            Assignor(
                name="uniform",
                run=uniform.assign_until_4_0_0,
                reproduces="kafka-group-coordinator 4.0.0 UniformAssignor (KIP-848)",
                summary="As uniform, but the first members in order get the extra partitions, whoever had them (KAFKA-18688).",
                explain=uniform.explain_until_4_0_0,
            ),
        ),
    ),
    Assignor(
        name="range",
        run=consumer_range.assign,
        reproduces="kafka-group-coordinator 4.3.1 RangeAssignor (KIP-848)",
        summary="Topic by topic, each subscriber gets a run of consecutive partitions.",
        explain=consumer_range.explain,
        aliases=("org.apache.kafka.coordinator.group.assignor.RangeAssignor",),
    ),
)

SHARE: Final[tuple[Assignor, ...]] = (
    Assignor(
        name="simple",
        run=simple.assign,
        reproduces="kafka-group-coordinator 4.3.1 SimpleAssignor (KIP-932)",
        summary="Every partition to equally many members, so many that nobody is without, and everybody has about as many.",
        explain=simple.explain,
        aliases=("org.apache.kafka.coordinator.group.assignor.SimpleAssignor",),
        warnings=simple.warnings,
        since="4.2.0",
    ),
)

GROUP_PROTOCOLS: Final[dict[str, Registry[Assignor]]] = {
    "classic": Registry("assignor", "partition_allocator.assignors.classic", CLASSIC, plugins.guard),
    "consumer": Registry("assignor", "partition_allocator.assignors.consumer", CONSUMER, plugins.guard),
    "share": Registry("assignor", "partition_allocator.assignors.share", SHARE, plugins.guard_sharing),
}
"""The assignors of each group protocol."""
