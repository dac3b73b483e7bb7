"""The former task assignor of classic Streams groups, and the one that holds on to what is when lags are not known.

1. An active task stays with its client, up to an even share of the tasks (``fallback-prior``: in any case).
2. Else it goes to a client that had it as a standby task, up to that share.
3. The rest, then standby tasks, go to a previous client if its threads are not full or no other has more room; else to the least
   loaded one, preferably one whose tasks were not together with this one yet.

If the group has a strategy for racks, clients exchange active tasks before standby tasks are assigned, and standby tasks
afterwards, so that tasks are in the racks of their partitions (``racks.py``); not with ``fallback-prior``.

Source: org.apache.kafka.streams.processor.internals.assignment.LegacyStickyTaskAssignor and FallbackPriorTaskAssignor (4.3.1).
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import numpy as np

from service.clients.streams.classic.client import Client
from service.clients.streams.classic.clients import ClientsGroup, clients_in_order
from service.clients.streams.classic.racks import STATELESS, optimize_active, optimize_standbys
from service.core.budget import check_time
from service.core.jvm.ordering import capacity_for_set

COSTS: Final = (1, 10)
"""DEFAULT_STATEFUL_TRAFFIC_COST and _NON_OVERLAP_COST."""
SETS_KEPT: Final = 64
"""Sets of clients whose order is kept, as most tasks are on the same few clients."""
ALL: Final = -1
"""Every bit."""


def assign(group: ClientsGroup) -> bool:
    """Assign to the clients of the group, in place; no probing rebalance follows."""
    _LeaderRun(group).assign(preserve=False)
    return False


def assign_fallback(group: ClientsGroup) -> bool:
    """Likewise, but every active task stays; a probing rebalance follows."""
    _LeaderRun(group).assign(preserve=True)
    return True


class _LeaderRun:
    """An assignment under way.

    places : task → its bit's; a set of tasks is an integer, which clients share with their tasks: one of a task's own would take
        a bit for each pair of tasks
    bits : of each client, those of the tasks that it has; room : by which clients are compared
    earlier : task → those of tasks that were together with it before clients exchanged tasks
    holders : task → (client with it, those of its tasks that are together with it by that)
    """

    def __init__(self, group: ClientsGroup) -> None:
        self.group = group
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
        self.had_standby = {task: clients_in_order(clients) for task, clients in self.had_standby.items()}

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
                for client in self.had_standby.get(task, ()):
                    if len(client.active) < client.capacity * share:
                        self._give(task, client, client.active)
                        del left[task]
                        break
        for task in left:
            client = self._previous(task, self.clients) or self._least_loaded(task, self.clients)
            self._give(task, client, client.active)
        if not preserve:
            self._exchange_active()
        self._assign_standbys()
        if self.group.racks and not preserve and self.group.settings.standby_replicas:
            costs = self.group.racks.stateful(*COSTS)
            optimize_standbys(self.group.racks, self.group.by_number, costs, lambda *_: True)

    def _exchange_active(self) -> None:
        """By racks. Tasks that come together by that do not count as such, but those that a client gets afterwards do."""
        racks, topology = self.group.racks, self.group.topology
        if racks is None:
            return
        clients = self.group.by_number
        self.earlier = {task: bits for client, bits in self.bits.items() for task in client.active}
        optimize_active(racks, clients, topology.tasks(stateful=True), racks.stateful(*COSTS))
        optimize_active(racks, clients, topology.tasks(stateful=False), STATELESS)
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

    def _assign_standbys(self) -> None:
        @lru_cache(SETS_KEPT)
        def without(holders: frozenset[Client]) -> list[Client]:
            return clients_in_order([client for client in self.clients if client not in holders])

        for task in self.group.in_order(self.group.topology.tasks(stateful=True)):
            for _ in range(self.group.settings.standby_replicas):
                able = without(frozenset([holder for holder, _ in self.holders[task]]))
                if not able:
                    break
                client = self._previous(task, able) or self._least_loaded(task, able)
                self._give(task, client, client.standby)

    def _give(self, task: int, client: Client, kind: set[int]) -> None:
        check_time()
        kind.add(task)
        self.bits[client] |= 1 << self.places[task]
        self.room[client] = _room(client)
        self.holders.setdefault(task, []).append((client, ALL))

    def _previous(self, task: int, able: Sequence[Client]) -> Client | None:
        """The client that had the task, else one that had it as a standby task, if able and not to balance."""
        active = self.had_active.get(task)
        if active is not None and active in able and not self._should_balance(active):
            return active
        had = self.had_standby.get(task, ())
        had = [client for client in clients_in_order(had, capacity_for_set(len(had))) if client in able]
        standby = self._least_loaded(task, had) if had else None
        return None if standby is None or self._should_balance(standby) else standby

    def _should_balance(self, client: Client) -> bool:
        """Are its threads full, while another client has more room?"""
        return client.count >= client.capacity and min(self.room.values()) < self.room[client]

    def _least_loaded(self, task: int, able: Sequence[Client]) -> Client:
        """The first of those with the most room: one without tasks, else one whose tasks were not all with this one, else any."""
        for client in able:
            if not self.bits[client]:
                return client
        together = self.earlier.get(task, 0)  # the bits of the tasks that have been on a client with this one
        for holder, counting in self.holders.get(task, ()):
            together |= self.bits[holder] & counting
        others = [client for client in able if self.bits[client] & ~together]
        return min(others or able, key=self.room.__getitem__)


def _room(client: Client) -> tuple[float, int]:
    """The least has the most room: ClientState.hasMoreAvailableCapacityThan."""
    return client.load, -client.capacity
