"""A plan divided into batches.

A partition changes in one batch, from its current replicas to its last ones. While a batch runs, a moved replica is on both
brokers: ``max_replicas`` and ``capacity_bytes`` hold with what the batch copies before anything that it moves away is deleted.
What copies nothing (fewer replicas, another preferred leader) is in the first batch, and frees room for the second.

Only where no order of the moves is found that keeps the limits, some partitions take a detour (``detours``).
"""

import numpy as np

from service.core.clock import check_time
from service.core.errors import Clash, Infeasible, InvalidQuestion
from service.core.model import NONE, Bools, Int32s, Int64s, Ragged
from service.core.printable import counted
from service.core.ragged import taken
from service.planner.reassignments.batches.detours import fill_with_detours
from service.planner.reassignments.batches.model import Batches, BatchLimits, Detour, Steps, Traffic
from service.planner.reassignments.batches.schedule import BatchProgress, fill_batches
from service.planner.reassignments.leadership import first_of
from service.planner.reassignments.model import NO_LIMIT, Brokers, Placements
from service.planner.reassignments.order import added, changed, copied, in_sync_after


def in_batches(brokers: Brokers, placements: Placements, replicas: Ragged, limits: BatchLimits, racks: str) -> Batches:
    """The plan in batches. Raises Infeasible if no order of its moves keeps the limits of the brokers, and InvalidQuestion.

    replicas : Ragged partition → brokers, those of the plan; racks : as in Goal
    """
    now, sizes = placements.replicas, placements.bytes_of_each()
    copies = copied(placements, replicas)
    _check_limits(placements, copies, sizes, limits)
    lost = np.flatnonzero((copies > 0) & (first_of(now, brokers.live[now.values]) == NONE))
    if len(lost):
        more = f" and {counted(len(lost) - 1, 'more partition')}" if len(lost) > 1 else ""
        detail = f"{placements.name(lost[0])}{more} cannot be copied: all its replicas are on brokers that are fenced or gone."
        raise Infeasible(detail, (Clash("fenced", detail),), ("Bring one of its brokers back.", "Exclude its topic."))
    _check_in_sync(brokers, placements, replicas)
    check_time()
    pending = np.flatnonzero(changed(now, replicas)).astype(np.int32)
    # First those that lack replicas in sync: of these, those with the fewest above min.insync.replicas.
    in_sync = _count_in_sync(placements, placements.in_sync_now(brokers))
    spare = in_sync if placements.min_in_sync is None else in_sync - placements.min_in_sync
    urgency = np.where(in_sync < now.lengths(), spare, NO_LIMIT)
    amounts = sizes * copies * (1 if limits.order == "smallest-first" else -1)
    pending = pending[np.lexsort((amounts[pending], urgency[pending]))]
    progress = BatchProgress.start(brokers, placements, replicas, copies, pending)
    leaving_first = progress.leaving_first()
    if not fill_batches(progress, limits):
        progress = BatchProgress.start(brokers, placements, replicas, copies, leaving_first)
        if not fill_batches(progress, limits):
            progress = fill_with_detours(
                lambda target: BatchProgress.start(target, placements, replicas, copies, leaving_first), brokers, limits, racks
            )
    check_time()
    steps = _steps(brokers, placements, replicas, progress.batch_of, progress.detours)
    check_time()
    copies = np.bincount(steps.after.row_of_each_value()[added(steps.before, steps.after)], minlength=len(steps.after))
    moves, moved = (
        np.bincount(steps.batches, each.astype(np.float64), progress.batch).astype(np.int64)
        for each in (copies, copies * sizes[steps.partitions])
    )
    return Batches(progress.batch_of, tuple(progress.detours), steps, moves, moved, _traffic(placements, steps))


