"""Imports go one way, also those for types alone, which ``lint-imports`` leaves out."""

from __future__ import annotations

import ast
from collections import defaultdict
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDERS = sorted(path.parent for path in (ROOT / "service" / "pipeline" / "spark").rglob("__init__.py"))


def modules_of(path: Path) -> set[tuple[str, ...]]:
    """What a file imports of the project, anywhere in it, as parts of the dotted name."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("service"):
            names |= {(*node.module.split("."), alias.name) for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {tuple(alias.name.split(".")) for alias in node.names if alias.name.startswith("service")}
    return names


@cache
def imports() -> dict[tuple[str, ...], set[tuple[str, ...]]]:
    """Module → what it imports; a package is its ``__init__``."""
    files = [path.relative_to(ROOT) for path in (ROOT / "service").rglob("*.py")]
    return {path.with_suffix("").parts: modules_of(ROOT / path) for path in files}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: ".".join(folder.relative_to(ROOT).parts))
def test_what_lies_in_a_folder_imports_one_way(folder: Path) -> None:
    """Neither files nor folders beside each other import each other in a circle."""
    place = folder.relative_to(ROOT).parts
    depth = len(place)
    rooms = {path.stem for path in folder.iterdir()}
    graph: defaultdict[str, set[str]] = defaultdict(set)
    for module, names in imports().items():
        if module[:depth] == place and module[-1] != "__init__":
            beside = {name[depth] for name in names if len(name) > depth and name[:depth] == place}
            graph[module[depth]] |= (beside & rooms) - {module[depth]}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" → ".join(error.args[1]))


def test_no_modules_import_each_other_in_a_circle() -> None:
    known = imports().keys()

    def module_of(name: tuple[str, ...]) -> tuple[str, ...] | None:
        """The module that a name is, or is in."""
        return next((each for each in (name, (*name, "__init__"), name[:-1], (*name[:-1], "__init__")) if each in known), None)

    graph = {module: {module_of(name) for name in names} - {module, None} for module, names in imports().items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" → ".join(".".join(module) for module in error.args[1]))


def test_the_core_keeps_its_budget_of_lines() -> None:
    """See docs/adr/0021-a-budget-of-lines.md."""
    assert sum(len(file.read_text().splitlines()) for file in (ROOT / "service" / "core").rglob("*.py")) <= 13_500
