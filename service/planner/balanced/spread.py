"""Partitions without an owner, heaviest first, to the subscriber that is then least loaded (longest processing time first).

Members of one kind and capacity are *peers*: the least loaded of them is the same for every partition. So each set of peers is a
heap, and only their tops are compared. Where nothing tells members apart, a partition takes log(members) steps.

Source: Graham, "Bounds on multiprocessing timing anomalies" (1969).
"""

import numpy as np

from service.core.kernels import inner_kernel, kernel
from service.core.model import NONE, Int32s, Int64s
from service.planner.balanced.items import Items


@kernel
def spread(items: Items, holders: Int32s, loads: Int64s, bound: float) -> None:  # noqa: C901 (a kernel)
    """Give what no member holds, heaviest first, to the subscriber that is then least loaded.

    Ties go to the member with fewer partitions, then to the first. A previous owner gets it back if it is then within the bound.

    holders : int32[items]; loads : int64[members]; both updated
    bound : a load ÷ capacity

    Plain-Python twin: tests/reference/balanced_groups.py.
    """
    counts = np.zeros(len(loads), np.int64)
    for holder in holders:
        if holder != NONE:
            counts[holder] += 1
    by_capacity = np.argsort(items.capacities, kind="mergesort")
    heap = by_capacity[np.argsort(items.kinds[by_capacity], kind="mergesort")].astype(np.int32)
    of_kind = np.zeros(items.kinds.max() + 2, np.int32)  # kind → sets of peers, and set of peers → members, as offsets
    peers_of = np.zeros(len(heap) + 1, np.int32)
    count = 0
    for at in range(len(heap)):
        kind, capacity = items.kinds[heap[at]], items.capacities[heap[at]]
        if at == 0 or kind != items.kinds[heap[at - 1]] or capacity != items.capacities[heap[at - 1]]:
            peers_of[count] = at
            count += 1
        of_kind[kind + 1] = count
    peers_of[count] = len(heap)
    place, low, high = np.empty((3, len(heap)), np.int32)
    for peers in range(count):
        start, stop = peers_of[peers], peers_of[peers + 1]
        for at in range(stop - 1, start - 1, -1):
            low[heap[at]], high[heap[at]] = start, stop
            _sink(heap, place, at, start, stop, loads, counts)
    for item in range(len(holders)):
        if holders[item] != NONE:
            continue
        weight, topic, chosen = items.weights[item], items.topics[item], items.owners[item]
        if chosen == NONE or (loads[chosen] + weight) / items.capacities[chosen] > bound:
            chosen = NONE
            least = np.inf
            for i in range(items.readers_of[topic], items.readers_of[topic + 1]):
                kind = items.readers[i]
                for peers in range(of_kind[kind], of_kind[kind + 1]):
                    member = heap[peers_of[peers]]
                    ratio = (loads[member] + weight) / items.capacities[member]
                    if ratio < least or (
                        ratio == least
                        and (counts[member] < counts[chosen] or (counts[member] == counts[chosen] and member < chosen))
                    ):
                        least, chosen = ratio, member
        holders[item] = chosen
        loads[chosen] += weight
        counts[chosen] += 1
        _sink(heap, place, place[chosen], low[chosen], high[chosen], loads, counts)


@inner_kernel
def _sink(heap: Int32s, place: Int32s, at: int, low: int, high: int, loads: Int64s, counts: Int64s) -> None:
    """Move a member down the heap ``heap[low:high]`` until those below it come after it. place : int32[members], in the heap"""
    member = heap[at]
    below = 2 * at - low + 1
    while below < high:
        if below + 1 < high and _is_before(heap[below + 1], heap[below], loads, counts):
            below += 1
        if not _is_before(heap[below], member, loads, counts):
            break
        heap[at] = heap[below]
        place[heap[at]] = at
        at = below
        below = 2 * at - low + 1
    heap[at] = member
    place[member] = at


@inner_kernel
def _is_before(one: int, other: int, loads: Int64s, counts: Int64s) -> bool:
    if loads[one] != loads[other]:
        return bool(loads[one] < loads[other])
    if counts[one] != counts[other]:
        return bool(counts[one] < counts[other])
    return one < other
