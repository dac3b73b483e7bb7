"""The command line: start the server, or answer one request from options, a file or standard input.

Each command asks by the service's own form, so its answer is exactly the service's. On a terminal it prints a
table, otherwise JSON. A command's module is imported when the command runs, so that ``--help`` loads no kernels.

Here is how a command ends and what it reads whole. Standard error gets printable text only, whatever the names in it contain.
"""

from __future__ import annotations

import errno
import gc
import os
import shutil
import sys
import textwrap
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib import import_module
from inspect import cleandoc
from io import StringIO
from typing import IO, TYPE_CHECKING, Any, BinaryIO, Final, NoReturn

import click
from click.core import ParameterSource

from service import __version__, parameters
from service.core.printable import did_you_mean, printable
from service.http.media_types import CSV

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    import pyarrow as pa

    from service.http.forms import Form


# ``--help``: the options of a command in groups, and its example on a line of its own.

EXAMPLE: Final = "partition-allocator "
"""How the paragraph of a docstring begins that is the command's example."""

GROUPS: Final = {
    "Input": "snapshots file topics topic_name topic_names members group group_id group_ids group_protocol client client_version "
    "rack racks racks_of racks_count brokers file_format read_options where select key_format key_separator strict random_seed "
    "starting_offsets ending_offsets schema_ids bootstrap_server command_config with_offsets_topic",
    "Limits": "disk_threshold tolerance moves_per_broker moves_per_log_dir moves_per_batch bytes_in_flight min_insync_replicas "
    "throttle_bytes_per_second throttle_utilization batch_seconds order time_limit seconds",
    "Output": "output detail out folder into svg html explain frontier examples hottest_keys price_per_gb host port metrics_port "
    "verbose run_id append tables",
}
"""Group → the parameters in it; those of a column are input, and those named ``max_…`` limits. All others are what is asked."""


HYPHEN: Final = "\N{NON-BREAKING HYPHEN}"


class _Formatter(click.HelpFormatter):
    """Breaks no line within a word, such as the name of a tool."""

    def write_text(self, text: str) -> None:
        super().write_text(text.replace("-", HYPHEN))

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        super().write_dl([(name, text.replace("-", HYPHEN)) for name, text in rows], col_max, col_spacing)

    def getvalue(self) -> str:
        return super().getvalue().replace(HYPHEN, "-")


class HelpContext(click.Context):
    """Of the commands and of the groups of commands."""

    formatter_class = _Formatter


class GroupedCommand(click.Command):
    """A command whose options are grouped in ``--help``."""

    context_class = HelpContext

    def __init__(self, *arguments: Any, **attributes: Any) -> None:
        super().__init__(*arguments, **attributes)
        parts = cleandoc(self.help or "").split("\n\n")
        self.help = "\n\n".join(f"\b\n{part}" if part.startswith(EXAMPLE) else part for part in parts)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """A section for each group that has options."""
        sections: dict[str, list[tuple[str, str]]] = {"What is asked": [], **{group: [] for group in GROUPS}}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if isinstance(parameter, click.Option) and record is not None:
                sections["Output" if "--help" in parameter.opts else _group(parameter.name or "")].append(record)
        for group, records in sections.items():
            if records:
                with formatter.section(group):
                    formatter.write_dl(records)


def _group(name: str) -> str:
    """The group of a parameter."""
    if name.startswith("max_"):
        return "Limits"
    if name.endswith(("_column", "_columns")):
        return "Input"
    return next((group for group, names in GROUPS.items() if name in names.split()), "What is asked")


BAD_INPUT: Final = 2
"""The exit status for a request or an environment that is invalid; 1 is for limits that are exceeded."""

INTERRUPTED: Final = 130
"""The exit status after Ctrl-C, as of a program that SIGINT ends."""

NOT_READ: Final = 141
"""The exit status when whoever reads the answer stops, as ``head`` does: as of a program that SIGPIPE ends."""

FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
"""Why something cannot be written; such errors name no file."""


class BadInput(click.ClickException):
    """The input is invalid; the text says why."""

    exit_code = BAD_INPUT


def fitted(text: str, file: IO[Any]) -> str:
    """The text as it may be printed; on a terminal in lines that end between words."""
    text = printable(text)
    if not file.isatty():
        return text
    columns = shutil.get_terminal_size().columns
    return textwrap.fill(text, columns, break_long_words=False, break_on_hyphens=False)


