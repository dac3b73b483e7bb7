"""Answers as a notebook shows them: the facts in a line, a table of at most ROWS rows, and pictures. All text is escaped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from service.cli.member_counts import picture as curve_of_members
from service.cli.rebalances.pictures import picture
from service.report.figures import bars, id_ranges, markup, number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

ROWS: Final = 20
LONGEST_CELL: Final = 120
NUMERIC: Final = "padding:2px 10px;text-align:right"
PLAIN: Final = "padding:2px 10px;text-align:left"
CANDIDATE: Final = (
    "partitioners",
    "partitions_count",
    "pairs_explained",
    "pairs",
    "chance_probability",
    "ruled_out",
    "more_samples",
)
MEMBERS_PLAN: Final = (
    *("members_count", "worst_load", "most_partitions", "idle_members", "drain_seconds", "moved", "idle_partition_ms"),
    "gains",
)
TRACE: Final = ("partition_id", "partitions_count", "leader", "replicas", "readers")
REBALANCE: Final = ("at_ms", "stable_at_ms", "members_count", "revoked", "reason")

Rows = list[dict[str, Any]]


def html(answer: dict[str, Any], path: str) -> str:
    """The answer of an endpoint, as a fragment of HTML."""
    rows = ROWS_OF.get(path, _first_rows)(answer)
    pictures = "".join(f"<div>{svg}</div>" for svg in PICTURES_OF.get(path, _no_pictures)(answer))
    concluded = (one.get("conclusion") for one in (answer, *(answer.get("limits") or ())) if isinstance(one, dict))
    said = [sentence for sentence in concluded if sentence] + answer.get("warnings", [])
    sentences = "".join(f"<p>{markup(sentence)}</p>" for sentence in said)
    return f'<div style="overflow-x:auto">{sentences}<p>{_facts(answer)}</p>{_table(rows)}{pictures}</div>'


def _facts(answer: dict[str, Any]) -> str:
    """The fields that are no tables: single values, and objects of single values."""
    facts = []
    for name, value in answer.items():
        if name == "conclusion":
            continue
        if isinstance(value, dict):
            inner = [f"{key} {_cell(one)}" for key, one in value.items() if _is_single(one) and one is not None]
            text = ", ".join(inner) if 1 < len(inner) <= 12 else ""
        else:
            text = _cell(value) if _is_single(value) and value is not None else ""
        if text:
            facts.append(f"{markup(name)}: <b>{markup(text)}</b>")
    return "<br>".join(facts)


def _table(rows: Rows) -> str:
    """The first ROWS rows, and how many more there are."""
    shown = rows[:ROWS]
    columns = list(dict.fromkeys(name for row in shown for name in row))
    if not columns:
        return ""
    style = {
        name: NUMERIC if all(type(row.get(name)) in (int, float, type(None)) for row in shown) else PLAIN for name in columns
    }
    heads = "".join(f'<th style="{style[name]}">{markup(name)}</th>' for name in columns)
    lines = [
        "<tr>" + "".join(f'<td style="{style[name]}">{markup(_cell(row.get(name, "")))}</td>' for name in columns) + "</tr>"
        for row in shown
    ]
    if len(rows) > ROWS:
        lines.append(f'<tr><td colspan="{len(columns)}" style="{PLAIN}">… and {len(rows) - ROWS:,} more</td></tr>')
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def _cell(value: Any) -> str:
    if value is None:
        return "—"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return number(value) if isinstance(value, float) else str(value)
    text = ", ".join(map(_cell, value[:LONGEST_CELL])) if isinstance(value, list) else str(value)
    return text if len(text) <= LONGEST_CELL else text[: LONGEST_CELL - 1] + "…"


def _is_single(value: Any) -> bool:
    return not isinstance(value, dict | list)


def _rows(elements: Rows) -> Rows:
    """The fields of each element that fit in a cell."""
    return [
        {name: value for name, value in element.items() if _is_single(value) or (isinstance(value, list) and not _nested(value))}
        for element in elements
    ]


def _nested(values: list[Any]) -> bool:
    return any(not _is_single(value) for value in values)


def _columns(elements: Sequence[dict[str, Any]], *names: str) -> Rows:
    """These fields of each element, absent ones as null."""
    return [{name: element.get(name) for name in names} for element in elements]


def _first_rows(answer: dict[str, Any]) -> Rows:
    """The first field that is a list of objects."""
    return next(
        (_rows(value) for value in answer.values() if isinstance(value, list) and value and isinstance(value[0], dict)), []
    )


def _assignments(answer: dict[str, Any]) -> Rows:
    """A row for each member; then those partitions that no member has."""
    rows = [
        {
            "member_id": assignment["member_id"],
            "partitions": sum(len(topic["partition_ids"]) for topic in assignment["partitions"]),
            "partition_ids": _topics(assignment["partitions"]),
        }
        for assignment in answer["assignments"]
    ]
    unassigned = answer["unassigned"]
    if unassigned:
        count = sum(len(topic["partition_ids"]) for topic in unassigned)
        rows.insert(0, {"member_id": "(unassigned)", "partitions": count, "partition_ids": _topics(unassigned)})
    return rows


def _topics(topics: Rows) -> str:
    return "; ".join(f"{topic['topic_name']} {id_ranges(topic['partition_ids'])}" for topic in topics[:ROWS])


def _placements(answer: dict[str, Any]) -> Rows:
    results = [topic for operation in answer.get("results", ()) for topic in operation] or answer.get("topics") or [answer]
    rows: Rows = []
    for topic in results:
        name = {"topic_name": topic["topic_name"]} if topic.get("topic_name") else {}
        rows += [name | placement for placement in topic.get("placements", ())]
        rows += [name | {"error": topic["error"], "message": topic["message"]}] if "error" in topic else []
    return rows


def _plans(answer: dict[str, Any]) -> Rows:
    """A row for each partitioner and count: skew of keys and records, what moves, and whether the limits are kept."""
    rows = []
    for plan in answer.get("plans", ()):
        row = {"partitioner": plan["partitioner"], "partitions_count": plan["partitions_count"]}
        row |= {f"{what}_skew": plan[what]["skew"] for what in ("keys", "records", "bytes") if plan.get(what)}
        row |= {f"{what}_moved": share for what, share in (plan.get("moved") or {}).items() if share is not None}
        rows.append(row | {f"meets_{limit}": kept for limit, kept in (plan.get("meets") or {}).items()})
    return rows


def _skews(answer: dict[str, Any]) -> Rows:
    return [{"measure": name, **values} for name, values in answer["skew"].items() if isinstance(values, dict)]


def _no_pictures(_: dict[str, Any]) -> Iterator[str]:
    return iter(())


def _member_bars(answer: dict[str, Any]) -> Iterator[str]:
    load = answer["member_load"]
    if load.get("counts"):
        yield bars("partitions per member", [one["member_id"] for one in answer["assignments"]], load["counts"])


def _broker_bars(answer: dict[str, Any], when: str = "", most: float | None = None) -> Iterator[str]:
    load = answer.get("broker_load") or {}
    counts = load.get("replicas", {}).get("counts")
    if counts:
        yield bars(f"replicas per broker{when}", [f"broker {i}" for i in load["broker_ids"]], counts, most)


def _moved_bars(answer: dict[str, Any]) -> Iterator[str]:
    loads = [answer[when]["broker_load"]["replicas"]["counts"] for when in ("before", "after")]
    most = max((count for load in loads for count in load), default=None)
    for when in ("before", "after"):
        yield from _broker_bars(answer[when], f", {when}", most)


def _skew_bars(answer: dict[str, Any]) -> Iterator[str]:
    rows = [row for row in _plans(answer) if row.get("records_skew") is not None]
    if rows:
        labels = [f"{row['partitioner']}, {row['partitions_count']}" for row in rows]
        yield bars("skew of the records (maximum ÷ mean)", labels, [row["records_skew"] for row in rows], mean=False)


def _agreement_bars(answer: dict[str, Any]) -> Iterator[str]:
    pairs = [pair for pair in answer["pairs"] if pair["agreement"] is not None]
    if pairs:
        labels = [" and ".join(pair["partitioners"]) for pair in pairs]
        yield bars("share of the keys on which both agree", labels, [pair["agreement"] for pair in pairs], 1.0, mean=False)


def _share_bars(answer: dict[str, Any]) -> Iterator[str]:
    if answer["shares"]:
        yield bars("share of the records by partition", range(len(answer["shares"])), answer["shares"])


def _timeline(answer: dict[str, Any]) -> Iterator[str]:
    if answer.get("members"):
        yield picture(answer)


ROWS_OF: Final[dict[str, Callable[[dict[str, Any]], Rows]]] = {
    "/v1/group-assignments": _assignments,
    "/v1/key-traces": lambda answer: _columns(list(filter(None, (answer["now"], answer["planned"]))), *TRACE),
    "/v1/replica-placements": _placements,
    "/v1/partition-count-plans": _plans,
    "/v1/placement-audits": _skews,
    "/v1/partitioner-comparisons": lambda answer: _rows(answer["pairs"]),
    "/v1/partitioner-fingerprints": lambda answer: _columns(answer["candidates"], *CANDIDATE),
    "/v1/reassignments": lambda answer: _rows(answer["reasons"]),
    "/v1/log-dir-plans": lambda answer: _rows(answer["reasons"]),
    "/v1/member-count-plans": lambda answer: _columns(answer["plans"], *MEMBERS_PLAN),
    "/v1/group-rebalances": lambda answer: _columns(answer.get("rebalances", ()), *REBALANCE) or _first_rows(answer),
}
"""The rows of an answer; of other endpoints the first list of objects."""

PICTURES_OF: Final[dict[str, Callable[[dict[str, Any]], Iterator[str]]]] = {
    "/v1/group-assignments": _member_bars,
    "/v1/replica-placements": _broker_bars,
    "/v1/placement-audits": _broker_bars,
    "/v1/reassignments": _moved_bars,
    "/v1/partition-count-plans": _skew_bars,
    "/v1/partitioner-comparisons": _agreement_bars,
    "/v1/keyless-distributions": _share_bars,
    "/v1/member-count-plans": lambda answer: iter([curve_of_members(answer)]),
    "/v1/group-rebalances": _timeline,
}
