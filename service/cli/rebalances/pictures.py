"""A timeline as a picture: a lane for each way to run the group, a row for each member, time from left to right.

A lane is blue as high as the share of the partitions that have a reader, and red above. A row is blue where the member reads, the
darker the more, and red where it runs and reads nothing.
"""

from __future__ import annotations

from html import escape
from itertools import pairwise
from textwrap import wrap
from typing import TYPE_CHECKING, Final

from service.cli.terminal import Cells, assignment_rows, short_names
from service.core.printable import counted, printable
from service.decisions.rebalances.conclusions import seconds
from service.report.figures import markup, tick_step, variables

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from service.core.documents import Json

COLUMNS: Final = ("at", "stable", "epoch", "members", "moved", "revoked", "idle", "cause")
TOTALS: Final = ("group", "rebalances", "idle", "longest", "moved", "revoked")

SENTENCE: Final = "sentence of the broker's log"


def way(one: Json) -> str:
    """How a group is run: ``classic range static``; of an assignor that is cooperative by itself, whether it is eager."""
    static = one.get("static")
    eager = one["assignor"] == "balanced" and one.get("rebalance_protocol") == "eager"
    options = [*(["eager"] if eager else []), *([] if static is None else ["static" if static else "dynamic"])]
    return " ".join((one["group_protocol"], one["assignor"], *options))


def rebalance_rows(answer: Json, body: Json) -> list[Cells]:
    """The cells of the table of rebalances."""
    events = body.get("events") or []
    names = short_names({str(event["member_id"]): "" for event in events if "member_id" in event})
    return [
        (
            seconds(one["at_ms"]),
            "—" if one["stable_at_ms"] is None else seconds(one["stable_at_ms"] - one["at_ms"]),
            str(one.get("generation_id", one.get("group_epoch"))),
            str(one["members_count"]),
            str(one.get("movement", {}).get("moved", 0)),
            str(one.get("revoked", 0)),
            seconds(one["idle"]["partition_ms"]),
            "forms" if one["event"] is None else cause(events[one["event"]], names),
        )
        for one in answer["rebalances"]
    ]


def scaled_rows(answer: Json, body: Json) -> list[Cells]:
    """Who has what after the last rebalance, and what moved since the first that an event caused; empty without ``scales``."""
    caused = [one for one in answer["rebalances"] if one["event"] is not None and "assignments_before" in one]
    if not caused or all(event.get("type") != "scales" for event in body.get("events") or ()):
        return []
    return assignment_rows(caused[-1]["assignments"], caused[0]["assignments_before"])


def explained(rows: Sequence[Cells], answer: Json) -> list[Cells]:
    """The rows with the sentence of the broker's log."""
    return [(*row, one["reason"]) for row, one in zip(rows, answer["rebalances"], strict=True)]


def cause(event: Json, names: Mapping[str, str]) -> str:
    """An event in a few words."""
    member = names.get(str(event.get("member_id")), "")
    topic = event.get("topic_name") or (event.get("topic") or {}).get("topic_name")
    joining = event.get("member") or {}
    changed = event.get("group_protocol") or (event.get("assignors") or [""])[0]
    texts = {
        "member_joins": f"{joining.get('member_id') or joining.get('member_name') or 'a member'} joins",
        "member_leaves": f"{member} leaves",
        "member_crashes": f"{member} crashes",
        "member_stalls": f"{member} stalls",
        "member_restarts": f"{member} restarts",
        "rolling_restart": "rolling restart",
        "subscription_changes": f"{member} resubscribes",
        "topic_created": f"{topic} created",
        "topic_deleted": f"{topic} deleted",
        "partitions_added": f"{topic} grows to {event.get('partitions_count')}",
        "scales": f"scales to {event.get('members_count')}",
        "assignor_changes": f"change to {changed}",
    }
    return texts[event["type"]]


def total_rows(answer: Json) -> list[Cells]:
    """The cells of the table of totals: of the group, and of each way that is compared."""
    return [
        (
            way(one),
            f"{one['totals']['rebalances']:,}",
            seconds(one["totals"]["idle_partition_ms"]),
            seconds(one["totals"]["longest_idle_ms"]),
            f"{one['totals']['moved']:,}",
            f"{one['totals']['revoked']:,}",
        )
        for one in (answer, *answer.get("comparisons", ()))
    ]


def timings(answer: Json) -> str:
    """The timings that the figures are true for."""
    timing = answer["timing"]
    beats = dict.fromkeys(seconds(way["timing"]["heartbeat_interval_ms"]) for way in (answer, *answer.get("comparisons", ())))
    polls = timing["poll_interval_ms"]
    notice = f"poll every {seconds(polls)}" if polls else "notice a rebalance at once, as if they polled all the time"
    waits = {
        "session timeout": "session_timeout_ms",
        "max.poll.interval": "rebalance_timeout_ms",
        "initial delay": "initial_rebalance_delay_ms",
    }
    others = ", ".join(f"{name} {seconds(timing[field])}" for name, field in waits.items())
    return f"Timings: members heartbeat every {' or '.join(beats)} and {notice}; {others}."


