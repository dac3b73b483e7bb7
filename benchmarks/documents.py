"""The table of results in ``docs/evidence/benchmarks.md``, which ``python -m benchmarks --write-docs`` writes.

Rows of one benchmark with the same text, unit and goal share a line, with the range of their ratios. A line that a
run did not measure keeps its figures and their date.
"""

from __future__ import annotations

import re
from decimal import Decimal
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from benchmarks.harness import Benchmark, Result, Row

DOCUMENT: Final = Path(__file__).parents[1] / "docs" / "evidence" / "benchmarks.md"
BEGIN: Final = "<!-- Written by python -m benchmarks --write-docs -->\n"
END: Final = "<!-- End of the table -->\n"
HEAD: Final = "| row | ours | reference | ratio | goal | measured |\n| --- | --- | --- | --- | --- | --- |\n"
NEVER: Final = ("", "not yet")
"""The ratio and the date of a line without figures."""


class Line(NamedTuple):
    """Rows of one benchmark that share a text, a unit and a goal."""

    rows: tuple[Row, ...]

    @property
    def name(self) -> str:
        """The row's name, or what the names have in common, and a star."""
        names = [row.name for row in self.rows]
        return names[0] if len(names) == 1 else f"{names[0].rpartition('/')[0]}/*"

    def text(self, ratio: str, date: str) -> str:
        """The line of the table."""
        ours, reference = self.rows[0].what.split(" ÷ ")
        return f"| `{self.name}` | {ours} | {reference} | {ratio} | {self.rows[0].goal:g} | {date} |\n"


def lines(benchmarks: Iterable[Benchmark]) -> list[Line]:
    """The lines of all benchmarks, in order."""
    return [Line(tuple(rows)) for each in benchmarks for _, rows in groupby(each.rows, attrgetter("what", "unit", "goal"))]


def figures(table: str) -> dict[str, tuple[str, str]]:
    """Ratio and date of each line of a table, by its name."""
    cells = re.findall(r"^\| `(\S+)` \|[^|]*\|[^|]*\| ([^|]*?) ?\|[^|]*\| (.*) \|$", table, re.MULTILINE)
    return {name: (ratio, date) for name, ratio, date in cells}


def ratio_of(results: Sequence[Result]) -> str:
    """The ratio, or the range of ratios; bold if one misses the goal."""
    ratios = [result.ratio for result in results]
    low, high = (f"{Decimal(f'{ratio:.3g}'):f}" for ratio in (min(ratios), max(ratios)))
    text = low if low == high else f"{low} to {high}"
    return text if all(result.good for result in results) else f"**{text}**"


def table(benchmarks: Iterable[Benchmark], before: dict[str, tuple[str, str]], results: Iterable[Result], date: str) -> str:
    """The table, in Markdown.

    before : figures of lines that ``results`` do not have; a line is new only if all of its rows were measured
    """
    measured = {result.row.name: result for result in results}
    text = HEAD
    for line in lines(benchmarks):
        of_line = [measured[row.name] for row in line.rows if row.name in measured]
        new = len(of_line) == len(line.rows)
        text += line.text(*((ratio_of(of_line), date) if new else before.get(line.name, NEVER)))
    return text


def write(benchmarks: Iterable[Benchmark], results: Iterable[Result], date: str) -> None:
    """Replace the table in ``docs/evidence/benchmarks.md``."""
    start, _, rest = DOCUMENT.read_text("utf-8").partition(BEGIN)
    old, _, end = rest.partition(END)
    DOCUMENT.write_text(f"{start}{BEGIN}\n{table(benchmarks, figures(old), results, date)}\n{END}{end}", "utf-8")
