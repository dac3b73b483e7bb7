"""The former task assignor of classic Streams groups, and the one that holds on to what is when lags are not known.

1. An active task stays with its client, up to an even share of the tasks (``fallback-prior``: in any case).
2. Else it goes to a client that had it as a standby task, up to that share.
3. The rest, then standby tasks, go to a previous client if its threads are not full or no other has more room; else to the least
   loaded one, preferably one whose tasks were not together with this one yet.

If the group has a strategy for racks, clients exchange active tasks before standby tasks are assigned, and standby tasks
afterwards, so that tasks are in the racks of their partitions (``racks.py``); not with ``fallback-prior``.

Source: org.apache.kafka.streams.processor.internals.assignment.LegacyStickyTaskAssignor and FallbackPriorTaskAssignor (4.3.1).
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Final

import numpy as np

from service.core.assignors.streams.classic.client import Client
from service.core.assignors.streams.classic.clients import ClientsGroup, clients_in_order
from service.core.assignors.streams.classic.racks import STATELESS, optimize_active, optimize_standbys
from service.core.jvm.ordering import capacity_for_set

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.core.clock import TimeLimit


COSTS: Final = (1, 10)
"""DEFAULT_STATEFUL_TRAFFIC_COST and _NON_OVERLAP_COST."""
ALL: Final = -1
"""Every bit."""
NO_ROOM: Final = (inf, 0)
"""Less room than any client has."""


def assign(group: ClientsGroup, check_time: TimeLimit) -> bool:
    """Assign to the clients of the group, in place; no probing rebalance follows."""
    _LeaderRun(group, check_time).assign(preserve=False)
    return False


def assign_fallback(group: ClientsGroup, check_time: TimeLimit) -> bool:
    """Likewise, but every active task stays; a probing rebalance follows."""
    _LeaderRun(group, check_time).assign(preserve=True)
    return True


class _LeaderRun:
    """An assignment under way.

    places : task → its bit's; a set of tasks is an integer, which clients share with their tasks: one of a task's own would take
        a bit for each pair of tasks
    bits : of each client, those of the tasks that it has; room : by which clients are compared
    earlier : task → those of tasks that were together with it before clients exchanged tasks
    holders : task → (client with it, those of its tasks that are together with it by that)
    """

    def __init__(self, group: ClientsGroup, check_time: TimeLimit) -> None:
        self.group, self.check_time = group, check_time
        self.tasks = group.topology.tasks()
        self.clients = clients_in_order(group.clients)
        self.places = {task: i for i, task in enumerate(self.tasks)}
        self.bits = dict.fromkeys(self.clients, 0)
        self.room = {client: _room(client) for client in self.clients}
        self.earlier: dict[int, int] = {}
        self.holders: dict[int, list[tuple[Client, int]]] = {}
        self.had_active: dict[int, Client] = {task: client for client in self.clients for task in client.had_active}
        self.had_standby: dict[int, list[Client]] = {}
        for client in self.clients:
            for task in client.had_standby:
                self.had_standby.setdefault(task, []).append(client)

    def assign(self, *, preserve: bool) -> None:
        """Steps 1 to 3. preserve : do active tasks stay in any case?"""
        share = len(self.tasks) // sum(client.capacity for client in self.clients)
        left = dict.fromkeys(self.tasks)
        for task in self.group.in_order(self.had_active):
            client = self.had_active[task]
            if task in left and (preserve or len(client.active) < client.capacity * share):
                self._give(task, client, client.active)
                del left[task]
        for task in self.group.in_order(self.tasks, capacity_for_set(len(self.tasks))):
            if task in left:
                for client in clients_in_order(self.had_standby.get(task, [])):
                    if len(client.active) < client.capacity * share:
                        self._give(task, client, client.active)
                        del left[task]
                        break
        for task in left:
            client = self._find(task, self.clients)
            self._give(task, client, client.active)
        if not preserve:
            self._exchange_active()
        self._assign_standbys()
        if self.group.racks and not preserve and self.group.settings.standby_replicas:
            costs = self.group.racks.stateful(*COSTS)
            optimize_standbys(self.group.racks, self.group.by_number, costs, lambda *_: True, self.check_time)

    def _exchange_active(self) -> None:
        """By racks. Tasks that come together by that do not count as such, but those that a client gets afterwards do."""
        racks, topology = self.group.racks, self.group.topology
        if racks is None:
            return
        clients = self.group.by_number
        self.earlier = {task: bits for client, bits in self.bits.items() for task in client.active}
        optimize_active(racks, clients, topology.tasks(stateful=True), racks.stateful(*COSTS), self.check_time)
        optimize_active(racks, clients, topology.tasks(stateful=False), STATELESS, self.check_time)
        for client in clients:
            self.bits[client] = self._bits(client.active)
            self.room[client] = _room(client)
            counting = ~self.bits[client]
            for task in client.active:
                self.holders[task] = [(client, counting)]

    def _bits(self, tasks: set[int]) -> int:
        flags = np.zeros(len(self.places), np.bool_)
        flags[[self.places[task] for task in tasks]] = True
        return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")

    def _together(self, task: int) -> int:
        """The bits of the tasks that have been on a client with this one."""
        together = self.earlier.get(task, 0)
        for holder, counting in self.holders.get(task, ()):
            together |= self.bits[holder] & counting
        return together

    def _assign_standbys(self) -> None:
        for task in self.group.in_order(self.group.topology.tasks(stateful=True)):
            for _ in range(self.group.settings.standby_replicas):
                holders = {holder for holder, _ in self.holders[task]}
                able = clients_in_order([client for client in self.clients if client not in holders])
                if not able:
                    break
                client = self._find(task, able)
                self._give(task, client, client.standby)

    def _give(self, task: int, client: Client, kind: set[int]) -> None:
        self.check_time()
        kind.add(task)
        self.bits[client] |= 1 << self.places[task]
        self.room[client] = _room(client)
        self.holders.setdefault(task, []).append((client, ALL))

    def _find(self, task: int, able: Sequence[Client]) -> Client:
        """The client for a task. able : those that may get it, in the order of their set"""
        if len(able) == 1:
            return able[0]
        previous = self.had_active.get(task)
        if previous is None or previous not in able:
            previous = self._previous_standby(task, able)
        if previous is None:
            return self._least_loaded(task, able) or able[0]
        if self._should_balance(previous):
            standby = self._previous_standby(task, able)
            if standby is None or self._should_balance(standby):
                return self._least_loaded(task, able) or able[0]
            return standby
        return previous

    def _should_balance(self, client: Client) -> bool:
        """Are its threads full, while another client has more room?"""
        return client.count >= client.capacity and min(self.room.values()) < self.room[client]

    def _previous_standby(self, task: int, able: Sequence[Client]) -> Client | None:
        """The least loaded of those that had the task as a standby task."""
        had = self.had_standby.get(task)
        if had is None:
            return None
        in_set = clients_in_order(clients_in_order(had), capacity_for_set(len(had)))
        return self._least_loaded(task, [client for client in in_set if client in able])

    def _least_loaded(self, task: int, able: Sequence[Client]) -> Client | None:
        found = self._least(able, self._together(task))
        return self._least(able, None) if found is None else found

    def _least(self, able: Sequence[Client], together: int | None) -> Client | None:
        """The client with the most room; with ``together``, the tasks that were with a task, only such as have others."""
        least, most_room = None, NO_ROOM
        for client in able:
            room = self.room[client]
            if room[0] == 0:
                return client
            if room < most_room and (together is None or self.bits[client] & ~together):
                least, most_room = client, room
        return least


def _room(client: Client) -> tuple[float, int]:
    """The least has the most room: ClientState.hasMoreAvailableCapacityThan."""
    return client.load, -client.capacity
