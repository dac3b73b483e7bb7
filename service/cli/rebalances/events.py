"""Options of ``rebalances`` for what happens to a group: ``--crash c1@60s``, ``--rolling-restart 5s/10s@2m``.

Each is ``WHAT@TIME``; parts of WHAT are separated by a slash. Without ``@TIME`` an event happens at 1m. A name with an ``@``
needs a time.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import click

from service.cli.options import TOPIC, all_of
from service.core.documents import Json
from service.parameters.types import DURATION, milliseconds
from service.planner.member_ids import client_id_of

DEFAULT_AT: Final = 60_000
"""When an event without a time happens, in milliseconds."""


class EventType(click.ParamType[Any]):
    """``WHAT@TIME``, an event of the request body. read : WHAT → its fields, or ValueError"""

    name = "event"

    def __init__(self, kind: str, form: str, read: Callable[[str], Json]) -> None:
        self.kind, self.form, self.read = kind, form, read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Json:
        """The event."""
        if isinstance(value, dict):
            return value
        before, at, after = value.rpartition("@")
        try:
            what, at_ms = (before, milliseconds(after)) if at else (value, DEFAULT_AT)
            return {"at_ms": at_ms, "type": self.kind, **self.read(what)}
        except (ValueError, click.BadParameter) as error:
            reason = f" {error}." if type(error) is ValueError and error.args else ""
            self.fail(f"{value!r} is not of the form {self.form}[@TIME].{reason}", param, ctx)


def _member(name: str) -> Json:
    if not name:
        raise ValueError
    return {"member_id": name}


def _member_for(name_of_duration: str) -> Callable[[str], Json]:
    """NAME/DURATION."""

    def read(text: str) -> Json:
        name, _, duration = text.rpartition("/")
        return {**_member(name), name_of_duration: milliseconds(duration)}

    return read


def _pauses(text: str) -> Json:
    down, slash, pause = text.partition("/")
    if not slash:
        raise ValueError
    return {"down_ms": milliseconds(down), "pause_ms": milliseconds(pause)}


def _change(name: str) -> Callable[[str], Json]:
    """NAME[/DOWN/PAUSE] of an assignor or a protocol."""

    def read(text: str) -> Json:
        new, slash, pauses = text.partition("/")
        if not new:
            raise ValueError
        return {name: [new] if name == "assignors" else new, **(_pauses(pauses) if slash else {})}

    return read


def _scaled(text: str) -> Json:
    if not re.fullmatch("[0-9]{1,6}", text):
        raise ValueError
    return {"members_count": int(text)}


def _subscription(text: str) -> Json:
    name, slash, topics = text.rpartition("/")
    if not slash:
        raise ValueError
    return {**_member(name), "topic_names": [topic for topic in topics.split(",") if topic]}


def _topic(text: str) -> Json:
    name, count = TOPIC.convert(text, None, None)
    return {"topic_name": name, "partitions_count": count}


def _named_topic(text: str) -> Json:
    if not text:
        raise ValueError
    return {"topic_name": text}


_OPTIONS: Final = (
    ("--join", "NAME", "member_joins", lambda text: {"member": _member(text)}, "A member joins."),
    ("--leave", "NAME", "member_leaves", _member, "A member closes and leaves."),
    ("--crash", "NAME", "member_crashes", _member, "A member ends without leaving."),
    ("--stall", "NAME/TIME", "member_stalls", _member_for("for_ms"), "A member does not poll for a time: c1/6m."),
    ("--restart", "NAME/DOWN", "member_restarts", _member_for("down_ms"), "A member closes, and starts again: c1/5s."),
    ("--rolling-restart", "DOWN/PAUSE", "rolling_restart", _pauses, "All members restart, one after the other: 5s/10s."),
    ("--scale", "MEMBERS", "scales", _scaled, "Members start or close until the group has this many: 8."),
    ("--subscribe", "NAME/TOPIC,…", "subscription_changes", _subscription, "A member subscribes to other topics."),
    ("--add-partitions", "TOPIC:COUNT", "partitions_added", _topic, "A topic gets more partitions: orders:24."),
    ("--create-topic", "TOPIC:COUNT", "topic_created", lambda text: {"topic": _topic(text)}, "A topic is created."),
    ("--delete-topic", "TOPIC", "topic_deleted", _named_topic, "A topic is deleted."),
    ("--change-assignor", "NAME[/DOWN/PAUSE]", "assignor_changes", _change("assignors"), "Rolling restarts to another assignor."),
    (
        "--change-protocol", "NAME[/DOWN/PAUSE]", "assignor_changes", _change("group_protocol"),
        "Rolling restarts to another protocol.",
    ),
)  # fmt: skip
"""Option, form of WHAT, type of the event, reader of WHAT, help."""

_TIMINGS: Final = (
    (
        "--poll-interval",
        "poll_interval_ms",
        "How long members process between two polls; they notice a rebalance when they poll.",
    ),
    ("--session-timeout", "session_timeout_ms", "session.timeout.ms, or that of the group."),
    ("--heartbeat-interval", "heartbeat_interval_ms", "heartbeat.interval.ms, or that of the group."),
    ("--rebalance-timeout", "rebalance_timeout_ms", "max.poll.interval.ms."),
)
"""Option, field of ``timing``, help."""


def _parameter(name: str) -> str:
    return "event" + name.replace("-", "_")


OPTIONS: Final = all_of(
    *(
        click.option(name, _parameter(name), type=EventType(kind, form, read), multiple=True, metavar=f"{form}[@TIME]", help=text)
        for name, form, kind, read, text in _OPTIONS
    ),
    *(click.option(name, timing, type=DURATION, metavar="TIME", help=text) for name, timing, text in _TIMINGS),
)
"""The options of events and timings of a command, which gets them by ``events_of`` and ``timing_of``."""


def events_of(values: Mapping[str, Any]) -> list[Json]:
    """The events of the options, in the order of time."""
    events = [event for name, *_ in _OPTIONS for event in values[_parameter(name)]]
    return sorted(events, key=lambda event: int(event["at_ms"]))


def timing_of(values: Mapping[str, Any]) -> Json:
    """The fields of ``timing`` that options give."""
    return {field: values[field] for _, field, _ in _TIMINGS if values[field] is not None}


def named(events: Iterable[Json], members: Sequence[Json]) -> list[Json]:
    """The events with whole member ids where they have the beginning of one. Raises UsageError for that of several members.

    In a group whose ids Kafka has drawn, a member that joins is only called what the option says; its id is drawn, too.
    """
    events, ids = list(events), [str(member.get("member_id")) for member in members]
    is_drawn = any(client_id_of(one) is not None for one in ids)
    joins = {event["member"]["member_id"]: event for event in events if "member" in event}
    names = {name for name in joins if is_drawn and client_id_of(name) is None and name not in ids}
    return [
        {**event, "member": {"member_name": event["member"]["member_id"]}}
        if event.get("member", {}).get("member_id") in names
        else {**event, "member_id": _whole(event["member_id"], [*ids, *joins])}
        if "member_id" in event
        else event
        for event in events
    ]


def _whole(name: str, ids: Sequence[str]) -> str:
    """The id that this is or begins; the name itself if no id does, as that of a member that joins later."""
    if name in ids:
        return name
    numbered = re.fullmatch(r"c0*([1-9][0-9]*)", name)
    same = [one for one in ids if numbered and re.fullmatch(rf"c0*{numbered[1]}", one)]
    begun = same or [one for one in ids if one.startswith(name)]
    if len(begun) > 1:
        raise click.UsageError(f"Several members have an id that begins with {name!r}: {', '.join(begun[:3])}.")
    return begun[0] if begun else name
