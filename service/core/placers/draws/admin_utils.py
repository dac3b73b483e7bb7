"""The start and the shift with which AdminUtils places a topic so.

The first replica of the first partition tells the start. The shifts that give the placement are found by trying all of them,
which is quick: a wrong one fails at the first follower, or soon after.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Final

import numpy as np

from service.core.jvm.random import JavaRandom
from service.core.model import NONE, Cluster, Int32s, PlacementRequest
from service.core.placers.admin_utils import (
    fill_rack_aware,
    fill_rack_unaware,
    place_rack_aware,
    place_rack_unaware,
    rack_alternated,
)
from service.core.placers.draws import Draws, RandomDraws, agreeing, misfit


def _draws(cluster: Cluster, placement: Int32s, first_id: int, partition_0_leader: int | None, *, racks: bool) -> Draws:
    """See RandomDraws.of_placement. racks : the placer is ``rack-aware``

    placement : int32[partitions ≥ 1, replication_factor], indices of brokers, the leader in column 0
    partition_0_leader : from which ``addPartitions``, which draws nothing, starts; None: the topic is created
    Raises what the placer raises for such a cluster.
    """
    place = place_rack_aware if racks else place_rack_unaware

    def placed(rows: int, start: int | None, shift: int | None) -> Int32s:
        request = PlacementRequest(rows, placement.shape[1], first_id, start, shift, partition_0_leader)
        return place(cluster, request, JavaRandom(0))

    if partition_0_leader is not None:
        expected = placed(len(placement), None, None)
        draws = Draws(agreeing(expected, placement), {})
        by = f"addPartitions, which starts from the leader of partition 0, broker {partition_0_leader},"
        return misfit(draws, cluster, placement, expected[draws.rows : draws.rows + 1].ravel(), by)
    alternated = racks and not (cluster.racks == NONE).all()
    listed = rack_alternated(cluster) if alternated else np.arange(len(cluster), dtype=np.int32)
    start = int((np.flatnonzero(listed == placement[0, 0])[0] - first_id) % len(listed))
    position = np.empty(len(cluster), np.int32)
    position[listed] = np.arange(len(listed), dtype=np.int32)
    racks_listed = np.unique(cluster.racks[listed], return_inverse=True)[1].astype(np.int32)
    if not alternated:
        racks_listed = np.empty(0, np.int32)
    # First one partition, for which most of the shifts fail; then twice as many, until all have failed or all are placed.
    shifts, rows = np.arange(len(listed), dtype=np.int32), 1
    while True:
        lengths = _lengths(racks_listed, len(listed), first_id, start, shifts, position[placement[:rows]])
        agreed = int(lengths.max())
        shifts = shifts[lengths == agreed]
        if agreed < rows or rows == len(placement):
            break
        rows = min(len(placement), 2 * rows)
    drawn = {"start_index": start, "replica_shifts": shifts.tolist() if agreed else []}
    draws = Draws(agreed, drawn, ((len(listed), start), (len(listed), int(shifts[0]))))
    if agreed == 0:
        detail = "No replica_shift gives the first partition these followers."
        return replace(draws, replica=1, rule="draws", detail=detail)
    by = f"start_index {start} and replica_shift {shifts[0]}, which give the partitions before,"
    return misfit(draws, cluster, placement, placed(rows, start, int(shifts[0]))[agreed] if agreed < rows else placement[0], by)


def _lengths(racks: Int32s, brokers: int, first_id: int, start: int, shifts: Int32s, positions: Int32s) -> Int32s:
    """int32[shifts], how many of the first rows each shift gives.

    racks : int32[brokers] as for ``fill_rack_aware``, or int32[0] if they play no part
    positions : int32[rows, replication_factor], in the list that the brokers are counted along
    """
    lengths = np.zeros(len(shifts), np.int32)
    placed = np.empty_like(positions)
    for i, shift in enumerate(shifts.tolist()):
        if len(racks) > 0:
            fill_rack_aware(racks, first_id, start, shift, placed)
        else:
            fill_rack_unaware(brokers, first_id, start, shift, placed)
        lengths[i] = np.append((placed == positions).all(axis=1), False).argmin()
    return lengths


def _every(cluster: Cluster, request: PlacementRequest, *, racks: bool) -> tuple[int, Iterator[Int32s]]:
    """See RandomDraws.every: each start with each shift."""
    place, brokers = place_rack_aware if racks else place_rack_unaware, len(cluster)
    pairs = product(range(brokers), repeat=2)
    placements = (
        place(cluster, replace(request, start_index=start, replica_shift=shift), JavaRandom(0)) for start, shift in pairs
    )
    return brokers**2, placements


RACK_UNAWARE: Final = RandomDraws(partial(_draws, racks=False), partial(_every, racks=False))
RACK_AWARE: Final = RandomDraws(partial(_draws, racks=True), partial(_every, racks=True))
