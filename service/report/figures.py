"""Numbers as text, and bars and curves as SVG, without Matplotlib; the colours of all pictures."""

import math
from collections.abc import Sequence
from html import escape
from typing import Final

from service.core.printable import printable


def number(value: float | None) -> str:
    """A formatted number: ``1,234``, ``1.53``, ``—`` for NaN and None."""
    if value is None or value != value:  # noqa: PLR0124 - NaN
        return "—"
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def tick_step(span: float, most: int, *, whole: bool = False) -> float:
    """The smallest 1, 2 or 5 × a power of ten of which at most ``most`` fill a span. whole : at least 1"""
    power = 10.0 ** math.floor(math.log10(span / most)) if span else 1.0
    step = next(times * power for times in (1, 2, 5, 10) if span <= times * power * most)
    return max(step, 1.0) if whole else step


def duration(seconds: float | None) -> str:
    """A formatted time: ``90 s``, ``2.5 h``; a dash if it never ends or is unknown."""
    if seconds is None:
        return "—"
    for limit, unit_seconds, unit in ((120, 1, "s"), (7200, 60, "min"), (172800, 3600, "h")):
        if seconds < limit:
            return f"{number(round(seconds / unit_seconds, 1))} {unit}"
    return f"{number(round(seconds / 86400, 1))} d"


def size(value: float) -> str:
    """Formatted bytes: ``1.5 GiB``."""
    unit, *larger = ("B", "KiB", "MiB", "GiB", "TiB")
    while abs(value) >= 1024 and larger:
        value, unit = value / 1024, larger.pop(0)
    return f"{value:.3g} {unit}" if unit != "B" and value < 1000 else f"{value:.0f} {unit}"


def id_ranges(ids: list[int]) -> str:
    """Ascending ids, consecutive ones as a range: ``0-3 7 9-10``."""
    runs: list[list[int]] = []
    for i in ids:
        if runs and i == runs[-1][1] + 1:
            runs[-1][1] = i
        else:
            runs.append([i, i])
    return " ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


LIGHT: Final = {
    "ink": "#1b1f24", "soft": "#57606a", "grid": "#d5dae0", "page": "#f6f7f9", "card": "#ffffff",
    "accent": "#0b62c4", "good": "#1a7f4b", "bad": "#c02b30",
    "c0": "#0b62c4", "c1": "#d9730d", "c2": "#178a6b", "c3": "#a6408f", "c4": "#8a6d00", "c5": "#3e9bd6", "c6": "#c02b30",
    "c7": "#6b7280",
}  # fmt: skip
"""Text, secondary text, lines, the page and what lies on it; what matters, good and bad; one for each series."""

DARK: Final = {
    "ink": "#e6e9ee", "soft": "#9aa5b1", "grid": "#363d47", "page": "#101418", "card": "#181d23",
    "accent": "#6db0ff", "good": "#56c991", "bad": "#ff7b7b",
    "c0": "#6db0ff", "c1": "#f5a453", "c2": "#52c9a5", "c3": "#df8fd0", "c4": "#d8bd4a", "c5": "#9bd2f5", "c6": "#ff7b7b",
    "c7": "#9aa5b1",
}  # fmt: skip

ON_ANY: Final = "#3b82c4"
"""Instead of the accent where a picture cannot tell what it is on, as in a notebook: readable on light and on dark pages."""


def variables(selector: str, names: tuple[str, ...] = tuple(LIGHT)) -> str:
    """CSS that gives the elements a custom property for each of these colours, by the colour scheme of the reader."""
    light, dark = ("".join(f"--{name}:{colors[name]};" for name in names) for colors in (LIGHT, DARK))
    return f"{selector}{{{light}}}\n@media (prefers-color-scheme: dark){{{selector}{{{dark}}}}}"


MOST_BARS: Final = 40
LONGEST_LABEL: Final = 28
BAR_LEFT, BAR_WIDTH, BAR_RIGHT, ROW, BAR_TOP = 190, 380, 70, 18, 26


