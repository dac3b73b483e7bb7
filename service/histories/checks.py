"""Would the group's assignor have given exactly what it got? By what the leader was told, as the group's record has it."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final, NamedTuple

from service.core.documents import Json
from service.core.errors import AllocatorError
from service.core.printable import all_of, counted
from service.decisions.budget import Budget
from service.decisions.groups.answer import answer
from service.decisions.groups.question import GroupQuestion, of_rows
from service.decisions.groups.tables import difference_rows
from service.histories.course import PastRebalance
from service.histories.events import Partition
from service.histories.names import MemberNames
from service.strategies import GROUP_PROTOCOLS, of_client

MOST_CHECKED: Final = 200
"""Rebalances whose assignment is checked, the first ones."""


class AssignorCheck(NamedTuple):
    """alike : does Kafka's own client give exactly this; clients : whose assignor of this name does; sentence : both in words"""

    alike: bool
    clients: tuple[str, ...]
    sentence: str


def check(rebalance: PastRebalance, names: MemberNames, budget: Budget) -> AssignorCheck | None:
    """That of a classic rebalance; None if its record is not told, or Kafka's client has no assignor of this name."""
    question, name = _question(rebalance), rebalance.assignor or ""
    alike, differs = list[str](), ""
    if question is None:
        return None
    for client in _clients(name):
        try:
            found = answer(replace(question, assignor=of_client("classic", client, name)), budget)
        except AllocatorError:
            continue
        differences = found.comparison.differences if found.comparison is not None else ()
        if not len(differences):
            alike.append(client)
        if client == "java" and found.comparison is not None and len(differences):
            [row] = difference_rows(found.comparison.expected, found.comparison.differences, 1)
            given, got = (", ".join(map(names, row[each])) or "no member" for each in ("member_ids", "expected_member_ids"))
            of = f"{len(differences)} of {counted(found.first.group.total_partitions, 'partition')} differ"
            differs = (
                f"No: kafka-clients' {name} would give {row['topic_name']}-{row['partition_id']} to {given}, not to {got} ({of});"
            )
        elif client == "java":
            return AssignorCheck(alike=True, clients=("java",), sentence=f"Yes: kafka-clients' {name} gives exactly this.")
    whose = f"that of {all_of(alike, 3)} does" if alike else "none does, for example because the leader saw other topics"
    return AssignorCheck(alike=False, clients=tuple(alike), sentence=f"{differs} {whose}.") if differs else None


def _clients(name: str) -> list[str]:
    """The clients that have a classic assignor of this name, Kafka's own first; none if Kafka's has none."""
    names = [each.name for each in GROUP_PROTOCOLS["classic"].builtins]
    return ["java", *(each.partition(":")[0] for each in names if each.endswith(f":{name}"))] if name in names else []


def _question(rebalance: PastRebalance) -> GroupQuestion | None:
    """The group as its leader saw it. Its topics have as many partitions as the members were given or had, without a gap."""
    members = rebalance.records or {}
    sizes = counts(partition for each in members.values() for partition in (*(each.assigned or ()), *(each.claimed or ())))
    if not sizes or any(each.claimed is None for each in members.values()):
        return None
    topics = [{"topic_name": topic, "partitions_count": count} for topic, count in sorted(sizes.items())]
    rows: list[Json] = [
        {
            "member_id": each.member_id,
            "instance_id": each.instance_id,
            "topic_names": [topic for topic in each.topics or () if topic in sizes],
            "generation_id": each.claimed_in,
            "owned_partitions": listed(each.claimed or ()),
        }
        for each in members.values()
    ]
    expected: list[dict[str, Any]] = [
        {"member_id": each.member_id, "partitions": listed(each.assigned or ())} for each in members.values()
    ]
    return of_rows(topics, rows, expected=expected)


def counts(partitions: Iterable[Partition]) -> dict[str, int]:
    """How many partitions each topic has; none of any topic if the partitions of one have a gap."""
    ids: dict[str, set[int]] = defaultdict(set)
    for topic, i in partitions:
        ids[topic].add(i)
    return {topic: len(each) for topic, each in ids.items()} if all(len(each) == max(each) + 1 for each in ids.values()) else {}


def listed(partitions: Iterable[Partition]) -> list[Json]:
    """Partitions as rows by topic."""
    by_topic: dict[str, list[int]] = defaultdict(list)
    for topic, i in sorted(partitions):
        by_topic[topic].append(i)
    return [{"topic_name": topic, "partition_ids": each} for topic, each in by_topic.items()]
