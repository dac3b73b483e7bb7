"""A curve as SVG, without Matplotlib: points from left to right, joined by lines."""

import math
from collections.abc import Sequence
from html import escape
from typing import Final

from service.core.printable import printable
from service.report.numbers import number, tick_step
from service.report.palette import ON_ANY

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
    font = 'fill="currentColor" font-family="sans-serif" font-size="11"'
    size = f'viewBox="0 0 {LEFT + WIDTH + RIGHT} {TOP + HEIGHT + BOTTOM}" width="{LEFT + WIDTH + RIGHT}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} style="max-width:100%" {font}>',
        f'<text x="0" y="14" font-weight="bold">{_text(title)}</text>',
    ]
    for value in _ticks(0.0, highest, whole=_whole([*ys, *others])):
        y = y_of(value)
        parts.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{LEFT + WIDTH}" y2="{y:.1f}" stroke="currentColor" opacity="0.2"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{number(value)}</text>')
    parts.extend(
        f'<text x="{x_of(value):.1f}" y="{TOP + HEIGHT + 16}" text-anchor="middle">{number(value)}</text>'
        for value in _ticks(least, most, whole=_whole(xs))
    )
    parts.append(f'<text x="{LEFT + WIDTH / 2}" y="{TOP + HEIGHT + 36}" text-anchor="middle">{_text(x_name)}</text>')
    parts.append(f'<text x="{LEFT}" y="{TOP - 6}">{_text(y_name)}</text>')
    parts.append(f'<polyline points="{_joined(at)}" fill="none" stroke="{ON_ANY}" stroke-width="2"/>')
    if beside is not None:
        dashed = 'fill="none" stroke="currentColor" stroke-width="1.5" stroke-dasharray="5 4"'
        parts.append(f'<polyline points="{_joined(points_of(others))}" {dashed}/>')
        parts.append(f'<text x="{LEFT + WIDTH}" y="{TOP - 6}" text-anchor="end">dashed: {_text(beside[0])}</text>')
    for (x, y), across_value, up_value in zip(at, xs, ys, strict=True) if len(at) <= DOTTED else ():
        label = f"{number(across_value)} {_text(x_name)}: {number(up_value)}"
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


def _text(text: str) -> str:
    return escape(printable(text))
