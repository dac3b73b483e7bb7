"""Smaller questions: what can be left out, one thing at a time."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

Body = dict[str, Any]


def without(body: Body, *path: Any) -> Body:
    """The body less what stands at this path."""
    less = copy.deepcopy(body)
    at: Any = less
    for step in path[:-1]:
        at = at[step]
    del at[path[-1]]
    return less


def smaller(body: Body) -> Iterator[Body]:
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


def parts(values: list[Any]) -> Iterator[list[Any]]:
    """Shorter lists: each half, then the list without each value; none of them empty."""
    if len(values) > 1:
        middle = len(values) // 2
        yield values[:middle]
        yield values[middle:]
        yield from (values[:i] + values[i + 1 :] for i in range(len(values)))
