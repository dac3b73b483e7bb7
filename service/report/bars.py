"""A bar chart as SVG, without Matplotlib: a bar per name, to be read beside its value."""

from collections.abc import Sequence
from html import escape
from typing import Final

from service.core.printable import printable
from service.report.numbers import number
from service.report.palette import ON_ANY

MOST_BARS: Final = 40
LONGEST_LABEL: Final = 28
LEFT, WIDTH, RIGHT, ROW, TOP = 190, 380, 70, 18, 26


def bars(title: str, labels: Sequence[object], values: Sequence[float], most: float | None = None, *, mean: bool = True) -> str:
    """The chart. Of more than MOST_BARS values the largest are shown, in their order.

    labels : of as many as there are values; they are data, and never markup
    most : the value of a bar of full length; default: the largest value
    mean : whether a dashed line shows the mean of all values
    """
    order = sorted(range(len(values)), key=lambda i: -values[i])[:MOST_BARS]
    if len(values) > MOST_BARS:
        title = f"{title}: the {MOST_BARS} largest of {len(values):,}"
    scale = WIDTH / (most or max(values, default=0) or 1)
    height = TOP + ROW * len(order) + 22
    width = LEFT + WIDTH + RIGHT
    font = 'fill="currentColor" font-family="sans-serif" font-size="11"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" style="max-width:100%" {font}>',
        f'<text x="0" y="14" font-weight="bold">{_text(title)}</text>',
    ]
    for row, i in enumerate(sorted(order)):
        y, length = TOP + ROW * row, max(values[i] * scale, 0.0)
        label = str(labels[i])
        short = label if len(label) <= LONGEST_LABEL else label[: LONGEST_LABEL - 1] + "…"
        parts.append(
            f'<g><title>{_text(label)}: {number(values[i])}</title><text x="0" y="{y + 12}">{_text(short)}</text>'
            f'<rect x="{LEFT}" y="{y + 2}" width="{length:.1f}" height="{ROW - 5}" fill="{ON_ANY}"/>'
            f'<text x="{LEFT + length + 5:.1f}" y="{y + 12}">{number(values[i])}</text></g>'
        )
    if mean:
        average = sum(values) / max(len(values), 1)
        x, bottom = LEFT + average * scale, TOP + ROW * len(order)
        parts.append(
            f'<line x1="{x:.1f}" y1="{TOP - 2}" x2="{x:.1f}" y2="{bottom}" stroke="currentColor" stroke-dasharray="3 3"/>'
        )
        parts.append(f'<text x="{x:.1f}" y="{bottom + 14}" text-anchor="middle">mean {number(average)}</text>')
    return "".join((*parts, "</svg>"))


def _text(text: str) -> str:
    return escape(printable(text))
