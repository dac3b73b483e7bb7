"""The iteration order of java.util.HashMap and HashSet (JDK 17).

Keys are indices: key i has the hash code ``hashes[i]``, and an order is an array of keys. Iteration goes up the buckets. A bucket
is a chain, or a red-black tree once the chain is long and the table has 64 buckets or more. Trees (``red_black.py``) need nine
keys in one bucket, so they are rare, but their order depends on all past rotations, which are reproduced exactly.

``iteration_order`` counts keys into buckets if no chain can have become long, and replays every call otherwise.
``order_in_large_table`` does the former for keys that do not stand in the order in which they are entered, and ``first_of_set``
only for the lowest buckets.
Tests: vectors/java/hash-iteration-order, the plain twin tests/reference/hash_order.py (chains) and the running JVM (trees).
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from service.core.jvm.hashing import java_hash_codes
from service.core.jvm.red_black import LEFT, RANK, RIGHT, SPREAD, Rows, attach, settle, uproot
from service.core.kernels import inner_kernel, kernel
from service.core.model import NONE, Int32s, java_order, ranks_of
from service.core.ragged import put

DEFAULT_CAPACITY: Final = 16
"""``new HashMap()`` and ``new HashSet()``."""

LONGEST_CHAIN: Final = 8
"""A bucket of more keys is a tree, or doubles a table of fewer than 64 buckets; with ``compute``, one of eight keys is."""

_LARGEST_TABLE: Final = 1 << 30
_SMALLEST_TABLE_WITH_TREES: Final = 64
_UNTREEIFY: Final = 6

_FOLLOWING, _PREVIOUS, KEY_COLUMNS = RANK + 1, RANK + 2, RANK + 3
"""The columns of ``keys``, int32[keys, KEY_COLUMNS], beyond those of trees: a key's neighbours in its bucket's list."""

HEAD, _TAIL, _SIZE, TREED = range(4)
"""The columns of ``table``, int32[buckets, 4]. A bucket is a list of keys; if ``treed``, they also form a tree, whose root is the
head."""


def capacity_for_set(size: int) -> int:
    """The capacity of ``new HashSet(collection)``. size : the collection's"""
    return max(int(np.float32(size) / np.float32(0.75)) + 1, DEFAULT_CAPACITY)


def iteration_order(
    hashes: Int32s,
    *,
    capacity: int = DEFAULT_CAPACITY,
    calls: Int32s | None = None,
    compute: bool = False,
    ranks: Int32s | None = None,
) -> Int32s:
    """The keys of a HashMap or HashSet, in the order of its iterator.

    hashes : int32[keys]    hashCode() of each key; no two keys are equal
    capacity : the constructor's argument (``capacity_for_set``); the table is the next power of two
    calls : int32[...]      the calls in their order: i enters key i (possibly again), ~i removes it; default: each key is entered
                            once, in the order of the indices
    compute : False for ``put``, ``putIfAbsent`` and ``add``; True for ``computeIfAbsent``, ``compute`` and ``merge``, which put
              a new key first in its chain and let the table grow later
    ranks : int32[keys]     the keys' natural order (compareTo), if they have one; it orders equal hashes in trees.
                            If it is needed and absent, Java uses memory addresses, and this function the indices.

    Returns int32[keys in the table].
    """
    if calls is None:
        length = _final_length(len(hashes), capacity, compute)
        if _are_chains(hashes, capacity, compute, length, length):
            return _counted(hashes, length, compute)
        calls = np.arange(len(hashes), dtype=np.int32)
    if ranks is None:
        ranks = np.arange(len(hashes), dtype=np.int32)
    return _played(hashes, ranks, calls, compute, capacity)


@inner_kernel
def hash_order(hashes: Int32s, ranks: Int32s, capacity: int, compute: bool, removed: Int32s) -> Int32s:  # noqa: FBT001
    """``iteration_order`` for kernels: each key is entered once, in the order of the indices, then those ``removed`` are removed.

    ranks : int32[keys]    the indices if the keys have no natural order
    removed : int32[...]   keys, without duplicates
    """
    n = len(hashes)
    length = _final_length(n, capacity, compute)
    if not _are_chains(hashes, capacity, compute, length, length):
        calls = np.empty(n + len(removed), np.int32)
        put(~removed, calls, put(np.arange(n, dtype=np.int32), calls, 0))
        return _played(hashes, ranks, calls, compute, capacity)
    order = _counted(hashes, length, compute)
    if len(removed) == 0:
        return order
    stays = np.ones(n, np.bool_)
    stays[removed] = False
    return order[stays[order]]


