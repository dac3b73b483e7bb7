"""Which members kafka-python's range and roundrobin assign to, and in which order they stand.

Static members come first, by instance_id; then dynamic ones, by member_id. But the code groups the members, in the order of the
JoinGroup response, by ``itertools.groupby``, which makes a group of each *run* of equal members, and keeps the last run of each
kind. Of static, dynamic, static only the last two get partitions.

Source: RangePartitionAssignor.assign, RoundRobinPartitionAssignor.assign (kafka-python 3.0.12).
"""

import numpy as np

from service.core.model import Bools, Group, Int32s, Ragged


def without_forgotten(group: Group, order: Int32s, rows: Ragged) -> Ragged:
    """The rows less the members that the code forgets.

    order : int32[members]   the member at each position
    rows : Ragged row → positions, ascending
    """
    static = np.array([instance_id is not None for instance_id in group.instance_ids], np.bool_)
    if static.all() or not static.any():
        return rows
    return rows.where(
        np.concatenate([np.empty(0, np.bool_), *(_are_remembered(static, order[rows.row(i)]) for i in range(len(rows)))])
    )


def warning(members: int) -> list[str]:
    """What a reader of the answer must know if so many members are forgotten."""
    sentence = (
        f"kafka-python assigns nothing to {members} of the members, although they subscribe to topics: static and dynamic "
        "members mix, and of each kind only those count that joined last, without one of the other kind between them."
    )
    return [sentence] if members else []


def _are_remembered(static: Bools, members: Int32s) -> Bools:
    """bool[members], whether each of some members is in the last run of static ones, or in the last of dynamic ones.

    static : bool[all members]; members : in any order, each once
    """
    in_turn = np.sort(members)
    changes = np.flatnonzero(np.diff(static[in_turn]))
    return members > in_turn[changes[-2]] if len(changes) > 1 else np.ones(len(members), np.bool_)
