"""Queries, panels and variables of the dashboards."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from grafana_foundation_sdk.builders import common, dashboard, prometheus, stat, table, timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.common import LegendDisplayMode, LegendPlacement
from grafana_foundation_sdk.models.dashboard import (
    DataSourceRef,
    DataTransformerConfig,
    VariableOption,
    VariableRefresh,
    VariableSort,
)
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grafana_foundation_sdk.models import dashboard as models

PROMETHEUS: Final = DataSourceRef("prometheus", "$datasource")
HERE: Final = 'namespace=~"$namespace"'
"""The label matcher of every expression."""

Query = tuple[str, str]
"""An expression, and the legend of its series."""


def quantiles(histogram: str, by: str, *, select: str = "", which: tuple[float, ...] = (0.5, 0.99)) -> list[Query]:
    """Quantiles of a histogram, one series per combination of the labels ``by``."""
    labels = ", ".join(f"{{{{{label.strip()}}}}}" for label in by.split(","))
    return [
        (
            f"histogram_quantile({q}, sum by ({by}, le) (rate({histogram}_bucket{{{HERE}{select}}}[$__rate_interval])))",
            f"{labels} p{q * 100:g}",
        )
        for q in which
    ]


def rate(counter: str, by: str, *, select: str = "") -> Query:
    """Rate of a counter, one series per combination of the labels ``by``."""
    labels = " ".join(f"{{{{{label.strip()}}}}}" for label in by.split(","))
    return f"sum by ({by}) (rate({counter}{{{HERE}{select}}}[$__rate_interval]))", labels


def total(counter: str, select: str = "") -> str:
    """Rate of a counter, summed over all series."""
    return f"sum(rate({counter}{{{HERE}{select}}}[$__rate_interval]))"


def chart(title: str, about: str, unit: str, queries: list[Query], span: int = 8) -> timeseries.Panel:
    """Lines over time."""
    legend = common.VizLegendOptions().display_mode(LegendDisplayMode.TABLE).placement(LegendPlacement.BOTTOM).show_legend(True)
    panel = (
        timeseries.Panel().title(title).description(about).datasource(PROMETHEUS).unit(unit).span(span).height(8).legend(legend)
    )
    for query in targets(queries):
        panel.with_target(query)
    return panel.legend(legend).min(0).fill_opacity(8)


def figure(title: str, about: str, unit: str, query: str, span: int = 4) -> stat.Panel:
    """One number."""
    last = common.ReduceDataOptions().calcs(["lastNotNull"])
    panel = stat.Panel().title(title).description(about).datasource(PROMETHEUS).unit(unit).span(span).height(4)
    return panel.reduce_options(last).with_target(targets([(query, "")])[0])


def ranking(title: str, about: str, query: str, columns: Mapping[str, str], span: int = 8) -> table.Panel:
    """An instant query as a table. columns : label → column heading"""
    target = prometheus.Dataquery().expr(query).format(PromQueryFormat.TABLE).instant().ref_id("A").datasource(PROMETHEUS)
    order = {
        "indexByName": {name: i for i, name in enumerate(columns)},
        "renameByName": dict(columns),
        "excludeByName": {"Time": True},
    }
    panel = table.Panel().title(title).description(about).datasource(PROMETHEUS).span(span).height(8)
    return panel.with_target(target).with_transformation(DataTransformerConfig(id_val="organize", options=order))


def targets(queries: list[Query]) -> list[prometheus.Dataquery]:
    """The queries of a panel."""
    return [
        prometheus.Dataquery().expr(expression).legend_format(legend or "__auto").ref_id(chr(ord("A") + i)).datasource(PROMETHEUS)
        for i, (expression, legend) in enumerate(queries)
    ]


def choice(name: str, label: str, query: str) -> dashboard.QueryVariable:
    """A variable with values from Prometheus; all are selected by default."""
    variable = dashboard.QueryVariable(name).label(label).query(query).datasource(PROMETHEUS).multi(True).include_all(True)
    variable.all_value(".*").current(VariableOption(text="All", value="$__all"))
    return variable.refresh(VariableRefresh.ON_TIME_RANGE_CHANGED).sort(VariableSort.ALPHABETICAL_ASC)


def selection(name: str, label: str, values: tuple[str, ...]) -> dashboard.CustomVariable:
    """A list of values, of which the first is selected."""
    variable = dashboard.CustomVariable(name).label(label).values(", ".join(values))
    return variable.current(VariableOption(text=values[0], value=values[0]))


def text_input(name: str, label: str, default: str) -> dashboard.TextBoxVariable:
    """A text box."""
    return (
        dashboard.TextBoxVariable(name).label(label).default_value(default).current(VariableOption(text=default, value=default))
    )


def text(board: models.Dashboard) -> str:
    """The dashboard's JSON."""
    for number, panel in enumerate(board.panels or [], 1):
        panel.id_val = number
    return json.dumps(board, cls=JSONEncoder, indent=1, sort_keys=True) + "\n"
