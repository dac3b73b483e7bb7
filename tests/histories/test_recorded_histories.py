"""Real groups whose script is the truth: rebalances are found, their causes right or unknown, standstill is within its bounds."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Final

import pytest

from partition_allocator import Rejected, history
from tests.support.recordings import RUNS, Group, at_ms, groups, kind_of, shown

KINDS: Final = ("broker", "records", "formatted", "clients", "snapshots")
SOURCES: Final = (*((kind,) for kind in KINDS[:-1]), ("scala",), ("broker", "scala"), ("broker", "clients"), KINDS)

ALSO: Final = {
    "leave": {"leave_or_expiry"},
    "session_expired": {"leave_or_expiry"},
    "poll_interval_exceeded": {"leave", "leave_or_expiry"},
    "new_partitions": {"leader_metadata", "topic_metadata", "subscription_or_topics"},
    "subscription": {"leader_metadata", "subscription_or_topics"},
}
"""Cause of the script → what is true of it, too, where a source tells less."""
UNDER_WAY: Final = {"unknown", "cooperative_revocation"}
"""What a rebalance may come from besides."""
LATE_MS: Final = 150
"""A client revokes so long before its coordinator hears of it, and is told so long after it."""


def ask(group_id: str, sources: dict[str, str]) -> dict[str, Any]:
    """The answer of ``POST /v1/group-histories``."""
    answer: dict[str, Any] = history(group_id, *sources.values(), names=list(sources))
    return answer


@cache
def recorded() -> dict[str, Group]:
    """By run and group."""
    return {f"{run}-{group.group_id}": group for run in RUNS for group in groups(run)}


def of_kinds(group: Group, *kinds: str) -> dict[str, str]:
    return {name: text for name, text in group.sources.items() if kind_of(name) in kinds}


def every() -> list[Any]:
    return [
        pytest.param(group, kinds, id=f"{name}-{'+'.join(kinds)}")
        for name, group in recorded().items()
        for kinds in SOURCES
        if shown(group.group_id, of_kinds(group, *kinds))
    ]


@pytest.mark.parametrize(("group", "kinds"), every())
def test_what_is_told_of_a_recorded_group_is_true(group: Group, kinds: tuple[str, ...]) -> None:
    """From brokers' logs, from records in two forms, from the logs of clients, and from all of these together."""
    answer = judge(group, of_kinds(group, *kinds))
    if kinds == KINDS:
        told = [[cause["kind"] for cause in each["causes"]] for each in answer["rebalances"]]
        assert all(told), "every cause is told"
        assert not any("unknown" in each for each in told), "by some source"


def judge(group: Group, sources: dict[str, str]) -> dict[str, Any]:
    """Hold what is told of a group against what its script did; returns the answer."""
    answer = ask(group.group_id, sources)
    found = {each["number"]: each for each in answer["rebalances"]}
    assert found.keys() >= shown(group.group_id, sources), "every rebalance is found"
    assert found.keys() <= {0, *group.began}, "none is invented"
    for number, rebalance in found.items():
        check_causes(group, number, rebalance)
        check_standstill(group, number, rebalance)
    check_events(group, found)
    return answer


def check_causes(group: Group, number: int, rebalance: dict[str, Any]) -> None:
    """Each cause is one of the script's, or one that follows from them, and names the member that did it."""
    began = group.began[number]
    ended = max(began, group.ended.get(number) or group.began.get(number + 1, began))
    before = [event for event in group.events if at_ms(event) <= began]
    events = [*before[-1:], *(event for event in group.events if began < at_ms(event) <= ended)]
    for cause in rebalance["causes"]:
        if cause["kind"] in UNDER_WAY:
            continue
        said = (group.run, number, cause["sentence"], [event["event"] for event in events])
        doing = [event for event in events if any(cause["kind"] in {one, *ALSO.get(one, ())} for one in event["causes"])]
        assert doing, said
        members = {event["member"] for event in doing if "member" in event}
        assert not (members and cause["members"]) or any(group.names(one) & set(cause["members"]) for one in members), said


def check_events(group: Group, found: dict[int, dict[str, Any]]) -> None:
    """What the script did to cause a rebalance is told, unless the cause of one then is unknown, or one is not told of."""
    for event, following in zip(group.events, group.events[1:], strict=False):
        numbers = {number for number, at in group.began.items() if at_ms(event) <= at < at_ms(following)}
        if not numbers or numbers - found.keys():
            continue
        told = {cause["kind"] for number in numbers for cause in found[number]["causes"] or [{"kind": "unknown"}]}
        for cause in event["causes"]:
            assert told & {"unknown", cause, *ALSO.get(cause, ())}, (group.run, event, told)


def check_standstill(group: Group, number: int, rebalance: dict[str, Any]) -> None:
    """The bounds contain what the listeners were told."""
    least, most = rebalance["standstill"]["least_ms"], rebalance["standstill"]["most_ms"]
    lasted = group.standstill(number)
    said = (group.run, number, rebalance["standstill"], lasted)
    assert least is None or least <= lasted + LATE_MS, said
    assert most is None or lasted <= most + LATE_MS, said


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("java-consumer-billing", 5),
        ("java-consumer-changes-payments", 4),
        ("java-cooperative-rolling-payments", 6),
        ("librdkafka-cooperative-payments", 4),
        ("librdkafka-range-leaders-audit", 4),
    ],
)
def test_the_log_of_a_member_tells_how_long_it_had_not_polled(name: str, number: int) -> None:
    """It closed, or exceeded its poll interval, which its coordinator is not told. That the bound is true, others test."""
    group = recorded()[name]
    bounds = {each["number"]: each["standstill"]["most_ms"] for each in ask(group.group_id, group.sources)["rebalances"]}
    assert bounds[number] is not None
    alone = ask(group.group_id, of_kinds(group, "broker", "records"))["rebalances"]
    assert (
        name.startswith("java-cooperative") or {each["number"]: each["standstill"]["most_ms"] for each in alone}[number] is None
    )


