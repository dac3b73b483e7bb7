"""Tasks move between the clients of a classic Streams group while that evens their loads.

Source: org.apache.kafka.streams.processor.internals.assignment.HighAvailabilityTaskAssignor.balanceTasksOverThreads (4.3.1).
Plain-Python twin: tests/reference/streams_leader.py.
"""

from __future__ import annotations

from service.clients.streams.classic.held import Held, has
from service.clients.streams.classic.tags import Tags, has_all
from service.core.clock import OUT_OF_TIME, Deadline, is_over
from service.core.kernels import inner_kernel, kernel


@kernel
def balance(held: Held, of_active: bool, tags: Tags, deadline: Deadline) -> int:  # noqa: FBT001
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
                if of_active or has_all(tags, destination, source):
                    moved |= _move(held, of_active, source, destination)
    return 0


@inner_kernel
def _move(held: Held, of_active: bool, source: int, destination: int) -> bool:  # noqa: FBT001
    """Move tasks, ascending, from one client to the other while that evens their loads; returns whether any moved."""
    moved = False
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
    return moved


@inner_kernel
def _evens(held: Held, source: int, destination: int) -> bool:
    """Does a task that moves from one to the other reduce the difference of their loads, and not turn it around?"""
    counts, capacities = held.counts, held.capacities
    skew = counts[source] / capacities[source] - counts[destination] / capacities[destination]
    if skew <= 0:
        return False
    after = (counts[source] - 1) / capacities[source] - (counts[destination] + 1) / capacities[destination]
    return bool(0 <= after < skew)
