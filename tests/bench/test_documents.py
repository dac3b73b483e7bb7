"""The table of results in ``docs/evidence/benchmarks.md``."""

from __future__ import annotations

import pytest

from benchmarks import documents, every  # noqa: F401 - importing declares the benchmarks
from benchmarks.documents import DOCUMENT, figures, lines, table
from benchmarks.harness import BENCHMARKS, Benchmark, Result, Row

PAIR = (Row("a/b/fresh", "s", 1.0, "ours ÷ theirs"), Row("a/b/leaves", "s", 1.0, "ours ÷ theirs"))
OTHER = Row("a/b/memory", "MB", 0.5, "our memory ÷ their memory")
TWO = [Benchmark((*PAIR, OTHER), 1, None)]


def test_the_document_has_the_line_of_every_row():
    """``python -m benchmarks --write-docs`` with any name writes them."""
    text = DOCUMENT.read_text()
    written = text.partition(documents.BEGIN)[2].partition(documents.END)[0].strip()
    assert written == table(BENCHMARKS, figures(written), [], "").strip()


def test_every_row_has_a_text_for_each_side():
    for line in lines(BENCHMARKS):
        assert len(line.rows[0].what.split(" ÷ ")) == 2, line.name


def test_the_names_of_the_lines_are_all_different():
    names = [line.name for line in lines(BENCHMARKS)]
    assert len(set(names)) == len(names)


def test_rows_with_one_text_share_a_line_with_the_range_of_their_ratios():
    results = [Result(PAIR[0], 0.00001, 1.0), Result(PAIR[1], 0.5, 1.0), Result(OTHER, 60.0, 100.0)]
    assert table(TWO, {}, results, "2026-11-22").splitlines()[2:] == [
        "| `a/b/*` | ours | theirs | 0.00001 to 0.5 | 1 | 2026-11-22 |",
        "| `a/b/memory` | our memory | their memory | **0.6** | 0.5 | 2026-11-22 |",
    ]


def test_what_was_not_measured_keeps_its_figures_and_date():
    before = table(TWO, {}, [Result(row, 1.0, 2.0) for row in (*PAIR, OTHER)], "2026-11-21")
    after = table(TWO, figures(before), [Result(OTHER, 1.0, 4.0)], "2026-11-22")
    assert figures(after) == {"a/b/*": ("0.5", "2026-11-21"), "a/b/memory": ("0.25", "2026-11-22")}


def test_half_of_a_line_is_not_a_result():
    assert figures(table(TWO, {}, [Result(PAIR[0], 1.0, 2.0)], "2026-11-22"))["a/b/*"] == ("", "not yet")


@pytest.mark.parametrize("ratio", ["", "0.5", "**1.2**", "0.1 to 0.5"])
def test_figures_are_read_as_they_were_written(ratio):
    line = lines(TWO)[0]
    assert figures(line.text(ratio, "2026-11-22")) == {line.name: (ratio, "2026-11-22")}
