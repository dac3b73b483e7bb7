"""The assignment that a caller expects, and partition counts of which one may be what the leader saw."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from service.core.errors import InvalidQuestion
from service.core.model import Group, Int64s, offsets_of
from service.decisions.groups.rows import MEMBER, read_group
from service.decisions.rows import duplicates
from service.decisions.rows.arrays import with_columns

MAX_COMBINATIONS: Final = 64
"""Most combinations of partition counts that are tried."""


def expected_group(topics: pa.StructArray, members: pa.StructArray, expected: list[dict[str, Any]]) -> Group:
    """The group whose members own what they are expected to get."""
    ids = members.field("member_id").to_pylist()
    rows = {each["member_id"]: each["partitions"] for each in expected}
    owning = [{"member_id": member_id, "owned_partitions": rows.get(member_id, [])} for member_id in ids]
    return read_group(topics, pa.array(owning, MEMBER))


def expected_faults(members: pa.StructArray, expected: list[dict[str, Any]]) -> Iterator[InvalidQuestion]:
    """Members that are expected twice, or that the group does not have."""
    known = set(members.field("member_id").to_pylist()) if expected else set()
    yield from duplicates.in_rows(expected, "member_id", "expected")
    for i, each in enumerate(expected):
        if each["member_id"] not in known:
            yield InvalidQuestion(f"{each['member_id']!r} is not in `members`.", "expected", i, "member_id")


def largest_counts(topics: pa.StructArray, combinations: Sequence[dict[str, int]]) -> dict[str, int]:
    """The combination with the most partitions."""
    if len(combinations) == 1:
        return combinations[0]
    return max(combinations, key=lambda counts: sum(_chosen(topics, counts)))


def _chosen(topics: pa.StructArray, counts: dict[str, int]) -> list[int]:
    """The partition count of each topic, that of ``counts`` if it names the topic."""
    current = topics.field("partitions_count").to_pylist()
    return [counts.get(name, count) for name, count in zip(topics.field("topic_name").to_pylist(), current, strict=True)]


def with_counts(topics: pa.StructArray, counts: dict[str, int]) -> pa.StructArray:
    """The topics with these partition counts, and with the racks of these partitions only."""
    if not counts:
        return topics
    chosen = _chosen(topics, counts)
    columns = {"partitions_count": pa.array(chosen, pa.int32())}
    racks = topics.field("partition_racks")
    if racks.null_count < len(racks):
        columns["partition_racks"] = _first_rows(racks, np.array(chosen))
    return with_columns(topics, columns)


def _first_rows(lists: pa.ListArray, lengths: Int64s) -> pa.ListArray:
    """The first values of each list. lengths : the most of each, int64[lists]"""
    parents = np.array(pc.list_parent_indices(lists), np.int64)
    current = np.array(pc.fill_null(pc.list_value_length(lists), 0), np.int64)
    ends = np.cumsum(current)
    kept = np.arange(len(parents)) - (ends - current)[parents] < lengths[parents]
    offsets = offsets_of(np.minimum(current, lengths))
    return pa.ListArray.from_arrays(offsets, lists.flatten().filter(pa.array(kept)), lists.type, mask=lists.is_null())
