"""Plans of numbers of members as rows for the terminal, and what their columns mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from service.core.measures import CLOSEST
from service.report.numbers import duration, number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from service.cli.terminal import Cells
    from service.core.documents import Json


PLANS: Final = ("members", "pods", "worst", "idle", "drain", "moved", "standstill", "balanced", "limits")
TRAFFIC: Final = {"local_share": "own rack", "cost_per_month": "cost"}
"""The last columns of the plans of a group with racks, by the figure of ``zone_traffic``."""

POLICIES: Final = ("KEDA", "replicas", "members", "worst", "idle", "drain", "limits")
MOST_ROWS: Final = 40
"""Plans up to which each has a row; of more, those that gain, that of now and the recommended one."""


def columns(answer: Json) -> tuple[str, ...]:
    """The names of the columns of the table of plans."""
    return (*PLANS, *(TRAFFIC[figure] for figure in _known_traffic(answer)))


def _known_traffic(answer: Json) -> list[str]:
    traffic = [plan.get("zone_traffic", {}) for plan in answer["plans"]]
    return [figure for figure in TRAFFIC if any(each.get(figure) is not None for each in traffic)]


def plan_rows(answer: Json) -> list[Cells]:
    """The cells of the table of plans; ``*`` stands at a number that gains, ``now`` at that of now."""
    even = {plan["members_count"]: plan for plan in (answer["balanced"] or {}).get("plans", ())}
    shown = {*answer["worth_using"], answer["current_members_count"], answer["recommended"]}
    several, figures = len(answer["plans"]) <= MOST_ROWS, _known_traffic(answer)
    return [
        (*_row(answer, plan, even), *_traffic(plan, figures))
        for plan in answer["plans"]
        if several or plan["members_count"] in shown
    ]


def _row(answer: Json, plan: Json, even: dict[int, Json]) -> Cells:
    count, beside = plan["members_count"], even.get(plan["members_count"])
    marks = " *" * plan["gains"] + " now" * (count == answer["current_members_count"])
    idle_ms = plan["idle_partition_ms"]
    return (
        f"{count}{marks}",
        "" if plan["pods"] == count else str(plan["pods"]),
        _range(plan, "worst_load", number),
        str(plan["idle_members"] or ""),
        _range(plan, "drain_seconds", duration),
        number(plan["moved"]),
        "" if idle_ms is None else duration(idle_ms / 1000),
        "" if beside is None or answer["assignor"] == "balanced" else number(beside["worst_load"]),
        _limits(plan),
    )


def _range(plan: Json, name: str, written: Callable[[float], str]) -> str:
    """A figure, or what it is at least and at most."""
    least, most = plan[name], plan.get(f"{name}_at_most", plan[name])
    if least is None or most == least:
        return "" if least is None else written(least)
    return f"≥ {written(least)}" if most is None else f"{written(least)} to {written(most)}"


def _traffic(plan: Json, figures: list[str]) -> Cells:
    known = [plan.get("zone_traffic", {}).get(figure) for figure in figures]
    return tuple(map(number, known))


def _limits(plan: Json) -> str:
    if plan.get("unread_partitions"):
        return f"✗ {plan['unread_partitions']} unread"
    if not plan["meets"]:
        return ""
    broken = [limit.removeprefix("max_").removesuffix("_seconds") for limit, kept in plan["meets"].items() if kept is False]
    if not broken and None in plan["meets"].values():
        return "not known"
    return f"✗ {' '.join(broken)}" if broken else "✓"


def policy_rows(answer: Json) -> list[Cells]:
    """The cells of the table of what KEDA would choose; members are named if a pod has several."""
    threads = any(each["members_count"] != each["replicas"] for each in answer["policies"])
    return [
        (
            each["option"] or "default",
            number(each["replicas"]),
            number(each["members_count"]) if threads else "",
            *(("", "", "") if each["worst_load"] is None else _load(each)),
            _limits(each),
        )
        for each in answer["policies"]
    ]


def _load(each: Json) -> Cells:
    return _range(each, "worst_load", number), str(each["idle_members"] or ""), _range(each, "drain_seconds", duration)


def notes(answer: Json) -> Iterator[str]:
    """What the columns mean."""
    yield "* gains: the worst load is lower than with every smaller number."
    if any(plan["idle_partition_ms"] for plan in answer["plans"]):
        yield "Standstill: how long partitions have no reader on the way there, the sum over partitions."
    if any(plan["drain_seconds"] is not None for plan in answer["plans"]):
        yield "Drain: until the most loaded member has processed its lag, if no more records arrive."
    if _known_traffic(answer):
        yield f"{CLOSEST}, own rack: the share that can be read there. Cost: per month, of what then crosses racks."
