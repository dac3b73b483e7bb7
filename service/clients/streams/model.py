"""A group of Kafka Streams, and what its members are assigned: tasks instead of partitions.

A task is ``subtopology << TASK_BITS | task id``, where a subtopology is the position of its id among all ids in Java's order. So
tasks sort by subtopology, then by id.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from service.core.registry import Strategy

TASK_BITS: Final = 31
TASK_ID: Final = (1 << TASK_BITS) - 1


@dataclass(frozen=True)
class StreamsTopology:
    """The subtopologies, in the order of their integers.

    tasks_counts : of each; stateful : does it have state, which standby tasks can copy?
    """

    subtopology_ids: tuple[str, ...]
    tasks_counts: tuple[int, ...]
    stateful: tuple[bool, ...]

    def tasks(self, *, stateful: bool | None = None) -> list[int]:
        """Tasks, ascending. stateful : those with, or without, state; None: all"""
        return [
            subtopology << TASK_BITS | i
            for subtopology, count in enumerate(self.tasks_counts)
            if stateful in (None, self.stateful[subtopology])
            for i in range(count)
        ]


@dataclass(frozen=True)
class StreamsMember:
    """A member, which is a thread of a process.

    active, standby : its tasks of the previous target assignment
    offsets : task → the sum of the offsets that it has restored, as it reports them
    """

    member_id: str
    process_id: str
    active: Sequence[int] = ()
    standby: Sequence[int] = ()
    offsets: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class StreamsGroup:
    """A group of the streams protocol (KIP-1071). members : at least one; no two have one member_id"""

    topology: StreamsTopology
    members: tuple[StreamsMember, ...]
    standby_replicas: int = 0


@dataclass(frozen=True)
class StreamsAssignment:
    """What each member gets, in the order of the group's members.

    missing_standbys : task → how many of its standby tasks no member can take
    """

    active: list[list[int]]
    standby: list[list[int]]
    missing_standbys: dict[int, int]


@dataclass(frozen=True)
class StreamsAssignor(Strategy):
    """A task assignor of brokers.

    run : ``(group)`` → StreamsAssignment
    setting : what selects it in the broker's configuration
    is_default : is it what a broker uses if nothing is configured?
    """

    run: Callable[[StreamsGroup], StreamsAssignment]
    setting: str = ""
    is_default: bool = False
