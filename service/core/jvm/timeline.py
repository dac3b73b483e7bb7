"""The iteration order of Kafka's TimelineHashMap, which holds the members of a group in the group coordinator."""

import numpy as np

from service.core.model import Int32s


def iteration_order(hashes: Int32s) -> Int32s:
    """The keys of a TimelineHashMap in the order of its iterator.

    hashes : int32[keys]   hashCode() of each key, in the order in which the keys were entered; no two keys are equal

    The table begins with 2 slots and doubles before it would have more than 4/3 as many keys as slots. A key's slot is the top
    bits of its hash times the golden ratio, so a doubling splits each slot in two and keeps its order: only the last table
    matters. Iteration goes up the slots, and within a slot from the last key to the first.

    Returns int32[keys].

    Reproduces org.apache.kafka.timeline.BaseHashTable and SnapshottableHashTable.
    """
    bits = 1
    while len(hashes) * 0.75 > 1 << bits:
        bits += 1
    scattered = hashes.astype(np.int64).view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    slots = scattered >> np.uint64(64 - bits)
    last_first = np.arange(len(hashes), dtype=np.int32)[::-1]
    return last_first[np.argsort(slots[::-1], kind="stable")]
