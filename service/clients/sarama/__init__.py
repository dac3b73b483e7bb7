"""sarama, for Go: also what Telegraf, Redpanda Console and many exporters are made with.

Source: balance_strategy.go, balance_strategy_cooperative_sticky.go of each of RELEASES.
"""

from functools import partial
from typing import Final

from service.core.assignors.model import Assignor
from service.core.later import Later
from service.core.registry import Implementation

classic_ranges = Later("service.core.assignors.classic.ranges")
names = Later("service.clients.names")
hashed = Later("service.clients.sarama.hashed")
roundrobin = Later("service.clients.sarama.roundrobin")
sticky = Later("service.clients.sarama.sticky")

RELEASES: Final = ("1.27.0", "1.28.0", "1.34.0", "1.35.0", "1.43.3", "1.60.0", "1.61.1")

ASSIGNORS: Final[tuple[Assignor, ...]] = (
    Assignor(
        name="sarama:range",
        run=partial(classic_ranges.ranges_by, names.by_member_id),
        implementation=Implementation("sarama", RELEASES[-1], "NewBalanceStrategyRange"),
        client_releases=RELEASES,
        forms={"1.35.0": {}, "1.27.0": {"run": hashed.ranges}},
        summary="Kafka's range without racks, over members sorted by member_id, static or not.",
        setting="Consumer.Group.Rebalance.GroupStrategies: NewBalanceStrategyRange()",
        is_default=True,
    ),
    Assignor(
        name="sarama:roundrobin",
        run=roundrobin.assign,
        implementation=Implementation("sarama", RELEASES[-1], "NewBalanceStrategyRoundRobin"),
        client_releases=RELEASES,
        forms={"1.28.0": {}, "1.27.0": {"run": hashed.turns}},
        summary="Kafka's roundrobin, but partitions are sorted by name as text: t-10 before t-2.",
        setting="Consumer.Group.Rebalance.GroupStrategies: NewBalanceStrategyRoundRobin()",
    ),
    Assignor(
        name="sarama:sticky",
        run=sticky.assign,
        implementation=Implementation("sarama", RELEASES[-1], "NewBalanceStrategySticky"),
        client_releases=RELEASES,
        summary="Members keep what they own as far as the group can be even; chance decides who gets free partitions.",
        setting="Consumer.Group.Rebalance.GroupStrategies: NewBalanceStrategySticky()",
    ),
    Assignor(
        name="sarama:cooperative-sticky",
        run=sticky.assign_cooperatively,
        implementation=Implementation("sarama", RELEASES[-1], "NewBalanceStrategyCooperativeSticky"),
        client_releases=RELEASES[-1:],
        summary="As its sticky, but a moved partition stays unassigned until its previous owner has revoked it.",
        setting="Consumer.Group.Rebalance.GroupStrategies: NewBalanceStrategyCooperativeSticky()",
    ),
)
