"""The twin of the kernels of high-availability (``service/clients/streams/classic``): objects and sets, without racks."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import cycle
from operator import itemgetter
from typing import TYPE_CHECKING

from service.clients.streams.classic.client import Client
from service.clients.streams.classic.clients import clients_in_order
from service.clients.streams.classic.high_availability import RUNNING, UNBOUNDED
from service.core.jvm.priority_queue import PriorityQueue

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from service.clients.streams.classic.clients import ClientsGroup

Tag = tuple[str, str]
Move = tuple[tuple[int, int], Client]


class _Heap(PriorityQueue):
    """With removal."""

    def __contains__(self, element: object) -> bool:
        return element in self._heap

    def remove(self, element: object) -> None:
        """PriorityQueue.remove of an element that is there."""
        at, last = self._heap.index(element), self._heap.pop()
        if at < len(self._heap):
            self._sift_down(at, last)
            if self._heap[at] is last:
                self._sift_up(at, last)


class ClientQueue:
    """Clients by a load, the least first, of which a constraint leaves out some for a task: ConstrainedPrioritySet."""

    def __init__(self, constraint: Callable[[Client, int], bool], load: Callable[[Client], float]) -> None:
        self._constraint, self._load = constraint, load
        self._keys: dict[Client, tuple[float, int]] = {}
        self._queue = _Heap(self._keys.__getitem__)

    def offer(self, *clients: Client) -> None:
        """Enter clients, with the loads that they have now. No other client's load has changed since it was entered."""
        for client in clients:
            self._keys[client] = self._load(client), client.number
        for client in clients:
            if client in self._queue:
                self._queue.remove(client)
            self._queue.add(client)

    def poll(self, task: int, also: Callable[[Client], bool] | None = None) -> Client | None:
        """The first client that may have the task, which leaves the queue; None: none may."""
        queue, may_have = self._queue, self._constraint
        passed: list[Client] = []
        found = None
        for _ in range(len(queue)):
            client = queue.poll()
            if may_have(client, task) and (also is None or also(client)):
                found = client
                break
            passed.append(client)
        for client in clients_in_order(passed):
            queue.add(client)
        return found


def assign(group: ClientsGroup) -> bool:
    """Assign to the clients of the group, in place; returns whether a probing rebalance follows."""
    clients = group.by_number
    stateful = group.topology.tasks(stateful=True)
    for task, client in zip(stateful, cycle(clients), strict=False):
        client.active.add(task)
    _balance(clients, lambda client: client.active, lambda *_: True)
    settings = group.settings
    if settings.standby_replicas:
        assign_standbys(group, clients, stateful)
        _balance(clients, lambda client: client.standby, lambda *pair: may_move(group, *pair))
    lags = {task: group.lags[i].tolist() for i, task in enumerate(stateful)}
    movements = TaskMovements(clients, lags, settings.acceptable_recovery_lag, settings.max_warmup_replicas)
    needed = movements.move_active() + movements.move_standby()
    queue = ClientQueue(lambda *_: True, lambda client: len(client.active) / client.capacity)
    queue.offer(*clients)
    stateless = group.topology.tasks(stateful=False)
    for task in stateless:
        least = queue.poll(task)
        if least is not None:
            least.active.add(task)
            queue.offer(least)
    return needed > 0


def _balance(
    clients: Sequence[Client],
    tasks: Callable[[Client], set[int]],
    may: Callable[[Client, Client], bool],
) -> None:
    """Move tasks between clients while that evens their loads."""
    moved = True
    while moved:
        moved = False
        for source in clients:
            for destination in clients:
                if source is destination or not _evens(source, destination):
                    continue
                for task in sorted(tasks(source)):
                    if not _evens(source, destination):
                        break
                    if task not in destination and may(source, destination):
                        tasks(source).discard(task)
                        tasks(destination).add(task)
                        moved = True


def _evens(source: Client, destination: Client) -> bool:
    """Does a task that moves from one to the other reduce the difference of their loads, and not turn it around?"""
    skew = source.load - destination.load
    if skew <= 0:
        return False
    after = (source.count - 1.0) / source.capacity - (destination.count + 1.0) / destination.capacity
    return 0 <= after < skew


