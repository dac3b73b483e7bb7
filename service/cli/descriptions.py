"""Request bodies from what people have at hand: snapshots, and the output of Kafka's tools and of Cruise Control."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

import click
import pyarrow as pa

from service.cli.live.snapshot import as_json
from service.cli.local_client import BadInput
from service.core.descriptions import Description, UnreadableDescription, bodies, read_description
from service.core.errors import InvalidQuestion
from service.web.json_codec import dumps, loads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from io import BufferedReader

DESCRIPTIONS: Final = {"snapshot_version", "KafkaPartitionState", "partitions"}
"""Members of JSON objects that are descriptions; other objects are request bodies."""

STDIN: Final = "<stdin>"
"""The name of the file object that is standard input."""


def body(
    file: BufferedReader | None, make: Callable[..., dict[str, Any]], snapshots: Iterable[BufferedReader], **values: Any
) -> bytes:
    """The request body that ``file`` is, or that ``make`` makes of the descriptions and the values of options.

    file : default: standard input, unless there are snapshots. Raises BadInput.
    """
    descriptions = [read(snapshot) for snapshot in snapshots]
    if file is not None or not descriptions:
        source = file or sys.stdin.buffer
        text = source.read()
        if not descriptions and _is_body(text):
            _check_no_options(values)
            return text
        name = getattr(source, "name", STDIN)
        descriptions.append(parse(text, "standard input" if name == STDIN else name))
    try:
        return dumps(make(merged(descriptions), **values))
    except InvalidQuestion as error:
        raise BadInput(error.detail) from None


def _check_no_options(values: dict[str, Any]) -> None:
    """Raise UsageError for options beside a JSON body, which has a field for each."""
    options = sorted(name for name, value in values.items() if value not in (None, ()))
    if options:
        raise click.UsageError(f"FILE is a JSON body: put {', '.join(options)} into it.")


def read(file: BufferedReader) -> Description:
    """The description in a file. Raises BadInput."""
    return parse(file.read(), file.name)


def parse(text: bytes, name: str) -> Description:
    """The description that this text is. name : of its file. Raises BadInput, which names file and line."""
    try:
        return read_description(as_json(text).decode())
    except UnicodeDecodeError:
        raise BadInput(f"{name}: not UTF-8 text.") from None
    except UnreadableDescription as error:
        raise BadInput(f"{name}, {error.detail}") from None
    except (pa.ArrowException, KeyError) as error:
        raise BadInput(f"{name}: not a snapshot: {error}") from None


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
    options = {"assignor": assignor, "group_protocol": group_protocol}
    return bodies.group_assignment(description, group_id) | {name: value for name, value in options.items() if value is not None}


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


def plan_body(description: Description, topic_name: str | None, partitions_counts: tuple[int, ...] | None) -> dict[str, Any]:
    """The body of ``plan`` for a topic, without its keys."""
    topic = bodies.partition_count_plan(description, topic_name)
    return {"partitions_counts": list(partitions_counts or [topic["current_partitions_count"]]), **topic}


def reassignment_body(description: Description, racks: Iterable[str]) -> dict[str, Any]:
    """The body of ``reassign``."""
    return bodies.reassignment(with_racks(description, racks))


def _is_body(text: bytes) -> bool:
    """Is this JSON that is not a description, or that cannot be read? The service then says what is wrong with it."""
    if text.lstrip()[:1] != b"{":
        return False
    try:
        document = loads(text)
    except ValueError:
        return True
    return not document.keys() & DESCRIPTIONS
