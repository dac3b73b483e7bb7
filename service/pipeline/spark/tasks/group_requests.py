"""From a group and the weights of its partitions to a request to ``/v1/group-assignments``. Executors run this.

Its answer is the assignment by the group's own assignor (or, if the service does not have it, the default of its protocol), and
each member's share of the lag or of the load (``weighted_member_load``).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from service.strategies import GROUP_PROTOCOLS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from service.pipeline.analyses.fleet.assignments import Choice

SCHEMA: Final = pa.schema({"group": pa.string(), "question": pa.string()})


def weighted_by_lag(lags: pa.Table, members: pa.Table) -> pa.Table:
    """The SCHEMA row of one group, its partitions weighted by their lag. No row for a group without members.

    lags : topic, partition, partitions_count and weight of each of its partitions
    members : the group's ``group_states`` rows, topics named
    """
    rows = members.to_pylist()
    head = next((row for row in rows if row["member_id"] is None), None)
    if head is None or head["empty"] or head["protocol"] == "streams":
        return SCHEMA.empty_table()
    topics = _topics(lags.to_pylist(), head["subscribed"] or ())
    owned = _owned(rows)
    # A group may have a custom assignor that only its members have.
    assignors, assignor = GROUP_PROTOCOLS[head["protocol"]], head["assignor"]
    request = {
        "group_protocol": head["protocol"],
        "assignor": assignor if assignors.full_name(assignor) in assignors.names() else None,
        "group_id": head["group"],
        "topics": topics,
        "members": [{**member, "owned_partitions": owned.get(member["member_id"], [])} for member in json.loads(head["members"])],
    }
    if not topics:
        return SCHEMA.empty_table()
    return pa.table({"group": [head["group"]], "question": [json.dumps(request)]}, schema=SCHEMA)


def weighted_by_load(groups: pa.Table, rates: pa.Table, choice: Choice | None = None) -> pa.Table:
    """The SCHEMA row of each group: its own row as JSON, its partitions weighted by their load.

    groups : rows of ``assignments.COLUMNS``
    rates : topic, partition and weight of the partitions of their topics; a missing partition weighs 0
    choice : the assignor, in place of the group's own
    """
    weights: dict[str, dict[int, float]] = {}
    for row in rates.to_pylist():
        weights.setdefault(row["topic"], {})[row["partition"]] = row["weight"]
    requests = []
    for group in groups.to_pylist():
        for topic in group["topics"]:
            of_topic = weights.get(topic["topic_name"], {})
            topic["partition_weights"] = [of_topic.get(i, 0.0) for i in range(topic["partitions_count"])]
        if choice is not None:
            group |= {"group_protocol": choice.group_protocol, "assignor": choice.assignor}
        requests.append({"group": group["group_id"], "question": json.dumps(present(group))})
    return pa.Table.from_pylist(requests, schema=SCHEMA)


def present(value: Any) -> Any:
    """The same without null members, which columns have where a body has no such member."""
    if isinstance(value, dict):
        return {name: present(each) for name, each in value.items() if each is not None}
    return [present(each) for each in value] if isinstance(value, list) else value


def _topics(lags: list[dict[str, Any]], subscribed: Iterable[str]) -> list[dict[str, Any]]:
    """The subscribed topics with the weight of each partition; 0 if its lag is unknown."""
    counts: dict[str, int] = {}
    weights: dict[str, dict[int, float]] = {}
    names = set(subscribed)
    for row in lags:
        topic, partition = row["topic"], row["partition"]
        if topic in names and partition is not None and partition >= 0:
            counts[topic] = max(counts.get(topic, 0), partition + 1, row["partitions_count"] or 0)
            weights.setdefault(topic, {})[partition] = float(max(0, row["weight"] or 0))
    return [
        {"topic_name": topic, "partitions_count": n, "partition_weights": [weights[topic].get(i, 0.0) for i in range(n)]}
        for topic, n in sorted(counts.items())
    ]


def _owned(rows: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The owned partitions of each member, as in a request."""
    by_member: dict[str, dict[str, list[int]]] = {}
    for row in rows:
        if row["member_id"] is not None and row["topic"] is not None and row["partition"] is not None:
            by_member.setdefault(row["member_id"], {}).setdefault(row["topic"], []).append(row["partition"])
    return {
        member: [{"topic_name": topic, "partition_ids": sorted(ids)} for topic, ids in sorted(topics.items())]
        for member, topics in by_member.items()
    }
