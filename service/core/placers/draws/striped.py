"""The offsets and shuffles with which StripedReplicaPlacer places a topic so.

Two things decide where the placer puts a replica, and each can be checked by itself:

1. *Which list* (a rack's unfenced or fenced brokers) is next. That depends on the order of the racks and on how many brokers each
   list has left, not on who they are. In the first round the racks are sorted, and the first leader tells the rack offset.
   Afterwards the rack offset is known, and the order, which has been shuffled, is found by following the replicas: at an unknown
   place of the rack list stands the rack of the next replica, or one that has no broker left to give. Where both are possible,
   both are tried.
2. *Which broker* of the list is next. A list gives its brokers in a circle, beginning one place further each time that it is
   asked for another partition. In the first round the brokers stand by id, so one replica tells the offset. Afterwards any order
   can have been drawn, but within a round every place must keep its broker.

How many brokers a list has left is known from the replicas placed. So a round does not depend on which of several orders the
round before it had, and the rounds are solved one after the other.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from math import prod
from typing import Any, Final, NamedTuple

import numpy as np

from service.core.jvm.random import JavaRandom
from service.core.kernels import inner_kernel, kernel
from service.core.model import NONE, Bools, Cluster, Int32s, PlacementRequest
from service.core.placers.draws import Draws, RandomDraws
from service.core.placers.striped import Model, model_of, place_from

MAX_ORDERS: Final = 10_000
"""Orders of the racks that are tried for a round. More are only needed if many racks have no unfenced broker."""

MAX_STEPS: Final = 100_000_000
"""Most replicas that are tried for a round, which is a second; so fewer orders are tried of a large cluster."""

MAX_ROWS: Final = 100
"""Partitions of which a wrong rack offset fits all before."""


def _draws_of(cluster: Cluster, placement: Int32s, _: int, __: int | None) -> Draws:
    """See RandomDraws.of_placement; the partitions' ids do not matter, and added partitions are placed like those of a new topic.

    placement : int32[partitions ≥ 1, replication_factor], indices of brokers, the leader in column 0, no broker twice in a row.
    The cluster has an unfenced broker, and at least as many brokers as the replication factor.
    """
    model = model_of(cluster)
    lists = np.empty(len(cluster), np.int32)
    lists[model.brokers] = np.repeat(np.arange(len(model.sizes), dtype=np.int32), model.sizes)
    places = np.empty(len(cluster), np.int32)
    places[model.brokers] = np.arange(len(cluster), dtype=np.int32) - model.starts[lists[model.brokers]]
    unfenced = int(np.count_nonzero(~cluster.fenced))
    offsets, expected = np.full(len(model.sizes), NONE, np.int32), np.full(1, NONE, np.int32)
    rows, replica = _turns(lists, places, model.starts, model.brokers, unfenced, placement, offsets, expected)
    walked, walked_replica, rack_offset = -1, 0, 0
    rack_offsets = _rack_offsets(model, int(lists[placement[0, 0]]))
    most = max(1, MAX_STEPS // (len(model.rack_list) * min(len(placement), MAX_ROWS)))
    decided = len(rack_offsets) <= most
    for offset in rack_offsets[:most]:
        length, column, all_tried = _walks(lists, model.sizes, model.rack_list, offset, unfenced, placement[:rows])
        decided &= all_tried
        if length > walked:
            walked, walked_replica, rack_offset = length, column, offset
        if length == rows:
            break
    sequence = [(int(size), int(offset)) for size, offset in zip(model.sizes, offsets, strict=True) if size > 0]
    draws = Draws(min(rows, walked), _drawn(model, offsets, rack_offset), (*sequence, (len(model.rack_list), rack_offset)))
    if draws.rows == len(placement):
        return draws
    if walked < rows:
        broker = placement[walked, walked_replica]
        rack = model.racks[lists[broker] // 2]
        where = "the brokers without a rack" if rack is None else f"rack {rack}"
        state = "the fenced brokers of " if cluster.fenced[broker] else ""
        tried = "" if decided else " of those tried"
        detail = f"Kafka takes the racks in one order, from the next rack for each partition: no order and no start{tried} "
        detail += f"make it the turn of {state}{where} here."
        return replace(draws, replica=walked_replica, rule="racks", detail=detail)
    if expected[0] == NONE:
        detail = "Kafka takes the brokers of a rack in turn: this broker has had its turn, or none is left."
    else:
        detail = f"Kafka takes the brokers of a rack in turn: broker {cluster.broker_ids[expected[0]]} comes next here."
    return replace(draws, replica=replica, rule="draws", detail=detail)


def _rack_offsets(model: Model, leaders: int) -> list[int]:
    """The rack offsets with which the first leader is of this list: its rack's place, and those of racks before it that no broker
    can lead.
    """
    place = int(np.flatnonzero(model.rack_list == leaders // 2)[0])
    offsets = [place]
    for steps in range(1, len(model.rack_list)):
        before = (place - steps) % len(model.rack_list)
        if model.sizes[2 * model.rack_list[before] + 1] > 0:
            break
        offsets.append(before)
    return offsets


def _drawn(model: Model, offsets: Int32s, rack_offset: int) -> dict[str, Any]:
    """The offsets as a JSON object, the racks in sorted order; null for an offset that no replica determines."""
    known = [None if offset == NONE else int(offset) for offset in offsets]
    racks = [
        {"rack_id": model.racks[rack], "unfenced_offset": known[2 * rack + 1], "fenced_offset": known[2 * rack]}
        for rack in model.rack_list.tolist()
    ]
    return {"rack_offset": rack_offset, "racks": racks}


def _every(cluster: Cluster, request: PlacementRequest) -> tuple[int, Iterator[Int32s]] | None:
    """See RandomDraws.every: each offset of each list with each rack offset, unless something is shuffled."""
    model, unfenced = model_of(cluster), int(np.count_nonzero(~cluster.fenced))
    if request.partitions_count > unfenced > 1:
        return None
    lists, racks = np.flatnonzero(model.sizes), len(model.rack_list)
    bounds = (*model.sizes[lists].tolist(), racks)

    def placed(drawn: tuple[int, ...]) -> Int32s:
        offsets = np.zeros(len(model.sizes), np.int32)
        offsets[lists] = drawn[:-1]
        return place_from(model, offsets, drawn[-1], cluster, request, JavaRandom(0))

    return prod(bounds), map(placed, product(*map(range, bounds)))


STRIPED: Final = RandomDraws(_draws_of, _every)


@kernel
def _turns(  # noqa: C901 (a kernel)
    lists: Int32s,
    places: Int32s,
    starts: Int32s,
    brokers: Int32s,
    unfenced: int,
    placement: Int32s,
    offsets: Int32s,
    expected: Int32s,
) -> tuple[int, int]:
    """Step 2 of the module's docstring: how many first rows have replicas that fit, and the column where the next one does not.

    lists, places : int32[brokers]   each broker's list, and its place there
    starts, brokers : as in Model
    offsets : int32[lists], NONE, filled; expected : int32[1], NONE, the broker that must stand where the rows end
    """
    count = len(starts) - 1
    used, last_epoch, turned = np.zeros(count, np.int32), np.zeros(count, np.int32), np.zeros(count, np.int32)
    holder, place_of = np.full(len(lists), NONE, np.int32), np.full(len(lists), NONE, np.int32)
    for row in range(len(placement)):
        epoch = row % unfenced if unfenced > 1 else row
        first_round = unfenced == 1 or row < unfenced
        if epoch == 0 and row > 0:
            holder[:] = NONE
            place_of[:] = NONE
        for replica in range(placement.shape[1]):
            broker = placement[row, replica]
            i = lists[broker]
            size = starts[i + 1] - starts[i]
            if last_epoch[i] != epoch:
                last_epoch[i], used[i] = epoch, 0
                turned[i] = turned[i] + 1 if turned[i] + 1 < size else 0
            if used[i] == size:
                return row, replica
            place = (used[i] + turned[i]) % size
            used[i] += 1
            if first_round:
                offset = (places[broker] - place) % size
                if offsets[i] == NONE:
                    offsets[i] = offset
                elif offsets[i] != offset:
                    expected[0] = brokers[starts[i] + (offsets[i] + place) % size]
                    return row, replica
            elif holder[starts[i] + place] == NONE and place_of[broker] == NONE:
                holder[starts[i] + place], place_of[broker] = broker, place
            elif holder[starts[i] + place] != broker:
                expected[0] = holder[starts[i] + place]
                return row, replica
    return len(placement), 0


class _Supply(NamedTuple):
    """How many brokers each list has, and how many it has given for the partition of a round that last asked it."""

    sizes: Int32s
    used: Int32s
    last_epoch: Int32s


@kernel
def _walks(
    lists: Int32s, sizes: Int32s, rack_list: Int32s, rack_offset: int, unfenced: int, placement: Int32s
) -> tuple[int, int, bool]:
    """Step 1 of the module's docstring: rows and column as ``_turns`` returns them; were all orders tried?

    rack_list : int32[racks], the order in the first round; rack_offset : before the first row
    """
    racks = len(rack_list)
    supply = _Supply(sizes, np.zeros(len(sizes), np.int32), np.zeros(len(sizes), np.int32))
    used_before, last_epoch_before = supply.used.copy(), supply.last_epoch.copy()
    order, choices, options = rack_list.copy(), np.zeros(racks, np.int32), np.zeros(racks, np.int32)
    a_round = unfenced if unfenced > 1 else len(placement)
    for first in range(0, len(placement), max(1, a_round)):
        rows = placement[first : first + a_round]
        used_before[:], last_epoch_before[:] = supply.used, supply.last_epoch
        choices[:] = 0
        best_row, best_replica, tries = -1, 0, max(1, min(MAX_ORDERS, MAX_STEPS // (rows.size + racks)))
        while True:
            if first > 0:
                order[:] = NONE
            supply.used[:], supply.last_epoch[:] = used_before, last_epoch_before
            offset = (rack_offset + first) % racks
            row, replica, depth = _walk(lists, supply, order, offset, rows, choices, options)
            if row == len(rows):
                break
            if row > best_row or (row == best_row and replica > best_replica):
                best_row, best_replica = row, replica
            tries -= 1
            depth -= 1
            while depth >= 0 and choices[depth] + 1 >= options[depth]:
                depth -= 1
            if depth < 0 or tries == 0:
                return first + best_row, best_replica, depth < 0
            choices[depth] += 1
            choices[depth + 1 :] = 0
    return len(placement), 0, True


@inner_kernel
def _walk(  # noqa: C901, PLR0912 (a kernel)
    lists: Int32s, supply: _Supply, order: Int32s, rack_offset: int, rows: Int32s, choices: Int32s, options: Int32s
) -> tuple[int, int, int]:
    """Go round the racks once for each replica of a round; returns the row and column that does not fit, and the choices made.

    order : int32[racks], the rack at each place, NONE if unknown, which is filled by ``choices``
    options : int32[racks], by choice: 0 if there is no such choice any more, else how many there are at most
    """
    racks, depth = len(order), 0
    stands = np.zeros(racks, np.bool_)
    for rack in order:
        if rack != NONE:
            stands[rack] = True
    for epoch in range(len(rows)):
        start, at, leader_at = (rack_offset + epoch) % racks, (rack_offset + epoch) % racks, NONE
        for replica in range(rows.shape[1]):
            target = lists[rows[epoch, replica]]
            for _ in range(2 * racks + 2):
                if replica > 0 and at == leader_at:
                    leader_at = NONE
                    at = at + 1 if at + 1 < racks else 0
                    continue
                if order[at] == NONE:
                    rack = _choose(stands, target, epoch, replica == 0, supply, choices[depth])
                    options[depth] = 0 if rack == NONE else racks + 1
                    depth += 1
                    if rack == NONE:
                        return epoch, replica, depth
                    order[at], stands[rack] = rack, True
                source = _given(order[at], epoch, replica == 0, supply)
                if source != NONE:
                    break
                at = at + 1 if at + 1 < racks else 0
            if source != target:
                return epoch, replica, depth
            if supply.last_epoch[target] != epoch:
                supply.last_epoch[target], supply.used[target] = epoch, 0
            supply.used[target] += 1
            if replica == 0:
                leader_at, at = at, start
            else:
                at = at + 1 if at + 1 < racks else 0
    return len(rows), 0, depth


@inner_kernel
def _given(rack: int, epoch: int, leads: bool, supply: _Supply) -> int:  # noqa: FBT001
    """The list of this rack that gives its next broker; NONE if none has a broker left."""
    for i in (2 * rack + 1, 2 * rack):
        if supply.sizes[i] > 0 and (supply.last_epoch[i] != epoch or supply.used[i] < supply.sizes[i]):
            return int(i)
        if leads:
            break
    return NONE


@inner_kernel
def _choose(stands: Bools, target: int, epoch: int, leads: bool, supply: _Supply, choice: int) -> int:  # noqa: FBT001
    """Of the racks that can stand at an unknown place number ``choice``; NONE if there are fewer.

    stands : bool[racks], those whose place is known; target : the list that must give the next broker
    """
    for i in range(-1, len(stands)):
        rack = target // 2 if i < 0 else i
        if stands[rack] or _given(rack, epoch, leads, supply) != (target if i < 0 else NONE):
            continue
        if choice == 0:
            return int(rack)
        choice -= 1
    return NONE