Rows = list[tuple[str, ...]]

MOST_MEMBERS: Final = 200
"""Rows of a picture."""
WIDTH, LEFT, ROW, LANE, LINE, RIGHT = 1_000, 230, 18, 34, 20, 40
LINE_LENGTH: Final = 135
"""Characters of the conclusion in a line."""
MOST_TICKS: Final = 10
SEAM: Final = 0.3
"""Bars overlap by this, or the page would show through between them."""
LEGEND: Final = "blue: partitions with a reader, members that read · red: the others · dotted: a rebalance begins"
STYLE: Final = (
    variables("svg", ("card", "ink", "soft", "grid", "accent", "bad"))
    + """
.paper{fill:var(--card)}text{fill:var(--ink)}.title{font-size:17px;font-weight:600}.soft{fill:var(--soft)}
.reads{fill:var(--accent)}.idle{fill:var(--bad)}.axis{stroke:var(--grid)}
.mark{stroke:var(--soft);stroke-dasharray:2 2;stroke-width:.8}
"""
)


def picture(answer: Json, compared: Sequence[Json] = (), *, titled: bool = True) -> str:
    """The picture of an answer, and of the ways that are compared with it, as SVG. A share group's answer lists no members.

    titled : with the conclusion above
    """
    ways = [one for one in (answer, *compared) if one.get("members")]
    rows: dict[str, list[Json]] = {}  # the members, each with all that it was: by the id that it had first
    for member in answer.get("members", ()):
        rows.setdefault(member["first_member_id"], []).append(member)
    shown = list(rows.items())[:MOST_MEMBERS]
    end = max([1, *(one["totals"]["end_ms"] for one in ways)])
    title = printable(answer["conclusion"])
    lines = wrap(title, LINE_LENGTH) if titled else []
    legend = 26 + LINE * len(lines)
    below = legend + 18 + (LANE + 8) * len(ways) + 10
    bottom = below + ROW * len(shown)
    box = f'viewBox="0 0 {LEFT + WIDTH + RIGHT} {bottom + 40}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {box} font-family="sans-serif" font-size="13" role="img">',
        f'<title>{escape(title)}</title><style>{STYLE}</style><rect class="paper" width="100%" height="100%"/>',
        *(f'<text class="title" x="8" y="{24 + LINE * i}">{escape(line)}</text>' for i, line in enumerate(lines)),
        f'<text class="soft" x="8" y="{legend}">{LEGEND}</text>',
    ]
    for i, one in enumerate(ways):
        top = legend + 18 + (LANE + 8) * i
        parts += _lane(one, top, end)
        parts += _marks(one, end, top - 3, top + LANE + 3)
    most = max((count for _, each in shown for member in each for count in member["reads"]["partitions"]), default=1)
    names = short_names(rows)
    for i, (name, incarnations) in enumerate(shown):
        y = below + ROW * i
        parts.append(f'<text x="8" y="{y + 12}">{escape(_cut(names[name]))}</text>')
        for member in incarnations:
            parts += _bars(member, y, end, most)
    parts += _axis(end, bottom, len(rows) - len(shown))
    parts += _marks(answer, end, below - 4, bottom + 4)
    return "\n".join((*parts, "</svg>", ""))


def _lane(one: Json, top: int, end: int) -> Iterator[str]:
    """How many partitions have a reader, over time."""
    changes: dict[int, int] = {0: 0}
    for member in one["members"]:
        last = 0
        for at_ms, count in zip(member["reads"]["at_ms"], member["reads"]["partitions"], strict=True):
            changes[at_ms] = changes.get(at_ms, 0) + count - last
            last = count
        if member["ended_ms"] is not None and last:
            changes[member["ended_ms"]] = changes.get(member["ended_ms"], 0) - last
    times, read, steps = sorted(changes), 0, []
    for at_ms in times:
        read += changes[at_ms]
        steps.append((min(at_ms, end), read))
    most = max(1, *(count for _, count in steps)) if steps else 1
    totals = one["totals"]
    yield f'<text x="8" y="{top + 14}">{escape(_cut(way(one)))}</text>'
    figures = f"{counted(totals['rebalances'], 'rebalance')}, idle {seconds(totals['idle_partition_ms'])}"
    yield f'<text class="soft" x="8" y="{top + 30}">{figures}</text>'
    for (start, count), (until, _) in pairwise((*steps, (end, 0))):
        if until <= start:
            continue
        x, width, height = LEFT + WIDTH * start / end, max(WIDTH * (until - start) / end, 0.5), LANE * count / most
        text = f"{count:,} of {counted(most, 'partition')} with a reader from {seconds(start)} to {seconds(until)}"
        if count < most:
            yield _bar("idle", x, top, width, LANE - height, text)
        if count:
            yield _bar("reads", x, top + LANE - height, width, height, text)


