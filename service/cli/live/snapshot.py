"""``snapshot``: a live cluster → its brokers, topics and groups in one document."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import orjson
import pyarrow as pa
import pyarrow.parquet

from service.cli import BadInput, GroupedCommand, read_input
from service.cli.descriptions import pipeline_tables
from service.descriptions import UnreadableDescription, read_description
from service.descriptions.model import Description
from service.http.json.codec import loads
from service.parameters import all_of, duration, output
from service.wire.connect_protocol import CONNECT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from service.live.client import ClusterClient
    from service.live.snapshot import SnapshotExtent

SNAPSHOT_VERSION: Final = 1


def _names(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """The names of an option. Raises BadParameter for bytes that are not text: no request can hold them."""
    for value in values:
        if any("\ud800" <= character <= "\udfff" for character in value):
            raise click.BadParameter(f"{value!r} is not UTF-8.")
    return values


CLUSTER: Final = all_of(
    click.option("--bootstrap-server", metavar="HOST:PORT", help="Brokers to connect to first, separated by commas."),
    click.option(
        "--command-config",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="Properties file with the security settings, as Kafka's own tools take it.",
    ),
    click.option("--topic", "topic_names", callback=_names, multiple=True, help="Topic to read. Repeatable. Default: all."),
    click.option("--group", "group_ids", callback=_names, multiple=True, help="Group to read. Repeatable. Default: all."),
    click.option("--with-offsets-topic", is_flag=True, help="Also read __consumer_offsets, for details that no request returns."),
    click.option(
        "--timeout",
        "time_limit",
        type=duration(1, 86400),
        default="5m",
        show_default=True,
        help="Longest time to wait for the brokers. What has not arrived by then is unknown.",
    ),
)
"""The parameters of a command that reads a live cluster: bootstrap_server, command_config, topics, groups and so on."""


@contextmanager
def cluster_client(
    bootstrap_server: str | None,
    command_config: Path | None,
    time_limit: float,
    addresses: Sequence[str] = (),
    stopped: Callable[[], bool] = bool,
) -> Iterator[ClusterClient]:
    """A client of the cluster. Raises as ``connection``, and BadInput for a cluster that cannot be reached.

    time_limit : seconds for all requests
    addresses : of brokers that may be connected to first as well
    stopped : see ``ClusterClient``
    """
    servers, settings = connection(bootstrap_server, command_config)
    from service.live.client import ClusterClient  # noqa: PLC0415 - the other commands do not need the Kafka client
    from service.live.errors import ClusterError  # noqa: PLC0415

    try:
        with ClusterClient(",".join(dict.fromkeys((*servers, *addresses))), settings, time_limit, stopped=stopped) as client:
            yield client
    except ClusterError as error:
        raise BadInput(str(error)) from None


def connection(bootstrap_server: str | None, command_config: Path | None) -> tuple[list[str], dict[str, Any]]:
    """Brokers to connect to first, and the client's settings. Raises UsageError without brokers, BadInput for a wrong value."""
    require_kafka()
    from service.live.errors import ClusterError  # noqa: PLC0415 - see cluster_client
    from service.live.properties import bootstrap_servers, client_settings, read_properties  # noqa: PLC0415

    try:
        properties = {} if command_config is None else read_properties(command_config)
        servers = bootstrap_servers(bootstrap_server or properties.get("bootstrap.servers", ""))
        if not servers:
            raise click.UsageError("Missing option '--bootstrap-server'.")
        return servers, client_settings(properties)
    except ClusterError as error:
        raise BadInput(str(error)) from None


def require_kafka() -> None:
    """Raise BadInput if the Kafka client is not installed."""
    try:
        import service.live.client  # noqa: F401, PLC0415 - as above
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "kafka":
            raise
        raise BadInput("A live cluster needs kafka-python: pip install '.[kafka]' in a clone of the project") from None


def extent_of(
    topic_names: tuple[str, ...],
    group_ids: tuple[str, ...],
    *,
    interval: float = 0.0,
    with_offsets_topic: bool = False,
    expected_topics: tuple[str, ...] = (),
) -> SnapshotExtent:
    """What a snapshot covers, from the options of a command."""
    require_kafka()
    from service.live.snapshot import SnapshotExtent  # noqa: PLC0415 - see cluster_client

    return SnapshotExtent(topic_names, group_ids, interval, with_offsets_topic, expected_topics)


def read_snapshot(file: Path) -> dict[str, Any]:
    """A snapshot from a file, in any of the formats, with every list that it can have. Raises BadInput."""
    try:
        with file.open("rb") as stream:
            text = as_json(read_input(stream))
        document = loads(text)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, pa.ArrowException) as error:
        raise BadInput(f"{file}: {error}") from None
    if not isinstance(document, dict) or document.get("snapshot_version") != SNAPSHOT_VERSION:
        raise BadInput(f"{file}: This is not a snapshot of version {SNAPSHOT_VERSION}.")
    try:
        read_description(text.decode())
        _complete(document)
    except UnreadableDescription as fault:
        raise BadInput(f"{file}, {fault.detail}") from None
    except ValueError as fault:
        raise BadInput(f"{file}: {fault}") from None
    return document


