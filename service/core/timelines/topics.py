"""The topics of a timeline: what exists when, and what a member or the broker has seen of it.

Partitions of the *world* have one index for the whole timeline. An assignor sees a *view*: the partitions that exist, densely
numbered, as ``core.model.Topics`` has them.
"""

from dataclasses import dataclass

import numpy as np

from service.core.model import NONE, Bools, Int32s, Ragged, Topics
from service.core.timelines.model import World

FIRST_RETRY_MS, LAST_RETRY_MS = 100, 1_000
"""``retry.backoff.ms`` and ``retry.backoff.max.ms`` of clients, by default; each retry waits twice as long as the one before."""


@dataclass(frozen=True)
class View:
    """The topics at one time.

    topics : as assignors take them
    topic_index : int32[names], the index in a ``Group`` of each name of the world: of a topic, or beyond for one that does not
    exist missing : the names that do not exist
    to_world : int32[partitions], the world's index of each partition
    from_world : int32[world's partitions], the other way, or NONE
    """

    counts: Int32s
    topics: Topics
    topic_index: Int32s
    missing: tuple[str, ...]
    to_world: Int32s
    from_world: Int32s

    @property
    def is_whole(self) -> bool:
        """Does every partition of the world exist?"""
        return len(self.to_world) == len(self.from_world)


def view_of(world: World, counts: Int32s) -> View:
    """The view of topics with so many partitions each. counts : int32[names], 0 where a topic does not exist"""
    exists = counts > 0
    places = np.flatnonzero(exists)
    index = np.empty(len(counts), np.int32)
    index[exists] = np.arange(len(places))
    index[~exists] = np.arange(len(places), len(counts))
    first = np.zeros(len(places) + 1, np.int32)
    np.cumsum(counts[places], out=first[1:])
    topic_of = np.repeat(places, counts[places])
    to_world = (world.first[topic_of] + np.arange(first[-1]) - np.repeat(first[:-1], counts[places])).astype(np.int32)
    from_world = np.full(int(world.first[-1]), NONE, np.int32)
    from_world[to_world] = np.arange(len(to_world), dtype=np.int32)
    racks = None if world.racks is None else rows_at(world.racks, to_world)
    topics = Topics(
        names=tuple(world.names[i] for i in places),
        first=first,
        racks=racks,
        ids=tuple(world.ids[i] for i in places),
        weights=None if world.weights is None else world.weights[to_world],
    )
    return View(counts, topics, index, tuple(world.names[i] for i in np.flatnonzero(~exists)), to_world, from_world)


def rows_at(rows: Ragged, chosen: Int32s) -> Ragged:
    """The chosen rows, in this order."""
    lengths = rows.lengths()[chosen]
    offsets = np.zeros(len(chosen) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    at = np.repeat(rows.offsets[chosen] - offsets[:-1], lengths) + np.arange(offsets[-1], dtype=np.int32)
    return Ragged(offsets, rows.values[at])


class Topology:
    """The topics over time.

    versions : (time, counts) after each change; those of the start are at 0 ms
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.versions: list[tuple[int, Int32s]] = [(0, world.counts)]
        self._views: dict[int, View] = {}
        self.topic_of = np.repeat(np.arange(len(world.names), dtype=np.int32), np.diff(world.first))

    def change(self, at_ms: int, topic: int, partitions_count: int) -> None:
        """From now on the topic has so many partitions."""
        counts = self.versions[-1][1].copy()
        counts[topic] = partitions_count
        self.versions.append((at_ms, counts))

    def newest(self) -> int:
        """The number of the last version."""
        return len(self.versions) - 1

    def view(self, version: int) -> View:
        """The view of a version, made once."""
        if version not in self._views:
            self._views[version] = view_of(self.world, self.versions[version][1])
        return self._views[version]

    def existing(self) -> Bools:
        """bool[world's partitions], those that exist now."""
        counts = self.versions[-1][1]
        first = self.world.first
        ids = np.arange(first[-1], dtype=np.int32) - first[self.topic_of]
        exists: Bools = ids < counts[self.topic_of]
        return exists

    def arrival_ms(self, version: int, requested_ms: int, topics: list[int], max_age_ms: int) -> int:
        """When a version reaches a client that requested metadata at that time, and requests it every ``max_age_ms``.

        One that asks for a topic that does not exist asks again as soon as its retries allow. A request takes no time; a real
        one can wait behind the client's fetch, for up to ``fetch.max.wait.ms``.

        topics : what the client asks for

        Reproduces Metadata.timeToNextUpdate, timeToAllowUpdate, and the retry for UNKNOWN_TOPIC_OR_PARTITION in Metadata.update
        (Apache Kafka 4.3.1), without the jitter of ExponentialBackoff.
        """
        at_ms = self.versions[version][0]
        if requested_ms >= at_ms:
            return requested_ms
        if (self.versions[version - 1][1][topics] == 0).any():
            backoff = FIRST_RETRY_MS
            while requested_ms < at_ms and backoff < LAST_RETRY_MS:
                requested_ms += backoff
                backoff *= 2
            return requested_ms + max(0, -((requested_ms - at_ms) // LAST_RETRY_MS)) * LAST_RETRY_MS
        return requested_ms - (requested_ms - at_ms) // max_age_ms * max_age_ms

    def version_at(self, now_ms: int, requested_ms: int, topics: list[int], max_age_ms: int) -> int:
        """The last version that a client has seen by now."""
        version = self.newest()
        while version > 0 and self.arrival_ms(version, requested_ms, topics, max_age_ms) > now_ms:
            version -= 1
        return version
