"""Which lists of assignors librdkafka accepts as ``partition.assignment.strategy``, and what follows from a list.

The list may not mix eager and cooperative assignors: such a client is not created at all. So a group of librdkafka's clients
cannot go over from ``range`` to ``cooperative-sticky`` by two rolling restarts, as one of Java's clients can (KIP-429): a list
that has both, through which it would go, is refused. All its members must stop first.

Source: rd_kafka_assignors_init, rd_kafka_assignor_rebalance_protocol_check in rdkafka_assignor.c (librdkafka 1.9.2 to 2.15.1).
"""

from dataclasses import dataclass
from typing import Final

from service.core.errors import InvalidQuestion

PROTOCOLS: Final = {"range": "eager", "roundrobin": "eager", "cooperative-sticky": "cooperative"}
"""The rebalance protocol of each assignor."""

DEFAULT: Final = "range,roundrobin"

SETTING: Final = "partition.assignment.strategy"


@dataclass(frozen=True)
class Strategies:
    """A list of assignors.

    names : as the member tells them to the group, the preferred one first
    protocol : eager, cooperative, or None without any assignor
    """

    names: tuple[str, ...]
    protocol: str | None


def strategies(setting: str = DEFAULT) -> Strategies:
    """The list that a setting means; raises InvalidQuestion, in librdkafka's words, for one with which no client is created."""
    names: dict[str, None] = {}
    rest = setting
    while rest:
        name, _, rest = rest.lstrip(" ,").partition(",")
        if name.rstrip() not in PROTOCOLS:
            raise InvalidQuestion(f"Unsupported {SETTING}: {name.rstrip()}", SETTING)
        names[name.rstrip()] = None
    protocols = {PROTOCOLS[name] for name in names}
    if len(protocols) > 1:
        raise InvalidQuestion(
            f"All {SETTING} ({setting}) assignors must have the same protocol type, online migration between assignors with "
            "different protocol types is not supported",
            SETTING,
        )
    return Strategies(tuple(names), next(iter(protocols), None))
