"""Request bodies from what people have at hand: snapshots, and the output of Kafka's tools and of Cruise Control."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

import click
import pyarrow as pa

from service.cli.snapshot import as_json
from service.core.descriptions import Description, UnreadableDescription, bodies, read_description
from service.core.errors import InvalidQuestion
from service.web.json_codec import dumps, loads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from io import BufferedReader

FORMS: Final = (
    "a snapshot, the output of kafka-topics --describe or kafka-consumer-groups --describe, Kafka's reassignment JSON, or Cruise "
    "Control's kafka_cluster_state"
)

DESCRIPTIONS: Final = {"snapshot_version", "KafkaPartitionState", "partitions"}
"""Members of JSON objects that are descriptions; other objects are request bodies."""

SNAPSHOT: Final = click.option(
    "--snapshot",
    "snapshots",
    type=click.File("rb"),
    multiple=True,
    help="Description of the cluster, in any of these forms. Repeatable: the descriptions are merged.",
)
RACKS: Final = click.option("--rack", "racks", multiple=True, metavar="ID:RACK", help="Rack of a broker. Repeatable.")
TOPIC: Final = click.option("--topic", "topic_name", help="Topic in the description. Default: the only one.")

GROUP_OPTIONS: Final = (
    SNAPSHOT,
    click.option("--group", "group_id", help="Group in the description. Default: the only one."),
    click.option("--assignor", help="Assignor. Default: the one in the description, or that of the protocol."),
    click.option("--group-protocol", help="classic, consumer or share. Default: the one in the description, or classic."),
)
PLACEMENT_OPTIONS: Final = (
    SNAPSHOT,
    RACKS,
    click.option("--topic", "topic_name", help="Name of the new topic."),
    click.option("--partitions", "partitions_count", type=int, help="Partitions of the new topic."),
    click.option("--replication-factor", type=int, help="Replicas of each partition."),
    click.option("--placer", help="Placer. Default: striped."),
)


def body(
    file: BufferedReader | None, make: Callable[..., dict[str, Any]], snapshots: Iterable[BufferedReader], **values: Any
) -> bytes:
    """The request body that ``file`` is, or that ``make`` makes of the descriptions and the values of options.

    file : default: standard input, unless there are snapshots. Raises ClickException.
    """
    descriptions = [read(snapshot) for snapshot in snapshots]
    if file is not None or not descriptions:
        source = file or sys.stdin.buffer
        text = source.read()
        if not descriptions and _is_body(text):
            return text
        descriptions.append(parse(text, file.name if file else "standard input"))
    try:
        return dumps(make(merged(descriptions), **values))
    except InvalidQuestion as error:
        raise click.ClickException(error.detail) from None


def read(file: BufferedReader) -> Description:
    """The description in a file. Raises ClickException."""
    return parse(file.read(), file.name)


def parse(text: bytes, name: str) -> Description:
    """The description that this text is. name : of its file. Raises ClickException, which names file and line."""
    try:
        return read_description(as_json(text).decode())
    except UnicodeDecodeError:
        raise click.ClickException(f"{name}: not UTF-8 text.") from None
    except UnreadableDescription as error:
        raise click.ClickException(f"{name}, {error.detail}") from None
    except (pa.ArrowException, KeyError) as error:
        raise click.ClickException(f"{name}: not a snapshot: {error}") from None


def merged(descriptions: list[Description]) -> Description:
    """All of them as one."""
    whole = descriptions[0]
    for description in descriptions[1:]:
        whole = whole.merged(description)
    return whole


def with_racks(description: Description, racks: Iterable[str]) -> Description:
    """The description with racks of brokers, ``ID:RACK`` each. Raises BadParameter."""
    brokers = []
    for text in racks:
        broker_id, colon, rack = text.partition(":")
        if not colon or not broker_id.isdecimal():
            raise click.BadParameter(f"{text!r} is not ID:RACK.", param_hint="--rack")
        brokers.append({"broker_id": int(broker_id), "rack_id": rack})
    return description.merged(Description(description.form, tuple(brokers)))


def group_body(
    description: Description, group_id: str | None, assignor: str | None, group_protocol: str | None
) -> dict[str, Any]:
    """The body of ``assign``."""
    given = {"assignor": assignor, "group_protocol": group_protocol}
    return bodies.group_assignment(description, group_id) | {name: value for name, value in given.items() if value is not None}


def placement_body(description: Description, racks: Iterable[str], placer: str | None, **topic: Any) -> dict[str, Any]:
    """The body of ``place``: a new topic on the brokers described. ``balanced`` gets what they have."""
    described = with_racks(description, racks)
    if topic["partitions_count"] is None or topic["replication_factor"] is None:
        raise click.UsageError("With a description of the cluster, --partitions and --replication-factor are needed.")
    request = {"placer": placer or "striped", **{name: value for name, value in topic.items() if value is not None}}
    if placer == "balanced":
        request["current_assignments"] = [
            {"topic_name": topic["topic_name"], **placement}
            for topic in bodies.cluster(described, bodies.PLACEMENT)["topics"]
            for placement in topic["placements"]
        ]
    return {**request, "brokers": bodies.brokers(described)}


def audit_body(description: Description, racks: Iterable[str], topic_name: str | None) -> dict[str, Any]:
    """The body of ``audit`` for a topic."""
    return bodies.placement_audit(with_racks(description, racks), topic_name)


def reassignment_body(description: Description, racks: Iterable[str]) -> dict[str, Any]:
    """The body of ``reassign``."""
    return bodies.cluster(with_racks(description, racks), bodies.PLACEMENT)


@click.group("body")
def body_command() -> None:
    """Print the JSON body of a request, made from a description of the cluster."""


def _body_command(name: str, make: Callable[..., dict[str, Any]], *options: Callable[[Any], Any]) -> None:
    @body_command.command(name, help=f"Print the body of POST /v1/{name}.\n\nFILE is {FORMS}. Default: standard input.")
    @click.argument("file", type=click.File("rb"), default=None, required=False)
    def command(file: BufferedReader | None, **values: Any) -> None:
        click.echo(body(file, make, **values))

    for option in reversed(options):
        option(command)


_body_command("group-assignments", group_body, *GROUP_OPTIONS)
_body_command("replica-placements", placement_body, *PLACEMENT_OPTIONS)
_body_command("placement-audits", audit_body, SNAPSHOT, RACKS, TOPIC)
_body_command("reassignments", reassignment_body, SNAPSHOT, RACKS)


def _is_body(text: bytes) -> bool:
    """Is this JSON that is not a description, or that cannot be read? The service then says what is wrong with it."""
    if text.lstrip()[:1] != b"{":
        return False
    try:
        document = loads(text)
    except ValueError:
        return True
    return not document.keys() & DESCRIPTIONS
