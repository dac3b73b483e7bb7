"""``rebalances``: what happens to a group → its rebalances, as a table, JSON or a picture."""

import re
from collections.abc import Callable, Iterable, Sequence
from io import BufferedReader
from pathlib import Path
from typing import Any, Final

import click

from service import parameters
from service.cli import GroupedCommand, ask, object_of
from service.cli.descriptions import reading
from service.cli.rebalances.pictures import (
    COLUMNS,
    SENTENCE,
    TOTALS,
    explained,
    page,
    picture,
    rebalance_rows,
    scaled_rows,
    timings,
    total_rows,
)
from service.cli.terminal import HEADS, Console, table
from service.core.documents import Json
from service.http.json.codec import dumps, loads
from service.parameters import DURATION, TOPIC, all_of, milliseconds
from service.planner.member_ids import client_id_of

# Options of ``rebalances`` for what happens to a group: ``--crash c1@60s``, ``--rolling-restart 5s/10s@2m``.
#
# Each is ``WHAT@TIME``; parts of WHAT are separated by a slash. Without ``@TIME`` an event happens at 1m. A name with an ``@``
# needs a time.

DEFAULT_AT: Final = 60_000
"""When an event without a time happens, in milliseconds."""


class EventType(click.ParamType[Any]):
    """``WHAT@TIME``, an event of the request body. read : WHAT → its fields, or ValueError"""

    name = "event"

    def __init__(self, kind: str, form: str, read: Callable[[str], Json]) -> None:
        self.kind, self.form, self.read = kind, form, read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Json:
        """The event."""
        if isinstance(value, dict):
            return value
        before, at, after = value.rpartition("@")
        try:
            what, at_ms = (before, milliseconds(after)) if at else (value, DEFAULT_AT)
            return {"at_ms": at_ms, "type": self.kind, **self.read(what)}
        except (ValueError, click.BadParameter) as error:
            reason = f" {error}." if type(error) is ValueError and error.args else ""
            self.fail(f"{value!r} is not of the form {self.form}[@TIME].{reason}", param, ctx)


def _member(name: str) -> Json:
    if not name:
        raise ValueError
    return {"member_id": name}


def _member_for(name_of_duration: str) -> Callable[[str], Json]:
    """NAME/DURATION."""

    def read(text: str) -> Json:
        name, _, duration = text.rpartition("/")
        return {**_member(name), name_of_duration: milliseconds(duration)}

    return read


def _pauses(text: str) -> Json:
    down, slash, pause = text.partition("/")
    if not slash:
        raise ValueError
    return {"down_ms": milliseconds(down), "pause_ms": milliseconds(pause)}


def _change(name: str) -> Callable[[str], Json]:
    """NAME[/DOWN/PAUSE] of an assignor or a protocol."""

    def read(text: str) -> Json:
        new, slash, pauses = text.partition("/")
        if not new:
            raise ValueError
        return {name: [new] if name == "assignors" else new, **(_pauses(pauses) if slash else {})}

    return read


def _scaled(text: str) -> Json:
    if not re.fullmatch("[0-9]{1,6}", text):
        raise ValueError
    return {"members_count": int(text)}


def _subscription(text: str) -> Json:
    name, slash, topics = text.rpartition("/")
    if not slash:
        raise ValueError
    return {**_member(name), "topic_names": [topic for topic in topics.split(",") if topic]}


def _topic(text: str) -> Json:
    name, count = TOPIC.convert(text, None, None)
    return {"topic_name": name, "partitions_count": count}


def _named_topic(text: str) -> Json:
    if not text:
        raise ValueError
    return {"topic_name": text}


