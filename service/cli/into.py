"""``--into``: tables, summary and report in a folder, as jobs of the pipeline write them, from a local file and without Spark."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click

from service.cli import BadInput, note
from service.core.errors import AllocatorError
from service.report.folders import (
    REJECTED_ROWS,
    REPORT,
    SUMMARY,
    check_folder,
    exclusive,
    json_of,
    local_folder,
    parquet_of,
    replace_results,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import pyarrow as pa

    from service.pipeline.analyses.results import Outcome


def option(job: str | None = None) -> Callable[[Any], Any]:
    """The option of a command. job : of the pipeline, whose results the command writes; None: they are its own"""
    of_job = f" of pipeline {job}" if job else ""
    text = f"Write the tables, summary.json and report.html{of_job} into this folder, and print the summary."
    return click.option("--into", type=click.Path(file_okay=False), help=text)


def write(into: str, sources: Iterable[str | None], analyse: Callable[[], tuple[Outcome, pa.Table]], form: str) -> None:
    """Write what ``analyse`` finds in local files, all of it or, if that fails, nothing; print the summary, or its key figures.

    analyse : gives the outcome and the rejected rows
    form : "json" or "table"
    Raises BadInput. Exits with 1 if a limit is exceeded.
    """
    if form == "csv":
        raise click.UsageError("--into writes Parquet tables and cannot be combined with --output csv.")
    if find_spec("matplotlib") is None:
        raise BadInput("--into needs matplotlib: pip install '.[report]' in a clone of the project")
    folder = local_folder(into)
    if folder is None:
        raise click.BadParameter(f"{into!r} is not a local folder.", param_hint="--into")
    try:
        check_folder(into, {source: source for source in sources if source not in (None, "-", "<stdin>")})
        with exclusive(into):
            outcome, rejected = analyse()
            files = _files(outcome, rejected)
            replace_results(folder, files, stale=(REJECTED_ROWS,))
    except AllocatorError as error:
        raise BadInput(str(error)) from None
    places = {name.partition(".")[0]: f"{into.rstrip('/')}/{name}" for name in files}
    show(files[SUMMARY].decode(), outcome, places, as_json=form == "json")


def _files(outcome: Outcome, rejected: pa.Table) -> dict[str, bytes]:
    """The files of the folder, by name; the report last, by which the folder is known to be complete."""
    from service.pipeline.spark.jobs import shown  # noqa: PLC0415 - as above
    from service.report.pages import date  # noqa: PLC0415 - Jinja is not needed to refuse a file

    context = click.get_current_context()
    files = {name: parquet_of(table) for name, table in outcome.tables.items()}
    if len(rejected):
        files[REJECTED_ROWS] = parquet_of(rejected)
    files |= {name: json_of(body) for name, body in outcome.requests.items()}
    files[SUMMARY] = json_of(outcome.summary)
    files[REPORT] = outcome.report.html(date(), shown(context.command.params, context.params)).encode()
    return files


def show(summary: str, outcome: Outcome, places: Mapping[str, str], *, as_json: bool) -> None:
    """Print the summary, or the verdict and the figures; on standard error the places. Exits with 1 if a limit is exceeded."""
    if as_json:
        click.echo(summary, nl=False)
    else:
        from service.cli.terminal import Console, table  # noqa: PLC0415 - imports that other forms do not need

        console = Console()
        console.say(outcome.report.verdict)
        console.print(table(("", ""), [*outcome.headline.items()]))
    for what, where in places.items():
        note(f"{what}: {where}")
    if not outcome.within_limits:
        sys.exit(1)
