"""The options of a plan, of the job and of the command ``reassign``. One that is not given is None, or empty."""

from typing import Any, Final

import click

from service.parameters.types import Parsed
from service.planner.reassignments import (
    BATCH_ORDERS,
    BATCH_SECONDS,
    LEADER_RULES,
    OBJECTIVES,
    RACK_RULES,
    RESOURCES,
    THROTTLE_UTILIZATION,
    UNKNOWN_RACKS,
)


def _int32(text: str, smallest: int = -(2**31)) -> int:
    number = int(text)
    if not smallest <= number < 2**31:
        raise ValueError(text)
    return number


def _broker_set(text: str) -> tuple[str, tuple[int, ...]]:
    pattern, _, ids = text.partition("=")
    return pattern, tuple(map(_int32, ids.split(",")))


BROKER_SET: Final = Parsed("PATTERN=ID,…", _broker_set, "PATTERN=ID,…, such as logs-*=1,2")
"""Topics, by name or pattern, and the ids of the brokers that they may be on."""


def _topic_leaders(text: str) -> tuple[str, int, tuple[int, ...] | None]:
    pattern, equals, rest = text.partition("=")
    count, colon, ids = rest.partition(":")
    number = _int32(count, smallest=1) if equals else 1
    return pattern, number, tuple(map(_int32, ids.split(","))) if colon else None


TOPIC_LEADERS: Final = Parsed("PATTERN[=COUNT[:ID,…]]", _topic_leaders, "PATTERN[=COUNT[:ID,…]], such as orders=2:1,3")
"""Topics, by name or pattern, how many of their partitions a broker is to lead, by default one, and the ids of these brokers.

None: all that may lead.
"""


def _several(*names: str, text: str, **attributes: Any) -> click.Option:
    return click.Option(names, multiple=True, help=f"{text} Repeatable.", **attributes)


def _count(*names: str, text: str, least: int = 1) -> click.Option:
    return click.Option(names, type=click.IntRange(least), help=text)


SHARE: Final = click.FloatRange(0, 1, min_open=True)

OBJECTIVE: Final = click.Option(
    ["--objective"],
    type=click.Choice(OBJECTIVES),
    help=f"First goal. Default: {OBJECTIVES[0]}, and {OBJECTIVES[1]} with a tolerance or a maximum of copies.",
)
PACE: Final = (
    click.Option(["--order"], type=click.Choice(BATCH_ORDERS), help=f"Order of the batches. Default: {BATCH_ORDERS[0]}."),
    _count("--duration-seconds", text="Seconds for all batches; raises the throttle as far as needed."),
    click.Option(
        ["--throttle-utilization"],
        type=SHARE,
        help=f"Share of the throttle that copying reaches. Default: {THROTTLE_UTILIZATION:g}.",
    ),
    click.Option(
        ["--batch-seconds"],
        type=click.FloatRange(0),
        help=f"Seconds that a batch takes besides copying. Default: {BATCH_SECONDS:g}.",
    ),
)
"""How batches follow each other, also between the disks of brokers."""

PLANNING: Final = (
    _several(
        "--included-topics",
        "included_topics",
        metavar="PATTERN",
        text="Topics to change, with * for any characters and ? for one; all others stay as they are.",
    ),
    _several("--excluded-topics", "excluded_topics", metavar="PATTERN", text="Topics to leave as they are."),
    _several("--destination", "destinations", type=int, metavar="ID", text="Broker that may get replicas; no others may."),
    _several(
        "--broker-set",
        "broker_sets",
        type=BROKER_SET,
        text="Topics that may be on these brokers only. The first match applies.",
    ),
    _several(
        "--min-topic-leaders",
        "topic_leaders",
        type=TOPIC_LEADERS,
        text="Fewest leaders of each such topic on each broker, or on each of these; replicas move if necessary.",
    ),
    click.Option(
        ["--infer-replaces"],
        is_flag=True,
        help="Let a new broker replace a missing one, if its rack makes it the only candidate.",
    ),
    _count("--replication-factor", text="Replication factor of all topics. Default: as it is."),
    OBJECTIVE,
    click.Option(
        ["--racks"],
        type=click.Choice((*RACK_RULES, UNKNOWN_RACKS)),
        help=f"Rack rule. {UNKNOWN_RACKS} accepts that no broker has a rack. Default: {RACK_RULES[0]}.",
    ),
    click.Option(
        ["--leaders"],
        type=click.Choice(LEADER_RULES),
        help=f"Preferred leaders. Default: {LEADER_RULES[1]} if brokers are drained, replaced, demoted or fenced with the fewest "
        f"moves, otherwise {LEADER_RULES[0]}.",
    ),
    click.Option(
        ["--balance"],
        metavar="RESOURCE[,…]",
        help="Resources to even out: one, several by priority (bytes,leaders), or several with weights (bytes=2,cpu=1). "
        f"Resources: {', '.join(RESOURCES)}. Default: {RESOURCES[0]}.",
    ),
    click.Option(["--per-topic"], is_flag=True, help="Even out each topic by itself too."),
    click.Option(
        ["--tolerance"],
        type=click.FloatRange(0),
        help="Copy the fewest replicas that bring every broker within this share of the mean, such as 0.1.",
    ),
    _count("--max-moves", least=0, text="Most replicas copied; the evenest load within that."),
    _count("--max-bytes", least=0, text="Most bytes copied; the evenest load within that."),
    click.Option(
        ["--disk-threshold"],
        type=SHARE,
        help="Share of its capacity_bytes that a broker may use, such as 0.85. Default: all of it.",
    ),
    click.Option(["--frontier"], is_flag=True, help="Show how even the cluster can be with each number of copies."),
    _count("--min-insync-replicas", text="min.insync.replicas of all topics, which every step keeps."),
    _count("--moves-per-broker", text="Replicas that a broker receives, or gives away, in one batch."),
    _count("--moves-per-batch", text="Replicas copied in one batch."),
    _count("--bytes-in-flight", text="Bytes copied in one batch."),
    _count("--throttle", "throttle_bytes_per_second", text="Bytes per second of each broker, in each direction."),
    *PACE,
    click.Option(
        ["--price-per-gb"], type=click.FloatRange(0), help="Price of 10⁹ bytes that cross zones, for their cost per month."
    ),
)
