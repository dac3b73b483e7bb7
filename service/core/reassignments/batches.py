"""A plan in batches, each of which is one file for ``kafka-reassign-partitions``.

A partition changes in one batch, from its current replicas to its last ones. While a batch runs, a moved replica is on both
brokers: ``max_replicas`` and ``capacity_bytes`` hold with what the batch copies before anything that it moves away is deleted.
What copies nothing (fewer replicas, another preferred leader) is in the first batch, and frees room for the second.

Largest partitions come first, so that one batch copies partitions of about the same size. If that leaves replicas without room,
the partitions that leave full brokers come first.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numba import njit

from service.core.errors import Clash, Infeasible, InvalidQuestion
from service.core.model import NONE, Bools, Float64s, Int32s, Int64s, Ragged
from service.core.reassignments.model import NO_LIMIT, Brokers, Placements

MAX_BATCHES: Final = 10_000


@dataclass(frozen=True)
class Limits:
    """What one batch may do; None is no limit.

    moves_per_broker : replicas that a broker receives, and replicas that it gives away
    moves_per_batch : replicas copied
    bytes_in_flight : bytes copied
    """

    moves_per_broker: int | None = None
    moves_per_batch: int | None = None
    bytes_in_flight: int | None = None


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

    def seconds(self, throttle: float, batches: int) -> Float64s:
        """float64[batches], the time that each batch takes at a throttle in bytes per second; inf if it never ends."""
        left = throttle - self.rates
        each = np.where(left > 0, self.amounts / np.where(left > 0, left, 1.0), np.inf)
        longest = np.zeros(batches, np.float64)
        np.maximum.at(longest, self.batches, each)
        return longest

    def throttle_for(self, seconds: float, batches: int) -> int:
        """The least throttle in bytes per second with which all batches take at most this time."""
        low, high = 0, 1
        while self.seconds(high, batches).sum() > seconds and high < 2**62:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.seconds(middle, batches).sum() <= seconds else (middle, high)
        return high


@dataclass(frozen=True)
class Batches:
    """The batches of a plan.

    batch_of : int32[partitions]   the batch of each partition, or NONE if it does not change
    moves, amounts : int64[batches]   replicas and bytes that each copies
    """

    batch_of: Int32s
    moves: Int64s
    amounts: Int64s
    traffic: Traffic

    def __len__(self) -> int:
        return len(self.moves)


def in_batches(
    brokers: Brokers, placements: Placements, replicas: Ragged, limits: Limits, check: Callable[[], None] = lambda: None
) -> Batches:
    """The plan in batches. Raises Infeasible if no order of its moves keeps the limits of the brokers, and InvalidQuestion.

    replicas : Ragged partition → brokers, those of the plan
    """
    now, sizes = placements.replicas, placements.bytes_of_each()
    copies, changed = _changes(now.offsets, now.values, replicas.offsets, replicas.values)
    _check_limits(placements, copies, sizes, limits)
    live = brokers.listed & ~brokers.cluster.fenced
    sources = _sources(now.offsets, now.values, live)
    _check_sources(placements, copies, sources)
    pending = np.flatnonzero(changed).astype(np.int32)
    pending = pending[np.argsort(-(sizes[pending] * copies[pending]), kind="stable")]
    batch_of, stuck = _schedule(brokers, placements, replicas, limits, pending, copies, check)
    if stuck:
        full = _is_full(brokers, placements)[now.values]
        leaves_full = np.zeros(len(placements), np.bool_)
        np.logical_or.at(leaves_full, now.row_of_each_value(), full)
        pending = pending[np.argsort(~leaves_full[pending], kind="stable")]
        batch_of, stuck = _schedule(brokers, placements, replicas, limits, pending, copies, check)
    if stuck:
        raise _no_order()
    count = int(batch_of.max(initial=NONE)) + 1
    moved = batch_of != NONE
    totals = [
        np.bincount(batch_of[moved], values[moved].astype(np.float64), count).astype(np.int64)
        for values in (copies, copies * sizes)
    ]
    traffic = _traffic(placements, replicas, batch_of, sources)
    return Batches(batch_of, totals[0], totals[1], traffic)


def _no_order() -> Infeasible:
    clash = (
        Clash(
            "limits",
            "No order of the moves was found that keeps max_replicas and capacity_bytes while replicas are on two brokers.",
        ),
    )
    remedies = ("Room for one more replica on the brokers that are full.",)
    return Infeasible(clash[0].detail, clash, remedies)


def _check_limits(placements: Placements, copies: Int64s, sizes: Int64s, limits: Limits) -> None:
    """Raise InvalidQuestion if one partition alone exceeds what a batch may copy."""
    for name, limit, needs, unit in (
        ("moves_per_batch", limits.moves_per_batch, copies, "replicas"),
        ("bytes_in_flight", limits.bytes_in_flight, copies * sizes, "bytes"),
    ):
        if limit is not None and needs.max(initial=0) > limit:
            worst = int(needs.argmax())
            name_of = f"{placements.topic_names[placements.topics[worst]]}-{placements.partition_ids[worst]}"
            raise InvalidQuestion(
                f"Must be at least {needs[worst]}: {name_of} copies as many {unit} in one batch.", "limits", name
            )


def _check_sources(placements: Placements, copies: Int64s, sources: Int32s) -> None:
    lost = np.flatnonzero((copies > 0) & (sources == NONE))
    if len(lost):
        name = f"{placements.topic_names[placements.topics[lost[0]]]}-{placements.partition_ids[lost[0]]}"
        more = f" and {len(lost) - 1} more partitions" if len(lost) > 1 else ""
        detail = f"{name}{more} cannot be copied: all its replicas are on brokers that are fenced or gone."
        raise Infeasible(detail, (Clash("fenced", detail),), ("Bring one of its brokers back.", "Exclude its topic."))


def _is_full(brokers: Brokers, placements: Placements) -> Bools:
    rows = placements.replicas
    counts = np.bincount(rows.values, minlength=len(brokers))
    loads = np.zeros(len(brokers), np.int64)
    np.add.at(loads, rows.values, placements.bytes_of_each()[rows.row_of_each_value()])
    full: Bools = (counts >= brokers.max_replicas) | (loads * 10 >= np.minimum(brokers.capacity_bytes, NO_LIMIT // 10) * 9)
    return full


def _schedule(
    brokers: Brokers,
    placements: Placements,
    replicas: Ragged,
    limits: Limits,
    pending: Int32s,
    copies: Int64s,
    check: Callable[[], None],
) -> tuple[Int32s, bool]:
    """The batch of each partition, and whether the rest is stuck."""
    now, sizes = placements.replicas, placements.bytes_of_each()
    counts = np.bincount(now.values, minlength=len(brokers)).astype(np.int64)
    loads = np.zeros(len(brokers), np.int64)
    np.add.at(loads, now.values, sizes[now.row_of_each_value()])
    batch_of = np.full(len(placements), NONE, np.int32)
    of_all = [
        NO_LIMIT if limit is None else limit
        for limit in (limits.moves_per_broker, limits.moves_per_batch, limits.bytes_in_flight)
    ]
    for batch in range(MAX_BATCHES):
        if not len(pending):
            return batch_of, False
        left = _fill(
            (now.offsets, now.values, replicas.offsets, replicas.values),
            (sizes, copies),
            (counts, loads, brokers.max_replicas, brokers.capacity_bytes),
            (of_all[0], of_all[1], of_all[2]),
            pending,
            batch_of,
            batch,
        )
        if len(left) == len(pending):
            return batch_of, True
        pending = left
        check()
    if len(pending):
        raise InvalidQuestion(f"These limits make more than {MAX_BATCHES} batches.", "limits")
    return batch_of, False


@njit(nogil=True, cache=True)
def _fill(  # noqa: C901, PLR0912 (a kernel)
    rows: tuple[Int32s, Int32s, Int32s, Int32s],
    partitions: tuple[Int64s, Int64s],
    brokers: tuple[Int64s, Int64s, Int64s, Int64s],
    limits: tuple[int, int, int],
    pending: Int32s,
    batch_of: Int32s,
    batch: int,
) -> Int32s:
    """Fill one batch in the order of ``pending``, and return what is left.

    rows : the current replicas and those of the plan, both Ragged; partitions : bytes and copies of each
    brokers : replicas and bytes of each, which become those after the batch, and the most of both
    limits : moves of each broker, moves in all, bytes in all
    """
    now_of, now, then_of, then = rows
    sizes, copies = partitions
    counts, loads, most, capacities = brokers
    receives, gives = np.zeros(len(counts), np.int64), np.zeros(len(counts), np.int64)
    more_counts, more_loads = counts.copy(), loads.copy()
    left = np.empty(len(pending), np.int32)
    lefts, moves, flight = 0, 0, 0
    for partition in pending:
        size = sizes[partition]
        old, new = now[now_of[partition] : now_of[partition + 1]], then[then_of[partition] : then_of[partition + 1]]
        fits = moves + copies[partition] <= limits[1] and flight + copies[partition] * size <= limits[2]
        if copies[partition] > 0:
            for b in new:
                if fits and not _in(old, b):
                    fits = receives[b] < limits[0] and more_counts[b] < most[b] and more_loads[b] + size <= capacities[b]
            for a in old:
                if fits and not _in(new, a):
                    fits = gives[a] < limits[0]
        if not fits:
            left[lefts] = partition
            lefts += 1
            continue
        batch_of[partition] = batch
        moves += copies[partition]
        flight += copies[partition] * size
        for b in new:
            if not _in(old, b):
                receives[b] += 1
                more_counts[b] += 1
                more_loads[b] += size
        for a in old:
            if not _in(new, a):
                gives[a] += copies[partition] > 0
                counts[a] -= 1
                loads[a] -= size
    for b in range(len(counts)):  # what comes, beside what goes
        counts[b] += receives[b]
    for partition in pending:
        if batch_of[partition] == batch:
            old = now[now_of[partition] : now_of[partition + 1]]
            for b in then[then_of[partition] : then_of[partition + 1]]:
                if not _in(old, b):
                    loads[b] += sizes[partition]
    return left[:lefts]


@njit(nogil=True, cache=True)
def _in(brokers: Int32s, broker: int) -> bool:
    for each in brokers:  # noqa: SIM110 (a kernel)
        if each == broker:
            return True
    return False


@njit(nogil=True, cache=True)
def _changes(now_of: Int32s, now: Int32s, then_of: Int32s, then: Int32s) -> tuple[Int64s, Bools]:
    """int64[partitions], the copies of each; bool[partitions], whether its list changes."""
    count = len(now_of) - 1
    copies, changed = np.zeros(count, np.int64), np.zeros(count, np.bool_)
    for partition in range(count):
        old, new = now[now_of[partition] : now_of[partition + 1]], then[then_of[partition] : then_of[partition + 1]]
        changed[partition] = len(old) != len(new) or (old != new).any()
        if changed[partition]:
            for b in new:
                copies[partition] += not _in(old, b)
    return copies, changed


@njit(nogil=True, cache=True)
def _sources(now_of: Int32s, now: Int32s, live: Bools) -> Int32s:
    """int32[partitions], the broker that each partition is copied from: its leader, the first live one; or NONE."""
    sources = np.full(len(now_of) - 1, NONE, np.int32)
    for partition in range(len(sources)):
        for i in range(now_of[partition], now_of[partition + 1]):
            if live[now[i]]:
                sources[partition] = now[i]
                break
    return sources


def _traffic(placements: Placements, replicas: Ragged, batch_of: Int32s, sources: Int32s) -> Traffic:
    rows = replicas.row_of_each_value()
    now = placements.replicas
    width = int(max(now.values.max(initial=0), replicas.values.max(initial=0))) + 1
    keys = rows.astype(np.int64) * width + replicas.values
    copied = (batch_of[rows] != NONE) & ~np.isin(keys, now.row_of_each_value().astype(np.int64) * width + now.values)
    partition, target = rows[copied], replicas.values[copied]
    brokers = np.concatenate([target, sources[partition]]).astype(np.int64)
    incoming = np.repeat([1, 0], len(target))
    both = np.concatenate([partition, partition])
    sizes = placements.bytes_of_each()[both]
    rates = np.zeros(len(both)) if placements.rates is None else placements.rates[both]
    key, index = np.unique((batch_of[both].astype(np.int64) * width + brokers) * 2 + incoming, return_inverse=True)
    amounts = np.zeros(len(key), np.int64)
    np.add.at(amounts, index, sizes)
    return Traffic(
        (key // (2 * width)).astype(np.int32),
        (key // 2 % width).astype(np.int32),
        key % 2 == 1,
        amounts,
        np.bincount(index, rates, len(key)).astype(np.float64, copy=False),
    )
