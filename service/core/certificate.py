"""How good an assignment is, and how good any could be."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Objective:
    """One aim of an assignment.

    value : what it has
    bound : what no assignment that is as good in the aims before this one can beat
    method : how that was found, a sentence
    most : is more better?
    """

    value: float
    bound: float
    method: str
    most: bool = False

    @property
    def gap(self) -> float:
        """How far the value may be from the best, as a share of the larger of value and bound; 0: it is the best."""
        apart = self.bound - self.value if self.most else self.value - self.bound
        return apart / max(self.value, self.bound) if apart > 0 else 0.0

    def joined(self, other: Objective) -> Objective:
        """The aim for two parts that are assigned by themselves."""
        method = self.method if self.method == other.method else f"{self.method} {other.method}"
        return Objective(self.value + other.value, self.bound + other.bound, method, self.most)


@dataclass(frozen=True)
class Certificate:
    """The aims of an assignment, the most important first.

    coverage : partitions of topics with subscribers that have an owner
    load : the largest load ÷ capacity
    evenness : the sum of the squared numbers of partitions; None where loads are weights
    moves : claimed partitions that go to none of their claimants
    rack_local : partitions that are read on the reader's rack; None without racks
    """

    coverage: Objective
    load: Objective
    evenness: Objective | None
    moves: Objective
    rack_local: Objective | None

    def joined(self, other: Certificate) -> Certificate:
        """With that of partitions which are assigned by themselves and have no load."""
        rack_local = self.rack_local and other.rack_local and self.rack_local.joined(other.rack_local)
        moves = self.moves.joined(other.moves)
        return replace(self, coverage=self.coverage.joined(other.coverage), moves=moves, rack_local=rack_local)

    @property
    def proves_even(self) -> bool:
        """Are the numbers of partitions proven to be the most even, and the moves the fewest for these?"""
        return self.evenness is not None and not (self.load.gap or self.evenness.gap or self.moves.gap)
