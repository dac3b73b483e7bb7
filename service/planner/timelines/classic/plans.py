"""Assignments that a group leader carries out in two rebalances, as ``RemoteAssignor`` does (clients/java).

What another member still reads is withheld from its new owner in the first. In the next the leader remembers what it has begun,
if the group is still the same, and only then asks anew.
"""

from typing import TypeAlias

import numpy as np

from service.core.assignors import Assignor
from service.core.assignors.classic.sticky.cooperative import withholding
from service.core.model import NONE, Assignment, Group, Int32s
from service.core.ragged import grouped
from service.planner.timelines.members import Members
from service.planner.timelines.topics import View

Scene: TypeAlias = tuple[int, bytes, bytes, bytes]


def scene_of(leader: int, numbers: Int32s, members: Members, view: View) -> Scene:
    """What must not change for a leader to go on with what it has begun. leader : its number; numbers : of the members"""
    order = np.sort(numbers)
    counts = view.counts[members.joined_topics(numbers)]
    return leader, order.tobytes(), members.columns.joined[order].tobytes(), counts.tobytes()


class LeaderPlans:
    """What the leaders of a group have begun."""

    def __init__(self) -> None:
        self._scene: Scene | None = None
        self._target = np.empty(0, np.int32)

    def assign(self, assignor: Assignor, group: Group, scene: Scene, numbers: Int32s, view: View) -> Assignment:
        """What is assigned now. group : with what its members still read; numbers : of its members"""
        if scene == self._scene:
            slots = np.full(int(numbers.max(initial=0)) + 2, NONE, np.int32)
            slots[numbers] = np.arange(len(numbers), dtype=np.int32)
            rows = grouped(slots[self._target[view.to_world]], len(numbers))
        else:
            rows = assignor.run(group).rows
        now = withholding(group, rows)
        self._scene = scene if now.follow_up_rebalance else None
        self._target = np.full(len(view.from_world), NONE, np.int32)
        self._target[view.to_world[rows.values]] = numbers[rows.row_of_each_value()]
        return now
