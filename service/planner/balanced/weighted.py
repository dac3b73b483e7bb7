"""The most even loads where partitions have weights or members capacities: the least maximum of load ÷ capacity, then the next.

Whether weights can be split evenly is a hard problem (NP-hard even for two members). So there is a bound that no assignment
beats (``bounds``), a search that mostly comes close to it, and, where that takes few enough steps, a search through all
assignments.

*Search*: a member keeps what it owns, as far as its share by the bound goes, and gives up few heavy partitions rather than
many light ones. The others go, heaviest first, to the member that is then least loaded (``spread``).
Then the most loaded member gives a partition to another, or exchanges one, as long as the worse of the two becomes better by
a ten-thousandth. Then partitions of one weight and with the same subscribers return to their owners where members exchange them
for one another, and pairs of members exchange partitions so that fewer move and more are read nearby (``nearer``).

Limits are numbers of steps, never a time, so that the same group always has the same answer.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from service.core.budget import check_time
from service.core.kernels import inner_kernel, kernel
from service.core.model import NONE, Bools, Int32s, Int64s, indices_in
from service.core.ragged import grouped, rows_and_places
from service.planner.balanced.bounds import MOST_NODES, Choices, exhaust, keep, least_maximum, least_within
from service.planner.balanced.exchanges import Items, exchange
from service.planner.balanced.nearer import STEPS, STEPS_OF_EACH, Places, draw_near

# Partitions without an owner, heaviest first, to the subscriber that is then least loaded (longest processing time first).
#
# Members of one kind and capacity are *peers*: the least loaded of them is the same for every partition. So each set of peers
# is a heap, and only their tops are compared. Where nothing tells members apart, a partition takes log(members) steps.
#
# Source: Graham, "Bounds on multiprocessing timing anomalies" (1969).


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


PIECE_STEPS: Final = 20_000_000
"""Steps of the search between two looks at the time: about half a second."""

MOST_PIECES: Final = 3
"""Pieces of the search."""


@dataclass(frozen=True)
class Shared:
    """The assignment of items.

    holders : int32[items], the member of each
    least : what the largest load ÷ capacity is at least, in units; bound : the same if no owner may be exchanged for another
    exact : were all assignments looked through?
    """

    holders: Int32s
    least: float
    bound: float
    exact: bool


@dataclass(frozen=True)
class Glance:
    """A less thorough look, where many groups are shared out: only the largest load ÷ capacity matters.

    steps : of the search; nodes : of each search through all assignments
    """

    steps: int
    nodes: int


def share_out(items: Items, choices: Choices | None, places: Places | None, max_moves: int, glance: Glance | None) -> Shared:
    """The assignment.

    choices : only of few items, which are then looked through; places : None for a glance
    max_moves : how many items may leave their owners
    glance : None: as thorough as can be
    """
    least = least_maximum(items)
    bound = least_within(items, least, max_moves)
    holders = items.owners.copy()
    loads = keep(items, holders, bound)
    left = np.array([max_moves - np.count_nonzero(holders != items.owners)])
    spread(items, holders, loads, bound)
    check_time()
    is_best = glance is not None and bool((loads <= bound * items.capacities).all())
    if len(holders) and not is_best:
        state = np.zeros(len(items.kinds), np.bool_), np.zeros(1, np.bool_)
        for _ in range(MOST_PIECES if glance is None else 1):
            done = exchange(items, holders, loads, left, *state, PIECE_STEPS if glance is None else glance.steps)
            check_time()
            if done:
                break
    restore(items, holders)
    if places is not None and len(holders):
        draw_near(items, places, holders, loads, STEPS + STEPS_OF_EACH * len(holders))
        check_time()
    if choices is None or is_best:
        return Shared(holders, least, bound, exact=False)
    forced = int(np.count_nonzero((choices.moves | ~choices.may).all(axis=1)))
    nodes = MOST_NODES if glance is None else glance.nodes
    holders, largest, exact = exhaust(items.weights, items.capacities, choices, holders, forced + max_moves, nodes)
    if largest:
        least = bound = float((np.bincount(holders, items.weights, len(items.kinds)) / items.capacities).max(initial=0.0))
    return Shared(holders, least, bound, exact)


def restore(items: Items, holders: Int32s) -> None:
    """Let members exchange partitions of one weight and kind of topic so that owners keep as many as they can.

    holders : int32[items]; updated
    """
    members = len(items.kinds)
    alike = np.cumsum(np.diff(items.weights, prepend=0) != 0) * len(items.readers_of) + items.topics
    known, has, counts = np.unique(
        alike * members + holders, return_inverse=True, return_counts=True
    )  # what a member has of each
    wants = indices_in(known, np.where(items.owners == NONE, NONE, alike * members + items.owners))
    kept = _first_of_each(wants, counts)
    gives = _first_of_each(has, counts - np.bincount(wants[kept], minlength=len(counts)))
    order = np.argsort(alike, kind="stable")
    holders[order[~kept[order]]] = holders[order[gives[order]]]
    holders[kept] = items.owners[kept]


def _first_of_each(labels: Int64s | Int32s, numbers: Int64s) -> Bools:
    """bool[labels], which are the first of their label, as many as its number. labels : NONE for none"""
    of_label = grouped(labels.astype(np.int32), len(numbers))
    label, place = rows_and_places(of_label.offsets)
    first = np.zeros(len(labels), np.bool_)
    first[of_label.values[place < numbers[label]]] = True
    return first
