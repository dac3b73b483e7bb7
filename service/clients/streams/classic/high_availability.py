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

from collections.abc import Sequence
from functools import partial
from typing import Final, NamedTuple

import numpy as np

from service.clients.streams.classic.client import Client, Held, Tags, hand_out, has, held_by, tags_of
from service.clients.streams.classic.clients import ClientsGroup
from service.clients.streams.classic.racks import STATELESS, optimize_active, optimize_standbys
from service.clients.streams.classic.standbys import (
    ClientQueue,
    assign_standbys,
    empty_queue,
    enter,
    enter_all,
    may_exchange,
    poll,
)
from service.core.budget import OUT_OF_TIME, Deadline, current_deadline, in_time, is_over
from service.core.heap import sift_down, sift_up
from service.core.kernels import inner_kernel, kernel
from service.core.model import NONE, Bools, Int32s, Int64s

# Tasks go first where their state is, and are warmed up where they are to be (KIP-441).
#
# Source: org.apache.kafka.streams.processor.internals.assignment.TaskMovement (kafka-streams 4.3.1).
# Plain-Python twin: tests/reference/streams_leader.py.

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


# Tasks move between the clients of a classic Streams group while that evens their loads.
#
# Source: org.apache.kafka.streams.processor.internals.assignment.HighAvailabilityTaskAssignor.balanceTasksOverThreads (4.3.1).
# Plain-Python twin: tests/reference/streams_leader.py.


@kernel
def balance(held: Held, of_active: bool, tags: Tags, deadline: Deadline) -> int:  # noqa: C901, FBT001, PLR0912
    """Move active tasks, or standby tasks: these only to clients that have all tags of the one before.

    Returns 0 or OUT_OF_TIME.
    """
    clients = len(held.counts)
    moved = True
    while moved:
        moved = False
        for source in range(clients):
            if is_over(deadline):
                return OUT_OF_TIME
            for destination in range(clients):
                if source == destination or not _evens(held, source, destination):
                    continue
                at, stop, lacks = tags.first[destination], tags.first[destination + 1], False
                for i in range(tags.first[source], tags.first[source + 1]):  # both ascending
                    while at < stop and tags.tags[at] < tags.tags[i]:
                        at += 1
                    lacks |= at == stop or tags.tags[at] != tags.tags[i]
                if lacks and not of_active:
                    continue
                for task in range(len(held.owners)):
                    if not (held.owners[task] == source if of_active else held.standby[task, source]):
                        continue
                    if not _evens(held, source, destination):
                        break
                    if has(held, destination, task):
                        continue
                    if of_active:
                        held.owners[task] = destination
                    else:
                        held.standby[task, source], held.standby[task, destination] = False, True
                    held.counts[source] -= 1
                    held.counts[destination] += 1
                    moved = True
    return 0


@inner_kernel
def _evens(held: Held, source: int, destination: int) -> bool:
    """Does a task that moves from one to the other reduce the difference of their loads, and not turn it around?"""
    counts, capacities = held.counts, held.capacities
    skew = counts[source] / capacities[source] - counts[destination] / capacities[destination]
    if skew <= 0:
        return False
    after = (counts[source] - 1) / capacities[source] - (counts[destination] + 1) / capacities[destination]
    return bool(0 <= after < skew)


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
