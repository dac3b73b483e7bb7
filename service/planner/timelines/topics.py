"""The topics of a timeline: what exists when, and what a member or the broker has seen of it.

Partitions of the *world* have one index for the whole timeline. An assignor sees a *view*: the partitions that exist, densely
numbered, as ``core.model.Topics`` has them.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from service.core.model import NONE, Bools, Int32s, Int64s, Topics, offsets_of
from service.core.ragged import taken
from service.planner.timelines.model import World

FIRST_RETRY_MS, LAST_RETRY_MS = 100, 1_000
"""``retry.backoff.ms`` and ``retry.backoff.max.ms`` of clients, by default; each retry waits twice as long as the one before."""

WAITS_THAT_GROW: Final = 4
"""Of retries: those before the wait has reached ``LAST_RETRY_MS``."""

AT, TOPIC, BEFORE, AFTER = range(4)
"""The columns of a change: when, which topic, its partitions before and after."""

KEPT_VIEWS: Final = 2


@dataclass(frozen=True)
class View:
    """The topics at one time.

    topics : as assignors take them
    topic_index : int32[names], the index in a ``Group`` of each name of the world: of a topic, or beyond if it does not exist
    missing : the names that do not exist
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
    """The view of topics with these numbers of partitions. counts : int32[names], 0 where a topic does not exist"""
    exists = counts > 0
    places = np.flatnonzero(exists)
    index = np.empty(len(counts), np.int32)
    index[exists] = np.arange(len(places))
    index[~exists] = np.arange(len(places), len(counts))
    first = offsets_of(counts[places])
    topic_of = np.repeat(places, counts[places])
    to_world = (world.first[topic_of] + np.arange(first[-1]) - np.repeat(first[:-1], counts[places])).astype(np.int32)
    from_world = np.full(int(world.first[-1]), NONE, np.int32)
    from_world[to_world] = np.arange(len(to_world), dtype=np.int32)
    racks = None if world.racks is None else taken(world.racks, to_world)
    topics = Topics(
        names=tuple(world.names[i] for i in places),
        first=first,
        racks=racks,
        ids=tuple(world.ids[i] for i in places),
        weights=None if world.weights is None else world.weights[to_world],
        listed=index[world.listed[exists[world.listed]]],
        leader_racks=None if world.leader_racks is None else world.leader_racks[to_world],
        unknown=None if world.unknown is None else world.unknown[to_world],
    )
    return View(counts, topics, index, tuple(world.names[i] for i in np.flatnonzero(~exists)), to_world, from_world)


class Topology:
    """The topics over time. Version 0 has those of the start; each change makes one more.

    counts : int32[names], the partitions of each topic now; newest : the number of the last version
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.counts: Int32s = world.counts.copy()
        self.topic_of = np.repeat(np.arange(len(world.names), dtype=np.int32), np.diff(world.first))
        self._changes: Int64s = np.zeros((64, 4), np.int64)
        self.newest = 0
        self._views: dict[int, View] = {}

    def change(self, at_ms: int, topic: int, partitions_count: int) -> None:
        """Set the topic's number of partitions."""
        self.newest += 1
        if self.newest == len(self._changes):
            self._changes = np.concatenate([self._changes, np.zeros_like(self._changes)])
        self._changes[self.newest] = at_ms, topic, self.counts[topic], partitions_count
        self.counts[topic] = partitions_count

    def last_topic(self) -> int:
        """The topic that the last version changed."""
        return int(self._changes[self.newest, TOPIC])

    def counts_at(self, version: int) -> Int32s:
        """int32[names], the partitions of each topic in a version."""
        counts = self.world.counts.copy()
        counts[self._changes[1 : version + 1, TOPIC]] = self._changes[1 : version + 1, AFTER]
        return counts

    def view(self, version: int) -> View:
        """The view of a version. The last two that were asked for are kept: a leader's, and the newest."""
        if version not in self._views:
            if len(self._views) == KEPT_VIEWS:
                del self._views[next(iter(self._views))]
            self._views[version] = view_of(self.world, self.counts_at(version))
        return self._views[version]

    def existing(self) -> Bools:
        """bool[world's partitions], those that exist now."""
        first = self.world.first
        ids = np.arange(first[-1], dtype=np.int32) - first[self.topic_of]
        return ids < self.counts[self.topic_of]

    def arrivals(self, after: int, requested_ms: int, topics: list[int], max_age_ms: int) -> Int64s:
        """int64[versions after ``after``], when each reaches a client that requested metadata at that time, and requests it every
        ``max_age_ms``.

        One that asks for a topic that does not exist asks again as soon as its retries allow. A request takes no time; a real
        one can wait behind the client's fetch, for up to ``fetch.max.wait.ms``.

        topics : what the client asks for

        Reproduces Metadata.timeToNextUpdate, timeToAllowUpdate, and the retry for UNKNOWN_TOPIC_OR_PARTITION in Metadata.update,
        without the jitter of ExponentialBackoff.
        """
        changes = self._changes[after + 1 : self.newest + 1]
        at_ms = changes[:, AT]
        asked = np.zeros(len(self.counts), np.bool_)
        asked[topics] = True
        appears, goes = changes[:, BEFORE] == 0, changes[:, AFTER] == 0
        appearing = np.where(asked[changes[:, TOPIC]], appears.astype(np.int64) - goes, 0)
        missing_now = int((self.counts[topics] == 0).sum())
        missing_before = missing_now + np.cumsum(appearing[::-1])[::-1]
        later = requested_ms + -((requested_ms - at_ms) // max_age_ms) * max_age_ms
        arrives: Int64s = np.where(missing_before > 0, _retried(requested_ms, at_ms), later)
        return np.where(at_ms <= requested_ms, requested_ms, arrives)

    def version_at(self, now_ms: int, requested_ms: int, topics: list[int], max_age_ms: int, known: int) -> int:
        """The last version that a client has seen by now. known : one that it has seen"""
        if known == self.newest:  # as at most rebalances
            return known
        seen = np.flatnonzero(self.arrivals(known, requested_ms, topics, max_age_ms) <= now_ms)
        return known + 1 + int(seen[-1]) if len(seen) else known


def _retried(requested_ms: int, at_ms: Int64s) -> Int64s:
    """int64[...], the first retry of a request at or after each time: waits of 100, 200, 400, 800 ms, then of a second each."""
    retries = requested_ms + np.cumsum([0, *(FIRST_RETRY_MS * 2**i for i in range(WAITS_THAT_GROW))])
    late: Int64s = retries[-1] + np.maximum(0, -((retries[-1] - at_ms) // LAST_RETRY_MS)) * LAST_RETRY_MS
    return np.where(at_ms <= retries[-1], retries[np.searchsorted(retries[:-1], at_ms)], late)
