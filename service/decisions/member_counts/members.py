"""The members of now, with what they own, and those that come when the group grows."""

import numpy as np
import pyarrow as pa

from service.core.member_ids import IdDraw, default_client_id
from service.core.model import Group, Ragged
from service.core.ragged import transposed
from service.decisions.groups.question import GroupQuestion
from service.decisions.groups.rows import MEMBER
from service.decisions.groups.tables import assignments_array, in_answer_order
from service.decisions.rows.arrays import struct_rows, with_columns
from service.decisions.rows.names import NAME


def extended(group: GroupQuestion, count: int) -> pa.StructArray:
    """The members of a group, and further ones up to this number, with ids as Kafka draws them.

    Further ones subscribe like the last and are on the members' racks in turn.
    """
    members, now = group.members, len(group.members)
    if count <= now:
        return members
    draw = IdDraw(client_id=default_client_id(group.client, group.group_id))
    ids = members.field("member_id").to_pylist()
    drawn = pa.array(draw.further(ids, count - now, group.protocol, {*ids}), NAME)
    columns = {}
    if now:
        like_the_last = members.take(pa.array(np.full(count - now, now - 1)))
        columns = {name: like_the_last.field(name) for name in ("topic_names", "capacity")}
        columns["rack_id"] = members.field("rack_id").take(pa.array(np.arange(now, count) % now))
    return pa.concat_arrays([members, struct_rows(MEMBER, {**columns, "member_id": drawn}, count - now)])


def owning(members: pa.StructArray, group: Group, rows: Ragged) -> pa.StructArray:
    """The members with these partitions, Ragged member → partitions, as if a first rebalance had given them."""
    total = group.total_partitions
    owned = assignments_array([group], [in_answer_order(group, rows, transposed(rows, total))]).values.field("partitions")
    columns = {"owned_partitions": owned.cast(MEMBER.field("owned_partitions").type)}
    return with_columns(members, columns | {"generation_id": pa.array(np.ones(len(members), np.int32))})
