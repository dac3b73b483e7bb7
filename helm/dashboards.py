"""The Grafana dashboards: what the service does (Prometheus), and plans in advance (Infinity).

python -m helm.documents        # `make chart` writes them into the chart
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from grafana_foundation_sdk.builders import common, dashboard, prometheus, stat, table, timeseries
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.variants import Dataquery
from grafana_foundation_sdk.models import dashboard as models
from grafana_foundation_sdk.models import units
from grafana_foundation_sdk.models.common import LegendDisplayMode, LegendPlacement
from grafana_foundation_sdk.models.dashboard import (
    DashboardCursorSync,
    DataSourceRef,
    DataTransformerConfig,
    VariableOption,
    VariableRefresh,
    VariableSort,
)
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

if TYPE_CHECKING:
    from collections.abc import Mapping

PROMETHEUS: Final = DataSourceRef("prometheus", "$datasource")
INFINITY: Final = DataSourceRef("yesoreyeram-infinity-datasource", "$datasource")
HERE: Final = 'namespace=~"$namespace"'
"""What every expression selects."""

GROUP_DECISIONS: Final = "assignment|rebalance"
"""Decisions about groups; those that are named in the others are topics."""

Query = tuple[str, str]
"""An expression, and the legend of its series."""


def quantiles(histogram: str, by: str, *, select: str = "", which: tuple[float, ...] = (0.5, 0.99)) -> list[Query]:
    """Quantiles of a histogram, a series for each of what ``by`` names."""
    labels = ", ".join(f"{{{{{label.strip()}}}}}" for label in by.split(","))
    return [
        (
            f"histogram_quantile({q}, sum by ({by}, le) (rate({histogram}_bucket{{{HERE}{select}}}[$__rate_interval])))",
            f"{labels} p{q * 100:g}",
        )
        for q in which
    ]


def rate(counter: str, by: str, *, select: str = "") -> Query:
    """What a counter gains in a second, a series for each of what ``by`` names."""
    labels = " ".join(f"{{{{{label.strip()}}}}}" for label in by.split(","))
    return f"sum by ({by}) (rate({counter}{{{HERE}{select}}}[$__rate_interval]))", labels


def _all(counter: str, select: str = "") -> str:
    """What a counter gains in a second, all its series together."""
    return f"sum(rate({counter}{{{HERE}{select}}}[$__rate_interval]))"


def chart(title: str, about: str, unit: str, queries: list[Query], span: int = 8) -> timeseries.Panel:
    """Lines over time."""
    legend = common.VizLegendOptions().display_mode(LegendDisplayMode.TABLE).placement(LegendPlacement.BOTTOM).show_legend(True)
    panel = (
        timeseries.Panel().title(title).description(about).datasource(PROMETHEUS).unit(unit).span(span).height(8).legend(legend)
    )
    for query in _targets(queries):
        panel.with_target(query)
    return panel.legend(legend).min(0).fill_opacity(8)


def figure(title: str, about: str, unit: str, query: str, span: int = 4) -> stat.Panel:
    """One number."""
    last = common.ReduceDataOptions().calcs(["lastNotNull"])
    panel = stat.Panel().title(title).description(about).datasource(PROMETHEUS).unit(unit).span(span).height(4)
    return panel.reduce_options(last).with_target(_targets([(query, "")])[0])


def ranking(title: str, about: str, query: str, columns: Mapping[str, str], span: int = 8) -> table.Panel:
    """The labels and values of one moment, as a table. columns : label → its heading"""
    target = prometheus.Dataquery().expr(query).format(PromQueryFormat.TABLE).instant().ref_id("A").datasource(PROMETHEUS)
    order = {
        "indexByName": {name: i for i, name in enumerate(columns)},
        "renameByName": dict(columns),
        "excludeByName": {"Time": True},
    }
    panel = table.Panel().title(title).description(about).datasource(PROMETHEUS).span(span).height(8)
    return panel.with_target(target).with_transformation(DataTransformerConfig(id_val="organize", options=order))


def _targets(queries: list[Query]) -> list[prometheus.Dataquery]:
    return [
        prometheus.Dataquery().expr(expression).legend_format(legend or "__auto").ref_id(chr(ord("A") + i)).datasource(PROMETHEUS)
        for i, (expression, legend) in enumerate(queries)
    ]


def _choice(name: str, label: str, query: str) -> dashboard.QueryVariable:
    """A variable whose values Prometheus knows; at first all of them."""
    variable = dashboard.QueryVariable(name).label(label).query(query).datasource(PROMETHEUS).multi(True).include_all(True)
    variable.all_value(".*").current(VariableOption(text="All", value="$__all"))
    return variable.refresh(VariableRefresh.ON_TIME_RANGE_CHANGED).sort(VariableSort.ALPHABETICAL_ASC)


def service() -> models.Dashboard:
    """What the service is asked, how even its answers are, and what it takes."""
    board = (
        dashboard.Dashboard("Partition allocator").uid("partition-allocator").tags(["kafka"]).refresh("30s").time("now-3h", "now")
    )
    board.tooltip(DashboardCursorSync.CROSSHAIR).readonly()
    board.with_variable(dashboard.DatasourceVariable("datasource").label("Data source").type("prometheus"))
    board.with_variable(_choice("namespace", "Namespace", "label_values(allocator_build_info, namespace)"))
    board.with_variable(_choice("subject", "Group or topic", f"label_values(allocator_subject_skew_ratio{{{HERE}}}, subject)"))

    decisions = "allocator_skew_ratio_count"
    requests = "allocator_http_request_duration_seconds_count"
    groups = f'allocator_subject_skew_ratio{{{HERE}, subject=~"$subject", decision=~"{GROUP_DECISIONS}"}}'
    topics = f'allocator_subject_skew_ratio{{{HERE}, subject=~"$subject", decision!~"{GROUP_DECISIONS}"}}'
    board.with_row(dashboard.Row("Requests"))
    for panel in (
        figure(
            "Requests", "Answered in a second.", units.RequestsPerSecond, f"sum(rate({requests}{{{HERE}}}[$__rate_interval]))"
        ),
        figure(
            "Server errors",
            "Share of the requests that end in a 5xx other than 503.",
            units.PercentUnit,
            f"""({_all(requests, ', status=~"5..", status!="503"')} or vector(0)) / {_all(requests)}""",
        ),
        figure(
            "Turned away",
            "Share of the requests that found the service full.",
            units.PercentUnit,
            f"""{_all("allocator_http_requests_rejected_total", ', reason="full"')} / {_all(requests)}""",
        ),
        figure("In flight", "Requests being answered now.", units.Short, f"sum(allocator_http_requests_in_flight{{{HERE}}})"),
        figure("Queued", "Requests that wait for a decision now.", units.Short, f"sum(allocator_http_requests_queued{{{HERE}}})"),
        figure("Pods", "Pods that answer.", units.Short, f"count(allocator_build_info{{{HERE}}})"),
        chart("Requests by route", "Answered in a second.", units.RequestsPerSecond, [rate(requests, "route")]),
        chart(
            "Latency",
            "From the first byte read to the answer.",
            units.Seconds,
            quantiles("allocator_http_request_duration_seconds", "route", select=', route=~"/v1/.*"', which=(0.5, 0.95, 0.99)),
        ),
        chart(
            "In flight and queued, by pod",
            "What the autoscaler may look at, and what waits behind it.",
            units.Short,
            [
                (f"sum by (pod) (allocator_http_requests_in_flight{{{HERE}}})", "{{pod}} in flight"),
                (f"sum by (pod) (allocator_http_requests_queued{{{HERE}}})", "{{pod}} queued"),
            ],
        ),
        chart(
            "Rejected: what was asked",
            "Answers that are a problem, by status: 4xx is the caller's, 503 is overload, other 5xx are ours.",
            units.RequestsPerSecond,
            [rate(requests, "status", select=', status=~"[45].."')],
            12,
        ),
        chart(
            "Rejected: who asked, and when",
            "Requests turned away before they were read.",
            units.RequestsPerSecond,
            [rate("allocator_http_requests_rejected_total", "reason")],
            12,
        ),
    ):
        board.with_panel(panel)

    even, _ = rate("allocator_skew_ratio_bucket", "decision, strategy", select=', le="1.05"')
    board.with_row(dashboard.Row("Decisions"))
    for panel in (
        chart(
            "Decisions", "Taken in a second.", units.RequestsPerSecond, [rate("allocator_skew_ratio_count", "decision, strategy")]
        ),
        chart(
            "Skew by decision",
            "Largest share ÷ mean share: 1 is perfectly even.",
            units.Short,
            quantiles("allocator_skew_ratio", "decision", which=(0.5, 0.95)),
        ),
        chart(
            "Skew by strategy",
            "The worst of twenty.",
            units.Short,
            quantiles("allocator_skew_ratio", "decision, strategy", which=(0.95,)),
        ),
        chart(
            "Even decisions",
            "Share of the decisions whose fullest part has at most 5 percent more than the mean.",
            units.PercentUnit,
            [(f"{even} / {rate(decisions, 'decision, strategy')[0]}", "{{decision}} {{strategy}}")],
        ),
        chart(
            "Movement",
            "Partitions that change owner, in a second.",
            units.Short,
            [rate("allocator_moved_partitions_sum", "decision, strategy")],
        ),
        chart(
            "Movement of a decision",
            "Partitions that change owner in one decision.",
            units.Short,
            quantiles("allocator_moved_partitions", "decision, strategy", which=(0.5, 0.95)),
        ),
        chart(
            "Time of a decision",
            "99 of 100 take less: the pure function alone.",
            units.Seconds,
            quantiles("allocator_decision_duration_seconds", "decision, strategy", select=', phase="compute"', which=(0.99,)),
        ),
        chart(
            "Time by phase",
            "Reading the request, deciding, writing the answer: seconds of every second.",
            units.Short,
            [rate("allocator_decision_duration_seconds_sum", "decision, phase")],
        ),
        chart(
            "Size of the questions",
            "95 of 100 are smaller.",
            units.Short,
            quantiles("allocator_items", "decision, item", which=(0.95,)),
        ),
    ):
        board.with_panel(panel)

    board.with_row(dashboard.Row("Groups and topics"))
    worst = f'topk(20, max by (decision, subject) (allocator_subject_skew_ratio{{{HERE}, subject=~"$subject"}}))'
    for panel in (
        chart(
            "Skew by group",
            "Latest skew of each group that a caller named.",
            units.Short,
            [(f"max by (subject) ({groups})", "{{subject}}")],
        ),
        chart(
            "Skew by topic",
            "Latest skew of each topic that a caller named: of its keys over partitions, or of its replicas over brokers.",
            units.Short,
            [(f"max by (decision, subject) ({topics})", "{{subject}} ({{decision}})")],
        ),
        ranking(
            "Least even",
            "Twenty at most.",
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
            [(f"allocator_worker_resident_memory_bytes{{{HERE}}}", "{{pod}} {{pid}}")],
        ),
        chart(
            "Named subjects left out",
            "Groups and topics beyond ALLOCATOR_MAX_SUBJECTS, in a second.",
            units.RequestsPerSecond,
            [(_all("allocator_subjects_dropped_total"), "left out")],
        ),
        ranking(
            "Versions",
            "What runs, and in how many pods.",
            f"count by (namespace, version, python_version) (allocator_build_info{{{HERE}}})",
            {"namespace": "namespace", "version": "version", "python_version": "Python", "Value": "pods"},
        ),
    ):
        board.with_panel(panel)
    return board.build()


class Infinity(Builder[Dataquery], Dataquery):
    """A question to the service by Grafana's Infinity data source: the body is posted, the answer's table comes as CSV."""

    def __init__(self, path: str, body: str, columns: Mapping[str, str]) -> None:
        """Columns : name → "string" or "number"."""
        self._path, self._body, self._columns = path, body, columns

    def build(self) -> Infinity:
        """Its own builder, as the generator's are."""
        return self

    def to_json(self) -> dict[str, Any]:
        """The query as the plug-in keeps it."""
        return {
            "refId": "A",
            "datasource": INFINITY,
            "type": "csv",
            "source": "url",
            "parser": "backend",
            "format": "table",
            "url": self._path,
            "url_options": {
                "method": "POST",
                "headers": [{"key": "Accept", "value": "text/csv"}],
                "params": [],
                "body_type": "raw",
                "body_content_type": "application/json",
                "data": self._body,
            },
            "csv_options": {"delimiter": ","},
            "root_selector": "",
            "columns": [{"selector": name, "text": name, "type": kind} for name, kind in self._columns.items()],
            "filters": [],
        }


