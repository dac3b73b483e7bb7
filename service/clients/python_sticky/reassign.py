"""How the sticky assignors of kafka-python and aiokafka even out: partitions move until no member can be given one more.

The algorithm is the fourth step of the Java class (classic/sticky/general.py), with these differences:

* All owned partitions are gone through in an order that is not that of the topics, if all subscribe alike (sticky.py).
* If the previous owner of a partition has been set aside, because it has all that it can have, the code throws; or, where the
  owner has a single partition, goes on with that member as one more, of no partitions, in the comparison of inequalities.
* Where other partitions went the opposite way and one is to move back instead, any may be chosen: they are in a set, whose order
  is that of random hash codes. kafka-python returns the first partition to where it came from as well; aiokafka does not.
* A group is balanced if no subscriber has fewer than the owner of a partition; in Java, if none has two fewer.

Source: StickyAssignmentExecutor.balance, _perform_reassignments, _is_balanced (kafka-python 3.0.12, aiokafka 0.14.0).
Plain-Python twin: tests/reference/clients/python_sticky.py.
"""

from typing import Final, NamedTuple

import numpy as np

from service.core.assignors.classic.sticky.movements import SIZE, Movements, alike, copied, first_of, opposite
from service.core.assignors.classic.sticky.reassign import (
    ENDLESS,
    OFTEN,
    SETTLED,
    differences,
    fewest_of_open,
    nearly_equal,
    shift,
)
from service.core.assignors.classic.sticky.state import State
from service.core.budget import OUT_OF_TIME, Deadline, is_over
from service.core.heap import heapify
from service.core.kernels import inner_kernel, kernel
from service.core.model import NONE, Bools, Int32s, Int64s
from service.core.ragged import put

THROWN: Final = 1
"""How it ends, beside SETTLED and ENDLESS: the library throws."""

_STAY: Final = -1


class Workspace(NamedTuple):
    """Room to work in.

    heap, where : int32[members]   the subscribers of the topic at hand
    extra : bool[members]          members that have been set aside, and count with no partitions
    chance : int64[1]              how often one of several was chosen from a set
    """

    heap: Int32s
    where: Int32s
    extra: Bools
    chance: Int64s


@kernel
def even_out(
    state: State,
    movements: Movements,
    undoes: bool,  # noqa: FBT001
    revoked: bool,  # noqa: FBT001
    fresh: bool,  # noqa: FBT001
    deadline: Deadline,
) -> tuple[int, int, int, int]:
    """Move partitions, and undo it if members are then not less unequal (balance).

    undoes : does the first partition go back as well, where another moves instead?
    revoked : was something taken from a member? Otherwise the free partitions are gone through first
    fresh : does no member keep anything?
    Returns how it ended, the partition at which it did not settle, the moves over all, and the choices left to chance.
    """
    members = len(state.counts)
    work = Workspace(
        np.empty(members, np.int32),
        np.zeros(members, np.int32),
        np.zeros(members, np.bool_),
        np.zeros(1, np.int64),
    )
    before, counts = state.new_owners.copy(), state.counts.copy()
    status, at, moves = SETTLED, NONE, 0
    for step in range(1 if revoked else 0, 2):  # only the free partitions, then all
        # Pass over the partitions until nothing moves (_perform_reassignments). Endless passes are found as in Java's form.
        passes = moves = 0
        remembered, records = state.new_owners[:0].copy(), movements
        while True:
            if passes & (passes - 1) == 0:
                if passes > 0:
                    remembered, records = state.new_owners.copy(), copied(movements)
            elif np.array_equal(remembered, state.new_owners) and alike(records, movements):
                status = ENDLESS
                break
            status, at, some, movements = _pass(state, undoes, step == 0, work, movements, deadline)
            passes += 1
            moves += some
            if status != SETTLED or some == 0:
                break
        if status != SETTLED:
            break
    if status == SETTLED and not fresh and moves > 0:
        taking_part = state.taking_part | work.extra
        state.counts[~state.taking_part] = 0  # no part of either inequality
        if differences(state.counts[taking_part]) >= differences(counts[state.taking_part]):
            put(before, state.new_owners, 0)
    return status, at, moves, work.chance[0]


@inner_kernel
def _pass(  # noqa: C901, PLR0912 (a kernel)
    state: State,
    undoes: bool,  # noqa: FBT001
    only_free: bool,  # noqa: FBT001
    work: Workspace,
    movements: Movements,
    deadline: Deadline,
) -> tuple[int, int, int, Movements]:
    """One pass. Returns how it ended, the last partition moved (or that at which it threw), the number of moves, the records.

    Whether the group is balanced, so that the pass ends, is asked where it counts: see classic/sticky/reassign.py.
    """
    moves, last, looked_at = 0, NONE, 0
    for run in range(len(state.runs) - 1):
        of_run = state.sequence[state.runs[run] : state.runs[run + 1]]
        if len(of_run) == 0:
            continue
        topic = state.topic_of[of_run[0]]
        start, stop = state.subscribers_of[topic], state.subscribers_of[topic + 1]
        if stop - start < 2:
            continue
        heap = work.heap[: stop - start]  # all take part
        put(state.subscribers[start:stop], heap, 0)
        heapify(heap, stop - start, work.where, state.keys)
        for partition in of_run:
            looked_at += 1
            if looked_at % OFTEN == 0 and is_over(deadline):
                return OUT_OF_TIME, NONE, moves, movements
            if only_free and not state.free[partition]:
                continue
            owner, back, fewest = state.new_owners[partition], state.previous_owners[partition], work.heap[0]
            to = _STAY
            if back != NONE and not state.taking_part[back]:
                if _balanced(state, NONE, NONE):
                    return SETTLED, last, moves, movements
                if state.counts[owner] > 1:
                    return THROWN, partition, moves, movements
                work.extra[back] = True
            elif back != NONE and state.counts[owner] > state.counts[back] + 1:
                to = back
            if to == _STAY and state.counts[owner] > state.counts[fewest] + 1:
                to = fewest
            if to == _STAY:
                continue
            if state.has_stale_claims and _balanced(state, owner, fewest):
                return SETTLED, last, moves, movements
            moved = partition
            pair = opposite(movements, topic, partition, owner, to)
            if pair != NONE:
                work.chance[0] += movements.pairs[pair, SIZE] > 1
                moved = first_of(movements, pair)
                if undoes and state.new_owners[moved] != owner:
                    movements = shift(state, movements, heap, work.where, topic, partition, state.new_owners[moved])
            movements = shift(state, movements, heap, work.where, topic, moved, to)
            moves += 1
            last = moved
    return SETTLED, last, moves, movements


@inner_kernel
def _balanced(state: State, owner: int, fewest: int) -> bool:
    """Is the group balanced (_is_balanced)?

    owner, fewest : the owner of some partition and the subscriber with the fewest, most often a proof that it is not; or NONE
    """
    if owner != NONE and state.counts[fewest] < state.counts[owner] and state.counts[fewest] != state.possible[fewest]:
        return False
    if nearly_equal(state):
        return True
    for topic in state.topics:
        least = fewest_of_open(state, state.subscribers[state.subscribers_of[topic] : state.subscribers_of[topic + 1]])
        if least == NONE:
            continue
        for partition in range(state.first[topic], state.first[topic + 1]):
            if state.counts[state.new_owners[partition]] > least:
                return False
    return True
