"""Detours: what to do about full brokers that only exchange replicas with each other.

While a replica moves it is on both brokers, so a move needs room on the broker where it goes. Brokers in a circle, all of them
full, can never begin: Kafka deletes no replica before the new one is in sync. So one partition goes to a broker with room first.
That costs a copy, frees a place in the circle, and the place comes back when the partition goes on. Where a partition moves
several replicas, those for which there is room may go first; that costs nothing.

On its detour too a partition is on usable brokers only and keeps the rack rule. It takes one detour at most.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

import numpy as np

from service.core.budget import check_time
from service.core.errors import Clash, Infeasible, NoPlan, NotFound
from service.core.model import NONE, Bools, Int32s, Int64s, Ragged
from service.planner.reassignments.batches.schedule import (
    MAX_DETOURS,
    BatchLimits,
    BatchProgress,
    Detour,
    circles,
    fill_batches,
    pairs,
)
from service.planner.reassignments.model import NO_LIMIT, Brokers
from service.planner.reassignments.sets import Permits, reach

TRIED: Final = 10_000
"""Partitions that are tried for the detours of one batch, three times each at most."""

TRIED_IN_ALL: Final = 1_000_000
"""Attempts for all batches together, which take a minute or two. Then no order counts as found."""


def fill_with_detours(
    start: Callable[[Brokers], BatchProgress], brokers: Brokers, limits: BatchLimits, racks: str
) -> BatchProgress:
    """All batches. Raises NoPlan if there is no order, with the brokers that are full and the room that would do.

    start : the progress before the first batch, of these brokers; racks : as in Goal
    """
    progress = start(brokers)
    if _fill(progress, limits, racks):
        return progress
    raise _no_order(start, progress, limits, racks)


def _fill(progress: BatchProgress, limits: BatchLimits, racks: str) -> bool:
    while not fill_batches(progress, limits, tree=True):
        if progress.tried >= TRIED_IN_ALL or not _take_detours(progress, limits, racks):
            return False
    return True


def _take_detours(progress: BatchProgress, limits: BatchLimits, racks: str) -> bool:
    """A batch of detours, at most one in each circle of brokers; whether there is any."""
    batch = _DetourBatch(progress, limits, racks)
    circle_of = circles(progress)
    ordered = progress.pending[np.argsort(progress.sizes[progress.pending], kind="stable")]
    known = {detour.partition for detour in progress.detours}
    done: set[int] = set()
    several = ordered[progress.copies[ordered] > 1]
    for candidates, leaving in ((several, 0), (ordered, 1), (several, NO_LIMIT)):
        for at, partition in enumerate(candidates[:TRIED].tolist()):
            if len(known) == MAX_DETOURS:
                break
            if at % 100 == 0:
                check_time()
            circle = int(circle_of[progress.then.row(partition)[0]])
            if partition in known or circle in done:
                continue
            progress.tried += 1
            if not batch.take(partition, leaving):
                continue
            known.add(partition)
            done.add(circle)
    if batch.detours:
        batch.apply()
    return bool(batch.detours)


class _DetourBatch:
    """Detours that are taken at the same time, in a batch of their own."""

    def __init__(self, progress: BatchProgress, limits: BatchLimits, racks: str) -> None:
        self._progress, self._limits, self._racks = progress, limits, racks
        self._counts, self._loads = progress.counts.copy(), progress.loads.copy()  # with what is copied
        self._moves_of = np.zeros((2, len(progress.brokers)), np.int64)  # as target, as source
        self._moves = 0
        self._bytes = 0
        coming = pairs(progress)[1]
        self._full = np.zeros(len(progress.brokers), np.bool_)
        self._full[coming[1][~self._fits(progress.sizes[progress.pending[coming[0]]], coming[1])]] = True
        self._rack_of = progress.brokers.racks()
        self.detours: list[Detour] = []

    def _fits(self, sizes: Int64s, brokers: Int32s) -> Bools:
        limits = self._progress.brokers
        fits: Bools = (self._counts[brokers] < limits.max_replicas[brokers]) & (
            self._loads[brokers] + sizes <= limits.capacity_bytes[brokers]
        )
        return fits

    def take(self, partition: int, leaving: int) -> bool:
        """Send the partition on a detour that frees a place on a full broker, if there is one within the limits.

        leaving : how many replicas that find no room in the plan's broker go to another; further ones stay where they are if
            they can
        """
        old, new = self._progress.now.row(partition), self._progress.then.row(partition)
        size = int(self._progress.sizes[partition])
        between = self._between(partition, size, leaving)
        if between is None:
            return False
        targets, sources = np.setdiff1d(between, old), np.setdiff1d(old, between)
        if not self._full[sources].any() or not self._within_limits(targets, sources, size):
            return False
        self._counts[targets] += 1
        self._loads[targets] += size
        self._moves_of[0, targets] += 1
        self._moves_of[1, sources] += 1
        self._moves += len(targets)
        self._bytes += len(targets) * size
        self.detours.append(Detour(self._progress.batch, partition, between))
        self._progress.copies[partition] = len(np.setdiff1d(new, between))
        return True

    def _within_limits(self, targets: Int32s, sources: Int32s, size: int) -> bool:
        of_broker, in_all, in_flight = self._limits.numbers()
        return bool(
            self._moves + len(targets) <= in_all
            and self._bytes + len(targets) * size <= in_flight
            and (self._moves_of[0, targets] < of_broker).all()
            and (len(targets) == 0 or (self._moves_of[1, sources] < of_broker).all())
        )

    def _between(self, partition: int, size: int, leaving: int) -> Int32s | None:
        """The plan's list with other brokers instead of the full ones: those where it is now, or else those with room."""
        old, new = self._progress.now.row(partition), self._progress.then.row(partition)
        brokers = self._progress.brokers
        between = new.copy()
        every = np.arange(len(brokers), dtype=np.int32)
        permits = self._progress.permits
        keeps, receives = (of_sets[permits.sets[partition]] for of_sets in (permits.keeps, permits.receives))
        for i, b in enumerate(new.tolist()):
            if (old == b).any() or self._fits(np.array([size]), new[i : i + 1])[0]:
                continue
            stays = np.isin(every, old)
            possible = ~np.isin(every, new) & ~np.isin(every, between)
            if leaving > 0:
                possible &= receives & ~stays & self._fits(np.full(len(every), size), every)
            else:
                possible &= keeps & stays
            leaving -= 1
            choices = np.flatnonzero(possible).astype(np.int32)
            loads = self._counts / brokers.weights
            ranks = loads[choices], self._rack_of[choices] != self._rack_of[b], self._full[choices]
            for choice in choices[np.lexsort(ranks)].tolist():
                between[i] = choice
                if keeps_rack_rule(permits, self._racks, partition, old, new, between):
                    break
            else:
                return None
        return between

    def apply(self) -> None:
        """The progress after this batch."""
        progress, rows = self._progress, {detour.partition: detour.replicas for detour in self.detours}
        progress.counts[:], progress.loads[:] = self._counts, self._loads
        for partition, replicas in rows.items():
            sources = np.setdiff1d(progress.now.row(partition), replicas)
            progress.counts[sources] -= 1
            progress.loads[sources] -= progress.sizes[partition]
        progress.now = with_rows(progress.now, rows)
        progress.detours += self.detours
        progress.batch += 1


