"""``make same-answers``: whether each family of questions is still answered as recorded in ``same_answers.json``.

A change that should alter no answer leaves every digest as it is; one that should alter some records them again
(``python -m tests.runs.same_answers --record``), and its diff names the families. Asked are the vectors of ``tests/vectors``,
the examples, the requests that load kernels and drawn bodies, all by HTTP; some again by the library, and pasted output by the
command line. A digest leaves out texts with spaces, so sentences may be worded better.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections import Counter, defaultdict
from hashlib import sha256
from itertools import chain, product
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final

import click
from click.testing import CliRunner

from partition_allocator.asking import Rejected, ask_exactly
from service.cli import main as command_line
from service.config import Settings
from service.conformance import groups, subjects
from service.conformance.connect import connect_group
from service.core.partitioners import PARTITIONERS
from service.server.warm import client_of, send
from service.strategies import GROUP_PROTOCOLS
from tests.contract.test_vectors import ENDPOINTS, NO_REQUESTS
from tests.runs.client_groups import answered, rebalances
from tests.runs.extremes import BODIES, places
from tests.support.golden import CHOICE, PROJECT
from tests.support.task_groups import streams_clients, streams_group
from tests.support.warm_requests import examples, made

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from werkzeug.test import Client

Request = dict[str, Any]

RECORDED: Final = Path(__file__).with_suffix(".json")
SEED: Final = 20_261_129
EVERY: Final = 7
"""One body of so many of a family is asked by the library, too."""

GROUPS: Final = 12
"""Drawn for each assignor; a classic one is asked for up to six rebalances of each."""

COMMANDS: Final = (
    "partitions order-1 order-2 --partitions 12",
    "assign --topic orders:6 --members 2",
    "assign {0}/operators-cluster/members.txt --snapshot {0}/operators-cluster/topics.txt",
    "assign {0}/sentence-subscriptions-assumed/mixgrp.txt --snapshot {0}/sentence-subscriptions-assumed/mixtop.txt",
    "member-counts {0}/lag-in-the-paste/group.txt --snapshot {0}/lag-in-the-paste/topics.txt",
    "rebalances {0}/only-the-group-table/group.txt",
    "place --brokers 3 --partitions 6 --replication-factor 2",
    "reassign {0}/operators-cluster/topics.txt --drain 1",
    "audit {0}/operators-cluster/topics.txt",
    "plan {0}/sentence-more-partitions-make-it-worse/hot.csv --partitions 3,6",
    "upgrade {0}/only-the-group-table/group.txt --from java:3.9 --to java:4.4",
)


class Digests:
    """Answers by family."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self._hashes: defaultdict[str, Any] = defaultdict(sha256)

    def add(self, family: str, answer: Any) -> None:
        """One more answer of the family."""
        self.asked[family] += 1
        self._hashes[family].update(json.dumps(_without_prose(answer)).encode() + b"\n")

    def table(self) -> dict[str, str]:
        """A digest a family."""
        return {family: self._hashes[family].hexdigest()[:16] for family in sorted(self._hashes)}


