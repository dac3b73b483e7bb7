"""``python -m tests.support.record_timelines [NAME …]``: records ``tests/vectors/timelines``.

Each file has the ``request`` for ``POST /v1/group-rebalances``, with the member ids that broker and clients drew, and what the
broker has written and was asked. Three timelines at a time run on one broker, for about a minute.
"""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from typing import Any, Final

from tests.support.advisers import advising
from tests.support.broker import running_broker
from tests.support.live_groups import broker_properties, live, warm

MOST_AT_ONCE: Final = 3
FOLDER: Final = Path(__file__).parents[1] / "vectors" / "timelines"
TIMING: Final = {
    "session_timeout_ms": 6_000,
    "min_session_timeout_ms": 6_000,
    "heartbeat_interval_ms": 1_000,
    "rebalance_timeout_ms": 10_000,
    "initial_rebalance_delay_ms": 1_500,
    "metadata_max_age_ms": 3_000,
}
_TWO: Final = [{"member_id": "c1"}, {"member_id": "c2"}]
_STATIC: Final = [{"member_id": f"c{i}", "instance_id": f"i{i}"} for i in (1, 2, 3)]
_CHANGES: Final[list[dict[str, Any]]] = [
    {"at_ms": 8_000, "type": "member_joins", "member": {"member_id": "c3"}},
    {"at_ms": 14_000, "type": "member_crashes", "member_id": "c1"},
    {"at_ms": 26_000, "type": "member_leaves", "member_id": "c2"},
    {"at_ms": 31_000, "type": "partitions_added", "topic_name": "T0", "partitions_count": 8},
]
_RESTARTS: Final[list[dict[str, Any]]] = [
    {"at_ms": 8_000, "type": "member_restarts", "member_id": "c1", "down_ms": 2_000},
    {"at_ms": 14_000, "type": "member_restarts", "member_id": "c2", "down_ms": 11_000},
]
_SUBSCRIPTIONS: Final[list[dict[str, Any]]] = [
    {"at_ms": 8_000, "type": "subscription_changes", "member_id": "c2", "topic_names": ["T0", "T1"]},
    {"at_ms": 14_000, "type": "subscription_changes", "member_id": "c1", "topic_names": ["T0", "T1", "T2"]},
    {"at_ms": 20_000, "type": "topic_created", "topic": {"topic_name": "T2", "partitions_count": 3}},
]
_DELETES: Final[list[dict[str, Any]]] = [
    {"at_ms": 8_000, "type": "topic_deleted", "topic_name": "T1"},
    {"at_ms": 18_000, "type": "member_joins", "member": {"member_id": "c3"}},
]
_WAITS: Final[list[dict[str, Any]]] = [
    {"at_ms": 8_000, "type": "member_stalls", "member_id": "c3", "for_ms": 7_000},
    {"at_ms": 8_500, "type": "member_joins", "member": {"member_id": "c4"}},
    {"at_ms": 11_500, "type": "member_crashes", "member_id": "c2"},
]
"""A member crashes while it waits for another one to join."""
_STALLS: Final[list[dict[str, Any]]] = [
    {"at_ms": 8_000, "type": "member_stalls", "member_id": "c1", "for_ms": 4_000},
    {"at_ms": 8_500, "type": "member_joins", "member": {"member_id": "c3"}},
    {"at_ms": 20_000, "type": "member_stalls", "member_id": "c2", "for_ms": 14_000},
]
_POLLS: Final[list[dict[str, Any]]] = [
    {"at_ms": 12_000, "type": "member_joins", "member": {"member_id": "c3"}},
    {"at_ms": 25_000, "type": "member_leaves", "member_id": "c2"},
    {"at_ms": 38_000, "type": "member_joins", "member": {"member_id": "c4"}},
]
SLOW_POLLS: Final = {"poll_interval_ms": 1_500}
"""More than a heartbeat interval, and far less than the rebalance time-out."""
_ROLL: Final[list[dict[str, Any]]] = [{"at_ms": 8_000, "type": "rolling_restart", "down_ms": 2_000, "pause_ms": 3_000}]


def _question(protocol: str, assignor: str, members: list[Any], events: list[Any], *counts: int) -> dict[str, Any]:
    return {
        "group_protocol": protocol,
        "assignor": assignor,
        "topics": [{"topic_name": f"T{i}", "partitions_count": count} for i, count in enumerate(counts)],
        "members": members,
        "events": events,
    }


def _bounces(**change: Any) -> list[dict[str, Any]]:
    return [{"at_ms": 8_000, "type": "assignor_changes", **change, "down_ms": 1_700, "pause_ms": 3_000}]


