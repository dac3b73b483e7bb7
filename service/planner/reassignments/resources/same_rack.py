"""Replicas that move stay on their rack where several resources are as even. As ``search.same_rack``."""

from collections.abc import Callable

from service.core.kernels import borrowing_kernel, kernel
from service.core.model import Bools, Int32s, Int64s
from service.planner.reassignments.resources.state import (
    GAIN,
    Resources,
    can_move,
    copies_of,
    gain_of,
    replace_replica,
    shift,
    take_difference,
    take_replica,
)
from service.planner.reassignments.resources.swaps import may_swap
from service.planner.reassignments.search.exchanges import ReplicaSets
from service.planner.reassignments.search.same_rack import look_at_strays, more_than_now, strays
from service.planner.reassignments.search.turns import DONE, MORE, TURN


def stay_on_racks(s: ReplicaSets, r: Resources, on_rack: Bools, check: Callable[[], None]) -> bool:
    """Have replicas stay on their rack; returns whether anything has changed. on_rack : see ``look_at_strays``"""
    return bool(r.free[0]) and look_at_strays(s, on_rack, lambda *guests: _swap_each(s, r, on_rack, *guests), check)


@kernel
def _swap_each(s: ReplicaSets, r: Resources, on_rack: Bools, offsets: Int32s, guests: Int32s, progress: Int64s) -> int:
    """Look once at each stray, as in ``search.same_rack``. DONE or MORE."""
    while progress[0] < len(guests):
        if s.work[0] > TURN:
            return MORE
        progress[1] += _swap(s, r, on_rack, (offsets, guests), guests[progress[0]])
        progress[0] += 1
    return DONE


@borrowing_kernel
def _swap(s: ReplicaSets, r: Resources, on_rack: Bools, guests: tuple[Int32s, Int32s], place: int) -> bool:
    """Have the replica at this place go back to its rack, alone or for another stray; False if that raises a sum."""
    partition, a = s.row_of[place], int(s.members[place])
    if not strays(s, on_rack, partition, a):
        return False
    for b in range(len(s.loads)):
        s.work[0] += 1
        if s.racks[b] == s.racks[a] or more_than_now(s, on_rack, partition, s.racks[b]) >= 0:
            continue
        if copies_of(s, partition, a, b) != 0:
            continue
        take_replica(r, partition, a)
        if can_move(s, r, partition, a, b) and _as_even(s, r, a, b):
            replace_replica(s, r, partition, a, b, 0)
            shift(r, a, b)
            return True
        for i in range(guests[0][b], guests[0][b + 1]):
            guest = guests[1][i]
            other = s.row_of[guest]
            s.work[0] += 1
            if s.members[guest] != b or other == partition or not strays(s, on_rack, other, b):
                continue
            take_difference(r, partition, a, other, b)
            if _as_even(s, r, a, b) and may_swap(r, partition, other, a, b) and copies_of(s, other, b, a) == 0:
                replace_replica(s, r, partition, a, b, 0)
                replace_replica(s, r, other, b, a, 0)
                shift(r, a, b)
                return True
    return False


@borrowing_kernel
def _as_even(s: ReplicaSets, r: Resources, a: int, b: int) -> bool:
    """Does no sum rise, in the order of priorities, if ``step`` goes from a to b?"""
    s.work[0] += GAIN * len(r.step)
    return gain_of(r, len(r.columns) - 1, a, b)[1] >= 0.0
