"""The assignors on offer, by group protocol.

An assignor is a plain function ``Group → Assignment``. Plain names are Kafka's own, but for this project's ``balanced``; what
other clients' group leaders assign is called ``client:assignor`` (``clients``). Assignors of an installed plug-in come through
the entry-point group ``partition_allocator.assignors.<group protocol>`` (docs/plugins.md).
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from service.core.assignors import clients, plugins, splits
from service.core.assignors.classic.sticky.rules import COOPERATIVE, STICKY, Rules
from service.core.assignors.model import Assignor
from service.core.errors import UnknownStrategy
from service.core.kafka_versions import LATEST
from service.core.later import Later
from service.core.registry import Implementation, Registry

__all__ = ["GROUP_PROTOCOLS", "KAFKAS", "TASK_PROTOCOLS", "Assignor", "of_client"]

balanced = Later("service.core.assignors.balanced.balanced")
by_topic_id = Later("service.core.assignors.balanced.by_topic_id")
frontier = Later("service.core.assignors.balanced.frontier")
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
        is_timed=True,
        reserves=True,
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
        is_timed=True,
        reserves=True,
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

BALANCED: Final = Assignor(
    name="balanced",
    run=balanced.assign,
    summary="The most even loads that subscriptions allow, then the fewest moves, then the most rack-local reads: proven.",
    is_timed=True,
    reserves=True,
    limits_moves=True,
    frontier=frontier.frontier,
)
"""This project's own."""

REMOTE: Final = ("partition-allocator", "partitionallocator.clients.RemoteAssignor")
"""What groups and configurations of consumers call it whose leader asks for it (see docs/consumers.md)."""

BROKERS_OWN: Final = ("partitionallocator.broker.BalancedAssignor",)
"""What configurations of brokers call it."""

NOT_BALANCED: Final = (
    "Members of a share group take records of the same partitions as fast as they process them. So an assignment does not decide "
    "what each has to do, and there is nothing to even out."
)
"""Why there is no ``balanced`` in the share protocol (KIP-932: any member of a partition may acquire any of its records)."""

KAFKAS: Final[dict[str, tuple[Assignor, ...]]] = {"classic": CLASSIC, "consumer": CONSUMER, "share": SHARE}
"""Kafka's own assignors of each group protocol."""

GROUP_PROTOCOLS: Final[dict[str, Registry[Assignor]]] = {
    "classic": Registry(
        "assignor",
        "partition_allocator.assignors.classic",
        (*CLASSIC, replace(BALANCED, forms={"2.4.1": {}}, aliases=REMOTE, wraps=CLASSIC[-1]), *clients.CLASSIC),
        plugins.guard,
    ),
    "consumer": Registry(
        "assignor",
        "partition_allocator.assignors.consumer",
        (*CONSUMER, replace(BALANCED, run=by_topic_id.assign, forms=SINCE_4_0, aliases=BROKERS_OWN)),
        plugins.guard,
    ),
    "share": Registry("assignor", "partition_allocator.assignors.share", SHARE, plugins.guard_sharing),
    "splits": Registry("assignor", "partition_allocator.assignors.splits", splits.SPLITS, plugins.guard),
}
"""The assignors of each group protocol: Kafka's own and ``balanced``, in the classic one those of other clients, and plug-ins.

``splits`` is no protocol of Kafka's: its readers form no group.
"""


TASK_PROTOCOLS: Final = ("connect", "streams")
"""The protocols of groups that have tasks instead of partitions, which are questions of their own (``connect``, ``streams``)."""


def of_client(protocol: str, client: str, name: str | None) -> str:
    """The full name of a client's assignor, and of its default if there is no name; raises UnknownStrategy for the client.

    protocol : one of GROUP_PROTOCOLS; client : ``java``, or the part of full names before the colon
    """
    if client == "java" and protocol in KAFKAS:
        return name or KAFKAS[protocol][0].name
    offered = [each for each in GROUP_PROTOCOLS[protocol].builtins if each.name.startswith(f"{client}:")]
    if not offered:
        known = dict.fromkeys(each.name.partition(":")[0] for each in GROUP_PROTOCOLS[protocol].builtins if ":" in each.name)
        raise UnknownStrategy("client", client, (*(("java",) if protocol in KAFKAS else ()), *known))
    return f"{client}:{name}" if name else next((each.name for each in offered if each.is_default), offered[0].name)