def _steps(brokers: Brokers, placements: Placements, then: Ragged, batch_of: Int32s, detours: list[Detour]) -> Steps:
    now = placements.replicas
    changed = np.flatnonzero(batch_of != NONE)
    partitions = np.concatenate([[detour.partition for detour in detours], changed]).astype(np.int32)
    batches = np.concatenate([[detour.batch for detour in detours], batch_of[changed]]).astype(np.int32)
    between = [detour.replicas for detour in detours]
    lengths = [now.lengths(), then.lengths(), np.array([len(row) for row in between], np.int32)]
    pool = Ragged.of_lengths(np.concatenate(lengths), np.concatenate([now.values, then.values, *between]).astype(np.int32))
    count, detoured = len(now), np.arange(len(detours))
    before, after = partitions.copy(), partitions + count
    after[: len(detours)] = 2 * count + detoured
    on_the_way = np.full(count, NONE, np.int32)
    on_the_way[partitions[: len(detours)]] = after[: len(detours)]
    goes_on = on_the_way[changed] != NONE
    before[len(detours) :][goes_on] = on_the_way[changed][goes_on]
    order = np.lexsort((partitions, batches))
    source = taken(pool, before[order])
    sources = first_of(source, brokers.live[source.values])
    if placements.leaders is not None:
        leaders, rows = placements.leaders[partitions[order]], source.row_of_each_value()
        leads = (source.values == leaders[rows]) & brokers.live[source.values]
        sources[rows[leads]] = source.values[leads]
    return Steps(partitions[order], batches[order], source, taken(pool, after[order]), sources)


def _check_limits(placements: Placements, copies: Int64s, sizes: Int64s, limits: BatchLimits) -> None:
    """Raise InvalidQuestion if one partition alone exceeds what a batch may copy."""
    for name, limit, needs, unit in (
        ("moves_per_batch", limits.moves_per_batch, copies, "replicas"),
        ("bytes_in_flight", limits.bytes_in_flight, copies * sizes, "bytes"),
    ):
        if limit is not None and needs.max(initial=0) > limit:
            worst = int(needs.argmax())
            raise InvalidQuestion(
                f"Must be at least {needs[worst]}: {placements.name(worst)} copies as many {unit} in one batch.", "limits", name
            )


def _count_in_sync(placements: Placements, in_sync: Bools) -> Int64s:
    """int64[partitions]"""
    return np.bincount(placements.replicas.row_of_each_value()[in_sync], minlength=len(placements))


def _check_in_sync(brokers: Brokers, placements: Placements, replicas: Ragged) -> None:
    """Raise Infeasible if a step leaves a partition with fewer replicas in sync than it needs and has now."""
    if placements.min_in_sync is None:
        return
    left = np.bincount(replicas.row_of_each_value()[in_sync_after(brokers, placements, replicas)], minlength=len(placements))
    before = _count_in_sync(placements, placements.in_sync_now(brokers))
    breaks = np.flatnonzero((left < placements.min_in_sync) & (left < before))
    if len(breaks):
        worst = int(breaks[0])
        more = f" (and {len(breaks) - 1} more)" if len(breaks) > 1 else ""
        detail = (
            f"min_insync_replicas of {placements.name(worst)}{more} is {placements.min_in_sync[worst]}, and the step would leave "
            f"it with {left[worst]} in sync: replicas that are not in sync stay, and others leave."
        )
        remedies = ("Wait until its replicas are in sync.", "Exclude its topic.")
        raise Infeasible(detail, (Clash("min_insync_replicas", detail),), remedies)


def _traffic(placements: Placements, steps: Steps) -> Traffic:
    """What the steps send and receive."""
    copied = added(steps.before, steps.after)
    step, target = steps.after.row_of_each_value()[copied], steps.after.values[copied]
    width = int(max(target.max(initial=0), steps.sources.max(initial=0))) + 1
    brokers = np.concatenate([target, steps.sources[step]]).astype(np.int64)
    incoming = np.repeat([1, 0], len(target))
    both = np.concatenate([step, step])
    partition = steps.partitions[both]
    sizes = placements.bytes_of_each()[partition]
    rates = np.zeros(len(both)) if placements.rates is None else placements.rates[partition]
    key, index = np.unique((steps.batches[both].astype(np.int64) * width + brokers) * 2 + incoming, return_inverse=True)
    amounts = np.zeros(len(key), np.int64)
    np.add.at(amounts, index, sizes)
    return Traffic(
        (key // (2 * width)).astype(np.int32),
        (key // 2 % width).astype(np.int32),
        key % 2 == 1,
        amounts,
        np.bincount(index, rates, len(key)).astype(np.float64, copy=False),
    )
