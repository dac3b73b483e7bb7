"""Connectors and tasks as integers, and the orders in which Kafka Connect keeps them.

A connector is the position of its name among all names of a question, in Java's order of strings. A task is
``connector << TASK_BITS | task id``. So integers sort as ``String`` and ``ConnectorTaskId`` do.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np

from service.core.jvm.ordering import capacity_for_set, iteration_order
from service.core.model import Int32s

TASK_BITS: Final = 31

Items: TypeAlias = dict[int, None]
"""A java.util.LinkedHashSet of connectors or of tasks."""


def connector_of(task: int) -> int:
    """The connector of a task."""
    return task >> TASK_BITS


@dataclass(frozen=True, eq=False)
class Work:
    """Connectors and tasks: WorkerCoordinator.ConnectorsAndTasks."""

    connectors: Items = field(default_factory=dict)
    tasks: Items = field(default_factory=dict)

    @classmethod
    def of(cls, connectors: Iterable[int], tasks: Iterable[int]) -> Work:
        """These connectors and tasks, each once, in this order."""
        return cls(dict.fromkeys(connectors), dict.fromkeys(tasks))

    @property
    def kinds(self) -> tuple[Items, Items]:
        """Both, for what is done to either alike."""
        return self.connectors, self.tasks

    def __bool__(self) -> bool:
        return bool(self.connectors or self.tasks)

    @classmethod
    def union(cls, works: Iterable[Work]) -> Work:
        """What any of these has, in the order in which it is first there."""
        union = cls()
        for work in works:
            union.add(work)
        return union

    def copy(self) -> Work:
        """A copy to change."""
        return Work(dict(self.connectors), dict(self.tasks))

    def add(self, other: Work) -> None:
        """Add what is not here yet, after the rest."""
        self.connectors.update(other.connectors)
        self.tasks.update(other.tasks)

    def remove(self, other: Work) -> None:
        """Remove what is here."""
        for mine, theirs in zip(self.kinds, other.kinds, strict=True):
            for item in theirs:
                mine.pop(item, None)

    def without(self, *others: Work) -> Work:
        """What none of the others has, in the same order."""
        connectors, tasks = self.kinds
        for other in others:
            connectors = {item: None for item in connectors if item not in other.connectors}
            tasks = {item: None for item in tasks if item not in other.tasks}
        return Work(connectors, tasks)

    def within(self, other: Work) -> Work:
        """What the other has, too, in the same order."""
        connectors = {item: None for item in self.connectors if item in other.connectors}
        return Work(connectors, {item: None for item in self.tasks if item in other.tasks})

    def ascending(self) -> Work:
        """The same in ascending order."""
        return Work.of(sorted(self.connectors), sorted(self.tasks))


def serialized(work: Work, hashes: Int32s) -> Work:
    """The order in which a worker's assignment is read from its bytes.

    hashes : int32[connectors], String.hashCode() of the name of each

    A message lists tasks by connector: first the worker's connectors in the order of a HashSet, then others as their tasks come.
    Source: ConnectProtocol.Assignment.asMap, ExtendedAssignment.toStruct and fromStruct.
    """
    names = list(work.connectors)
    if names:
        ranks = np.array(names, np.int32)
        names = ranks[iteration_order(hashes[ranks], capacity=capacity_for_set(len(names)), ranks=ranks)].tolist()
    by_connector: dict[int, list[int]] = {name: [] for name in names}
    for task in work.tasks:
        by_connector.setdefault(connector_of(task), []).append(task)
    return Work.of(names, (task for tasks in by_connector.values() for task in tasks))
