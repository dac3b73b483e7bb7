"""How good an answer is, and how good any answer could be."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Objective:
    """One aim of an answer.

    name : what is counted: ``moved_partitions``
    value : what the answer has
    bound : what no answer that is as good in the aims before this one can beat
    most : is more better?
    """

    name: str
    value: float
    bound: float
    most: bool = False

    @property
    def gap(self) -> float:
        """How far the value may be from the best, as a share of the larger of value and bound; 0: it is the best."""
        apart = self.bound - self.value if self.most else self.value - self.bound
        return apart / max(self.value, self.bound) if apart > 0 else 0.0


@dataclass(frozen=True)
class Certificate:
    """The aims of an answer, the most important first.

    method : how value and bounds were found, a sentence
    """

    objectives: tuple[Objective, ...]
    method: str

    def proves(self, name: str) -> bool:
        """Is the value of this objective, and of those before it, the best?"""
        names = [each.name for each in self.objectives]
        return name in names and all(each.gap == 0 for each in self.objectives[: names.index(name) + 1])
