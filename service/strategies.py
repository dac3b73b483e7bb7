"""The strategies on offer: assignors by group protocol, and placers. Partitioners are all in ``core.partitioners``.

Plain names are Kafka's own, but for this project's ``balanced``; what other clients' group leaders assign is called
``client:assignor``. Strategies of an installed plug-in come through the entry-point groups
``partition_allocator.assignors.<group protocol>`` and ``partition_allocator.placers`` (docs/extending.md).
"""

from dataclasses import replace
from typing import Final

from service import clients
from service.clients import splits
from service.core import placers
from service.core.assignors import KAFKAS, SINCE_4_0
from service.core.assignors.model import Assignor, guard, guard_sharing
from service.core.errors import UnknownStrategy
from service.core.placers import BUILT_IN, Placer
from service.core.placers.draws import nothing_drawn
from service.core.registry import Later, Registry

__all__ = ["GROUP_PROTOCOLS", "KAFKAS", "PLACERS", "TASK_PROTOCOLS", "Assignor", "Placer", "of_client"]

balanced = Later("service.planner.balanced.balanced")
by_topic_id = Later("service.planner.balanced.balanced")
placer = Later("service.planner.balanced_placer")

BALANCED: Final = Assignor(
    name="balanced",
    run=balanced.assign,
    summary="The most even loads that subscriptions allow, then the fewest moves, then the most rack-local reads: proven.",
    limits_moves=True,
    frontier=balanced.frontier,
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

GROUP_PROTOCOLS: Final[dict[str, Registry[Assignor]]] = {
    "classic": Registry(
        "assignor",
        "partition_allocator.assignors.classic",
        (
            *KAFKAS["classic"],
            replace(BALANCED, forms={"2.4.1": {}}, aliases=REMOTE, wraps=KAFKAS["classic"][-1]),
            *clients.CLASSIC,
        ),
        guard,
    ),
    "consumer": Registry(
        "assignor",
        "partition_allocator.assignors.consumer",
        (*KAFKAS["consumer"], replace(BALANCED, run=by_topic_id.assign_by_topic_id, forms=SINCE_4_0, aliases=BROKERS_OWN)),
        guard,
    ),
    "share": Registry("assignor", "partition_allocator.assignors.share", KAFKAS["share"], guard_sharing),
    "splits": Registry("assignor", "partition_allocator.assignors.splits", splits.SPLITS, guard),
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


PLACERS: Final = Registry(
    "placer",
    "partition_allocator.placers",
    (
        *BUILT_IN[:-1],
        Placer(
            name="balanced",
            run=placer.place,
            summary=(
                "As many racks as possible, then even brokers, counting what they have, and each topic spread over many of them."
            ),
            options=("weight", "cordoned", "current_assignments"),
            draws=nothing_drawn(placer.place, "The most even placement"),
        ),
        BUILT_IN[-1],
    ),
    placers.guard,
)
