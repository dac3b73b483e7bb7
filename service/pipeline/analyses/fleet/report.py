"""The report of ``fleet``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from service.core.printable import counted
from service.pipeline.analyses.fleet.conclusions import full_name, short_name, tried_by
from service.report.figures import number
from service.report.folders import REJECTED_ROWS
from service.report.pages import COLORS, Figure, FigureRow, Plot, Section, Table, chart

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes


Curves: TypeAlias = "Mapping[str, Sequence[float]]"
CURVES: Final = 20
"""Fewer groups than this have no curve of their skew: it would be a staircase of a few steps, and the table names each."""


def group_sections(summary: dict[str, Any], quantiles: Sequence[float], curves: Curves) -> list[Section]:
    """The sections about groups. curves : by assignor, the groups' skew at each of ``quantiles``"""
    sections = [Section("Groups", (_group_figures(summary),))]
    for comparison in summary["comparisons"]:
        sections += _comparison_sections(comparison, tried_by(summary, comparison), quantiles, curves)
    if summary["most_skewed"]:
        text = (
            "Assigned by their own assignor. Best: the lowest skew of all assignors that were tried; where it is as high, the "
            "group has fewer partitions than members, or subscriptions that leave no choice."
        )
        sections.append(Section("Most uneven groups", (_most_uneven(summary["most_skewed"]),), text))
    if "sizing" in summary:
        sections.append(_sizing(summary["sizing"]))
    if summary["failures"]:
        sections.append(_failures(summary["failures"], "group_id", "assignor", "Groups that Kafka's own assignor cannot assign"))
    return sections


def _group_figures(summary: dict[str, Any]) -> FigureRow:
    failed = sum(row["failed"] for row in summary["assignors"])
    return FigureRow(
        (
            Figure("groups", number(summary["groups"])),
            Figure("members", number(summary["members"])),
            Figure("partitions", number(summary["partitions"])),
            Figure(
                "failed assignments", number(failed), "they fail in Kafka, too" if failed else "", "bad" if failed else "good"
            ),
            Figure("rejected rows", number(summary["wrong_rows"]), f"in {REJECTED_ROWS}", "bad" if summary["wrong_rows"] else ""),
        )
    )


def _sizing(sizing: dict[str, Any]) -> Section:
    """How many members groups have, and how many they need."""
    figures = FigureRow(
        (
            Figure("members now", number(sizing["members"]), f"of {counted(sizing['groups'], 'group')}"),
            Figure("needed", number(sizing["recommended_members"])),
            Figure("groups with more than they need", number(sizing["too_large"])),
            Figure("with fewer", number(sizing["too_small"]), tone="bad" if sizing["too_small"] else "good"),
        )
    )
    rows = [
        (
            row["group_id"] or "—",
            row["assignor"],
            *(number(row[name]) for name in ("partitions", "members", "recommended_members")),
        )
        for row in (*sizing["most_short"], *sizing["most_spare"])
    ]
    heads = ("group", "assignor", "partitions", "members", "needed")
    text = (
        "The fewest members that process the lag in time; without a member rate, so that no member has more partitions than now."
    )
    return Section("Members that groups need", (figures, *((Table(heads, rows),) if rows else ())), text)


def _comparison_sections(
    comparison: dict[str, Any], tried: Sequence[dict[str, Any]], quantiles: Sequence[float], curves: Curves
) -> list[Section]:
    """How even the assignors are on the same groups, and what each would move."""
    protocol = comparison["group_protocol"]
    what = counted(comparison["groups"], f"{protocol} group" if protocol else "group")
    blocks: list[FigureRow | Table | Plot] = [_over_twice(comparison, tried), _evenness(tried)]
    shown = {short_name(row, tried): curves[full_name(row)] for row in tried if full_name(row) in curves}
    if shown and comparison["groups"] >= CURVES:
        caption = f"Share of the {what} up to each skew: busiest member ÷ mean"
        blocks.append(chart(lambda axes: _curves(axes, quantiles, shown), caption))
    text = (
        "Groups in which a member has over twice the mean, by assignor, and the skews (busiest member ÷ mean). Where an "
        "assignor leaves partitions to a second rebalance, the skew is that after it."
    )
    sections = [Section(f"Evenness of {what}", tuple(blocks), text)]
    if any(row["retained"] or row["revoked"] for row in tried):
        moves = chart(lambda axes: _moves(axes, tried), height=1.1 + 0.42 * len(tried))
        text = (
            "Revoked: partitions that a member has to give up. Needed: the fewest moves that give the same evenness, if known. "
            "Added: partitions that had no owner."
        )
        sections.append(Section(f"Moves of {what}", (_movement(tried), moves), text))
    return sections


