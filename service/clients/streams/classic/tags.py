"""The tags of the clients of a classic Streams group (KIP-708), as arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from service.core.kernels import inner_kernel
from service.core.model import Bools, Int32s

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.clients.streams.classic.client import Client


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


@inner_kernel
def has_all(tags: Tags, client: int, other: int) -> bool:
    """Has the client all tags of the other one?"""
    at, stop = tags.first[client], tags.first[client + 1]
    for i in range(tags.first[other], tags.first[other + 1]):
        while at < stop and tags.tags[at] < tags.tags[i]:
            at += 1
        if at == stop or tags.tags[at] != tags.tags[i]:
            return False
    return True


@inner_kernel
def use(tags: Tags, client: int, count: int, used: Bools) -> None:
    """Note in ``used``, bool[tags], the tags of a client by which tasks are spread.

    count : how many clients have the task. Once it has been on as many as a key has values, the key's tags count anew.
    """
    for i in range(tags.first[client], tags.first[client + 1]):
        key = tags.key_of[tags.tags[i]]
        if tags.spreads[key]:
            start, stop = tags.first_of_key[key], tags.first_of_key[key + 1]
            if stop - start <= count:
                used[start:stop] = False
            else:
                used[tags.tags[i]] = True
