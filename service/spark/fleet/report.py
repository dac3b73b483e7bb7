"""The report of ``fleet``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from service.spark.io.sinks import REJECTED_ROWS
from service.spark.report import COLORS, Figure, Figures, Section, Table, chart, number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes


CURVES: Final = 20
"""Fewer groups than this have no curve of their skew: it would be a staircase of a few steps, and the table names each."""


def verdict(summaries: Mapping[str, dict[str, Any]]) -> str:
    """The first sentence. summaries : of "groups" and "topics", or one of them"""
    sentences = []
    if groups := summaries.get("groups"):
        failed = sum(row["failed"] for row in groups["assignors"])
        ends = f"{number(failed)} assignments fail, in Kafka, too" if failed else "every assignment succeeds"
        sentences.append(f"{number(groups['groups'])} groups: {ends}.")
    if topics := summaries.get("topics"):
        audit = topics["audit"]
        obey = f"{number(audit['obey'])} of {number(audit['audited'])} placements obey the rules" if audit["audited"] else ""
        sentences.append(f"{number(topics['topics'])} topics{': ' if obey else ''}{obey}.")
    return " ".join(sentences)


def group_sections(summary: dict[str, Any], quantiles: Sequence[float], curves: Mapping[str, Sequence[float]]) -> list[Section]:
    """The sections about groups. curves : by assignor, the groups' skew at each of ``quantiles``"""
    assignors = summary["assignors"]
    sections = [
        Section(
            "Groups",
            (_group_figures(summary), _by_assignor(assignors)),
            "Each group, assigned by its own assignor and by others. Moved: partitions that change their owner. Needed: the "
            "fewest moves that give the same evenness, where known.",
        )
    ]
    if curves and summary["groups"] >= CURVES:
        sections.append(
            Section(
                "Skew of the groups",
                (chart(lambda axes: _curves(axes, quantiles, curves), "Share of groups up to each skew: busiest member ÷ mean"),),
            )
        )
    if curves:
        sections.append(
            Section(
                "Partitions that a change of assignor moves",
                (chart(lambda axes: _moves(axes, assignors), height=0.9 + 0.42 * len(assignors)),),
            )
        )
    if summary["most_skewed"]:
        sections.append(Section("Most uneven groups", (_most_uneven(summary["most_skewed"]),)))
    if summary["failures"]:
        sections.append(_failures(summary["failures"], "group_id", "assignor", "Groups that Kafka's own assignor cannot assign"))
    return sections


def _group_figures(summary: dict[str, Any]) -> Figures:
    failed = sum(row["failed"] for row in summary["assignors"])
    return Figures(
        (
            Figure("groups", number(summary["groups"])),
            Figure("members", number(summary["members"])),
            Figure("partitions", number(summary["partitions"])),
            Figure("failed assignments", number(failed), "they fail in Kafka, too", "bad" if failed else "good"),
            Figure("rejected rows", number(summary["wrong_rows"]), f"in {REJECTED_ROWS}", "bad" if summary["wrong_rows"] else ""),
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


def topic_sections(summary: dict[str, Any]) -> list[Section]:
    """The sections about topics."""
    audit, now, then = summary["audit"], summary["current_broker_load"], summary["broker_load"]
    broken = (_broken_rules(audit),) if audit["audited"] else ()
    sections = [Section("Topics", (_topic_figures(summary), *broken))]
    if then["broker_ids"]:
        sections.append(
            Section(
                "Leaders by broker",
                (chart(lambda axes: _brokers(axes, now, then)),),
                f"Of all topics. Skew now {_skew(now['leaders']['skew'])}, if placed anew {_skew(then['leaders']['skew'])}.",
            )
        )
    if summary["disobeying"]:
        table = _disobeying(summary["disobeying"])
        sections.append(Section("Topics that break Kafka's placement rules", (table,), "Those with most replicas to copy."))
    if summary["failures"]:
        sections.append(_failures(summary["failures"], "topic_name", "placer", "Topics that Kafka's placer cannot place"))
    return sections


def _topic_figures(summary: dict[str, Any]) -> Figures:
    audit = summary["audit"]
    return Figures(
        (
            Figure("topics", number(summary["topics"])),
            Figure("partitions", number(summary["partitions"])),
            Figure(
                "follow Kafka's rules", number(audit["obey"]), f"of {number(audit['audited'])} audited",
                "good" if audit["obey"] == audit["audited"] else "bad",
            ),
            Figure("replicas to copy", number(audit["copies"]), "at least, to follow them"),
            Figure("leaders to change", number(audit["leader_changes"]), "at least"),
        )
    )  # fmt: skip


def _broken_rules(audit: dict[str, Any]) -> Table:
    names = (
        ("doubled", "partitions with two replicas on one broker"),
        ("unknown_brokers", "partitions with a replica on an unknown broker"),
        ("wrong_factor", "partitions whose replica count is not the topic's replication factor"),
        ("crowded_racks", "partitions on fewer racks than possible"),
        ("unled", "partitions without an unfenced leader"),
        ("uneven_leaders", "topics with a broker that leads more partitions than with Kafka's placer"),
    )
    return Table(("broken rule", "count"), [(text, number(audit[name])) for name, text in names])


def _disobeying(topics: Sequence[dict[str, Any]]) -> Table:
    columns = (
        "topic",
        "partitions",
        "doubled",
        "unknown broker",
        "wrong replication factor",
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


def _moves(axes: Axes, assignors: Sequence[dict[str, Any]]) -> None:
    names = [f"{row['group_protocol']}:{row['assignor']}" for row in assignors]
    left = [0.0] * len(names)
    for i, column in enumerate(("retained", "moved", "added")):
        counts = [float(row[column] or 0) for row in assignors]
        axes.barh(names, counts, left=left, color=COLORS[(0, 1, 2)[i]], label=column, height=0.62)
        left = [a + b for a, b in zip(left, counts, strict=True)]
    axes.invert_yaxis()
    axes.set_xlabel("partitions, over all groups")
    axes.grid(axis="y", visible=False)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1.22), ncols=3)


def _brokers(axes: Axes, now: dict[str, Any], then: dict[str, Any]) -> None:
    names = [str(broker) for broker in then["broker_ids"]]
    places = range(len(names))
    current = dict(zip(map(str, now["broker_ids"]), now["leaders"]["counts"], strict=True))
    axes.bar([place - 0.2 for place in places], [current.get(name, 0) for name in names], 0.38, color=COLORS[1], label="now")
    axes.bar([place + 0.2 for place in places], then["leaders"]["counts"], 0.38, color=COLORS[0], label="if placed anew")
    if len(names) <= 40:
        axes.set_xticks(list(places), names)
    axes.set_xlabel("broker")
    axes.set_ylabel("partitions led")
    axes.grid(axis="x", visible=False)
    axes.legend()
