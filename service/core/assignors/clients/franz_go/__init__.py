"""franz-go, for Go: also what Redpanda Connect, and many other programs, are made with.

Source: group_balancer.go, internal/sticky (franz-go 1.22.2).
"""

from typing import Final

from service.core.assignors.model import Assignor
from service.core.later import Later
from service.core.registry import Implementation

range_ = Later("service.core.assignors.clients.franz_go.range")
roundrobin = Later("service.core.assignors.clients.franz_go.roundrobin")
sticky = Later("service.core.assignors.clients.franz_go.sticky")

RELEASE: Final = "1.22.2"

ASSIGNORS: Final[tuple[Assignor, ...]] = (
    Assignor(
        name="franz-go:range",
        run=range_.assign,
        on_racks=range_.assign_on_racks,
        implementation=Implementation("franz-go", RELEASE, "kgo.RangeBalancer"),
        client_releases=(RELEASE,),
        summary="Kafka's range; racks count only with kgo.BalanceRacks, by a rule of its own.",
        setting="kgo.Balancers(kgo.RangeBalancer())",
    ),
    Assignor(
        name="franz-go:roundrobin",
        run=roundrobin.assign,
        implementation=Implementation("franz-go", RELEASE, "kgo.RoundRobinBalancer"),
        client_releases=(RELEASE,),
        summary="Kafka's roundrobin.",
        setting="kgo.Balancers(kgo.RoundRobinBalancer())",
    ),
    Assignor(
        name="franz-go:sticky",
        run=sticky.assign,
        on_racks=sticky.assign_on_racks,
        implementation=Implementation("franz-go", RELEASE, "kgo.StickyBalancer"),
        client_releases=(RELEASE,),
        summary="As even as subscriptions allow, then with the fewest moves; chance decides between equals.",
        setting="kgo.Balancers(kgo.StickyBalancer())",
        is_timed=True,
    ),
    Assignor(
        name="franz-go:cooperative-sticky",
        run=sticky.assign_cooperatively,
        on_racks=sticky.assign_cooperatively_on_racks,
        implementation=Implementation("franz-go", RELEASE, "kgo.CooperativeStickyBalancer"),
        client_releases=(RELEASE,),
        summary="As its sticky, but a moved partition stays unassigned until its previous owner has revoked it.",
        setting="kgo.Balancers(kgo.CooperativeStickyBalancer())",
        is_default=True,
        is_timed=True,
    ),
)
