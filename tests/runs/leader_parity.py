"""The assignors of clients in Go, JavaScript and Python themselves on random groups, each asked several times.

What their maps and sets leave to chance is another in each run of a Go client, and in each process of a Python one. Where we
leave nothing open, all answers must be ours; otherwise each must have what we say to be certain.
"""

from __future__ import annotations

from collections import Counter
from itertools import count
from typing import TYPE_CHECKING

from service.core.errors import KafkaAssignorFails
from service.core.registry import reaches
from service.strategies import GROUP_PROTOCOLS
from tests.runs.client_groups import Answer, Body, Differs, answer_of, answered, in_order, rebalances
from tests.support.clients import Library, kafkajs, of_go, of_python, older_of_go
from tests.support.groups import group_of, named

if TYPE_CHECKING:
    from service.core.assignors import Assignor
    from tests.support.clients import Command

RUNS = 4
"""How often a client of Go is asked; its maps have another order each time."""

HASH_SEEDS = (1, 2, 3)
"""Of the processes of a Python library."""

GO = ("sarama", "kafka-go")
PYTHON = ("kafka-python", "aiokafka")
OLDER = (
    "aiokafka 0.10.0",
    "kafka-go 0.3.10",
    "kafka-python 2.0.2",
    "kafka-python 2.0.6",
    "kafka-python 2.3.3",
    "kafka-python 3.0.11",
    "kafkajs 1.12.0",
    "sarama 1.27.0",
    "sarama 1.34.0",
    "sarama 1.43.3",
)
CLIENTS = (*GO, *PYTHON, "kafkajs", *OLDER)


def commands(client: str, release: str) -> list[Command]:
    """The processes to ask; raises NotHere. release : empty for the newest compared"""
    if client in PYTHON:
        return [of_python(client, seed, release) for seed in HASH_SEEDS]
    if release and client in GO:
        return [older_of_go(client, release)]
    return [of_go(client) if client in GO else kafkajs(release)]


def assignors_of(client: str, release: str) -> list[Assignor]:
    """Those that the release of a client has, as it has them. release : empty for the newest compared"""
    of_client = [each for each in GROUP_PROTOCOLS["classic"].builtins if each.name.startswith(f"{client}:")]
    if not release:
        return of_client
    older = [each for each in of_client if reaches(release, each.client_releases[0])]
    return [each.of_client(release) for each in older]


def answers_of(libraries: list[Library], name: str, body: Body) -> list[Answer | None]:
    """Each run's answer; None where it throws."""
    answers: list[Answer | None] = []
    for library in libraries:
        told = library.assign(name, body, RUNS if len(libraries) == 1 else 1)
        answers += [None] if "error" in told else [answer_of(body, each) for each in told["answers"]]
    return answers


def agreement(assignor: Assignor, body: Body, answers: list[Answer | None]) -> str | None:
    """How our answer and those of the library's runs are alike; None if they are not."""
    group = group_of(body)
    try:
        assignment = assignor.run(group)
    except KafkaAssignorFails:
        return "fails alike" if None in answers else None
    mine = in_order(named(group, assignment.rows))
    if assignment.left_open is None:
        return "alike" if all(answer == mine for answer in answers) else None
    for answer in answers:
        if answer is None or any(not set(partitions) <= set(answer[member]) for member, partitions in mine.items()):
            return None
    return "open"


def compare(client: str, cases: int, seed: int) -> Counter[tuple[str, str]]:
    """So many rebalances, from group 0 on, counted by (assignor, how they are alike). Raises Differs, NotHere.

    client : of CLIENTS
    """
    name, _, release = client.partition(" ")
    libraries = [Library(command) for command in commands(name, release)]
    assignors = assignors_of(name, release)
    counts: Counter[tuple[str, str]] = Counter()
    try:
        for number in count():
            assignor = assignors[number % len(assignors)]
            group = rebalances(seed, number)
            body = next(group, None)
            while body is not None:
                answers = answers_of(libraries, assignor.name.partition(":")[2], body)
                how = agreement(assignor, body, answers)
                if how is None:
                    raise Differs(f"{assignor.name} {release}, group {number}", body, None, answers)
                counts[f"{assignor.name} {release}".rstrip(), how] += 1
                if counts.total() == cases:
                    return counts
                body = None if answers[0] is None else answered(group, answers[0])
    finally:
        for library in libraries:
            library.close()
    raise AssertionError
