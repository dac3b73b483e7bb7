"""librdkafka, and the clients made of it: confluent-kafka for Python, Go, .NET and JavaScript, rust-rdkafka, php-rdkafka.

Source: rdkafka_assignor.c, rdkafka_range_assignor.c, rdkafka_roundrobin_assignor.c of each of RELEASES. Racks count since 2.2.0.
"""

from functools import partial
from typing import Final

from service.core.assignors.model import Assignor
from service.core.later import Later
from service.core.registry import Implementation

range_ = Later("service.clients.librdkafka.range")
classic_roundrobin = Later("service.core.assignors.classic.roundrobin")
cooperative_sticky = Later("service.clients.librdkafka.cooperative_sticky")
order = Later("service.clients.librdkafka.order")
roundrobin = Later("service.clients.librdkafka.roundrobin")

RELEASES: Final = ("1.5.0", "1.5.2", "1.6.0", "1.7.0", "1.9.2", "2.2.0", "2.6.0", "2.12.1", "2.15.1")

ASSIGNORS: Final[tuple[Assignor, ...]] = (
    Assignor(
        name="librdkafka:range",
        run=range_.assign,
        implementation=Implementation("librdkafka", RELEASES[-1], "rd_kafka_range_assignor_assign_cb"),
        client_releases=RELEASES,
        forms={"2.2.0": {}, "1.5.0": {"run": range_.assign_without_racks}},
        summary="Kafka's range, but static members do not come first: members are sorted by member_id.",
        warnings=order.warnings,
        setting="partition.assignment.strategy=range",
        is_default=True,
    ),
    Assignor(
        name="librdkafka:roundrobin",
        run=partial(classic_roundrobin.turns_by, order.members_in_order),
        implementation=Implementation("librdkafka", RELEASES[-1], "rd_kafka_roundrobin_assignor_assign_cb"),
        client_releases=RELEASES,
        forms={
            "1.5.3": {},
            "1.5.2": {"run": partial(roundrobin.assign, asserts=False)},
            "1.5.0": {"run": partial(roundrobin.assign, asserts=True)},
        },
        summary="Kafka's roundrobin, but static members do not come first: members are sorted by member_id.",
        warnings=order.warnings,
        setting="partition.assignment.strategy=roundrobin",
    ),
    Assignor(
        name="librdkafka:cooperative-sticky",
        run=cooperative_sticky.assign,
        implementation=Implementation("librdkafka", RELEASES[-1], "rd_kafka_sticky_assignor_assign_cb"),
        client_releases=RELEASES[2:],
        forms={
            "2.6.1": {},  # isBalanced passed over members until then
            # racks, and claims by generation (#4252) since then
            "2.2.0": {"run": cooperative_sticky.assign_until_2_6_0},
            "1.7.0": {"run": cooperative_sticky.assign_until_2_1_1},
            "1.6.0": {"run": cooperative_sticky.assign_until_1_6_1},
        },
        summary="Members keep what they own as far as the group can be even; what moves stays unassigned until it is revoked.",
        setting="partition.assignment.strategy=cooperative-sticky",
        drops_deleted=True,
    ),
)