def _over_twice(comparison: dict[str, Any], tried: Sequence[dict[str, Any]]) -> FigureRow:
    """For each assignor, and as it is now, the groups with a member over twice the mean; the fewest are good, the most bad."""
    counts = [row["over_twice"] for row in tried]
    remark = f"of {number(comparison['groups'])}"
    figures = [Figure("each group's own", number(comparison["own_over_twice"]), remark)]
    for row in tried:
        tone = "" if min(counts) == max(counts) else {min(counts): "good", max(counts): "bad"}.get(row["over_twice"], "")
        figures.append(Figure(short_name(row, tried), number(row["over_twice"]), remark, tone))
    return FigureRow(tuple(figures))


def _evenness(tried: Sequence[dict[str, Any]]) -> Table:
    rows = [
        (short_name(row, tried), *(_skew(row["skew"][at]) for at in ("mean", "median", "p90", "max")), number(row["failed"]))
        for row in tried
    ]
    return _without_zeros(("assignor", "mean skew", "median", "90%", "max", "failed"), rows)


def _movement(tried: Sequence[dict[str, Any]]) -> Table:
    names = ("retained", "revoked", "fewest_possible_moves", "added", "follow_up_rebalances")
    rows = [(short_name(row, tried), *(number(row[measure]) for measure in names)) for row in tried]
    return _without_zeros(("assignor", "retained", "revoked", "needed", "added", "second rebalances"), rows)


