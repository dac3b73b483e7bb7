"""A client of a classic Streams group, as its leader sees it (ClientState)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from service.core.kernels import inner_kernel
from service.core.model import NONE, Bools, Int32s, Int64s


@dataclass(eq=False)
class Client:
    """A client: a process with its threads.

    number : its place in the order of process ids; hash_code : UUID.hashCode() of its own
    capacity : its threads; tags : ``client.tag.…``
    had_active, had_standby : its tasks before, ascending
    active, standby : what it is assigned
    """

    number: int
    hash_code: int
    capacity: int
    tags: Mapping[str, str] = field(default_factory=dict)
    had_active: Sequence[int] = ()
    had_standby: Sequence[int] = ()
    active: set[int] = field(default_factory=set)
    standby: set[int] = field(default_factory=set)

    def __contains__(self, task: int) -> bool:
        """Is the task assigned to it, as active or standby task?"""
        return task in self.active or task in self.standby

    @property
    def count(self) -> int:
        """How many tasks it is assigned."""
        return len(self.active) + len(self.standby)

    @property
    def load(self) -> float:
        """Tasks ÷ threads."""
        return self.count / self.capacity


# The tags of the clients of a classic Streams group (KIP-708), as arrays.


class Tags(NamedTuple):
    """A tag is a key with a value; they are numbered key by key.

    first : int32[clients + 1], where the tags of each client begin; tags : int32[...], ascending for each client
    key_of : int32[tags]; first_of_key : int32[keys + 1]
    by_tags : are there ``rack.aware.assignment.tags``? spreads : bool[keys], is the key one of them?
    """

    by_tags: bool

    first: Int32s
    tags: Int32s
    key_of: Int32s
    first_of_key: Int32s
    spreads: Bools


def tags_of(clients: Sequence[Client], keys: Sequence[str]) -> Tags:
    """The tags of clients. keys : ``rack.aware.assignment.tags``; without them no tag plays a part"""
    each = [sorted(client.tags.items()) if keys else [] for client in clients]
    all_tags = sorted({tag for of_client in each for tag in of_client})
    numbers = {tag: i for i, tag in enumerate(all_tags)}
    names = list(dict.fromkeys(key for key, _ in all_tags))
    places = {key: i for i, key in enumerate(names)}
    key_of = np.array([places[key] for key, _ in all_tags], np.int32)
    first = np.cumsum([0, *(len(of_client) for of_client in each)])
    return Tags(
        by_tags=len(keys) > 0,
        first=first.astype(np.int32),
        tags=np.array([numbers[tag] for of_client in each for tag in of_client], np.int32),
        key_of=key_of,
        first_of_key=np.searchsorted(key_of, np.arange(len(names) + 1)).astype(np.int32),
        spreads=np.array([key in keys for key in names], np.bool_),
    )


# Who has which stateful task of a classic Streams group, as arrays, while its leader assigns them.


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
