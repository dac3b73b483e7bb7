"""The order in which java.util.HashMap and HashSet hand out their keys (JDK 17).

Keys are indices: key i has the hash code ``hashes[i]``, and an order is an array of keys. Buckets go upwards; within one stands
a chain, or a red-black tree once the chain has grown long in a table of 64 buckets or more. Trees take nine keys in one
bucket, so they are rare, but what their rotations leave behind shows in the order, and so it is followed to the letter.

``iteration_order`` counts keys into buckets when no chain can have grown long, and plays every call through otherwise.
Tests: vectors/java/hash-iteration-order, the plain twin tests/reference/hash_order.py (chains) and the running JVM (trees).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numba import njit

from service.core.model import NONE

if TYPE_CHECKING:
    import numpy.typing as npt

    from service.core.model import Bools, Int32s

    Tree = npt.NDArray[np.int32]

DEFAULT_CAPACITY: Final = 16
"""``new HashMap()`` and ``new HashSet()``."""

_LARGEST_TABLE: Final = 1 << 30
_SMALLEST_TABLE_WITH_TREES: Final = 64
_TREEIFY: Final = 8
_UNTREEIFY: Final = 6
_LEFT, _RIGHT, _PARENT, _RED = 0, 1, 2, 3


def capacity_for_set(size: int) -> int:
    """What ``new HashSet(collection)`` asks for, given the collection's size."""
    return max(int(np.float32(size) / np.float32(0.75)) + 1, DEFAULT_CAPACITY)