def _without_zeros(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Table:
    """The table without columns of which every cell is 0: there would be no room for all."""
    kept = [i for i in range(len(columns)) if i == 0 or any(row[i] != "0" for row in rows)]
    return Table(tuple(columns[i] for i in kept), [tuple(row[i] for i in kept) for row in rows])


def _most_uneven(groups: Sequence[dict[str, Any]]) -> Table:
    rows = [
        (
            str(row["group_id"] or "—"),
            _skew(row["skew"]),
            _skew(row["best_skew"]),
            row["assignor"],
            number(row["partitions"]),
            number(row["members"]),
        )
        for row in groups
    ]
    return Table(("group", "skew", "best", "assignor", "partitions", "members"), rows)


def topic_sections(summary: dict[str, Any]) -> list[Section]:
    """The sections about topics."""
    audit, now, then = summary["audit"], summary["current_broker_load"], summary["broker_load"]
    broken = _broken_rules(audit) if audit["audited"] else ()
    sections = [Section("Topics", (_topic_figures(summary), *broken))]
    if then["broker_ids"]:
        sections.append(
            Section(
                "Leaders by broker",
                (chart(lambda axes: _brokers(axes, now, then)),),
                f"Of all topics. Skew now {_skew(now['leaders']['skew'])}, if placed again {_skew(then['leaders']['skew'])}.",
            )
        )
    if summary["disobeying"]:
        table = _disobeying(summary["disobeying"])
        sections.append(Section("Topics that break Kafka's placement rules", (table,), "Those with most replicas to copy."))
    if summary["failures"]:
        sections.append(_failures(summary["failures"], "topic_name", "placer", "Topics that Kafka's placer cannot place"))
    return sections


def _topic_figures(summary: dict[str, Any]) -> FigureRow:
    audit = summary["audit"]
    figures = [Figure("topics", number(summary["topics"])), Figure("partitions", number(summary["partitions"]))]
    if audit["audited"]:
        tone = "good" if audit["obey"] == audit["audited"] else "bad"
        figures += [
            Figure("follow Kafka's rules", number(audit["obey"]), f"of {number(audit['audited'])} audited", tone),
            Figure("replicas to copy", number(audit["copies"]), "at least", "bad" if audit["copies"] else "good"),
            Figure(
                "leaders to change", number(audit["leader_changes"]), "at least", "bad" if audit["leader_changes"] else "good"
            ),
        ]
    if summary["failed"]:
        figures.append(Figure("topics not placed", number(summary["failed"]), "Kafka's placer fails, too", "bad"))
    return FigureRow(tuple(figures))


def _broken_rules(audit: dict[str, Any]) -> tuple[Table, ...]:
    """The rules that are broken; no table if none is."""
    names = (
        ("doubled", "partitions with two replicas on one broker"),
        ("unknown_brokers", "partitions with a replica on an unknown broker"),
        ("wrong_factor", "partitions whose replica count is not the topic's replication factor"),
        ("crowded_racks", "partitions on fewer racks than possible"),
        ("unled", "partitions without an unfenced leader"),
        ("uneven_leaders", "topics with a broker that leads more partitions than with Kafka's placer"),
    )
    rows = [(text, number(audit[name])) for name, text in names if audit[name]]
    return (Table(("broken rule", "count"), rows),) if rows else ()


def _disobeying(topics: Sequence[dict[str, Any]]) -> Table:
    faults = ("doubled", "unknown_brokers", "wrong_factor", "crowded_racks", "unled")
    rows = [
        (
            str(row["topic_name"] or "—"),
            number(row["partitions"]),
            *(number(len(row[name] or ())) for name in faults),
            number(row["copies"]),
            number(row["leader_changes"]),
        )
        for row in topics
    ]
    heads = ("doubled", "unknown broker", "wrong factor", "crowded racks", "unled")
    return _without_zeros(("topic", "partitions", *heads, "copies", "preferred leader changes"), rows)


def _failures(failures: Sequence[dict[str, Any]], subject: str, strategy: str, heading: str) -> Section:
    rows = [(str(row[subject] or "—"), row[strategy], row["error"], _short(row["detail"])) for row in failures]
    return Section(heading, (Table((subject.partition("_")[0], strategy, "error", "detail"), rows),))


def _short(text: str, length: int = 160) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def _skew(value: float | None) -> str:
    return "—" if value is None else f"{value:.2f}"


def _curves(axes: Axes, quantiles: Sequence[float], curves: Mapping[str, Sequence[float]]) -> None:
    for i, (name, skews) in enumerate(curves.items()):
        axes.step(skews, quantiles, where="post", color=COLORS[i % len(COLORS)], label=name)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda skew, _: f"{skew:g}")
    axes.xaxis.set_minor_formatter(lambda skew, _: f"{skew:g}" if str(skew)[0] in "235" else "")
    axes.set_xlabel("skew")
    axes.set_ylabel("share of groups")
    axes.set_ylim(0, 1.02)
    axes.legend(loc="lower right")


def _moves(axes: Axes, tried: Sequence[dict[str, Any]]) -> None:
    names = [short_name(row, tried) for row in tried]
    left = [0.0] * len(names)
    for column, color in (("retained", COLORS[0]), ("revoked", COLORS[6]), ("added", COLORS[7])):
        counts = [float(row[column] or 0) for row in tried]
        axes.barh(names, counts, left=left, color=color, label=column, height=0.62)
        left = [a + b for a, b in zip(left, counts, strict=True)]
    axes.invert_yaxis()
    axes.set_xlabel("partitions, over all groups")
    axes.grid(axis="y", visible=False)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)


def _brokers(axes: Axes, now: dict[str, Any], then: dict[str, Any]) -> None:
    names = [str(broker) for broker in then["broker_ids"]]
    places = range(len(names))
    current = dict(zip(map(str, now["broker_ids"]), now["leaders"]["counts"], strict=True))
    axes.bar([place - 0.2 for place in places], [current.get(name, 0) for name in names], 0.38, color=COLORS[1], label="now")
    axes.bar([place + 0.2 for place in places], then["leaders"]["counts"], 0.38, color=COLORS[0], label="if placed again")
    if len(names) <= 40:
        axes.set_xticks(list(places), names)
    axes.set_xlabel("broker")
    axes.set_ylabel("partitions led")
    axes.grid(axis="x", visible=False)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
