"""The command ``member-counts``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from service import parameters
from service.cli import GroupedCommand, ask, object_of
from service.parameters import COUNTS, DURATION
from service.report.figures import duration, number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from io import BufferedReader

    from service.cli.terminal import Cells
    from service.core.documents import Json

PLANS: Final = ("members", "pods", "worst", "idle", "drain", "moved", "standstill", "balanced", "limits")
TRAFFIC: Final = {"local_share": "own rack", "cost_per_month": "cost"}
"""The last columns of the plans of a group with racks, by the figure of ``zone_traffic``."""

POLICIES: Final = ("KEDA", "replicas", "members", "worst", "idle", "drain", "limits")
MOST_ROWS: Final = 40
"""Plans up to which each has a row; of more, those that gain, that of now and the recommended one."""


def columns(answer: Json) -> tuple[str, ...]:
    """The names of the columns of the table of plans."""
    return (*PLANS, *(TRAFFIC[figure] for figure in _known_traffic(answer)))


def _known_traffic(answer: Json) -> list[str]:
    traffic = [plan.get("zone_traffic", {}) for plan in answer["plans"]]
    return [figure for figure in TRAFFIC if any(each.get(figure) is not None for each in traffic)]


def plan_rows(answer: Json) -> list[Cells]:
    """The cells of the table of plans; ``*`` stands at a number that gains, ``now`` at that of now."""
    even = {plan["members_count"]: plan for plan in (answer["balanced"] or {}).get("plans", ())}
    shown = {*answer["worth_using"], answer["current_members_count"], answer["recommended"]}
    several, figures = len(answer["plans"]) <= MOST_ROWS, _known_traffic(answer)
    return [
        (*_row(answer, plan, even), *(number(plan.get("zone_traffic", {}).get(figure)) for figure in figures))
        for plan in answer["plans"]
        if several or plan["members_count"] in shown
    ]


def _row(answer: Json, plan: Json, even: dict[int, Json]) -> Cells:
    count, beside = plan["members_count"], even.get(plan["members_count"])
    marks = " *" * plan["gains"] + " now" * (count == answer["current_members_count"])
    idle_ms = plan["idle_partition_ms"]
    return (
        f"{count}{marks}",
        "" if plan["pods"] == count else str(plan["pods"]),
        _range(plan, "worst_load", number),
        str(plan["idle_members"] or ""),
        _range(plan, "drain_seconds", duration),
        number(plan["moved"]),
        "" if idle_ms is None else duration(idle_ms / 1000),
        "" if beside is None or answer["assignor"] == "balanced" else number(beside["worst_load"]),
        _limits(plan),
    )


def _range(plan: Json, name: str, written: Callable[[float], str]) -> str:
    """A figure, or what it is at least and at most."""
    least, most = plan[name], plan.get(f"{name}_at_most", plan[name])
    if least is None or most == least:
        return "" if least is None else written(least)
    return f"≥ {written(least)}" if most is None else f"{written(least)} to {written(most)}"


def _limits(plan: Json) -> str:
    if plan.get("unread_partitions"):
        return f"✗ {plan['unread_partitions']} unread"
    if not plan["meets"]:
        return ""
    broken = [limit.removeprefix("max_").removesuffix("_seconds") for limit, kept in plan["meets"].items() if kept is False]
    if not broken and None in plan["meets"].values():
        return "not known"
    return f"✗ {' '.join(broken)}" if broken else "✓"


def policy_rows(answer: Json) -> list[Cells]:
    """The cells of the table of what KEDA would choose; members are named if a pod has several."""
    threads = any(each["members_count"] != each["replicas"] for each in answer["policies"])
    return [
        (
            each["option"] or "default",
            number(each["replicas"]),
            number(each["members_count"]) if threads else "",
            *(("", "", "") if each["worst_load"] is None else _load(each)),
            _limits(each),
        )
        for each in answer["policies"]
    ]


def _load(each: Json) -> Cells:
    return _range(each, "worst_load", number), str(each["idle_members"] or ""), _range(each, "drain_seconds", duration)


def notes(answer: Json) -> Iterator[str]:
    """What the columns mean."""
    yield "* gains: the worst load is lower than with every smaller number."
    if any(plan["idle_partition_ms"] for plan in answer["plans"]):
        yield "Standstill: how long partitions have no reader on the way there, the sum over partitions."
    if any(plan["drain_seconds"] is not None for plan in answer["plans"]):
        yield "Drain: until the most loaded member has processed its lag, if no more records arrive."
    if _known_traffic(answer):
        from service.core.measures import CLOSEST  # noqa: PLC0415 - an import that --help does not need

        yield f"{CLOSEST}, own rack: the share that can be read there. Cost: per month, of what then crosses racks."


PATH: Final = "/v1/member-count-plans"


@click.command(cls=GroupedCommand)
@click.argument("file", type=click.File("rb"), required=False)
@parameters.TOPICS
@parameters.MEMBERS
@parameters.GROUP
@click.option(
    "--members-counts", type=COUNTS, help="Numbers of members to plan: 4,6,8 or 2-24:2. Default: 1 to the number of partitions."
)
@click.option("--consumption-rate", type=float, help="Records that a member processes per second.")
@click.option("--max-lag", type=DURATION, help="How long every member may take to process its lag: 60s, 5m.")
@click.option("--max-load", type=float, help="The most that one member may have: partitions, lag or weights.")
@click.option("--threads-per-pod", type=int, help="Members in one pod. Default: 1.")
@parameters.PRICE
@click.option(
    "--offset-reset-policy",
    type=click.Choice(["latest", "earliest"]),
    help="auto.offset.reset of the members, for partitions without a committed offset. Default: not known.",
)
@click.option("--lag-threshold", type=int, help="KEDA's lagThreshold. Default: 10.")
@click.option("--max-replica-count", type=int, help="KEDA's maxReplicaCount. Default: 100.")
@click.option("--poll-interval", type=DURATION, help="How often members poll. Default: 1s.")
@click.option("--svg", type=click.Path(dir_okay=False, path_type=Path), help="Write a picture: the worst load of each number.")
@parameters.OUTPUT
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
    form = parameters.form(output)
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
        described = parameters.described_group(topics, members, "c") | {name: value for name, value in group.items() if value}
        return dumps(described | fields)
    make = reading.lag_body if {"consumption_rate", "limits"} & fields.keys() else _lag_if_any
    body = reading.body(file, make, snapshots, topics=topics, members=members, **group)
    document = object_of(body)
    if document is None:
        return body  # the service says what is wrong with it
    both = {name: {**document[name], **value} for name, value in fields.items() if isinstance(document.get(name), dict)}
    return dumps({**document, **fields, **both})


def _lag_if_any(*described: Any, **given: Any) -> Json:
    """The body of a description. Without any lag partitions count: a load of 0 is as good with any number of members."""
    from service.cli import note  # noqa: PLC0415
    from service.cli.descriptions import reading  # noqa: PLC0415 - imports that --help does not need

    document = reading.lag_body(*described, **given)
    lags = [topic["lag"] for topic in document["topics"] if topic.get("lag")]
    pairs = [zip(lag["committed_offsets"], lag["log_end_offsets"], strict=True) for lag in lags]
    if lags and all(end is not None and end in (0, committed) for each in pairs for committed, end in each):
        document["topics"] = [{name: value for name, value in topic.items() if name != "lag"} for topic in document["topics"]]
        note("Note: the group has no lag, so each partition is a load of 1.")
    return document


def picture(answer: Json) -> str:
    """The worst load of each number of members, under the group's own assignor and under ``balanced``, as SVG."""
    from service.report.figures import curve  # noqa: PLC0415 - an import that --help does not need

    counts = [plan["members_count"] for plan in answer["plans"]]
    even = None
    if answer["balanced"] is not None and answer["assignor"] != "balanced":
        even = ("balanced", [plan["worst_load"] for plan in answer["balanced"]["plans"]])
    own = (f"worst load, {answer['assignor']}", [plan["worst_load"] for plan in answer["plans"]])
    return curve(answer["conclusion"].partition(". ")[0], ("members", counts), own, even)


def _show(answer: Json) -> None:
    """Print the conclusion, the tables and what their columns mean."""
    from service.cli.terminal import tell  # noqa: PLC0415 - imports that other forms do not need

    plans, policies = (columns(answer), plan_rows(answer)), (POLICIES, policy_rows(answer))
    tell((answer["conclusion"], *answer["warnings"]), plans, policies)
    tell(notes(answer))
