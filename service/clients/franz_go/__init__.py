"""franz-go, for Go: also what Redpanda Connect, and many other programs, are made with.

Source: group_balancer.go, internal/sticky (franz-go 1.22.2).
"""

from functools import partial
from typing import Final

from service.core.assignors.model import Assignor
from service.core.later import Later
from service.core.registry import Implementation

classic_ranges = Later("service.core.assignors.classic.ranges")
classic_roundrobin = Later("service.core.assignors.classic.roundrobin")
names = Later("service.clients.names")
racks = Later("service.clients.franz_go.racks")
sticky = Later("service.clients.franz_go.sticky")

RELEASE: Final = "1.22.2"

ASSIGNORS: Final[tuple[Assignor, ...]] = (
    Assignor(
        name="franz-go:range",
        run=partial(classic_ranges.ranges_by, names.static_first),
        on_racks=racks.assign,
        implementation=Implementation("franz-go", RELEASE, "kgo.RangeBalancer"),
        client_releases=(RELEASE,),
        summary="Kafka's range; racks count only with kgo.BalanceRacks, by a rule of its own.",
        setting="kgo.Balancers(kgo.RangeBalancer())",
    ),
    Assignor(
        name="franz-go:roundrobin",
        run=partial(classic_roundrobin.turns_by, names.static_first),
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
