"""Plain-Python twins: what lies where, for one partition count at a time and with no memory spared."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict

Row = tuple[bytes | None, int, int]
"""A key with its records and bytes; None is no key."""


def lying_on(rows: list[Row], partition_of: dict[bytes, int], partitions_count: int) -> dict[str, list[int]]:
    """Different keys, records and bytes of each partition."""
    counts = {what: [0] * partitions_count for what in ("keys", "records", "bytes")}
    for key in {key for key, _, _ in rows if key is not None}:
        counts["keys"][partition_of[key]] += 1
    for key, records, size in rows:
        counts["records"][partition_of[key]] += records
        counts["bytes"][partition_of[key]] += size
    return counts


def moving(rows: list[Row], old: dict[bytes, int], new: dict[bytes, int]) -> dict[tuple[int, int], list[int]]:
    """(old, new partition) → different keys, records and bytes."""
    cells: dict[tuple[int, int], list[int]] = defaultdict(lambda: [0, 0, 0])
    for key in {key for key, _, _ in rows if key is not None}:
        cells[old[key], new[key]][0] += 1
    for key, records, size in rows:
        cells[old[key], new[key]][1] += records
        cells[old[key], new[key]][2] += size
    return dict(sorted(cells.items()))


def heaviest(rows: list[Row], column: int) -> list[int]:
    """What each key weighs, heaviest first; column : 1 records, 2 bytes."""
    weights: Counter[bytes] = Counter()
    for row in rows:
        weights[row[0]] += row[column]
    return sorted(weights.values(), reverse=True)


def sample(key_hashes: list[int], max_keys: int) -> tuple[int, set[int]]:
    """The level and the keys of an adaptive sample that may hold ``max_keys``: those whose first ``level`` bits are 0."""
    level, held = 0, set[int]()
    for key_hash in key_hashes:
        if key_hash % 2**64 >> (64 - level) != 0 or key_hash in held:
            continue
        while len(held) == max_keys and key_hash % 2**64 >> (64 - level) == 0:
            level += 1
            held = {one for one in held if one % 2**64 >> (64 - level) == 0}
        if key_hash % 2**64 >> (64 - level) == 0:
            held.add(key_hash)
    return level, held


def frequent(rows: list[tuple[int, int]], room: int, cells: int) -> tuple[int, dict[int, tuple[int, int]], Counter[int]]:
    """Space-Saving that forgets half at a time, behind a filter.

    Returns the error, what each key known weighs at most and by how much too much, and what the keys of each cell weigh at most.
    """
    error, known, filtered = 0, dict[int, tuple[int, int]](), Counter[int]()
    for key, weight in rows:
        cell = (key >> 20) % cells
        if key not in known and filtered[cell] + weight > error and len(known) == room:
            error = max(int(statistics.median(most for most, _ in known.values())), error + error // 32)
            for one, (most, _) in known.items():
                if most <= error:
                    filtered[(one >> 20) % cells] = max(filtered[(one >> 20) % cells], most)
            known = {one: of for one, of in known.items() if of[0] > error}
        if key not in known and filtered[cell] + weight <= error:
            filtered[cell] += weight
            continue
        most, too_much = known.get(key, (filtered[cell], filtered[cell]))
        known[key] = most + weight, too_much
    return error, known, filtered
