"""A client of a classic Streams group, as its leader sees it (ClientState)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(eq=False)
class Client:
    """A client: a process with its threads.

    number : its place in the order of process ids; hash_code : UUID.hashCode() of its own
    capacity : its threads; tags : ``client.tag.…``
    had_active, had_standby : its tasks before, ascending
    active, standby : what it is assigned
    """

    number: int
    hash_code: int
    capacity: int
    tags: Mapping[str, str] = field(default_factory=dict)
    had_active: Sequence[int] = ()
    had_standby: Sequence[int] = ()
    active: set[int] = field(default_factory=set)
    standby: set[int] = field(default_factory=set)

    def __contains__(self, task: int) -> bool:
        """Is the task assigned to it, as active or standby task?"""
        return task in self.active or task in self.standby

    @property
    def count(self) -> int:
        """How many tasks it is assigned."""
        return len(self.active) + len(self.standby)

    @property
    def load(self) -> float:
        """Tasks ÷ threads."""
        return self.count / self.capacity
