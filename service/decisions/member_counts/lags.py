"""What the lag of each partition is, or can be, where offsets are missing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from service.planner.member_counts import LoadBounds

if TYPE_CHECKING:
    from service.core.model import Bools, Group


@dataclass(frozen=True)
class Lags:
    """The loads of partitions, and why some are not known: bool[partitions] each.

    uncommitted : the group has committed nothing, and ``auto.offset.reset`` decides whether it reads the log or only what comes
    endless : the end of the log is not known
    negative : the committed offset is beyond the end
    """

    loads: LoadBounds
    uncommitted: Bools
    endless: Bools
    negative: Bools


def lags_of(group: Group, policy: str | None) -> Lags:
    """The loads of a group's partitions. policy : ``latest`` or ``earliest``, of partitions without an offset; None: not known

    Without a log start, a log is taken to begin at 0 at the earliest.
    """
    if group.topics.offsets is None:
        nothing = np.zeros(group.topics.partitions_count, np.bool_)
        return Lags(LoadBounds.of(group), nothing, nothing, nothing)
    committed, ends, starts = group.topics.offsets
    endless = ends < 0
    whole = np.where(endless, 0, ends - np.maximum(starts, 0)).astype(np.float64)
    uncommitted = (committed < 0) & (whole > 0)
    loads = LoadBounds.of(group)
    least = np.where(uncommitted, whole, loads.least) if policy == "earliest" else loads.least
    most = loads.least if policy == "latest" else np.where(uncommitted, whole, loads.least)
    known = replace(loads, least=least, most=most, is_unbounded=bool(endless.any()))
    return Lags(known, uncommitted, endless, ~endless & (committed > ends))
