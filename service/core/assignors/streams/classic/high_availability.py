"""The task assignor of classic Streams groups: balanced first, then tasks wait where their state is (KIP-441).

1. Stateful active tasks go to the clients in turn, and are balanced over threads.
2. Standby tasks likewise (``standbys.py``).
3. Where a client is not caught up and another one is further, that one runs the task, and the client warms up (``movements.py``).
   A probing rebalance follows until nothing has to move.
4. Stateless tasks go to the client with the fewest active tasks per thread.

Source: org.apache.kafka.streams.processor.internals.assignment.HighAvailabilityTaskAssignor (4.3.1), without the cost of racks.
"""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING

from service.core.assignors.streams.classic.clients import Client, ClientQueue
from service.core.assignors.streams.classic.movements import TaskMovements
from service.core.assignors.streams.classic.standbys import assign_standbys, may_move

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from service.core.assignors.streams.classic.clients import ClientsGroup
    from service.core.clock import TimeLimit


def assign(group: ClientsGroup, check_time: TimeLimit) -> bool:
    """Assign to the clients of the group, in place; returns whether a probing rebalance follows."""
    clients = sorted(group.clients, key=lambda client: client.number)
    stateful = group.topology.tasks(stateful_only=True)
    for task, client in zip(stateful, cycle(clients), strict=False):
        client.active.add(task)
    _balance(clients, lambda client: client.active, lambda *_: True, check_time)
    settings = group.settings
    if settings.standby_replicas:
        assign_standbys(group, clients, stateful)
        _balance(clients, lambda client: client.standby, lambda *pair: may_move(group, *pair), check_time)
    movements = TaskMovements(clients, settings.acceptable_recovery_lag, settings.max_warmup_replicas, check_time)
    needed = movements.move_active() + movements.move_standby()
    queue = ClientQueue(lambda *_: True, lambda client: client.active_load)
    queue.offer(*clients)
    with_state = set(stateful)
    for task in group.topology.tasks():
        if task not in with_state:
            least = queue.poll(task)
            if least is not None:
                least.active.add(task)
                queue.offer(least)
    return needed > 0


def _balance(
    clients: Sequence[Client],
    tasks: Callable[[Client], set[int]],
    may: Callable[[Client, Client], bool],
    check_time: TimeLimit,
) -> None:
    """Move tasks between clients while that evens their loads."""
    moved = True
    while moved:
        moved = False
        for source in clients:
            check_time()
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
