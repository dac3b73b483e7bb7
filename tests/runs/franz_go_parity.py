"""franz-go's balancers themselves on random groups, asked several times, for it goes through maps in random orders.

Every answer must have what we say to be certain, and, where there are few orders, must be one of those that the plain twin gives
in all of them.
"""

from __future__ import annotations

from collections import Counter
from itertools import count, permutations, product
from math import factorial, prod
from random import Random
from typing import TYPE_CHECKING, Any

from service.strategies import GROUP_PROTOCOLS
from tests.reference.clients import franz_go as twin
from tests.runs.client_groups import Answer, Body, Differs, answer_of, answered, in_order, rebalances
from tests.support.clients import Library, of_go
from tests.support.groups import group_of, named

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

NAMES = ("range", "roundrobin", "sticky", "cooperative-sticky")

RUNS = 6
"""How often it is asked."""

MOST_ORDERS = 200
"""In how many orders the twin plays a group."""


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
    twin.Sticky(body, counts, balance_racks=balance_racks)
    sizes = [size if balance_racks or i != 1 else 1 for i, size in enumerate(counts.sizes)]  # else the order of racks is nothing
    if prod(map(factorial, sizes)) > MOST_ORDERS:
        return None
    runs = []
    for orders in product(*(permutations(range(size)) for size in sizes)):
        drawn = [order if size == len(order) else range(size) for order, size in zip(orders, counts.sizes, strict=True)]
        run = twin.Sticky(body, Drawn(drawn), balance_racks=balance_racks)
        runs.append(in_order(run.cooperative() if cooperative else run.eager()))
    return runs


def agreement(name: str, body: Body, answers: list[Answer]) -> str | None:
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


def compare(cases: int, seed: int) -> Counter[tuple[str, str]]:
    """So many rebalances, from group 0 on, counted by (assignor, how they are alike). Raises Differs, NotHere."""
    library = Library(of_go("franz-go"))
    counts: Counter[tuple[str, str]] = Counter()
    try:
        for number in count():
            name = NAMES[number % len(NAMES)]
            assignor = GROUP_PROTOCOLS["classic"][f"franz-go:{name}"]
            group = rebalances(seed, number)
            body = next(group, None)
            while body is not None:
                body["balance_racks"] = number // len(NAMES) % 2 == 1
                answers = [answer_of(body, each) for each in library.assign(name, body, runs=RUNS)["answers"]]
                how = agreement(name, body, answers)
                if how is None:
                    raise Differs(f"{assignor.name}, group {number}", body, None, answers)
                counts[assignor.name, how] += 1
                if counts.total() == cases:
                    return counts
                body = answered(group, answers[0])
    finally:
        library.close()
    raise AssertionError
