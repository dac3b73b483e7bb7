"""From a placement back to what its placer drew: the inverse of the placers that draw at random."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from service.core.jvm.random import JavaRandom
from service.core.model import Cluster, Int32s, PlacementRequest


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
    on : the placer for many placements on one cluster
    """

    of_placement: Callable[[Cluster, Int32s, int, int | None], Draws]
    every: Callable[[Cluster, PlacementRequest], tuple[int, Iterator[Int32s]] | None]
    on: Callable[[Cluster], Callable[[PlacementRequest, JavaRandom], Int32s]]


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

    def of_placement(cluster: Cluster, placement: Int32s, first_id: int, _: int | None, **options: Any) -> Draws:
        placed = place(cluster, PlacementRequest(len(placement), placement.shape[1], first_id), JavaRandom(0), **options)
        draws = Draws(agreeing(placed, placement), {})
        return misfit(draws, cluster, placement, placed[draws.rows : draws.rows + 1].ravel(), subject)

    def every(cluster: Cluster, request: PlacementRequest, **options: Any) -> tuple[int, Iterator[Int32s]]:
        return 1, iter([place(cluster, request, JavaRandom(0), **options)])

    return RandomDraws(of_placement, every, lambda cluster: partial(place, cluster))