def capacity_for_map(size: int) -> int:
    """What ``new HashMap(map)`` and ``putAll`` into an empty map ask for, given the other map's size."""
    return int(np.float32(size) / np.float32(0.75) + np.float32(1.0))


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
    capacity : the constructor's argument (``capacity_for_set``, ``capacity_for_map``); the table is the next power of two
    calls : int32[...]      what was done to the table, in this order: i enters key i (again, possibly), ~i removes it;
                            default: each key is entered once, in the order of the indices
    compute : False for ``put``, ``putIfAbsent`` and ``add``; True for ``computeIfAbsent``, ``compute`` and ``merge``, which put
              a new key first into its chain and let the table grow later
    ranks : int32[keys]     the keys' natural order (compareTo), if they have one; it decides between equal hashes in trees.
                            Where it is needed and absent Java goes by memory addresses, and this by the indices.

    Returns int32[keys in the table].
    """
    if calls is None:
        length = _length_without_trees(hashes, capacity, compute)
        if length:
            return _counted(hashes, length, compute)
        calls = np.arange(len(hashes), dtype=np.int32)
    if ranks is None:
        ranks = np.arange(len(hashes), dtype=np.int32)
    return _played(hashes, ranks, calls, compute, capacity)


@njit(nogil=True, cache=True)
def table_length(capacity: int) -> int:
    """HashMap.tableSizeFor: the next power of two, at least 1."""
    length = 1
    while length < capacity and length < _LARGEST_TABLE:
        length *= 2
    return length


@njit(nogil=True, cache=True)
def _threshold(length: int) -> int:
    """The size above which a table doubles."""
    return length * 3 // 4


@njit(nogil=True, cache=True)
def _spread(code: np.int32) -> np.int32:
    """HashMap.hash: the high half folded into the low one."""
    return np.int32(code ^ np.int32(np.uint32(code) >> np.uint32(16)))


@njit(nogil=True, cache=True)
def _length_without_trees(hashes: Int32s, capacity: int, compute: bool) -> int:  # noqa: FBT001
    """The final table's length, or 0 if a chain may have become long enough for a tree on the way.

    Between two doublings chains only grow, so it is enough to look at each table just before the next doubling.
    """
    n = len(hashes)
    length = table_length(capacity)
    longest = _TREEIFY - 1 if compute else _TREEIFY
    counts = np.zeros(2 * table_length(n), np.int32)
    while True:
        full = _threshold(length) + 1
        last = n <= full if compute else n < full
        if n > longest:
            # A bucket of a larger table than `counts` has places shares its place: it may only look longer than it is.
            mask = min(length, len(counts)) - 1
            counts[: mask + 1] = 0
            for key in range(min(n, full)):
                bucket = _spread(hashes[key]) & mask
                counts[bucket] += 1
                if counts[bucket] > longest:
                    return 0
        if last or length == _LARGEST_TABLE:
            return length
        length *= 2


@njit(nogil=True, cache=True)
def _counted(hashes: Int32s, length: int, compute: bool) -> Int32s:  # noqa: FBT001
    """Chains only: a stable counting sort by bucket; with ``compute`` the last key in comes first."""
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


class _Keys(NamedTuple):
    """What is known of each key.

    following, previous : its neighbours in its bucket's list, or NONE
    tree : its left and right child, its parent, and whether it is red, if its bucket is a tree
    """

    spread: Int32s
    ranks: Int32s
    following: Int32s
    previous: Int32s
    tree: Tree


class _Table(NamedTuple):
    """What is known of each bucket: a list of keys which, if ``treed``, form a tree besides, whose root is the head."""

    head: Int32s
    tail: Int32s
    sizes: Int32s
    treed: Bools


@njit(nogil=True, cache=True)
def _empty(length: int) -> _Table:
    """A table of that many buckets."""
    return _Table(
        np.full(length, NONE, np.int32), np.full(length, NONE, np.int32), np.zeros(length, np.int32), np.zeros(length, np.bool_)
    )


@njit(nogil=True, cache=True)
def _played(hashes: Int32s, ranks: Int32s, calls: Int32s, compute: bool, capacity: int) -> Int32s:  # noqa: FBT001
    """Every call, one after another, on a table of linked keys."""
    n = len(hashes)
    spread = np.empty(n, np.int32)
    for i in range(n):
        spread[i] = _spread(hashes[i])
    keys = _Keys(spread, ranks, np.full(n, NONE, np.int32), np.full(n, NONE, np.int32), np.full((n, 4), NONE, np.int32))
    present = np.zeros(n, np.bool_)
    table = _empty(table_length(capacity))
    size = 0
    for call in calls:
        key = call if call >= 0 else ~call
        if call < 0:
            if present[key]:
                _remove(key, keys, table)
                present[key] = False
                size -= 1
            continue
        if compute and size > _threshold(len(table.head)):
            table = _doubled(keys, table)
        if not present[key]:
            present[key] = True
            size += 1
            if _enter(key, compute, keys, table):
                table = _doubled(keys, table)
            if not compute and size > _threshold(len(table.head)):
                table = _doubled(keys, table)
    return _listed(size, keys.following, table.head)


@njit(nogil=True, cache=True)
def _listed(size: int, following: Int32s, head: Int32s) -> Int32s:
    """The keys of all buckets, one list after the other."""
    order = np.empty(size, np.int32)
    i = 0
    for first in head:
        key = first
        while key != NONE:
            order[i] = key
            i += 1
            key = following[key]
    return order


@njit(nogil=True, cache=True)
def _enter(key: int, compute: bool, keys: _Keys, table: _Table) -> bool:  # noqa: FBT001
    """Enter a new key into its bucket; True if the chain is long and the table so small that it doubles instead."""
    length = len(table.head)
    bucket = keys.spread[key] & (length - 1)
    if table.treed[bucket]:
        _enter_tree(key, bucket, keys, table)
        return False
    _link(key, NONE if compute else table.tail[bucket], bucket, keys, table)
    if table.sizes[bucket] < (_TREEIFY if compute else _TREEIFY + 1):
        return False
    if length < _SMALLEST_TABLE_WITH_TREES:
        return True
    _treeify(bucket, keys, table)
    return False


@njit(nogil=True, cache=True)
def _link(key: int, before: int, bucket: int, keys: _Keys, table: _Table) -> None:
    """Put a key into a bucket's list behind ``before``, or first if that is NONE."""
    after = table.head[bucket] if before == NONE else keys.following[before]
    keys.previous[key], keys.following[key] = before, after
    if before == NONE:
        table.head[bucket] = key
    else:
        keys.following[before] = key
    if after == NONE:
        table.tail[bucket] = key
    else:
        keys.previous[after] = key
    table.sizes[bucket] += 1


@njit(nogil=True, cache=True)
def _unlink(key: int, bucket: int, keys: _Keys, table: _Table) -> None:
    """Take a key out of its bucket's list."""
    before, after = keys.previous[key], keys.following[key]
    if before == NONE:
        table.head[bucket] = after
    else:
        keys.following[before] = after
    if after == NONE:
        table.tail[bucket] = before
    else:
        keys.previous[after] = before
    table.sizes[bucket] -= 1


