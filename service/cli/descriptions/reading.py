"""Request bodies from what people have at hand: snapshots, and the output of Kafka's tools and of Cruise Control."""

import sys
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from io import BufferedReader
from json import JSONDecoder
from typing import Any, BinaryIO, Final

import click
import pyarrow as pa

from service.cli import BadInput, name_of, note, read_input
from service.cli.live.snapshot import as_json
from service.core.errors import InvalidQuestion
from service.descriptions import Description, UnreadableDescription, bodies, read_description
from service.descriptions.answers import understood
from service.descriptions.bodies import share_a_disk
from service.descriptions.consumer_logs import as_logged
from service.descriptions.other_documents import is_other
from service.descriptions.pasted import utf8
from service.descriptions.subscriptions import completed, counted_by_groups, moves_of_draws
from service.http.json.codec import dumps, loads
from service.planner.reassignments.model import broker_names

DESCRIPTIONS: Final = {"snapshot_version", "KafkaPartitionState", "partitions"}
"""Members of JSON objects that are descriptions; other objects are request bodies."""

LOG_DIRS: Final = {"version", "brokers"}
"""The members of what kafka-log-dirs prints."""

OF_BODIES: Final = {
    *("topics", "members", "members_count", "brokers", "keys", "records", "histogram", "observations", "reassignment", "events"),
    *("partitions_count", "partitions_counts", "placements", "log_dirs", "workers", "connectors", "subtopologies", "operations"),
    *("topic_name", "group_protocol", "target_mb_per_second", "current_assignments", "placer", "assignor", "processes"),
}
"""Members of request bodies, of which each has some."""

RECORD: Final = {"key", "value"}
"""The members of what kafka-console-consumer prints of a record of __consumer_offsets."""


def body(file: BinaryIO | None, make: Callable[..., dict[str, Any]], snapshots: Iterable[BufferedReader], **values: Any) -> bytes:
    """The request body that ``file`` is, or that ``make`` makes of the descriptions and the values of options.

    file : default: standard input, unless there are snapshots. With snapshots, it may be JSON with the other fields of the body.
    Raises BadInput.
    """
    descriptions = [read(snapshot) for snapshot in snapshots]
    rest: dict[str, Any] = {}
    if file is not None or not descriptions:
        source = file or sys.stdin.buffer
        text = utf8(read_input(source))
        if not is_body(text, beside=bool(descriptions)):
            descriptions.append(_parse(text, name_of(source)))
        elif descriptions:
            rest = parsed(text)
        else:
            if options := sorted(name for name, value in values.items() if value not in (None, ())):
                raise click.UsageError(f"FILE is a JSON body: set {', '.join(options)} in it instead of as options.")
            return text
    whole = reduce(Description.merged, descriptions)
    note(understood(whole))
    try:
        made = make(whole, **values)
    except InvalidQuestion as error:
        raise BadInput(error.detail) from None
    if duplicates := sorted(made.keys() & rest.keys()):
        raise BadInput(f"{name_of(source)}: {', '.join(duplicates)}: the snapshot has these.")
    return dumps(made | rest)


def document(*arguments: Any, **values: Any) -> dict[str, Any]:
    """The body, as ``body`` gives it, for options to change. Raises BadInput."""
    return parsed(body(*arguments, **values))


def parsed(text: bytes) -> dict[str, Any]:
    """The JSON that a text is. Raises BadInput, with the line and the column."""
    try:
        found: dict[str, Any] = loads(text)
    except ValueError as error:
        raise BadInput(f"The body is not JSON: {error}") from None
    return found


def read(file: BinaryIO) -> Description:
    """The description in a file. Raises BadInput, which names file and line."""
    return _parse(utf8(read_input(file)), name_of(file))


def text(file: BinaryIO) -> str:
    """The text in a file. Raises BadInput."""
    try:
        return utf8(read_input(file)).decode()
    except UnicodeDecodeError:
        raise BadInput(f"{name_of(file)}: The file is not UTF-8 text.") from None


def _parse(text: bytes, name: str) -> Description:
    """The description that this text is; what it leaves out is noted on standard error. name : of its file. Raises BadInput."""
    try:
        description = read_description((as_json(text) if text[:4] == b"PAR1" else text).decode())
    except UnicodeDecodeError:
        raise BadInput(f"{name}: The file is not UTF-8 text.") from None
    except UnreadableDescription as error:
        raise BadInput(f"{name}, {error.detail}") from None
    except (pa.ArrowException, KeyError) as error:
        raise BadInput(f"{name}: This is not a snapshot: {error}") from None
    for sentence in description.notes:
        note(f"{name}: {sentence}")
    return description


def read_all(files: Sequence[BinaryIO]) -> Description:
    """The descriptions in some files as one; without files that of standard input. Raises BadInput, which names file and line."""
    return reduce(Description.merged, map(read, files or (sys.stdin.buffer,)))


