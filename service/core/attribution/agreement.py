"""The same keys through several clients' partitioners: where they agree, and where not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numba import njit

from service.core.attribution import equivalents as of
from service.core.measures import Spread, occurrences, spread

if TYPE_CHECKING:
    from collections.abc import Iterable

    from service.core.attribution.equivalents import Writer, Writers
    from service.core.keys.columns import Column
    from service.core.model import Int32s, Int64s
    from service.core.partitioners.model import Partitioner

MOST_COUNTED: Final = 1 << 20
"""Most partitions whose records are counted one by one."""


@dataclass(frozen=True)
class Disagreement:
    """A key, by its row, and the partitions on which two writers put it."""

    row: int
    partitions: tuple[int, int]


@dataclass(frozen=True)
class Pair:
    """Two writers beside each other.

    first, second : indices of writers, ascending
    keys : records of which both writers' partitions follow from the key
    agreeing : those of them that both put on the same partition
    examples : the first few that they do not
    """

    first: int
    second: int
    keys: int
    agreeing: int
    examples: tuple[Disagreement, ...]


@dataclass(frozen=True)
class Comparison:
    """What the partitioners do with the keys.

    spreads : for each writer how even the records are whose partition follows from the key; None above MOST_COUNTED partitions
    pairs : every two writers
    group : the partitioners as writers, and those that are none
    """

    records: int
    group: Writers
    spreads: tuple[Spread, ...] | None
    pairs: tuple[Pair, ...]

    @property
    def writers(self) -> tuple[Writer, ...]:
        """Partitioners that agree on every key, each group as one."""
        return self.group.writers


def compare(
    partitioners: Iterable[Partitioner], column: Column, key_format: str, partitions_count: int, examples: int
) -> Comparison:
    """Where the partitioners put the keys, two by two.

    examples : most examples of a disagreement
    """
    has_null, has_empty = of.peculiar(column)
    group = of.writers_of(partitioners, key_format, has_null=has_null, has_empty=has_empty)
    writers, n = group.writers, len(group.writers)
    tally = np.zeros((n, n, 2), np.int64)
    rows = np.full((n, n, examples), -1, np.int64)
    shown = np.zeros((n, n, examples, 2), np.int32)
    held = np.zeros((n, partitions_count if partitions_count <= MOST_COUNTED else 0), np.int64)
    for start, part in of.blocks(column):
        partitions = of.hash_all(writers, part, key_format).partitions(partitions_count)
        agreements(partitions, start, tally, rows, shown)
        held += [occurrences(row, held.shape[1]) for row in partitions]
    pairs = tuple(
        Pair(
            a, b, int(tally[a, b, 0]), int(tally[a, b, 1]),
            tuple(
                Disagreement(int(row), (int(first), int(second)))
                for row, (first, second) in zip(rows[a, b], shown[a, b], strict=True)
                if row >= 0
            ),
        )
        for a in range(n)
        for b in range(a + 1, n)
    )  # fmt: skip
    spreads = tuple(spread(counts) for counts in held) if held.shape[1] else None
    return Comparison(of.len_of(column), group, spreads, pairs)


@njit(nogil=True, cache=True)
def agreements(partitions: Int32s, start: int, tally: Int64s, rows: Int64s, shown: Int32s) -> None:
    """Add a block of keys to what every two writers agree on.

    partitions : int32[writers, n], -1 where a writer's partition does not follow from the key
    start : the row of the block's first key
    tally : int64[writers, writers, 2]   keys of which both partitions are known, and those where they are the same; a < b
    rows : int64[writers, writers, examples]   rows of the first keys where they are not the same; -1: none yet
    shown : int32[writers, writers, examples, 2]   the partitions of those keys
    Plain-Python twin: tests/reference/agreement.py.
    """
    examples = rows.shape[2]
    for a in range(len(partitions)):
        for b in range(a + 1, len(partitions)):
            both = np.int64(0)
            same = np.int64(0)
            for i in range(partitions.shape[1]):
                both += partitions[a, i] >= 0 and partitions[b, i] >= 0
                same += partitions[a, i] >= 0 and partitions[a, i] == partitions[b, i]
            tally[a, b, 0] += both
            tally[a, b, 1] += same
            found = 0
            while found < examples and rows[a, b, found] >= 0:
                found += 1
            i = 0
            while found < examples and both > same and i < partitions.shape[1]:
                p, q = partitions[a, i], partitions[b, i]
                if p >= 0 and q >= 0 and p != q:
                    rows[a, b, found] = start + i
                    shown[a, b, found, 0] = p
                    shown[a, b, found, 1] = q
                    found += 1
                i += 1
