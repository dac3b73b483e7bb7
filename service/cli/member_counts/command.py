"""``member-counts``: a group → how many members it needs, as a table, JSON, CSV or a curve."""

import sys
from io import BufferedReader
from pathlib import Path
from typing import Any, Final

import click

from service.cli import options, request_bodies
from service.cli.asking import ask
from service.cli.help import GroupedCommand
from service.core.documents import Json
from service.parameters.types import COUNTS, DURATION

PATH: Final = "/v1/member-count-plans"


@click.command(cls=GroupedCommand)
@click.argument("file", type=click.File("rb"), required=False)
@options.TOPICS
@options.MEMBERS
@options.GROUP
@click.option(
    "--members-counts", type=COUNTS, help="Numbers of members to plan: 4,6,8 or 2-24:2. Default: 1 to the number of partitions."
)
@click.option("--consumption-rate", type=float, help="Records that a member processes per second.")
@click.option("--max-lag", type=DURATION, help="How long every member may take to process its lag: 60s, 5m.")
@click.option("--max-load", type=float, help="The most that one member may have: partitions, lag or weights.")
@click.option("--threads-per-pod", type=int, help="Members in one pod. Default: 1.")
@options.PRICE
@click.option(
    "--offset-reset-policy",
    type=click.Choice(["latest", "earliest"]),
    help="auto.offset.reset of the members, for partitions without a committed offset. Default: not known.",
)
@click.option("--lag-threshold", type=int, help="KEDA's lagThreshold. Default: 10.")
@click.option("--max-replica-count", type=int, help="KEDA's maxReplicaCount. Default: 100.")
@click.option("--poll-interval", type=DURATION, help="How often members poll. Default: 1s.")
@click.option("--svg", type=click.Path(dir_okay=False, path_type=Path), help="Write a picture: the worst load of each number.")
@options.OUTPUT
def member_counts(
    *, file: BufferedReader | None, topics: tuple[tuple[str, int], ...], members: int | tuple[str, ...] | None,
    snapshots: tuple[BufferedReader, ...], group_id: str | None, assignor: str | None, group_protocol: str | None,
    client: str | None, client_version: str | None, svg: Path | None, output: str | None, **values: Any,
) -> None:  # fmt: skip
    """Plan how many members a group needs.

    Shows for each number the worst load, the time to process the lag, what moves and how long partitions stand still, and what
    KEDA would choose. The exit status is 1 if there are limits and no number is within them.

    partition-allocator member-counts lag.txt --consumption-rate 500 --max-lag 60s

    The group is that of --topic and --members, of --snapshot, or of FILE: the JSON body of POST /v1/member-count-plans, or output
    of Kafka's tools. Default: standard input. With offsets in a snapshot, the load is the group's lag, if it has any.
    """
    form = options.form(output)
    if form == "csv" and svg:
        raise click.UsageError("--svg is for --output table or json, not csv.")
    chosen = {"assignor": assignor, "group_protocol": group_protocol, "client": client, "client_version": client_version}
    body = _body(file, topics, members, snapshots, {"group_id": group_id, **chosen}, _fields(**values))
    if form == "csv":
        click.echo(ask(PATH, body, form), nl=False)
        return
    from service.http.json.codec import loads  # noqa: PLC0415 - an import that --help does not need

    text = ask(PATH, body)
    answer: Json = loads(text)
    if svg is not None:
        svg.write_text(picture(answer), encoding="utf-8")
    if form == "json":
        click.echo(text)
    else:
        _show(answer)
    if answer["recommended"] is None and any(plan["meets"] for plan in answer["plans"]):
        sys.exit(1)


