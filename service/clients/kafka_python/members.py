"""Which members kafka-python's range and roundrobin assign to, and in which order they stand.

Static members come first, by instance_id; then dynamic ones, by member_id. But the code groups the members, in the order of the
JoinGroup response, by ``itertools.groupby``, which makes a group of each *run* of equal members, and keeps the last run of each
kind. Of static, dynamic, static only the last two get partitions.

Source: RangePartitionAssignor.assign, RoundRobinPartitionAssignor.assign (kafka-python 3.0.12).
"""

import numpy as np

from service.core.kernels import kernel
from service.core.model import Bools, Group, Int32s, Ragged


def without_forgotten(group: Group, order: Int32s, rows: Ragged) -> Ragged:
    """The rows less the members that the code forgets.

    order : int32[members]   the member at each position
    rows : Ragged row → positions, ascending
    """
    static = np.array([instance_id is not None for instance_id in group.instance_ids], np.bool_)
    return rows if static.all() or not static.any() else Ragged(*_last_runs(static, order, rows.offsets, rows.values))


def warning(members: int) -> list[str]:
    """What a reader of the answer must know if so many members are forgotten."""
    sentence = (
        f"kafka-python assigns nothing to {members} of the members, although they subscribe to topics: static and dynamic "
        "members mix, and of each kind only those count that joined last, without one of the other kind between them."
    )
    return [sentence] if members else []


@kernel
def _last_runs(static: Bools, order: Int32s, offsets: Int32s, positions: Int32s) -> tuple[Int32s, Int32s]:
    """Of each row, the positions of members of the last run of static ones, and of the last of dynamic ones, in request order.

    static : bool[members]; order : int32[members], the member at each position
    Plain-Python twin: tests/reference/clients/kafka_python.py.
    """
    stops = np.zeros_like(offsets)
    kept = np.empty_like(positions)
    in_row = np.zeros(len(static), np.bool_)
    end = 0
    for row in range(len(offsets) - 1):
        members = order[positions[offsets[row] : offsets[row + 1]]]
        in_row[members] = True
        # Backwards from the last member: its run, then a run of the other kind.
        changes, kind, first = 0, False, len(static)
        for member in range(len(static) - 1, -1, -1):
            if not in_row[member]:
                continue
            if first < len(static) and static[member] != kind:
                changes += 1
                if changes > 1:
                    break
            kind, first = static[member], member
        in_row[members] = False
        for i in range(len(members)):
            if members[i] >= first:
                kept[end] = positions[offsets[row] + i]
                end += 1
        stops[row + 1] = end
    return stops, kept[:end].copy()
