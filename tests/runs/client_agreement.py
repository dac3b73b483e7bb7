"""Which clients' assignors give the same answers: ``python -m tests.runs.client_agreement``, tables of docs/evidence/parity.md.

All recorded requests to any client's assignor of a name go to every client's assignor of that name, and to Java's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Console

from service.core.assignors import CLASSIC
from service.core.errors import KafkaAssignorFails
from service.strategies import GROUP_PROTOCOLS
from tests.support import golden
from tests.support.groups import group_of, named

if TYPE_CHECKING:
    from service.core.assignors import Assignor

LIKE = {"RoundRobinAssigner": "roundrobin"}
"""Other names of what is called otherwise elsewhere."""


def of_name(name: str) -> list[Assignor]:
    """Java's assignor of a name, and those of other clients."""
    parts = [(assignor, assignor.name.rpartition(":")[2]) for assignor in GROUP_PROTOCOLS["classic"].builtins]
    return [assignor for assignor, part in parts if LIKE.get(part, part) == name]


def answer(assignor: Assignor, body: dict[str, Any]) -> Any:
    """The answer; None if it fails, or leaves something to chance."""
    group = group_of(body)
    try:
        assignment = assignor.run(group)
    except KafkaAssignorFails:
        return None
    if assignment.left_open is not None:
        return None
    return {member: sorted(partitions) for member, partitions in named(group, assignment.rows).items()}


def table(name: str) -> str:
    """In percent of the requests, how often two assignors of a name give the same answer, in every run; as Markdown."""
    assignors = of_name(name)
    files = [f"clients/{each.name.replace(':', '-')}" for each in assignors if ":" in each.name]
    answers = [[answer(each, case["request"]) for each in assignors] for file in files for case in golden.lines(file)]
    clients = [each.name.partition(":")[0] if ":" in each.name else "Java" for each in assignors]
    lines = [f"| `{name}`, {len(answers):,} requests | {' | '.join(clients)} |", f"| --- |{' ---: |' * len(clients)}"]
    for i, client in enumerate(clients):
        same = [sum(row[i] is not None and row[i] == row[j] for row in answers) for j in range(len(assignors))]
        lines.append(f"| {client} | {' | '.join(f'{100 * count / len(answers):.0f}' for count in same)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    for java in CLASSIC:
        Console().print(table(java.name), "", sep="\n", soft_wrap=True, highlight=False)
