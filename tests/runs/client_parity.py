"""A long comparison with other clients' own libraries: ``python -m tests.runs.client_parity [--cases 10000] [--seed 20261124]``.

The groups are those of ``long_parity``: each lives through a few rebalances, and the next one begins with the library's answer
to the one before. Group N of a seed is always the same one. Where a library ends its own process, its members would never have an
answer: such cases are counted, and we must have said so. Where we say that it reads freed memory it may also answer, with
anything.

franz-go is asked several times, for it goes through maps in random orders. Every answer must have what we say to be certain, and,
where there are few orders, must be one of those that the plain twin gives in all of them.
"""

from __future__ import annotations

import sys
from collections import Counter
from functools import partial
from itertools import count, permutations, product
from math import factorial, prod
from random import Random
from typing import TYPE_CHECKING, Any

import click
import orjson
from rich.console import Console

from service.conformance.groups import change, first_group, sendable
from service.core.assignors import GROUP_PROTOCOLS
from service.core.errors import KafkaAssignorFails
from tests.reference.clients import franz_go as franz_go_twin
from tests.runs.long_parity import Subject
from tests.support.clients import CRATES, Library, NotHere, franz_go, librdkafka
from tests.support.groups import group_of, named

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence

Body = dict[str, Any]
Answer = dict[str, list[tuple[str, int]]]

NAMES = ("range", "roundrobin", "cooperative-sticky")
FRANZ_GO = ("range", "roundrobin", "sticky", "cooperative-sticky")

RUNS = 6
"""How often franz-go is asked."""

MOST_ORDERS = 200
"""In how many orders the twin plays a group of franz-go."""


class Differs(Exception):
    """The library's answer to a group is another one."""

    def __init__(self, where: str, body: Body, ours: Any, theirs: Any) -> None:
        super().__init__(where)
        self.body, self.ours, self.theirs = body, ours, theirs


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
    return str(answer["error"]["message"]) if "error" in answer else answer_of(body, answer["assignments"])


def answer_of(body: Body, of: dict[str, dict[str, list[int]]]) -> Answer:
    """A library's assignments, for all members."""
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
    """The rebalances of a group of librdkafka until it fails: the body, our answer and the library's."""
    name = subject.kafka_class
    group = rebalances(seed, number, subject)
    body = next(group, None)
    while body is not None:
        mine, other = ours(name, subject.release, body), theirs(library, name, body)
        yield body, mine, other
        if isinstance(mine, str) or isinstance(other, str):
            return
        body = answered(group, other)


def answered(group: Generator[Body, Answer, None], answer: Answer) -> Body | None:
    """The body of the group's next rebalance after this answer, if there is one."""
    try:
        return group.send(answer)
    except StopIteration:
        return None


def rebalances(seed: int, number: int, subject: Subject) -> Generator[Body, Answer, None]:
    """The rebalances of a group: bodies; to each the library's answer is sent."""
    random = Random(f"{seed}-{number}")
    body = first_group(subject.protocol, random)
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


class Drawn(Random):
    """Draws the orders that it is given, one after another."""

    def __init__(self, orders: Iterable[Sequence[int]]) -> None:
        super().__init__()
        self._orders = iter(orders)

    def sample(self, population: Any, k: int, **_: Any) -> list[Any]:
        """The population in the next order."""
        return [population[i] for i in next(self._orders)]


def every_answer(name: str, body: Body) -> list[Answer] | None:
    """What franz-go's sticky balancers can answer, by the plain twin in all orders; None if there are many orders."""
    cooperative, balance_racks = name == "cooperative-sticky", body["balance_racks"]

    class Counts(Drawn):
        """Notes how many there are to be put in order."""

        def __init__(self) -> None:
            super().__init__(())
            self.sizes: list[int] = []

        def sample(self, population: Any, k: int, **_: Any) -> list[Any]:
            self.sizes.append(k)
            return list(population)

    counts = Counts()
    franz_go_twin.Sticky(body, counts, balance_racks=balance_racks)
    sizes = [size if balance_racks or i != 1 else 1 for i, size in enumerate(counts.sizes)]  # else the order of racks is nothing
    if prod(map(factorial, sizes)) > MOST_ORDERS:
        return None
    runs = []
    for orders in product(*(permutations(range(size)) for size in sizes)):
        drawn = [order if size == len(order) else range(size) for order, size in zip(orders, counts.sizes, strict=True)]
        run = franz_go_twin.Sticky(body, Drawn(drawn), balance_racks=balance_racks)
        runs.append(in_order(run.cooperative() if cooperative else run.eager()))
    return runs


def in_order(answer: Answer) -> Answer:
    """Each member's partitions ascending."""
    return {member: sorted(partitions) for member, partitions in answer.items()}


def franz_go_agreement(name: str, body: Body, answers: list[Answer]) -> str | None:
    """How our answer and those of franz-go's runs are alike; None if they are not."""
    group, assignor = group_of(body), GROUP_PROTOCOLS["classic"][f"franz-go:{name}"]
    on_racks = body["balance_racks"] and assignor.on_racks is not None
    assignment = (assignor.on_racks if on_racks else assignor.run)(group)  # type: ignore[misc]
    mine = in_order(named(group, assignment.rows))
    if assignment.left_open is None:
        return "alike" if all(answer == mine for answer in answers) else None
    if not all(set(partitions) <= set(answer[member]) for answer in answers for member, partitions in mine.items()):
        return None
    possible = every_answer(name, body)
    if possible is None:
        return "open"
    return "open, of all orders" if all(answer in possible for answer in answers) else None


def compare_franz_go(cases: int, seed: int) -> Counter[tuple[str, str]]:
    """So many rebalances, from group 0 on, counted by (assignor, how they are alike). Raises Differs, NotHere."""
    library = Library(franz_go())
    counts: Counter[tuple[str, str]] = Counter()
    try:
        for number in count():
            name = FRANZ_GO[number % len(FRANZ_GO)]
            assignor = GROUP_PROTOCOLS["classic"][f"franz-go:{name}"]
            group = rebalances(seed, number, Subject("classic", assignor, "", name))
            body = next(group, None)
            while body is not None:
                body["balance_racks"] = number // len(FRANZ_GO) % 2 == 1
                answers = [answer_of(body, each) for each in library.assign(name, body, runs=RUNS)["answers"]]
                how = franz_go_agreement(name, body, answers)
                if how is None:
                    raise Differs(f"{assignor.name}, group {number}", body, None, answers)
                counts[assignor.name, how] += 1
                if counts.total() == cases:
                    return counts
                body = answered(group, answers[0])
    finally:
        library.close()
    raise AssertionError


@click.command()
@click.option("--cases", default=10_000, show_default=True, help="Rebalances to compare with each release.")
@click.option("--seed", default=20_261_124, show_default=True, help="Another seed draws other groups.")
def main(cases: int, seed: int) -> None:
    """Compare librdkafka's and franz-go's assignors with the libraries themselves on random groups."""
    console = Console()
    of_libraries: dict[str, Callable[[], Counter[tuple[str, str]]]] = {
        **{f"librdkafka {release}": partial(compare, release, cases, seed) for release in CRATES},
        "franz-go": partial(compare_franz_go, cases, seed),
    }
    for library, comparison in of_libraries.items():
        try:
            counts = comparison()
        except NotHere as reason:
            console.print(f"{library} cannot be built here: {reason}")
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
