"""``partition-allocator pipeline JOB``: the jobs on Spark. ``spark-submit`` can run this module.

It is imported without PySpark: where that is not installed, the command exists and says what is missing.
"""

from __future__ import annotations

import re
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click

from service.cli import BadInput, GroupedCommand, PrintableGroup
from service.cli import into as into_folder
from service.core.errors import AllocatorError
from service.parameters import form
from service.pipeline.spark.jobs import JOBS
from service.report.folders import check_append, url_of

if TYPE_CHECKING:
    from service.pipeline.spark.jobs import Job


def _checked_id(text: str | None) -> str | None:
    """The same text. Raises BadParameter for one that no folder's name or query can have as it is."""
    if text is not None and not re.fullmatch(r"[\w.:+-]{1,200}", text, re.ASCII):
        raise click.BadParameter("must be up to 200 letters, digits and . _ : + -", param_hint="--run-id")
    return text


COMMON = (
    click.Option(["--into"], default="pipeline-results", show_default=True, help="Folder or URL of the results."),
    click.Option(
        ["--master"], help="local[4], spark://…, k8s://… or, for Spark Connect, sc://…. Default: every core of this machine."
    ),
    click.Option(["--spark-option", "spark_options"], multiple=True, metavar="NAME=VALUE", help="Spark setting. Repeatable."),
    click.Option(["--package", "packages"], multiple=True, help="Maven coordinates of a connector, such as Delta's. Repeatable."),
    click.Option(
        ["--run-id"],
        callback=lambda _, __, text: _checked_id(text),
        help="Identifies the run in each table. Default: a new UUID.",
    ),
    click.Option(
        ["--append"], is_flag=True, help="Keep the tables of other runs in the folder; replace what this --run-id wrote before."
    ),
    click.Option(
        ["--tables"], metavar="TARGET", help="Add the tables to jdbc:… or FORMAT:FOLDER, such as delta:s3a://bucket/skew, too."
    ),
    click.Option(["--verbose"], is_flag=True, help="Show Spark's log."),
    click.Option(
        ["--output"],
        type=click.Choice(["table", "json"]),
        help="The key figures of the summary, or all of it. Default: table on a terminal, else json.",
    ),
)


ESTIMATE = click.Option(["--estimate"], is_flag=True, help="Say bytes, tasks and core-seconds first, by a part of them.")


class Jobs(PrintableGroup):
    """The jobs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names."""
        _check_installed()
        return list(JOBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a job."""
        _check_installed()
        if cmd_name not in JOBS:
            return None
        job = JOBS[cmd_name]
        parameters = [*job.parameters, *((ESTIMATE,) if job.scans else ()), *COMMON]
        return GroupedCommand(job.name, params=parameters, callback=partial(_run, job), help=job.summary)


def _check_installed() -> None:
    """Raise BadInput unless the packages of the extra ``pipeline`` are installed."""
    for package in ("pyspark", "py4j", "matplotlib", "pandas"):
        if find_spec(package) is None:
            raise BadInput(f"The pipeline needs {package}: pip install '.[pipeline]' in a clone of the project")


@click.command(cls=Jobs)
def pipeline() -> None:
    """Analyse more records than a request holds, on Spark: on this machine or on a cluster.

    partition-allocator pipeline skew keys.parquet --partitions 12,24
    """


def _run(
    job: Job,
    *,
    into: str,
    master: str | None,
    spark_options: tuple[str, ...],
    packages: tuple[str, ...],
    verbose: bool,
    output: str | None,
    run_id: str | None,
    append: bool,
    estimate: bool = False,
    tables: str | None,
    **parameters: Any,
) -> None:
    """Run the job, and print its summary and the locations of its results."""
    if parameters.get("follow") and (append or tables or run_id):
        raise click.UsageError("--follow appends by itself: --run-id, --append and --tables cannot be combined with it.")
    settings, into = dict(option.partition("=")[::2] for option in spark_options), url_of(into)
    try:
        job.check_early(parameters, into, master, settings)
        check_append(into, append=append)
        from service.pipeline.spark.runner import run  # noqa: PLC0415 - what is refused needs no Spark

        done = run(
            job, parameters, into=into, master=master, settings=settings, packages=packages, verbose=verbose,
            estimate=estimate, run_id=run_id, append=append, tables=tables,
        )  # fmt: skip
    except AllocatorError as error:
        raise BadInput(str(error)) from None
    if done is not None:
        into_folder.show(*done, as_json=form(output) == "json")


if __name__ == "__main__":
    pipeline()