def with_racks(description: Description, racks: Iterable[str]) -> Description:
    """The description with racks of brokers, ``ID:RACK`` each. Raises BadParameter."""
    brokers = []
    for text in racks:
        broker_id, colon, rack = text.partition(":")
        if not colon or not broker_id.isdecimal():
            raise click.BadParameter(f"{text!r} is not of the form ID:RACK, such as 1:a.", param_hint="--rack")
        brokers.append({"broker_id": int(broker_id), "rack_id": rack})
    return description.merged(Description(description.form, tuple(brokers)))


def group_body(
    description: Description,
    group_id: str | None,
    topics: Sequence[tuple[str, int]] = (),
    members: int | Sequence[str] | None = None,
    **chosen: str | None,
) -> dict[str, Any]:
    """The body of ``assign`` and ``rebalances``. Notes say what it assumes, and which library leads the group, unless it surely
    is Kafka's own.

    topics, members : see ``completed``; chosen : see ``bodies.group_assignment``
    """
    description = completed(description, group_id, dict(topics), members)
    body, assumed = bodies.assumed_group(description, group_id, **chosen)
    for sentence in assumed:
        note(f"Note on group {body['group_id']!r}: {sentence}")
    leader = bodies.leader(description, group_id, **chosen)
    if (
        leader is not None
        and not chosen.get("client")
        and (leader.client != "java" or leader.release or len(leader.candidates) > 1)
    ):
        note(f"Note on group {body['group_id']!r}: {leader.sentence}. --client names another.")
    return body


def assignment_body(description: Description, group_id: str | None, **given: Any) -> dict[str, Any]:
    """The body of ``assign``: that of ``lag_body``, or of a group of Kafka Connect the body of ``/v1/connect-assignments``."""
    if not description.groups or not bodies.is_connect(description, group_id):
        body = lag_body(description, group_id, **given)
        if description.groups and isinstance(given.get("members"), int):
            sentence = moves_of_draws(bodies.described_group(description, group_id), body)
            if sentence is not None:
                note(f"Note on group {body['group_id']!r}: {sentence}")
        return as_logged(body, bodies.described_group(description, group_id)) if description.groups else body
    body = bodies.connect_assignment(description, group_id, given.get("assignor"))
    assumed = "the configured connectors and tasks are assumed to be those that run, and the leader to remember nothing"
    note(f"Note on group {body['group_id']!r}: {assumed}.")
    return body


def lag_body(description: Description, group_id: str | None, **given: Any) -> dict[str, Any]:
    """The body of ``member-counts``: that of ``group_body``, with the lag of the group as far as offsets tell it."""
    body = group_body(description, group_id, **given)
    if not description.groups:
        return body
    return {**body, "topics": bodies.with_lag(body["topics"], description, body["group_id"])}


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
    return {**request, "brokers": bodies.brokers(described, "cordoned")}


def noted_counts(description: Description) -> Description:
    """The description with partition counts that are inferred from rows of groups, which notes say."""
    counted, notes = counted_by_groups(description)
    for sentence in notes:
        note(f"Note: {sentence}")
    return counted


def plan_body(description: Description, topic_name: str | None, partitions_counts: tuple[int, ...] | None) -> dict[str, Any]:
    """The body of ``plan`` for a topic, without its keys."""
    topic = bodies.partition_count_plan(noted_counts(description), topic_name)
    return {"partitions_counts": list(partitions_counts or [topic["current_partitions_count"]]), **topic}


def log_dir_body(description: Description, broker_ids: tuple[int, ...] = ()) -> dict[str, Any]:
    """The body of ``log-dirs``. Notes name the brokers whose directories are not known, or seem to be on one disk."""
    made = bodies.log_dir_plan(description, broker_ids)
    log_dirs = {row["broker_id"]: row.get("log_dirs") or () for row in description.log_dirs}
    unknown = [broker["broker_id"] for broker in description.brokers if not log_dirs.get(broker["broker_id"])]
    if unknown and not broker_ids:
        note(f"The log directories of {broker_names(unknown)} are not known, so nothing moves there.")
    shared = [broker_id for broker_id, of_broker in log_dirs.items() if share_a_disk(of_broker)]
    if shared:
        note(
            f"Log directories of {broker_names(shared)} report the same size and use, so they seem to be on one disk: their "
            "capacities do not count."
        )
    return made


def is_body(text: bytes, *, beside: bool = False) -> bool:
    """Is this JSON that is not a description, or that cannot be read? The service then says what is wrong with it.

    beside : descriptions, so that it may have any fields, but not only those of a description
    """
    if text.lstrip()[:1] != b"{":
        return False
    try:
        document, _ = JSONDecoder().raw_decode(text.decode(errors="replace").lstrip())
    except (ValueError, RecursionError):
        return True
    if document.keys() & DESCRIPTIONS or document.keys() in (LOG_DIRS, RECORD) or is_other(document):
        return False
    if beside:
        return bool(document.keys() - {"brokers", "topics", "groups", "log_dirs"}) or not document
    return bool(document.keys() & OF_BODIES) or not document
