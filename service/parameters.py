"""Parameters of the commands and of the pipeline's jobs alike. Imports nothing of Spark, which most commands do not need."""

import re
from collections.abc import Callable
from typing import Any, Final

import click

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

MOST_COUNTS: Final = 10_000
"""Most numbers of one range."""


class Parsed(click.ParamType[Any]):
    """What a function reads of a text.

    name : of the type, as --help shows it
    read : raises ValueError for any other text
    what : the text, in words, for the message
    """

    def __init__(self, name: str, read: Callable[[str], Any], what: str) -> None:
        self.name, self.read, self.what = name, read, what

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The value; one that was read already, such as a default, is left as it is."""
        try:
            return self.read(value) if isinstance(value, str) else value
        except ValueError:
            self.fail(f"{value!r} is not {self.what}.", param, ctx)


_DURATION: Final = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?)(ms|s|m|h)")
_MILLISECONDS: Final = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000}


def milliseconds(text: str) -> int:
    """A duration such as ``500ms``, ``5s``, ``2m``, in milliseconds. Raises ValueError."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not {DURATION.what}")
    return round(float(match[1]) * _MILLISECONDS[match[2]])


DURATION: Final = Parsed("duration", milliseconds, "a duration such as 500ms, 5s or 2m")


def duration(least: float, most: float) -> Parsed:
    """A duration within bounds, in seconds."""

    def read(text: str) -> float:
        value = milliseconds(text) / 1000
        if not least <= value <= most:
            raise ValueError(text)
        return value

    return Parsed("duration", read, f"a duration from {least:g}s to {most:g}s, such as 5s or 2m")


def _named(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ValueError(text)
    return name, value


NAMED_VALUE: Final = Parsed("name=value", _named, "NAME=VALUE")
"""A pair of texts."""


class Counts(click.ParamType[Any]):
    """Integers from 1, as ``12,24,48`` or ``12-48:12`` (from, to, step), none twice."""

    name = "counts"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """In the given order."""
        if isinstance(value, tuple):
            return value
        numbers: dict[int, None] = {}
        for part in value.split(","):
            run, _, step = part.partition(":")
            first, dash, last = run.partition("-")
            try:
                counts = range(int(first), int(last if dash else first) + 1, int(step or 1))
                if len(counts) > MOST_COUNTS or not counts:
                    self.fail(f"{part!r} has {len(counts)} counts, not 1 to {MOST_COUNTS}.", param, ctx)
            except (ValueError, OverflowError):
                self.fail(f"{part!r} is neither an integer nor a range such as 12-48:12.", param, ctx)
            for count in counts:
                if count in numbers:
                    self.fail(f"{count} is given twice.", param, ctx)
                numbers[count] = None
        if min(numbers) < 1:
            self.fail(f"{min(numbers)} is less than 1.", param, ctx)
        return tuple(numbers)


COUNTS: Final = Counts()


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
