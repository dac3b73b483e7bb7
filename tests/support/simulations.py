"""Small simulations, by the JSON of their question."""

from __future__ import annotations

from typing import Any

from service.api.rebalance_schemas import GroupRebalancesSchema
from service.decisions.rebalances.question import faults, read_timeline
from service.decisions.rows import raise_all
from service.planner.timelines.simulation import Simulation

Body = dict[str, Any]


def simulation(protocol: str, *events: Body, partitions: int = 6, **body: Any) -> Simulation:
    """A group of ``c0`` and ``c1`` that forms at 0 ms, with one topic, ``t``; not run yet. Polls take no time by default.

    body : fields of the question
    """
    timing = {"poll_interval_ms": 0, **body.pop("timing", {})}
    question = GroupRebalancesSchema().load(
        {
            "group_protocol": protocol,
            "topics": [{"topic_name": "t", "partitions_count": partitions}],
            "members": [{"member_id": f"c{i}"} for i in range(2)],
            "events": list(events),
            "timing": timing,
            **body,
        }
    )
    raise_all(faults(question))
    return Simulation(read_timeline(question, "assignments", 0))


def event(at_ms: int, kind: str, **fields: Any) -> Body:
    """An event."""
    return {"at_ms": at_ms, "type": kind, **fields}


def stable(protocol: str, *events: Body, **body: Any) -> Simulation:
    """A group of three that is stable at 0 ms, with two partitions each; not run yet."""
    members = [
        {"member_id": f"c{i}", "owned_partitions": [{"topic_name": "t", "partition_ids": [2 * i, 2 * i + 1]}]} for i in range(3)
    ]
    return simulation(protocol, *events, **{"members": members, **body})
