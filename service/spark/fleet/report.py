"""The report of ``fleet``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from matplotlib.ticker import FuncFormatter

from service.spark.report import COLORS, Figure, Figures, Section, Table, chart, number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Groups:
    """summary : of the job; curves : by assignor, the groups' skew at each of ``quantiles``"""

    summary: dict[str, Any]
    quantiles: Sequence[float]
    curves: Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class Topics:
    """summary : of the job."""

    summary: dict[str, Any]


Part = Groups | Topics


def sections(part: Part) -> list[Section]:
    """The sections about groups, or about topics."""
    return _groups(part) if isinstance(part, Groups) else _topics(part.summary)


def _groups(part: Groups) -> list[Section]:
    summary, assignors = part.summary, part.summary["assignors"]
    found = [
        Section(
            "Groups",
            (_group_figures(summary), _by_assignor(assignors)),
            "Each group under its own assignor and the others. Moved: partitions that one member had and another gets; needed: "
            "the fewest with which the same evenness could be had, where that is settled.",
        )
    ]
    if part.curves:
        found.append(
            Section(
                "How even the groups are",
                (chart(lambda axes: _curves(axes, part), "Share of groups with at most that skew (busiest member ÷ mean)."),),
            )
        )
        found.append(
            Section(
                "What a change of assignor moves",
                (chart(lambda axes: _moves(axes, assignors), height=0.9 + 0.42 * len(assignors)),),
            )
        )
    if summary["most_skewed"]:
        found.append(Section("The most uneven groups", (_most_uneven(summary["most_skewed"]),)))
    if summary["failures"]:
        found.append(_failures(summary["failures"], "group_id", "assignor", "Groups that Kafka's own assignor cannot assign"))
    return found


def _group_figures(summary: dict[str, Any]) -> Figures:
    failed = sum(row["failed"] for row in summary["assignors"])
    return Figures(
        (
            Figure("groups", number(summary["groups"])),
            Figure("members", number(summary["members"])),
            Figure("partitions", number(summary["partitions"])),
            Figure("assignments that fail", number(failed), "in Kafka too", "bad" if failed else "good"),
            Figure(
                "rows that are no group",
                number(summary["wrong_rows"]),
                "in quarantine.parquet",
                "bad" if summary["wrong_rows"] else "",
            ),
        )
    )


def _by_assignor(assignors: Sequence[dict[str, Any]]) -> Table:
    columns = (
        "assignor",
        "groups",
        "failed",
        "mean skew",
        "median",
        "90%",
        "max",
        "moved",
        "needed",
        "added",
        "revoked",
        "second rebalance",
    )
    rows = [
        (
            f"{row['group_protocol']}:{row['assignor']}",
            number(row["groups"]),
            number(row["failed"]),
            *(_skew(row["skew"][at]) for at in ("mean", "median", "p90", "max")),
            *(number(row[name] or 0) for name in ("moved", "fewest_possible_moves", "added", "revoked")),
            number(row["follow_up_rebalances"]),
        )
        for row in assignors
    ]
    return Table(columns, rows)


def _most_uneven(groups: Sequence[dict[str, Any]]) -> Table:
    rows = [
        (str(row["group_id"]), row["assignor"], number(row["partitions"]), number(row["members"]), _skew(row["skew"]))
        for row in groups
    ]
    return Table(("group", "assignor", "partitions", "members", "skew"), rows)


def _topics(summary: dict[str, Any]) -> list[Section]:
    audit, now, then = summary["audit"], summary["current_broker_load"], summary["broker_load"]
    broken = (_broken_rules(audit),) if audit["audited"] else ()
    found = [Section("Topics", (_topic_figures(summary), *broken))]
    if then["broker_ids"]:
        found.append(
            Section(
                "Leaders of each broker",
                (chart(lambda axes: _brokers(axes, now, then)),),
                f"Over all topics. Skew today {_skew(now['leaders']['skew'])}, newly placed {_skew(then['leaders']['skew'])}.",
            )
        )
    if summary["disobeying"]:
        table = _disobeying(summary["disobeying"])
        found.append(Section("Topics that do not obey", (table,), "Those that take most to mend."))
    if summary["failures"]:
        found.append(_failures(summary["failures"], "topic_name", "placer", "Topics that Kafka's placer refuses"))
    return found