def _input(name: str, label: str, default: str) -> dashboard.TextBoxVariable:
    return (
        dashboard.TextBoxVariable(name).label(label).default_value(default).current(VariableOption(text=default, value=default))
    )


def capacity() -> models.Dashboard:
    """What would be if: the service's own answers to what is typed at the top."""
    board = dashboard.Dashboard("Capacity of a topic").uid("partition-allocator-capacity").tags(["kafka"]).readonly()
    board.with_variable(dashboard.DatasourceVariable("datasource").label("Data source").type(INFINITY.type_val or ""))
    brokers = [{"broker_id": i, "rack_id": "abc"[i % 3]} for i in range(6)]
    members = [{"member_id": f"consumer-{i}"} for i in range(1, 5)]
    for name, label, default in (
        ("topic", "Topic", "orders"),
        ("partitions", "Partitions", "12"),
        ("replication", "Replication factor", "3"),
        ("placer", "Placer", "striped"),
        ("brokers", "Brokers (JSON)", json.dumps(brokers)),
        ("protocol", "Group protocol", "consumer"),
        ("assignor", "Assignor", "uniform"),
        ("members", "Consumers (JSON)", json.dumps(members)),
    ):
        board.with_variable(_input(name, label, default))

    placement = """{"placer": "$placer", "random_seed": 1, "topic_name": "$topic", "partitions_count": $partitions,
 "replication_factor": $replication, "brokers": $brokers}"""
    assignment = """{"group_protocol": "$protocol", "assignor": "$assignor",
 "topics": [{"topic_name": "$topic", "partitions_count": $partitions}], "members": $members}"""
    for title, about, query, span in (
        (
            "Which broker holds what",
            "The replicas of each partition, the leader first, as the placer would choose them.",
            Infinity(
                "/v1/replica-placements",
                placement,
                {"topic_name": "string", "partition_id": "number", "replicas": "string"},
            ),
            12,
        ),
        (
            "Which consumer gets what",
            "The member of each partition, as the assignor would choose it.",
            Infinity(
                "/v1/group-assignments",
                assignment,
                {"topic_name": "string", "partition_id": "number", "member_id": "string"},
            ),
            12,
        ),
    ):
        panel = table.Panel().title(title).description(about).datasource(INFINITY).span(span).height(18)
        board.with_panel(panel.with_target(query))
    return board.build()


def text(board: models.Dashboard) -> str:
    """A dashboard as Grafana reads it."""
    for number, panel in enumerate(board.panels or [], 1):
        panel.id_val = number
    return json.dumps(board, cls=JSONEncoder, indent=1, sort_keys=True) + "\n"


DASHBOARDS: Final = {"partition-allocator.json": service, "partition-allocator-capacity.json": capacity}
"""The files, and who writes them."""
