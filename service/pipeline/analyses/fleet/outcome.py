"""What ``fleet`` finds in each of its two tables, and both together: in words, figures and pictures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from service.core.printable import counted
from service.pipeline.analyses.fleet import summary as fleet_summary
from service.pipeline.analyses.results import Outcome
from service.pipeline.files.rejected import WrongTable
from service.report.figures import number
from service.report.folders import REJECTED_ROWS
from service.report.pages import COLORS, Figure, FigureRow, Plot, Report, Section, Table, chart

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from matplotlib.axes import Axes

ASSIGNMENTS: Final = "assignments.parquet"
PLACEMENTS: Final = "placements.parquet"

BROKERS: Final = ({"broker_id": pa.int32()}, {"rack_id": pa.string(), "fenced": pa.bool_()})
"""The columns of a table of brokers that are required, and those that are not."""

MOST_BROKERS: Final = 100_000

CURVES: Final = 20
"""Fewer groups than this have no curve of their skew: it would be a staircase of a few steps, and the table names each."""

RULES: Final = {
    "doubled": "partitions with two replicas on one broker",
    "unknown_brokers": "partitions with a replica on an unknown broker",
    "wrong_factor": "partitions whose replica count is not the topic's replication factor",
    "crowded_racks": "partitions on fewer racks than possible",
    "unled": "partitions without an unfenced leader",
    "uneven_leaders": "topics with a broker that leads more partitions than with Kafka's placer",
}
"""What breaks Kafka's rules of placement, by its name in the summary."""


@dataclass(frozen=True)
class TableOutcome:
    """What one of the two tables contributes to the outcome."""

    summary: dict[str, Any]
    sections: list[Section]
    headline: dict[str, str]


def of_groups(results: pa.Table) -> TableOutcome:
    """The groups' part. results : the rows of ``assignments.parquet``, ``summary.GROUP_COLUMNS``"""
    summary, curves = fleet_summary.of_groups(results)
    headline = {
        "groups": f"{number(summary['groups'])} with {counted(summary['partitions'], 'partition')}",
        "assignments that fail, as in Kafka": number(sum(row["failed"] for row in summary["assignors"])),
        "rejected rows": number(summary["wrong_rows"]),
    }
    return TableOutcome(summary, _group_sections(summary, curves), headline)


def of_topics(results: pa.Table) -> TableOutcome:
    """The topics' part. results : the rows of ``placements.parquet``, ``summary.TOPIC_COLUMNS``"""
    summary = fleet_summary.of_topics(results)
    audit = summary["audit"]
    headline = {
        "topics": f"{number(summary['topics'])} with {counted(summary['partitions'], 'partition')}",
        "topics that follow Kafka's placement rules": f"{number(audit['obey'])} of {number(audit['audited'])} audited",
        "replicas to copy": number(audit["copies"]),
        "leaders to change": number(audit["leader_changes"]),
    }
    return TableOutcome(summary, _topic_sections(summary), headline)


def fleet(parts: Mapping[str, TableOutcome], tables: Mapping[str, Any], subtitle: str) -> Outcome:
    """The outcome. parts : of "groups" and "topics", or one of them"""
    summaries = {name: part.summary for name, part in parts.items()}
    sections = tuple(section for part in parts.values() for section in part.sections)
    said = conclusion(summaries)
    return Outcome(
        summary={"job": "fleet", "conclusion": said, **summaries},
        tables=tables,
        report=Report("Fleet", subtitle, sections, said),
        headline={name: text for part in parts.values() for name, text in part.headline.items()},
    )


def cluster_of(brokers: pa.Table, name: str) -> list[dict[str, Any]]:
    """The cluster for ``placements.place_topics``. brokers : the columns BROKERS; name : of the table. Raises WrongTable."""
    ids = brokers["broker_id"]
    if not 0 < len(brokers) <= MOST_BROKERS or ids.null_count:
        raise WrongTable(f"{name}: There must be 1 to {MOST_BROKERS:,} brokers, each with a broker_id.")
    if len(ids.unique()) < len(ids):
        raise WrongTable(f"{name}: Duplicate broker_id.")
    return [{"rack_id": None, "fenced": None, **row} for row in brokers.to_pylist()]


# ---- in words ----------------------------------------------------------------------------------------------------------


