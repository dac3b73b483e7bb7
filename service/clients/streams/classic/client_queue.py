"""Clients by a load, the least first, of which some may not have a task: ConstrainedPrioritySet.

The heap is java.util.PriorityQueue's (JDK 17), element by element. Where the loads of two clients change at once, one enters
while the other is not where its load belongs, and the heap's past then decides who comes first.

Source: org.apache.kafka.streams.processor.internals.assignment.ConstrainedPrioritySet (4.3.1).
Plain-Python twin: tests/reference/streams_leader.py, ``ClientQueue``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from service.core.jvm.ordering import DEFAULT_CAPACITY, hash_order
from service.core.kernels import borrowing_kernel, inner_kernel
from service.core.model import NONE, Bools, Float64s, Int32s, Int64s


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
