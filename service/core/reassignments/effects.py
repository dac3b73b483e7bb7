"""What a plan does, and what to watch out for, in sentences: for the answer, ``plan.md`` and the pipeline's page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from service.core.measures.broker_load import Load, distinct_in_rows
from service.core.model import NONE
from service.core.printable import counted
from service.core.ragged import taken
from service.core.reassignments.model import NO_LIMIT, Brokers, Goal, Placements, Plan, broker_names
from service.core.reassignments.resources.loads import names_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from service.core.reassignments.batches.model import Batches, BatchTiming, Pace

GROWN: Final = 3
"""Brokers that have a sentence of their own at most."""

MOST_SHARE: Final = 10
"""Up to this share of its limit, how full a disk is has a number."""

UNEVEN: Final = 1.1
"""Skew from which on the fullest broker is named."""


def effects(brokers: Brokers, goal: Goal, plan: Plan, batches: Batches, loads: tuple[Load, Load]) -> Iterator[str]:
    """What the plan does. loads : of the brokers, before and after"""
    yield _copies(brokers, goal, plan, batches, loads)
    ids = brokers.cluster.broker_ids
    replaced = np.flatnonzero((brokers.replaced_by != NONE) & (loads[0].replicas > 0))
    for old in replaced[:GROWN].tolist():
        yield f"Broker {ids[brokers.replaced_by[old]]} takes over from broker {ids[old]}."
    yield from _resources(goal, loads)
    yield from _disks(brokers, loads)
    yield from _demotions(brokers, loads)
    yield from _growth(brokers, goal, loads)


def _copies(brokers: Brokers, goal: Goal, plan: Plan, batches: Batches, loads: tuple[Load, Load]) -> str:
    copies, before, after = int(batches.moves.sum()), loads[0].replicas, loads[1].replicas
    if not copies:
        return "Copies nothing: only preferred leaders or replication factors change." if len(batches) else "Nothing changes."
    proof = _limited_proof(goal, plan) if goal.limited else _proof(goal, plan)
    counted = f"{copies:,} cop{'y' if copies == 1 else 'ies'}"
    emptied = brokers.cluster.broker_ids[(before > 0) & (after == 0)].tolist()
    if emptied:
        return f"Empties {broker_names(emptied)} with {counted}, {proof}."
    return f"Changes the placement with {counted}, {proof}."


def _resources(goal: Goal, loads: tuple[Load, Load]) -> Iterator[str]:
    """How full the fullest broker is of each resource other than replicas alone."""
    for name in names_of(goal) or ("bytes",) * (goal.balance == "bytes"):
        before, after = (load.spread(name).skew for load in loads)
        yield f"Of {name}, the fullest broker has {after:.2f} times the mean, {before:.2f} times now."


def _disks(brokers: Brokers, loads: tuple[Load, Load]) -> Iterator[str]:
    """How full the fullest disk is, where brokers have a limit."""
    limits, ids = brokers.capacity_bytes, brokers.cluster.broker_ids
    limited = brokers.live & (limits != NO_LIMIT)
    if "bytes" not in loads[0].totals or not limited.any():
        return
    # One that is full of other files may hold 0.
    before, after = (np.where(limited, load.totals["bytes"] / np.maximum(limits, 1), 0.0) for load in loads)
    was, fullest = int(np.argmax(before)), int(np.argmax(after))
    now = f"{_percent(before[was])} now" if was == fullest else f"now broker {ids[was]} with {_percent(before[was])}"
    yield f"Broker {ids[fullest]} has the fullest disk, {_percent(after[fullest])} of the bytes that it may hold; {now}."


def _percent(share: float) -> str:
    return f"{share:.1%}" if share <= MOST_SHARE else f"more than {MOST_SHARE:,.0%}"


def _demotions(brokers: Brokers, loads: tuple[Load, Load]) -> Iterator[str]:
    """The leaders that demoted brokers lose."""
    before, after = (load.leaders[brokers.demoted] for load in loads)
    for broker_id, had, has in zip(brokers.cluster.broker_ids[brokers.demoted].tolist(), before, after, strict=True):
        if had:
            yield f"Broker {broker_id} goes from {had:,} to {has:,} preferred leaders."


def _proof(goal: Goal, plan: Plan) -> str:
    fewest = f"the fewest {'bytes ' if goal.balance == 'bytes' else ''}possible"
    if goal.tolerance is not None:
        near = "as near as the rules allow to" if len(plan.outside) else "within"
        if plan.gap == 0 or not len(plan.outside):
            fewest += f" to bring every broker {near} {100 * goal.tolerance:.4g}% of the mean"
    elif goal.objective == "even":
        fewest += " for the evenest load" if plan.evenness_gap == 0 else " for as even a load"
    if plan.gap is None:
        return f"not proven to be {fewest}"
    return fewest if plan.gap == 0 else f"at most {plan.gap:.1%} above {fewest}"


def _limited_proof(goal: Goal, plan: Plan) -> str:
    limits = [
        f"{limit:,} {unit}" for limit, unit in ((goal.max_moves, "copies"), (goal.max_bytes, "bytes copied")) if limit is not None
    ]
    evenest = f"the evenest load with at most {' and '.join(limits)}"
    return evenest if plan.evenness_gap == 0 else f"whose unevenness is at most {plan.evenness_gap:.1%} above that of {evenest}"


def _growth(brokers: Brokers, goal: Goal, loads: tuple[Load, Load]) -> Iterator[str]:
    """The brokers that get more because nothing else on their rack is left, the one that gains most, and the fullest."""
    before, after = loads[0].replicas, loads[1].replicas
    cluster, racks, ids = brokers.cluster, brokers.racks(), brokers.cluster.broker_ids
    live, usable = (np.bincount(racks[which], minlength=racks.max(initial=0) + 1) for which in (brokers.live, brokers.usable))
    several = goal.racks != "none" and np.count_nonzero(usable) > 1
    gains = np.where(brokers.usable, after - before, 0)
    alone = (gains > 0) & (usable[racks] == 1) & several & (gains * 10 > before)
    grown = np.argsort(-gains, kind="stable")
    named = [broker for broker in grown.tolist() if alone[broker]][:GROWN] or grown[:1].tolist()
    for broker in named:
        if gains[broker] <= 0:
            continue
        counts = f"from {before[broker]:,} to {counted(after[broker], 'replica')}"
        if not alone[broker]:
            yield f"Broker {ids[broker]} gains the most: it goes {counts}."
            continue
        rack = int(racks[broker])
        only = "the only one left" if live[rack] > 1 else "the only one"
        where = f"in rack {cluster.rack_ids[rack]}" if rack < len(cluster.rack_ids) else "without a rack"
        yield f"Broker {ids[broker]} goes {counts}: it is {only} {where}."
    evenness = loads[1].spread()
    fullest = int(np.argmax(np.where(loads[1].counted, after, NONE))) if loads[1].counted.any() else NONE
    if evenness.skew >= UNEVEN and fullest not in named:
        replicas = counted(after[fullest], "replica")
        yield f"Broker {ids[fullest]} is the fullest, with {replicas}, {evenness.skew:.2f} times the mean."


def timing_sentence(timing: BatchTiming, pace: Pace) -> Iterator[str]:
    """How long the batches take; nothing without a throttle."""
    if timing.seconds is None or timing.total is None or not len(timing.seconds):
        return
    count = len(timing.seconds)
    batches = counted(count, "batch", "batches")
    yield (
        f"Takes about {timing.total:,.0f} s in {batches} at a throttle of {timing.throttle:,} bytes/s, if "
        f"Kafka reaches {pace.throttle_utilization:.0%} of it and a batch takes {pace.batch_seconds:g} s beside the copying."
    )


def warnings(brokers: Brokers, placements: Placements, plan: Plan, batches: Batches, timing: BatchTiming) -> Iterator[str]:
    """What somebody should know before executing the plan."""
    cluster, racks = brokers.cluster, brokers.racks()
    holders = np.zeros(len(brokers), np.bool_)
    holders[placements.replicas.values] = True
    left = np.setdiff1d(racks[holders & brokers.listed], racks[brokers.usable])
    for rack in left[left < len(cluster.rack_ids)][:GROWN].tolist():
        yield f"Rack {cluster.rack_ids[rack]} is emptied: none of its brokers may have replicas."
    if len(plan.outside):
        names = broker_names(cluster.broker_ids[plan.outside].tolist())
        stay = f"{names.capitalize()} stay{'s' * (len(plan.outside) == 1)}"
        yield f"{stay} outside the tolerance: no plan was found that keeps the rules and brings every broker within it."
    leads = np.flatnonzero(brokers.demoted[plan.replicas.firsts()])
    if len(leads):
        first = placements.name(leads[0])
        subject = f"{len(leads):,} partitions stay" if len(leads) > 1 else "1 partition stays"
        yield f"{subject} with a demoted leader, such as {first}: excluded, or without another replica that may lead."
    changed = np.flatnonzero(batches.batch_of != NONE).astype(np.int32)
    now, then = taken(placements.replicas, changed), taken(plan.replicas, changed)
    racks_now, racks_then = (
        distinct_in_rows(rows, brokers.racks()[rows.values], brokers.listed[rows.values]) for rows in (now, then)
    )
    lost = np.flatnonzero(racks_then < np.minimum(racks_now, then.lengths()))
    if len(lost):
        worst = int(lost[np.argmin(racks_then[lost] - racks_now[lost])])
        name = placements.name(changed[worst])
        subject = f"{len(lost):,} partitions lose racks, such as {name}: it" if len(lost) > 1 else name
        after = int(racks_then[worst])
        yield f"{subject} is on {counted(after, 'rack')} afterwards, {racks_now[worst]} now."
    endless = np.flatnonzero(np.isinf(timing.seconds)) if timing.seconds is not None else np.empty(0, np.int64)
    if len(endless):
        yield (
            f"Batch {endless[0] + 1} never ends at this throttle: producers write as fast as replicas may be copied. Every batch "
            f"ends from {timing.throttle_that_ends:,} bytes/s on."
        )
