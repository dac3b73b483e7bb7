"""A long comparison with other clients' own libraries: ``python -m tests.runs.client_parity [--cases 10000] [--seed 20261124]``.

The groups are those of ``long_parity``: each lives through a few rebalances, and the next one begins with the library's answer
to the one before. Group N of a seed is always the same one. Where a library ends its own process, its members would never have an
answer: such cases are counted, and we must have said so. Where we say that it reads freed memory it may also answer, with
anything.
"""

from __future__ import annotations

import sys
from collections import Counter
from itertools import count
from random import Random
from typing import TYPE_CHECKING, Any

import click
import orjson
from rich.console import Console

from service.core.assignors import GROUP_PROTOCOLS
from service.core.errors import KafkaAssignorFails
from tests.runs.long_parity import Subject, change, first_group
from tests.support.clients import CRATES, Library, NotHere, librdkafka
from tests.support.groups import group_of, named

if TYPE_CHECKING:
    from collections.abc import Iterator

Body = dict[str, Any]
Answer = dict[str, list[tuple[str, int]]]

NAMES = ("range", "roundrobin", "cooperative-sticky")


class Differs(Exception):
    """The library's answer to a group is another one."""

    def __init__(self, where: str, body: Body, ours: Any, theirs: Any) -> None:
        super().__init__(where)
        self.body, self.ours, self.theirs = body, ours, theirs


def sendable(body: Body) -> Body:
    """The group as a client can have it: all members subscribe to something, topics and racks have names that Kafka allows."""
    legal = with_legal_names(body)
    every = [topic["topic_name"] for topic in legal["topics"]]
    for topic in legal["topics"]:
        if "partition_racks" in topic:
            topic["partition_racks"] = [[rack for rack in racks if rack] for racks in topic["partition_racks"]]
    for member in legal["members"]:
        member["topic_names"] = member.get("topic_names", every) or ["unknown"]
    return legal


def with_legal_names(body: Body) -> Body:
    """The body, in all names of topics the characters that are not ASCII written as their numbers."""

    def legal(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {name: legal(each, name) for name, each in value.items()}
        if isinstance(value, list):
            return [legal(each, key) for each in value]
        if key in {"topic_name", "topic_names"}:
            return "".join(c if c.isascii() else f"u{ord(c)}" for c in value)
        return value

    answer: Body = legal(body)
    return answer


def ours(name: str, release: str, body: Body) -> Answer | str:
    """Our answer, or how we say that the library fails."""
    group = group_of(body)
    try:
        rows = GROUP_PROTOCOLS["classic"][f"librdkafka:{name}"].of_client(release).run(group).rows
    except KafkaAssignorFails as fails:
        return str(fails)
    return {member: sorted(partitions) for member, partitions in named(group, rows).items()}


def theirs(library: Library, name: str, body: Body) -> Answer | str:
    """The library's answer, or how it ends."""
    answer = library.assign(name, body)
    if "error" in answer:
        return str(answer["error"]["message"])
    of = answer["assignments"]
    members = [member["member_id"] for member in body["members"]]
    return {member: sorted((topic, i) for topic, ids in of.get(member, {}).items() for i in ids) for member in members}


def agreement(ours: Answer | str, theirs: Answer | str) -> str | None:
    """How the two are alike; None if they are not."""
    if isinstance(ours, str):
        if "freed memory" in ours:
            return "freed memory"
        if theirs == "Alarm clock":
            return "endless" if "never returns" in ours else None
        return "ends alike" if isinstance(theirs, str) and "never returns" not in ours else None
    return "alike" if ours == theirs else None


def life(seed: int, number: int, subject: Subject, library: Library) -> Iterator[tuple[Body, Answer | str, Answer | str]]:
    """The rebalances of a group until it fails: the body, our answer and the library's."""
    random = Random(f"{seed}-{number}")
    name = subject.kafka_class
    body = first_group(subject, random)
    for rebalance in range(random.choice((1, 1, 3, 6))):
        if not body["topics"] or not body["members"]:
            return
        body = sendable(body)
        mine, other = ours(name, subject.release, body), theirs(library, name, body)
        yield body, mine, other
        if isinstance(mine, str) or isinstance(other, str):
            return
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


def compare(release: str, cases: int, seed: int) -> Counter[tuple[str, str]]:
    """So many rebalances, from group 0 on, counted by (assignor, how they are alike). Raises Differs, NotHere."""
    library = Library(librdkafka(release), seconds=5)
    counts: Counter[tuple[str, str]] = Counter()
    try:
        for number in count():
            name = NAMES[number % len(NAMES)]
            assignor = GROUP_PROTOCOLS["classic"][f"librdkafka:{name}"].of_client(release)
            for body, mine, other in life(seed, number, Subject("classic", assignor, release, name), library):
                how = agreement(mine, other)
                if how is None:
                    raise Differs(f"librdkafka:{name} {release}, group {number}", body, mine, other)
                counts[f"librdkafka:{name} {release}", how] += 1
                if counts.total() == cases:
                    return counts
    finally:
        library.close()
    raise AssertionError


@click.command()
@click.option("--cases", default=10_000, show_default=True, help="Rebalances to compare with each release.")
@click.option("--seed", default=20_261_124, show_default=True, help="Another seed draws other groups.")
def main(cases: int, seed: int) -> None:
    """Compare librdkafka's assignors with the library itself on random groups."""
    console = Console()
    for release in CRATES:
        try:
            counts = compare(release, cases, seed)
        except NotHere as reason:
            console.print(f"librdkafka {release} cannot be built here: {reason}")
        except Differs as found:
            console.print(f"differs: {found}", style="bold red")
            for title, value in (("body", found.body), ("ours", found.ours), ("library", found.theirs)):
                console.print(f"{title}: {orjson.dumps(value).decode()}", soft_wrap=True, markup=False, highlight=False)
            sys.exit(1)
        else:
            for (assignor, how), number in sorted(counts.items()):
                console.print(f"{assignor:35} {how:15} {number:>8,}", highlight=False)


if __name__ == "__main__":
    main()
