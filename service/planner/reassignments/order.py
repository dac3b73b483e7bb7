"""The order of a partition's replicas, and what is copied."""

import numpy as np

from service.core.kernels import inner_kernel, kernel
from service.core.model import NONE, Bools, Int32s, Int64s, Ragged, offsets_of
from service.planner.reassignments.model import NO_LIMIT, Brokers, Placements, bytes_on
from service.planner.reassignments.search.exchanges import ReplicaSets


def in_order(brokers: Brokers, placements: Placements, chosen: Int32s, state: ReplicaSets) -> Ragged:
    """The sets as lists: a replica that stays keeps its place, and a new one takes the place of one that leaves.

    chosen : int32[...]   the partitions whose sets ``state`` has; the others keep their list
    """
    now = placements.replicas
    lengths = now.lengths()
    lengths[chosen] = np.diff(state.offsets)
    offsets = offsets_of(lengths)
    values = np.empty(offsets[-1], np.int32)
    index = np.full(len(placements), NONE, np.int32)
    index[chosen] = np.arange(len(chosen), dtype=np.int32)
    _order(now.offsets, now.values, index, state.offsets, state.members, brokers.replaced_by, offsets, values)
    return Ragged(offsets, values)


@kernel
def _order(  # noqa: C901 (a kernel)
    now_of: Int32s,
    now: Int32s,
    index: Int32s,
    set_of: Int32s,
    members: Int32s,
    replaced_by: Int32s,
    offsets: Int32s,
    values: Int32s,
) -> None:
    """Fill ``values``. index : int32[partitions]   the row of each partition in ``set_of``, or NONE"""
    for partition in range(len(index)):
        row = index[partition]
        start, end = now_of[partition], now_of[partition + 1]
        if row == NONE:
            values[offsets[partition] : offsets[partition + 1]] = now[start:end]
            continue
        left = members[set_of[row] : set_of[row + 1]].copy()
        lists = now[start:end].copy()
        for i in range(len(lists)):
            if not _take(left, lists[i]):
                target = replaced_by[lists[i]]
                lists[i] = target if target != NONE and _take(left, target) else NONE
        at = offsets[partition]
        following = 0
        for broker in lists:
            if broker == NONE:
                while following < len(left) and left[following] == NONE:
                    following += 1
                if following == len(left):
                    continue
                broker = left[following]  # noqa: PLW2901
                left[following] = NONE
            values[at] = broker
            at += 1
        for broker in left:
            if broker != NONE:
                values[at] = broker
                at += 1


@inner_kernel
def _take(left: Int32s, broker: int) -> bool:
    for i in range(len(left)):
        if left[i] == broker:
            left[i] = NONE
            return True
    return False


def copied(placements: Placements, replicas: Ragged) -> Int64s:
    """int64[partitions], how many brokers of each partition's row it does not have now."""
    return np.bincount(replicas.row_of_each_value()[added(placements.replicas, replicas)], minlength=len(replicas))


def in_sync_after(brokers: Brokers, placements: Placements, replicas: Ragged) -> Bools:
    """bool[values of replicas], those in sync once a reassignment to them is complete.

    Kafka waits until the replicas that are added are in sync, and not for those that stay.
    """
    now, width = placements.replicas, len(brokers)
    before = now.row_of_each_value().astype(np.int64) * width + now.values
    after = replicas.row_of_each_value().astype(np.int64) * width + replicas.values
    in_sync: Bools = ~np.isin(after, before[~placements.in_sync_now(brokers)])
    return in_sync


def added(before: Ragged, after: Ragged) -> Bools:
    """bool[values of after], those that are not in the same row of before."""
    return _added(before.offsets, before.values, after.offsets, after.values)


@kernel
def _added(before_of: Int32s, before: Int32s, after_of: Int32s, after: Int32s) -> Bools:
    result = np.ones(len(after), np.bool_)
    for row in range(len(after_of) - 1):
        for i in range(after_of[row], after_of[row + 1]):
            for j in range(before_of[row], before_of[row + 1]):
                result[i] &= before[j] != after[i]
    return result


def changed(before: Ragged, after: Ragged) -> Bools:
    """bool[rows], whose values, or whose order of them, is not the same."""
    result: Bools = before.lengths() != after.lengths()
    values = [rows.values[~result[rows.row_of_each_value()]] for rows in (before, after)]
    rows = after.row_of_each_value()[~result[after.row_of_each_value()]]
    result[rows[values[0] != values[1]]] = True
    return result


def has_room(brokers: Brokers, placements: Placements, replicas: Ragged) -> bool:
    """Do all copies fit on the brokers before anything leaves them, so that no replica needs a detour?"""
    comes = added(placements.replicas, replicas)
    targets, rows, count = replicas.values[comes], replicas.row_of_each_value()[comes], len(brokers)
    ones = np.ones(len(placements), np.int64)
    for weights, limits in ((ones, brokers.max_replicas), (placements.bytes_of_each(), brokers.capacity_bytes)):
        if (limits == NO_LIMIT).all():
            continue
        coming = np.zeros(count, np.int64)
        np.add.at(coming, targets, weights[rows])
        if ((coming > 0) & (bytes_on(placements.replicas, weights, count) + coming > limits)).any():
            return False
    return True
