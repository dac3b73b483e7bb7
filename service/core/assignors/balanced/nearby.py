"""How many partitions are read on the reader's rack, and how many could be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from service.core.kinds import rows_below
from service.core.measures.certificate import Objective

if TYPE_CHECKING:
    from service.core.model import Group

EACH_BY_ITSELF: Final = "The bound counts partitions that could be read nearby, each by itself."


def nearest(group: Group, near: int, bound: int | None, method: str) -> Objective:
    """How many partitions are read nearby, as an aim. The topics have racks.

    bound : how many could be with loads as even and as few moves, found by this method; None: nothing is known of that
    """
    if bound is None:
        return Objective(near, could_be_near(group), EACH_BY_ITSELF, most=True)
    return Objective(near, bound, method, most=True)


def could_be_near(group: Group) -> int:
    """How many partitions have a replica on a rack of one of their subscribers."""
    racks, width = group.topics.racks, len(group.rack_ids) + 1
    if racks is None:
        return 0
    subscribed = rows_below(group.subscriptions, len(group.topics))
    there = np.unique(subscribed.values.astype(np.int64) * width + group.racks[subscribed.row_of_each_value()])
    partitions = racks.row_of_each_value()
    could = np.isin(group.topics.topic_of[partitions].astype(np.int64) * width + racks.values, there)
    return len(np.unique(partitions[could]))