@njit(nogil=True, cache=True)
def _doubled(keys: _Keys, table: _Table) -> _Table:
    """HashMap.resize and TreeNode.split: each list parts in two by one bit and keeps its order."""
    length = len(table.head)
    if length == _LARGEST_TABLE:
        return table
    new = _empty(2 * length)
    for bucket in range(length):
        key = table.head[bucket]
        while key != NONE:
            after = keys.following[key]
            to = bucket + (keys.spread[key] & length)
            _link(key, new.tail[to], to, keys, new)
            key = after
        if table.treed[bucket]:
            for part, other in ((bucket, bucket + length), (bucket + length, bucket)):
                if new.sizes[part] <= _UNTREEIFY:
                    continue
                # A tree that moves as a whole stays as it is.
                new.treed[part] = True
                if new.sizes[other] > 0:
                    _treeify(part, keys, new)
    return new


@njit(nogil=True, cache=True)
def _attach(key: int, root: int, keys: _Keys) -> int:
    """Hang a key into the tree as a red leaf; returns its parent, or NONE for the first key."""
    spread, ranks, tree = keys.spread, keys.ranks, keys.tree
    parent, side = NONE, _LEFT
    node = root
    while node != NONE:
        parent = node
        less = spread[key] < spread[node] or (spread[key] == spread[node] and ranks[key] <= ranks[node])
        side = _LEFT if less else _RIGHT
        node = tree[node, side]
    tree[key, _LEFT], tree[key, _RIGHT], tree[key, _PARENT], tree[key, _RED] = NONE, NONE, parent, 1
    if parent != NONE:
        tree[parent, side] = key
    return parent


@njit(nogil=True, cache=True)
def _treeify(bucket: int, keys: _Keys, table: _Table) -> None:
    """TreeNode.treeify: the list's keys into a new tree one by one; then its root to the head."""
    root = NONE
    key = table.head[bucket]
    while key != NONE:
        _attach(key, root, keys)
        root = _settle(root, key, keys.tree)
        key = keys.following[key]
    table.treed[bucket] = True
    _to_head(root, bucket, keys, table)


@njit(nogil=True, cache=True)
def _enter_tree(key: int, bucket: int, keys: _Keys, table: _Table) -> None:
    """TreeNode.putTreeVal: in the list a new key stands right behind its parent in the tree."""
    root = table.head[bucket]
    _link(key, _attach(key, root, keys), bucket, keys, table)
    _to_head(_settle(root, key, keys.tree), bucket, keys, table)


@njit(nogil=True, cache=True)
def _to_head(root: int, bucket: int, keys: _Keys, table: _Table) -> None:
    """TreeNode.moveRootToFront."""
    if table.head[bucket] != root:
        _unlink(root, bucket, keys, table)
        _link(root, NONE, bucket, keys, table)


@njit(nogil=True, cache=True)
def _rotate(root: int, node: int, side: int, tree: Tree) -> int:
    """Turn ``node`` down to ``side``, its other child up in its place; returns the root."""
    other = _LEFT + _RIGHT - side
    riser = tree[node, other]
    inner, parent = tree[riser, side], tree[node, _PARENT]
    tree[node, other] = inner
    if inner != NONE:
        tree[inner, _PARENT] = node
    tree[riser, _PARENT] = parent
    if parent == NONE:
        root = riser
    else:
        tree[parent, _LEFT if tree[parent, _LEFT] == node else _RIGHT] = riser
    tree[riser, side], tree[node, _PARENT] = node, riser
    return root


@njit(nogil=True, cache=True)
def _settle(root: int, key: int, tree: Tree) -> int:
    """Red-black repair after ``key`` was hung in as a red leaf; returns the root."""
    if root == NONE:
        root = key
    while True:
        parent = tree[key, _PARENT]
        if parent == NONE or tree[parent, _RED] != 1:
            break
        above = tree[parent, _PARENT]
        if above == NONE:
            break
        side = _LEFT if tree[above, _LEFT] == parent else _RIGHT
        uncle = tree[above, _LEFT + _RIGHT - side]
        if uncle != NONE and tree[uncle, _RED] == 1:
            tree[parent, _RED] = tree[uncle, _RED] = 0
            tree[above, _RED] = 1
            key = above
            continue
        if tree[parent, side] != key:
            root = _rotate(root, parent, side, tree)
            key, parent = parent, key
        tree[parent, _RED], tree[above, _RED] = 0, 1
        root = _rotate(root, above, _LEFT + _RIGHT - side, tree)
    tree[root, _RED] = 0
    return root


