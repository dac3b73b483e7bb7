"""The task assignor of classic Streams groups: balanced first, then tasks wait where their state is (KIP-441).

If the group has a strategy for racks, clients exchange tasks after each of the steps 1, 2 and 4, so that tasks are in the racks
of their partitions (``racks.py``).

1. Stateful active tasks go to the clients in turn, and are balanced over threads.
2. Standby tasks likewise (``standbys.py``).
3. Where a client is not caught up and another one is further, that one runs the task, and the client warms up (``movements.py``).
   A probing rebalance follows until nothing has to move.
4. Stateless tasks go to the client with the fewest active tasks per thread.

Source: org.apache.kafka.streams.processor.internals.assignment.HighAvailabilityTaskAssignor (4.3.1).
"""

from __future__ import annotations

from functools import partial
from itertools import cycle
from typing import TYPE_CHECKING, Final

from service.core.assignors.streams.classic.clients import Client, ClientQueue
from service.core.assignors.streams.classic.movements import TaskMovements
from service.core.assignors.streams.classic.racks import STATELESS, optimize_active, optimize_standbys
from service.core.assignors.streams.classic.standbys import assign_standbys, may_exchange, may_move

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from service.core.assignors.streams.classic.clients import ClientsGroup
    from service.core.clock import TimeLimit


COSTS: Final = (10, 1)
"""DEFAULT_HIGH_AVAILABILITY_TRAFFIC_COST and _NON_OVERLAP_COST."""


def assign(group: ClientsGroup, check_time: TimeLimit) -> bool:
    """Assign to the clients of the group, in place; returns whether a probing rebalance follows."""
    clients, racks = group.by_number, group.racks
    stateful = group.topology.tasks(stateful=True)
    for task, client in zip(stateful, cycle(clients), strict=False):
        client.active.add(task)
    _balance(clients, lambda client: client.active, lambda *_: True, check_time)
    if racks:
        optimize_active(racks, clients, stateful, racks.stateful(*COSTS), check_time)
    settings = group.settings
    if settings.standby_replicas:
        assign_standbys(group, clients, stateful)
        _balance(clients, lambda client: client.standby, lambda *pair: may_move(group, *pair), check_time)
        if racks:
            optimize_standbys(racks, clients, racks.stateful(*COSTS), partial(may_exchange, group), check_time)
    movements = TaskMovements(clients, settings.acceptable_recovery_lag, settings.max_warmup_replicas, check_time)
    needed = movements.move_active() + movements.move_standby()
    queue = ClientQueue(lambda *_: True, lambda client: client.active_load)
    queue.offer(*clients)
    stateless = group.topology.tasks(stateful=False)
    for task in stateless:
        least = queue.poll(task)
        if least is not None:
            least.active.add(task)
            queue.offer(least)
    if racks:
        optimize_active(racks, clients, stateless, STATELESS, check_time)
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
