"""Which brokers may have which partitions: two relations between sets of partitions and brokers.

A broker *keeps* what it has of a partition unless it is gone, fenced, draining or replaced, or not in the partition's broker set.
It *receives* replicas if it also is neither cordoned nor left out of the destinations. So a partition may be on the brokers that
receive it, and on those of its current ones that keep it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from service.core.kernels import kernel
from service.core.model import Bools, Int32s, Ragged
from service.planner.reassignments.model import Brokers, BrokerSets, Placements


class Permits(NamedTuple):
    """The relations.

    sets : int32[partitions], the row of each
    keeps, receives : bool[sets, brokers]
    racks : int32[brokers]; receiving : int32[sets, racks], the brokers of each rack that receive
    """

    sets: Int32s
    keeps: Bools
    receives: Bools
    racks: Int32s
    receiving: Int32s

    @classmethod
    def of(cls, brokers: Brokers, placements: Placements) -> Permits:
        """The relations of a cluster."""
        limits = placements.broker_sets or BrokerSets(np.zeros(len(placements), np.int32), np.ones((1, len(brokers)), np.bool_))
        keeps = limits.allowed & brokers.usable
        receives, racks = keeps & brokers.receiving, brokers.racks()
        receiving = np.zeros((len(receives), int(racks.max(initial=0)) + 1), np.int32)
        rows, columns = np.nonzero(receives)
        np.add.at(receiving, (rows, racks[columns]), 1)
        return cls(limits.rows, keeps, receives, racks, receiving)

    def kept(self, rows: Ragged) -> Bools:
        """bool[replicas], which may stay where they are. rows : Ragged partition → brokers"""
        return self.keeps[self.sets[rows.row_of_each_value()], rows.values]


class Reach(NamedTuple):
    """How far partitions may spread.

    brokers, racks : int32[partitions], how many each may be on
    levels : int32[partitions]   the least level at which all replicas find a place: no rack has more of them, unless it has
        fewer brokers
    """

    brokers: Int32s
    racks: Int32s
    levels: Int32s


@kernel
def reach(permits: Permits, chosen: Int32s, homes: tuple[Int32s, Int32s], factors: Int32s) -> Reach:
    """The reach of some partitions.

    chosen : int32[...]; homes : Ragged row of ``chosen`` → its current brokers, as offsets and values
    factors : int32[...], the replicas that each is to have
    """
    count = len(chosen)
    of_brokers, of_racks, levels = np.empty(count, np.int32), np.empty(count, np.int32), np.empty(count, np.int32)
    on_rack = np.zeros(permits.receiving.shape[1], np.int64)
    at, factor, special = -1, -1, True  # the set and factor of the row before; was one of its homes counted in?
    for row in range(count):
        row_set = permits.sets[chosen[row]]
        extra = 0
        for i in range(homes[0][row], homes[0][row + 1]):
            extra += permits.keeps[row_set, homes[1][i]] and not permits.receives[row_set, homes[1][i]]
        if row_set == at and factors[row] == factor and extra == 0 and not special:
            of_brokers[row], of_racks[row], levels[row] = of_brokers[row - 1], of_racks[row - 1], levels[row - 1]
            continue
        at, factor, special = row_set, factors[row], extra > 0
        for rack in range(len(on_rack)):
            on_rack[rack] = permits.receiving[row_set, rack]
        for i in range(homes[0][row], homes[0][row + 1]):
            if permits.keeps[row_set, homes[1][i]] and not permits.receives[row_set, homes[1][i]]:
                on_rack[permits.racks[homes[1][i]]] += 1
        level = placed = 0
        while level < factor and placed < factor:
            level, placed = level + 1, 0
            for rack in range(len(on_rack)):
                placed += min(on_rack[rack], level)
        of_brokers[row], of_racks[row], levels[row] = on_rack.sum(), np.count_nonzero(on_rack), level
    return Reach(of_brokers, of_racks, levels)
