"""What ``compare`` shows of its answer: rows of tables, and the report of ``--into``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from service.api.comparisons import agreement_text
from service.report.figures import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from service.core.documents import Json
    from service.report.pages import Report


WRITERS: Final = ("partitioner", "hash", "sign rule", "equivalent for every key")
PAIRS: Final = ("partitioner", "other", "agree", "records compared")
"""The columns of the tables."""


def writer_rows(answer: Json) -> list[tuple[str, ...]]:
    """Each writer, with the partitioners equivalent to it."""
    return [(w["partitioners"][0], w["hash"], w["sign_rule"], " ".join(w["partitioners"][1:])) for w in answer["writers"]]


def pair_rows(answer: Json) -> list[tuple[str, ...]]:
    """Each pair of writers, those that agree most first."""
    pairs = sorted(answer["pairs"], key=lambda pair: -(pair["agreement"] or 0))
    return [(*p["partitioners"], _share(p["agreement"]), f"{p['agreeing_keys']:,} of {p['keys']:,}") for p in pairs]


def report_of(answer: Json, figures: dict[str, str], source: str) -> Report:
    """The report. figures : by name; source : the name of what was read"""
    from service.report.pages import Figure, FigureRow, Report, Section, Table, chart  # noqa: PLC0415 - the terminal needs none

    sections = [
        Section("At a glance", (FigureRow(tuple(Figure(*figure) for figure in figures.items())),)),
        Section("Partitioners", (Table(WRITERS, writer_rows(answer)),), "Those in a row have the same hash and sign rule."),
    ]
    if rows := pair_rows(answer):
        picture = chart(lambda axes: _matrix(axes, answer), height=2.5 + 0.16 * len(answer["writers"]))
        text = "Only records whose partition follows from their key in both are compared; repeated keys count each time."
        folded = f"Show the {number(len(rows))} pairs as a table"
        blocks = (picture, Table(PAIRS, rows, folded=folded)) if rows[1:] else (Table(PAIRS, rows),)
        sections.append(Section("Agreement of each pair", blocks, text))
    return Report("Compare", source, tuple(sections), answer["conclusion"])


def _share(value: float | None) -> str:
    return "—" if value is None else agreement_text(value)


def _matrix(axes: Axes, answer: Json) -> None:
    """The agreement of each writer with each as colours."""
    names = [writer["partitioners"][0] for writer in answer["writers"]]
    shares = np.full((len(names), len(names)), 100.0)
    for pair in answer["pairs"]:
        i, j = map(names.index, pair["partitioners"])
        shares[i, j] = shares[j, i] = np.nan if pair["agreement"] is None else 100 * pair["agreement"]
    axes.set_xticks(range(len(names)), names, rotation=90)
    axes.set_yticks(range(len(names)), names)
    axes.grid(visible=False)
    axes.figure.colorbar(axes.imshow(shares, cmap="cividis", vmin=0, vmax=100), label="agreement, % of the records compared")
