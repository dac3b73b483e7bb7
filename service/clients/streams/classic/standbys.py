"""Where standby tasks of a classic Streams group go at first: to the least loaded clients, or to those with other tags (KIP-708).

Source: DefaultStandbyTaskAssignor, ClientTagAwareStandbyTaskAssignor (kafka-streams 4.3.1).
Plain-Python twin: tests/reference/streams_leader.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from service.clients.streams.classic.client_queue import ClientQueue, empty_queue, enter, poll
from service.clients.streams.classic.held import Held, has
from service.clients.streams.classic.tags import Tags, use
from service.core.clock import OUT_OF_TIME, Deadline, is_over
from service.core.kernels import inner_kernel, kernel
from service.core.model import NONE, Bools, Int64s

if TYPE_CHECKING:
    from service.clients.streams.classic.client import Client
    from service.clients.streams.classic.clients import ClientsGroup


def may_exchange(group: ClientsGroup, source: Client, destination: Client, task: int) -> bool:
    """May a standby task go from one client to another so that the clients with the task have no fewer different tags?"""
    if not group.settings.tags:
        return True
    others = {
        tag for client in group.clients if client not in (source, destination) and task in client for tag in client.tags.items()
    }
    return len(others.union(destination.tags.items())) >= len(others.union(source.tags.items()))


@kernel
def assign_standbys(held: Held, replicas: int, tags: Tags, order: Int64s, deadline: Deadline) -> int:
    """Assign the standby tasks. Returns 0 or OUT_OF_TIME.

    replicas : of each task; order : int64[tasks], in which tasks go to the least loaded clients
    """
    queue = empty_queue(held.hashes)
    left = np.full(len(held.owners), replicas, np.int64)
    if tags.by_tags:
        for task in range(len(held.owners)):
            if is_over(deadline):
                return OUT_OF_TIME
            left[task] = _spread(held, queue, tags, task, replicas)
    enter_all(held, queue)
    able = np.empty(len(held.counts), np.bool_)
    for task in order:
        if is_over(deadline):
            return OUT_OF_TIME
        for _ in range(left[task]):
            _have_not(held, task, able)
            client = poll(queue, able)
            if client == NONE:
                break
            held.standby[task, client] = True
            held.counts[client] += 1
            queue.loads[client] = held.counts[client] / held.capacities[client]
            enter(queue, client)
    return 0


@inner_kernel
def _spread(held: Held, queue: ClientQueue, tags: Tags, task: int, replicas: int) -> int:
    """To clients that differ from those with the task in as many tags as can be; returns how many are left."""
    enter_all(held, queue)
    used = np.zeros(len(tags.key_of), np.bool_)
    able = np.empty(len(held.counts), np.bool_)
    last = held.owners[task]
    for given in range(replicas):
        use(tags, last, given + 1, used)
        _have_not(held, task, able)
        for client in range(len(able)):
            for i in range(tags.first[client], tags.first[client + 1]):
                able[client] &= not used[tags.tags[i]]
        last = poll(queue, able)
        if last == NONE:
            return int(replicas - given)
        held.standby[task, last] = True
        held.counts[last] += 1
    return 0


@inner_kernel
def enter_all(held: Held, queue: ClientQueue) -> None:
    """All clients enter, one after the other, with the loads that they have now."""
    for client in range(len(held.counts)):
        queue.loads[client] = held.counts[client] / held.capacities[client]
    for client in range(len(held.counts)):
        enter(queue, client)


@inner_kernel
def _have_not(held: Held, task: int, able: Bools) -> None:
    for client in range(len(able)):
        able[client] = not has(held, client, task)
