"""What a plan does besides its conclusion, and what to watch out for, in sentences."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from service.core.measures import Load, distinct_in_rows
from service.core.model import NONE
from service.core.printable import all_of, counted
from service.core.ragged import taken
from service.planner.reassignments import planned as why
from service.planner.reassignments.batches.schedule import BatchTiming, Pace
from service.planner.reassignments.model import NO_LIMIT, Brokers, Goal, rackless
from service.planner.reassignments.planned import NAMED, Planned
from service.planner.reassignments.resources.loads import names_of
from service.planner.reassignments.sets import added

MOST_SHARE: Final = 10
"""Up to this share of its limit, how full a disk is has a number."""

UNEVEN: Final = 1.1
"""Skew from which on the fullest broker is named."""


def effects(planned: Planned) -> Iterator[str]:
    """What the plan does besides what its conclusion says."""
    brokers, goal, loads = planned.brokers, planned.goal, planned.loads
    yield from _why(planned)
    ids = brokers.cluster.broker_ids
    replaced = np.flatnonzero((brokers.replaced_by != NONE) & (loads[0].replicas > 0))
    for old in replaced[:NAMED].tolist():
        new = int(brokers.replaced_by[old])
        had, has = planned.on(old, after=False), planned.on(new, after=True)
        taken_over = int(np.isin(had, has).sum())
        part = "" if taken_over == len(had) else f" {taken_over:,} of {counted(len(had), 'replica')}"
        if taken_over:
            yield f"Broker {ids[new]} takes over{part} from broker {ids[old]}."
    for name in names_of(goal) or ("bytes",) * (goal.balance == "bytes"):
        before, then = (load.spread(name) for load in loads)
        now = f"{before.max:,.6g} ({before.skew:.2f} times the mean) now"
        yield f"Of {name}, the fullest broker has {then.max:,.6g} ({then.skew:.2f} times the mean); {now}."
    yield from _disks(brokers, loads)
    for broker in np.flatnonzero(brokers.demoted & (loads[0].leaders > 0)).tolist():
        led, leads = (int(load.leaders[broker]) for load in loads)
        if led != leads and planned.leadership.known:  # else the conclusion says it
            yield f"Broker {ids[broker]} goes from {led:,} to {counted(leads, 'preferred leader')}."
    lead = planned.leadership
    if lead.known and len(lead.elected) and planned.copies:
        changes = int(((lead.now != lead.after) & (lead.after != NONE)).sum())
        elections = counted(len(lead.elected), "preferred leader election")
        yield f"{counted(changes, 'partition')} get{'s' * (changes == 1)} another leader, with {elections} after the copying."
    yield from _growth(brokers, goal, loads)
    yield from timing_sentences(planned.timing, planned.pace, _not_counted(planned), rates_known=planned.rates_known)


_REASONS: Final = (
    ((why.DRAINS, why.FENCED, why.GONE, why.OUTSIDE, why.REPLACES), "leave", "{brokers}"),
    ((why.RACK,), "keep", "the rack rule of {partitions}"),
    ((why.ROOM,), "keep", "the limits of {brokers}"),
    ((why.EVENS,), "even", "out the load"),
    ((why.FACTOR,), "raise", "the replication factor"),
    ((why.LEADS,), "bring", "leaders of a topic"),
    ((why.MAKES_ROOM, why.WAS_FULL), "take", "a detour"),
)
"""What copies are for, by the reasons of moves."""


def _why(planned: Planned) -> Iterator[str]:
    """What the copies are for, if not all for the same."""
    moves = planned.moves
    copied, parts = (moves.targets != NONE) & ~np.isin(moves.reasons, (why.LEADER, why.DEMOTES)), list[str]()
    for reasons, verb, what in _REASONS:
        which = copied & np.isin(moves.reasons, reasons)
        if which.any():
            sources = np.unique(moves.sources[which & (moves.sources != NONE)])
            names = planned.names(np.unique(moves.partitions[which]))
            of = what.format(brokers=planned.brokers.names(sources), partitions=names)
            count = int(which.sum())
            parts.append(f"{count:,} {verb}{'s' * (count == 1)} {of}")
    if len(parts) > 1:
        yield f"Of the {counted(int(copied.sum()), 'copy', 'copies')}, {all_of(parts, len(parts))}."


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


def _growth(brokers: Brokers, goal: Goal, loads: tuple[Load, Load]) -> Iterator[str]:
    """The brokers that get more because nothing else on their rack is left, the one that gains most, and the fullest."""
    before, after = loads[0].replicas, loads[1].replicas
    cluster, racks, ids = brokers.cluster, brokers.racks(), brokers.cluster.broker_ids
    live, usable = (np.bincount(racks[which], minlength=racks.max(initial=0) + 1) for which in (brokers.live, brokers.usable))
    several = goal.racks != "none" and np.count_nonzero(usable) > 1
    gains = np.where(brokers.usable, after - before, 0)
    alone = (gains > 0) & (usable[racks] == 1) & several & (gains * 10 > before)
    named = np.argsort(-gains, kind="stable")
    named = named[alone[named]][:NAMED]
    for broker in named.tolist():
        rack = int(racks[broker])
        only = "the only one left" if live[rack] > 1 else "the only one"
        where = f"in rack {cluster.rack_ids[rack]}" if rack < len(cluster.rack_ids) else "without a rack"
        yield f"Broker {ids[broker]} goes {_goes(before[broker], after[broker])}: it is {only} {where}."
    most = int(gains.max(initial=0))
    if most and not len(named):
        named = np.flatnonzero(gains == most)
        how = f", {counted(most, 'replica')} each" if len(named) > 1 else f": it goes {_goes(before[named[0]], after[named[0]])}"
        yield f"{brokers.names(named).capitalize()} gain{'s' * (len(named) == 1)} the most{how}."
    evenness = loads[1].spread()
    fullest = np.flatnonzero(after == after.max(initial=0))
    if evenness.skew >= UNEVEN and loads[1].counted[fullest].all() and len(np.setdiff1d(fullest, named)):
        are, each = ("is", "") if len(fullest) == 1 else ("are", " each")
        replicas = f"{counted(after[fullest[0]], 'replica')}{each}, {evenness.skew:.2f} times the mean"
        yield f"{brokers.names(fullest).capitalize()} {are} the fullest, with {replicas}."


def _goes(before: int, after: int) -> str:
    return f"from {before:,} to {counted(after, 'replica')}"


def timing_sentences(timing: BatchTiming, pace: Pace, unknown: Sequence[str], *, rates_known: bool) -> Iterator[str]:
    """How long the batches take, and the throttle that a time needs; nothing without a throttle.

    unknown : what the time does not count, besides what is written meanwhile
    """
    if timing.seconds is None or timing.total is None or not len(timing.seconds):
        return
    batches = counted(len(timing.seconds), "batch", "batches")
    least = "about" if rates_known and not unknown else "at least"
    takes = f"Takes {least} {timing.total:,.0f} s in {batches} at a throttle of {timing.throttle:,} bytes/s"
    assumed = (
        f"if Kafka reaches {pace.throttle_utilization:.0%} of it and a batch takes {pace.batch_seconds:g} s beside the copying"
    )
    if not rates_known:
        endless = f"{(timing.throttle or 0) * pace.throttle_utilization:,.0f} bytes/s"
        assumed += (
            " and nothing is written meanwhile: write rates are not known, and with "
            f"{endless} written to what one broker copies it never ends"
        )
    yield f"{takes}, {assumed}{'; not counted: ' * bool(unknown)}{all_of(unknown, NAMED)}."
    if timing.throttle_needed is not None:
        needed = f"{timing.throttle_needed:,} bytes/s"
        yield f"To take no longer than asked needs a throttle of {'at least ' * (least != 'about')}{needed}."


def _not_counted(planned: Planned) -> list[str]:
    """What a duration takes as nothing, besides what is written."""
    placements, copied = planned.placements, np.unique(planned.moves.partitions[planned.moves.targets != NONE])
    unknown = list[str]()
    empty = 0 if placements.sizes is None else int((placements.sizes[copied] == 0).sum())
    if empty:
        unknown.append(f"{counted(empty, 'partition')} whose size is given as 0")
    if placements.in_sync is not None:
        lags = ~placements.in_sync & planned.brokers.live[placements.replicas.values]
        rows = placements.replicas.row_of_each_value()
        lagging = int((lags & np.isin(rows, copied)).sum())
        if lagging:
            unknown.append(f"what {counted(lagging, 'replica')} that {'is' if lagging == 1 else 'are'} not in sync must catch up")
    return unknown


def warnings(planned: Planned) -> Iterator[str]:
    """What somebody should know before executing the plan."""
    brokers, placements, plan, timing = planned.brokers, planned.placements, planned.plan, planned.timing
    cluster, racks = brokers.cluster, brokers.racks()
    if planned.racks_matter:
        yield from rackless(cluster, brokers.listed)
    if placements.in_progress is not None and placements.in_progress.any() and len(planned.changed):
        yield "Execute it when what is in progress is complete: kafka-reassign-partitions refuses it before without --additional."
    before, after = (racks[(load.replicas > 0) & brokers.listed] for load in planned.loads)
    left = np.setdiff1d(before, np.union1d(after, racks[brokers.usable]))
    for rack in left[left < len(cluster.rack_ids)][:NAMED].tolist():
        yield f"Rack {cluster.rack_ids[rack]} is emptied: none of its brokers may have replicas."
    if len(plan.outside):
        names = brokers.names(plan.outside)
        stay = f"{names.capitalize()} stay{'s' * (len(plan.outside) == 1)}"
        yield f"{stay} outside the tolerance: no plan was found that keeps the rules and brings every broker within it."
    changed = planned.changed
    now, then = taken(placements.replicas, changed), taken(plan.replicas, changed)
    racks_now, racks_then = (
        distinct_in_rows(rows, brokers.racks()[rows.values], brokers.listed[rows.values]) for rows in (now, then)
    )
    lost = np.flatnonzero(racks_then < np.minimum(racks_now, then.lengths()))
    if len(lost):
        worst = int(lost[np.argmin(racks_then[lost] - racks_now[lost])])
        name = placements.name(changed[worst])
        subject = f"{len(lost):,} partitions lose racks, such as {name}: it" if len(lost) > 1 else name
        yield f"{subject} is on {counted(int(racks_then[worst]), 'rack')} afterwards, {racks_now[worst]} now."
    yield from _in_sync(planned)
    yield from _no_way_back(planned)
    endless = np.flatnonzero(np.isinf(timing.seconds)) if timing.seconds is not None else np.empty(0, np.int64)
    endless = np.setdiff1d(endless, planned.batches.batch_of[planned.leadership.stuck])
    if len(endless):
        yield (
            f"Batch {endless[0] + 1} never ends at this throttle: producers write as fast as replicas may be copied. Every batch "
            f"ends from {timing.throttle_that_ends:,} bytes/s on."
        )


def _in_sync(planned: Planned) -> Iterator[str]:
    """What hangs on replicas in sync: elections that would fail, and copies from the last one."""
    lead, placements, brokers = planned.leadership, planned.placements, planned.brokers
    if len(lead.refused):
        several = len(lead.refused) > 1
        yield (
            f"{planned.names(lead.refused)} {'are' if several else 'is'} not elected: the preferred leader is not in sync. Run "
            "kafka-leader-election once it is."
        )
    if placements.in_sync is None:
        return
    now, serving = placements.replicas, placements.in_sync_now(brokers)
    in_sync = now.count(serving)
    leaves = now.count(serving & added(planned.plan.replicas, now))
    last = (in_sync > 0) & (leaves == in_sync) & (in_sync < now.lengths())
    if last.any():
        sources = np.unique(now.values[serving & last[now.row_of_each_value()]])
        named, ids = np.flatnonzero(last).astype(np.int32), brokers.names(sources)
        yield (
            f"{planned.names(named)} {'are' if len(named) > 1 else 'is'} in sync only on what the plan takes away: keep {ids} "
            "running until the copies are complete."
        )


def _no_way_back(planned: Planned) -> Iterator[str]:
    """The brokers that a rollback needs and does not have."""
    brokers, dead = planned.brokers, planned.dead_before()
    if len(dead):
        names = f"{brokers.names(dead)} {'is' if len(dead) == 1 else 'are'} gone"
        yield f"There is no way back while {names}: the rollback files need {'it' if len(dead) == 1 else 'them'}."
    unsure = (brokers.replaced_by != NONE) & (planned.loads[0].replicas > planned.loads[1].replicas)
    unsure[dead] = False
    if planned.placements.in_sync is None and unsure.any():
        names = f"{brokers.names(unsure)} {'is' if unsure.sum() == 1 else 'are'}"
        yield f"Whether {names} gone is not known; if so, there is no way back: the rollback files need what is replaced."
