"""The red-black tree of java.util.HashMap's crowded buckets (TreeNode, JDK 17), with the same rotations.

A tree's keys are rows of ``keys``, int32[keys, …]: left child, right child, parent, colour (1 is red), the hash code that they
are sorted by, and the rank among equal hash codes; rows may have further columns. A tree is its root, NONE if it is empty.
"""

import numpy as np
import numpy.typing as npt

from service.core.kernels import inner_kernel, kernel
from service.core.model import NONE

Rows = npt.NDArray[np.int32]

LEFT, RIGHT, PARENT, RED, SPREAD, RANK = range(6)
"""Columns of ``keys``. ``LEFT + RIGHT - side`` is the other side."""


@inner_kernel
def attach(key: int, root: int, keys: Rows) -> int:
    """Attach a key to the tree as a red leaf; returns its parent, or NONE for the first key."""
    parent, side = NONE, LEFT
    node = root
    while node != NONE:
        parent = node
        mine, theirs = keys[key, SPREAD], keys[node, SPREAD]
        less = mine < theirs or (mine == theirs and keys[key, RANK] <= keys[node, RANK])
        side = LEFT if less else RIGHT
        node = keys[node, side]
    keys[key, LEFT], keys[key, RIGHT], keys[key, PARENT], keys[key, RED] = NONE, NONE, parent, 1
    if parent != NONE:
        keys[parent, side] = key
    return parent


@inner_kernel
def _rotate(root: int, node: int, side: int, keys: Rows) -> int:
    """Rotate ``node`` down to ``side``, and its other child up in its place; returns the root."""
    other = LEFT + RIGHT - side
    riser = keys[node, other]
    inner, parent = keys[riser, side], keys[node, PARENT]
    keys[node, other] = inner
    if inner != NONE:
        keys[inner, PARENT] = node
    keys[riser, PARENT] = parent
    if parent == NONE:
        root = riser
    else:
        keys[parent, LEFT if keys[parent, LEFT] == node else RIGHT] = riser
    keys[riser, side], keys[node, PARENT] = node, riser
    return root


@inner_kernel
def settle(root: int, key: int, keys: Rows) -> int:
    """Red-black repair after ``key`` was attached as a red leaf; returns the root."""
    if root == NONE:
        root = key
    while True:
        parent = keys[key, PARENT]
        if parent == NONE or keys[parent, RED] != 1:
            break
        above = keys[parent, PARENT]
        if above == NONE:
            break
        side = LEFT if keys[above, LEFT] == parent else RIGHT
        uncle = keys[above, LEFT + RIGHT - side]
        if uncle != NONE and keys[uncle, RED] == 1:
            keys[parent, RED] = keys[uncle, RED] = 0
            keys[above, RED] = 1
            key = above
            continue
        if keys[parent, side] != key:
            root = _rotate(root, parent, side, keys)
            key, parent = parent, key
        keys[parent, RED], keys[above, RED] = 0, 1
        root = _rotate(root, above, LEFT + RIGHT - side, keys)
    keys[root, RED] = 0
    return root


@kernel
def _replace(root: int, old: int, new: int, keys: Rows) -> int:
    """Put ``new`` (or NONE) in the place of ``old`` under its parent; returns the root."""
    parent = keys[old, PARENT]
    if new != NONE:
        keys[new, PARENT] = parent
    if parent == NONE:
        return new
    keys[parent, LEFT if keys[parent, LEFT] == old else RIGHT] = new
    return root


@inner_kernel
def uproot(root: int, key: int, keys: Rows) -> int:
    """Red-black deletion; returns the root."""
    if keys[key, LEFT] != NONE and keys[key, RIGHT] != NONE:
        # The next larger key swaps places, and colours, with the removed one.
        heir = keys[key, RIGHT]
        while keys[heir, LEFT] != NONE:
            heir = keys[heir, LEFT]
        keys[heir, RED], keys[key, RED] = keys[key, RED], keys[heir, RED]
        orphan, parent = keys[heir, RIGHT], keys[heir, PARENT]
        root = _replace(root, key, heir, keys)
        keys[heir, LEFT] = keys[key, LEFT]
        keys[keys[heir, LEFT], PARENT] = heir
        if parent == key:
            parent = heir
            keys[heir, RIGHT] = key
        else:
            keys[heir, RIGHT] = keys[key, RIGHT]
            keys[keys[heir, RIGHT], PARENT] = heir
            keys[parent, LEFT] = key
        keys[key, PARENT] = parent
        keys[key, LEFT], keys[key, RIGHT] = NONE, orphan
        if orphan != NONE:
            keys[orphan, PARENT] = key
    child = keys[key, LEFT] if keys[key, LEFT] != NONE else keys[key, RIGHT]
    if child != NONE:
        root = _replace(root, key, child, keys)
        if keys[key, RED] == 0:
            root = _settle_removal(root, child, keys)
        return root
    if keys[key, RED] == 0:
        root = _settle_removal(root, key, keys)
    return _replace(root, key, NONE, keys)


@inner_kernel
def _settle_removal(root: int, node: int, keys: Rows) -> int:
    """Red-black repair after ``node``'s side lost a black node; returns the root."""
    while node != root and keys[node, RED] == 0:
        parent = keys[node, PARENT]
        side = LEFT if keys[parent, LEFT] == node else RIGHT
        far = LEFT + RIGHT - side
        sibling = keys[parent, far]
        if keys[sibling, RED] == 1:
            keys[sibling, RED], keys[parent, RED] = 0, 1
            root = _rotate(root, parent, side, keys)
            sibling = keys[parent, far]
        inner, outer = keys[sibling, side], keys[sibling, far]
        inner_red, outer_red = inner != NONE and keys[inner, RED] == 1, outer != NONE and keys[outer, RED] == 1
        if not inner_red and not outer_red:
            keys[sibling, RED] = 1
            node = parent
            continue
        if not outer_red:
            keys[inner, RED], keys[sibling, RED] = 0, 1
            root = _rotate(root, sibling, far, keys)
            sibling = inner
            outer = keys[sibling, far]
        keys[sibling, RED] = keys[parent, RED]
        keys[outer, RED] = 0
        keys[parent, RED] = 0
        root = _rotate(root, parent, side, keys)
        node = root
    keys[node, RED] = 0
    return root
