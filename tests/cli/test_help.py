"""``--help``: every command is in a section, has an example that it understands, and breaks no line within a word."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click
import pytest
from click.testing import CliRunner

from service.cli import COMMANDS, EXAMPLE, ROOMS, main

if TYPE_CHECKING:
    from collections.abc import Iterator


def commands(command: click.Command = main, *names: str) -> Iterator[tuple[str, ...]]:
    """The words of each command, of those below others too; the jobs of Spark need their packages."""
    if isinstance(command, click.Group) and names != ("pipeline",):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from commands(command.get_command(context, name), *names, name)
    else:
        yield names


def test_every_command_is_in_one_section():
    assert sorted(name for names in ROOMS.values() for name in names) == sorted(COMMANDS)


@pytest.mark.parametrize("names", [*commands()], ids=" ".join)
def test_a_command_has_an_example_that_it_understands(names):
    text = CliRunner().invoke(main, [*names, "--help"]).stdout
    (example,) = [line.strip() for line in text.splitlines() if line.startswith(f"  {EXAMPLE}")]
    words = shlex.split(example.partition(" -- ")[0].partition(">")[0])[1:]
    assert words[: len(names)] == [*names]
    command = main
    for name in names:
        command = command.get_command(click.Context(command), name)
    options = {option for parameter in command.params for option in parameter.opts}
    assert names == ("pipeline",) or {word for word in words if word.startswith("--")} <= options


@pytest.mark.parametrize("names", [*commands()], ids=" ".join)
def test_no_line_breaks_within_a_word(names):
    lines = CliRunner(env={"COLUMNS": "80"}).invoke(main, [*names, "--help"]).stdout.splitlines()
    assert [line for line in lines if line.endswith("-") or len(line) > 86] == []


def test_the_list_of_commands_begins_with_an_example():
    lines = CliRunner(env={"COLUMNS": "80"}).invoke(main, ["--help"]).stdout.splitlines()
    assert "  partition-allocator rebalances group.txt --scale 8" in lines
    assert not any("\\" in line for line in lines)
