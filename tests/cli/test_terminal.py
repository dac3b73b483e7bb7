"""Tables for a terminal: cells are data, neither Rich's markup nor control sequences."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from service.cli.terminal import fill, table


@pytest.mark.parametrize(
    ("cell", "shown"),
    [("[bold]a[/bold]", "[bold]a[/bold]"), ("[/b]", "[/b]"), ("\x1b[2Ja\0", r"\x1b[2Ja\x00"), ("日本", "日本")],
)
def test_a_cell_is_shown_as_it_is(cell, shown):
    text = io.StringIO()
    Console(file=text, force_terminal=True, highlight=False, width=80).print(fill(table("key"), [(cell,)]))
    assert text.getvalue().splitlines()[1].rstrip() == shown
