"""Plans of numbers of members as rows and sentences, for the terminal and for pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from service.core.printable import counted
from service.report.numbers import duration, number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from service.cli.terminal import Cells
    from service.core.documents import Json


PLANS: Final = ("members", "pods", "worst", "idle", "drain", "moved", "standstill", "balanced", "limits")
TRAFFIC: Final = {"local_share": "own rack", "cost_per_month": "cost"}
"""The last columns of the plans of a group with racks, by the figure of ``zone_traffic``."""

POLICIES: Final = ("KEDA", "replicas", "members", "worst", "idle", "drain", "limits")
MOST_ROWS: Final = 40
"""Plans up to which each has a row; of more, those that gain, that of now and the recommended one."""

LONGEST_OPTION: Final = 24

NAMED: Final = 12
"""Numbers that a sentence lists."""


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
        number(plan["worst_load"]),
        str(plan["idle_members"] or ""),
        _drain(plan),
        number(plan["moved"]),
        "" if idle_ms is None else duration(idle_ms / 1000),
        "" if beside is None or answer["assignor"] == "balanced" else number(beside["worst_load"]),
        _limits(plan),
    )


def _traffic(plan: Json, figures: list[str]) -> Cells:
    known = [plan.get("zone_traffic", {}).get(figure) for figure in figures]
    return tuple(map(number, known))


def _drain(plan: Json) -> str:
    return "" if plan["drain_seconds"] is None else duration(plan["drain_seconds"])


def _limits(plan: Json) -> str:
    if plan.get("unread_partitions"):
        return f"✗ {plan['unread_partitions']} unread"
    if not plan["meets"]:
        return ""
    broken = [limit.removeprefix("max_").removesuffix("_seconds") for limit, kept in plan["meets"].items() if not kept]
    return f"✗ {' '.join(broken)}" if broken else "✓"


def policy_rows(answer: Json) -> list[Cells]:
    """The cells of the table of what KEDA would choose."""
    return [
        (
            _cut(each["option"] or "default"),
            number(each["replicas"]),
            number(each["members_count"]),
            *(("", "", "") if each["worst_load"] is None else _load(each)),
            _limits(each),
        )
        for each in answer["policies"]
    ]


def _cut(option: str) -> str:
    return option if len(option) <= LONGEST_OPTION else option[: LONGEST_OPTION - 1] + "…"


def _load(each: Json) -> Cells:
    return number(each["worst_load"]), str(each["idle_members"] or ""), _drain(each)


def verdict(answer: Json) -> str:
    """How many members the group needs, in a sentence."""
    now, plans = answer["current_members_count"], answer["plans"]
    if answer["recommended"] is not None:
        recommended, of_now = answer["recommended"], (answer["current"] or {}).get("meets", {})
        even = (answer["balanced"] or {}).get("recommended")
        better = f" With balanced {even} would do." if even is not None and even < recommended else ""
        state = (
            f"; now there are {now}, {'also' if all(of_now.values()) else 'not'} within them"
            if now and now != recommended
            else ""
        )
        return (
            f"{counted(recommended, 'member')} {'are' if recommended > 1 else 'is'} the fewest within the limits{state}.{better}"
        )
    if answer["out_of_reach"]:
        return "No number of members is within the limits."
    if any(plan["meets"] for plan in plans):
        return "No number of members is within all limits at once."
    least = min(plan["worst_load"] for plan in plans)
    enough = next(plan["members_count"] for plan in plans if plan["worst_load"] <= least * (1 + 1e-9))
    below = [count for count in answer["worth_using"] if count < now]
    same = (
        f" The current {now} members are no better than {below[-1]}."
        if now and now not in answer["worth_using"] and below
        else ""
    )
    listed = ", ".join(map(str, answer["worth_using"][:NAMED])) + (" …" if len(answer["worth_using"]) > NAMED else "")
    if answer["group_protocol"] == "share":
        return f"Worth using: {listed}. More members gain as well: several of them read a partition of a share group.{same}"
    return f"Worth using: {listed}. More than {counted(enough, 'member')} gain nothing.{same}"


def notes(answer: Json) -> Iterator[str]:
    """What to know beside the tables."""
    for limit, reason in answer["out_of_reach"].items():
        yield f"{limit}: {reason}"
    yield "* gains: the worst load is lower than with every smaller number."
    if any(plan["idle_partition_ms"] for plan in answer["plans"]):
        yield "Standstill: how long partitions have no reader on the way there, the sum over partitions."
    if any(plan["drain_seconds"] is not None for plan in answer["plans"]):
        yield "Drain: until the most loaded member has processed its lag, if no more records arrive."
    if _known_traffic(answer):
        yield "Own rack: the share that is read on the reader's rack. Cost: per month, of what crosses racks."
    yield from answer["warnings"]
