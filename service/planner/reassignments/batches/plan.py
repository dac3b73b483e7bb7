"""A plan together with its batches.

A partition that takes a detour may as well stay there if that is no worse by the objective: with "fewest-moves" it saves a copy,
which comes before evenness; with "even" only where the numbers of replicas are as even, and nothing else counts.

A detour leads a partition by way of a broker with room to its own, which is full. If it ends there, and another partition that
was to have that broker takes the full one instead (a *partner*), all brokers have as many replicas as before; and if that copies
no more, the plan is as good, and may need no detour.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Final

import numpy as np

from service.core.budget import check_time
from service.core.errors import Clash, Infeasible, InvalidQuestion, NoPlan, NotFound
from service.core.model import NONE, Int32s, Int64s, Ragged
from service.core.printable import counted
from service.core.ragged import changed, taken
from service.planner.reassignments.batches.detours import fill_with_detours, keeps_rack_rule, with_rows
from service.planner.reassignments.batches.schedule import (
    Batches,
    BatchLimits,
    BatchProgress,
    Detour,
    Steps,
    Traffic,
    fill_batches,
)
from service.planner.reassignments.evenness import least_unevenness, unevenness
from service.planner.reassignments.leaders import elect, first_of
from service.planner.reassignments.model import NO_LIMIT, Brokers, Goal, Placements, Plan, bytes_on
from service.planner.reassignments.plan import plan, with_resources
from service.planner.reassignments.sets import Permits, added, copied, in_sync_after

# A plan divided into batches.
#
# A partition changes in one batch, from its current replicas to its last ones. While a batch runs, a moved replica is on both
# brokers: ``max_replicas`` and ``capacity_bytes`` hold with what the batch copies before anything that it moves away is
# deleted. What copies nothing (fewer replicas, another preferred leader) is in the first batch, and frees room for the second.
#
# Only where no order of the moves is found that keeps the limits, some partitions take a detour (``detours``).


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
    in_sync = now.count(placements.in_sync_now(brokers))
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
    copies = steps.after.count(added(steps.before, steps.after))
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


def _check_in_sync(brokers: Brokers, placements: Placements, replicas: Ragged) -> None:
    """Raise Infeasible if a step leaves a partition with fewer replicas in sync than it needs and has now."""
    if placements.min_in_sync is None:
        return
    left = replicas.count(in_sync_after(brokers, placements, replicas))
    before = placements.replicas.count(placements.in_sync_now(brokers))
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


def plan_in_batches(brokers: Brokers, placements: Placements, goal: Goal, limits: BatchLimits) -> tuple[Plan, Batches]:
    """The plan, whose cost is that of its batches, and these. Raises NoPlan, InvalidQuestion."""
    best, batches = _planned(brokers, placements, goal, limits)
    if not goal.limited or _copies_within(batches, goal):
        return best, batches
    evenest, aim = best.evenness_bound, goal
    for _ in range(_TRIES):  # what capacities and detours copy in addition is taken off the limit
        aim = _lowered(aim, goal, batches)
        best, batches = _planned(brokers, placements, aim, limits)
        if _copies_within(batches, goal):
            return replace(best, evenness_bound=min(evenest, best.evenness)), batches
    fewest = replace(goal, objective="fewest-moves", max_moves=None, max_bytes=None)
    best, batches = _planned(brokers, placements, fewest, limits)
    if _copies_within(batches, goal):
        return replace(best, evenness_bound=min(evenest, best.evenness)), batches
    raise _too_few_copies(goal, best, batches)


_TRIES: Final = 8
"""Plans with lower and lower limits of copies."""


def _copies_within(batches: Batches, goal: Goal) -> bool:
    return goal.within_limits(batches.cost("replicas"), batches.cost("bytes"))


def _lowered(aim: Goal, goal: Goal, batches: Batches) -> Goal:
    """The aim with its limits lower by what the batches exceed those of the goal by."""

    def lower(limit: int | None, asked: int | None, copied: int) -> int | None:
        return None if limit is None or asked is None else max(0, limit - max(0, copied - asked))

    moves = lower(aim.max_moves, goal.max_moves, batches.cost("replicas"))
    return replace(aim, max_moves=moves, max_bytes=lower(aim.max_bytes, goal.max_bytes, batches.cost("bytes")))


def _too_few_copies(goal: Goal, fewest: Plan, batches: Batches) -> NoPlan:
    """fewest, batches : of the plan with the fewest copies, which copies more than the goal allows"""
    clash, remedies, proven = [], [], False
    for name, unit, limit in (("max_moves", "replicas", goal.max_moves), ("max_bytes", "bytes", goal.max_bytes)):
        needed = batches.cost(unit)
        if limit is None or needed <= limit:
            continue
        known = fewest.lower_bound if (goal.balance == "bytes") == (unit == "bytes") else 0
        proven |= known > limit
        needs = f"the rules need at least {known:,}" if known > limit else f"the fewest found are {needed:,}"
        clash.append(Clash(name, f"{name} is {limit:,}, and {needs}."))
        remedies.append(f"{name} of at least {needed:,}.")
    kind = Infeasible if proven else NotFound
    return kind(f"The copies are limited: {' '.join(each.detail for each in clash)}", tuple(clash), tuple(remedies))


def _planned(brokers: Brokers, placements: Placements, goal: Goal, limits: BatchLimits) -> tuple[Plan, Batches]:
    best = plan(brokers, placements, goal)
    batches = in_batches(brokers, placements, best.replicas, limits, goal.racks)
    while batches.detours:
        for lists in _alternatives(brokers, placements, goal, best.replicas, batches.detours):
            replicas = elect(brokers, placements, with_rows(best.replicas, lists), goal.leaders, per_topic=goal.per_topic)
            shorter = in_batches(brokers, placements, replicas, limits, goal.racks)
            if shorter.cost(goal.balance) < batches.cost(goal.balance):
                best, batches = replace(best, replicas=replicas), shorter
                break
        else:
            break
    cost = batches.cost(goal.balance)
    detoured = goal.copies_first and best.cost < cost  # the bound is that of plans with as few copies
    if goal.resources:
        best = with_resources(brokers, placements, goal, best, None) if detoured else best
        return replace(best, cost=cost), batches
    evenness, bound = unevenness(brokers, placements, goal, best.replicas), best.evenness_bound
    if detoured:
        bound = min(bound, least_unevenness(brokers, placements, goal, None))
    return replace(best, cost=cost, evenness=evenness, evenness_bound=min(bound, evenness)), batches


def _alternatives(
    brokers: Brokers, placements: Placements, goal: Goal, replicas: Ragged, detours: tuple[Detour, ...]
) -> Iterator[dict[int, Int32s]]:
    """Lists of some partitions with which the plan is as good and may take fewer detours."""
    if goal.resources:  # leaders would have to be chosen anew
        return
    changes = [_stays(brokers, placements, goal, replicas, detours)]
    changes += (with_partners(brokers, placements, goal, replicas, detours, skipped) for skipped in range(TRIES))
    for at, lists in enumerate(changes):
        known = (each for each in changes[:at] if each.keys() == lists.keys())
        if lists and not any(all((each[key] == lists[key]).all() for key in lists) for each in known):
            yield lists


def _stays(
    brokers: Brokers, placements: Placements, goal: Goal, replicas: Ragged, detours: tuple[Detour, ...]
) -> dict[int, Int32s]:
    """The partitions that may end where their detours lead, and the lists that they have there."""
    even_first = goal.objective == "even"
    if even_first and (
        goal.balance == "bytes" or goal.per_topic or goal.tolerance is not None or (brokers.capacity_bytes != NO_LIMIT).any()
    ):
        return {}
    counts = np.bincount(replicas.values, minlength=len(brokers))
    sizes = placements.bytes_of_each()
    loads = bytes_on(replicas, sizes, len(brokers))
    stays = {}
    for detour in detours:
        target, size = replicas.row(detour.partition), int(sizes[detour.partition])
        source = placements.replicas.row(detour.partition)
        left, used = np.setdiff1d(target, detour.replicas), np.setdiff1d(detour.replicas, target)
        more = ((2 * counts[used] + 1) / brokers.weights[used]).sum() - ((2 * counts[left] - 1) / brokers.weights[left]).sum()
        fits = (counts[used] < brokers.max_replicas[used]) & (loads[used] + size <= brokers.capacity_bytes[used])
        if (even_first and more > 0) or not fits.all():
            continue
        if np.isin(brokers.replaced_by[source][brokers.replaced_by[source] != NONE], left).any():
            continue
        stays[detour.partition] = detour.replicas
        for some, change_of in ((left, -1), (used, 1)):
            counts[some] += change_of
            loads[some] += change_of * size
    return stays


TRIES: Final = 8
"""Partners that each detour tries, one in each plan."""

_LOOKED_AT: Final = 100
"""Partitions that are tried for one detour."""


def with_partners(
    brokers: Brokers, placements: Placements, goal: Goal, replicas: Ragged, detours: tuple[Detour, ...], skipped: int
) -> dict[int, Int32s]:
    """The lists of partitions that end where their detours lead, and of their partners.

    skipped : the number of partners of each detour that are passed over, where it has more
    """
    sizes, permits = placements.bytes_of_each(), Permits.of(brokers, placements)
    loads = bytes_on(replicas, sizes, len(brokers))
    topics, capacities = placements.topics, brokers.capacity_bytes

    def partners(partition: int, full: int, room: int) -> Iterator[tuple[int, Int32s]]:
        """Partitions with which the plan is as good if they have the full broker instead of the one with room; their lists."""
        places = np.flatnonzero(replicas.values == room)[:_LOOKED_AT]
        for partner in replicas.row_of_each_value()[places].tolist():
            more = sizes[partner] - sizes[partition]
            fits = loads[full] + more <= capacities[full] and loads[room] - more <= capacities[room]
            as_good = (not goal.per_topic or topics[partner] == topics[partition]) and (goal.balance != "bytes" or more == 0)
            if fits and as_good and _may_replace(brokers, placements, permits, replicas, partner, room, full):
                now, then = placements.replicas.row(partner), replicas.row(partner)
                instead = np.where(then == room, full, then).astype(np.int32)
                if keeps_rack_rule(permits, goal.racks, partner, now, then, instead):
                    yield partner, instead

    changed: dict[int, Int32s] = {}
    for detour in detours:
        target = replicas.row(detour.partition)
        left, used = np.setdiff1d(target, detour.replicas), np.setdiff1d(detour.replicas, target)
        if detour.partition in changed or len(left) != 1 or len(used) != 1:
            continue
        found = islice(partners(detour.partition, int(left[0]), int(used[0])), skipped + 1)
        free = [each for each in found if each[0] not in changed]
        if free:
            partner, instead = free[-1]
            more = sizes[partner] - sizes[detour.partition]
            loads[left] += more
            loads[used] -= more
            changed |= {detour.partition: detour.replicas, partner: instead}
    return changed


def _may_replace(
    brokers: Brokers, placements: Placements, permits: Permits, replicas: Ragged, partition: int, a: int, b: int
) -> bool:
    """May the partition have broker b instead of a in the plan, whose replicas these are, without another copy?"""
    now, of_set, replaced_by = placements.replicas.row(partition), permits.sets[partition], brokers.replaced_by
    at_home, leaves_home = bool((now == b).any()), bool((now == a).any())
    if placements.excluded[partition] or (replicas.row(partition) == b).any() or (leaves_home and not at_home):
        return False
    if not permits.keeps[of_set, b] or not (at_home or permits.receives[of_set, b]):
        return False
    return not ((replaced_by[now] == a).any() or (leaves_home and (replaced_by == a).any()))
