"""Kafka's own assignors, by group protocol. An assignor is a plain function ``Group → Assignment``."""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from service.core.assignors.classic.sticky.rules import COOPERATIVE, STICKY, Rules
from service.core.assignors.model import Assignor
from service.core.kafka_versions import LATEST
from service.core.registry import Implementation, Later

__all__ = ["KAFKAS", "SINCE_4_0", "Assignor"]

classic_range = Later("service.core.assignors.classic.range")
classic_roundrobin = Later("service.core.assignors.classic.roundrobin")
classic_sticky = Later("service.core.assignors.classic.sticky.sticky")
classic_cooperative_sticky = Later("service.core.assignors.classic.sticky.cooperative")
consumer_range = Later("service.core.assignors.consumer.range")
uniform = Later("service.core.assignors.consumer.uniform.uniform")
simple = Later("service.core.assignors.share.simple")

SINCE_4_0: Final[dict[str, dict[str, Any]]] = {"4.0.0": {}}


def _former(module: Later, rules: Mapping[str, Rules]) -> dict[str, dict[str, Any]]:
    """The forms of a sticky assignor, the present one and those with other rules."""
    return {"3.9.1": {}} | {
        release: {
            "run": partial(module.assign, rules=its),
            "explain": partial(module.explain, rules=its),
            "warnings": its.warnings,
        }
        for release, its in rules.items()
    }


CLASSIC: Final[tuple[Assignor, ...]] = (
    Assignor(
        name="range",
        run=classic_range.assign,
        implementation=Implementation("java", LATEST, "org.apache.kafka.clients.consumer.RangeAssignor"),
        forms={
            "3.9.1": {},
            "2.4.1": {"run": classic_range.assign_until_3_4, "explain": classic_range.explain_until_3_4},  # no racks (KIP-881)
        },
        summary="Topic by topic, each subscriber gets a run of consecutive partitions, on its own rack where that is possible.",
        explain=classic_range.explain,
        aliases=("org.apache.kafka.clients.consumer.RangeAssignor",),
        setting="partition.assignment.strategy=org.apache.kafka.clients.consumer.RangeAssignor",
        is_default=True,
    ),
    Assignor(
        name="roundrobin",
        run=classic_roundrobin.assign,
        implementation=Implementation("java", LATEST, "org.apache.kafka.clients.consumer.RoundRobinAssignor"),
        forms={"2.4.1": {}},
        summary="The partitions of all topics go in turn to the members that subscribe to them.",
        explain=classic_roundrobin.explain,
        aliases=("org.apache.kafka.clients.consumer.RoundRobinAssignor",),
        setting="partition.assignment.strategy=org.apache.kafka.clients.consumer.RoundRobinAssignor",
    ),
    Assignor(
        name="sticky",
        run=classic_sticky.assign,
        implementation=Implementation("java", LATEST, "org.apache.kafka.clients.consumer.StickyAssignor"),
        forms=_former(classic_sticky, STICKY),
        summary="As even as subscriptions allow, then with the fewest partitions that change members.",
        explain=classic_sticky.explain,
        aliases=("org.apache.kafka.clients.consumer.StickyAssignor",),
        setting="partition.assignment.strategy=org.apache.kafka.clients.consumer.StickyAssignor",
    ),
    Assignor(
        name="cooperative-sticky",
        run=classic_cooperative_sticky.assign,
        implementation=Implementation("java", LATEST, "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"),
        forms=_former(classic_cooperative_sticky, COOPERATIVE),
        summary="As sticky, but a moved partition stays unassigned until its previous owner has revoked it.",
        explain=classic_cooperative_sticky.explain,
        aliases=("org.apache.kafka.clients.consumer.CooperativeStickyAssignor",),
        setting="partition.assignment.strategy=org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
    ),
)

CONSUMER: Final[tuple[Assignor, ...]] = (
    Assignor(
        name="uniform",
        run=uniform.assign,
        implementation=Implementation("broker", LATEST, "org.apache.kafka.coordinator.group.assignor.UniformAssignor"),
        summary="As even as subscriptions allow, then with few moves; the default of brokers.",
        explain=uniform.explain,
        forms={
            "4.0.1": {},
            "4.0.0": {  # the first members in order get the extra partitions, whoever had them (KAFKA-18688)
                "run": partial(uniform.assign, extra_stays=False),
                "explain": partial(uniform.explain, extra_stays=False),
            },
        },
        aliases=("org.apache.kafka.coordinator.group.assignor.UniformAssignor",),
        setting="group.remote.assignor=uniform",
        is_default=True,
    ),
    Assignor(
        name="range",
        run=consumer_range.assign,
        implementation=Implementation("broker", LATEST, "org.apache.kafka.coordinator.group.assignor.RangeAssignor"),
        forms=SINCE_4_0,
        summary="Topic by topic, each subscriber gets a run of consecutive partitions.",
        explain=consumer_range.explain,
        aliases=("org.apache.kafka.coordinator.group.assignor.RangeAssignor",),
        setting="group.remote.assignor=range",
    ),
)

SHARE: Final[tuple[Assignor, ...]] = (
    Assignor(
        name="simple",
        run=simple.assign,
        implementation=Implementation("broker", LATEST, "org.apache.kafka.coordinator.group.assignor.SimpleAssignor"),
        forms={"4.2.0": {}},
        summary="Assigns each partition to equally many members, so that every member has some and all have about as many.",
        explain=simple.explain,
        aliases=("org.apache.kafka.coordinator.group.assignor.SimpleAssignor",),
        warnings=simple.warnings,
        setting="group.share.assignors=simple",
        is_default=True,
    ),
)

KAFKAS: Final[dict[str, tuple[Assignor, ...]]] = {"classic": CLASSIC, "consumer": CONSUMER, "share": SHARE}
"""Kafka's own assignors of each group protocol."""
