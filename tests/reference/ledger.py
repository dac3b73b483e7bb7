"""A plain-Python twin of the kernel in ``service/core/timelines/ledger.py``."""

from __future__ import annotations

from service.core.model import NONE
from service.core.timelines.model import NEVER


def hand_out(
    reader: list[int],
    idle_since: list[int],
    counted: list[bool],
    owner: list[int],
    start_of: list[int],
    now: int,
    weights: list[float],
) -> tuple[set[int], dict[int, float], list[int]]:
    """Change ``reader`` and ``idle_since``; return who loses something, what came in for each member, and all idle times."""
    loses: set[int] = set()
    missed: dict[int, float] = {}
    idle_times: list[int] = []
    for partition, (old, new) in enumerate(zip(list(reader), owner, strict=True)):
        hears_later = old != NONE and now < start_of[old] < NEVER
        if old == new or hears_later:
            continue
        if old != NONE:
            loses.add(old)
            reader[partition], idle_since[partition] = NONE, now
        if new != NONE and counted[partition] and start_of[new] <= now:
            idle = max(0, now - idle_since[partition])
            reader[partition], idle_since[partition] = new, NEVER
            if idle:
                idle_times.append(idle)
                missed[new] = missed.get(new, 0.0) + weights[partition] * idle / 1000
    return loses, missed, idle_times