CUT: Final = ("java-range-orders", "java-consumer-billing", "librdkafka-cooperative-payments", "old-two-groups-orders-eu")


@pytest.mark.parametrize("part", [0.3, 0.6, 0.9])
@pytest.mark.parametrize("name", CUT)
def test_sources_that_are_cut_tell_what_is_there(name: str, part: float) -> None:
    """Each is cut in the middle of a line; what is before, and what is after."""
    group = recorded()[name]
    cut = {each: (text, int(part * len(text))) for each, text in group.sources.items()}
    for sources in ({each: text[:at] for each, (text, at) in cut.items()}, {each: text[at:] for each, (text, at) in cut.items()}):
        for kinds in (("broker",), ("records",), KINDS):
            chosen = {each: text for each, text in sources.items() if kind_of(each) in kinds}
            if shown(group.group_id, chosen):
                judge(group, chosen)


def told(answer: dict[str, Any], *parts: str) -> list[Any]:
    """What is told of each rebalance, without the lines that say so."""
    whole = ("number", "began_at", "ended_at", "before", "after", "moves", "standstill")
    rows = [{part: each[part] for part in parts or whole} for each in answer["rebalances"]]
    return [
        {**row, "causes": [(one["kind"], one["members"]) for one in each["causes"]]}
        for row, each in zip(rows, answer["rebalances"], strict=True)
    ]


@pytest.mark.parametrize("name", CUT)
def test_rotated_files_in_any_order_tell_what_the_whole_log_tells(name: str) -> None:
    """The second third of a log, the last, and the first."""
    group = recorded()[name]
    lines = group.sources["broker.log"].splitlines(keepends=True)
    third = len(lines) // 3
    parts = [lines[third : 2 * third], lines[2 * third :], lines[:third]]
    rotated = {f"broker.log.{i}": "".join(part) for i, part in enumerate(parts)}
    assert told(ask(group.group_id, rotated)) == told(ask(group.group_id, of_kinds(group, "broker")))


def shifted(log: str, hours: int) -> str:
    """A log by a clock some hours ahead."""

    def later(match: re.Match[str]) -> str:
        at = datetime.strptime(match[1], "%Y-%m-%d %H:%M:%S") + timedelta(hours=hours)  # noqa: DTZ007 - it has none
        return f"[{at:%Y-%m-%d %H:%M:%S}"

    return re.sub(r"^\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)", later, log, flags=re.MULTILINE)


@pytest.mark.parametrize("name", ["java-range-orders", "librdkafka-cooperative-payments", "failover-classic-orders-a"])
def test_logs_of_other_time_zones_are_aligned_by_the_records(name: str) -> None:
    """A broker's clock is two hours ahead of UTC: the answer is in UTC, and right."""
    group = recorded()[name]
    sources = of_kinds(group, "broker", "records")
    other = {each: shifted(text, 2) if kind_of(each) == "broker" else text for each, text in sources.items()}
    for one, another in zip(told(judge(group, sources)), told(judge(group, other)), strict=True):
        assert one["causes"] == another["causes"]
        times = [datetime.fromisoformat(each["ended_at"]) for each in (one, another) if each["ended_at"]]
        assert not times or max(times) - min(times) < timedelta(seconds=1), (one, another)


def test_a_group_of_which_nothing_is_told_is_not_taken_for_another() -> None:
    """Its name begins like those of groups that are."""
    with pytest.raises(Rejected, match="They tell of orders and orders-eu"):
        ask("order", of_kinds(recorded()["old-two-groups-orders"], "broker", "records"))


def test_only_sources_that_tell_nothing_are_said_to_tell_of_others() -> None:
    """The log of e2 names no group; the broker's tells of both."""
    group = recorded()["old-two-groups-orders-eu"]
    assert "Nothing in e2.log tells what happened to this group." in ask(group.group_id, group.sources)["warnings"]


def test_times_without_a_date_get_that_of_the_other_sources() -> None:
    """Logback's layout prints the time of day."""
    group = recorded()["java-comes-and-goes-payments"]
    warnings = ask(group.group_id, of_kinds(group, "broker", "clients"))["warnings"]
    assert "The times of c1.log have no date: they begin on 2026-11-29, by 9 shared events, which agree to 59 ms." in warnings


def test_lines_without_times_tell_what_came_after_what() -> None:
    """A log that is cut to its messages."""
    group = recorded()["java-range-orders"]
    log = re.sub(r"^\[.*?\] ", "", group.sources["broker.log"], flags=re.MULTILINE)
    answer = judge(group, {"broker.log": log})
    assert answer["warnings"] == ["The lines of broker.log have no time."]
    assert [each["standstill"]["most_ms"] for each in answer["rebalances"]] == [0, None, None, None, None]


def test_the_conclusion_calls_members_what_they_are_called() -> None:
    """In capitals, too."""
    group = recorded()["java-comes-and-goes-payments"]
    log = (
        group.sources["broker.log"].replace(" c3-", " Basket-B3-").replace("(c3-", "(Basket-B3-").replace(": c3-", ": Basket-B3-")
    )
    assert "by one member, Basket-B3," in ask(group.group_id, {"broker.log": log})["conclusion"]
