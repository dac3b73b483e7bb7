"""Tables for a terminal: cells are data, neither Rich's markup nor control sequences."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.progress import Progress

from service.cli import fitted, note
from service.cli.terminal import assignment_rows, short_names, table


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


@pytest.mark.parametrize("width", [80, 120])
def test_no_word_is_broken_while_there_is_room(width):
    text = io.StringIO()
    rows = [("orders", "librdkafka:consistent_random", "a sentence of several words " * 4)]
    Console(file=text, width=width).print(table(("topic", "partitioner", "why"), rows))
    assert {"librdkafka:consistent_random", "sentence"} <= set(text.getvalue().split())
    assert set(text.getvalue().split()) <= {"topic", "partitioner", "why", *" ".join(rows[0]).split()}


FIRST, SECOND, THIRD = (f"{digits}-bde5-4099-8164-d8399f767c45" for digits in ("5bc8fbbc", "5bc8fb00", "87b0b125"))


@pytest.mark.parametrize(
    ("ids", "names"),
    [
        (["c1", "c2"], ["c1", "c2"]),
        ([f"web-{FIRST}", f"web-{THIRD}"], ["5bc8…", "87b0…"]),
        ([f"web-{FIRST}", f"web-{SECOND}"], ["5bc8fbb…", "5bc8fb0…"]),
        ([f"web-{FIRST}", f"job-{SECOND}", f"job-{THIRD}"], ["web", "job-5bc8…", "job-87b0…"]),
    ],
)
def test_a_name_is_what_tells_a_member_from_the_others(ids, names):
    assert [*short_names(ids).values()] == names


def test_a_row_has_what_a_member_gets_and_gives_up():
    def member(member_id, *ids):
        return {"member_id": member_id, "partitions": [{"topic_name": "t", "partition_ids": [*ids]}]}

    rows = assignment_rows([member("a", 0, 1), member("b", 2), member("c")], [member("a", 0, 2), member("left", 1)])
    assert rows == [
        ("a", "2", "1", "1", "t 0-1"),
        ("b", "1", "1", "", "t 2"),
        ("c", "0", "", "", "—"),
        ("left", "0", "", "1", "leaves"),
    ]
    assert {row[2:4] for row in assignment_rows([member("a", 0)])} == {("", "")}


def test_a_note_on_a_terminal_breaks_between_words(monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    text = "--replica-alter-log-dirs-throttle is what is meant by max.poll.interval.ms"
    assert fitted(text, terminal).split() == text.split()
    assert max(map(len, fitted(text, terminal).splitlines()[1:])) <= 30
    assert fitted(text, io.StringIO()) == text
