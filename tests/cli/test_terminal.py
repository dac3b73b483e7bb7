"""Tables for a terminal: cells are data, neither Rich's markup nor control sequences."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.progress import Progress

from service.cli.errors import note
from service.cli.terminal import table


@pytest.mark.parametrize(
    ("cell", "shown"),
    [("[bold]a[/bold]", "[bold]a[/bold]"), ("[/b]", "[/b]"), ("\x1b[2Ja\0", r"\x1b[2Ja\x00"), ("日本", "日本")],
)
def test_a_cell_is_shown_as_it_is(cell, shown):
    text = io.StringIO()
    Console(file=text, force_terminal=True, highlight=False, width=80).print(table(("key",), [(cell,)]))
    assert text.getvalue().splitlines()[1].rstrip() == shown


def test_a_note_has_a_line_above_a_progress_bar():
    text = io.StringIO()
    with Progress(console=Console(file=text, force_terminal=True, width=80)) as bar:
        bar.add_task("reading", total=None)
        note("Compiling kernels.")
    assert "\x1b[2KCompiling kernels." in text.getvalue()


def test_a_column_without_text_takes_no_width():
    """The first one stays: an empty key is a key."""
    shown = table(("key", "note", "partition"), [("", "", "3"), ("", "", "4")])
    assert [column.header for column in shown.columns] == ["key", "partition"]
    assert [str(cell) for cell in shown.columns[1].cells] == ["3", "4"]
    assert [column.header for column in table(("key", "note"), []).columns] == ["key", "note"]
