"""Nested columns of Arrow batches."""

from __future__ import annotations

import pyarrow as pa

from service.pipeline.analyses.nested_columns import compact


def test_a_compacted_slice_has_its_own_values_only():
    """At every level: readers of ``values`` and ``offsets`` would see those of other rows."""
    rows = pa.array([{"lists": [{"ids": [10 * i + j] * j} for j in range(3)], "name": f"n{i}"} for i in range(5)])
    part = compact(rows.slice(2, 2))
    lists = part.field("lists")
    ids = lists.values.field("ids")
    assert (part.offset, len(lists.values), lists.offsets.to_pylist()) == (0, 6, [0, 3, 6])
    assert (ids.values.to_pylist(), ids.offsets.to_pylist()) == ([21, 22, 22, 31, 32, 32], [0, 0, 1, 3, 3, 4, 6])
    assert part.to_pylist() == rows.to_pylist()[2:4]
