"""An assignment as tables: indices become names once, on the way out."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from service.core.model import NONE, Group, Int32s, OffsetRanges, Ragged, offsets_of
from service.decisions.rows import NAME

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.planner.balanced.balanced import TradeOff
    from service.planner.rebalances import Differences, Moves


def assignments_table(group: Group, assignment: Ragged) -> pa.Table:
    """The columns topic_name, partition_id and member_id, a row for each partition of each member, in the answer's order."""
    topics, ids = group.topic_partitions(assignment.values)
    names = pa.array(group.topic_names, NAME)
    return pa.table(
        {
            "topic_name": pa.DictionaryArray.from_arrays(pa.array(topics), names),
            "partition_id": pa.array(ids),
            "member_id": pa.DictionaryArray.from_arrays(
                pa.array(assignment.row_of_each_value()), pa.array(group.member_ids, NAME)
            ),
        }
    )


def assignments_array(groups: Sequence[Group], assignments: Sequence[Ragged]) -> pa.ListArray:
    """``[{member_id, partitions: [{topic_name, partition_ids}]}]``, a row for each group, as JSON answers have it.

    assignments : of each group Ragged member → partitions, in the answer's order
    """
    ids = pa.array(chain.from_iterable(group.member_ids for group in groups), NAME)
    partitions = _by_topic(groups, assignments)
    members = pa.StructArray.from_arrays([ids, partitions], names=["member_id", "partitions"])
    return pa.ListArray.from_arrays(pa.array(offsets_of(np.array([len(group) for group in groups]))), members)


def topic_partitions_array(groups: Sequence[Group], partitions: Sequence[Int32s]) -> pa.ListArray:
    """``[{topic_name, partition_ids}]``, a row for each group; partitions : of each group int32[...], ascending."""
    return _by_topic(groups, [Ragged(np.array([0, len(each)], np.int32), each) for each in partitions])


def _by_topic(groups: Sequence[Group], rows: Sequence[Ragged]) -> pa.ListArray:
    """For each row of partitions of each group, those of one topic together."""
    named = [group.topic_names for group in groups]
    first_name = offsets_of(np.array([len(names) for names in named]))
    of_groups = [group.topic_partitions(each.values) for group, each in zip(groups, rows, strict=True)]
    topics = np.concatenate([topics + first for (topics, _), first in zip(of_groups, first_name[:-1], strict=True)])
    ids = np.concatenate([ids for _, ids in of_groups])
    offsets = offsets_of(np.concatenate([each.lengths() for each in rows]))
    begins = np.ones(len(ids), np.bool_)
    begins[1:] = topics[1:] != topics[:-1]
    begins[offsets[:-1][np.diff(offsets) > 0]] = True
    runs = np.flatnonzero(begins).astype(np.int32)
    names = pa.array(chain.from_iterable(named), NAME).take(pa.array(topics[runs]))
    of_topic = pa.ListArray.from_arrays(pa.array(np.append(runs, np.int32(len(ids)))), pa.array(ids))
    each_topic = pa.StructArray.from_arrays([names, of_topic], names=["topic_name", "partition_ids"])
    return pa.ListArray.from_arrays(pa.array(np.searchsorted(runs, offsets).astype(np.int32)), each_topic)


def moves_table(group: Group, moves: Moves) -> pa.Table:
    """The columns topic_name, partition_id, from_member_id and to_member_id; null where there is no member."""
    topics, ids = group.topic_partitions(moves.partitions)
    return pa.table(
        {
            "topic_name": pa.array(group.topic_names, NAME).take(pa.array(topics)),
            "partition_id": pa.array(ids),
            "from_member_id": _members(group, moves.source),
            "to_member_id": _members(group, moves.target),
        }
    )


def ranges_table(group: Group, ranges: OffsetRanges, owners: Ragged) -> pa.Table:
    """The columns topic_name, partition_id, from_offset, until_offset and member_id, null where no executor is preferred."""
    topics, ids = group.topic_partitions(ranges.partitions)
    owned = owners.lengths()[ranges.partitions] > 0
    members = np.full(len(ranges), NONE, np.int32)
    members[owned] = owners.values[owners.offsets[ranges.partitions[owned]]]
    return pa.table(
        {
            "topic_name": pa.array(group.topic_names, NAME).take(pa.array(topics)),
            "partition_id": pa.array(ids),
            "from_offset": pa.array(ranges.starts),
            "until_offset": pa.array(ranges.ends),
            "member_id": _members(group, members),
        }
    )


def frontier_table(frontier: Sequence[TradeOff]) -> pa.Table:
    """The columns moves, worst_load, stddev and proven."""
    kinds = {"moves": pa.int64(), "worst_load": pa.float64(), "stddev": pa.float64(), "proven": pa.bool_()}
    return pa.Table.from_pylist(list(map(vars, frontier)), pa.schema(kinds))


def _members(group: Group, members: Int32s) -> pa.Array:
    return pa.array(group.member_ids, NAME).take(pa.array(members, mask=members == NONE))


def difference_rows(group: Group, differences: Differences, most: int) -> list[dict[str, Any]]:
    """The first differences, with topic_name, partition_id, expected_member_ids and member_ids.

    group : the one of ``expected_group``
    """
    names = group.topic_names
    topics, ids = group.topic_partitions(differences.partitions[:most])
    return [
        {
            "topic_name": names[topic],
            "partition_id": partition_id,
            "expected_member_ids": [group.member_ids[member] for member in differences.expected.row(i).tolist()],
            "member_ids": [group.member_ids[member] for member in differences.actual.row(i).tolist()],
        }
        for i, (topic, partition_id) in enumerate(zip(topics.tolist(), ids.tolist(), strict=True))
    ]
