"""What the leaders of Kafka Connect's groups assign, as a subject to compare a program with."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from service.conformance import shrinking
from service.conformance.shrinking import Expected, failing, named_members
from service.core.budget import Budget
from service.core.documents import Json
from service.core.errors import AllocatorError
from service.decisions.connect import ConnectAnswer, ConnectQuestion, answer


def connect_group(random: Random) -> Json:
    """The life of a Connect group: workers come, leave, return, lead; connectors are added, changed and deleted."""
    name = random.choice(("connector-{}", "c{}", "{}-jdbc", "é{}", "😀{}")).format
    member = random.choice(("w{}", "connect-1-{:08x}", "worker-{}-ﬀ")).format
    many = random.random() < 0.1
    connectors = {name(i): random.randrange(40 if many else 9) for i in range(random.randint(1, 40 if many else 6))}
    workers = [
        member(i if random.random() < 0.5 else random.randrange(2**32)) for i in range(random.randint(1, 40 if many else 7))
    ]
    away: list[str] = []
    leader, now = workers[0], 0
    rounds: list[Json] = []
    for i in range(random.randint(1, 12)):
        if i:
            now += random.choice((0, 5, 300, 1_000, 30_000, 60_000, 299_999, 300_000, 400_000))
            for _ in range(random.choice((0, 0, 0, 1, 1, 2))):
                _change(random, connectors, workers, away, name, member)
            if leader not in workers or random.random() < 0.05:
                leader = random.choice(workers)
            if random.random() < 0.1:
                random.shuffle(workers)
        listed = [{"connector_name": each, "tasks_count": count} for each, count in connectors.items()]
        rows = [{"member_id": worker} for worker in workers]
        rounds.append({"at_ms": now, "leader_id": leader, "connectors": listed, "workers": rows})
    return {
        "group_protocol": "connect",
        "assignor": random.choice(("eager", "compatible", "sessioned", "sessioned")),
        "scheduled_rebalance_max_delay_ms": random.choice((300_000, 300_000, 60_000, 0, 1, 40, 1_000 * random.randrange(3_600))),
        "rounds": rounds,
    }


def _change(random: Random, connectors: dict[str, int], workers: list[str], away: list[str], name: Any, member: Any) -> None:
    """A worker comes, leaves or comes back (the same process, or another one in its place), or a connector changes."""
    kind = random.choice(("comes", "comes", "leaves", "leaves", "returns", "connector", "connector", "connector"))
    if kind == "leaves" and len(workers) > 1:
        away.append(workers.pop(random.randrange(len(workers))))
    elif kind == "connector":
        some = random.choice([*connectors, name(random.randrange(10**6))])
        connectors[some] = random.randrange(12)
        if random.random() < 0.3:
            del connectors[some]
    elif kind == "comes" or (kind == "returns" and away):
        new = member(random.randrange(2**32)) if kind == "comes" else away.pop() + random.choice(("", "b"))
        if new not in workers:
            workers.append(new)


PROTOCOL: Final = "connect"
"""What the names of these subjects begin with."""

VERBS: Final = {"": "goes to", "revoked_": "is revoked from"}
"""What the lists say, by the beginning of their names."""


@dataclass(frozen=True)
class ConnectSubject:
    """A protocol of Connect. assignor : its name; options : ``kafka_version`` of its questions, if given"""

    assignor: str
    options: tuple[tuple[str, str], ...] = ()

    operation = "connect-assignments"

    @property
    def name(self) -> str:
        """Its name on the command line."""
        return f"{PROTOCOL}/{self.assignor}"

    def request(self, group: Json) -> Json:
        """The question about a group whose workers are named by their ``member_id`` alone.

        In the question each worker says what it runs when it joins, in the order in which its leader reads it.
        """
        request = {**group, "group_protocol": PROTOCOL, "assignor": self.assignor, **dict(self.options)}
        played = _answer(request)
        rounds = [
            {
                **row,
                "workers": [
                    {"member_id": member, **played.names.row(each.group.workers[member])}
                    for member in (worker["member_id"] for worker in row["workers"])
                ],
            }
            for row, each in zip(group["rounds"], played.rounds, strict=True)
        ]
        return {**request, "rounds": rounds}

    def expected(self, request: Json) -> Expected | None:
        """The answer; None for a question that the service refuses."""
        try:
            played = _answer(request)
        except AllocatorError:
            return None
        return Expected(rounds=[{"assignments": played.assignments(each)} for each in played.rounds])

    def recorded(self, answer: Json) -> Expected:
        """What Connect answered, as a vector has it."""
        return Expected(rounds=answer["rounds"])

    def fault(self, expected: Expected, answer: Json) -> str | None:
        """What is wrong with a program's answer."""
        if "error" in answer:
            return failing(expected, answer)
        rounds = answer.get("rounds")
        if not isinstance(rounds, list) or len(rounds) != len(expected.rounds):
            return f'"rounds" is not a list of {len(expected.rounds)} rebalances'
        for i, (wanted, got) in enumerate(zip(expected.rounds, rounds, strict=True)):
            fault = _fault(wanted, got)
            if fault is not None:
                return f"rounds[{i}]: {fault}"
        return None

    def questions(self, seed: str) -> Iterator[Json]:
        """A random group, and what becomes of it. seed : another one is another group"""
        yield self.request(connect_group(Random(seed)))  # noqa: S311 - cases, not secrets

    def smaller(self, request: Json) -> Iterator[Json]:
        """The question with one thing left out."""
        bare = {
            **request,
            "rounds": [
                {**row, "workers": [{"member_id": worker["member_id"]} for worker in row["workers"]]} for row in request["rounds"]
            ],
        }
        for less in shrinking.smaller_rounds(bare):
            try:
                yield self.request(less)
            except AllocatorError:
                continue


def _answer(request: Json) -> ConnectAnswer:
    return answer(ConnectQuestion(**{name: value for name, value in request.items() if name != "group_protocol"}), Budget())


def _fault(wanted: Json, got: Any) -> str | None:
    """What is wrong with one rebalance."""
    try:
        mine, theirs = _told(wanted["assignments"]), _told(got["assignments"])
    except (TypeError, KeyError, ValueError, AttributeError):
        return '"assignments" is not a list as of POST /v1/connect-assignments'
    for what in sorted(mine.keys() | theirs.keys()):
        if mine.get(what) != theirs.get(what):
            return f"{what} {named_members(theirs.get(what, ()))} instead of {named_members(mine.get(what, ()))}"
    for row in wanted["assignments"]:
        delay = next((each.get("delay_ms", 0) for each in got["assignments"] if each["member_id"] == row["member_id"]), 0)
        if delay != row.get("delay_ms", 0):
            return f"the delay_ms of {row['member_id']!r} is {delay} instead of {row.get('delay_ms', 0)}"
    return None


def _told(assignments: Sequence[Json]) -> dict[str, tuple[str, ...]]:
    """Who gets, and who is to stop, each connector and task: by a clause, the members."""
    told: dict[str, tuple[str, ...]] = {}
    for row in assignments:
        for of, verb in VERBS.items():
            items = [f"connector {name!r}" for name in row.get(f"{of}connectors", ())]
            for tasks in row.get(f"{of}tasks", ()):
                items += [f"task {int(task)} of {tasks['connector_name']!r}" for task in tasks["task_ids"]]
            for item in items:
                told[f"{item} {verb}"] = tuple(sorted((*told.get(f"{item} {verb}", ()), str(row["member_id"]))))
    return told
