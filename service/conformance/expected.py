"""What a program must answer, and how its answers are told."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Body = dict[str, Any]
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
    rounds: Sequence[Body] = ()

    def document(self) -> Body:
        """It, as a program would write it."""
        if self.fails:
            return {"error": "the library fails"}
        if self.rounds:
            return {"rounds": list(self.rounds)}
        if self.owners is None:
            return {"partitions": list(self.partitions)}
        rows: dict[str, dict[str, list[int]]] = {}
        for (topic, i), members in sorted(self.owners.items()):
            for member in members:
                rows.setdefault(member, {}).setdefault(topic, []).append(i)
        assignments = [
            {"member_id": member, "partitions": [{"topic_name": name, "partition_ids": ids} for name, ids in of.items()]}
            for member, of in rows.items()
        ]
        chance = [{"topic_name": topic, "partition_id": i} for topic, i in sorted(self.chance)]
        return {"assignments": assignments} | ({"left_open": chance} if chance else {})


def named_members(members: Sequence[str]) -> str:
    """Who gets something."""
    return " and ".join(map(repr, members)) or "no member"


def failing(expected: Expected, answer: Body) -> str:
    """What is wrong where either fails and the other does not."""
    if expected.fails:
        return "the library fails on this question, and the program answers it"
    return f"the program fails: {str(answer['error'])[:200]}"
