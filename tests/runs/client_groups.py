"""Random groups whose leaders are other clients' libraries: each rebalance begins with the library's answer to the one before."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

from service.conformance.groups import change, first_group, sendable

if TYPE_CHECKING:
    from collections.abc import Generator

Body = dict[str, Any]
Answer = dict[str, list[tuple[str, int]]]


class Differs(Exception):
    """The library's answer to a group is another one."""

    def __init__(self, where: str, body: Body, ours: Any, theirs: Any) -> None:
        super().__init__(where)
        self.body, self.ours, self.theirs = body, ours, theirs


def answer_of(body: Body, of: dict[str, dict[str, list[int]]]) -> Answer:
    """A library's assignments, for all members."""
    members = [member["member_id"] for member in body["members"]]
    return {member: sorted((topic, i) for topic, ids in of.get(member, {}).items() for i in ids) for member in members}


def in_order(answer: Answer) -> Answer:
    """Each member's partitions ascending."""
    return {member: sorted(partitions) for member, partitions in answer.items()}


def answered(group: Generator[Body, Answer, None], answer: Answer) -> Body | None:
    """The body of the group's next rebalance after this answer, if there is one."""
    try:
        return group.send(answer)
    except StopIteration:
        return None


def rebalances(seed: int, number: int) -> Generator[Body, Answer, None]:
    """The rebalances of a group: bodies; to each the library's answer is sent."""
    random = Random(f"{seed}-{number}")
    body = first_group("classic", random)
    for rebalance in range(random.choice((1, 1, 3, 6))):
        if not body["topics"] or not body["members"]:
            return
        body = sendable(body)
        other = yield body
        assignments = [
            {
                "member_id": member,
                "partitions": [
                    {"topic_name": topic, "partition_ids": [i for of, i in partitions if of == topic]}
                    for topic in dict.fromkeys(topic for topic, _ in partitions)
                ],
            }
            for member, partitions in other.items()
        ]
        body = change(random, body, assignments, rebalance + 1)
