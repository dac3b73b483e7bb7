"""Numbers as pages show them."""

import math


def number(value: float | None, digits: int = 3) -> str:
    """A formatted number: ``1,234``, ``1.53``, ``—`` for NaN and None."""
    if value is None or value != value:  # noqa: PLR0124 - NaN
        return "—"
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.{digits}g}"


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
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(value) < 1024 or unit == "TiB":
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.3g} {unit}" if value < 1000 else f"{value:.0f} {unit}"
        value /= 1024
    raise AssertionError


def id_ranges(ids: list[int]) -> str:
    """Ascending ids, consecutive ones as a range: ``0-3 7 9-10``."""
    runs: list[list[int]] = []
    for i in ids:
        if runs and i == runs[-1][1] + 1:
            runs[-1][1] = i
        else:
            runs.append([i, i])
    return " ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)
