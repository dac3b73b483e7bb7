"""What callers read is idiomatic English: a short list of turns that are not stays out of it."""

from __future__ import annotations

import ast
import re
from functools import cache
from typing import TYPE_CHECKING

import click
import pytest

from service.cli import main
from tests.contract import TEXT
from tests.support.golden import PROJECT

if TYPE_CHECKING:
    from collections.abc import Iterator

TURNS = (
    *("so many", "is none", "are none", "that there is", "that there are", "nobody", "of which nothing", "as they came"),
    *("is there twice", "in whose eyes", "into question", "is said to be", "speaks for", "as far as that", "what it says"),
    *("without one that", "other than that", "of itself,", "in the words of", "let go of", "given to none"),
    *("work off", "works off", "worked off", "anew", "taken to be", "nothing tells", "do not tell", "did not tell", "known are"),
    *("the round before", "the rebalance before", "for the time being", "of whom none", "the own", "mended", "goes round"),
    *("unlike sizes", "unlike subscriptions", "to and fro", "need each other", "mends", "set beside", "taken for"),
)
"""Each has a plainer wording: subject, verb, object; the condition last (CONTRIBUTING.md, Words)."""

SOURCES = sorted(file for folder in ("service", "partition_allocator") for file in (PROJECT / folder).rglob("*.py"))


def texts_of(node: ast.AST) -> Iterator[str]:
    """The texts in an expression, f-strings with … for what is filled in."""
    if isinstance(node, ast.JoinedStr):
        yield "".join(part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    else:
        for child in ast.iter_child_nodes(node):
            yield from texts_of(child)


def literals(source: str) -> Iterator[str]:
    """The texts in a module but docstrings: errors, answers, descriptions of fields, help."""
    nodes = list(ast.walk(ast.parse(source)))
    skipped = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    skipped |= {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, (ast.JoinedStr, ast.Constant)) and id(node) not in skipped:
            yield from texts_of(node)


def help_texts(command: click.Command, path: str) -> Iterator[tuple[str, str]]:
    """The --help of a command and of those below it."""
    with click.Context(command, info_name=path, terminal_width=100_000) as context:
        yield path, command.get_help(context)
        for name in command.list_commands(context) if isinstance(command, click.Group) else ():
            below = command.get_command(context, name)
            if below is not None:
                yield from help_texts(below, f"{path} {name}")


@cache
def read_by_callers() -> dict[str, str]:
    """Every text that callers read, by where it stands."""
    texts = {"openapi.yaml": TEXT}
    texts |= {str(file.relative_to(PROJECT)): "\n".join(literals(file.read_text())) for file in SOURCES}
    texts |= dict(help_texts(main, "partition-allocator"))
    texts |= {
        str(file.relative_to(PROJECT)): file.read_text()
        for file in [*sorted((PROJECT / "docs").glob("*.md")), *PROJECT.glob("[ACR]*.md"), *PROJECT.glob("helm/*/values.yaml")]
        if file.name != "CHANGELOG.md"
    }
    return texts


def turns_in(text: str) -> list[str]:
    """Where a turn stands in the text, with some words around it."""
    plain = re.sub(r"\s+", " ", text)
    return [
        plain[max(hit.start() - 50, 0) : hit.end() + 50]
        for turn in TURNS
        for hit in re.finditer(rf"\b(?:{turn}|{turn.capitalize()})\b", plain)
    ]


def test_no_turn_stands_in_what_callers_read() -> None:
    found = {place: hits for place, text in read_by_callers().items() if (hits := turns_in(text))}
    assert not found


@pytest.mark.parametrize("name", ["partitioners", "assignors", "placers"])
def test_no_turn_stands_in_the_catalogue(client, name: str) -> None:
    assert not turns_in(client.get(f"/v1/{name}").text)


def test_the_test_sees_all_kinds_of_texts() -> None:
    places = read_by_callers()
    assert {"openapi.yaml", "README.md", "docs/library.md", "partition-allocator pipeline fleet"} <= places.keys()
    assert "Not a boolean." in places["service/http/fields.py"]
    assert turns_in("As they\ncame.")


def shown(node: ast.expr) -> str | None:
    """The text of a literal or f-string, with … for what is filled in; None for any other expression."""
    if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str)):
        return next(texts_of(node))
    return None


def test_errors_of_the_pipeline_and_of_files_are_sentences() -> None:
    """A capital letter, also behind the file's name; a full stop, unless the text of another error ends the sentence."""
    files = [
        file
        for file in SOURCES
        if {"spark", "analyses", "files", "report"} & {*file.relative_to(PROJECT).parts}
        or (file.name in {"tables.py", "descriptions.py"} and "cli" in file.parts)
    ]
    raised = [node for file in files for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Raise)]
    errors = {
        "WrongSource",
        "WrongTable",
        "WrongFolder",
        "NoSpark",
        "PipelineError",
        "InvalidQuestion",
        "UnreadableFile",
        "BadInput",
    }
    texts = [
        text
        for node in raised
        if isinstance(node.exc, ast.Call) and getattr(node.exc.func, "id", "") in errors and node.exc.args
        if (text := shown(node.exc.args[0])) is not None
    ]
    assert len(texts) > 60
    assert not [text for text in texts if re.match(r"(… ?: )?[a-z]", text) or not text.endswith((".", "…", "]'", "-headless"))]