def _fields(
    *, members_counts: tuple[int, ...] | None, max_lag: int | None, max_load: float | None, offset_reset_policy: str | None,
    lag_threshold: int | None, max_replica_count: int | None, poll_interval: int | None, **plain: Any,
) -> Json:  # fmt: skip
    """The fields of a body that options give."""
    nested: Json = {
        "limits": {"max_lag_seconds": None if max_lag is None else max_lag / 1000, "max_load": max_load},
        "keda": {
            "offset_reset_policy": offset_reset_policy,
            "lag_threshold": lag_threshold,
            "max_replica_count": max_replica_count,
        },
        "timing": {"poll_interval_ms": poll_interval},
    }
    given = {name: {key: value for key, value in fields.items() if value is not None} for name, fields in nested.items()}
    fields = {"members_counts": None if members_counts is None else list(members_counts), **plain, **given}
    return {name: value for name, value in fields.items() if value not in (None, {})}


def _body(
    file: BufferedReader | None,
    topics: tuple[tuple[str, int], ...],
    members: int | tuple[str, ...] | None,
    snapshots: tuple[BufferedReader, ...],
    group: dict[str, str | None],
    fields: Json,
) -> bytes:
    """The body that options, files and snapshots describe, with what further options give. Raises BadInput, UsageError."""
    from service.cli.descriptions import reading  # noqa: PLC0415 - imports that --help does not need
    from service.http.json.codec import dumps  # noqa: PLC0415

    if (topics or members is not None) and file is None and not snapshots:
        described = options.described_group(topics, members, "c") | {name: value for name, value in group.items() if value}
        return dumps(described | fields)
    make = reading.lag_body if {"consumption_rate", "limits"} & fields.keys() else _lag_if_any
    body = reading.body(file, make, snapshots, topics=topics, members=members, **group)
    document = request_bodies.object_of(body)
    if document is None:
        return body  # the service says what is wrong with it
    both = {name: {**document[name], **value} for name, value in fields.items() if isinstance(document.get(name), dict)}
    return dumps({**document, **fields, **both})


def _lag_if_any(*described: Any, **given: Any) -> Json:
    """The body of a description. Without any lag partitions count: a load of 0 is as good with any number of members."""
    from service.cli.descriptions import reading  # noqa: PLC0415 - imports that --help does not need
    from service.cli.errors import note  # noqa: PLC0415

    document = reading.lag_body(*described, **given)
    lags = [topic["lag"] for topic in document["topics"] if topic.get("lag")]
    pairs = [zip(lag["committed_offsets"], lag["log_end_offsets"], strict=True) for lag in lags]
    if lags and all(end is not None and end in (0, committed) for each in pairs for committed, end in each):
        document["topics"] = [{name: value for name, value in topic.items() if name != "lag"} for topic in document["topics"]]
        note("Note: the group has no lag, so each partition is a load of 1.")
    return document


def picture(answer: Json) -> str:
    """The worst load of each number of members, under the group's own assignor and under ``balanced``, as SVG."""
    from service.report.curves import curve  # noqa: PLC0415 - an import that --help does not need

    counts = [plan["members_count"] for plan in answer["plans"]]
    even = None
    if answer["balanced"] is not None and answer["assignor"] != "balanced":
        even = ("balanced", [plan["worst_load"] for plan in answer["balanced"]["plans"]])
    own = (f"worst load, {answer['assignor']}", [plan["worst_load"] for plan in answer["plans"]])
    return curve(answer["conclusion"].partition(". ")[0], ("members", counts), own, even)


def _show(answer: Json) -> None:
    """Print the conclusion, the tables and what their columns mean."""
    from service.cli.member_counts.tables import POLICIES, columns, notes, plan_rows, policy_rows  # noqa: PLC0415
    from service.cli.terminal import Console, table  # noqa: PLC0415 - imports that other forms do not need

    console = Console()
    console.say(answer["conclusion"], *answer["warnings"], "")
    console.print(table(columns(answer), plan_rows(answer)))
    if answer["policies"]:
        console.print()
        console.print(table(POLICIES, policy_rows(answer)))
    console.say(*notes(answer))