@njit(nogil=True, cache=True)
def _remove(key: int, keys: _Keys, table: _Table) -> None:
    """HashMap.remove and TreeNode.removeTreeNode."""
    bucket = keys.spread[key] & (len(table.head) - 1)
    root, tree = table.head[bucket], keys.tree
    _unlink(key, bucket, keys, table)
    if table.treed[bucket]:
        # A tree this small becomes a chain again; Java judges by its shape before the removal.
        left = tree[root, _LEFT]
        if table.sizes[bucket] == 0 or tree[root, _RIGHT] == NONE or left == NONE or tree[left, _LEFT] == NONE:
            table.treed[bucket] = False
        else:
            _to_head(_uproot(root, key, tree), bucket, keys, table)


@njit(nogil=True, cache=True)
def _replace(root: int, old: int, new: int, tree: Tree) -> int:
    """Let ``new`` (or NONE) stand where ``old`` stands under its parent; returns the root."""
    parent = tree[old, _PARENT]
    if new != NONE:
        tree[new, _PARENT] = parent
    if parent == NONE:
        return new
    tree[parent, _LEFT if tree[parent, _LEFT] == old else _RIGHT] = new
    return root


@njit(nogil=True, cache=True)
def _uproot(root: int, key: int, tree: Tree) -> int:
    """Red-black deletion; returns the root."""
    if tree[key, _LEFT] != NONE and tree[key, _RIGHT] != NONE:
        # The next larger key changes places, and colours, with the one that goes.
        heir = tree[key, _RIGHT]
        while tree[heir, _LEFT] != NONE:
            heir = tree[heir, _LEFT]
        tree[heir, _RED], tree[key, _RED] = tree[key, _RED], tree[heir, _RED]
        orphan, parent = tree[heir, _RIGHT], tree[heir, _PARENT]
        root = _replace(root, key, heir, tree)
        tree[heir, _LEFT] = tree[key, _LEFT]
        tree[tree[heir, _LEFT], _PARENT] = heir
        if parent == key:
            parent = heir
            tree[heir, _RIGHT] = key
        else:
            tree[heir, _RIGHT] = tree[key, _RIGHT]
            tree[tree[heir, _RIGHT], _PARENT] = heir
            tree[parent, _LEFT] = key
        tree[key, _PARENT] = parent
        tree[key, _LEFT], tree[key, _RIGHT] = NONE, orphan
        if orphan != NONE:
            tree[orphan, _PARENT] = key
    child = tree[key, _LEFT] if tree[key, _LEFT] != NONE else tree[key, _RIGHT]
    if child != NONE:
        root = _replace(root, key, child, tree)
        if tree[key, _RED] == 0:
            root = _settle_removal(root, child, tree)
        return root
    if tree[key, _RED] == 0:
        root = _settle_removal(root, key, tree)
    return _replace(root, key, NONE, tree)


@njit(nogil=True, cache=True)
def _settle_removal(root: int, node: int, tree: Tree) -> int:
    """Red-black repair where ``node``'s side has lost a black one; returns the root."""
    while node != root and tree[node, _RED] == 0:
        parent = tree[node, _PARENT]
        side = _LEFT if tree[parent, _LEFT] == node else _RIGHT
        far = _LEFT + _RIGHT - side
        sibling = tree[parent, far]
        if tree[sibling, _RED] == 1:
            tree[sibling, _RED], tree[parent, _RED] = 0, 1
            root = _rotate(root, parent, side, tree)
            sibling = tree[parent, far]
        inner, outer = tree[sibling, side], tree[sibling, far]
        inner_red, outer_red = inner != NONE and tree[inner, _RED] == 1, outer != NONE and tree[outer, _RED] == 1
        if not inner_red and not outer_red:
            tree[sibling, _RED] = 1
            node = parent
            continue
        if not outer_red:
            tree[inner, _RED], tree[sibling, _RED] = 0, 1
            root = _rotate(root, sibling, far, tree)
            sibling = inner
            outer = tree[sibling, far]
        tree[sibling, _RED] = tree[parent, _RED]
        tree[outer, _RED] = 0
        tree[parent, _RED] = 0
        root = _rotate(root, parent, side, tree)
        node = root
    tree[node, _RED] = 0
    return root
