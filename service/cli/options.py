"""Parameters that several commands share, each with one name everywhere: counts and their ranges, the form of the answer."""

import re
import sys
from collections.abc import Callable, Sequence
from io import BufferedReader
from typing import Any, Final

import click

from service.cli import request_bodies
from service.core.keys.formats import FORMATS
from service.parameters import Parsed
from service.planner.reassignments import UNKNOWN_RACKS


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


def described_group(
    topics: Sequence[tuple[str, int]], members: int | Sequence[str] | None, prefix: str = "member-"
) -> dict[str, Any]:
    """``topics`` and ``members`` of a body. prefix : of the ids of members that are only counted. Raises UsageError."""
    if not topics or members is None:
        raise click.UsageError(f"Missing option '{'--members' if topics else '--topic'}'.")
    ids = request_bodies.members(members, prefix) if isinstance(members, int) else [{"member_id": name} for name in members]
    return {"topics": request_bodies.topics(dict(topics)), "members": ids}


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
