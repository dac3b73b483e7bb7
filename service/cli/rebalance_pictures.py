"""A timeline as a picture: a row per member, time from left to right, blue for what it reads, red where it stands still."""

from html import escape
from typing import Any, Final

from service.core.printable import printable

Rows = list[tuple[str, ...]]

MOST_MEMBERS: Final = 200
"""Rows of a picture."""
WIDTH, LEFT, ROW, TOP, RIGHT = 1_000, 190, 18, 50, 40
PALE, DEEP, RED = (222, 235, 247), (8, 81, 156), "#d62728"
MOST_TICKS: Final = 10
LEGEND: Final = "blue: reads partitions, the darker the more · red: runs, and reads none · dotted: a rebalance begins"


def picture(answer: dict[str, Any]) -> str:
    """The picture of an answer with ``members``, as SVG. An answer of a share group has none, and the picture no rows."""
    names: dict[str, list[dict[str, Any]]] = {}
    for member in answer.get("members", ()):
        names.setdefault(member["first_member_id"], []).append(member)
    shown = list(names.items())[:MOST_MEMBERS]
    end = max(1, answer["totals"]["end_ms"])
    most = max((count for _, all_of in shown for one in all_of for count in one["reads"]["partitions"]), default=1)
    height = TOP + ROW * len(shown) + 40
    box = f"0 0 {LEFT + WIDTH + RIGHT} {height}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" font-family="sans-serif" font-size="11">',
        f'<rect width="100%" height="100%" fill="white"/><text x="8" y="16">{escape(_title(answer))}</text>',
        f'<text x="8" y="31" fill="#555">{LEGEND}</text>',
    ]
    for row, (name, incarnations) in enumerate(shown):
        y = TOP + ROW * row
        parts.append(f'<text x="8" y="{y + 12}">{escape(_short(name))}</text>')
        for member in incarnations:
            parts += _bars(member, y, end, most)
    parts += _axis(end, TOP + ROW * len(shown), len(names) - len(shown))
    parts += _marks(answer, end, TOP + ROW * len(shown))
    return "\n".join((*parts, "</svg>", ""))


def _title(answer: dict[str, Any]) -> str:
    totals = answer["totals"]
    return (
        f"{answer['group_protocol']} {answer['assignor']}: {totals['rebalances']} rebalances, partitions idle for "
        f"{totals['idle_partition_ms'] / 1000:g} s in all, one for {totals['longest_idle_ms'] / 1000:g} s at most"
    )


def _bars(member: dict[str, Any], y: int, end: int, most: int) -> list[str]:
    """A member's bars: from each change of what it reads to the next, red where it runs and reads nothing."""
    stop = end if member["ended_ms"] is None else min(member["ended_ms"], end)
    times, counts = member["reads"]["at_ms"], member["reads"]["partitions"]
    if not times or times[0] > member["started_ms"]:
        times, counts = [member["started_ms"], *times], [0, *counts]
    bars = []
    ends = [min(time, stop) for time in (*times[1:], stop)]
    for start, until, count in zip(times, ends, counts, strict=True):
        if until > start:
            text = f"{printable(member['member_id'])}: {count} partitions from {start / 1000:g} s to {until / 1000:g} s"
            x, width = LEFT + WIDTH * start / end, max(WIDTH * (until - start) / end, 0.5)
            fill = _blue(count / most) if count else RED
            bars.append(
                f'<rect x="{x:.2f}" y="{y}" width="{width:.2f}" height="{ROW - 3}" fill="{fill}">'
                f"<title>{escape(text)}</title></rect>"
            )
    return bars


def _blue(share: float) -> str:
    return "#" + "".join(f"{round(pale + (deep - pale) * share):02x}" for pale, deep in zip(PALE, DEEP, strict=True))


def _axis(end: int, y: int, left_out: int) -> list[str]:
    parts = [f'<line x1="{LEFT}" y1="{y + 4}" x2="{LEFT + WIDTH}" y2="{y + 4}" stroke="#444"/>']
    step = _step(end)
    for at_ms in range(0, end + 1, step):
        x = LEFT + WIDTH * at_ms / end
        parts.append(f'<text x="{x:.1f}" y="{y + 20}" text-anchor="middle">{at_ms / 1000:g} s</text>')
    if left_out:
        parts.append(f'<text x="8" y="{y + 20}">… and {left_out} more</text>')
    return parts


def _step(end: int) -> int:
    """Milliseconds between two labels: one, two or five of a power of ten."""
    power = 1
    while end > 10 * power * MOST_TICKS:
        power *= 10
    return next(step * power for step in (1, 2, 5, 10) if end <= step * power * MOST_TICKS)


def _marks(answer: dict[str, Any], end: int, bottom: int) -> list[str]:
    """A line where each rebalance began."""
    marks = []
    for rebalance in answer.get("rebalances", ()):
        x = LEFT + WIDTH * rebalance["at_ms"] / end
        text = escape(printable(f"{rebalance['at_ms'] / 1000:g} s: {rebalance['reason']}"))
        marks.append(
            f'<line x1="{x:.2f}" y1="{TOP - 8}" x2="{x:.2f}" y2="{bottom + 4}" stroke="#222" stroke-width="0.8" '
            f'stroke-dasharray="2 2"><title>{text}</title></line>'
        )
    return marks


def _short(name: str) -> str:
    name = printable(name)
    return name if len(name) <= 28 else name[:27] + "…"


def page(svg: str, *tables: tuple[tuple[str, ...], Rows]) -> str:
    """An HTML page with a picture, and tables of heads and rows."""
    parts = [
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Rebalances</title>',
        "<style>body{font:14px sans-serif;margin:24px}td,th{padding:2px 12px 2px 0;text-align:left;vertical-align:top}",
        "table{margin-top:16px}td:not(:last-child){white-space:nowrap}</style>",
        svg,
    ]
    for heads, rows in tables:
        cells = "".join(f"<th>{escape(head)}</th>" for head in heads)
        lines = "".join("<tr>" + "".join(f"<td>{escape(printable(cell))}</td>" for cell in row) + "</tr>" for row in rows)
        parts.append(f"<table><tr>{cells}</tr>{lines}</table>")
    return "\n".join(parts)
