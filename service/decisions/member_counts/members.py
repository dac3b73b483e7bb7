"""The members of now, with what they own, and those that come when the group grows."""

import numpy as np
import pyarrow as pa

from service.core.model import Group, Ragged
from service.core.ragged import transposed
from service.decisions.groups.rows import MEMBER
from service.decisions.groups.tables import assignments_array, in_answer_order
from service.decisions.rows.arrays import struct_rows, with_columns
from service.decisions.rows.names import NAME


def extended(members: pa.StructArray, count: int) -> pa.StructArray:
    """The members, and further ones up to this number, which subscribe like the last and are on the members' racks in turn."""
    now = len(members)
    if count <= now:
        return members
    ids = pa.array(_new_ids(members.field("member_id").to_pylist(), count - now), NAME)
    columns = {}
    if now:
        like_the_last = members.take(pa.array(np.full(count - now, now - 1)))
        columns = {name: like_the_last.field(name) for name in ("topic_names", "capacity")}
        columns["rack_id"] = members.field("rack_id").take(pa.array(np.arange(now, count) % now))
    return pa.concat_arrays([members, struct_rows(MEMBER, {**columns, "member_id": ids}, count - now)])


def _new_ids(taken: list[str], count: int) -> list[str]:
    """New ids, like that of the last member: c2-1, c2-2 … after c2."""
    name, known = taken[-1] if taken else "member", set(taken)
    ids: list[str] = []
    number = 0
    while len(ids) < count:
        number += 1
        if (new := f"{name}-{number}") not in known:
            ids.append(new)
    return ids


def owning(members: pa.StructArray, group: Group, rows: Ragged) -> pa.StructArray:
    """The members with these partitions, Ragged member → partitions, as if a first rebalance had given them."""
    total = group.total_partitions
    owned = assignments_array([group], [in_answer_order(group, rows, transposed(rows, total))]).values.field("partitions")
    columns = {"owned_partitions": owned.cast(MEMBER.field("owned_partitions").type)}
    return with_columns(members, columns | {"generation_id": pa.array(np.ones(len(members), np.int32))})