@inner_kernel
def first_of_set(hashes: Int32s, count: int) -> Int32s:
    """The first keys of a ``new HashSet()`` to which all were added in the order of the indices; they have no natural order.

    hashes : int32[keys]   hashCode() of each key
    count : how many; 1 … all

    Sorts the keys of only the lowest buckets, unless one of these may have been a tree.
    """
    n = len(hashes)
    length = _final_length(n, DEFAULT_CAPACITY, False)
    buckets = table_length(4 * (count + 2))  # more than three buckets of eight are full, so these hold enough, nearly always
    if length >= max(2 * buckets, _SMALLEST_TABLE_WITH_TREES):
        lowest = np.empty(n, np.int32)
        end = 0
        for key in range(n):
            if (_spread(hashes[key]) & (length - 1)) < buckets:
                lowest[end] = key
                end += 1
        if end >= count:
            first = lowest[_counted(hashes[lowest[:end]], buckets, False)][:count]
            last_bucket = int(_spread(hashes[first[-1]])) & (length - 1)
            if _are_chains(hashes, DEFAULT_CAPACITY, False, length, last_bucket + 1):
                return first
    indices = np.arange(n, dtype=np.int32)
    return hash_order(hashes, indices, DEFAULT_CAPACITY, False, indices[:0])[:count]


@kernel
def table_length(capacity: int) -> int:
    """HashMap.tableSizeFor: the next power of two, at least 1."""
    length = 1
    while length < capacity and length < _LARGEST_TABLE:
        length *= 2
    return length


@inner_kernel
def threshold(length: int) -> int:
    """The size above which a table doubles."""
    return length * 3 // 4


@inner_kernel
def _spread(code: np.int32) -> np.int32:
    """HashMap.hash: the high half folded into the low one."""
    return np.int32(code ^ np.int32(np.uint32(code) >> np.uint32(16)))


@kernel
def _final_length(n: int, capacity: int, compute: bool) -> int:  # noqa: FBT001
    """The table's length after a number of keys, if no long chain doubles it early."""
    length = table_length(capacity)
    while n > threshold(length) + compute and length < _LARGEST_TABLE:
        length *= 2
    return length


@kernel
def _are_chains(hashes: Int32s, capacity: int, compute: bool, final: int, buckets: int) -> bool:  # noqa: FBT001
    """Can no chain of the lowest buckets have become long enough for a tree, or to double the ``final`` table early?

    buckets : how many of each table are looked at

    Between two doublings chains only grow, so it is enough to check each table just before the next doubling. In a table of fewer
    than 64 buckets a long chain only doubles it early, so those do not matter if there are to be 64 buckets anyhow.
    """
    n = len(hashes)
    longest = LONGEST_CHAIN - compute
    if n <= longest:
        return True
    length = table_length(capacity)
    if final >= _SMALLEST_TABLE_WITH_TREES:
        length = max(length, _SMALLEST_TABLE_WITH_TREES)
    most = 2 * table_length(n)
    counts = np.zeros(min(most, buckets), np.int32)
    while length <= final:
        # Buckets of a table larger than `most` share a count, so a chain may look longer than it is, but not shorter.
        mask = min(length, most) - 1
        counts[: mask + 1] = 0
        for key in range(n if length == final else threshold(length) + 1):
            bucket = _spread(hashes[key]) & mask
            if bucket < buckets:
                counts[bucket] += 1
                if counts[bucket] > longest:
                    return False
        length *= 2
    return True


@kernel
def _counted(hashes: Int32s, length: int, compute: bool) -> Int32s:  # noqa: FBT001
    """Chains only: a stable counting sort by bucket; with ``compute`` the last key comes first."""
    n = len(hashes)
    order = np.empty(n, np.int32)
    starts = np.zeros(length + 1, np.int32)
    mask = length - 1
    for key in range(n):
        starts[(_spread(hashes[key]) & mask) + 1] += 1
    for bucket in range(length):
        starts[bucket + 1] += starts[bucket]
    for i in range(n):
        key = n - 1 - i if compute else i
        at = _spread(hashes[key]) & mask
        order[starts[at]] = key
        starts[at] += 1
    return order