_OPTIONS: Final = (
    ("--join", "NAME", "member_joins", lambda text: {"member": _member(text)}, "A member joins."),
    ("--leave", "NAME", "member_leaves", _member, "A member closes and leaves."),
    ("--crash", "NAME", "member_crashes", _member, "A member ends without leaving."),
    ("--stall", "NAME/TIME", "member_stalls", _member_for("for_ms"), "A member does not poll for a time: c1/6m."),
    ("--restart", "NAME/DOWN", "member_restarts", _member_for("down_ms"), "A member closes, and starts again: c1/5s."),
    ("--rolling-restart", "DOWN/PAUSE", "rolling_restart", _pauses, "All members restart, one after the other: 5s/10s."),
    ("--scale", "MEMBERS", "scales", _scaled, "Members start or close until the group has this many: 8."),
    ("--subscribe", "NAME/TOPIC,…", "subscription_changes", _subscription, "A member subscribes to other topics."),
    ("--add-partitions", "TOPIC:COUNT", "partitions_added", _topic, "A topic gets more partitions: orders:24."),
    ("--create-topic", "TOPIC:COUNT", "topic_created", lambda text: {"topic": _topic(text)}, "A topic is created."),
    ("--delete-topic", "TOPIC", "topic_deleted", _named_topic, "A topic is deleted."),
    ("--change-assignor", "NAME[/DOWN/PAUSE]", "assignor_changes", _change("assignors"), "Rolling restarts to another assignor."),
    (
        "--change-protocol", "NAME[/DOWN/PAUSE]", "assignor_changes", _change("group_protocol"),
        "Rolling restarts to another protocol.",
    ),
)  # fmt: skip
"""Option, form of WHAT, type of the event, reader of WHAT, help."""

_TIMINGS: Final = (
    (
        "--poll-interval",
        "poll_interval_ms",
        "How long members process between two polls; they notice a rebalance when they poll.",
    ),
    ("--session-timeout", "session_timeout_ms", "session.timeout.ms, or that of the group."),
    ("--heartbeat-interval", "heartbeat_interval_ms", "heartbeat.interval.ms, or that of the group."),
    ("--rebalance-timeout", "rebalance_timeout_ms", "max.poll.interval.ms."),
)
"""Option, field of ``timing``, help."""


def _parameter(name: str) -> str:
    return "event" + name.replace("-", "_")


OPTIONS: Final = all_of(
    *(
        click.option(name, _parameter(name), type=EventType(kind, form, read), multiple=True, metavar=f"{form}[@TIME]", help=text)
        for name, form, kind, read, text in _OPTIONS
    ),
    *(click.option(name, timing, type=DURATION, metavar="TIME", help=text) for name, timing, text in _TIMINGS),
)
"""The options of events and timings of a command, which adds them to a body by ``_extended``."""


def named(events: Iterable[Json], members: Sequence[Json]) -> list[Json]:
    """The events with whole member ids where they have the beginning of one. Raises UsageError for that of several members.

    In a group whose ids Kafka has drawn, a member that joins is only called what the option says; its id is drawn, too.
    """
    events, ids = list(events), [str(member.get("member_id")) for member in members]
    is_drawn = any(client_id_of(one) is not None for one in ids)
    joins = {event["member"]["member_id"]: event for event in events if "member" in event}
    names = {name for name in joins if is_drawn and client_id_of(name) is None and name not in ids}
    return [
        {**event, "member": {"member_name": event["member"]["member_id"]}}
        if event.get("member", {}).get("member_id") in names
        else {**event, "member_id": _whole(event["member_id"], [*ids, *joins])}
        if "member_id" in event
        else event
        for event in events
    ]


def _whole(name: str, ids: Sequence[str]) -> str:
    """The id that this is or begins; the name itself if no id does, as that of a member that joins later."""
    if name in ids:
        return name
    numbered = re.fullmatch(r"c0*([1-9][0-9]*)", name)
    same = [one for one in ids if numbered and re.fullmatch(rf"c0*{numbered[1]}", one)]
    begun = same or [one for one in ids if one.startswith(name)]
    if len(begun) > 1:
        raise click.UsageError(f"Several members have an id that begins with {name!r}: {', '.join(begun[:3])}.")
    return begun[0] if begun else name


