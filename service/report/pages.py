"""The report of a job: one self-contained HTML file with its plots, for screen (light and dark) and print.

A report has sections, and a section has blocks::

    Report("Skew", "flights.parquet, 336,776 records", (
        Section("At a glance", (FigureRow((Figure("records", "336,776"), …)),)),
        Section("Skew", (chart(lambda axes: axes.plot(counts, skews, color=COLORS[0])), Table(…)), "What it means."),
    ))
"""

from __future__ import annotations

import io
import os
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from cycler import cycler
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from service import __version__
from service.core.printable import printable
from service.report.figures import LIGHT, variables

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

INK, SOFT, GRID = "#010101", "#020202", "#030303"
"""Text, secondary text and lines. They and COLORS are replaced by CSS variables, which differ between light and dark."""

COLORS: Final = ("#0a0101", "#0a0202", "#0a0303", "#0a0404", "#0a0505", "#0a0606", "#0a0707", "#0a0808")
"""One for each series, distinguishable by colour-blind readers."""

_VARIABLES: Final = {INK: "ink", SOFT: "soft", GRID: "grid"} | {color: f"c{i}" for i, color in enumerate(COLORS)}
_STYLE: Final[Any] = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # to measure text; the page uses its own font
    "font.size": 9,
    "text.color": INK,
    "axes.labelcolor": SOFT,
    "axes.edgecolor": GRID,
    "axes.linewidth": 0.8,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "axes.prop_cycle": cycler(color=COLORS),
    "figure.facecolor": "none",
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "xtick.color": GRID,
    "ytick.color": GRID,
    "xtick.labelcolor": SOFT,
    "ytick.labelcolor": SOFT,
    "legend.frameon": False,
    "legend.labelcolor": INK,
    "lines.linewidth": 1.8,
    "lines.markersize": 4,
}


WIDTH: Final = 8.6
"""Inches of a plot."""

LABELLED: Final = 40
"""Up to this many partitions, each bar has its id."""

_NUMBER: Final = re.compile(r"[-+±≤≥≈<>~×]*\s?\d[\d.,]*\s?[%×a-zA-Z/µ]{0,5}|[—–-]?")


@dataclass(frozen=True)
class Figure:
    """One number: its name, its text, and a remark; tone : "good", "bad" or empty."""

    name: str
    value: str
    remark: str = ""
    tone: str = ""


@dataclass(frozen=True)
class FigureRow:
    """A row of large numbers."""

    figures: tuple[Figure, ...]


@dataclass(frozen=True)
class Table:
    """A table of text cells; columns of numbers are aligned right.

    folded : the text that unfolds the table; "" if it is always shown
    """

    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    caption: str = ""
    folded: str = ""

    def numeric(self, column: int) -> bool:
        """Whether every cell of that column is a number, or a dash for none."""
        return all(_NUMBER.fullmatch(row[column]) for row in self.rows)


@dataclass(frozen=True)
class Plot:
    """A drawing, as SVG."""

    svg: Markup
    caption: str = ""


@dataclass(frozen=True)
class Section:
    """A heading, a sentence or two, and blocks."""

    heading: str
    blocks: tuple[FigureRow | Table | Plot, ...]
    text: str = ""


@dataclass(frozen=True)
class Report:
    """All sections, with a title. verdict : the first sentence: what the reader asked, answered"""

    title: str
    subtitle: str
    sections: tuple[Section, ...]
    verdict: str = ""

    def html(self, date: str = "", parameters: Mapping[str, str] | None = None) -> str:
        """The text of the file. date : when the job ran; parameters : its options, by name"""
        loader = PackageLoader("service.report")
        environment = Environment(
            loader=loader, autoescape=True, finalize=_shown, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
        )
        return environment.get_template("report.html").render(
            report=self,
            date=date,
            parameters=parameters or {},
            version=__version__,
            colors=Markup(variables(":root")),  # noqa: S704 (of this project)
            light=LIGHT,
        )


def date() -> str:
    """The date and time of a report; that of SOURCE_DATE_EPOCH, if it is set, so that equal input can give equal files."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = datetime.fromtimestamp(int(epoch), UTC) if epoch.isdecimal() else datetime.now(UTC)
    return now.strftime("%Y-%m-%d %H:%M UTC")


def _shown(value: Any) -> Any:
    """What the page shows: a text from data has no control characters; a plot is markup already."""
    return printable(value) if type(value) is str else value


_numbers = count()


def chart(draw: Callable[[Axes], Any], caption: str = "", *, height: float = 2.9) -> Plot:
    """A plot that ``draw`` draws on its axes; height in inches. Series have the colours of COLORS."""
    return charts(lambda canvas: draw(canvas.subplots()), caption, height=height)


def charts(draw: Callable[[Canvas], Any], caption: str = "", *, height: float = 2.9) -> Plot:
    """The same with several axes, which ``draw`` creates."""
    import matplotlib as mpl  # noqa: PLC0415 - takes half a second, which a refused source need not wait for
    from matplotlib.backends.backend_svg import FigureCanvasSVG  # noqa: PLC0415
    from matplotlib.figure import Figure as Canvas  # noqa: PLC0415

    # Ids are unique in the page, hence a salt for each plot; equal input gives equal pages.
    salt = f"plot-{next(_numbers)}"
    with mpl.rc_context({**_STYLE, "svg.hashsalt": salt}):
        canvas = Canvas(figsize=(WIDTH, height), layout="constrained")
        draw(canvas)
        out = io.StringIO()
        surface: Any = FigureCanvasSVG(canvas)
        surface.print_svg(out, metadata={"Date": None, "Creator": None})  # savefig would draw twice
    svg = out.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(id="|url\(#|xlink:href="#)', rf"\g<1>{salt}-", svg)
    svg = re.sub(r'<svg ([^>]*?)width="[^"]*"', r"<svg \1", svg, count=1)
    svg = re.sub(r'(<svg [^>]*?)height="[^"]*"', r"\1", svg, count=1)
    svg = re.sub("|".join(_VARIABLES), lambda color: f"var(--{_VARIABLES[color[0]]})", svg)
    svg = re.sub(r"font: ([\d.]+px) [^;\"]*", r"font: \1 var(--font)", svg)
    return Plot(Markup(svg), caption)  # noqa: S704 - Matplotlib escapes the texts


def partition_axis(axes: Axes, partitions_count: int) -> None:
    """Name the x axis by partition ids: each of them, if there is room."""
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415 - as in charts

    axes.set_xlabel("partition")
    if partitions_count <= LABELLED:
        axes.set_xticks(range(partitions_count))
    else:
        axes.xaxis.set_major_locator(MaxNLocator(16, integer=True))
    axes.grid(axis="x", visible=False)


def label(text: str) -> str:
    """A text from data, as the label of a plot: printable, of at most 32 characters, and not a formula."""
    text = printable(text)
    return (text if len(text) <= 32 else text[:29] + "…").replace("$", r"\$")