@kernel
def order_in_large_table(hashes: Int32s, ranks: Int32s, length: int) -> Int32s:
    """The keys of a HashMap whose table never grows, entered with ``computeIfAbsent``.

    hashes : int32[keys]   hashCode() of each key; quick if hashes that are close together stand close together
    ranks : int32[keys]    how many keys were entered before each; NONE if it was not
    length : the table's; a power of two

    Returns int32[keys in the table], or none at all if a chain is so long that it becomes a tree.
    """
    mask = length - 1
    starts = np.zeros(length + 1, np.int32)
    for key in range(len(hashes)):
        if ranks[key] != NONE:
            bucket = _spread(hashes[key]) & mask
            starts[bucket + 1] += 1
            if starts[bucket + 1] >= LONGEST_CHAIN:
                return ranks[:0]
    for chain in range(length):
        starts[chain + 1] += starts[chain]
    order = np.empty(starts[length], np.int32)
    for key in range(len(hashes)):
        if ranks[key] != NONE:
            bucket = _spread(hashes[key]) & mask
            order[starts[bucket]] = key
            starts[bucket] += 1
    # Of one bucket's keys, the last comes first.
    start = 0
    for chain in range(length):
        stop = int(starts[chain])
        for i in range(start + 1, stop):
            entered = order[i]
            at = i
            while at > start and ranks[order[at - 1]] < ranks[entered]:
                order[at] = order[at - 1]
                at -= 1
            order[at] = entered
        start = stop
    return order


@kernel
def empty(length: int) -> Rows:
    """An empty table of that many buckets."""
    table = np.full((length, 4), NONE, np.int32)
    table[:, _SIZE] = table[:, TREED] = 0
    return table


@kernel
def _played(  # noqa: C901 (a kernel)
    hashes: Int32s,
    ranks: Int32s,
    calls: Int32s,
    compute: bool,  # noqa: FBT001
    capacity: int,
) -> Int32s:
    """Every call, one after another, on a table of linked keys."""
    n = len(hashes)
    keys = np.full((n, KEY_COLUMNS), NONE, np.int32)
    for i in range(n):
        keys[i, RANK], keys[i, SPREAD] = ranks[i], _spread(hashes[i])
    present = np.zeros(n, np.bool_)
    table = empty(table_length(capacity))
    size = 0
    for call in calls:
        key = call if call >= 0 else ~call
        if call < 0:
            if present[key]:
                remove(key, keys, table)
                present[key] = False
                size -= 1
            continue
        if compute and size > threshold(len(table)):
            table = doubled(keys, table)
        if not present[key]:
            present[key] = True
            size += 1
            if enter(key, compute, keys, table):
                table = doubled(keys, table)
            if not compute and size > threshold(len(table)):
                table = doubled(keys, table)
    order = np.empty(size, np.int32)
    i = 0
    for bucket in range(len(table)):
        key = table[bucket, HEAD]
        while key != NONE:
            order[i] = key
            i += 1
            key = keys[key, _FOLLOWING]
    return order


@kernel
def enter(key: int, compute: bool, keys: Rows, table: Rows) -> bool:  # noqa: FBT001
    """Enter a new key into its bucket; True if the chain is long and the table is so small that it doubles instead."""
    length = len(table)
    bucket = keys[key, SPREAD] & (length - 1)
    if table[bucket, TREED]:  # TreeNode.putTreeVal: in the list, a new key follows its parent in the tree
        root = table[bucket, HEAD]
        _link(key, attach(key, root, keys), bucket, keys, table)
        _to_head(settle(root, key, keys), bucket, keys, table)
        return False
    _link(key, NONE if compute else table[bucket, _TAIL], bucket, keys, table)
    if table[bucket, _SIZE] < LONGEST_CHAIN + 1 - compute:
        return False
    if length < _SMALLEST_TABLE_WITH_TREES:
        return True
    _treeify(bucket, keys, table)
    return False