def conclusion(summaries: Mapping[str, dict[str, Any]]) -> str:
    """The first sentences. summaries : of "groups" and "topics", or one of them"""
    sentences = []
    if groups := summaries.get("groups"):
        compared = [(comparison, _tried_by(groups, comparison)) for comparison in groups["comparisons"]]
        sentences += [_comparison_verdict(*each) for each in compared if any(row["failed"] < row["groups"] for row in each[1])]
        failed = sum(row["failed"] for row in groups["assignors"])
        if failed or not sentences:
            ends = f"{counted(failed, 'assignment')} would fail in Kafka" if failed else "every assignment succeeds"
            sentences.append(f"{counted(groups['groups'], 'group')}: {ends}.")
    if topics := summaries.get("topics"):
        audit = topics["audit"]
        verb = "follows" if audit["obey"] == 1 else "follow"
        obey = f": {number(audit['obey'])} of {counted(audit['audited'], 'placement')} {verb} Kafka's rules"
        refused = f"; Kafka's placer refuses {number(topics['failed'])}" if topics["failed"] else ""
        sentences.append(f"{counted(topics['topics'], 'topic')}{obey if audit['audited'] else ''}{refused}.")
    wrong = sum(summary["wrong_rows"] for summary in summaries.values())
    rejected = [f"{counted(wrong, 'row was', 'rows were')} rejected and {'is' if wrong == 1 else 'are'} not counted."]
    return " ".join(sentences + rejected * (wrong > 0))


def _tried_by(summary: dict[str, Any], comparison: dict[str, Any]) -> list[dict[str, Any]]:
    """The assignors of a comparison, the most even first."""
    rows = [row for row in summary["assignors"] if _full_name(row) in comparison["assignors"]]
    return sorted(rows, key=lambda row: (row["over_twice"], row["skew"]["mean"] or 0, _full_name(row)))


def _comparison_verdict(comparison: dict[str, Any], tried: Sequence[dict[str, Any]]) -> str:
    """Such as ``With range, 9 of 60 groups load a member with over twice the mean; with uniform, 2.``"""
    best, worst = tried[0], tried[-1]
    protocol = comparison["group_protocol"]
    thing = f"{protocol} group" if protocol else "group"
    assigned = [row["groups"] - row["failed"] for row in (worst, best)]
    if not worst["over_twice"]:
        named = f"With {_short_name(worst, tried)}" if len(tried) == 1 else f"With each of the {len(tried)} assignors"
        that = " that it assigns" if any(row["failed"] for row in tried) else ""
        return f"{named}, no member of the {counted(comparison['groups'], thing)}{that} has over twice the mean."
    count = worst["over_twice"]
    verb = "loads" if count == 1 else "load"
    sentence = f"{number(count)} of {counted(assigned[0], thing)} {verb} a member with over twice the mean"
    of = f" of {number(assigned[1])}" if assigned[0] != assigned[1] else ""
    other = f"; with {_short_name(best, tried)}, {number(best['over_twice'])}{of}" if best["over_twice"] < count else ""
    return f"With {_short_name(worst, tried)}, {sentence}{other}."


def _full_name(row: dict[str, Any]) -> str:
    """The assignor with its protocol."""
    return f"{row['group_protocol']}:{row['assignor']}"


def _short_name(row: dict[str, Any], others: Sequence[dict[str, Any]]) -> str:
    """The assignor, with its protocol where it is compared with one of another."""
    alone = len({each["group_protocol"] for each in others}) == 1
    return str(row["assignor"]) if alone else _full_name(row)


# ---- the report: groups ------------------------------------------------------------------------------------------------


def _group_sections(summary: dict[str, Any], curves: Mapping[str, Sequence[float]]) -> list[Section]:
    """The sections about groups. curves : by assignor, the groups' skew at each of QUANTILES"""
    failed, wrong = sum(row["failed"] for row in summary["assignors"]), summary["wrong_rows"]
    figures = (
        *(Figure(name, number(summary[name])) for name in ("groups", "members", "partitions")),
        Figure("failed assignments", number(failed), "they fail in Kafka, too" if failed else "", _tone(failed)),
        Figure("rejected rows", number(wrong), f"in {REJECTED_ROWS}", "bad" if wrong else ""),
    )
    sections = [Section("Groups", (FigureRow(figures),))]
    for comparison in summary["comparisons"]:
        sections += _comparison_sections(comparison, _tried_by(summary, comparison), curves)
    if summary["most_skewed"]:
        text = (
            "Assigned by their own assignor. Best: the lowest skew of all assignors that were tried; where it is as high, the "
            "group has fewer partitions than members, or subscriptions that leave no choice."
        )
        rows = [
            (
                *(row["group_id"] or "—", _skew(row["skew"]), _skew(row["best_skew"]), row["assignor"]),
                *_numbers(row, "partitions", "members"),
            )
            for row in summary["most_skewed"]
        ]
        table = Table(("group", "skew", "best", "assignor", "partitions", "members"), rows)
        sections.append(Section("Most uneven groups", (table,), text))
    if "sizing" in summary:
        sections.append(_sizing(summary["sizing"]))
    if summary["failures"]:
        sections.append(_failures(summary["failures"], "group_id", "assignor", "Groups that Kafka's own assignor cannot assign"))
    return sections


