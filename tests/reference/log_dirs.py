"""Every way to put the replicas of one broker into its directories."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, TypeAlias

from service.planner.reassignments.model import NO_LIMIT

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Disk:
    """A directory. capacity : None for none; other : bytes that stay"""

    capacity: int | None
    room: float
    other: int
    draining: bool
    cordoned: bool


@dataclass(frozen=True)
class Way:
    """Where each replica goes. copied : bytes; loads : by directory, of those that are not to be emptied; evenness : see below"""

    targets: tuple[int, ...]
    copied: int
    loads: tuple[int, ...]
    evenness: float


def ways(disks: list[Disk], replicas: list[tuple[int, int, bool]]) -> Iterator[Way]:
    """All that keep the rules. replicas : (home, bytes, stays)"""
    open_to = [i for i, disk in enumerate(disks) if not (disk.draining or disk.cordoned)]
    choices = [[home] if stays else sorted({*open_to, *([] if disks[home].draining else [home])}) for home, _, stays in replicas]
    kept = [i for i, disk in enumerate(disks) if not disk.draining]
    sized = all(disks[i].capacity is not None for i in kept)
    for targets in product(*choices):
        loads = [disk.other for disk in disks]
        for (_, size, _), target in zip(replicas, targets, strict=True):
            loads[target] += size
        if any(loads[i] > disks[i].room for i in kept):
            continue
        copied = sum(size for (home, size, _), target in zip(replicas, targets, strict=True) if home != target)
        evenness = sum(loads[i] ** 2 / (max(1, disks[i].capacity) if sized else 1) for i in kept)
        yield Way(targets, copied, tuple(loads[i] for i in kept), evenness)


def within_reach(disks: list[Disk], replicas: list[tuple[int, int, bool]]) -> set[tuple[int, ...]]:
    """The targets of all ways to which moves lead, one after another, each to a disk that has room for one more replica then.

    A disk that is too full, or is to be emptied, may stay as full as it is.
    """
    now = tuple(home for home, _, _ in replicas)
    known, left = {now}, [now]
    while left:
        at = left.pop()
        loads = [disk.other + sum(row[1] for row, i in zip(replicas, at, strict=True) if i == b) for b, disk in enumerate(disks)]
        for row, (home, size, stays) in enumerate(replicas):
            for b, disk in enumerate(disks):
                open_to = not (disk.draining or disk.cordoned)
                following = (*at[:row], b, *at[row + 1 :])
                if stays or b == at[row] or not (open_to or b == home) or following in known:
                    continue
                if loads[b] + size <= disk.room:
                    known.add(following)
                    left.append(following)
    return known


@dataclass
class Sizes:
    """What ``service.planner.log_dirs.exchanges.exchange`` works on, as lists."""

    dirs: list[int]
    homes: list[int]
    sizes: list[int]
    free: list[bool]
    others: list[int]
    room: list[int]
    low: list[int]
    high: list[int]
    weights: list[float]
    keeps: list[bool]
    receives: list[bool]
    limits: list[int]

    def loads(self, dirs: list[int]) -> list[int]:
        """Bytes of each directory."""
        return [
            other + sum(size for size, at in zip(self.sizes, dirs, strict=True) if at == i) for i, other in enumerate(self.others)
        ]

    def allowed(self, dirs: list[int]) -> bool:
        """May the replicas go there?"""
        places = zip(dirs, self.dirs, self.homes, self.free, strict=True)
        return all(
            at == now or (free and (self.receives[at] or (self.keeps[at] and at == home))) for at, now, home, free in places
        )

    def copied(self, dirs: list[int]) -> tuple[int, int]:
        """Replicas and bytes."""
        moved = [size for size, at, home in zip(self.sizes, dirs, self.homes, strict=True) if at != home]
        return len(moved), sum(moved)

    def worth(self, dirs: list[int], *, even_first: bool) -> tuple[float, float, float]:
        """What is to be the least, in this order."""
        loads = self.loads(dirs)
        beyond = sum(max(a - x, x - b, 0) for x, a, b in zip(loads, self.low, self.high, strict=True))
        evenness, amount = sum(x * x / w for x, w in zip(loads, self.weights, strict=True)), self.copied(dirs)[1]
        return (beyond, evenness, amount) if even_first else (beyond, amount, evenness)


def exchanged(s: Sizes, *, even_first: bool) -> list[int]:
    """The twin of ``exchange``: where each replica ends."""
    limited, gained = min(s.limits) < NO_LIMIT, True
    while gained:
        gained, best = False, None
        for i in range(len(s.dirs)):
            best = _best(s, i, best, even_first=even_first)
            if best is not None and not limited:
                s.dirs, best, gained = best[1], None, True
        if best is not None:
            s.dirs, gained = best[1], True
    return s.dirs


Best: TypeAlias = tuple[tuple[float, ...], list[int]]
"""By how much a change is better, and where each replica is then."""


def _best(s: Sizes, i: int, best: Best | None, *, even_first: bool) -> Best | None:
    now = s.worth(s.dirs, even_first=even_first)
    for dirs in _neighbours(s, i):
        loads, copied, before = s.loads(dirs), s.copied(dirs), s.copied(s.dirs)
        full = any(x > room and x > was for x, room, was in zip(loads, s.room, s.loads(s.dirs), strict=True))
        too_many = any(more > was and more > most for more, was, most in zip(copied, before, s.limits, strict=True))
        change = tuple(a - b for a, b in zip(s.worth(dirs, even_first=even_first), now, strict=True))
        if not full and not too_many and s.allowed(dirs) and change < (best[0] if best else (0, 0, 0)):
            best = change, dirs
    return best


def _neighbours(s: Sizes, i: int) -> Iterator[list[int]]:
    a = s.dirs[i]
    for b in range(len(s.others)):
        if b != a:
            yield [*s.dirs[:i], b, *s.dirs[i + 1 :]]
    for j in range(i):
        if s.dirs[j] != a and s.sizes[i] != s.sizes[j]:
            dirs = [*s.dirs]
            dirs[i], dirs[j] = dirs[j], dirs[i]
            yield dirs
