"""Tasks go first where their state is, and are warmed up where they are to be (KIP-441).

Source: org.apache.kafka.streams.processor.internals.assignment.TaskMovement (kafka-streams 4.3.1).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING, Final, TypeAlias

from service.core.assignors.streams.classic.clients import Client, ClientQueue
from service.core.jvm.priority_queue import PriorityQueue

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from service.core.clock import TimeLimit

RUNNING: Final = -2
"""The lag of a client that runs the task: Task.LATEST_OFFSET."""

Move: TypeAlias = tuple[tuple[int, int], Client]
"""How many clients are caught up on a task, few first, the task, and the client that it is to move to."""

UNBOUNDED: Final = 2**63 - 1
"""The acceptable lag with which every client is caught up."""


@dataclass(eq=False)
class TaskMovements:
    """What is moved.

    clients : in the order of process ids; acceptable_lag : up to which a client is caught up
    warmups_left : how many warm-up tasks there may still be
    warmups : the (client number, task) of those that stand for an active task
    """

    clients: Sequence[Client]
    acceptable_lag: int
    warmups_left: int
    check_time: TimeLimit
    warmups: set[tuple[int, int]] = field(default_factory=set)
    _caught_up: dict[int, list[Client]] = field(default_factory=dict)

    def caught_up(self, task: int) -> list[Client]:
        """The clients that are caught up on a task."""
        if task not in self._caught_up:
            self._caught_up[task] = [client for client in self.clients if self.is_caught_up(client, task)]
        return self._caught_up[task]

    def is_caught_up(self, client: Client, task: int) -> bool:
        """Is the client's state good enough for the task?"""
        lag = client.lags[task]
        return 0 <= lag <= self.acceptable_lag or lag == RUNNING or self.acceptable_lag == UNBOUNDED

    def move_active(self) -> int:
        """Move active tasks to clients that are caught up; returns how many had to move."""
        queue, moves = self._queues(lambda client: client.active, lambda *_: False)
        needed = len(moves)
        while moves:
            self.check_time()
            (_, task), destination = moves.poll()
            source = queue.poll(task, lambda client: task in client.standby)  # noqa: B023 - it is asked at once
            source = source or queue.poll(task) or self._most_caught_up(task, destination, lambda _: True)
            if source is None:
                message = "a task moves to a client that is more caught up, so there is one"
                raise AssertionError(message)
            self._move_active(task, source, destination)
            queue.offer(source, destination)
        return needed

    def move_standby(self) -> int:
        """Move standby tasks to clients that are caught up; returns how many moved."""
        queue, moves = self._queues(lambda client: client.standby, lambda *warmup: warmup in self.warmups)
        moved = 0
        while moves:
            self.check_time()
            (_, task), destination = moves.poll()
            source = queue.poll(task, lambda client: task not in client)  # noqa: B023
            source = source or self._most_caught_up(task, destination, lambda client: task not in client)  # noqa: B023
            if source is None:
                continue
            source.standby.add(task)
            if not self._take_warmup():
                destination.standby.discard(task)
            queue.offer(source, destination)
            moved += 1
        return moved

    def _queues(
        self, tasks: Callable[[Client], set[int]], stays: Callable[[int, int], bool]
    ) -> tuple[ClientQueue, PriorityQueue[Move]]:
        """The clients by load, and what is to move."""
        queue = ClientQueue(self.is_caught_up, lambda client: client.load)
        moves: PriorityQueue[Move] = PriorityQueue(itemgetter(0))
        for client in self.clients:
            self.check_time()
            for task in sorted(tasks(client)):
                if not stays(client.number, task) and not self.is_caught_up(client, task) and self._is_behind(client, task):
                    moves.add(((len(self.caught_up(task)), task), client))
            queue.offer(client)
        return queue, moves

    def _is_behind(self, client: Client, task: int) -> bool:
        lag = client.lags[task]
        return any(each.lags[task] < lag for each in self.clients)

    def _most_caught_up(self, task: int, destination: Client, may: Callable[[Client], bool]) -> Client | None:
        """The client with the least lag, if it is less than the destination's."""
        key = (destination.lags[task], destination.number)
        able = [client for client in self.clients if (client.lags[task], client.number) < key and may(client)]
        return min(able, key=lambda client: (client.lags[task], client.number), default=None)

    def _move_active(self, task: int, source: Client, destination: Client) -> None:
        """The active task to the source, which has its state; a standby or warm-up task to the destination."""
        swaps = task in source.standby
        source.standby.discard(task)
        source.active.add(task)
        destination.active.discard(task)
        if swaps or self._take_warmup():
            destination.standby.add(task)
            if not swaps:
                self.warmups.add((destination.number, task))

    def _take_warmup(self) -> bool:
        self.warmups_left -= 1
        return self.warmups_left >= 0
