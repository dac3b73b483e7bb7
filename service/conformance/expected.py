"""What a program must answer, and how its answers are told."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from service.core.documents import Json

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
