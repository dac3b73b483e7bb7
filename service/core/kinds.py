"""What nothing tells apart: kinds of partitions, topics and members; and what members claim."""

import numpy as np

from service.core.kernels import kernel
from service.core.model import NONE, Bools, Int32s


def one_of_each(kinds: Int32s) -> Int32s:
    """int32[...], one index of each kind, by ascending kind; without the kind NONE."""
    one = np.full(int(kinds.max(initial=NONE)) + 1, NONE, np.int32)
    some = np.flatnonzero(kinds != NONE).astype(np.int32)
    one[kinds[some]] = some
    kept: Int32s = one[one != NONE]
    return kept


@kernel
def claimed_once(owned_of: Int32s, owned: Int32s, counting: Bools) -> tuple[Int32s, bool]:
    """The number of counted partitions that each member claims; and False if one is claimed twice, which ends the count.

    counting : bool[partitions], those that count
    """
    claims = np.zeros(len(owned_of) - 1, np.int32)
    free = counting.copy()
    for member in range(len(claims)):
        for i in range(owned_of[member], owned_of[member + 1]):
            partition = owned[i]
            if partition < len(counting) and counting[partition]:
                if not free[partition]:
                    return claims, False
                free[partition] = False
                claims[member] += 1
    return claims, True


@kernel
def claims_of(
    owned_of: Int32s, owned: Int32s, topic_of: Int32s, subscribed_of: Int32s, subscribed: Int32s, topics: int
) -> tuple[Int32s, Int32s, Bools]:
    """Each member's claims to partitions of its topics, without duplicates; and the partitions that any member claims.

    owned_of, owned : member → claimed partitions; those from ``len(topic_of)`` on do not exist
    topic_of : int32[partitions]
    subscribed_of, subscribed : member → topics
    Returns int32[members + 1] offsets, int32[...] partitions, and bool[partitions].
    """
    members = len(owned_of) - 1
    claimed = np.zeros(len(topic_of), np.bool_)
    last_claimant = np.full(len(topic_of), NONE, np.int32)
    last_subscriber = np.full(topics, NONE, np.int32)
    offsets = np.zeros(members + 1, np.int32)
    claims = np.empty(len(owned), np.int32)
    end = 0
    for member in range(members):
        for i in range(subscribed_of[member], subscribed_of[member + 1]):
            last_subscriber[subscribed[i]] = member
        for i in range(owned_of[member], owned_of[member + 1]):
            partition = owned[i]
            if partition < len(topic_of):
                claimed[partition] = True
                if last_subscriber[topic_of[partition]] == member and last_claimant[partition] != member:
                    last_claimant[partition] = member
                    claims[end] = partition
                    end += 1
        offsets[member + 1] = end
    return offsets, claims[:end], claimed


@kernel
def split_kinds(kinds: Int32s, offsets: Int32s, values: Int32s) -> Int32s:  # noqa: C901 (a kernel)
    """Split kinds until all values of a kind are in the same rows (partition refinement, O(values)).

    kinds : int32[...]   the initial kind of each value, or NONE for values that do not count
    offsets, values : row → values, without duplicates in a row

    Returns int32[...], the kind of each value; without gaps if ``kinds`` has none.
    """
    kinds = kinds.copy()
    count = 0
    for kind in kinds:
        count = max(count, kind + 1)
    sizes = np.zeros(count + len(kinds), np.int32)
    for kind in kinds:
        if kind != NONE:
            sizes[kind] += 1
    here = np.zeros(len(sizes), np.int32)  # values of each kind in the row
    becomes = np.zeros(len(sizes), np.int32)
    met = np.empty(len(sizes), np.int32)
    for row in range(len(offsets) - 1):
        kinds_met = 0
        for i in range(offsets[row], offsets[row + 1]):
            kind = kinds[values[i]]
            if kind != NONE:
                if here[kind] == 0:
                    met[kinds_met] = kind
                    kinds_met += 1
                here[kind] += 1
        for i in range(kinds_met):
            kind = met[i]
            becomes[kind] = kind
            if here[kind] < sizes[kind]:
                becomes[kind] = count
                sizes[count] = here[kind]
                sizes[kind] -= here[kind]
                count += 1
            here[kind] = 0
        for i in range(offsets[row], offsets[row + 1]):
            kind = kinds[values[i]]
            if kind != NONE:
                kinds[values[i]] = becomes[kind]
    return kinds