_JOINS: Final[list[dict[str, Any]]] = [
    {"at_ms": 1_000, "type": "member_joins", "member": {"member_id": "c2"}},
    {"at_ms": 8_000, "type": "member_joins", "member": {"member_id": "c3"}},
]
"""The second member joins between two heartbeats of the first."""
_FIRST: Final = [{**member, "topic_names": ["T0"]} for member in _TWO]
TIMELINES: Final[dict[str, dict[str, Any]]] = {
    **{
        f"changes-{name}": _question("classic", name, _TWO, _CHANGES, 6)
        for name in ("range", "sticky", "cooperative-sticky", "balanced")
    },
    "changes-consumer": _question("consumer", "uniform", _TWO, _CHANGES, 6),
    **{f"static-{name}": _question("classic", name, _STATIC, _RESTARTS, 7) for name in ("range", "cooperative-sticky")},
    "changes-share": _question("share", "simple", _TWO, [event for event in _CHANGES if event["type"] != "member_crashes"], 6),
    "static-consumer": _question("consumer", "uniform", _STATIC, _RESTARTS, 7),
    **{
        f"subscriptions-{name}": _question("classic", name, _FIRST, _SUBSCRIPTIONS, 4, 5)
        for name in ("range", "cooperative-sticky")
    },
    **{f"deletes-{name}": _question("classic", name, _TWO, _DELETES, 4, 4) for name in ("range", "cooperative-sticky")},
    "waits-cooperative-sticky": _question("classic", "cooperative-sticky", [*_TWO, {"member_id": "c3"}], _WAITS, 12),
    "subscriptions-consumer": _question("consumer", "uniform", _FIRST, _SUBSCRIPTIONS, 4, 5),
    **{f"stalls-{name}": _question("classic", name, _TWO, _STALLS, 6) for name in ("range", "cooperative-sticky")},
    "stalls-consumer": _question("consumer", "uniform", _TWO, _STALLS, 6),
    **{f"rolling-{name}": _question("classic", name, _TWO, _ROLL, 6) for name in ("range", "cooperative-sticky")},
    "rolling-consumer": _question("consumer", "range", _TWO, _ROLL, 6),
    "bounces": _question("classic", "range", _TWO, _bounces(assignors=["cooperative-sticky"]), 6),
    "bounces-balanced": _question("classic", "cooperative-sticky", _TWO, _bounces(assignors=["balanced"]), 6),
    "static-balanced": _question("classic", "balanced", _STATIC, _RESTARTS, 7),
    "static-migration-range": _question("classic", "range", _STATIC, _bounces(group_protocol="consumer"), 7),
    "static-migration-sticky": _question("classic", "cooperative-sticky", _STATIC, _bounces(group_protocol="consumer"), 7),
    **{f"polls-{name}": _question("classic", name, _TWO, _POLLS, 6) for name in ("range", "cooperative-sticky", "balanced")},
    "polls-consumer": _question("consumer", "uniform", _TWO, _POLLS, 6),
    "joins-share": _question("share", "simple", _TWO[:1], _JOINS, 6),
    "migration": _question("classic", "cooperative-sticky", _TWO, _bounces(group_protocol="consumer"), 6),
}


def question(name: str, group_id: str) -> dict[str, Any]:
    """The request of a timeline; its topics are those of this group alone."""
    text = json.dumps(TIMELINES[name]).replace('"T', f'"{group_id}-')
    timing = {**TIMING, **SLOW_POLLS} if name.startswith("polls") else TIMING
    return {"group_id": group_id, "timing": timing, **json.loads(text)}


def main(names: list[str]) -> None:
    """Record these timelines, or all."""
    names = names or list(TIMELINES)
    for start in range(0, len(names), MOST_AT_ONCE):
        _record(names[start : start + MOST_AT_ONCE])


def _record(names: list[str]) -> None:
    answers: dict[str, Any] = {}

    def record(name: str) -> None:
        request = question(name, name)
        answers[name] = {"request": request, **live(broker, request, adviser.url)}

    with running_broker(*broker_properties(TIMING)) as broker, advising() as adviser:
        warm(broker)
        threads = [threading.Thread(target=record, args=[name]) for name in names]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for name, answer in answers.items():
            lines = [f'"{key}": {json.dumps(answer[key])}' for key in ("request", "member_ids")]
            rows = [
                f'"{key}": [\n' + ",\n".join(json.dumps(row) for row in answer[key]) + "\n]"
                for key in ("records", "log", "requests", "stops", "reads")
                if answer[key]
            ]
            (FOLDER / f"{name}.json").write_text("{\n" + ",\n".join(lines + rows) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
