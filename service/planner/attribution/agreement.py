"""The same keys through several clients' partitioners: where they agree, and where they do not."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np

from service.core.budget import check_time, reserve
from service.core.keys import columns
from service.core.keys.columns import Column
from service.core.measures import Spread, occurrences, spread
from service.core.model import Int32s, Int64s
from service.core.partitioners.model import Partitioner
from service.planner.attribution import equivalents
from service.planner.attribution.equivalents import PartitionerClass, PartitionerClasses

MOST_COUNTED: Final = 1 << 20
"""Most partitions for which the records of each are counted."""


@dataclass(frozen=True)
class Disagreement:
    """A key, by its row, and the partitions on which two classes put it."""

    row: int
    partitions: tuple[int, int]


@dataclass(frozen=True)
class Pair:
    """Two classes compared.

    first, second : indices of classes, ascending
    keys : records whose partition depends on the key in both classes
    agreeing : how many of them both put on the same partition
    examples : the first of the others
    """

    first: int
    second: int
    keys: int
    agreeing: int
    examples: tuple[Disagreement, ...]


@dataclass(frozen=True)
class PartitionerComparison:
    """Where the partitioners put the keys.

    partitioners : the partitioners by class, and those that cannot be compared
    spreads : for each class, how even the records are whose partition depends on the key; None above MOST_COUNTED partitions
    pairs : every two classes
    """

    records: int
    partitioners: PartitionerClasses
    spreads: tuple[Spread, ...] | None
    pairs: tuple[Pair, ...]

    @property
    def classes(self) -> tuple[PartitionerClass, ...]:
        """Partitioners that agree on every key, as one class."""
        return self.partitioners.classes


def compare(
    partitioners: Iterable[Partitioner], column: Column, key_format: str, partitions_count: int, examples: int
) -> PartitionerComparison:
    """Where the partitioners put the keys, for every two classes.

    examples : most examples for each two classes
    """
    has_null, has_empty = equivalents.has_null_and_empty(column)
    classified = equivalents.classify(partitioners, key_format, has_null=has_null, has_empty=has_empty)
    classes, n = classified.classes, len(classified.classes)
    tally = np.zeros((n, n, 2), np.int64)
    rows = np.full((n, n, examples), -1, np.int64)
    shown = np.zeros((n, n, examples, 2), np.int32)
    counted = partitions_count if partitions_count <= MOST_COUNTED else 0
    reserve(8 * (n + 1) * counted + equivalents.most_hashing_bytes(column))
    counts = np.zeros((n, counted), np.int64)
    for start, block in equivalents.blocks(column):
        check_time()
        partitions = equivalents.hash_all(classes, block, key_format).partitions(partitions_count)
        agreements(partitions, start, tally, rows, shown)
        for of_class, row in enumerate(partitions):
            counts[of_class] += occurrences(row, counted)
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
    spreads = tuple(spread(of_class) for of_class in counts) if counted else None
    return PartitionerComparison(columns.length(column), classified, spreads, pairs)


def agreements(partitions: Int32s, start: int, tally: Int64s, rows: Int64s, shown: Int32s) -> None:
    """Add a block of keys to the agreement of every two classes.

    partitions : int32[classes, n], -1 where the partition does not depend on the key
    start : the row of the block's first key
    tally : int64[classes, classes, 2]   [a, b]: keys with a partition in both, and those where it is the same; a < b
    rows : int64[classes, classes, examples]   rows of the first keys where it is not the same; -1: none yet
    shown : int32[classes, classes, examples, 2]   the partitions of those keys
    Plain-Python twin: tests/reference/agreement.py.
    """
    known = partitions >= 0
    for a, b in combinations(range(len(partitions)), 2):
        both = known[a] & known[b]
        differing = np.flatnonzero(both & (partitions[a] != partitions[b]))
        keys = np.count_nonzero(both)
        tally[a, b] += keys, keys - len(differing)
        free = np.flatnonzero(rows[a, b] < 0)[: len(differing)]
        some = differing[: len(free)]
        rows[a, b, free] = start + some
        shown[a, b, free] = np.stack((partitions[a, some], partitions[b, some]), axis=1)