def _sizing(sizing: dict[str, Any]) -> Section:
    """How many members groups have, and how many they need."""
    figures = (
        Figure("members now", number(sizing["members"]), f"of {counted(sizing['groups'], 'group')}"),
        Figure("needed", number(sizing["recommended_members"])),
        Figure("groups with more than they need", number(sizing["too_large"])),
        Figure("with fewer", number(sizing["too_small"]), tone=_tone(sizing["too_small"])),
    )
    rows = [
        (row["group_id"] or "—", row["assignor"], *_numbers(row, "partitions", "members", "recommended_members"))
        for row in (*sizing["most_short"], *sizing["most_spare"])
    ]
    tables = (Table(("group", "assignor", "partitions", "members", "needed"), rows),) if rows else ()
    text = (
        "The fewest members that process the lag in time; without a member rate, so that no member has more partitions than now."
    )
    return Section("Members that groups need", (FigureRow(figures), *tables), text)


def _comparison_sections(
    comparison: dict[str, Any], tried: Sequence[dict[str, Any]], curves: Mapping[str, Sequence[float]]
) -> list[Section]:
    """How even the assignors are on the same groups, and what each would move."""
    protocol = comparison["group_protocol"]
    what = counted(comparison["groups"], f"{protocol} group" if protocol else "group")
    evenness = [
        (_short_name(row, tried), *(_skew(row["skew"][at]) for at in ("mean", "median", "p90", "max")), number(row["failed"]))
        for row in tried
    ]
    blocks: list[FigureRow | Table | Plot] = [
        _over_twice(comparison, tried),
        _without_zeros(("assignor", "mean skew", "median", "90%", "max", "failed"), evenness),
    ]
    shown = {_short_name(row, tried): curves[_full_name(row)] for row in tried if _full_name(row) in curves}
    if shown and comparison["groups"] >= CURVES:
        caption = f"Share of the {what} up to each skew: busiest member ÷ mean"
        blocks.append(chart(lambda axes: _draw_curves(axes, shown), caption))
    text = (
        "Groups in which a member has over twice the mean, by assignor, and the skews (busiest member ÷ mean). Where an "
        "assignor leaves partitions to a second rebalance, the skew is that after it."
    )
    sections = [Section(f"Evenness of {what}", tuple(blocks), text)]
    if any(row["retained"] or row["revoked"] for row in tried):
        names = ("retained", "revoked", "fewest_possible_moves", "added", "follow_up_rebalances")
        moves = [(_short_name(row, tried), *_numbers(row, *names)) for row in tried]
        table = _without_zeros(("assignor", "retained", "revoked", "needed", "added", "second rebalances"), moves)
        drawing = chart(lambda axes: _draw_moves(axes, tried), height=1.1 + 0.42 * len(tried))
        text = (
            "Revoked: partitions that a member has to give up. Needed: the fewest moves that give the same evenness, if known. "
            "Added: partitions that had no owner."
        )
        sections.append(Section(f"Moves of {what}", (table, drawing), text))
    return sections


def _over_twice(comparison: dict[str, Any], tried: Sequence[dict[str, Any]]) -> FigureRow:
    """For each assignor, and as it is now, the groups with a member over twice the mean; the fewest are good, the most bad."""
    counts = [row["over_twice"] for row in tried]
    remark = f"of {number(comparison['groups'])}"
    figures = [Figure("each group's own", number(comparison["own_over_twice"]), remark)]
    for row in tried:
        tone = "" if min(counts) == max(counts) else {min(counts): "good", max(counts): "bad"}.get(row["over_twice"], "")
        figures.append(Figure(_short_name(row, tried), number(row["over_twice"]), remark, tone))
    return FigureRow(tuple(figures))


def _draw_curves(axes: Axes, curves: Mapping[str, Sequence[float]]) -> None:
    for i, (name, skews) in enumerate(curves.items()):
        axes.step(skews, fleet_summary.QUANTILES, where="post", color=COLORS[i % len(COLORS)], label=name)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda skew, _: f"{skew:g}")
    axes.xaxis.set_minor_formatter(lambda skew, _: f"{skew:g}" if str(skew)[0] in "235" else "")
    axes.set(xlabel="skew", ylabel="share of groups", ylim=(0, 1.02))
    axes.legend(loc="lower right")