@dataclass(eq=False)
class TaskMovements:
    """What is moved.

    clients : in the order of process ids; lags : of each task, by client; acceptable_lag : up to which a client is caught up
    warmups_left : how many warm-up tasks there may still be
    warmups : the (client number, task) of those that stand for an active task
    """

    clients: Sequence[Client]
    lags: Mapping[int, Sequence[int]]
    acceptable_lag: int
    warmups_left: int
    warmups: set[tuple[int, int]] = field(default_factory=set)
    _caught_up: dict[int, list[Client]] = field(default_factory=dict)

    def caught_up(self, task: int) -> list[Client]:
        """The clients that are caught up on a task."""
        if task not in self._caught_up:
            self._caught_up[task] = [client for client in self.clients if self.is_caught_up(client, task)]
        return self._caught_up[task]

    def is_caught_up(self, client: Client, task: int) -> bool:
        """Is the client's state good enough for the task?"""
        lag = self.lags[task][client.number]
        return 0 <= lag <= self.acceptable_lag or lag == RUNNING or self.acceptable_lag == UNBOUNDED

    def move_active(self) -> int:
        """Move active tasks to clients that are caught up; returns how many had to move."""
        queue, moves = self._queues(lambda client: client.active, lambda *_: False)
        needed = len(moves)
        while moves:
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
            for task in sorted(tasks(client)):
                if not stays(client.number, task) and not self.is_caught_up(client, task) and self._is_behind(client, task):
                    moves.add(((len(self.caught_up(task)), task), client))
            queue.offer(client)
        return queue, moves

    def _is_behind(self, client: Client, task: int) -> bool:
        lag = self.lags[task][client.number]
        return any(self.lags[task][each.number] < lag for each in self.clients)

    def _most_caught_up(self, task: int, destination: Client, may: Callable[[Client], bool]) -> Client | None:
        """The client with the least lag, if it is less than the destination's."""
        key = (self.lags[task][destination.number], destination.number)
        able = [client for client in self.clients if (self.lags[task][client.number], client.number) < key and may(client)]
        return min(able, key=lambda client: (self.lags[task][client.number], client.number), default=None)

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


def assign_standbys(group: ClientsGroup, clients: Sequence[Client], tasks: Sequence[int]) -> None:
    """Assign the standby tasks of these tasks. clients : in the order of process ids"""
    queue = ClientQueue(lambda client, task: task not in client, lambda client: client.load)
    replicas = group.settings.standby_replicas
    left = dict.fromkeys(tasks, replicas) if not group.settings.tags else _by_tags(group, clients, tasks, queue)
    queue.offer(*clients)
    for task in tasks if not group.settings.tags else [task for task in group.in_order(tasks) if task in left]:
        for _ in range(left[task]):
            client = queue.poll(task)
            if client is None:
                break
            client.standby.add(task)
            queue.offer(client)


def may_move(group: ClientsGroup, source: Client, destination: Client) -> bool:
    """May a standby task go from one client to another without losing what its tags are for?"""
    return not group.settings.tags or all(destination.tags.get(key) == value for key, value in source.tags.items())


def _by_tags(group: ClientsGroup, clients: Sequence[Client], tasks: Sequence[int], queue: ClientQueue) -> dict[int, int]:
    """Standby tasks to clients that differ from those with the task in as many tags as can be; returns how many are left."""
    values: dict[str, set[str]] = {}
    holders: dict[Tag, set[Client]] = {}
    for client in clients:
        for key, value in client.tags.items():
            values.setdefault(key, set()).add(value)
            holders.setdefault((key, value), set()).add(client)
    owners = {task: client for client in clients for task in client.active}
    left: dict[int, int] = {}
    for task in tasks:
        remaining = _spread(group, clients, task, owners[task], queue, values, holders)
        if remaining > 0:
            left[task] = remaining
    return left


def _spread(
    group: ClientsGroup,
    clients: Sequence[Client],
    task: int,
    owner: Client,
    queue: ClientQueue,
    values: Mapping[str, set[str]],
    holders: Mapping[Tag, set[Client]],
) -> int:
    """Assign the standby tasks of one task; returns how many are left."""
    queue.offer(*clients)
    used: dict[Tag, set[Client]] = {}
    remaining, count, last = group.settings.standby_replicas, 1, owner
    while True:
        for key, value in last.tags.items():
            if key not in group.settings.tags:
                continue
            if len(values[key]) <= count:
                for each in values[key]:
                    used.pop((key, each), None)
            else:
                used[key, value] = holders[key, value]
        client = queue.poll(task, lambda client: not any(client in of_tag for of_tag in used.values()))
        if client is None:
            return remaining
        count += 1
        remaining -= 1
        client.standby.add(task)
        last = client
        if remaining <= 0:
            return 0
