"""Every placement that StripedReplicaPlacer can make, by trying all outcomes of all of its draws, shuffles included."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.reference import striped

if TYPE_CHECKING:
    from collections.abc import Iterator


class Scripted:
    """A generator whose draws are given; beyond them it draws 0, and remembers the bounds."""

    def __init__(self, draws: list[int]) -> None:
        self.draws = draws
        self.bounds: list[int] = []

    def next_int(self, bound: int) -> int:
        """The next draw."""
        self.bounds.append(bound)
        return self.draws[len(self.bounds) - 1] if len(self.bounds) <= len(self.draws) else 0

    def shuffle(self, values: list[Any]) -> None:
        """Collections.shuffle."""
        for size in range(len(values), 1, -1):
            i = self.next_int(size)
            values[size - 1], values[i] = values[i], values[size - 1]


def placements(brokers: list[dict[str, Any]], partitions: int, factor: int) -> Iterator[tuple[tuple[int, ...], ...]]:
    """The placements, repeated where several draws give the same."""
    draws: list[int] = []
    while True:
        random = Scripted(draws)
        yield tuple(map(tuple, striped.place(brokers, partitions, factor, random)))  # type: ignore[arg-type]
        draws = draws + [0] * (len(random.bounds) - len(draws))
        while draws and draws[-1] + 1 == random.bounds[len(draws) - 1]:
            draws.pop()
        if not draws:
            return
        draws[-1] += 1
