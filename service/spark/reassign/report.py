"""The report of ``reassign``."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from service.core.measures import spread
from service.spark.report import COLORS, Figure, Figures, Report, Section, Table, chart, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from service.core.model import Ragged
    from service.core.reassignments.model import Brokers


def load_of(brokers: Brokers, replicas: Ragged) -> dict[str, Any]:
    """Replicas and leaders of each broker, and how even they are over the usable ones."""
    load: dict[str, Any] = {"broker_ids": brokers.cluster.broker_ids}
    for name, values in (("replicas", replicas.values), ("leaders", replicas.values[replicas.offsets[:-1]])):
        counts = np.bincount(values, minlength=len(brokers))
        load[name] = {"counts": counts, **asdict(spread(counts[brokers.usable]))}
    return load


def report_of(summary: dict[str, Any], source: str) -> Report:
    """The plan at a glance, and the brokers before and after."""
    moves, before, after = summary["moves"], summary["before"], summary["after"]
    figures = Figures(
        (
            Figure("replicas to copy", number(moves["replicas"])),
            Figure("fewest possible", number(moves["lower_bound"])),
            Figure("leaders to change", number(moves["leaders"])),
            Figure("batches", number(summary["batches"])),
        )
    )
    rows = [
        (
            name,
            f"{before[name]['skew']:.3f}",
            f"{after[name]['skew']:.3f}",
            number(after[name]["min"]),
            number(after[name]["max"]),
        )
        for name in ("replicas", "leaders")
    ]
    sections = (
        Section("At a glance", (figures, Table(("of brokers", "skew now", "skew after", "least", "most"), rows))),
        Section("Replicas of each broker", (chart(lambda axes: _brokers(axes, before, after)),)),
    )
    return Report("Reassign", source, sections)


def _brokers(axes: Axes, before: dict[str, Any], after: dict[str, Any]) -> None:
    at = np.arange(len(before["broker_ids"]))
    axes.bar(at - 0.2, before["replicas"]["counts"], width=0.4, color=COLORS[1], label="now")
    axes.bar(at + 0.2, after["replicas"]["counts"], width=0.4, color=COLORS[0], label="after")
    axes.set_xlabel("broker, in the order of the table")
    axes.set_ylabel("replicas")
    axes.grid(axis="x", visible=False)
    axes.legend(loc="lower right")
