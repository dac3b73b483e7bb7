"""``rebalances``: what happens to a group → its rebalances, as a table, JSON or a picture."""

from io import BufferedReader
from pathlib import Path
from typing import Any

import click

from service.cli import options, request_bodies
from service.cli.asking import ask
from service.cli.assigned import HEADS
from service.cli.descriptions import reading
from service.cli.help import GroupedCommand
from service.cli.rebalances import events as rebalance_events
from service.cli.rebalances.pictures import page, picture
from service.cli.rebalances.tables import COLUMNS, SENTENCE, TOTALS, explained, rebalance_rows, scaled_rows, timings, total_rows
from service.cli.terminal import Console, table
from service.core.documents import Json
from service.http.json.codec import dumps, loads

PATH = "/v1/group-rebalances"


@click.command(cls=GroupedCommand)
@click.argument("file", type=click.File("rb"), required=False)
@options.TOPICS
@options.MEMBERS
@options.GROUP
@rebalance_events.OPTIONS
@click.option(
    "--compare",
    multiple=True,
    metavar="PROTOCOL[:ASSIGNOR][:eager][:static|:dynamic]",
    help="Another way to run the group, to compare its totals: consumer, classic:range, classic:sticky:static. Repeatable. "
    "balanced is cooperative, as RemoteAssignor is, or eager.",
)
@options.PRICE
@click.option("--svg", type=click.Path(dir_okay=False, path_type=Path), help="Write a picture: members × time.")
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Write a page with the picture and the tables.")
@click.option("--explain", is_flag=True, help="Show the sentence of the broker's log; in JSON also why each partition moved.")
@options.OUTPUT
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
    form = options.form(output)
    if form == "csv" and (svg or html or explain):
        raise click.UsageError("--svg, --html and --explain are for --output table or json, not csv.")
    chosen = {"assignor": assignor, "group_protocol": group_protocol, "client": client, "client_version": client_version}
    group: dict[str, Any] = {"group_id": group_id, **chosen}
    if (topics or members is not None) and file is None and not snapshots:
        body = dumps(options.described_group(topics, members, "c") | {name: value for name, value in group.items() if value})
    else:
        body = reading.body(file, reading.group_body, snapshots, **group, topics=topics, members=members)
    body = _extended(body, values, compare, price_per_gb, assigned=svg is not None or html is not None or options.full())
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
    from service.decisions.budget import Budget  # noqa: PLC0415
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
    document = request_bodies.object_of(body)
    if document is None:
        return body  # the service says what is wrong with it
    members = [member for member in document.get("members") or () if isinstance(member, dict)]
    if events := rebalance_events.named(rebalance_events.events_of(values), members):
        both = [*(document.get("events") or ()), *events]
        document["events"] = sorted(both, key=lambda event: event["at_ms"])
    if timing := rebalance_events.timing_of(values):
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