@inner_kernel
def _link(key: int, before: int, bucket: int, keys: Rows, table: Rows) -> None:
    """Put a key into a bucket's list behind ``before``, or first if that is NONE."""
    after = table[bucket, HEAD] if before == NONE else keys[before, _FOLLOWING]
    _join(before, key, bucket, keys, table)
    _join(key, after, bucket, keys, table)
    table[bucket, _SIZE] += 1


@inner_kernel
def _unlink(key: int, bucket: int, keys: Rows, table: Rows) -> None:
    """Take a key out of its bucket's list."""
    _join(keys[key, _PREVIOUS], keys[key, _FOLLOWING], bucket, keys, table)
    table[bucket, _SIZE] -= 1


@inner_kernel
def _join(one: int, other: int, bucket: int, keys: Rows, table: Rows) -> None:
    """Let one key of a list come before another; NONE: the list's start or end."""
    if one == NONE:
        table[bucket, HEAD] = other
    else:
        keys[one, _FOLLOWING] = other
    if other == NONE:
        table[bucket, _TAIL] = one
    else:
        keys[other, _PREVIOUS] = one


@inner_kernel
def doubled(keys: Rows, table: Rows) -> Rows:
    """HashMap.resize and TreeNode.split: each list parts in two by one bit and keeps its order."""
    length = len(table)
    if length == _LARGEST_TABLE:
        return table
    new = empty(2 * length)
    for bucket in range(length):
        key = table[bucket, HEAD]
        while key != NONE:
            after = keys[key, _FOLLOWING]
            to = bucket + (keys[key, SPREAD] & length)
            _link(key, new[to, _TAIL], to, keys, new)
            key = after
        if table[bucket, TREED]:
            for part, other in ((bucket, bucket + length), (bucket + length, bucket)):
                if new[part, _SIZE] <= _UNTREEIFY:
                    continue
                # A tree that moves as a whole keeps its shape.
                new[part, TREED] = True
                if new[other, _SIZE] > 0:
                    _treeify(part, keys, new)
    return new


@inner_kernel
def _treeify(bucket: int, keys: Rows, table: Rows) -> None:
    """TreeNode.treeify: the list's keys into a new tree one by one; then its root to the head."""
    root = NONE
    key = table[bucket, HEAD]
    while key != NONE:
        attach(key, root, keys)
        root = settle(root, key, keys)
        key = keys[key, _FOLLOWING]
    table[bucket, TREED] = True
    _to_head(root, bucket, keys, table)


@inner_kernel
def _to_head(root: int, bucket: int, keys: Rows, table: Rows) -> None:
    """TreeNode.moveRootToFront."""
    if table[bucket, HEAD] != root:
        _unlink(root, bucket, keys, table)
        _link(root, NONE, bucket, keys, table)


@kernel
def remove(key: int, keys: Rows, table: Rows) -> None:
    """HashMap.remove and TreeNode.removeTreeNode."""
    bucket = keys[key, SPREAD] & (len(table) - 1)
    root = table[bucket, HEAD]
    _unlink(key, bucket, keys, table)
    if table[bucket, TREED]:
        # A tree this small becomes a chain again; Java judges by its shape before the removal.
        left = keys[root, LEFT]
        if table[bucket, _SIZE] == 0 or keys[root, RIGHT] == NONE or left == NONE or keys[left, LEFT] == NONE:
            table[bucket, TREED] = False
        else:
            _to_head(uproot(root, key, keys), bucket, keys, table)


# Names in the order of a java.util.HashMap or HashSet, for short lists of them; large ones stay arrays (``ordering``).


def in_hash_order(names: Sequence[str], *, capacity: int = DEFAULT_CAPACITY, compute: bool = False) -> list[str]:
    """Each name once, in the order of a HashMap into which they came in this order.

    capacity, compute : as of ``iteration_order``. With ``compute`` a name that comes again can let the table grow
    """
    calls, names = names, list(dict.fromkeys(names))
    if len(names) < 2:
        return names
    ranks = ranks_of(java_order(names))
    indices = {name: i for i, name in enumerate(names)}
    again = np.array([indices[name] for name in calls], np.int32) if compute and len(calls) > len(names) else None
    order = iteration_order(java_hash_codes(names), capacity=capacity, compute=compute, calls=again, ranks=ranks)
    return [names[i] for i in order.tolist()]
