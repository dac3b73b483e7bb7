"""The records of librdkafka's cooperative-sticky: which partitions have moved from whom to whom.

Where they differ from Kafka's (``classic.sticky.movements``), they do so by mistakes that decide the answer, and are kept:

* A partition that has moved back to its first owner leaves its list, but keeps its record. When it is to move again, an assertion
  about that record ends the process.
* Of the partitions that went the opposite way the first is to move back in place of the one chosen. It is taken out of its list
  while it is still read through the list's first element: the next one of the list moves in its stead. If there is none, freed
  memory is read.
* A list is found by the pair of members in the record that created it. If that record is replaced while the list has others, the
  pair is freed, and the next search for it reads freed memory.

Source: PartitionMovements_t in rdkafka_sticky_assignor.c (librdkafka 1.9.2 to 2.15.1).
Plain-Python twin: tests/reference/clients/librdkafka_sticky.py, ``Movements``.
"""

from typing import Final, NamedTuple

import numpy as np

from service.clients.bags import Bags, add, no_items, take, with_more_bags
from service.core.assignors.classic.sticky.pairs import OWNER, SOURCE, TOPIC, place_of, with_more_room
from service.core.jvm.red_black import Rows
from service.core.kernels import borrowing_kernel, inner_kernel
from service.core.model import NONE, Int32s

FINE: Final = 0
ASSERTION: Final = 1
FREED: Final = 2
NULL: Final = 3
ENDLESS: Final = 4
"""How it ends: with an answer; by an assertion; by reading freed memory, or a null pointer; never."""

_CREATOR: Final = 3
_STAMP: Final = 4
_COLUMNS: Final = 5
"""Columns of ``Records.pairs`` behind those of pairs.py: the record that created the pair's list: partition and number."""


class MoveRecords(NamedTuple):
    """All records. ``add`` returns longer arrays where room ends.

    source, target : int32[partitions]   from whom to whom each partition has moved; NONE: it has no record
    stamp : int32[partitions]            how often its record was replaced
    pair_of : int32[partitions]          the pair in whose list it is, or NONE
    lists : the list of each pair
    lists_of : int32[topics]             the number of lists of each topic
    pairs : int32[..., 5]                the pairs there have been
    slots : int32[...]                   pairs by hash, open addressing, NONE where free
    used : int32[1]                      how many pairs there are
    """

    source: Int32s
    target: Int32s
    stamp: Int32s
    pair_of: Int32s
    lists: Bags
    lists_of: Int32s
    pairs: Rows
    slots: Int32s
    used: Int32s


@inner_kernel
def no_records(partitions_count: int, topics_count: int) -> MoveRecords:
    """No records yet."""
    return MoveRecords(
        np.full(partitions_count, NONE, np.int32),
        np.full(partitions_count, NONE, np.int32),
        np.zeros(partitions_count, np.int32),
        np.full(partitions_count, NONE, np.int32),
        no_items(16, partitions_count),
        np.zeros(topics_count, np.int32),
        np.zeros((16, _COLUMNS), np.int32),
        np.full(64, NONE, np.int32),
        np.zeros(1, np.int32),
    )


@borrowing_kernel
def chosen(records: MoveRecords, topic: int, partition: int, owner: int, to: int) -> tuple[int, int, int]:
    """What is to move when ``partition`` is to go from ``owner`` to ``to`` (getTheActualPartitionToBeMoved).

    Returns how it ends, the partition, and the pair through whose list it is read, or NONE.
    """
    if records.lists_of[topic] == 0:
        return FINE, partition, NONE
    if records.source[partition] != NONE and records.target[partition] != owner:
        return ASSERTION, partition, NONE
    status, opposite = _find(records, topic, to, owner)
    if status != FINE or opposite == NONE:
        return status, partition, NONE
    return FINE, records.lists.head[opposite], opposite


@inner_kernel
def record(  # noqa: PLR0911 (a kernel)
    records: MoveRecords, topic: int, partition: int, through: int, owner: int, to: int
) -> tuple[int, int, MoveRecords]:
    """Record that the partition goes from ``owner`` to ``to`` (movePartition).

    through : the pair through whose list the partition is read, or NONE
    Returns how it ends, the partition that is read afterwards, and the records.
    """
    source = records.source[partition]
    if source == NONE:
        status, records = _add(records, topic, partition, owner, to)
        return status, partition, records
    if records.lists_of[topic] == 0:
        return NULL, partition, records
    target = records.target[partition]
    status, pair = _find(records, topic, source, target)
    if status != FINE:
        return status, partition, records
    if pair == NONE:
        return ASSERTION, partition, records
    if records.pair_of[partition] == pair:
        _take_out(records, pair, partition)
        if through == pair and records.lists.size[pair] == 0:
            return FREED, partition, records
    if target != owner:
        return ASSERTION, partition, records
    if source != to:
        status, records = _add(records, topic, partition, source, to)
    return status, partition if through == NONE else records.lists.head[through], records


@borrowing_kernel
def _find(records: MoveRecords, topic: int, source: int, target: int) -> tuple[int, int]:
    """The pair, if it has a list, else NONE; and whether freed memory is read to find it."""
    pair = records.slots[place_of(records.pairs, records.slots, topic, source, target)]
    if pair == NONE or records.lists.size[pair] == 0:
        return FINE, NONE
    row = records.pairs[pair]
    return FINE if records.stamp[row[_CREATOR]] == row[_STAMP] else FREED, pair


@borrowing_kernel
def _take_out(records: MoveRecords, pair: int, partition: int) -> None:
    take(records.lists, pair, partition)
    records.pair_of[partition] = NONE
    if records.lists.size[pair] == 0:
        records.lists_of[records.pairs[pair, TOPIC]] -= 1


@inner_kernel
def _add(records: MoveRecords, topic: int, partition: int, source: int, target: int) -> tuple[int, MoveRecords]:
    """The partition's record, which replaces the one that it may have, and its place at the end of the list."""
    if records.source[partition] != NONE:
        records.stamp[partition] += 1
    records.source[partition], records.target[partition] = source, target
    status, pair = _find(records, topic, source, target)
    if status != FINE:
        return status, records
    if pair == NONE:
        place = place_of(records.pairs, records.slots, topic, source, target)
        pair = records.slots[place]
        if pair == NONE:
            pair = records.used[0]
            if pair == len(records.pairs):
                records = _with_more_pairs(records)
                place = place_of(records.pairs, records.slots, topic, source, target)
            records.used[0] += 1
            records.slots[place] = pair
        row = records.pairs[pair]
        row[TOPIC], row[SOURCE], row[OWNER] = topic, source, target
        row[_CREATOR], row[_STAMP] = partition, records.stamp[partition]
        records.lists_of[topic] += 1
    records.pair_of[partition] = pair
    add(records.lists, pair, partition)
    return FINE, records


@inner_kernel
def _with_more_pairs(r: MoveRecords) -> MoveRecords:
    """Twice the room for pairs and their lists."""
    pairs, slots = with_more_room(r.pairs, r.slots)
    return MoveRecords(r.source, r.target, r.stamp, r.pair_of, with_more_bags(r.lists), r.lists_of, pairs, slots, r.used)
