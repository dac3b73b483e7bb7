"""Files and modules that docstrings and comments of the service name exist."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from importlib.util import find_spec
from typing import TYPE_CHECKING

from tests.support.golden import PROJECT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MODULES = sorted((PROJECT / "service").rglob("*.py"))


def prose(path: Path) -> Iterator[str]:
    """The docstrings and other bare strings of a module, and its comments."""
    source = path.read_text()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.value
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


def exists(name: str) -> bool:
    """Is this a module of the service, a name in one, or an entry-point group?"""
    if name in ("service.assignors", "service.partitioners", "service.placers"):
        return True
    parent, _, attribute = name.rpartition(".")
    if (PROJECT / (name.replace(".", "/") + ".py")).exists() or (PROJECT / name.replace(".", "/")).is_dir():
        return True
    if not parent or find_spec(parent) is None:
        return False
    module = PROJECT / (parent.replace(".", "/") + ".py")
    return module.exists() and re.search(rf"\b{attribute}\b", module.read_text()) is not None


FILE = re.compile(r"\b(?:service|tests|docs|benchmarks|demo|helm)/[\w./-]*\w\.\w+")
MODULE = re.compile(r"\bservice(?:\.\w+)+")
BARE_FILE = re.compile(r"(?<![\w/.])(\w+\.py)\b")


def missing(path: Path) -> Iterator[str]:
    """What the prose of a module names and does not exist."""
    code = "\n".join(line for line in path.read_text().splitlines() if not line.startswith(("from ", "import ")))
    if not any(names.search(code) for names in (FILE, MODULE, BARE_FILE)):
        return
    for text in prose(path):
        yield from (name for name in FILE.findall(text) if not (PROJECT / name).exists())
        yield from (name for name in MODULE.findall(text) if not exists(name))
        yield from (name for name in BARE_FILE.findall(text) if not any(PROJECT.glob(f"service/**/{name}")))


def test_what_the_prose_of_the_modules_names_exists() -> None:
    assert not [(str(path.relative_to(PROJECT)), name) for path in MODULES for name in missing(path)]


SHARED_NAMES = {
    "Answer",  # the library's, and what a partitioner of a plug-in returns
    "IllegalArgument",  # Java's, also for bytes that cannot be read: answers have the name of the class
    "Meta",  # Marshmallow's
}  # fmt: skip


def test_no_two_classes_have_one_name() -> None:
    modules = [*MODULES, *(PROJECT / "partition_allocator").glob("*.py")]
    names = Counter(name for path in modules for name in re.findall(r"^ *class (\w+)[(:]", path.read_text(), re.MULTILINE))
    assert {name for name, count in names.items() if count > 1} == SHARED_NAMES
