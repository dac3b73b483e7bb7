"""The text of a JSON document: the line of each value, and the values that it must have."""

import json
import re
from collections.abc import Collection, Iterator
from typing import Any, Final, NoReturn

from service.core.documents import Json
from service.descriptions.model import UnreadableDescription

Path = tuple[str | int, ...]

_TYPES: Final = {dict: "an object", list: "a list", int: "an integer", str: "a string"}


class SourceText:
    """The text, and where the JSON begins and ends, for the line of a fault."""

    def __init__(self, text: str, start: int, end: int) -> None:
        self.text, self.start, self.end = text, start, end

    def refuse(self, detail: str, path: Path) -> NoReturn:
        """Raise UnreadableDescription for the value at this path."""
        raise UnreadableDescription(
            detail, self.text.count("\n", 0, self.start) + line_of(self.text[self.start : self.end], path)
        )

    def check(self, value: Any, kind: type, path: Path) -> Any:
        """The value, which must be of this kind."""
        if type(value) is not kind:
            name = next((str(part) for part in reversed(path) if isinstance(part, str)), "The JSON")
            self.refuse(f"{name}: not {_TYPES[kind]}.", path)
        return value

    def member(self, row: Json, name: str, kind: type, path: Path) -> Any:
        """A required member of an object."""
        if name not in row:
            self.refuse(f"{name} is missing.", path)
        return self.check(row[name], kind, (*path, name))

    def rows(self, document: Json, name: str, path: Path) -> list[Json]:
        """A list of objects, empty if it is absent."""
        rows = self.check(document.get(name, []), list, (*path, name))
        for i, row in enumerate(rows):
            self.check(row, dict, (*path, name, i))
        return rows  # type: ignore[no-any-return]  # checked

    def integers(self, row: Json, name: str, path: Path) -> list[int]:
        """A required list of integers."""
        ids = self.member(row, name, list, path)
        for i, broker_id in enumerate(ids):
            self.check(broker_id, int, (*path, name, i))
        return ids  # type: ignore[no-any-return]  # checked


_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')


def line_of(text: str, path: Path) -> int:
    """The line of the value at ``path``, from 1; if it is not there, that of the nearest value around it."""
    lines = lines_of(text, [path[:length] for length in range(len(path) + 1)])
    return lines[max(lines, key=len)] if lines else 1


def lines_of(text: str, paths: Collection[Path]) -> dict[Path, int]:
    """The line, from 1, of the value at each path that the text has. The text is well-formed JSON."""
    sought, lines = set(paths), dict[Path, int]()
    line, end = 1, 0
    for path, start in _values(text):
        line, end = line + text.count("\n", end, start), start
        if path in sought:
            lines[path] = line
    return lines


def _values(text: str) -> Iterator[tuple[Path, int]]:
    """Path and offset of each value, in the order of the text."""
    path: list[str | int] = []
    arrays: list[bool] = []
    names = False
    for token in _TOKEN.finditer(text):
        mark = token.group()
        if mark in "}]":
            path.pop()
            arrays.pop()
            names = False
        elif mark == ",":
            names = not arrays[-1]
            if arrays[-1]:
                path[-1] = int(path[-1]) + 1
        elif mark == ":":
            names = False
        elif names:
            path[-1] = json.loads(mark)
        else:
            yield tuple(path), token.start()
            if mark in "{[":
                arrays.append(mark == "[")
                path.append(0)
                names = mark == "{"


def first_of(row: Json, names: Collection[str]) -> Any:
    """The first of these members that a row has, or None."""
    return next((row[name] for name in names if name in row), None)
