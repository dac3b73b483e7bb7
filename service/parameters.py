"""Parameters of the commands and of the pipeline's jobs alike. Imports nothing of Spark, which most commands do not need."""

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from io import BufferedReader
from typing import Any, Final

import click

from service.core.keys.formats import FORMATS
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


# Options of several commands, each with one name everywhere, and the rows of request bodies that they describe.


def _topic_count(text: str) -> tuple[str, int]:
    name, _, count = text.rpartition(":")
    if not name or not count.isdecimal() or not count.isascii() or len(count) > 10:
        raise ValueError(text)
    return name, int(count)


TOPIC: Final = Parsed("topic:partitions", _topic_count, "a topic and its number of partitions, such as orders:12")


def _different(_: object, __: object, topics: tuple[tuple[str, int], ...]) -> tuple[tuple[str, int], ...]:
    if len(dict(topics)) < len(topics):
        raise click.UsageError("--topic names a topic twice.")
    return topics


def count(text: str) -> int | None:
    """A decimal number of at most 7 digits; None for any other text."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 8 else None


def racks(text: str) -> int | str:
    """A number of racks, or UNKNOWN_RACKS. Raises ValueError."""
    number = count(text)
    if text != UNKNOWN_RACKS and not number:
        raise ValueError(text)
    return number or text


def _members(text: str) -> int | tuple[str, ...]:
    number = count(text)
    if number is None and re.fullmatch("[+-]?[0-9.]+", text):
        raise ValueError(text)
    return tuple(text.split(",")) if number is None else number


TOPICS: Final = click.option(
    "--topic",
    "topics",
    type=TOPIC,
    multiple=True,
    callback=_different,
    help="Topic and its partitions: orders:12. Repeatable. Completes FILE and --snapshot.",
)
MEMBERS: Final = click.option(
    "--members",
    type=Parsed("members", _members, "a number of members, at most 9999999, or ids such as c1,c2"),
    help="Number of members, or their ids separated by commas. With FILE or --snapshot: the present ones first.",
)


def key(text: str, key_format: str | None) -> Any:
    """A key of the command line as JSON has it."""
    if key_format is None:
        return text
    from service.core.keys.columns import FLOATS, INTEGERS  # noqa: PLC0415 - an import that most answers do not need

    with suppress(ValueError):  # the key format rejects any other text
        if key_format in INTEGERS:
            return int(text)
        if key_format in FLOATS:
            return float(text)
    return text


def topic_rows(partitions_counts: Mapping[str, int]) -> list[dict[str, Any]]:
    """The ``topics`` of a group assignment. partitions_counts : topic → its number of partitions"""
    return [{"topic_name": name, "partitions_count": count} for name, count in partitions_counts.items()]


def member_rows(count: int, prefix: str = "member-") -> list[dict[str, Any]]:
    """The ``members`` of a group of ``count``: ``member-1``, ``member-2``, … with zeros before, so that they sort as counted."""
    width = len(str(count))
    return [{"member_id": f"{prefix}{i:0{width}}"} for i in range(1, count + 1)]


def broker_rows(count: int, racks: int | None = None) -> list[dict[str, Any]]:
    """The brokers 0 … ``count`` - 1, on the racks ``rack-1`` … in turn if ``racks`` are given."""
    if racks is None:
        return [{"broker_id": i} for i in range(count)]
    return [{"broker_id": i, "rack_id": f"rack-{i % racks + 1}"} for i in range(count)]


def described_group(
    topics: Sequence[tuple[str, int]], members: int | Sequence[str] | None, prefix: str = "member-"
) -> dict[str, Any]:
    """``topics`` and ``members`` of a body. prefix : of the ids of members that are only counted. Raises UsageError."""
    if not topics or members is None:
        raise click.UsageError(f"Missing option '{'--members' if topics else '--topic'}'.")
    ids = member_rows(members, prefix) if isinstance(members, int) else [{"member_id": name} for name in members]
    return {"topics": topic_rows(dict(topics)), "members": ids}


def check_no_file(file: str | None, snapshots: Sequence[BufferedReader]) -> None:
    """Raise UsageError for a file or a snapshot beside options that it cannot complete."""
    if file is not None or snapshots:
        raise click.UsageError(f"Give either options or a file ({snapshots[0].name if snapshots else file}), not both.")


def output(*forms: str, default: str | None = None) -> Callable[[Any], Any]:
    """The option that names the form of the answer, for ``form``. default : None: table on a terminal, else json"""
    text = f"Form of the answer. Default: {default or 'table on a terminal, else json'}."
    return click.option("--output", type=click.Choice(forms), default=default, help=text)


PRICE: Final = click.option("--price-per-gb", type=float, help="Price of 10⁹ bytes that cross zones, for their cost per month.")
EXPLAIN: Final = click.option("--explain", is_flag=True, help="Add an explanation of the answer (JSON only).")


def form(output: str | None, *, explain: bool = False) -> str:
    """The form of the answer, such as "table" or "json". Raises UsageError for what only JSON can have in another form."""
    option = "--explain" if explain else "--detail" if full() else None
    if option and output not in (None, "json"):
        raise click.UsageError(f"{option} is for --output json, not {output}.")
    if option:
        return "json"
    return output or ("table" if sys.stdout.isatty() else "json")


_FULL: Final = "service.cli.detail"


def full() -> bool:
    """Does the command ask for every figure of the answer, by ``--detail full``? False without a command."""
    context = click.get_current_context(silent=True)
    return context is not None and _FULL in context.meta


FORMS: Final = (
    "a snapshot, the output of Kafka's tools (kafka-topics, kafka-consumer-groups, kafka-log-dirs and others), kcat or "
    "rpk, Kafka's reassignment JSON, Cruise Control's kafka_cluster_state, or a log of consumers"
)

SNAPSHOT: Final = click.option(
    "--snapshot",
    "snapshots",
    type=click.File("rb"),
    multiple=True,
    help="Description of the cluster: a snapshot, or output of Kafka's tools. Repeatable: the descriptions are merged.",
)
RACKS: Final = click.option("--rack", "racks", multiple=True, metavar="ID:RACK", help="Rack of a broker. Repeatable.")


def all_of(*several: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The options, in the order of ``--help``."""

    def decorate(command: Any) -> Any:
        for option in reversed(several):
            command = option(command)
        return command

    return decorate


