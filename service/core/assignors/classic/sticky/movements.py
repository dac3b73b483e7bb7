"""The movement records of a sticky assignment: which partitions have gone from whom to whom.

A *pair* is (topic, first source, present owner); the partitions that have gone this way are a HashSet. When a partition is about
to go the opposite way, the assignor sends the first of that set back instead. So the set's order shows, and is kept as Java keeps
it, trees included (service/core/jvm/ordering.py). Its keys, partitions of one topic, all have different hash codes; a tree
never has to fall back on the identity of objects, and the order is always defined.

Source: AbstractStickyAssignor.PartitionMovements.
Plain-Python twin: tests/reference/sticky.py, ``Movements``.
"""

from typing import Final, NamedTuple

import numpy as np

from service.core.jvm.ordering import DEFAULT_CAPACITY, HEAD, KEY_COLUMNS, doubled, empty, enter, remove, threshold
from service.core.jvm.red_black import SPREAD, Rows
from service.core.kernels import inner_kernel, kernel
from service.core.model import NONE, Group, Int32s

# Pairs of members between which partitions of a topic have moved, by hash: open addressing.

TOPIC: Final = 0
SOURCE: Final = 1
OWNER: Final = 2
"""The first columns of the rows of pairs: the topic, from whom, and to whom."""


