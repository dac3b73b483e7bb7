"""Where standby tasks of a classic Streams group go at first: to the least loaded clients, or to those with other tags (KIP-708).

Source: DefaultStandbyTaskAssignor, ClientTagAwareStandbyTaskAssignor (kafka-streams 4.3.1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.core.assignors.streams.classic.clients import Client, ClientQueue

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from service.core.assignors.streams.classic.clients import ClientsGroup

Tag = tuple[str, str]


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


def may_exchange(group: ClientsGroup, source: Client, destination: Client, task: int) -> bool:
    """May a standby task go from one client to another so that the clients with the task have no fewer different tags?"""
    if not group.settings.tags:
        return True
    others = {
        tag for client in group.clients if client not in (source, destination) and task in client for tag in client.tags.items()
    }
    return len(others.union(destination.tags.items())) >= len(others.union(source.tags.items()))


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
