"""``python -m tests.support.record_releases``: records ``tests/vectors/clients/older-releases.jsonl.gz``.

Each line has a small group and what the library itself, of an older release, answered to it in every run. Most are of groups that
our form of its newest release assigns otherwise.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from service.strategies import GROUP_PROTOCOLS
from tests.runs.client_groups import Answer, Body, answered, rebalances
from tests.runs.leader_parity import OLDER, agreement, answers_of, assignors_of, commands
from tests.support.clients import Library

if TYPE_CHECKING:
    from collections.abc import Iterator

FILE: Final = Path(__file__).parents[1] / "vectors" / "clients" / "older-releases.jsonl.gz"
SEED: Final = 7
FOUND: Final = (2538,)
"""A group in which kafka-python 3.0.12 undoes two moves, as in one of some thousand rebalances."""
LARGEST: Final = 900
"""Characters of a body of any other group."""
OTHERWISE, ALIKE = 3, 2
"""So many of each assignor that the newest release assigns otherwise, if there are among so many groups, and that it does not."""
GROUPS: Final = 150


def main() -> None:
    with gzip.GzipFile(FILE, "wb", mtime=0) as file:
        for client in OLDER:
            for line in _lines(*client.split(" ")):
                file.write(json.dumps(line, separators=(",", ":")).encode() + b"\n")


def _lines(client: str, release: str) -> Iterator[dict[str, Any]]:
    libraries = [Library(command) for command in commands(client, release)]
    for assignor in assignors_of(client, release):
        newest, name = GROUP_PROTOCOLS["classic"][assignor.name], assignor.protocol_name
        if assignor.run == newest.run:
            continue
        wanted = {True: OTHERWISE, False: ALIKE}
        for number in (*(FOUND if "sticky" in name else ()), *range(GROUPS)):
            for rebalance, (body, answers) in enumerate(_rebalances(number, libraries, name)):
                otherwise = agreement(newest, body, answers) is None
                certain = all(answer == answers[0] for answer in answers)
                fits = otherwise if number in FOUND else len(json.dumps(body)) < LARGEST
                if certain and wanted[otherwise] and fits:
                    wanted[otherwise] -= 1
                    request = {"client": client, "client_version": release, "assignor": name, **body}
                    yield {
                        "id": f"{client}-{release}-{name}/{number}-{rebalance}",
                        "source": f"{client} {release} {name}",
                        "request": request,
                        "expected": _expected(answers[0]),
                    }
            if not any(wanted.values()):
                break
        sys.stderr.write(f"{assignor.name} {release}: {wanted} wanting\n")
    for library in libraries:
        library.close()


def _rebalances(number: int, libraries: list[Library], name: str) -> Iterator[tuple[Body, list[Answer | None]]]:
    """Those of a group, with the library's answers."""
    group = rebalances(SEED, number)
    body = next(group, None)
    while body is not None:
        answers = answers_of(libraries, name, body)
        yield body, answers
        body = None if answers[0] is None else answered(group, answers[0])


def _expected(answer: Answer | None) -> dict[str, Any]:
    if answer is None:
        return {"error": {}}
    rows = []
    for member, partitions in answer.items():
        ids: dict[str, list[int]] = {}
        for topic, i in partitions:
            ids.setdefault(topic, []).append(i)
        rows.append(
            {"member_id": member, "partitions": [{"topic_name": topic, "partition_ids": each} for topic, each in ids.items()]}
        )
    return {"assignments": rows}


if __name__ == "__main__":
    main()