def bars(title: str, labels: Sequence[object], values: Sequence[float], most: float | None = None, *, mean: bool = True) -> str:
    """The chart. Of more than MOST_BARS values the largest are shown, in their order.

    labels : of as many as there are values; they are data, and never markup
    most : the value of a bar of full length; default: the largest value
    mean : whether a dashed line shows the mean of all values
    """
    order = sorted(range(len(values)), key=lambda i: -values[i])[:MOST_BARS]
    if len(values) > MOST_BARS:
        title = f"{title}: the {MOST_BARS} largest of {len(values):,}"
    scale = BAR_WIDTH / (most or max(values, default=0) or 1)
    parts = [_head(title, BAR_LEFT + BAR_WIDTH + BAR_RIGHT, BAR_TOP + ROW * len(order) + 22)]
    for row, i in enumerate(sorted(order)):
        y, length = BAR_TOP + ROW * row, max(values[i] * scale, 0.0)
        label = str(labels[i])
        short = label if len(label) <= LONGEST_LABEL else label[: LONGEST_LABEL - 1] + "…"
        parts.append(
            f'<g><title>{markup(label)}: {number(values[i])}</title><text x="0" y="{y + 12}">{markup(short)}</text>'
            f'<rect x="{BAR_LEFT}" y="{y + 2}" width="{length:.1f}" height="{ROW - 5}" fill="{ON_ANY}"/>'
            f'<text x="{BAR_LEFT + length + 5:.1f}" y="{y + 12}">{number(values[i])}</text></g>'
        )
    if mean:
        average = sum(values) / max(len(values), 1)
        x, bottom = BAR_LEFT + average * scale, BAR_TOP + ROW * len(order)
        parts.append(
            f'<line x1="{x:.1f}" y1="{BAR_TOP - 2}" x2="{x:.1f}" y2="{bottom}" stroke="currentColor" stroke-dasharray="3 3"/>'
        )
        parts.append(f'<text x="{x:.1f}" y="{bottom + 14}" text-anchor="middle">mean {number(average)}</text>')
    return "".join((*parts, "</svg>"))


def _head(title: str, width: int, height: int) -> str:
    """The beginning of a picture."""
    font = 'fill="currentColor" font-family="sans-serif" font-size="11"'
    size = f'viewBox="0 0 {width} {height}" width="{width}" style="max-width:100%"'
    heading = f'<text x="0" y="14" font-weight="bold">{markup(title)}</text>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font}>{heading}'


def markup(text: str) -> str:
    """A text from data, printable and without markup."""
    return escape(printable(text))


LEFT, TOP, WIDTH, HEIGHT, RIGHT, BOTTOM = 70, 44, 480, 220, 30, 44
TICKS: Final = 5
"""Most ticks of an axis, but for the first."""

DOTTED: Final = 60
"""Points up to which each has a dot."""


def curve(
    title: str,
    across: tuple[str, Sequence[float]],
    up: tuple[str, Sequence[float]],
    beside: tuple[str, Sequence[float]] | None = None,
) -> str:
    """The picture.

    across, up : the name of each axis, and as many values, at least one; the vertical axis begins at 0
    beside : a second curve over the same points, dashed, and its name
    """
    (x_name, xs), (y_name, ys), (_, others) = across, up, beside or ("", ())
    least, most, highest = min(xs), max(xs), max(*ys, *others, 0.0) or 1.0

    def x_of(value: float) -> float:
        return LEFT + WIDTH * (value - least) / ((most - least) or 1)

    def y_of(value: float) -> float:
        return TOP + HEIGHT * (1 - value / highest)

    def points_of(values: Sequence[float]) -> list[tuple[float, float]]:
        return [(x_of(x), y_of(y)) for x, y in zip(xs, values, strict=True)]

    at = points_of(ys)
    parts = [_head(title, LEFT + WIDTH + RIGHT, TOP + HEIGHT + BOTTOM)]
    for value in _ticks(0.0, highest, whole=_whole([*ys, *others])):
        y = y_of(value)
        parts.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{LEFT + WIDTH}" y2="{y:.1f}" stroke="currentColor" opacity="0.2"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{number(value)}</text>')
    parts.extend(
        f'<text x="{x_of(value):.1f}" y="{TOP + HEIGHT + 16}" text-anchor="middle">{number(value)}</text>'
        for value in _ticks(least, most, whole=_whole(xs))
    )
    parts.append(f'<text x="{LEFT + WIDTH / 2}" y="{TOP + HEIGHT + 36}" text-anchor="middle">{markup(x_name)}</text>')
    parts.append(f'<text x="{LEFT}" y="{TOP - 6}">{markup(y_name)}</text>')
    parts.append(f'<polyline points="{_joined(at)}" fill="none" stroke="{ON_ANY}" stroke-width="2"/>')
    if beside is not None:
        dashed = 'fill="none" stroke="currentColor" stroke-width="1.5" stroke-dasharray="5 4"'
        parts.append(f'<polyline points="{_joined(points_of(others))}" {dashed}/>')
        parts.append(f'<text x="{LEFT + WIDTH}" y="{TOP - 6}" text-anchor="end">dashed: {markup(beside[0])}</text>')
    for (x, y), across_value, up_value in zip(at, xs, ys, strict=True) if len(at) <= DOTTED else ():
        label = f"{number(across_value)} {markup(x_name)}: {number(up_value)}"
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{ON_ANY}"><title>{label}</title></circle>')
    return "".join((*parts, "</svg>"))


def _ticks(least: float, most: float, *, whole: bool) -> list[float]:
    """Multiples of 1, 2 or 5 × a power of ten between these; whole numbers if the values are."""
    if least == most:
        return [least]
    step = tick_step(most - least, TICKS, whole=whole)
    return [step * i for i in range(math.ceil(least / step), math.floor(most / step * (1 + 1e-9)) + 1)]


def _whole(values: Sequence[float]) -> bool:
    return all(float(value).is_integer() for value in values)


def _joined(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
