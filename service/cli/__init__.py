"""The command line: start the server, or answer one request from options, a file or standard input.

Each command asks by the service's own form (``asking.py``), so its answer is exactly the service's. On a terminal it prints a
table, otherwise JSON. A command's module is imported when the command runs, so that ``--help`` loads no kernels.

Here is how a command ends and what it reads whole. Standard error gets printable text only, whatever the names in it contain.
"""

import errno
import os
import shutil
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from io import StringIO
from typing import IO, Any, BinaryIO, Final

import click

from service import __version__
from service.cli.help import HelpContext
from service.core.printable import did_you_mean, printable

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
