"""Who has which stateful task of a classic Streams group, as arrays, while its leader assigns them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from service.core.kernels import inner_kernel
from service.core.model import NONE, Bools, Int32s, Int64s

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.clients.streams.classic.client import Client


class Held(NamedTuple):
    """Clients by number; tasks by their place among the stateful ones, ascending.

    hashes : int32[clients], UUID.hashCode() of each process id
    capacities : int64[clients], threads
    owners : int32[tasks], who has each task as an active one
    standby : bool[tasks × clients], who has it as a standby task
    counts : int64[clients], tasks of both kinds
    """

    hashes: Int32s
    capacities: Int64s
    owners: Int32s
    standby: Bools
    counts: Int64s


def held_by(clients: Sequence[Client], tasks: Sequence[int]) -> Held:
    """The tasks that clients have. clients : by number; tasks : the stateful ones, ascending"""
    owners, standby = np.full(len(tasks), NONE, np.int32), np.zeros((len(tasks), len(clients)), np.bool_)
    places = np.array(tasks, np.int64)
    for client in clients:
        owners[_places(places, client.active)] = client.number
        standby[_places(places, client.standby), client.number] = True
    counts = np.bincount(owners, minlength=len(clients)) + standby.sum(axis=0)
    hashes = np.array([client.hash_code for client in clients], np.int32)
    capacities = np.array([client.capacity for client in clients], np.int64)
    return Held(hashes, capacities, owners, standby, counts.astype(np.int64))


def _places(tasks: Int64s, some: set[int]) -> Int64s:
    return np.searchsorted(tasks, np.fromiter(some, np.int64, len(some)))


def hand_out(held: Held, clients: Sequence[Client], tasks: Sequence[int]) -> None:
    """The same into the clients."""
    places = np.array(tasks, np.int64)
    for client in clients:
        client.active = set(places[held.owners == client.number].tolist())
        client.standby = set(places[held.standby[:, client.number]].tolist())


@inner_kernel
def has(held: Held, client: int, task: int) -> bool:
    """Is the task assigned to the client, as active or standby task?"""
    return bool(held.owners[task] == client or held.standby[task, client])
