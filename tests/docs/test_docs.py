"""The documents agree with the code: their links, file names, settings, commands and examples."""

from __future__ import annotations

import inspect
import json
import re
import shlex
import tomllib
from typing import TYPE_CHECKING

import pytest
from click import Context, Group
from click.testing import CliRunner

from service.cli import COMMANDS, main
from service.config import settings_table
from service.core.partitioners import PARTITIONERS
from service.strategies import GROUP_PROTOCOLS, PLACERS
from tests.support.golden import PROJECT

if TYPE_CHECKING:
    from pathlib import Path

README = (PROJECT / "README.md").read_text()
DOCUMENTS = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "helm/partition-allocator/*.md", "examples/**/*.md")
    for path in PROJECT.glob(pattern)
)
SOURCES = sorted(path for room in ("service", "tests", "benchmarks", "demo", "helm") for path in (PROJECT / room).rglob("*.py"))
GENERATED = {"benchmarks/results.json"}
"""Files that commands write, and that are not committed."""


def names(paths: list[Path]) -> list[str]:
    return [str(path.relative_to(PROJECT)) for path in paths]


def anchors(document: str) -> set[str]:
    """The anchors of a Markdown document's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"```.*?```", "", document, flags=re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=names(DOCUMENTS))
def test_every_link_leads_to_a_file_and_a_heading(document):
    text = document.read_text()
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"```.*?```", "", text, flags=re.DOTALL)):
        if target.startswith(("http://", "https://")):
            continue
        file, _, anchor = target.partition("#")
        path = document.parent / file if file else document
        assert path.exists(), target
        assert not anchor or anchor in anchors(path.read_text()), target


@pytest.mark.parametrize("document", DOCUMENTS, ids=names(DOCUMENTS))
def test_every_file_that_a_document_names_exists(document):
    for name in re.findall(r"`((?:service|tests|docs|benchmarks|demo|helm|examples)/[\w./-]*)`", document.read_text()):
        assert name in GENERATED or (PROJECT / name).exists(), name


def test_every_file_that_a_docstring_or_comment_names_exists():
    """Paths from the project's root, such as tests/reference/… for a kernel's twin."""
    path = r"(?<![\w/.])(?:service|tests|docs|benchmarks|demo|helm)/[\w./-]+\.(?:py|md|java|yaml)\b"
    named = {(source, name) for source in SOURCES for name in re.findall(path, source.read_text())}
    assert [(str(source), name) for source, name in named if not (PROJECT / name).exists()] == []


def test_the_readme_links_every_guide():
    guides = {f"docs/{path.name}" for path in (PROJECT / "docs").glob("*.md")}
    assert guides <= set(re.findall(r"\]\(([\w./-]+)", README))
    assert len(guides) <= 14


def test_the_glossary_defines_each_term_once():
    glossary = (PROJECT / "docs" / "reference.md").read_text().partition("## Glossary")[2]
    terms = re.findall(r"^- \*\*([^.]+?)\.?\*\*", glossary, re.MULTILINE)
    assert len(terms) == len(set(terms))
    assert {"Group", "Member", "Subscriber", "Owner", "Claim", "Partition, `partition_id`", "Decision", "Key hash"} <= set(terms)


def test_the_operators_guide_lists_every_setting_with_its_default_and_meaning():
    guide = (PROJECT / "docs" / "operations.md").read_text()
    for variable, default, summary in settings_table():
        assert f"| `{variable}` | {default} | {summary} |" in guide


@pytest.mark.parametrize("document", DOCUMENTS, ids=names(DOCUMENTS))
def test_every_setting_that_a_document_names_exists(document):
    """The changelog may name settings of the past."""
    if document.name != "CHANGELOG.md":
        known = {variable for variable, _, _ in settings_table()}
        assert set(re.findall(r"\bALLOCATOR_[A-Z_]*[A-Z]\b", document.read_text())) <= known


@pytest.mark.parametrize("document", DOCUMENTS, ids=names(DOCUMENTS))
def test_every_make_command_of_a_document_exists(document):
    makefile = (PROJECT / "Makefile").read_text()
    for command in set(re.findall(r"(?:`|\$ )make ([a-z-]+)", document.read_text())):
        assert re.search(rf"^{command}:", makefile, re.MULTILINE), command


@pytest.mark.parametrize("document", DOCUMENTS, ids=names(DOCUMENTS))
def test_every_command_and_option_of_an_example_exists(document):
    text = re.sub(r"\\\n\s*", "", document.read_text())
    for line in re.findall(r"\$ (?:\.venv/bin/)?partition-allocator ([^`\n]+)", text):
        words = shlex.split(line.partition("#")[0].partition(">")[0].partition("|")[0].partition("…")[0], posix=True)
        command = main
        while words and isinstance(command, Group):
            named = command.get_command(Context(command), words.pop(0))
            assert named is not None, line
            command = named
        known = {option for parameter in command.params for option in parameter.opts} | {"--help", "--version"}
        assert {word.partition("=")[0] for word in words if word.startswith("--")} <= known | {"--"}, line


def test_the_guide_to_the_command_line_lists_every_command():
    section = (PROJECT / "docs/reference.md").read_text().partition("## The command line")[2].partition("\n### ")[0]
    table = [line.split(" | ")[0] for line in section.splitlines() if line.startswith("| `")]
    assert {name for cells in table for name in re.findall(r"`([a-z-]+)`", cells)} == COMMANDS.keys()


EXAMPLES = re.findall(r"^\$ (curl .*?) \| jq \.(\w+)\n(.*?)\n```", README, re.DOTALL | re.MULTILINE)
TABLES = re.findall(r"^\$ partition-allocator ([^\n]+)\n([^$`].*?)\n```", README, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize(("command", "field", "shown"), EXAMPLES)
def test_the_readmes_answers_are_the_services(client, command, field, shown):
    words = shlex.split(command)
    path = next(word for word in words if word.startswith("localhost")).removeprefix("localhost:8000")
    response = client.post(path, data=words[words.index("--json") + 1], content_type="application/json")
    assert response.json[field] == json.loads(shown)


@pytest.mark.parametrize(("command", "shown"), TABLES)
def test_the_readmes_tables_are_those_of_a_terminal_of_80_columns(command, shown, monkeypatch):
    monkeypatch.chdir(PROJECT)
    monkeypatch.setenv("COLUMNS", "80")
    result = CliRunner().invoke(main, [*shlex.split(command), "--output", "table"])
    assert [line.rstrip() for line in result.stdout.splitlines()] == shown.splitlines()


def test_the_readme_is_short_and_shows_both():
    assert len(README.splitlines()) <= 120
    assert EXAMPLES
    assert TABLES


@pytest.mark.parametrize(
    ("object_name", "strategies"),
    [
        ("assignors.Assignor", [assignor for protocol in GROUP_PROTOCOLS.values() for assignor in protocol.builtins]),
        ("partitioners.Partitioner", PARTITIONERS.builtins),
        ("placers.Placer", PLACERS.builtins),
    ],
)
def test_the_guide_to_plugins_gives_the_signature_that_run_has(object_name, strategies):
    guide = (PROJECT / "docs" / "extending.md").read_text()
    (row,) = re.findall(rf"^\|.*`service\.core\.{object_name}`.*`run\(([\w, ]+)\)`", guide, re.MULTILINE)
    parameters = row.split(", ")
    for strategy in strategies:
        required = [each for each in inspect.signature(strategy.run).parameters.values() if each.default is each.empty]
        assert len(required) == len(parameters), strategy.name


def test_the_readme_counts_the_partitioners():
    assert f"\n{len(PARTITIONERS.builtins)} partitioners, of" in README


def test_the_architecture_has_the_layers_of_the_contract():
    """The same layers in the same order as ``lint-imports`` checks."""
    drawn = (PROJECT / "ARCHITECTURE.md").read_text().partition("## Layers")[2].partition("```\n")[2].partition("```")[0]
    contracts = tomllib.loads((PROJECT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = [re.split(r" [|:] ", layer) for layer in contracts[0]["layers"]]
    lines = [re.findall(r"[a-z]+", re.match(r"\S+(?: [|] \S+)*", line)[0]) for line in drawn.splitlines()]
    assert [line[: len(layer)] for line, layer in zip(lines, layers, strict=True)] == [
        layer[:1] if "config" in layer else layer for layer in layers
    ]