def _draw_moves(axes: Axes, tried: Sequence[dict[str, Any]]) -> None:
    names = [_short_name(row, tried) for row in tried]
    left = [0.0] * len(names)
    for column, color in (("retained", COLORS[0]), ("revoked", COLORS[6]), ("added", COLORS[7])):
        counts = [float(row[column] or 0) for row in tried]
        axes.barh(names, counts, left=left, color=color, label=column, height=0.62)
        left = [a + b for a, b in zip(left, counts, strict=True)]
    axes.invert_yaxis()
    axes.set_xlabel("partitions, over all groups")
    axes.grid(axis="y", visible=False)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)


# ---- the report: topics ------------------------------------------------------------------------------------------------


def _topic_sections(summary: dict[str, Any]) -> list[Section]:
    """The sections about topics."""
    audit, now, then = summary["audit"], summary["current_broker_load"], summary["broker_load"]
    figures = [Figure(name, number(summary[name])) for name in ("topics", "partitions")]
    if audit["audited"]:
        remark = f"of {number(audit['audited'])} audited"
        figures.append(Figure("follow Kafka's rules", number(audit["obey"]), remark, _tone(audit["audited"] - audit["obey"])))
        for name, count in (("replicas to copy", audit["copies"]), ("leaders to change", audit["leader_changes"])):
            figures.append(Figure(name, number(count), "at least", _tone(count)))
    if summary["failed"]:
        figures.append(Figure("topics not placed", number(summary["failed"]), "Kafka's placer fails, too", "bad"))
    broken = [(text, number(audit[name])) for name, text in RULES.items() if audit["audited"] and audit[name]]
    tables = (Table(("broken rule", "count"), broken),) if broken else ()
    sections = [Section("Topics", (FigureRow(tuple(figures)), *tables))]
    if then["broker_ids"]:
        text = f"Of all topics. Skew now {_skew(now['leaders']['skew'])}, if placed again {_skew(then['leaders']['skew'])}."
        sections.append(Section("Leaders by broker", (chart(lambda axes: _draw_brokers(axes, now, then)),), text))
    if summary["disobeying"]:
        rows = [
            (
                *(row["topic_name"] or "—", number(row["partitions"])),
                *(number(len(row[name] or ())) for name in fleet_summary.FAULTS),
                *_numbers(row, "copies", "leader_changes"),
            )
            for row in summary["disobeying"]
        ]
        heads = ("doubled", "unknown broker", "wrong factor", "crowded racks", "unled")
        table = _without_zeros(("topic", "partitions", *heads, "copies", "preferred leader changes"), rows)
        sections.append(Section("Topics that break Kafka's placement rules", (table,), "Those with most replicas to copy."))
    if summary["failures"]:
        sections.append(_failures(summary["failures"], "topic_name", "placer", "Topics that Kafka's placer cannot place"))
    return sections


def _draw_brokers(axes: Axes, now: dict[str, Any], then: dict[str, Any]) -> None:
    names = [str(broker) for broker in then["broker_ids"]]
    places = range(len(names))
    current = dict(zip(map(str, now["broker_ids"]), now["leaders"]["counts"], strict=True))
    axes.bar([place - 0.2 for place in places], [current.get(name, 0) for name in names], 0.38, color=COLORS[1], label="now")
    axes.bar([place + 0.2 for place in places], then["leaders"]["counts"], 0.38, color=COLORS[0], label="if placed again")
    if len(names) <= 40:
        axes.set_xticks(list(places), names)
    axes.set(xlabel="broker", ylabel="partitions led")
    axes.grid(axis="x", visible=False)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)


# ---- the report: both --------------------------------------------------------------------------------------------------


def _failures(failures: Iterable[dict[str, Any]], subject: str, strategy: str, heading: str) -> Section:
    """What could not be assigned or placed; a detail has at most 160 characters."""
    rows = []
    for row in failures:
        detail = row["detail"] if len(row["detail"]) <= 160 else row["detail"][:159] + "…"
        rows.append((row[subject] or "—", row[strategy], row["error"], detail))
    return Section(heading, (Table((subject.partition("_")[0], strategy, "error", "detail"), rows),))


def _without_zeros(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Table:
    """The table without columns of which every cell is 0: there would be no room for all."""
    kept = [i for i in range(len(columns)) if i == 0 or any(row[i] != "0" for row in rows)]
    return Table(tuple(columns[i] for i in kept), [tuple(row[i] for i in kept) for row in rows])


def _numbers(row: Mapping[str, Any], *names: str) -> tuple[str, ...]:
    return tuple(number(row[name]) for name in names)


def _skew(value: float | None) -> str:
    return "—" if value is None else f"{value:.2f}"


def _tone(faults: int) -> str:
    return "bad" if faults else "good"
