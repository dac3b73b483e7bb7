"""The Grafana dashboards: the service's metrics, and a live cluster as `watch` sees it. `make chart` writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from grafana_foundation_sdk.builders import dashboard
from grafana_foundation_sdk.models import dashboard as models
from grafana_foundation_sdk.models import units
from grafana_foundation_sdk.models.dashboard import DashboardCursorSync

from helm.capacity import capacity
from helm.panels import HERE, chart, choice, figure, quantiles, ranking, rate, total

if TYPE_CHECKING:
    from grafana_foundation_sdk.cog.builder import Builder

GROUP_DECISIONS: Final = "assignment|rebalance"
"""Decisions whose subject is a group; the subject of all others is a topic."""

IN_PODS = "and on (namespace, pod) partition_allocator_build_info"
"""Leaves the series of the service's pods; other programs have metrics of the same names."""


def service() -> models.Dashboard:
    """Requests, decisions with their skew and movement, and processes."""
    board = (
        dashboard.Dashboard("Partition allocator").uid("partition-allocator").tags(["kafka"]).refresh("30s").time("now-3h", "now")
    )
    board.tooltip(DashboardCursorSync.CROSSHAIR).readonly()
    board.with_variable(dashboard.DatasourceVariable("datasource").label("Data source").type("prometheus"))
    board.with_variable(choice("namespace", "Namespace", "label_values(partition_allocator_build_info, namespace)"))
    board.with_variable(
        choice("subject", "Group or topic", f"label_values(partition_allocator_subject_skew_ratio{{{HERE}}}, subject)")
    )

    panel: Builder[models.Panel]
    decisions = "partition_allocator_skew_ratio_count"
    requests = "partition_allocator_http_request_duration_seconds_count"
    groups = f'partition_allocator_subject_skew_ratio{{{HERE}, subject=~"$subject", decision=~"{GROUP_DECISIONS}"}}'
    topics = f'partition_allocator_subject_skew_ratio{{{HERE}, subject=~"$subject", decision!~"{GROUP_DECISIONS}"}}'
    board.with_row(dashboard.Row("Requests"))
    for panel in (
        figure(
            "Requests",
            "Answered requests per second.",
            units.RequestsPerSecond,
            f"sum(rate({requests}{{{HERE}}}[$__rate_interval]))",
        ),
        figure(
            "Server errors",
            "Share of requests answered with a 5xx status other than 503.",
            units.PercentUnit,
            f"""({total(requests, ', status=~"5..", status!="503"')} or vector(0)) / {total(requests)}""",
        ),
        figure(
            "Overloaded",
            "Share of requests rejected because the service was overloaded.",
            units.PercentUnit,
            f"""{total("partition_allocator_http_requests_rejected_total", ', reason="full"')} / {total(requests)}""",
        ),
        figure("In flight", "Requests in progress.", units.Short, f"sum(partition_allocator_http_requests_in_flight{{{HERE}}})"),
        figure(
            "Queued", "Requests waiting in the queue.", units.Short, f"sum(partition_allocator_http_requests_queued{{{HERE}}})"
        ),
        figure("Pods", "Pods scraped by Prometheus.", units.Short, f"count(partition_allocator_build_info{{{HERE}}})"),
        chart("Requests by route", "Answered requests per second.", units.RequestsPerSecond, [rate(requests, "route")]),
        chart(
            "Latency",
            "Time from the start of a request to its answer.",
            units.Seconds,
            quantiles(
                "partition_allocator_http_request_duration_seconds", "route", select=', route=~"/v1/.*"', which=(0.5, 0.95, 0.99)
            ),
        ),
        chart(
            "In flight and queued, by pod",
            "Requests in progress, which the autoscaler can use, and requests in the queue.",
            units.Short,
            [
                (f"sum by (pod) (partition_allocator_http_requests_in_flight{{{HERE}}})", "{{pod}} in flight"),
                (f"sum by (pod) (partition_allocator_http_requests_queued{{{HERE}}})", "{{pod}} queued"),
            ],
        ),
        chart(
            "Errors by status",
            "4xx: the request is invalid. 503: the service is overloaded. Other 5xx: a fault of the service.",
            units.RequestsPerSecond,
            [rate(requests, "status", select=', status=~"[45].."')],
            12,
        ),
        chart(
            "Rejected requests by reason",
            "Requests rejected before their body was parsed.",
            units.RequestsPerSecond,
            [rate("partition_allocator_http_requests_rejected_total", "reason")],
            12,
        ),
    ):
        board.with_panel(panel)

    even, _ = rate("partition_allocator_skew_ratio_bucket", "decision, strategy", select=', le="1.05"')
    board.with_row(dashboard.Row("Decisions"))
    for panel in (
        chart(
            "Decisions",
            "Decisions per second, without those about a single key.",
            units.RequestsPerSecond,
            [rate("partition_allocator_skew_ratio_count", "decision, strategy")],
        ),
        chart(
            "Skew by decision",
            "Maximum ÷ mean; 1 is perfectly even.",
            units.Short,
            quantiles("partition_allocator_skew_ratio", "decision", which=(0.5, 0.95)),
        ),
        chart(
            "Skew by strategy",
            "95th percentile.",
            units.Short,
            quantiles("partition_allocator_skew_ratio", "decision, strategy", which=(0.95,)),
        ),
        chart(
            "Even decisions",
            "Share of decisions with a skew of at most 1.05.",
            units.PercentUnit,
            [(f"{even} / {rate(decisions, 'decision, strategy')[0]}", "{{decision}} {{strategy}}")],
        ),
        chart(
            "Movement",
            "Partitions per second that change owner.",
            units.Short,
            [rate("partition_allocator_moved_partitions_sum", "decision, strategy")],
        ),
        chart(
            "Movement per decision",
            "Partitions that change owner in one decision.",
            units.Short,
            quantiles("partition_allocator_moved_partitions", "decision, strategy", which=(0.5, 0.95)),
        ),
        chart(
            "Decision time",
            "99th percentile of the time of decisions that take at least 1 ms, with parsing and rendering.",
            units.Seconds,
            quantiles("partition_allocator_decision_duration_seconds", "decision", which=(0.99,)),
        ),
        chart(
            "Time by phase",
            "Seconds per second spent parsing, computing and rendering, without phases below 1 ms.",
            units.Short,
            [rate("partition_allocator_decision_phase_seconds_total", "decision, phase")],
        ),
        chart(
            "Request size",
            "95th percentile of keys, partitions, members and brokers per request with at least 1,000 of one.",
            units.Short,
            quantiles("partition_allocator_items", "decision, item", which=(0.95,)),
        ),
    ):
        board.with_panel(panel)

    board.with_row(dashboard.Row("Simulated rebalances"))
    for panel in _simulations():
        board.with_panel(panel)

    board.with_row(dashboard.Row("Groups and topics"))
    worst = f'topk(20, max by (decision, subject) (partition_allocator_subject_skew_ratio{{{HERE}, subject=~"$subject"}}))'
    for panel in (
        chart(
            "Skew by group",
            "Latest skew of each group named in a request.",
            units.Short,
            [(f"max by (subject) ({groups})", "{{subject}}")],
        ),
        chart(
            "Skew by topic",
            "Latest skew of each topic named in a request: of keys over partitions, or of replicas over brokers.",
            units.Short,
            [(f"max by (decision, subject) ({topics})", "{{subject}} ({{decision}})")],
        ),
        ranking(
            "Highest skew",
            "The 20 groups and topics with the highest skew.",
            worst,
            {"subject": "group or topic", "decision": "decision", "Value": "skew"},
        ),
    ):
        board.with_panel(panel)

    board.with_row(dashboard.Row("Processes"))
    for panel in (
        chart(
            "Memory of the workers",
            "Resident; a part of it (the compiled kernels) is the same memory for all workers of a pod.",
            units.BytesIEC,
            [(f"process_resident_memory_bytes{{{HERE}}} {IN_PODS}", "{{pod}} {{pid}}")],
        ),
        chart(
            "CPU of the pods",
            "Cores in use.",
            units.Short,
            [
                (
                    f"sum by (pod) (rate(process_cpu_seconds_total{{{HERE}}}[$__rate_interval]) {IN_PODS})",
                    "{{pod}}",
                )
            ],
        ),
        chart(
            "Free space for metrics",
            "Of the file system with the workers' metrics; without space, requests are answered but not counted.",
            units.BytesIEC,
            [(f"min by (pod) (partition_allocator_metrics_free_bytes{{{HERE}}})", "{{pod}}")],
        ),
        chart(
            "Dropped skew series",
            "Groups and topics per second beyond ALLOCATOR_MAX_SUBJECTS.",
            units.RequestsPerSecond,
            [(total("partition_allocator_subjects_dropped_total"), "dropped")],
        ),
        ranking(
            "Versions",
            "Running versions, and the number of pods of each.",
            f"count by (namespace, version, python_version) (partition_allocator_build_info{{{HERE}}})",
            {"namespace": "namespace", "version": "version", "python_version": "Python", "Value": "pods"},
        ),
    ):
        board.with_panel(panel)
    return board.build()


