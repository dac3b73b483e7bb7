"""Tables whose columns begin where their headers do, as Kafka's tools and rpk print them."""

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

_COLUMN: Final = re.compile(r"COORDINATOR \(ID\)|[#A-Z][A-Z-]*")
_WORD: Final = re.compile(r"\[[^\]]*\]|\S+")
_COORDINATOR: Final = re.compile(r"(?<=\S) +(?=\(-?[0-9]+\) )")


@dataclass(frozen=True)
class PrintedTable:
    """The columns of a table, and where they begin. blank : columns whose cells may be blank"""

    names: tuple[str, ...] = ()
    starts: tuple[int, ...] = ()
    blank: frozenset[str] = frozenset()

    @classmethod
    def of(cls, header: str, *blank: str) -> "PrintedTable":
        """The table with this header."""
        columns = [*_COLUMN.finditer(header)]
        return cls(tuple(column.group() for column in columns), tuple(column.start() for column in columns), frozenset(blank))

    def cells(self, line: str) -> dict[str, str] | None:
        """A row by column; None if it is no row of this table.

        Where the columns do not line up, the row must have a word, or a list in brackets, for each column that may not be blank.
        """
        if all(line[start - 1 : start] in ("", " ") for start in self.starts if start):
            parts = [line[start:end].strip() for start, end in pairwise((*self.starts, len(line) + 1))]
            row = dict(zip(self.names, parts, strict=True))
            if any(parts) and all(cell or name in self.blank for name, cell in row.items()):
                return row
        words = _WORD.findall(_COORDINATOR.sub("", line))
        names = [name for name in self.names if name not in self.blank] if len(words) < len(self.names) else self.names
        return dict.fromkeys(self.names, "") | dict(zip(names, words, strict=True)) if 0 < len(names) == len(words) else None


def offset_in(row: dict[str, str], column: str) -> int | None:
    """The offset in a cell; None if it has a dash, an error, or -1, which stand for one that is not known."""
    return int(row[column]) if re.fullmatch("[0-9]{1,18}", row.get(column, "")) else None
