"""The line on which each value of a JSON text begins."""

import json
import re
from collections.abc import Collection, Iterator
from typing import Final

Path = tuple[str | int, ...]

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
