"""Which partition goes in which batch.

Partitions that lack replicas in sync come first, then the largest or the smallest, so that one batch copies partitions of about
the same size. If that leaves replicas without room,
the partitions that leave full brokers come first. If that does too, the order below is taken, and then detours.

*Room as tokens*. A move a → b takes a place on b and leaves one on a: a free place goes from b to a. So an order of the moves is
a set of walks of free places that uses each move once. Let every broker that has room in the end be a root, and let the last move
into each other broker be the one by which free places get to a root soonest (a tree). Then walks that leave the tree's moves for
last use up all moves, or some moves cannot be reached by any free place; as in the BEST theorem on Eulerian circuits. That holds
for partitions that move one replica each, and ``max_replicas``; otherwise it is a rule of thumb.

Source: van Aardenne-Ehrenfest and de Bruijn, Circuits and Trees in Oriented Linear Graphs (1951).
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from service.core.budget import check_time
from service.core.errors import InvalidQuestion
from service.core.kernels import kernel
from service.core.model import NONE, Bools, Float64s, Int32s, Int64s, Ragged
from service.core.ragged import taken
from service.planner.reassignments import BATCH_ORDERS, BATCH_SECONDS, THROTTLE_UTILIZATION
from service.planner.reassignments.model import NO_LIMIT, Brokers, Placements, bytes_on, or_no_limit
from service.planner.reassignments.sets import Permits, added

# What batches are made of.

MAX_BATCHES: Final = 10_000
MAX_DETOURS: Final = 10_000


@dataclass(frozen=True)
class BatchLimits:
    """What one batch may do; None is no limit.

    moves_per_broker : replicas that a broker receives, and replicas that it gives away
    moves_per_batch : replicas copied
    bytes_in_flight : bytes copied
    order : of the partitions: "largest-first" or "smallest-first", by bytes copied; those that lack replicas in sync are before
        the others
    """

    moves_per_broker: int | None = None
    moves_per_batch: int | None = None
    bytes_in_flight: int | None = None
    order: str = BATCH_ORDERS[0]

    def numbers(self) -> tuple[int, int, int]:
        """The three limits, NO_LIMIT for none."""
        return or_no_limit(self.moves_per_broker), or_no_limit(self.moves_per_batch), or_no_limit(self.bytes_in_flight)


@dataclass(frozen=True)
class Pace:
    """How fast Kafka executes batches: what real brokers needed, see docs/reassignments.md.

    throttle_utilization : the share of the throttle that copying reaches
    batch_seconds : the time that each batch takes besides copying
    """

    throttle_utilization: float = THROTTLE_UTILIZATION
    batch_seconds: float = BATCH_SECONDS


@dataclass(frozen=True)
class BatchTiming:
    """How long batches take.

    throttle : bytes per second: the one asked for, or the one needed if that takes longer than the time asked for
    seconds : float64[batches] at the throttle, inf for one that never ends; None without a throttle
    throttle_needed : bytes per second with which all batches take at most the time asked for; None if none was
    throttle_that_ends : the least with which every batch ends
    """

    throttle: int | None
    seconds: Float64s | None
    throttle_needed: int | None
    throttle_that_ends: int

    @property
    def total(self) -> float | None:
        """Seconds of all batches; None if that is unknown, or one never ends."""
        return None if self.seconds is None or np.inf in self.seconds else float(self.seconds.sum())


@dataclass(frozen=True)
class Traffic:
    """What each broker sends or receives in each batch; only where it is more than nothing.

    batches, brokers : int32[...]; incoming : bool[...]; amounts : int64[...] bytes; rates : float64[...] bytes per second that
    producers write meanwhile to what is copied
    """

    batches: Int32s
    brokers: Int32s
    incoming: Bools
    amounts: Int64s
    rates: Float64s

    def seconds(self, throttle: float, batches: int, pace: Pace) -> Float64s:
        """float64[batches], the time that each batch takes at a throttle in bytes per second; inf if it never ends."""
        left = throttle * pace.throttle_utilization - self.rates
        each = np.where(left > 0, self.amounts / np.where(left > 0, left, 1.0), np.inf)
        longest = np.zeros(batches, np.float64)
        np.maximum.at(longest, self.batches, each)
        return longest + pace.batch_seconds

    def throttle_for(self, seconds: float, batches: int, pace: Pace) -> int:
        """The least throttle in bytes per second with which all batches take at most this time. Raises InvalidQuestion."""
        besides = batches * pace.batch_seconds
        if besides >= seconds and batches:
            of_each = f"batch{'es' * (batches != 1)} of {pace.batch_seconds:g} s each"
            detail = f"Must be more than {besides:g}: {batches} {of_each} beside the copying."
            raise InvalidQuestion(detail, "limits", "duration_seconds")
        return 1 + bisect_left(range(1, 2**62), True, key=lambda rate: self.seconds(rate, batches, pace).sum() <= seconds)

    def timing(self, batches: int, pace: Pace, throttle: int | None, seconds: int | None) -> BatchTiming:
        """How long a number of batches takes at a throttle, and the throttle for a time. Raises InvalidQuestion."""
        needed = self.throttle_for(seconds, batches, pace) if seconds else None
        used = max(throttle or 0, needed or 0) or None
        ends = int(self.rates.max(initial=0.0) / pace.throttle_utilization) + 1
        return BatchTiming(used, self.seconds(used, batches, pace) if used else None, needed, ends)


@dataclass(frozen=True)
class Detour:
    """A partition that goes elsewhere first, because a broker of the plan has no room for it yet.

    replicas : int32[...]   where it goes in this batch: the plan's list with other brokers instead of the full ones
    """

    batch: int
    partition: int
    replicas: Int32s


@dataclass(frozen=True)
class Steps:
    """What each batch changes: batch by batch, in each the partitions in their order.

    partitions, batches : int32[steps]
    before, after : Ragged step → brokers
    sources : int32[steps], the broker that each copies from: its leader, or the first live one; NONE if none is
    """

    partitions: Int32s
    batches: Int32s
    before: Ragged
    after: Ragged
    sources: Int32s


@dataclass(frozen=True)
class Batches:
    """The batches of a plan.

    batch_of : int32[partitions]   the batch in which each partition gets its last replicas, or NONE if it does not change
    detours : those of other batches
    moves, amounts : int64[batches]   replicas and bytes that each copies
    """

    batch_of: Int32s
    detours: tuple[Detour, ...]
    steps: Steps
    moves: Int64s
    amounts: Int64s
    traffic: Traffic

    def __len__(self) -> int:
        return len(self.moves)

    def cost(self, balance: str) -> int:
        """What is copied in all. balance : as in Goal"""
        return int((self.amounts if balance == "bytes" else self.moves).sum())


@dataclass
class BatchProgress:
    """What is done before a batch, and what is left to do.

    now, then : Ragged partition → brokers, before this batch, and those of the plan
    sizes, copies : int64[partitions]   bytes of a replica, and the replicas that each has yet to copy
    counts, loads : int64[brokers]   replicas and bytes of each
    pending : int32[...]   the partitions that are left, in the order in which they are taken
    batch_of : int32[partitions]   see Batches
    permits : which brokers may have which partitions
    tried : attempts to send a partition on a detour
    """

    brokers: Brokers
    now: Ragged
    then: Ragged
    sizes: Int64s
    copies: Int64s
    counts: Int64s
    loads: Int64s
    pending: Int32s
    batch_of: Int32s
    permits: Permits
    batch: int = 0
    detours: list[Detour] = field(default_factory=list)
    tried: int = 0

    @classmethod
    def start(cls, brokers: Brokers, placements: Placements, then: Ragged, copies: Int64s, pending: Int32s) -> BatchProgress:
        """Before the first batch."""
        now, sizes = placements.replicas, placements.bytes_of_each()
        counts = np.bincount(now.values, minlength=len(brokers)).astype(np.int64)
        loads = bytes_on(now, sizes, len(brokers))
        batch_of = np.full(len(placements), NONE, np.int32)
        permits = Permits.of(brokers, placements)
        return cls(brokers, now, then, sizes, copies.copy(), counts, loads, pending, batch_of, permits)

    def leaving_first(self) -> Int32s:
        """The pending partitions, first those that leave a full broker."""
        most, capacities = self.brokers.max_replicas, np.minimum(self.brokers.capacity_bytes, NO_LIMIT // 10)
        full = (self.counts >= most) | (self.loads * 10 >= capacities * 9)  # or nine tenths full
        leaves = np.zeros(len(self.now), np.bool_)
        np.logical_or.at(leaves, self.now.row_of_each_value(), full[self.now.values])
        return self.pending[np.argsort(~leaves[self.pending], kind="stable")]


def fill_batches(progress: BatchProgress, limits: BatchLimits, *, tree: bool = False) -> bool:
    """Fill batches until all is done, or nothing goes (False). tree : leave the tree's moves for last"""
    p, count = progress, len(progress.brokers)
    of_all = limits.numbers()
    rows, partitions = (p.now.offsets, p.now.values, p.then.offsets, p.then.values), (p.sizes, p.copies)
    last_into = last_moves(p) if tree else np.full(count, NONE, np.int32)
    (leaving, sources), (_, targets) = pairs(p)
    copies = p.copies[p.pending]
    copied = copies[leaving] > 0
    into, out = (np.bincount(some, minlength=count).astype(np.int64) for some in (targets, sources[copied]))
    stays = copies > 0
    stays[leaving[copied]] = False
    others = np.array([np.count_nonzero(copies == 0), np.count_nonzero(stays)], np.int64)
    amounts = int(copies.sum()), int(copies @ p.sizes[p.pending])
    needed = -(-max(int(into.max(initial=0)), int(out.max(initial=0))) // of_all[0])
    needed = p.batch + max(needed, *(-(-amount // limit) for amount, limit in zip(amounts, of_all[1:], strict=True)))
    while len(p.pending):
        if max(needed, p.batch + 1) > MAX_BATCHES:
            detail = f"The plan takes at least {max(needed, p.batch + 1):,} batches within these limits, {MAX_BATCHES:,} at most."
            raise InvalidQuestion(detail, "limits")
        left = _fill(
            rows,
            partitions,
            (p.counts, p.loads, p.brokers.max_replicas, p.brokers.capacity_bytes),
            of_all,
            (last_into, into, out, others),
            p.pending,
            p.batch_of,
            p.batch,
        )
        if len(left) == len(p.pending) and (last_into == NONE).all():
            return False
        if len(left) == len(p.pending):
            last_into[:] = NONE
            continue
        p.pending = left
        p.batch += 1
        check_time()
    return True


def last_moves(progress: BatchProgress) -> Int32s:
    """int32[brokers], the partition whose move into each comes last, or NONE."""
    from scipy.sparse import csr_array  # noqa: PLC0415 - takes a quarter of a second, and most plans do not need it
    from scipy.sparse.csgraph import breadth_first_order  # noqa: PLC0415

    count, pending = len(progress.brokers), progress.pending
    leaving, coming = pairs(progress)
    counts, loads = np.bincount(progress.then.values, minlength=count), bytes_on(progress.then, progress.sizes, count)
    roots = np.flatnonzero((counts < progress.brokers.max_replicas) & (loads < progress.brokers.capacity_bytes))
    root = count + len(pending)
    tails = np.concatenate([np.full(len(roots), root), leaving[1], count + coming[0]])
    heads = np.concatenate([roots, count + leaving[0], coming[1]])
    graph = csr_array((np.ones(len(tails), np.int8), (tails, heads)), shape=(root + 1, root + 1))
    before = breadth_first_order(graph, root)[1][:count]
    last = np.where((before >= count) & (before < root), before - count, NONE)
    last_into = np.full(count, NONE, np.int32)
    last_into[last != NONE] = pending[last[last != NONE]]
    return last_into


def pairs(progress: BatchProgress) -> tuple[tuple[Int32s, Int32s], tuple[Int32s, Int32s]]:
    """The (row of ``pending``, broker) of each replica that leaves, and of each that comes."""
    now, then = taken(progress.now, progress.pending), taken(progress.then, progress.pending)
    leaving, coming = added(then, now), added(now, then)
    return (now.row_of_each_value()[leaving], now.values[leaving]), (then.row_of_each_value()[coming], then.values[coming])


def circles(progress: BatchProgress) -> Int32s:
    """int32[brokers], a number for the brokers that exchange replicas with each other, directly or not, in what is left."""
    from scipy.sparse import csr_array  # noqa: PLC0415 - as above
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    count = len(progress.brokers)
    leaving, coming = pairs(progress)
    rows, ends = np.concatenate([leaving[0], coming[0]]), np.concatenate([leaving[1], coming[1]])
    size = count + len(progress.pending)
    graph = csr_array((np.ones(len(rows), np.int8), (count + rows, ends)), shape=(size, size))
    labels: Int32s = connected_components(graph, directed=False)[1][:count].astype(np.int32)
    return labels


@kernel
def _fill(  # noqa: C901, PLR0915 (a kernel)
    rows: tuple[Int32s, Int32s, Int32s, Int32s],
    partitions: tuple[Int64s, Int64s],
    brokers: tuple[Int64s, Int64s, Int64s, Int64s],
    limits: tuple[int, int, int],
    moves_left: tuple[Int32s, Int64s, Int64s, Int64s],
    pending: Int32s,
    batch_of: Int32s,
    batch: int,
) -> Int32s:
    """Fill one batch in the order of ``pending``, and return what is left.

    rows : the current replicas and those of the plan, both Ragged; partitions : bytes and copies of each
    brokers : replicas and bytes of each, which become those after the batch, and the most of both
    limits : moves of each broker, moves in all, bytes in all
    moves_left : int32[brokers], the partition to come last into each, or NONE; int64[brokers] twice, the moves into each and out
        of each that are pending, counted down; int64[2], the partitions that copy nothing, and those that copy and leave no
        broker, counted down. The batch ends as soon as no move can fit
    """
    now_of, now, then_of, then = rows
    sizes, copies = partitions
    counts, loads, most, capacities = brokers
    last_into, into, out, others = moves_left
    receives, gives = np.zeros(len(counts), np.int64), np.zeros(len(counts), np.int64)
    with_copies, bytes_with_copies = counts.copy(), loads.copy()  # what comes, and what goes still there
    loads_before = loads.copy()
    left = np.empty(len(pending), np.int32)
    lefts, moves, flight = 0, 0, 0
    receivers, givers = np.count_nonzero(into), np.count_nonzero(out)  # that may do more
    for i in range(len(pending)):
        if others[0] == 0 and (receivers == 0 or (givers == 0 and others[1] == 0) or moves >= limits[1]):
            left[lefts : lefts + len(pending) - i] = pending[i:]
            lefts += len(pending) - i
            break
        partition = pending[i]
        size, copied = sizes[partition], copies[partition]
        old, new = now[now_of[partition] : now_of[partition + 1]], then[then_of[partition] : then_of[partition + 1]]
        within_limits = moves + copied <= limits[1] and flight + copied * size <= limits[2]
        has_room = within_limits
        if has_room and copied > 0:
            for b in new:
                if b not in old:
                    has_room &= with_copies[b] < most[b] and bytes_with_copies[b] + size <= capacities[b]
                    has_room &= receives[b] < limits[0] and (last_into[b] != partition or into[b] == 1)
            for a in old:
                has_room &= a in new or gives[a] < limits[0]
        if not has_room:
            left[lefts] = partition
            lefts += 1
            continue
        batch_of[partition] = batch
        moves += copied
        flight += copied * size
        others[0] -= copied == 0
        for b in new:
            if b not in old:
                receives[b] += 1
                into[b] -= 1
                with_copies[b] += 1
                bytes_with_copies[b] += size
                receivers -= into[b] == 0 or receives[b] == limits[0]
        stays = True
        for a in old:
            if a not in new:
                stays = False
                counts[a] -= 1
                loads[a] -= size
                if copied > 0:
                    gives[a] += 1
                    out[a] -= 1
                    givers -= out[a] == 0 or gives[a] == limits[0]
        others[1] -= stays and copied > 0
    counts += receives
    loads += bytes_with_copies - loads_before
    return left[:lefts]
