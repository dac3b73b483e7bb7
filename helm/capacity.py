"""The planner's dashboard: keys, load and limits of a live cluster, as `watch` sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from grafana_foundation_sdk.builders import dashboard
from grafana_foundation_sdk.models import dashboard as models
from grafana_foundation_sdk.models import units
from grafana_foundation_sdk.models.dashboard import DashboardCursorSync

from helm.panels import HERE, chart, choice, selection, text_input

if TYPE_CHECKING:
    from grafana_foundation_sdk.cog.builder import Builder

SECONDS_PER_DAY: Final = 86_400
MOST_DAYS: Final = 3650
"""The longest time to a limit that is drawn: a series that does not grow never reaches it."""


def capacity() -> models.Dashboard:
    """What a planner asks: how even keys are, who is loaded how, and for how long it will do."""
    board = (
        dashboard.Dashboard("Topic capacity planning")
        .uid("partition-allocator-capacity")
        .tags(["kafka"])
        .refresh("1m")
        .time("now-7d", "now")
    )
    board.tooltip(DashboardCursorSync.CROSSHAIR).readonly()
    board.with_variable(dashboard.DatasourceVariable("datasource").label("Prometheus").type("prometheus"))
    board.with_variable(choice("namespace", "Namespace", "label_values(partition_allocator_cluster_up, namespace)"))
    board.with_variable(choice("group", "Group", f"label_values(partition_allocator_cluster_group_members{{{HERE}}}, group)"))
    board.with_variable(selection("window", "Growth of the last", ("1d", "6h", "7d", "30d")))
    board.with_variable(selection("limit", "Full at", ("0.85", "0.7", "0.8", "0.9", "1")))
    board.with_variable(text_input("rate", "Records per second that a member can process", "1000"))
    panel: Builder[models.Panel]
    for title, panels in (
        ("Keys", _keys()),
        ("Load now", _load()),
        ("Until a limit", _limits()),
    ):
        board.with_row(dashboard.Row(title))
        for panel in panels:
            board.with_panel(panel)
    return board.build()


def _keys() -> list[Builder[models.Panel]]:
    """What `watch --sample-keys` says of topics; the workbench Keys of the planner page compares partition counts."""
    metric = "partition_allocator_cluster_topic_"
    return [
        chart(title, about, unit, [(f"topk(20, max by (topic) ({metric}{name}{{{HERE}}}))", "{{topic}}")], 12)
        for title, name, unit, about in (
            ("Skew of sampled keys", "key_skew_ratio", units.Short, "Maximum ÷ mean of the sampled records per partition."),
            ("Hottest key", "hottest_key_ratio", units.PercentUnit, "Share of the sampled records that one key has."),
        )
    ]


def _load() -> list[Builder[models.Panel]]:
    """Brokers and members, as `watch` sees them."""
    members = f'{HERE}, group=~"$group"'
    return [
        *(
            chart(
                f"{title} by broker",
                about,
                unit,
                [(f"max by (broker) (partition_allocator_cluster_broker_{name}{{{HERE}}})", "{{broker}}")],
            )
            for title, name, unit, about in (
                ("Bytes", "bytes", units.BytesIEC, "Bytes of the broker's replicas."),
                ("Leaders", "leaders", units.Short, "Partitions that the broker leads: reads and writes go there."),
                ("Disk", "used_ratio", units.PercentUnit, "Used share of the broker's disks."),
            )
        ),
        *(
            chart(
                f"{title} by member",
                about,
                units.Short,
                [
                    (
                        f"topk(20, max by (group, member) (partition_allocator_cluster_member_{name}{{{members}}}))",
                        "{{group}} {{member}}",
                    )
                ],
            )
            for title, name, about in (
                ("Records per second", "records_per_second", "Records written to the member's partitions."),
                ("Lag", "lag", "Records of the member's partitions that the group has not committed."),
                ("Partitions", "partitions", "Partitions of the member."),
            )
        ),
    ]


def _limits() -> list[Builder[models.Panel]]:
    """What runs out, and when, if it goes on as in the window."""
    used = f"partition_allocator_cluster_broker_used_ratio{{{HERE}}}"
    growth = f"clamp_min(max by (broker) (deriv({used}[$window])) * {SECONDS_PER_DAY}, 1e-9)"
    written = f'sum by (group) (partition_allocator_cluster_member_records_per_second{{{HERE}, group=~"$group"}})'
    straight = (
        "A straight line through the window: it knows nothing of weekends, new topics, or a retention that is about to delete. "
    )
    return [
        chart(
            "Days until a disk is full",
            f"{straight}{MOST_DAYS}: later than that, or not growing.",
            "d",
            [(f"clamp(($limit - max by (broker) ({used})) / {growth}, 0, {MOST_DAYS})", "{{broker}}")],
        ),
        chart(
            "Disk in 30 days",
            f"{straight}1 is full.",
            units.PercentUnit,
            [(f"max by (broker) (predict_linear({used}[$window], {30 * SECONDS_PER_DAY}))", "{{broker}}")],
        ),
        chart(
            "Members that a group needs",
            "Records written per second ÷ what a member can process; beside it, the members that the group has. It assumes that "
            "partitions can be spread evenly, and has no room for working off a lag.",
            units.Short,
            [
                (f"ceil({written} / $rate)", "{{group}} needs"),
                (f'max by (group) (partition_allocator_cluster_group_members{{{HERE}, group=~"$group"}})', "{{group}} has"),
            ],
        ),
    ]