def keeps_rack_rule(permits: Permits, rule: str, partition: int, old: Int32s, new: Int32s, between: Int32s) -> bool:
    """May the partition be on these brokers by the rack rule? rule : as in Goal; old, new, between : now, then, meanwhile"""
    if rule == "none":
        return True
    racks = permits.racks
    homes = np.array([0, len(old)], np.int32), old
    within = reach(permits, np.array([partition], np.int32), homes, np.array([len(new)], np.int32))
    if rule == "strict":
        return len(np.unique(racks[between])) >= min(len(between), int(within.racks[0]))
    stays = old[permits.keeps[permits.sets[partition], old]]
    here, before, later = (np.bincount(racks[row], minlength=int(racks.max()) + 1) for row in (between, stays, new))
    return bool((here <= np.maximum(within.levels[0], np.maximum(before, later))).all())


def with_rows(rows: Ragged, others: dict[int, Int32s]) -> Ragged:
    """The rows with others instead of some."""
    lengths = rows.lengths()
    pieces, at = [], 0
    for row in sorted(others):
        lengths[row] = len(others[row])
        pieces += [rows.values[at : rows.offsets[row]], others[row]]
        at = rows.offsets[row + 1]
    return Ragged.of_lengths(lengths, np.concatenate([*pieces, rows.values[at:]]).astype(np.int32))


