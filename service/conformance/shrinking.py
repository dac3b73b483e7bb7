"""What a program must answer; and smaller questions: what can be left out, one thing at a time."""

import copy
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from service.core.documents import Json

# What a program must answer, and how its answers are told.

TopicPartition = tuple[str, int]


@dataclass(frozen=True)
class Expected:
    """What must be answered.

    fails : the library fails on this question
    owners : who gets each partition of a group; chance : those that may be anybody's, for the library leaves it to chance
    partitions : that of each key
    rounds : of a Connect group: each rebalance, in the form of the answer of POST /v1/connect-assignments
    """

    fails: bool = False
    owners: dict[TopicPartition, tuple[str, ...]] | None = None
    chance: frozenset[TopicPartition] = frozenset()
    partitions: tuple[int, ...] = ()
    rounds: Sequence[Json] = ()

    def document(self) -> Json:
        """It, as a program would write it."""
        if self.fails:
            return {"error": "the library fails"}
        if self.rounds:
            return {"rounds": list(self.rounds)}
        if self.owners is None:
            return {"partitions": list(self.partitions)}
        chance = [{"topic_name": topic, "partition_id": i} for topic, i in sorted(self.chance)]
        return {"assignments": self.assignments()} | ({"left_open": chance} if chance else {})

    def assignments(self, member_ids: Iterable[str] = ()) -> list[Json]:
        """Who gets what. member_ids : members that are in it even with nothing, before all others"""
        rows: dict[str, dict[str, list[int]]] = {member_id: {} for member_id in member_ids}
        for (topic, i), members in sorted((self.owners or {}).items()):
            for member in members:
                rows.setdefault(member, {}).setdefault(topic, []).append(i)
        return [
            {"member_id": member, "partitions": [{"topic_name": name, "partition_ids": ids} for name, ids in of.items()]}
            for member, of in rows.items()
        ]


def named_members(members: Sequence[str]) -> str:
    """Who gets something."""
    return " and ".join(map(repr, members)) or "no member"


def failing(expected: Expected, answer: Json) -> str:
    """What is wrong where either fails and the other does not."""
    if expected.fails:
        return "the library fails on this question, and the program answers it"
    return f"the program fails: {str(answer['error'])[:200]}"


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
            kept = [*rounds[:i], *rounds[i + 1 :]]
            yield {**body, "rounds": [{"connectors": rounds[0]["connectors"], **kept[0]}, *kept[1:]]}
    for member in dict.fromkeys(worker["member_id"] for row in rounds for worker in row["workers"]):
        yield {**body, "rounds": [_without_row(row, "workers", "member_id", member) for row in rounds]}
    for name in dict.fromkeys(each["connector_name"] for row in rounds for each in row.get("connectors", ())):
        yield {**body, "rounds": [_without_row(row, "connectors", "connector_name", name) for row in rounds]}
        if any(each["connector_name"] == name and each["tasks_count"] for row in rounds for each in row.get("connectors", ())):
            yield {**body, "rounds": [_with_fewer_tasks(row, name) for row in rounds]}


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
