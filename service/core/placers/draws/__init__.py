"""From a placement back to what its placer drew: the inverse of the placers that draw at random."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from service.core.jvm.random import ADDEND, MASK, MULTIPLIER, JavaRandom, next_int_below
from service.core.kernels import kernel
from service.core.model import NONE, Cluster, Int32s, PlacementRequest

# A seed of java.util.Random that gives some draws.
#
# The generator's first draw shows 31 of its 48 bits, so that a state can be made for any value of the first draw: only its
# other bits are tried. Neighbouring seeds would be a bad choice: they hardly differ in their first draws.

TRIES: Final = 1 << 18
"""Seeds that are tried. It takes 10 ms if the placement is compared for few of them."""


_INVERSE: Final = np.uint64(pow(int(MULTIPLIER), -1, int(MASK) + 1))
_SPREAD: Final = np.uint64(0x9E3779B97F4A7C15)


def find_seed(sequence: Sequence[tuple[int, int]], gives: Callable[[JavaRandom], bool], comparisons: int) -> int | None:
    """The first seed, of those tried, whose draws are ``sequence`` and for which ``gives`` is true; None if there is none.

    sequence : ``(bound, value)`` for each ``nextInt(bound)``, at least one; value NONE: any
    comparisons : how often ``gives`` is asked at most
    """
    bounds, values = (np.array(column, np.int32) for column in zip(*sequence, strict=True))
    number = 0
    for _ in range(comparisons):
        number, state = _next_seed(bounds, values, number)
        if number < 0:
            return None
        seed = int(state) ^ int(MULTIPLIER)
        if gives(JavaRandom(seed)):
            return seed
        number += 1
    return None


@kernel
def _next_seed(bounds: Int32s, values: Int32s, number: int) -> tuple[int, np.uint64]:
    """The next number from ``number`` on whose state gives the draws, and that state; -1 if TRIES are reached."""
    state, wide = np.empty(1, np.uint64), np.int64(bounds[0])
    for i in range(number, TRIES):
        value = values[0] if values[0] != NONE else i % wide
        mixed = (np.uint64(i) + np.uint64(1)) * _SPREAD
        choice = np.int64(mixed >> np.uint64(20)) % ((1 << 31) // wide)
        # Java takes the high bits for a power of two, and the remainder for any other bound.
        bits = value * ((1 << 31) // wide) + choice if wide & (wide - 1) == 0 else value + wide * choice
        after = (np.uint64(bits) << np.uint64(17)) | (mixed >> np.uint64(47))
        first = ((after - ADDEND) * _INVERSE) & MASK  # the state before a nextInt that gives the value
        state[0] = first
        for j in range(len(bounds)):
            drawn = next_int_below(state, bounds[j])
            if values[j] != NONE and values[j] != drawn:
                break
        else:
            return i, first
    return -1, np.uint64(0)


@dataclass(frozen=True)
class Draws:
    """How far a placer can have placed some partitions so.

    rows : how many of the first partitions; if these are not all, then in no way more
    drawn : the draws that give these partitions, as a JSON object
    sequence : the draws in the placer's order, ``(bound, value)`` each, for ``nextInt(bound)``; value NONE: any
    replica, rule, detail : if these are not all: the column of the first replica that does not fit, the rule that it breaks, and
        a sentence
    """

    rows: int
    drawn: dict[str, Any]
    sequence: tuple[tuple[int, int], ...] = ()
    replica: int = 0
    rule: str = ""
    detail: str = ""


@dataclass(frozen=True)
class RandomDraws:
    """What a placer draws at random.

    of_placement : the draws that give a placement: ``(cluster, placement, first partition id, broker_id of partition 0's
        leader if the partitions were added to the topic)``
    every : how many draws there are, all equally likely, and the placement that each gives; None: too many to make each
    """

    of_placement: Callable[[Cluster, Int32s, int, int | None], Draws]
    every: Callable[[Cluster, PlacementRequest], tuple[int, Iterator[Int32s]] | None]


def agreeing(some: Int32s, others: Int32s) -> int:
    """How many of the first rows are equal."""
    differing = np.flatnonzero((some != others).any(axis=1))
    return int(differing[0]) if len(differing) else len(some)


def misfit(draws: Draws, cluster: Cluster, placement: Int32s, expected: Int32s, by: str) -> Draws:
    """The draws with the first replica that does not fit, if there is one.

    expected : int32[replication_factor], what stands after the rows that fit; by : the subject of the sentence
    """
    if draws.rows == len(placement):
        return draws
    replica = int(np.flatnonzero(expected != placement[draws.rows])[0])
    detail = f"{by} would put broker {cluster.broker_ids[expected[replica]]} here."
    return replace(draws, replica=replica, rule="draws", detail=detail)


def nothing_drawn(place: Callable[..., Int32s], subject: str) -> RandomDraws:
    """For a placer that draws nothing: its one placement beside the one given. subject : of the sentence about a difference"""

    def of_placement(cluster: Cluster, placement: Int32s, first_id: int, _: int | None) -> Draws:
        placed = place(cluster, PlacementRequest(len(placement), placement.shape[1], first_id), JavaRandom(0))
        draws = Draws(agreeing(placed, placement), {})
        return misfit(draws, cluster, placement, placed[draws.rows : draws.rows + 1].ravel(), subject)

    def every(cluster: Cluster, request: PlacementRequest) -> tuple[int, Iterator[Int32s]]:
        return 1, iter([place(cluster, request, JavaRandom(0))])

    return RandomDraws(of_placement, every)