PATH = "/v1/group-rebalances"


@click.command(cls=GroupedCommand)
@click.argument("file", type=click.File("rb"), required=False)
@parameters.TOPICS
@parameters.MEMBERS
@parameters.GROUP
@OPTIONS
@click.option(
    "--compare",
    multiple=True,
    metavar="PROTOCOL[:ASSIGNOR][:eager][:static|:dynamic]",
    help="Another way to run the group, to compare its totals: consumer, classic:range, classic:sticky:static. Repeatable. "
    "balanced is cooperative, as RemoteAssignor is, or eager.",
)
@parameters.PRICE
@click.option("--svg", type=click.Path(dir_okay=False, path_type=Path), help="Write a picture: members × time.")
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Write a page with the picture and the tables.")
@click.option("--explain", is_flag=True, help="Show the sentence of the broker's log; in JSON also why each partition moved.")
@parameters.OUTPUT
def rebalances(
    *, file: BufferedReader | None, topics: tuple[tuple[str, int], ...], members: int | tuple[str, ...] | None,
    snapshots: tuple[BufferedReader, ...], group_id: str | None, assignor: str | None, group_protocol: str | None,
    client: str | None, client_version: str | None, compare: tuple[str, ...], price_per_gb: float | None, svg: Path | None,
    html: Path | None, explain: bool, output: str | None,
    **values: Any,
) -> None:  # fmt: skip
    """Simulate the rebalances of a group.

    Shows each rebalance that the events cause, how long partitions have no reader, and what another protocol, another assignor
    or static members would change.

    partition-allocator rebalances --topic orders:12 --members 5 --scale 8@5m

    The group is that of --topic and --members, of --snapshot, or of FILE: the JSON body of POST /v1/group-rebalances, or output
    of Kafka's tools. Default: standard input. With --snapshot, FILE may also be a JSON object with the rest: events, timing.
    The members of --members 5 are c1 … c5. Events happen at 1m unless @TIME says when; times are 500ms, 5s, 2m or 1h.
    """
    form = parameters.form(output)
    if form == "csv" and (svg or html or explain):
        raise click.UsageError("--svg, --html and --explain are for --output table or json, not csv.")
    chosen = {"assignor": assignor, "group_protocol": group_protocol, "client": client, "client_version": client_version}
    group: dict[str, Any] = {"group_id": group_id, **chosen}
    if (topics or members is not None) and file is None and not snapshots:
        body = dumps(parameters.described_group(topics, members, "c") | {name: value for name, value in group.items() if value})
    else:
        body = reading.body(file, reading.group_body, snapshots, **group, topics=topics, members=members)
    body = _extended(body, values, compare, price_per_gb, assigned=svg is not None or html is not None or parameters.full())
    if form == "csv":
        click.echo(ask(PATH, body, form), nl=False)
        return
    answer = ask(PATH, body, explain=explain and form == "json")
    if svg or html or form == "table":
        _show(loads(body), loads(answer), svg, html, explain=explain, printed=form == "table")
    if form == "json":
        click.echo(answer)


def _show(body: Json, answer: Json, svg: Path | None, html: Path | None, *, explain: bool, printed: bool) -> None:
    """Write the pictures, and print the tables."""
    sentences = [answer["conclusion"], *answer.get("warnings", ())]
    if svg or html:
        ways = _ways(body, answer)
        if svg is not None:
            svg.write_text(picture(answer, ways), encoding="utf-8")
        if html is not None:
            rows = explained(rebalance_rows(answer, body), answer)
            tables = ((TOTALS, total_rows(answer)), ((*COLUMNS, SENTENCE), rows))
            shown = picture(answer, ways, titled=False)
            html.write_text(page(shown, (*sentences, timings(answer)), *tables), encoding="utf-8")
    if not printed:
        return
    console = Console()
    console.say(*sentences, "")
    if "rebalances" in answer:
        rows = rebalance_rows(answer, body)
        if explain:
            console.print(table((COLUMNS[0], SENTENCE), [(row[0], row[-1]) for row in explained(rows, answer)]))
            console.print()
        console.print(table(COLUMNS, rows, cut=True))
        console.print()
        if rows := scaled_rows(answer, body):
            console.print(table(HEADS, rows))
            console.print()
    console.print(table(TOTALS, total_rows(answer)))
    console.say("", timings(answer))


