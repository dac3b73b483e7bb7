"""Errors and notes on standard error: printable text only, whatever the names in them contain. And how a command ends.

And files that a command reads whole, whatever their size: request bodies, snapshots, output of Kafka's tools.
"""

import errno
import os
import shutil
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import StringIO
from typing import IO, Any, BinaryIO, Final

import click

from service.cli.help import HelpContext
from service.core.printable import printable

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
            from service.core.printable import did_you_mean  # noqa: PLC0415 - the core is not needed otherwise

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
