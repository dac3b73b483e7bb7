"""The former task assignor of classic Streams groups, and the one that holds on to what is when lags are not known.

1. An active task stays with its client, up to an even share of the tasks (``fallback-prior``: in any case).
2. Else it goes to a client that had it as a standby task, up to that share.
3. The rest, then standby tasks, go to a previous client if its threads are not full or no other has more room; else to the least
   loaded one, preferably one whose tasks were not together with this one yet.

Source: org.apache.kafka.streams.processor.internals.assignment.LegacyStickyTaskAssignor and FallbackPriorTaskAssignor (4.3.1),
without the cost of racks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.core.assignors.streams.classic.clients import Client, clients_in_order
from service.core.jvm.ordering import capacity_for_set

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.core.assignors.streams.classic.clients import ClientsGroup
    from service.core.clock import TimeLimit


def assign(group: ClientsGroup, check_time: TimeLimit) -> bool:
    """Assign to the clients of the group, in place; no probing rebalance follows."""
    _Run(group, check_time).assign(preserve=False)
    return False


def assign_fallback(group: ClientsGroup, check_time: TimeLimit) -> bool:
    """Likewise, but every active task stays; a probing rebalance follows."""
    _Run(group, check_time).assign(preserve=True)
    return True


class _Run:
    def __init__(self, group: ClientsGroup, check_time: TimeLimit) -> None:
        self.group, self.check_time = group, check_time
        self.tasks = group.topology.tasks()
        self.clients = clients_in_order(group.clients)
        self.bit = {task: 1 << i for i, task in enumerate(self.tasks)}
        self.bits = dict.fromkeys(self.clients, 0)
        self.holders: dict[int, list[Client]] = {}
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
        self._assign_standbys()

    def _assign_standbys(self) -> None:
        for task in self.group.in_order(self.group.topology.tasks(stateful_only=True)):
            for _ in range(self.group.settings.standby_replicas):
                able = clients_in_order([client for client in self.clients if task not in client])
                if not able:
                    break
                client = self._find(task, able)
                self._give(task, client, client.standby)

    def _give(self, task: int, client: Client, kind: set[int]) -> None:
        self.check_time()
        kind.add(task)
        self.bits[client] |= self.bit[task]
        self.holders.setdefault(task, []).append(client)

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
        return client.count >= client.capacity and any(_has_more_room(other, client) for other in self.clients)

    def _previous_standby(self, task: int, able: Sequence[Client]) -> Client | None:
        """The least loaded of those that had the task as a standby task."""
        had = self.had_standby.get(task)
        if had is None:
            return None
        in_set = clients_in_order(clients_in_order(had), capacity_for_set(len(had)))
        return self._least_loaded(task, [client for client in in_set if client in able])

    def _least_loaded(self, task: int, able: Sequence[Client]) -> Client | None:
        together = 0
        for holder in self.holders.get(task, ()):
            together |= self.bits[holder]
        found = self._least(able, together)
        return self._least(able, None) if found is None else found

    def _least(self, able: Sequence[Client], together: int | None) -> Client | None:
        """The client with the most room; with ``together``, the tasks that were with a task, only such as have others."""
        least = None
        for client in able:
            if client.count == 0:
                return client
            is_less = least is None or _has_more_room(client, least)
            if is_less and (together is None or self.bits[client] & ~together):
                least = client
        return least


def _has_more_room(client: Client, other: Client) -> bool:
    """ClientState.hasMoreAvailableCapacityThan."""
    return (client.load, -client.capacity) < (other.load, -other.capacity)
