"""``rebalances``: what happens to a group → its rebalances, as a table, JSON or a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from service.cli import descriptions, options
from service.cli.local_client import BadInput, post
from service.cli.rebalance_pictures import page, picture
from service.cli.terminal import fill, table
from service.web.json_codec import dumps, loads

if TYPE_CHECKING:
    from collections.abc import Sequence
    from io import BufferedReader

    from rich.table import Table

PATH = "/v1/group-rebalances"
COLUMNS = ("at", "stable after", "epoch", "members", "moved", "revoked", "idle", "reason")
TOTALS = ("group", "rebalances", "partitions idle", "longest", "moved", "revoked", "requests")


@click.command()
@click.argument("file", type=click.File("rb"), required=False)
@options.GROUP
@click.option(
    "--compare",
    multiple=True,
    metavar="PROTOCOL[:ASSIGNOR][:static|:dynamic]",
    help="Another way to run the group, to compare its totals: consumer, classic:range, classic:sticky:static. Repeatable.",
)
@click.option("--svg", type=click.Path(dir_okay=False, path_type=Path), help="Write a picture: members × time.")
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Write a page with the picture and the tables.")
@click.option("--explain", is_flag=True, help="Add why each partition moved (JSON only).")
@options.OUTPUT
@options.JSON
def rebalances(
    *, file: BufferedReader | None, snapshots: tuple[BufferedReader, ...], compare: tuple[str, ...], svg: Path | None,
    html: Path | None, explain: bool, output: str | None, as_json: bool, **group: str | None,
) -> None:  # fmt: skip
    """Simulate the rebalances of a group.

    Shows each rebalance that the events cause, how long partitions stand still, and what another protocol, another assignor or
    static members would change.

    FILE is the JSON body of POST /v1/group-rebalances. Default: standard input. With --snapshot, the snapshot gives the group and
    its topics, and FILE, if given, the rest: events, timing.
    """
    form = options.form(output, as_json=as_json, explain=explain)
    body = _body(file, snapshots, group)
    if compare or svg or html:
        body = _extended(body, compare, pictured=svg is not None or html is not None)
    if form == "csv":
        if svg or html:
            raise click.UsageError("--svg and --html are for --output table or json, not csv.")
        click.echo(post(PATH, body, "text/csv"), nl=False)
        return
    answer = post(f"{PATH}?explain=true" if explain else PATH, body)
    document = loads(answer) if svg or html or form == "table" else {}
    if svg is not None:
        svg.write_text(picture(document), encoding="utf-8")
    if html is not None:
        html.write_text(_page(document), encoding="utf-8")
    if form == "json":
        click.echo(answer)
        return
    console = Console()
    if "rebalances" in document:
        console.print(_rebalances(document))
    console.print(_totals(document))


def _body(file: BufferedReader | None, snapshots: Sequence[BufferedReader], group: dict[str, str | None]) -> bytes:
    """The body in the file; with snapshots that of a group in them, and what the file adds. Raises BadInput."""
    if not snapshots:
        return descriptions.body(file, descriptions.group_body, (), **group)
    body: dict[str, Any] = loads(descriptions.body(None, descriptions.group_body, snapshots, **group))
    if file is not None:
        try:
            rest = loads(file.read())
        except ValueError as error:
            raise BadInput(f"{file.name}: {error}") from None
        if not isinstance(rest, dict):
            raise BadInput(f"{file.name}: not a JSON object.")
        duplicates = sorted(body.keys() & rest.keys())
        if duplicates:
            raise BadInput(f"{file.name}: {', '.join(duplicates)}: the snapshot has these.")
        body |= rest
    return dumps(body)


def _extended(body: bytes, compare: tuple[str, ...], *, pictured: bool) -> bytes:
    """The body with these comparisons; a picture needs assignments."""
    try:
        document = loads(body)
    except ValueError:
        return body  # the service says what is wrong with it
    if not isinstance(document, dict):
        return body
    if compare:
        document["compare"] = [*(document.get("compare") or []), *map(_variant, compare)]
    if pictured:
        document["detail"] = "assignments"
    return dumps(document)


def _variant(text: str) -> dict[str, Any]:
    """``classic:range:static`` as an element of ``compare``."""
    protocol, *rest = text.split(":")
    static = {"static": True, "dynamic": False}.get(rest[-1]) if rest else None
    if static is not None:
        rest = rest[:-1]
    if len(rest) > 1 or not all((protocol, *rest)):
        raise click.BadParameter(f"{text!r} is not PROTOCOL[:ASSIGNOR][:static|:dynamic].", param_hint="--compare")
    return {"group_protocol": protocol, "assignor": rest[0] if rest else None, "static": static}


def _rebalances(answer: dict[str, Any]) -> Table:
    """One row per rebalance."""
    return fill(table(*COLUMNS), rebalance_rows(answer))


def rebalance_rows(answer: dict[str, Any]) -> list[tuple[str, ...]]:
    """The cells of the table of rebalances."""
    return [
        (
            _seconds(one["at_ms"]),
            "—" if one["stable_at_ms"] is None else _seconds(one["stable_at_ms"] - one["at_ms"]),
            str(one.get("generation_id", one.get("group_epoch"))),
            str(one["members_count"]),
            str(one.get("movement", {}).get("moved", 0)),
            str(one.get("revoked", 0)),
            _seconds(one["idle"]["partition_ms"]),
            one["reason"],
        )
        for one in answer["rebalances"]
    ]


def _totals(answer: dict[str, Any]) -> Table:
    """The totals, and those of each comparison."""
    return fill(table(*TOTALS), total_rows(answer))


def total_rows(answer: dict[str, Any]) -> list[tuple[str, ...]]:
    """The cells of the table of totals."""
    rows = [answer, *answer.get("comparisons", ())]
    return [
        (
            " ".join(
                (one["group_protocol"], one["assignor"], {True: "static", False: "dynamic"}.get(one.get("static"), ""))
            ).strip(),
            str(one["totals"]["rebalances"]),
            _seconds(one["totals"]["idle_partition_ms"]),
            _seconds(one["totals"]["longest_idle_ms"]),
            str(one["totals"]["moved"]),
            str(one["totals"]["revoked"]),
            str(one["totals"]["requests"]),
        )
        for one in rows
    ]


def _seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:g} s"


def _page(answer: dict[str, Any]) -> str:
    """The picture and the tables as one HTML page."""
    return page(picture(answer), (TOTALS, total_rows(answer)), (COLUMNS, rebalance_rows(answer)))