def note(text: str) -> None:
    """Print a sentence to standard error: above a progress bar, if there is one."""
    print(fitted(text, sys.stderr), file=sys.stderr)  # noqa: T201 - click.echo writes to the stream below that of a progress bar


class PrintableGroup(click.Group):
    """A group of commands whose errors, Click's own included, are printed as printable text."""

    context_class = HelpContext

    def make_context(self, *arguments: Any, **extra: Any) -> click.Context:
        """As Click's."""
        with _printable_errors():
            return super().make_context(*arguments, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """As Click's. A file that cannot be read or written is invalid input."""
        with _printable_errors():
            return super().invoke(ctx)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the arguments name. Raises UsageError, with the command that may have been meant."""
        name = args[0]
        if name not in self.list_commands(ctx) and not name.startswith("-"):
            ctx.fail(f"No such command {name!r}.{did_you_mean(name, self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)


class _PrintableError(BadInput):
    """Shows another error: the usage as it is, then its sentence, with the full stop that some of Click's lack."""

    def __init__(self, error: click.ClickException) -> None:
        super().__init__(error.message)
        self.error = error

    def show(self, file: IO[Any] | None = None) -> None:
        """Print it, by default to standard error."""
        whole = StringIO()
        self.error.show(whole)
        usage, label, _ = whole.getvalue().partition("Error: ")
        sentence = printable(self.error.format_message())
        stop = "." if isinstance(self.error, click.UsageError) and not sentence.endswith((".", "?", "?)")) else ""
        click.echo(usage + fitted(f"{label}{sentence}{stop}", file or sys.stderr), file=file, err=file is None)


@contextmanager
def _printable_errors() -> Iterator[None]:
    try:
        yield
    except _PrintableError:
        raise
    except click.ClickException as error:
        raise _PrintableError(error) from None
    except KeyboardInterrupt:
        raise click.exceptions.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        _discard_output()
        raise click.exceptions.Exit(NOT_READ) from None
    except OSError as error:
        if error.filename is None:
            if error.errno not in FULL:
                raise
            _discard_output()
        raise _PrintableError(BadInput(f"{error.filename or 'Cannot write'}: {error.strerror}.")) from None


def _discard_output() -> None:
    """Let what standard output still holds go nowhere, instead of failing once more when the interpreter ends."""
    with suppress(OSError, ValueError):  # in tests it is no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


LONGEST_INPUT: Final = 2**30
"""Bytes of a file: a snapshot of a million partitions has a third of it."""

STDIN: Final = "standard input"


def read_input(file: BinaryIO) -> bytes:
    """The content of a file or of standard input. Raises BadInput if it is empty, or has no end, as ``/dev/zero``."""
    content = file.read(LONGEST_INPUT + 1)
    name = name_of(file)
    if len(content) > LONGEST_INPUT:
        raise BadInput(f"{name}: The file is longer than {LONGEST_INPUT:,} bytes.")
    if not content or content.isspace():
        hint = " Give the name of a file, or pipe its content into this command." if name == STDIN else ""
        raise BadInput(f"{name}: The file is empty.{hint}")
    return content


def name_of(file: BinaryIO) -> str:
    """The name of the file, in words for standard input."""
    name: str = getattr(file, "name", "<stdin>")
    return STDIN if name == "<stdin>" else name


# From a command's words to an answer: the form of a family, read and written in this process. Nothing is limited.


def ask(path: str, body: bytes | Mapping[str, Any], form: str = "json", **query: bool) -> bytes:
    """The answer of the family with this path. A refusal is printed; the command then exits with BAD_INPUT.

    form : "csv", or any other for JSON
    query : the parameters of the endpoint's query, such as ``explain``
    """
    return next(ask_each(path, [body], form, **query))


def ask_and_decide(path: str, body: bytes, form: str, **query: bool) -> tuple[bytes, Any]:
    """Like ``ask``, and the answer of ``service.decisions`` besides."""
    family = _form(path)
    answer = _decided(family, body, **query)
    return written(family, answer, form), answer


def ask_each(path: str, bodies: Iterable[bytes | Mapping[str, Any]], form: str = "json", **query: bool) -> Iterator[bytes]:
    """Like ``ask``, for several bodies one after the other."""
    family = _form(path)
    for body in bodies:
        yield written(family, _decided(family, body, **query), form)


def ask_stream(path: str, fields: Mapping[str, Any], batches: Iterator[pa.RecordBatch], form: str = "json") -> bytes:
    """Like ``ask``, for a table of any length in the place of the body's large list; where the family can, batch by batch.

    fields : the others; those that are None are left out
    batches : at least one. What they raise is raised again
    """
    return written(*decide_stream(path, fields, batches), form)


def decide_stream(path: str, fields: Mapping[str, Any], batches: Iterator[pa.RecordBatch]) -> tuple[Form[Any, Any], Any]:
    """Like ``ask_stream``, but the form of the family and the answer of ``service.decisions``."""
    first = next(batches)  # a file that cannot be read is refused before any library is imported
    form = _form(path)
    from service.http.keys import BatchStream  # noqa: PLC0415 - an import that --help does not need

    given = {name: value for name, value in fields.items() if value is not None}
    return form, _decided(form, {**given, form.stream: BatchStream(first, batches)})


def decide_question(path: str, question: Any) -> tuple[Form[Any, Any], Any]:
    """The form of a family and its answer to a question of its own, which no body can hold."""
    form = _form(path)
    return form, _answered(form, lambda: question)


def decide(path: str, body: bytes | Mapping[str, Any], **query: bool) -> Any:
    """Like ``ask``, but the answer of ``service.decisions``."""
    return _decided(_form(path), body, **query)


def _form(path: str) -> Form[Any, Any]:
    # What is imported and made now are many objects and no garbage: without the collector it takes a tenth less time.
    gc.disable()
    try:
        announce_compilation()
        from service.api import form_of  # noqa: PLC0415 - an import that --help does not need

        return form_of(path)
    finally:
        gc.freeze()
        gc.enable()


def _decided(form: Form[Any, Any], body: bytes | Mapping[str, Any], **query: bool) -> Any:
    def asked() -> Any:
        question = form.question(body)
        return replace(question, **query) if any(query.values()) else question

    return _answered(form, asked)


def _answered(form: Form[Any, Any], asked: Callable[[], Any]) -> Any:
    from service.core.budget import Budget  # noqa: PLC0415 - as above
    from service.http.forms import Refused  # noqa: PLC0415

    try:
        return form.decide(asked(), Budget())
    except Refused as refusal:
        fail(refusal.problem)


def written(family: Form[Any, Any], answer: Any, form: str) -> bytes:
    """An answer of ``decide_question`` in a form, see ``ask``."""
    if form != "csv" or family.table is None:
        return family.json(answer, full=form == "table" or parameters.full())
    from service.http.tables import written  # noqa: PLC0415 - as above

    return b"".join(written(family.columns(answer, CSV), CSV))


def printed(answer: bytes, form: str) -> bool:
    """Print an answer of ``ask`` as it is; False for a table, which the command makes of it."""
    if form != "table":
        click.echo(answer, nl=form == "json")
    return form != "table"


def announce_compilation() -> None:
    """Let the first kernel that has to be compiled, instead of loaded, say so on standard error, once."""
    from numba.core import event  # noqa: PLC0415 - as above

    class Announcement(event.Listener):
        def on_start(self, _: object) -> None:
            event.unregister("numba:compile", self)  # type: ignore[no-untyped-call]
            note("Compiling kernels. This happens once per installation and may take some minutes.")

        def on_end(self, _: object) -> None:
            pass

    event.register("numba:compile", Announcement())  # type: ignore[no-untyped-call]


def fail(problem: Mapping[str, Any]) -> NoReturn:
    """Print a problem document to standard error, nothing of it twice, and exit with BAD_INPUT."""
    errors = problem.get("errors", ())
    if len(errors) != 1:
        note(f"Error: {len(errors)} faults" if errors else f"Error: {problem['detail']}")
    prefix = "Error: " if len(errors) == 1 else "  "
    for error in errors:
        place = _place(error["pointer"])
        note(f"{prefix}{place}: {error['detail']}" if place else f"{prefix}{error['detail']}")
    for remedy in problem.get("remedies", ()):
        note(f"  Remedy: {remedy}")
    sys.exit(BAD_INPUT)


def _place(pointer: str) -> str:
    """The option whose value a pointer shows; the pointer if another part of the command or a file has the value."""
    field, _, rest = pointer[1:].partition("/")
    context = click.get_current_context()
    if (rest and not rest.isdecimal()) or context.get_parameter_source(field) is not ParameterSource.COMMANDLINE:
        return pointer
    own = (param for param in context.command.params if isinstance(param, click.Option))
    return next((option.opts[0] for option in own if option.name == field), pointer)


def object_of(body: bytes) -> dict[str, Any] | None:
    """The JSON object of a body that a command adds to; None if it is anything else."""
    from service.http.json.codec import loads  # noqa: PLC0415 - an import that --help does not need

    try:
        document = loads(body)
    except ValueError:
        return None
    return document if isinstance(document, dict) else None


def rows_of(body: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """The objects in a list of a body; none where it is absent or wrong, of which the service says why."""
    found = body.get(name)
    return found if isinstance(found, list) and all(isinstance(row, dict) for row in found) else []


COMMANDS: Final = {
    "assign": ("service.cli.decisions", "Assign partitions to the members of a group."),
    "audit": ("service.cli.reassignments.checks", "Check whether Kafka could have placed topics this way."),
    "body": ("service.cli.descriptions.body", "Print a request, or write tables, made from a description of a cluster."),
    "check": ("service.cli.reassignments.checks", "Check which partitions of a cluster are at risk."),
    "compare": ("service.cli.keys.partitioners", "Show the share of the records on which each pair of partitioners agrees."),
    "conform": ("service.cli.conform", "Compare a program's answers with those of Kafka and its clients."),
    "fingerprint": ("service.cli.keys.partitioners", "Identify the partitioners that wrote the records."),
    "history": ("service.cli.history", "Tell what happened to a group, from logs and records."),
    "lint": ("service.cli.reassignments.checks", "Check a reassignment."),
    "log-dirs": ("service.cli.reassignments.plans", "Plan moves between the disks of brokers."),
    "member-counts": ("service.cli.member_counts", "Plan how many members a group needs."),
    "partitions": ("service.cli.decisions", "Compute the partition of each key."),
    "pipeline": ("service.cli.pipeline", "Analyse records and logs of any size on Spark."),
    "place": ("service.cli.decisions", "Place replicas on brokers."),
    "plan": ("service.cli.keys.plan", "Compare partition counts for a topic."),
    "reassign": ("service.cli.reassignments.plans", "Plan a reassignment."),
    "rebalances": ("service.cli.rebalances.command", "Simulate the rebalances of a group."),
    "serve": ("service.cli.serve", "Start the HTTP server."),
    "snapshot": ("service.cli.live.snapshot", "Describe a live cluster as JSON."),
    "splits": ("service.cli.decisions", "Divide partitions among readers that form no group."),
    "token": ("service.cli.serve", "Create a bearer token for NAME."),
    "trace": ("service.cli.keys.trace", "Follow a key to its partition, brokers and readers."),
    "upgrade": ("service.cli.descriptions.upgrade", "Show what an upgrade of clients or brokers changes."),
    "verify": ("service.cli.live.verify", "Compare a cluster with what Kafka would decide."),
    "watch": ("service.cli.live.watch", "Serve metrics of a live cluster."),
}
"""Command → the module that has it under its own name, and its line in ``--help``."""

ROOMS: Final = {
    "Consumer groups": ("assign", "member-counts", "rebalances", "history", "upgrade"),
    "Keys and topics": ("partitions", "trace", "plan", "compare", "fingerprint"),
    "Brokers": ("check", "reassign", "log-dirs", "lint", "place", "audit"),
    "A live cluster": ("snapshot", "verify", "watch"),
    "A server, and Spark": ("serve", "pipeline"),
    "More": ("body", "conform", "splits", "token"),
}
"""The sections of ``--help``."""


class Commands(PrintableGroup):
    """The commands of COMMANDS, imported when needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names, and those of commands added by ``add_command``."""
        return sorted({*COMMANDS, *super().list_commands(ctx)})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name."""
        if cmd_name not in COMMANDS:
            return super().get_command(ctx, cmd_name)
        command: click.Command = getattr(import_module(COMMANDS[cmd_name][0]), cmd_name.replace("-", "_"))
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List them by what they are for, without importing them."""
        rooms = {**ROOMS, "Added": tuple(sorted(super().list_commands(ctx)))}
        for room, names in rooms.items():
            lines = [COMMANDS[name][1] if name in COMMANDS else self.commands[name].get_short_help_str(80) for name in names]
            if names:
                with formatter.section(room):
                    formatter.write_dl(list(zip(names, lines, strict=True)))


@click.group(cls=Commands)
@click.version_option(__version__)
def main() -> None:
    """What Kafka does with keys, consumer groups and replicas: key → partition → consumer, replica → broker.

    partition-allocator rebalances group.txt --scale 8

    COMMAND --help has an example of each. FILE may be output of Kafka's tools, as it is.

    Exit status: 0 for an answer, 1 if a limit is exceeded, a plan has an error, a cluster differs or a partition is
    at risk, 2 for invalid input; verify exits with 3 if a named group or topic was not found.
    """
