"""Smaller questions: what can be left out, one thing at a time."""

import copy
from collections.abc import Iterator
from typing import Any

from service.core.documents import Json


def without(body: Json, *path: Any) -> Json:
    """The body less what stands at this path."""
    less = copy.deepcopy(body)
    at: Any = less
    for step in path[:-1]:
        at = at[step]
    del at[path[-1]]
    return less


def smaller(body: Json) -> Iterator[Json]:
    """The body with one thing left out: a member, a topic, a partition, something a member says."""
    for m, member in enumerate(body["members"]):
        yield without(body, "members", m)
        for part in sorted(member.keys() - {"member_id"}):
            yield without(body, "members", m, part)
        for i in range(len(member.get("topic_names", ()))):
            yield without(body, "members", m, "topic_names", i)
        for row, owned in enumerate(member.get("owned_partitions", ())):
            yield without(body, "members", m, "owned_partitions", row)
            for i in range(len(owned["partition_ids"])):
                yield without(body, "members", m, "owned_partitions", row, "partition_ids", i)
    for t, topic in enumerate(body["topics"]):
        yield without(body, "topics", t)
        if "partition_racks" in topic:
            yield without(body, "topics", t, "partition_racks")
        elif topic["partitions_count"] > 1:
            yield {
                **body,
                "topics": [{**one, "partitions_count": one["partitions_count"] - (one is topic)} for one in body["topics"]],
            }


def smaller_rounds(body: Json) -> Iterator[Json]:
    """A Connect group with one thing left out: a rebalance, or a worker, a connector or one of its tasks in all of them.

    Workers are named by their ``member_id`` alone.
    """
    rounds: list[Json] = body["rounds"]
    for i in range(len(rounds) - 1, -1, -1):
        if len(rounds) > 1:
            yield {**body, "rounds": _first_with_connectors(rounds, i)}
    for member in dict.fromkeys(worker["member_id"] for row in rounds for worker in row["workers"]):
        yield {**body, "rounds": [_without_row(row, "workers", "member_id", member) for row in rounds]}
    for name in dict.fromkeys(each["connector_name"] for row in rounds for each in row.get("connectors", ())):
        yield {**body, "rounds": [_without_row(row, "connectors", "connector_name", name) for row in rounds]}
        if any(each["connector_name"] == name and each["tasks_count"] for row in rounds for each in row.get("connectors", ())):
            yield {**body, "rounds": [_with_fewer_tasks(row, name) for row in rounds]}


def _first_with_connectors(rounds: list[Json], less: int) -> list[Json]:
    """The rounds without one; the first has the connectors that the one left out had."""
    kept = [*rounds[:less], *rounds[less + 1 :]]
    return [{"connectors": rounds[0]["connectors"], **kept[0]}, *kept[1:]]


def _without_row(row: Json, rows: str, field: str, name: str) -> Json:
    return {**row, rows: [each for each in row[rows] if each[field] != name]} if rows in row else row


def _with_fewer_tasks(row: Json, name: str) -> Json:
    if "connectors" not in row:
        return row
    fewer = [
        {**each, "tasks_count": max(0, each["tasks_count"] - (each["connector_name"] == name))} for each in row["connectors"]
    ]
    return {**row, "connectors": fewer}


def parts(values: list[Any]) -> Iterator[list[Any]]:
    """Shorter lists: each half, then the list without each value; none of them empty."""
    if len(values) > 1:
        middle = len(values) // 2
        yield values[:middle]
        yield values[middle:]
        yield from (values[:i] + values[i + 1 :] for i in range(len(values)))