def _topic_figures(summary: dict[str, Any]) -> Figures:
    audit = summary["audit"]
    return Figures(
        (
            Figure("topics", number(summary["topics"])),
            Figure("partitions", number(summary["partitions"])),
            Figure(
                "obey Kafka's rules", number(audit["obey"]), f"of {number(audit['audited'])} audited",
                "good" if audit["obey"] == audit["audited"] else "bad",
            ),
            Figure("replicas to copy", number(audit["copies"]), "at least, to mend it"),
            Figure("leaders to change", number(audit["leader_changes"]), "at least"),
        )
    )  # fmt: skip


def _broken_rules(audit: dict[str, Any]) -> Table:
    names = (
        ("doubled", "partitions with two replicas on one broker"),
        ("unknown_brokers", "partitions with a replica on a broker that is not there"),
        ("wrong_factor", "partitions with another number of replicas than their topic's"),
        ("crowded_racks", "partitions on fewer racks than there could be"),
        ("unled", "partitions that no unfenced broker leads"),
        ("uneven_leaders", "topics of which a broker leads more than Kafka would have it lead"),
    )
    return Table(("rule that is broken", "how often"), [(text, number(audit[name])) for name, text in names])


def _disobeying(topics: Sequence[dict[str, Any]]) -> Table:
    columns = (
        "topic",
        "partitions",
        "doubled",
        "unknown broker",
        "wrong factor",
        "crowded racks",
        "unled",
        "copies",
        "leader changes",
    )
    rows = [
        (
            str(row["topic_name"]),
            number(row["partitions"]),
            *(number(len(row[name] or ())) for name in ("doubled", "unknown_brokers", "wrong_factor", "crowded_racks", "unled")),
            number(row["copies"]),
            number(row["leader_changes"]),
        )
        for row in topics
    ]
    return Table(columns, rows)


def _failures(failures: Sequence[dict[str, Any]], subject: str, strategy: str, heading: str) -> Section:
    rows = [(str(row[subject]), row[strategy], row["error"], _short(row["detail"])) for row in failures]
    return Section(heading, (Table((subject.partition("_")[0], strategy, "error", "what happens"), rows),))


def _short(text: str, length: int = 160) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def _skew(value: float | None) -> str:
    return "—" if value is None else f"{value:.2f}"


def _curves(axes: Axes, part: Groups) -> None:
    for i, (name, skews) in enumerate(part.curves.items()):
        axes.step(skews, part.quantiles, where="post", color=COLORS[i % len(COLORS)], label=name)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda skew, _: f"{skew:g}"))
    axes.xaxis.set_minor_formatter(FuncFormatter(lambda skew, _: f"{skew:g}" if str(skew)[0] in "235" else ""))
    axes.set_xlabel("skew")
    axes.set_ylabel("share of groups")
    axes.set_ylim(0, 1.02)
    axes.legend(loc="lower right")


def _moves(axes: Axes, assignors: Sequence[dict[str, Any]]) -> None:
    names = [f"{row['group_protocol']}:{row['assignor']}" for row in assignors]
    left = [0.0] * len(names)
    for i, (column, label) in enumerate((("retained", "stay"), ("moved", "change hands"), ("added", "new"))):
        counts = [float(row[column] or 0) for row in assignors]
        axes.barh(names, counts, left=left, color=COLORS[(0, 1, 2)[i]], label=label, height=0.62)
        left = [a + b for a, b in zip(left, counts, strict=True)]
    axes.invert_yaxis()
    axes.set_xlabel("partitions, over all groups")
    axes.grid(axis="y", visible=False)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1.22), ncols=3)


def _brokers(axes: Axes, now: dict[str, Any], then: dict[str, Any]) -> None:
    names = [str(broker) for broker in then["broker_ids"]]
    places = range(len(names))
    today = dict(zip(map(str, now["broker_ids"]), now["leaders"]["counts"], strict=True))
    axes.bar([place - 0.2 for place in places], [today.get(name, 0) for name in names], 0.38, color=COLORS[1], label="today")
    axes.bar([place + 0.2 for place in places], then["leaders"]["counts"], 0.38, color=COLORS[0], label="newly placed")
    if len(names) <= 40:
        axes.set_xticks(list(places), names)
    axes.set_xlabel("broker")
    axes.set_ylabel("partitions led")
    axes.grid(axis="x", visible=False)
    axes.legend()