def _ways(body: Json, answer: Json) -> list[Json]:
    """The answers of the ways that are compared, each asked by itself, since a comparison has totals only.

    A way to which the events do not fit, as the change of an assignor, is left out.
    """
    from service.api.rebalances import FORM  # noqa: PLC0415 - an import that --help does not need
    from service.core.budget import Budget  # noqa: PLC0415
    from service.http.forms import Refused  # noqa: PLC0415

    ways, budget = [], Budget()
    for one in answer.get("comparisons", ()):
        question = {**body, "group_protocol": one["group_protocol"], "assignor": one["assignor"], "compare": []}
        question["rebalance_protocol"] = one["rebalance_protocol"]
        question["timing"] = {**one["timing"], "min_session_timeout_ms": 1}  # the service has judged it for the group as it is
        question["members"] = [_as(one.get("static"), member) for member in body["members"]]
        question["events"] = [
            {**event, "member": _as(one.get("static"), event["member"])} if "member" in event else event
            for event in body.get("events") or ()
        ]
        try:
            answered = FORM.decide(FORM.question(question), budget)
        except Refused:
            continue
        ways.append({**loads(FORM.json(answered)), "static": one.get("static")})
    return ways


def _as(static: bool | None, member: Json) -> Json:  # noqa: FBT001 - the value of a comparison
    """The member with an instance_id, or without, as ``static`` of a comparison makes it."""
    if static is None:
        return member
    name = member.get("instance_id") or member.get("member_id") or member.get("member_name")
    return {**member, "instance_id": name if static else None}


def _extended(body: bytes, values: Json, compare: tuple[str, ...], price_per_gb: float | None, *, assigned: bool) -> bytes:
    """The body with the events, timings, comparisons and price of options. assigned : it asks for assignments, too"""
    document = object_of(body)
    if document is None:
        return body  # the service says what is wrong with it
    members = [member for member in document.get("members") or () if isinstance(member, dict)]
    given = [event for name, *_ in _OPTIONS for event in values[_parameter(name)]]
    if events := named(sorted(given, key=lambda event: event["at_ms"]), members):
        both = [*(document.get("events") or ()), *events]
        document["events"] = sorted(both, key=lambda event: event["at_ms"])
    if timing := {field: values[field] for _, field, _ in _TIMINGS if values[field] is not None}:
        document["timing"] = {**(document.get("timing") or {}), **timing}
    if compare:
        document["compare"] = [*(document.get("compare") or []), *map(_variant, compare)]
    if price_per_gb is not None:
        document["price_per_gb"] = price_per_gb
    if assigned:
        document["detail"] = "assignments"
    return dumps(document)


def _variant(text: str) -> Json:
    """``classic:range:static`` as an element of ``compare``."""
    protocol, *rest = text.split(":")
    static = {"static": True, "dynamic": False}.get(rest[-1]) if rest else None
    if static is not None:
        rest = rest[:-1]
    eager = rest[-1:] == ["eager"]
    if eager:
        rest = rest[:-1]
    if len(rest) > 2 or not all((protocol, *rest)):
        raise click.BadParameter(f"{text!r} is not PROTOCOL[:ASSIGNOR][:eager][:static|:dynamic].", param_hint="--compare")
    way = {"group_protocol": protocol, "assignor": ":".join(rest) or None, "static": static}
    return way | ({"rebalance_protocol": "eager"} if eager else {})
