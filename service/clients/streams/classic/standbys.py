"""Where standby tasks of a classic Streams group go at first: to the least loaded clients, or to those with other tags (KIP-708).

Source: DefaultStandbyTaskAssignor, ClientTagAwareStandbyTaskAssignor (kafka-streams 4.3.1).
Plain-Python twin: tests/reference/streams_leader.py.
"""

from typing import NamedTuple

import numpy as np

from service.clients.streams.classic.client import Client, Held, Tags, has
from service.clients.streams.classic.clients import ClientsGroup
from service.core.budget import OUT_OF_TIME, Deadline, is_over
from service.core.jvm.ordering import DEFAULT_CAPACITY, hash_order
from service.core.kernels import borrowing_kernel, inner_kernel, kernel
from service.core.model import NONE, Bools, Float64s, Int32s, Int64s

# Clients by a load, the least first, of which some may not have a task: ConstrainedPrioritySet.
#
# The heap is java.util.PriorityQueue's (JDK 17), element by element. Where the loads of two clients change at once, one enters
# while the other is not where its load belongs, and the heap's past then decides who comes first.
#
# Source: org.apache.kafka.streams.processor.internals.assignment.ConstrainedPrioritySet (4.3.1).
# Plain-Python twin: tests/reference/streams_leader.py, ``ClientQueue``.


class ClientQueue(NamedTuple):
    """The queue. Clients are numbered in the order of their process ids, which decides between equal loads.

    heap : int32[clients], of which the first ``size[0]`` count
    where : int32[clients], the place of each client in the heap; NONE: it is not in it
    loads : float64[clients], the load of each client, which the caller writes before the client enters
    hashes : int32[clients], UUID.hashCode() of each process id
    """

    heap: Int32s
    size: Int64s
    where: Int32s
    loads: Float64s
    hashes: Int32s


@inner_kernel
def empty_queue(hashes: Int32s) -> ClientQueue:
    """A queue without clients."""
    clients = len(hashes)
    where = np.full(clients, NONE, np.int32)
    return ClientQueue(np.empty(clients, np.int32), np.zeros(1, np.int64), where, np.zeros(clients), hashes)


@borrowing_kernel
def enter(queue: ClientQueue, client: int) -> None:
    """PriorityQueue.add, after PriorityQueue.remove if the client is in the queue."""
    at = queue.where[client]
    if at != NONE:
        queue.size[0] -= 1
        last, queue.where[client] = queue.heap[queue.size[0]], NONE
        if last != client:
            _sift_down(queue, at, last)
            if queue.heap[at] == last:
                _sift_up(queue, at, last)
    queue.size[0] += 1
    _sift_up(queue, queue.size[0] - 1, client)


@inner_kernel
def poll(queue: ClientQueue, able: Bools) -> int:
    """The first of the ``able`` clients, which leaves the queue; NONE: there is none.

    Those before it enter again, in the order of a HashSet.
    """
    passed = np.empty(queue.size[0], np.int32)
    count, first = 0, NONE
    while queue.size[0] > 0:
        client = queue.heap[0]
        queue.size[0] -= 1
        last, queue.where[client] = queue.heap[queue.size[0]], NONE
        if last != client:
            _sift_down(queue, 0, last)
        if able[client]:
            first = client
            break
        passed[count] = client
        count += 1
    passed = passed[:count]
    if count > 1:
        passed = passed[hash_order(queue.hashes[passed], passed, DEFAULT_CAPACITY, False, passed[:0])]
    for client in passed:
        enter(queue, client)
    return first


@borrowing_kernel
def _is_before(queue: ClientQueue, a: int, b: int) -> bool:
    loads = queue.loads
    return bool(loads[a] < loads[b] or (loads[a] == loads[b] and a < b))


@borrowing_kernel
def _sift_up(queue: ClientQueue, at: int, client: int) -> None:
    while at > 0:
        parent = (at - 1) >> 1
        if not _is_before(queue, client, queue.heap[parent]):
            break
        queue.heap[at] = queue.heap[parent]
        queue.where[queue.heap[at]] = at
        at = parent
    queue.heap[at], queue.where[client] = client, at


@borrowing_kernel
def _sift_down(queue: ClientQueue, at: int, client: int) -> None:
    size = queue.size[0]
    while at < size >> 1:
        child = 2 * at + 1
        if child + 1 < size and _is_before(queue, queue.heap[child + 1], queue.heap[child]):
            child += 1
        if not _is_before(queue, queue.heap[child], client):
            break
        queue.heap[at] = queue.heap[child]
        queue.where[queue.heap[at]] = at
        at = child
    queue.heap[at], queue.where[client] = client, at


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
    used = np.zeros(len(tags.key_of), np.bool_)  # the tags by which the task is spread
    able = np.empty(len(held.counts), np.bool_)
    last = held.owners[task]
    for given in range(replicas):
        for i in range(tags.first[last], tags.first[last + 1]):
            key = tags.key_of[tags.tags[i]]
            if tags.spreads[key]:
                start, stop = tags.first_of_key[key], tags.first_of_key[key + 1]
                if stop - start > given + 1:
                    used[tags.tags[i]] = True
                else:  # the task has been on as many clients as the key has values: its tags count anew
                    used[start:stop] = False
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