def _complete(document: dict[str, Any]) -> None:
    """Check what ``read_description`` leaves as it is, and add what may be absent. Raises ValueError, which names the place."""
    for name in ("brokers", *_PARTS):  # snapshots of earlier releases have no log_dirs
        document.setdefault(name, [])
    for i, entry in enumerate(_rows(document, "not_known", "not_known")):
        for name in ("field", "reason"):
            _check(entry.get(name), str, f"not_known/{i}/{name}")
        _check(entry.get("names", []), list, f"not_known/{i}/names")
    for i, topic in enumerate(document["topics"]):
        _check(topic.setdefault("partitions_count", len(topic.get("placements", ()))), int, f"topics/{i}/partitions_count")
    for i, group in enumerate(document["groups"]):
        _check(group.setdefault("group_protocol", "classic"), str, f"groups/{i}/group_protocol")
        for j, member in enumerate(group.get("members", ())):
            place = f"groups/{i}/members/{j}"
            _check(member.get("subscription", {}), dict, f"{place}/subscription")
            if group["group_protocol"] == CONNECT:
                _complete_worker(member, place)
                continue
            _rows(member, "owned_partitions", f"{place}/owned_partitions")


def _complete_worker(worker: dict[str, Any], place: str) -> None:
    """Likewise, for a member of a group of Kafka Connect."""
    assignment = worker.get("assignment")
    parts = [(worker, place, "")]
    if assignment is not None:
        _check(assignment, dict, f"{place}/assignment")
        parts += [(assignment, f"{place}/assignment", ""), (assignment, f"{place}/assignment", "revoked_")]
        _check(assignment.setdefault("leader_id", ""), str, f"{place}/assignment/leader_id")
        for name in ("error", "delay_ms"):
            _check(assignment.setdefault(name, 0), int, f"{place}/assignment/{name}")
    for part, at, prefix in parts:
        for i, connector in enumerate(_check(part.setdefault(f"{prefix}connectors", []), list, f"{at}/{prefix}connectors")):
            _check(connector, str, f"{at}/{prefix}connectors/{i}")
        for i, row in enumerate(_rows(part, f"{prefix}tasks", f"{at}/{prefix}tasks")):
            _check(row.get("connector_name"), str, f"{at}/{prefix}tasks/{i}/connector_name")
            for j, task in enumerate(_check(row.get("task_ids"), list, f"{at}/{prefix}tasks/{i}/task_ids")):
                _check(task, int, f"{at}/{prefix}tasks/{i}/task_ids/{j}")


def _rows(document: dict[str, Any], name: str, place: str) -> list[dict[str, Any]]:
    """A list of objects, empty if it is absent."""
    rows = _check(document.setdefault(name, []), list, place)
    return [_check(row, dict, f"{place}/{i}") for i, row in enumerate(rows)]


def _check(value: Any, kind: type, place: str) -> Any:
    if type(value) is not kind:
        kinds = {dict: "an object", list: "a list", int: "an integer", str: "a string"}
        raise ValueError(f"{place}: not {kinds[kind]}.")
    return value


def as_json(data: bytes) -> bytes:
    """The bytes of a file as JSON: a snapshot's lines, also in Parquet, as one document; anything else as it is.

    Raises pa.ArrowException for Parquet that cannot be read, and ValueError, KeyError and the like for lines of something else.
    """
    if data[:4] == b"PAR1":
        lines = pa.parquet.read_table(pa.BufferReader(data)).column("line").to_pylist()
    elif data.startswith(b'{"snapshot_version"') and b"\n{" in data:
        lines = data.splitlines()
    else:
        return data
    document, *entries = map(loads, filter(None, lines))
    return orjson.dumps(document | {name: [entry[part] for entry in entries if part in entry] for name, part in _PARTS.items()})


@click.command(cls=GroupedCommand)
@CLUSTER
@click.option(
    "--interval",
    type=duration(0, 3600),
    default="0s",
    help="Time between two readings, which give rates: 10s. Default: one reading.",
)
@output("json", "jsonl", "parquet", default="json")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="File to write. Default: standard output.")
@pipeline_tables.OPTION
def snapshot(
    *, bootstrap_server: str | None, command_config: Path | None, topic_names: tuple[str, ...], group_ids: tuple[str, ...],
    with_offsets_topic: bool, time_limit: float, interval: float, output: str, out: Path | None, folder: Path | None,
) -> None:  # fmt: skip
    """Write the brokers, topics and groups of a live cluster.

    partition-allocator snapshot --bootstrap-server broker:9092 > cluster.json

    Read-only. The member not_known lists what the cluster does not report, with the reason.
    """
    extent = extent_of(topic_names, group_ids, interval=interval, with_offsets_topic=with_offsets_topic)
    from service.live.snapshot import take_snapshot  # noqa: PLC0415 - see cluster_client

    with cluster_client(bootstrap_server, command_config, time_limit) as client:
        document = take_snapshot(client, extent)
    if folder is not None:
        pipeline_tables.write_tables(Description.of_snapshot(document), folder)
    if out is not None:
        with out.open("wb") as file:
            write_snapshot(document, output, file)
    elif folder is None:
        write_snapshot(document, output, sys.stdout.buffer)


def write_snapshot(document: dict[str, Any], form: str, file: Any) -> None:
    """Write a snapshot into a binary file. form : json, jsonl or parquet, which is the lines of jsonl in a column"""
    if form == "json":
        file.write(orjson.dumps(document) + b"\n")
    elif form == "jsonl":
        for line in json_lines(document):
            file.write(orjson.dumps(line) + b"\n")
    else:
        rows = [(next(iter(line), ""), orjson.dumps(line).decode()) for line in json_lines(document)]
        pa.parquet.write_table(pa.table(list(map(list, zip(*rows, strict=True))), names=["kind", "line"]), file)


_PARTS: Final = {"log_dirs": "log_dirs", "topics": "topic", "groups": "group"}


def json_lines(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A snapshot in pieces: first all but its log directories, topics and groups, then ``{"log_dirs": …}`` for each broker,
    ``{"topic": …}`` for each topic and ``{"group": …}`` for each group.
    """
    yield {name: value for name, value in document.items() if name not in _PARTS}
    for name, part in _PARTS.items():
        for entry in document[name]:
            yield {part: entry}