@inner_kernel
def place_of(pairs: Rows, slots: Int32s, topic: int, source: int, owner: int) -> int:
    """Where the pair is in ``slots``, or the free place where it would be.

    pairs : int32[..., 3 columns or more]; slots : int32[...], rows of ``pairs``, NONE where free; a power of two
    """
    mixed = (np.uint64(topic) * np.uint64(1000003) + np.uint64(source)) * np.uint64(1000003) + np.uint64(owner)
    place = np.int64((mixed * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(33)) & (len(slots) - 1)
    while slots[place] != NONE:
        row = pairs[slots[place]]
        if row[TOPIC] == topic and row[SOURCE] == source and row[OWNER] == owner:
            break
        place = (place + 1) & (len(slots) - 1)
    return int(place)


SIZE: Final = 3
BUCKETS: Final = 4
START: Final = 5
ROOM: Final = 6
COLUMNS: Final = 7
"""Columns of ``Movements.pairs`` behind those of ``pair_of``: how many partitions are in the pair's set; the set's table, a
run of the buckets of all."""


PARTITION_BYTES: Final = 140
PAIR_BYTES: Final = 800
"""Memory of evening out for each partition and pair, beyond that of any assignment. Measured: 132 and 700, with the copies that
arrays leave behind as they grow."""


class Movements(NamedTuple):
    """All records. Arrays of what may grow are replaced by longer ones, so keep what ``move`` returns.

    spread : int32[partitions]    the partitions' hash codes, their halves folded together
    keys : int32[partitions, KEY_COLUMNS]   what the sets know of each partition, as jvm/ordering.py has it
    pair_of : int32[partitions]   the pair in whose set each partition is, or NONE
    pairs : int32[..., COLUMNS]   the pairs there have been; one without partitions has no set
    slots : int32[...]            pairs by hash, open addressing, NONE where free
    buckets : int32[..., 4]       the tables of all sets, each at its place, likewise
    used : int32[2]               how many rows of ``pairs``, and how many buckets, are in use
    """

    spread: Int32s
    keys: Rows
    pair_of: Int32s
    pairs: Rows
    slots: Int32s
    buckets: Rows
    used: Int32s


def most_bytes(group: Group) -> int:
    """What evening out a group may allocate: a topic has as many pairs as it has partitions, or its subscribers have pairs."""
    partitions = group.topics.partitions_counts()
    subscribers = np.bincount(group.subscriptions.values, minlength=len(partitions))[: len(partitions)]
    pairs = np.minimum(partitions, subscribers * (subscribers - 1)).sum()
    return int(PARTITION_BYTES * partitions.sum(dtype=np.int64) + PAIR_BYTES * pairs)


def no_movements(hashes: Int32s) -> Movements:
    """No records yet. hashes : int32[partitions], TopicPartition.hashCode() of each"""
    n = len(hashes)
    return Movements(
        hashes ^ (hashes.view(np.uint32) >> np.uint32(16)).view(np.int32),
        np.empty((n, KEY_COLUMNS), np.int32),  # written where a partition moves
        np.full(n, NONE, np.int32),
        np.zeros((16, COLUMNS), np.int32),
        np.full(64, NONE, np.int32),
        empty(256),
        np.zeros(2, np.int32),
    )


@kernel
def opposite(movements: Movements, topic: int, partition: int, owner: int, to: int) -> int:
    """The pair of the opposite way, if ``partition`` is to go from ``owner`` to ``to`` and others have gone that way; or NONE."""
    pair = movements.pair_of[partition]
    source = owner if pair == NONE else movements.pairs[pair, SOURCE]
    found = movements.slots[place_of(movements.pairs, movements.slots, topic, to, source)]
    return NONE if found == NONE or movements.pairs[found, SIZE] == 0 else int(found)


@kernel
def first_of(movements: Movements, pair: int) -> int:
    """The first partition of the pair's set, which is not empty."""
    bucket = movements.pairs[pair, START]
    while movements.buckets[bucket, HEAD] == NONE:
        bucket += 1
    return int(movements.buckets[bucket, HEAD])


@kernel
def move(movements: Movements, topic: int, partition: int, owner: int, to: int) -> Movements:
    """Record that ``partition`` goes from ``owner`` to ``to`` (movePartition)."""
    source = owner
    pair = movements.pair_of[partition]
    if pair != NONE:
        source = movements.pairs[pair, SOURCE]
        remove(partition, movements.keys, _table(movements, pair))
        movements.pairs[pair, SIZE] -= 1
        movements.pair_of[partition] = NONE
    if source != to:
        movements = _put_in(movements, topic, source, to, partition)
    return movements


@kernel
def copied(movements: Movements) -> Movements:
    """A copy that stays as it is."""
    return Movements(
        movements.spread,
        movements.keys.copy(),
        movements.pair_of.copy(),
        movements.pairs.copy(),
        movements.slots.copy(),
        movements.buckets.copy(),
        movements.used.copy(),
    )


@kernel
def alike(a: Movements, b: Movements) -> bool:
    """Are these the same records, sets and their order included? (True only if they are.)"""
    return (
        _equal(a.used, b.used)
        and _equal(a.pair_of, b.pair_of)
        and _equal(a.pairs.ravel(), b.pairs.ravel())
        and _equal(a.buckets.ravel(), b.buckets.ravel())
        and _equal(a.keys.ravel(), b.keys.ravel())
    )


@inner_kernel
def _equal(a: Int32s, b: Int32s) -> bool:
    """np.array_equal that stops at the first difference."""
    if len(a) != len(b):
        return False
    for i in range(len(a)):  # noqa: SIM110 (a kernel)
        if a[i] != b[i]:
            return False
    return True


@kernel
def _table(movements: Movements, pair: int) -> Rows:
    """The pair's table, a view."""
    start = movements.pairs[pair, START]
    return movements.buckets[start : start + movements.pairs[pair, BUCKETS]]


@inner_kernel
def _put_in(movements: Movements, topic: int, source: int, owner: int, partition: int) -> Movements:
    place = place_of(movements.pairs, movements.slots, topic, source, owner)
    pair = movements.slots[place]
    if pair == NONE:
        pair = movements.used[0]
        if pair == len(movements.pairs):
            m = movements
            pairs = np.zeros((2 * pair, COLUMNS), np.int32)
            pairs[:pair] = m.pairs
            slots = np.full(2 * len(m.slots), NONE, np.int32)
            for other in range(pair):
                slots[place_of(pairs, slots, pairs[other, TOPIC], pairs[other, SOURCE], pairs[other, OWNER])] = other
            movements = Movements(m.spread, m.keys, m.pair_of, pairs, slots, m.buckets, m.used)
            place = place_of(pairs, slots, topic, source, owner)
        movements.used[0] += 1
        movements.slots[place] = pair
        row = movements.pairs[pair]
        row[TOPIC], row[SOURCE], row[OWNER] = topic, source, owner
    pairs = movements.pairs
    movements.keys[partition, SPREAD] = movements.spread[partition]
    if pairs[pair, SIZE] == 0:
        movements = _with_table(movements, pair, empty(DEFAULT_CAPACITY))
    if enter(partition, False, movements.keys, _table(movements, pair)):
        movements = _with_table(movements, pair, doubled(movements.keys, _table(movements, pair)))
    pairs[pair, SIZE] += 1
    if pairs[pair, SIZE] > threshold(pairs[pair, BUCKETS]):
        movements = _with_table(movements, pair, doubled(movements.keys, _table(movements, pair)))
    movements.pair_of[partition] = pair
    return movements


@inner_kernel
def _with_table(movements: Movements, pair: int, table: Rows) -> Movements:
    """Make ``table`` the pair's table: in its room, if that is large enough, else in new room at the end."""
    row = movements.pairs[pair]
    if len(table) > row[ROOM]:
        row[START], row[ROOM] = movements.used[1], len(table)
        movements.used[1] += len(table)
        if movements.used[1] > len(movements.buckets):
            buckets = empty(2 * movements.used[1])
            buckets[: len(movements.buckets)] = movements.buckets
            movements = Movements(
                movements.spread, movements.keys, movements.pair_of, movements.pairs, movements.slots, buckets, movements.used
            )
    row[BUCKETS] = len(table)
    movements.buckets[row[START] : row[START] + len(table)] = table
    return movements