OUTPUT: Final = all_of(
    output("table", "json", "csv"),
    click.option(
        "--detail",
        type=click.Choice(["full"]),
        expose_value=False,
        callback=lambda context, _, detail: context.meta.update({_FULL: True} if detail else {}),
        help="Add the figures that few need, such as stddev (JSON only).",
    ),
)
FILE: Final = click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
TABLE: Final = all_of(
    click.option("--file-format", type=click.Choice(["csv", "tsv", "jsonl", "parquet"]), help="Default: the file name's suffix."),
    click.option("--key-format", type=click.Choice(FORMATS), help="Serializer of the keys. Default: string."),
    click.option("--key-column", default="key", show_default=True, help="Column with the keys."),
    click.option("--strict", is_flag=True, help="Refuse a file with rows that cannot be read, instead of counting them."),
)
"""The options of a command that reads a table of keys."""

GROUP: Final = all_of(
    SNAPSHOT,
    click.option("--group", "group_id", help="Group in the description. Default: the only one."),
    click.option("--assignor", help="Assignor. Default: the one in the description, or that of the protocol."),
    click.option("--group-protocol", help="classic, consumer or share. Default: as described, or classic."),
    click.option(
        "--client", help="Library of the group's leader, such as librdkafka. Default: the one in the description, or java."
    ),
    click.option("--client-version", help="Release of this library. Default: the newest compared."),
)
BATCH: Final = all_of(
    click.option("--starting-offsets", metavar="JSON", help='Spark: where a batch starts: {"orders":{"0":23,"1":0}}.'),
    click.option("--ending-offsets", metavar="JSON", help="Spark: where a batch ends, in the same form. Instead of --topic."),
    click.option("--min-partitions", type=click.IntRange(1), help="Spark's minPartitions, by which it divides partitions."),
    click.option("--max-records-per-partition", type=click.IntRange(1), help="Spark's maxRecordsPerPartition (since 4.0.0)."),
)
"""The options of Spark's Kafka source, as Spark has them."""
PLACEMENT: Final = all_of(
    SNAPSHOT,
    RACKS,
    click.option("--topic", "topic_name", help="New topic, with its partitions (orders:12) or without."),
    click.option("--partitions", "partitions_count", type=int, help="Partitions of the new topic. Default: 1 with --brokers."),
    click.option("--replication-factor", type=int, help="Replicas of each partition. Default: 1 with --brokers."),
    click.option("--placer", help="Placer. Default: striped, the KRaft controller's."),
)
