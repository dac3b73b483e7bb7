"""Tasks go first where their state is, and are warmed up where they are to be (KIP-441).

Source: org.apache.kafka.streams.processor.internals.assignment.TaskMovement (kafka-streams 4.3.1).
Plain-Python twin: tests/reference/streams_leader.py.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from service.clients.streams.classic.client_queue import ClientQueue, empty_queue, enter, poll
from service.clients.streams.classic.held import Held, has
from service.clients.streams.classic.standbys import enter_all
from service.core.clock import OUT_OF_TIME, Deadline, current_deadline, in_time, is_over
from service.core.heap import sift_down, sift_up
from service.core.kernels import inner_kernel, kernel
from service.core.model import NONE, Bools, Int32s, Int64s

RUNNING: Final = -2
"""The lag of a client that runs the task: Task.LATEST_OFFSET."""

UNBOUNDED: Final = 2**63 - 1
"""The acceptable lag with which every client is caught up."""


class States(NamedTuple):
    """How far the state of each stateful task is behind.

    lags : int64[tasks × clients]; least : int64[tasks], of all clients
    caught_up : bool[tasks × clients], is the client's state good enough for the task?
    counts : int64[tasks], clients that are caught up
    """

    lags: Int64s
    least: Int64s
    caught_up: Bools
    counts: Int64s


class WarmUps(NamedTuple):
    """Standby tasks in place of an active task.

    left : int64[1], how many more there may be; who : bool[tasks × clients], those that there are
    """

    left: Int64s
    who: Bools


def move(held: Held, lags: Int64s, acceptable_lag: int, most_warmups: int) -> bool:
    """Move active tasks, then standby tasks, to clients that are caught up; returns whether any had to move.

    lags : int64[tasks × clients]; acceptable_lag : up to which a client is caught up
    """
    caught_up = (lags == RUNNING) | ((lags >= 0) & (lags <= acceptable_lag)) | (acceptable_lag == UNBOUNDED)
    states = States(lags, lags.min(axis=1), caught_up, caught_up.sum(axis=1, dtype=np.int64))
    warmups = WarmUps(np.array([most_warmups], np.int64), np.zeros(lags.shape, np.bool_))
    active = in_time(_move_active(held, states, warmups, current_deadline()))
    return in_time(_move_standby(held, states, warmups, current_deadline())) + active > 0


@kernel
def _move_active(held: Held, states: States, warmups: WarmUps, deadline: Deadline) -> int:
    """Returns how many had to move, or OUT_OF_TIME."""
    tasks, clients = _to_move(held, states, warmups, True)
    queue = empty_queue(held.hashes)
    enter_all(held, queue)
    for task, destination in zip(tasks, clients):  # noqa: B905 - Numba
        if is_over(deadline):
            return OUT_OF_TIME
        source = poll(queue, states.caught_up[task] & held.standby[task])
        if source == NONE:
            source = poll(queue, states.caught_up[task])
        if source == NONE:
            source = _most_caught_up(held, states, task, destination, True)
        swaps = held.standby[task, source]
        held.standby[task, source] = False
        held.counts[source] += not swaps
        held.owners[task] = source
        held.counts[destination] -= 1
        warmups.left[0] -= not swaps
        if swaps or warmups.left[0] >= 0:
            held.counts[destination] += not held.standby[task, destination]
            held.standby[task, destination] = True
            warmups.who[task, destination] |= not swaps
        _enter_both(held, queue, source, destination)
    return len(tasks)


@kernel
def _move_standby(held: Held, states: States, warmups: WarmUps, deadline: Deadline) -> int:
    """Returns how many moved, or OUT_OF_TIME."""
    tasks, clients = _to_move(held, states, warmups, False)
    queue = empty_queue(held.hashes)
    enter_all(held, queue)
    able = np.empty(len(held.counts), np.bool_)
    moved = 0
    for task, destination in zip(tasks, clients):  # noqa: B905 - Numba
        if is_over(deadline):
            return OUT_OF_TIME
        for client in range(len(able)):
            able[client] = states.caught_up[task, client] and not has(held, client, task)
        source = poll(queue, able)
        if source == NONE:
            source = _most_caught_up(held, states, task, destination, False)
        if source == NONE:
            continue
        held.standby[task, source] = True
        held.counts[source] += 1
        warmups.left[0] -= 1
        if warmups.left[0] < 0:
            held.counts[destination] -= held.standby[task, destination]
            held.standby[task, destination] = False
        _enter_both(held, queue, source, destination)
        moved += 1
    return moved


@inner_kernel
def _enter_both(held: Held, queue: ClientQueue, source: int, destination: int) -> None:
    for client in (source, destination):
        queue.loads[client] = held.counts[client] / held.capacities[client]
    enter(queue, source)
    enter(queue, destination)


@inner_kernel
def _to_move(held: Held, states: States, warmups: WarmUps, active: bool) -> tuple[Int32s, Int32s]:  # noqa: FBT001
    """Tasks that a client has and another one is further with, and the client. First those with few clients that are caught up.

    Of a task that several clients have, java.util.PriorityQueue decides, whose heap that of ``service/core/heap.py`` is.
    """
    tasks, clients = held.standby.shape
    most = tasks if active else int(held.standby.sum())
    heap, where = np.empty(most, np.int32), np.empty(most, np.int32)
    keys = np.empty(most, np.int64)
    of_task, of_client = np.empty(most, np.int32), np.empty(most, np.int32)
    count = 0
    for client in range(clients):
        for task in range(tasks):
            holds = held.owners[task] == client if active else held.standby[task, client] and not warmups.who[task, client]
            if holds and not states.caught_up[task, client] and states.least[task] < states.lags[task, client]:
                of_task[count], of_client[count] = task, client
                keys[count] = states.counts[task] * tasks + task
                heap[count] = count
                sift_up(heap, where, keys, count)
                count += 1
    order = np.empty(count, np.int32)
    for i in range(count):
        order[i] = heap[0]
        heap[0] = heap[count - i - 1]
        sift_down(heap, count - i - 1, where, keys, 0)
    return of_task[order], of_client[order]


@inner_kernel
def _most_caught_up(held: Held, states: States, task: int, destination: int, may_have: bool) -> int:  # noqa: FBT001
    """The client with the least lag, if it is less than the destination's. may_have : may it have the task already?"""
    lags, best = states.lags[task], destination
    for client in range(len(lags)):
        is_less = lags[client] < lags[best] or (lags[client] == lags[best] and client < best)
        if is_less and (may_have or not has(held, client, task)):
            best = client
    return NONE if best == destination else best