def _no_order(start: Callable[[Brokers], BatchProgress], progress: BatchProgress, limits: BatchLimits, racks: str) -> NoPlan:
    """What is full, and what would mend it. progress : where it goes no further"""
    brokers, (rows, coming) = progress.brokers, pairs(progress)[1]
    ids, sizes = brokers.cluster.broker_ids, progress.sizes[progress.pending[rows]]
    of_limits = {
        "max_replicas": (progress.counts, np.ones(len(coming), np.int64), brokers.max_replicas),
        "capacity_bytes": (progress.loads, sizes, brokers.capacity_bytes),
    }
    clash, full, room = [], np.zeros(len(brokers), np.bool_), {}
    for name, (loads, needs, most) in of_limits.items():
        exceeds = loads[coming] + needs > most[coming]
        if exceeds.any():
            full[coming[exceeds]] = True
            b, room[name] = int(coming[exceeds].min()), int(needs[exceeds].max())
            allowed = "max_replicas of broker {} is {}" if name == "max_replicas" else "Broker {} has room for {} bytes"
            clash.append(Clash(name, f"{allowed.format(ids[b], most[b])}, and it has {loads[b]}."))
    subject = f"{brokers.names(full).capitalize()} {'are' if full.sum() > 1 else 'is'}"
    given_up = progress.tried >= TRIED_IN_ALL
    first = start(brokers)
    circle_of = circles(first)
    moved = [circle_of[some[progress.batch_of[first.pending[rows]] != NONE]] for rows, some in pairs(first)]
    # If nothing has ever moved in some circle of the full brokers, nothing could, whatever other circles do.
    proven = not given_up and bool(np.setdiff1d(circle_of[full], np.concatenate(moved)).size)
    order = "no order of the moves" if proven else "no order of the moves was found that"
    detail = (
        f"{subject} full and cannot exchange replicas: while a replica moves it is on both brokers, so {order} keeps "
        f"{' and '.join(room)}. "
    )
    detail += "" if proven else "There may be one. "
    detail += f"{TRIED_IN_ALL:,} attempts were made." if given_up else "No other broker has room for a replica meanwhile."

    def mends(changed: Brokers, rule: str) -> bool:
        return _fill(start(changed), limits, rule)

    remedies = _remedies(brokers, circles(progress), full, room, racks, mends)
    return (Infeasible if proven else NotFound)(detail, tuple(clash), tuple(remedies))


def _remedies(
    brokers: Brokers, circle_of: Int32s, full: Bools, room: dict[str, int], racks: str, mends: Callable[[Brokers, str], bool]
) -> Iterator[str]:
    """What would mend it: each is tried before it is told. room : by how much each limit has to be higher"""
    every = np.flatnonzero(full)
    one_each = every[np.unique(circle_of[every], return_index=True)[1]]
    texts = {"max_replicas": "raise max_replicas by {}", "capacity_bytes": "add room for {} more bytes"}
    needs = " and ".join(texts[name].format(more) for name, more in room.items())
    for some in (one_each, every):
        limits = {name: getattr(brokers, name).copy() for name in room}
        for name, values in limits.items():
            values[some] = np.minimum(values[some] + room[name], NO_LIMIT)
        if mends(replace(brokers, **limits), racks):
            yield f"{needs[0].upper()}{needs[1:]} on {brokers.names(some)}."
            break
    if racks != "none" and mends(brokers, "none"):
        yield 'Set racks = "none".'