def _bars(member: Json, y: int, end: int, most: int) -> Iterator[str]:
    """A member's bars: from each change of what it reads to the next, red where it runs and reads nothing."""
    stop = end if member["ended_ms"] is None else min(member["ended_ms"], end)
    times, counts = member["reads"]["at_ms"], member["reads"]["partitions"]
    if not times or times[0] > member["started_ms"]:
        times, counts = [member["started_ms"], *times], [0, *counts]
    ends = [min(time, stop) for time in (*times[1:], stop)]
    for start, until, count in zip(times, ends, counts, strict=True):
        if until > start:
            text = f"{printable(member['member_id'])}: {counted(count, 'partition')} from {seconds(start)} to {seconds(until)}"
            x, width = LEFT + WIDTH * start / end, max(WIDTH * (until - start) / end, 0.5)
            opacity = f' opacity="{0.3 + 0.7 * count / most:.2f}"' if count else ""
            yield _bar("reads" if count else "idle", x, y, width, ROW - 3, text, opacity)


def _bar(kind: str, x: float, y: float, width: float, height: float, text: str, more: str = "") -> str:
    return (
        f'<rect class="{kind}" x="{x:.2f}" y="{y:.2f}" width="{width + SEAM:.2f}" height="{height:.2f}"{more}>'
        f"<title>{escape(text)}</title></rect>"
    )


def _axis(end: int, y: int, left_out: int) -> Iterator[str]:
    yield f'<line class="axis" x1="{LEFT}" y1="{y + 4}" x2="{LEFT + WIDTH}" y2="{y + 4}"/>'
    for at_ms in range(0, end + 1, int(tick_step(end, MOST_TICKS, whole=True))):
        x = LEFT + WIDTH * at_ms / end
        yield f'<text class="soft" x="{x:.1f}" y="{y + 22}" text-anchor="middle">{seconds(at_ms)}</text>'
    if left_out:
        yield f'<text x="8" y="{y + 22}">… and {left_out:,} more</text>'


def _marks(answer: Json, end: int, top: int, bottom: int) -> Iterator[str]:
    """A line where each rebalance began."""
    for rebalance in answer.get("rebalances", ()):
        x = LEFT + WIDTH * rebalance["at_ms"] / end
        text = markup(f"{seconds(rebalance['at_ms'])}: {rebalance['reason']}")
        yield f'<line class="mark" x1="{x:.2f}" y1="{top}" x2="{x:.2f}" y2="{bottom}"><title>{text}</title></line>'


def _cut(name: str) -> str:
    name = printable(name)
    return name if len(name) <= 34 else name[:33] + "…"


PAGE_STYLE: Final = (
    variables(":root", ("ink", "soft", "grid", "page"))
    + """
:root{color-scheme:light dark}
body{margin:0 auto;max-width:80rem;padding:1.5rem;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
h1{font-size:1.4rem;margin:0 0 .5rem}p{max-width:50rem}.soft{color:var(--soft)}.wide{overflow-x:auto;margin:1rem 0}
.wide svg{display:block;width:100%;min-width:52rem;height:auto}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}td,th{padding:.2rem 1rem .2rem 0;text-align:left;
vertical-align:top;border-bottom:1px solid var(--grid)}td:not(:last-child){white-space:nowrap}td:nth-child(9){min-width:20rem}
@media (max-width:40rem){body{padding:.8rem}}
"""
)


def page(svg: str, sentences: Sequence[str], *tables: tuple[tuple[str, ...], Rows]) -> str:
    """An HTML page with sentences, a picture, and tables of heads and rows."""
    parts = [
        '<!doctype html><html lang="en"><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1"><title>Rebalances</title>',
        f"<style>{PAGE_STYLE}</style><h1>Rebalances of a group</h1>",
        *(f"<p>{markup(sentence)}</p>" for sentence in sentences),
        f'<div class="wide">{svg}</div>',
    ]
    for heads, rows in tables:
        cells = "".join(f"<th>{escape(head)}</th>" for head in heads)
        lines = "".join("<tr>" + "".join(f"<td>{markup(cell)}</td>" for cell in row) + "</tr>" for row in rows)
        parts.append(f'<div class="wide"><table><tr>{cells}</tr>{lines}</table></div>')
    return "\n".join((*parts, "</html>", ""))