def _simulations() -> list[Builder[models.Panel]]:
    """What `/v1/group-rebalances` is asked, and what it costs."""
    simulated = ', decision="rebalance"'
    return [
        chart(
            "Timelines",
            "Simulated timelines per second.",
            units.RequestsPerSecond,
            [rate("partition_allocator_skew_ratio_count", "strategy", select=simulated)],
        ),
        chart(
            "Partitions moved per timeline",
            "Partitions that change owner in all rebalances of one timeline.",
            units.Short,
            quantiles("partition_allocator_moved_partitions", "strategy", select=simulated, which=(0.5, 0.95)),
        ),
        chart(
            "Simulation time",
            "Time that a simulation takes, comparisons included, if it is at least 1 ms.",
            units.Seconds,
            quantiles("partition_allocator_decision_duration_seconds", "decision", select=simulated),
        ),
    ]


def cluster() -> models.Dashboard:
    """A live cluster, as `partition-allocator watch` sees it: skew of topics and groups, lag, brokers."""
    board = (
        dashboard.Dashboard("Kafka cluster balance")
        .uid("partition-allocator-cluster")
        .tags(["kafka"])
        .refresh("1m")
        .time("now-24h", "now")
    )
    board.tooltip(DashboardCursorSync.CROSSHAIR).readonly()
    board.with_variable(dashboard.DatasourceVariable("datasource").label("Data source").type("prometheus"))
    board.with_variable(choice("namespace", "Namespace", "label_values(partition_allocator_cluster_up, namespace)"))
    board.with_variable(choice("topic", "Topic", f"label_values(partition_allocator_cluster_topic_skew_ratio{{{HERE}}}, topic)"))
    board.with_variable(choice("group", "Group", f"label_values(partition_allocator_cluster_group_members{{{HERE}}}, group)"))
    topics, groups = f'{HERE}, topic=~"$topic"', f'{HERE}, group=~"$group"'
    differing = f"sum(partition_allocator_cluster_group_differs{{{HERE}}})"
    measures = ("records", "bytes", "records_per_second", "bytes_per_second", "leaders", "replicas")
    panel: Builder[models.Panel]
    for panel in (
        figure("Cluster", "1 if the latest snapshot succeeded.", units.Short, f"min(partition_allocator_cluster_up{{{HERE}}})"),
        figure(
            "Offline partitions",
            "Partitions without a leader.",
            units.Short,
            f"max(partition_allocator_cluster_offline_partitions{{{HERE}}})",
        ),
        figure(
            "Under-replicated partitions",
            "Partitions of which a replica is not in sync.",
            units.Short,
            f"max(partition_allocator_cluster_under_replicated_partitions{{{HERE}}})",
        ),
        figure("Groups that differ", "Groups that are not assigned as Kafka would.", units.Short, differing),
        figure(
            "Moves",
            "Partitions that the next rebalances would move.",
            units.Short,
            f"sum(partition_allocator_cluster_group_next_moves{{{HERE}}})",
        ),
        figure(
            "Lag", "Records that groups have not committed.", units.Short, f"sum(partition_allocator_cluster_group_lag{{{HERE}}})"
        ),
        figure("Fullest disk", "Used share.", units.PercentUnit, f"max(partition_allocator_cluster_broker_used_ratio{{{HERE}}})"),
        figure(
            "Without series",
            "Topics and groups beyond the limits.",
            units.Short,
            f"sum(partition_allocator_cluster_dropped{{{HERE}}})",
        ),
        *(
            chart(
                f"Topic skew by {name.replace('_', ' ')}",
                "Maximum ÷ mean; 1 is perfectly even.",
                units.Short,
                [
                    (
                        f'topk(20, max by (topic) (partition_allocator_cluster_topic_skew_ratio{{{topics}, measure="{name}"}}))',
                        "{{topic}}",
                    )
                ],
            )
            for name in measures
        ),
        *(
            chart(
                f"Group skew by {name}",
                "Maximum ÷ mean over the members; 1 is perfectly even.",
                units.Short,
                [
                    (
                        f'topk(20, max by (group) (partition_allocator_cluster_group_skew_ratio{{{groups}, measure="{name}"}}))',
                        "{{group}}",
                    )
                ],
            )
            for name in ("partitions", "lag")
        ),
        chart(
            "Lag by group",
            "Records that the group has not committed.",
            units.Short,
            [(f"topk(20, max by (group) (partition_allocator_cluster_group_lag{{{groups}}}))", "{{group}}")],
        ),
        chart(
            "Members by group",
            "Members of the group, and the fewest that it needs.",
            units.Short,
            [
                (f"topk(10, max by (group) (partition_allocator_cluster_group_members{{{groups}}}))", "{{group}}"),
                (
                    f"topk(10, max by (group) (partition_allocator_cluster_group_recommended_members{{{groups}}}))",
                    "{{group}}: needed",
                ),
            ],
        ),
        chart(
            "Hottest key",
            "Share of the hottest key among the sampled records.",
            units.PercentUnit,
            [(f"max by (topic) (partition_allocator_cluster_topic_hottest_key_ratio{{{topics}}})", "{{topic}}")],
        ),
        chart(
            "Replicas and leaders by broker",
            "An even cluster has parallel lines.",
            units.Short,
            [
                (f"max by (broker) (partition_allocator_cluster_broker_replicas{{{HERE}}})", "{{broker}} replicas"),
                (f"max by (broker) (partition_allocator_cluster_broker_leaders{{{HERE}}})", "{{broker}} leaders"),
            ],
        ),
        chart(
            "Bytes by broker",
            "Bytes of the broker's replicas.",
            units.BytesIEC,
            [(f"max by (broker) (partition_allocator_cluster_broker_bytes{{{HERE}}})", "{{broker}}")],
        ),
    ):
        board.with_panel(panel)
    return board.build()


DASHBOARDS: Final = {
    "partition-allocator.json": service,
    "partition-allocator-capacity.json": capacity,
    "partition-allocator-cluster.json": cluster,
}
"""File name → the function that builds the dashboard."""