def _without_prose(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_prose(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_without_prose(each) for each in value]
    return "" if isinstance(value, str) and " " in value else value


def recorded() -> Iterator[Request]:
    """A third of what real programs have answered, of which tests ask all; what the reference shows; what loads the kernels."""
    for kind, path in {**ENDPOINTS, "clients": "/v1/group-assignments"}.items():
        for file in sorted(CHOICE.glob(f"{kind}/*.jsonl*")):
            name = f"{kind}/{file.name.partition('.jsonl')[0]}"
            with gzip.open(file, "rt") if file.suffix == ".gz" else file.open() as lines:
                cases = [json.loads(line) for line in lines if name not in NO_REQUESTS]
            path_of = "/v1/coordinators" if name.endswith("coordinators") else path
            yield from ({"path": path_of, "json": case["request"]} for case in cases[::3] if "request" in case)
    for file in sorted(CHOICE.glob("timelines/*.json")):
        yield {"path": "/v1/group-rebalances", "json": json.loads(file.read_text())["request"]}
    yield from examples()
    yield from made()


def drawn() -> Iterator[Request]:
    """Bodies of every family but groups: keys, groups with tasks, and recorded bodies with other values."""
    for partitioner, key_format in product(PARTITIONERS, ("base64", "string", "long")):
        random = Random(f"{SEED} {partitioner.name}")
        for _ in range(2):
            several = [key.hex() if isinstance(key, bytes) else key for key in subjects.keys(random, key_format)]
            body = {"partitioner": partitioner.name, "key_format": "hex" if key_format == "base64" else key_format}
            count = subjects.partitions_count(random)
            yield {"path": "/v1/partitions", "json": {**body, "partitions_count": count, "keys": several}}
    for draw, path in ((connect_group, "connect"), (streams_group, "streams"), (streams_clients, "streams")):
        for number in range(3 * GROUPS):
            yield {"path": f"/v1/{path}-assignments", "json": draw(Random(f"{SEED} {number}"))}
    others = [{"path": path, "json": body} for path, bodies in BODIES.items() for body in bodies]
    for request in (*others, *(each for each in made() if "json" in each and each["path"] != "/v1/partitions")):
        random = Random(f"{SEED} {json.dumps(request)}")
        yield from ({**request, "json": _changed(random, request["json"])} for _ in range(3))


def live(ask: Callable[[Request], Any], chosen: Request, number: int) -> None:
    """Ask about a drawn group. A classic one lives through some rebalances, each from the answer to the one before."""
    if chosen["group_protocol"] != "classic":
        body = groups.first_group(chosen["group_protocol"], Random(f"{SEED} {number}"))
        body = groups.read_by_all(body) if chosen["group_protocol"] == "splits" else body
        ask({"path": "/v1/group-assignments", "json": {**body, **chosen}})
        return
    group = rebalances(SEED, number)
    body = next(group, None)
    while body is not None:
        answer = ask({"path": "/v1/group-assignments", "json": {**body, **chosen}})
        if "assignments" not in answer:
            return
        rows = {each["member_id"]: each["partitions"] for each in answer["assignments"]}
        of = {member: [(row["topic_name"], i) for row in rows[member] for i in row["partition_ids"]] for member in rows}
        body = answered(group, of)


def _changed(random: Random, body: Request) -> Request:
    """The body, with one to three of its values replaced by others that are as likely."""
    body = json.loads(json.dumps(body))
    for _ in range(random.randint(1, 3)):
        *above, last = random.choice(list(places(body)))
        parent: Any = body
        for step in above:
            parent = parent[step]
        value = parent[last]
        if isinstance(value, bool):
            parent[last] = not value
        elif isinstance(value, int):
            parent[last] = max(0, value + random.randint(-3, 9))
        elif isinstance(value, float):
            parent[last] = value * random.choice((0.1, 0.5, 3))
        elif isinstance(value, list):
            parent[last] = random.sample(value, random.randint(0, len(value)))
    return body


def answers() -> Digests:
    """Ask everything."""
    client, digests = client_of(Settings(max_request_seconds=3_600)), Digests()  # a loaded machine is no reason to refuse

    def ask(request: Request) -> Any:
        return _asked(client, digests, request)

    for request in chain(recorded(), drawn()):
        ask(request)
    for protocol, assignors in GROUP_PROTOCOLS.items():
        for assignor, number in product(assignors.builtins, range(GROUPS)):
            live(ask, {"group_protocol": protocol, "assignor": assignor.name}, number)
    for command in COMMANDS:
        result = CliRunner().invoke(command_line, command.format(PROJECT / "tests" / "cases").split())
        digests.add(f"$ {command.split()[0]}", [result.exit_code, *map(json.loads, result.stdout.splitlines())])
    return digests


def _asked(client: Client, digests: Digests, request: Request) -> Any:
    path, body = request["path"], request.get("json", {})
    response = send(client, request)
    answer = json.loads(response.data) if response.mimetype.endswith("json") else {"data": response.data.hex()}
    answer.pop("request_id", None)
    strategy = next((body[name] for name in ("assignor", "placer", "partitioner") if isinstance(body.get(name), str)), "")
    family = f"{path} {strategy.partition(':')[0]}".strip()
    digests.add(family, [response.status_code, answer])
    if digests.asked[family] % EVERY == 1 and "json" in request:
        try:
            digests.add(f"library {path}", ask_exactly(path, body, "dict"))
        except Rejected as rejected:
            digests.add(f"library {path}", rejected.problem)
    return answer


@click.command()
@click.option("--record", is_flag=True, help="Keep these answers as those that later ones are compared with.")
def main(*, record: bool) -> None:
    """Compare every family's answers with the recorded ones."""
    digests = answers()
    table, known = digests.table(), json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    if record:
        RECORDED.write_text(json.dumps(table, indent=1) + "\n")
        known = table
    other = [family for family in sorted({*table, *known}) if table.get(family) != known.get(family)]
    for family in other:
        click.echo(f"other answers: {family} ({digests.asked[family]} asked)")
    click.echo(f"{digests.asked.total():,} answers of {len(table)} families; {len(other)} families differ.")
    sys.exit(bool(other))


if __name__ == "__main__":
    main()
