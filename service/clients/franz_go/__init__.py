"""franz-go, for Go: also what Redpanda Connect, and many other programs, are made with.

Source: group_balancer.go, internal/sticky (franz-go 1.22.2).
"""

from functools import partial
from typing import Final

import numpy as np

from service.clients.names import static_first
from service.core.assignors.classic.members import topic_subscribers
from service.core.assignors.classic.range import ranges_by
from service.core.assignors.model import Assignor
from service.core.kernels import kernel
from service.core.model import NONE, Assignment, Group, Int32s
from service.core.ragged import grouped
from service.core.registry import Implementation, Later

# franz-go's range with ``BalanceRacks``, a rule of its own for racks; without, it is Kafka's before KIP-881.
#
# Topic by topic, each subscriber on a rack takes the first partitions whose leaders are on it, up to its share; what is
# left is given out in runs, as far as shares have room.
#
# Source: rangeBalancer in group_balancer.go (franz-go 1.22.2). The previous assignment plays no part.


def assign_on_racks(group: Group) -> Assignment:
    """Ragged member → partitions, ascending."""
    leaders = group.topics.leader_racks
    if leaders is None:
        return ranges_by(static_first, group)
    order = static_first(group)
    subscribers = topic_subscribers(group, order)
    owners = _owners_on_racks(order, subscribers.offsets, subscribers.values, group.racks[order], group.topics.first, leaders)
    return Assignment(grouped(owners, len(group)))


@kernel
def _owners_on_racks(  # noqa: C901 (a kernel)
    order: Int32s, subscribers_of: Int32s, subscribers: Int32s, racks: Int32s, first: Int32s, leader_racks: Int32s
) -> Int32s:
    """The owner of each partition, or NONE where no member subscribes: int32[partitions].

    order : int32[members]               the member at each position
    subscribers_of, subscribers : topic → positions of its subscribers, ascending
    racks : int32[members]               the rack of the member at each position, or NONE
    first : int32[topics + 1]            the first partition of each topic
    leader_racks : int32[partitions]     the rack of each partition's leader, or NONE

    Plain-Python twin: tests/reference/clients/franz_go.py.
    """
    owners = np.full(first[-1], NONE, np.int32)
    for topic in range(len(first) - 1):
        members = subscribers[subscribers_of[topic] : subscribers_of[topic + 1]]
        if len(members) == 0:
            continue
        start, stop = first[topic], first[topic + 1]
        quota, extra = divmod(stop - start, len(members))
        room = np.empty(len(members), np.int32)
        for i in range(len(members)):
            room[i] = quota + (i < extra)
            rack = racks[members[i]]
            if rack == NONE:
                continue
            for partition in range(start, stop):
                if room[i] == 0:
                    break
                if owners[partition] == NONE and leader_racks[partition] == rack:
                    owners[partition] = order[members[i]]
                    room[i] -= 1
        taker = 0
        for partition in range(start, stop):
            if owners[partition] == NONE:
                while room[taker] == 0:
                    taker += 1
                owners[partition] = order[members[taker]]
                room[taker] -= 1
    return owners


classic_roundrobin = Later("service.core.assignors.classic.roundrobin")
sticky = Later("service.clients.franz_go.sticky")

RELEASE: Final = "1.22.2"

ASSIGNORS: Final[tuple[Assignor, ...]] = (
    Assignor(
        name="franz-go:range",
        run=partial(ranges_by, static_first),
        on_racks=assign_on_racks,
        implementation=Implementation("franz-go", RELEASE, "kgo.RangeBalancer"),
        client_releases=(RELEASE,),
        summary="Kafka's range; racks count only with kgo.BalanceRacks, by a rule of its own.",
        setting="kgo.Balancers(kgo.RangeBalancer())",
    ),
    Assignor(
        name="franz-go:roundrobin",
        run=partial(classic_roundrobin.turns_by, static_first),
        implementation=Implementation("franz-go", RELEASE, "kgo.RoundRobinBalancer"),
        client_releases=(RELEASE,),
        summary="Kafka's roundrobin.",
        setting="kgo.Balancers(kgo.RoundRobinBalancer())",
    ),
    Assignor(
        name="franz-go:sticky",
        run=sticky.assign,
        on_racks=partial(sticky.assign, balance_racks=True),
        implementation=Implementation("franz-go", RELEASE, "kgo.StickyBalancer"),
        client_releases=(RELEASE,),
        summary="As even as subscriptions allow, then with the fewest moves; chance decides between equals.",
        setting="kgo.Balancers(kgo.StickyBalancer())",
    ),
    Assignor(
        name="franz-go:cooperative-sticky",
        run=sticky.assign_cooperatively,
        on_racks=partial(sticky.assign_cooperatively, balance_racks=True),
        implementation=Implementation("franz-go", RELEASE, "kgo.CooperativeStickyBalancer"),
        client_releases=(RELEASE,),
        summary="As its sticky, but a moved partition stays unassigned until its previous owner has revoked it.",
        setting="kgo.Balancers(kgo.CooperativeStickyBalancer())",
        is_default=True,
    ),
)
