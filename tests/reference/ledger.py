"""Plain-Python twins of the kernels in ``service/planner/timelines/ledger.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.core.model import NONE
from service.planner.timelines.model import NEVER, Idle

if TYPE_CHECKING:
    from service.planner.timelines.ledger import Wait


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
            reader[partition], idle_since[partition] = NONE, now if counted[partition] else NEVER
        if new != NONE and counted[partition] and start_of[new] <= now:
            idle = max(0, now - idle_since[partition])
            reader[partition], idle_since[partition] = new, NEVER
            if idle:
                idle_times.append(idle)
                missed[new] = missed.get(new, 0.0) + weights[partition] * idle / 1000
    return loses, missed, idle_times


def stop_one(reader: list[int], idle_since: list[int], counted: list[bool], partitions: list[int], number: int, now: int) -> None:
    """Change ``reader`` and ``idle_since`` where the member stops reading one of these partitions."""
    for partition in partitions:
        if reader[partition] == number:
            reader[partition], idle_since[partition] = NONE, now if counted[partition] else NEVER


def start_one(
    reader: list[int],
    idle_since: list[int],
    counted: list[bool],
    partitions: list[int],
    number: int,
    now: int,
    weights: list[float],
) -> tuple[list[int], float]:
    """The same where it begins to read; return all idle times, and what came in meanwhile."""
    counting = [partition for partition in partitions if counted[partition]]
    idle_times = [max(0, now - idle_since[partition]) for partition in counting]
    for partition in counting:
        reader[partition], idle_since[partition] = number, NEVER
    return idle_times, sum(weights[partition] * idle / 1000 for partition, idle in zip(counting, idle_times, strict=True))


def start(
    reader: list[int],
    idle_since: list[int],
    partitions: list[int],
    readers: list[int],
    at_ms: list[int],
    weights: list[float],
    wait: Wait | None,
) -> tuple[Idle, list[float]]:
    """Give these partitions readers, none at NEVER; return the idle times, and what came in for each partition meanwhile."""
    idle_times, least_times, most_times, missed = [], [], [], []
    for partition, number, at in zip(partitions, readers, at_ms, strict=True):
        if at == NEVER:
            missed.append(0.0)
            continue
        idle = max(0, at - idle_since[partition]) if idle_since[partition] != NEVER else 0
        least = most = idle
        if wait is not None and idle_since[partition] != NEVER:
            begun = [idle_since[partition], wait.from_ms]
            if wait.each_from_ms is not None:
                begun.append(int(wait.each_from_ms[partition]))
            waited = min(max(0, at - max(begun)), idle)
            least, most = idle - waited, idle - waited + wait.most_ms
            if wait.is_middle:
                idle = least + wait.most_ms // 2
        reader[partition], idle_since[partition] = number, NEVER
        idle_times.append(idle)
        least_times.append(least)
        most_times.append(max(idle, most))
        missed.append(weights[partition] * max(0, idle) / 1000)
    sums = [figure for times in (idle_times, least_times, most_times) for figure in (sum(times), max(times, default=0))]
    return Idle(*sums), missed
