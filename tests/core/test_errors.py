"""Errors name a field by its path, not by a JSON pointer."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import service

FILES = sorted(
    path for path in Path(service.__file__).parent.rglob("*.py") if "Invalid" in path.read_text() or "Limit" in path.read_text()
)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_error_holds_a_json_pointer(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("InvalidQuestion", "LimitExceeded"):
            for part in node.args[1:]:
                first = part.values[0] if isinstance(part, ast.JoinedStr) else part
                assert not (isinstance(first, ast.Constant) and str(first.value).startswith("/")), f"{path}:{node.lineno}"
