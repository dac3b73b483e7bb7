"""The rebalances of a group as rows, for the terminal and for pages, and the timings that were taken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from service.cli.assigned import assignment_rows, short_names
from service.decisions.rebalances.conclusions import seconds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from service.cli.terminal import Cells
    from service.core.documents import Json


COLUMNS: Final = ("at", "stable", "epoch", "members", "moved", "revoked", "idle", "cause")
TOTALS: Final = ("group", "rebalances", "idle", "longest", "moved", "revoked")

SENTENCE: Final = "sentence of the broker's log"


def way(one: Json) -> str:
    """How a group is run: ``classic range static``; of an assignor that is cooperative by itself, whether it is eager."""
    static = one.get("static")
    eager = one["assignor"] == "balanced" and one.get("rebalance_protocol") == "eager"
    options = [*(["eager"] if eager else []), *([] if static is None else ["static" if static else "dynamic"])]
    return " ".join((one["group_protocol"], one["assignor"], *options))


def rebalance_rows(answer: Json, body: Json) -> list[Cells]:
    """The cells of the table of rebalances."""
    events = body.get("events") or []
    names = short_names({str(event["member_id"]): "" for event in events if "member_id" in event})
    return [
        (
            seconds(one["at_ms"]),
            "—" if one["stable_at_ms"] is None else seconds(one["stable_at_ms"] - one["at_ms"]),
            str(one.get("generation_id", one.get("group_epoch"))),
            str(one["members_count"]),
            str(one.get("movement", {}).get("moved", 0)),
            str(one.get("revoked", 0)),
            seconds(one["idle"]["partition_ms"]),
            "forms" if one["event"] is None else cause(events[one["event"]], names),
        )
        for one in answer["rebalances"]
    ]


def scaled_rows(answer: Json, body: Json) -> list[Cells]:
    """Who has what after the last rebalance, and what moved since the first that an event caused; empty without ``scales``."""
    caused = [one for one in answer["rebalances"] if one["event"] is not None and "assignments_before" in one]
    if not caused or all(event.get("type") != "scales" for event in body.get("events") or ()):
        return []
    return assignment_rows(caused[-1]["assignments"], caused[0]["assignments_before"])


def explained(rows: Sequence[Cells], answer: Json) -> list[Cells]:
    """The rows with the sentence of the broker's log."""
    return [(*row, one["reason"]) for row, one in zip(rows, answer["rebalances"], strict=True)]


def cause(event: Json, names: Mapping[str, str]) -> str:
    """An event in a few words."""
    member = names.get(str(event.get("member_id")), "")
    topic = event.get("topic_name") or (event.get("topic") or {}).get("topic_name")
    joining = event.get("member") or {}
    changed = event.get("group_protocol") or (event.get("assignors") or [""])[0]
    texts = {
        "member_joins": f"{joining.get('member_id') or joining.get('member_name') or 'a member'} joins",
        "member_leaves": f"{member} leaves",
        "member_crashes": f"{member} crashes",
        "member_stalls": f"{member} stalls",
        "member_restarts": f"{member} restarts",
        "rolling_restart": "rolling restart",
        "subscription_changes": f"{member} resubscribes",
        "topic_created": f"{topic} created",
        "topic_deleted": f"{topic} deleted",
        "partitions_added": f"{topic} grows to {event.get('partitions_count')}",
        "scales": f"scales to {event.get('members_count')}",
        "assignor_changes": f"change to {changed}",
    }
    return texts[event["type"]]


def total_rows(answer: Json) -> list[Cells]:
    """The cells of the table of totals: of the group, and of each way that is compared."""
    return [
        (
            way(one),
            f"{one['totals']['rebalances']:,}",
            seconds(one["totals"]["idle_partition_ms"]),
            seconds(one["totals"]["longest_idle_ms"]),
            f"{one['totals']['moved']:,}",
            f"{one['totals']['revoked']:,}",
        )
        for one in (answer, *answer.get("comparisons", ()))
    ]


def timings(answer: Json) -> str:
    """The timings that the figures are true for."""
    timing = answer["timing"]
    beats = dict.fromkeys(seconds(way["timing"]["heartbeat_interval_ms"]) for way in (answer, *answer.get("comparisons", ())))
    polls = timing["poll_interval_ms"]
    notice = f"poll every {seconds(polls)}" if polls else "notice a rebalance at once, as if they polled all the time"
    waits = {
        "session timeout": "session_timeout_ms",
        "max.poll.interval": "rebalance_timeout_ms",
        "initial delay": "initial_rebalance_delay_ms",
    }
    others = ", ".join(f"{name} {seconds(timing[field])}" for name, field in waits.items())
    return f"Timings: members heartbeat every {' or '.join(beats)} and {notice}; {others}."
