"""The task assignor of classic Streams groups: balanced first, then tasks wait where their state is (KIP-441).

If the group has a strategy for racks, clients exchange tasks after each of the steps 1, 2 and 4, so that tasks are in the racks
of their partitions (``racks.py``).

1. Stateful active tasks go to the clients in turn, and are balanced over threads (``balancing.py``).
2. Standby tasks likewise (``standbys.py``).
3. Where a client is not caught up and another one is further, that one runs the task, and the client warms up (``movements.py``).
   A probing rebalance follows until nothing has to move.
4. Stateless tasks go to the client with the fewest active tasks per thread.

Source: org.apache.kafka.streams.processor.internals.assignment.HighAvailabilityTaskAssignor (4.3.1).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from service.clients.streams.classic.balancing import balance
from service.clients.streams.classic.client_queue import empty_queue, enter, poll
from service.clients.streams.classic.held import hand_out, held_by
from service.clients.streams.classic.movements import move
from service.clients.streams.classic.racks import STATELESS, optimize_active, optimize_standbys
from service.clients.streams.classic.standbys import assign_standbys, may_exchange
from service.clients.streams.classic.tags import tags_of
from service.core.clock import OUT_OF_TIME, Deadline, current_deadline, in_time, is_over
from service.core.kernels import kernel
from service.core.model import Int32s, Int64s

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.clients.streams.classic.client import Client
    from service.clients.streams.classic.clients import ClientsGroup


COSTS: Final = (10, 1)
"""DEFAULT_HIGH_AVAILABILITY_TRAFFIC_COST and _NON_OVERLAP_COST."""
TIMED: Final = 1_000
"""Tasks between two looks at the clock."""


def assign(group: ClientsGroup) -> bool:
    """Assign to the clients of the group, in place; returns whether a probing rebalance follows."""
    clients, racks = group.by_number, group.racks
    must_move = _assign_stateful(group, clients)
    stateless = group.topology.tasks(stateful=False)
    _assign_stateless(clients, stateless)
    if racks:
        optimize_active(racks, clients, stateless, STATELESS)
    return must_move


def _assign_stateful(group: ClientsGroup, clients: Sequence[Client]) -> bool:
    """Steps 1 to 3; returns whether a task had to move to where its state is."""
    racks, settings, tasks = group.racks, group.settings, group.topology.tasks(stateful=True)
    for client in clients:
        client.active = set(tasks[client.number :: len(clients)])
    held, tags = held_by(clients, tasks), tags_of(clients, settings.tags)
    in_time(balance(held, True, tags, current_deadline()))
    if racks:
        hand_out(held, clients, tasks)
        optimize_active(racks, clients, tasks, racks.stateful(*COSTS))
        held = held_by(clients, tasks)
    if settings.standby_replicas:
        order = np.searchsorted(tasks, group.in_order(tasks) if settings.tags else tasks)
        in_time(assign_standbys(held, settings.standby_replicas, tags, order, current_deadline()))
        in_time(balance(held, False, tags, current_deadline()))
        if racks:
            hand_out(held, clients, tasks)
            optimize_standbys(racks, clients, racks.stateful(*COSTS), partial(may_exchange, group))
            held = held_by(clients, tasks)
    must_move = move(held, group.lags, settings.acceptable_recovery_lag, settings.max_warmup_replicas)
    hand_out(held, clients, tasks)
    return must_move


def _assign_stateless(clients: Sequence[Client], tasks: Sequence[int]) -> None:
    """Step 4."""
    hashes = np.array([client.hash_code for client in clients], np.int32)
    counts = np.array([len(client.active) for client in clients], np.int64)
    capacities = np.array([client.capacity for client in clients], np.int64)
    owners = np.empty(len(tasks), np.int32)
    in_time(_to_least_loaded(hashes, counts, capacities, owners, current_deadline()))
    by_owner = np.array(tasks, np.int64)[np.argsort(owners, kind="stable")].tolist()
    ends = np.cumsum(np.bincount(owners, minlength=len(clients))).tolist()
    for client, start, end in zip(clients, [0, *ends], ends, strict=False):
        client.active.update(by_owner[start:end])


@kernel
def _to_least_loaded(hashes: Int32s, counts: Int64s, capacities: Int64s, owners: Int32s, deadline: Deadline) -> int:
    """The owner of each stateless task. Returns 0 or OUT_OF_TIME. counts : active tasks of each client"""
    queue, able = empty_queue(hashes), np.ones(len(hashes), np.bool_)
    for client in range(len(hashes)):
        queue.loads[client] = counts[client] / capacities[client]
        enter(queue, client)
    for task in range(len(owners)):
        if task % TIMED == 0 and is_over(deadline):
            return OUT_OF_TIME
        client = poll(queue, able)
        owners[task] = client
        counts[client] += 1
        queue.loads[client] = counts[client] / capacities[client]
        enter(queue, client)
    return 0
