"""Which partitioners agree on which keys, one key and one pair at a time."""

from __future__ import annotations


def agreements(partitions: list[list[int]], examples: int) -> dict[tuple[int, int], tuple[int, int, list[tuple[int, int, int]]]]:
    """For each two writers: keys that both know, keys that both put alike, and the first others (row, partition, partition).

    partitions : for each writer the partition of each key; -1 where it does not follow from the key
    """
    counts = {}
    for a in range(len(partitions)):
        for b in range(a + 1, len(partitions)):
            both = [(i, p, q) for i, (p, q) in enumerate(zip(partitions[a], partitions[b], strict=True)) if p >= 0 and q >= 0]
            same = [p for _, p, q in both if p == q]
            counts[a, b] = len(both), len(same), [one for one in both if one[1] != one[2]][:examples]
    return counts
