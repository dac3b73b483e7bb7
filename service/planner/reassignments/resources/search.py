"""Sets and leaders that even out several resources, by moves of replicas, changes of leaders, and swaps of two replicas."""

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from service.core.kernels import borrowing_kernel, kernel
from service.core.model import NONE, Bools, Int32s, Int64s, Ragged
from service.core.ragged import taken
from service.planner.reassignments.feasibility.feasible import bytes_of_brokers
from service.planner.reassignments.feasibility.start import spare_leaders
from service.planner.reassignments.leaders import elect, with_leaders
from service.planner.reassignments.model import Brokers, Goal, Placements
from service.planner.reassignments.resources.loads import COUNTS, Loads, band_of
from service.planner.reassignments.resources.swaps import (
    FREE,
    GAIN,
    Resources,
    can_lead,
    can_move,
    copies_of,
    gain_of,
    hand_over,
    most_gained,
    replace_replica,
    set_step,
    shift,
    slope,
    stay_on_racks,
    swap,
    within_limits,
    worth,
)
from service.planner.reassignments.search.exchanges import DONE, IMPOSSIBLE, MORE, TURN, ReplicaSets, in_turns, link
from service.planner.reassignments.sets import copied, has_room, in_order, replica_state

# Several resources evened out together, by moves of replicas, changes of leaders, and swaps of two replicas. Good, but not
# proven: several sizes of each replica make it a packing problem.
#
# *What is least*: at each priority the sum, over its resources and the brokers, of factor × load² ÷ weight, or with a band of
# factor × (distance from the band)² ÷ weight. A step is taken if it lowers the sum of a priority and raises none before it.
#
# *Which steps come first*: those that copy nothing, and of the others those that gain most for each copy. A step has to gain a
# threshold, which falls to a quarter whenever no step gains it any more. Two brokers are compared only if evening them out at
# will would gain as much, so later rounds look at little.

MOST: Final = 1_000_000_000
"""Most work in all, some two seconds; then no further steps are tried."""

ANY_COPIES: Final = 2
"""The most copies that a step adds: a swap copies two replicas."""

_ROUNDS: Final = 20
"""How often steps are taken again after copies were saved."""

_START: Final = -2
"""Instead of a place on a broker: before the first."""


def even_out_resources(s: ReplicaSets, r: Resources, priorities: Sequence[int], most_copies: int) -> None:
    """Take the steps of these priorities until none gains, and save the copies and changes of leaders that gain nothing.

    most_copies : that a step may add
    """
    looked_at = np.zeros(1, np.int64)
    for _ in range(_ROUNDS):
        for priority in priorities:
            _even_out(s, r, (priority, most_copies), looked_at)
        following, saved = np.zeros(1, np.int64), np.zeros(1, np.int64)
        in_turns(s, lambda: _save(s, r, priorities[-1], following, saved))  # noqa: B023
        if not saved[0]:
            return


def _even_out(s: ReplicaSets, r: Resources, rule: tuple[int, int], looked_at: Int64s) -> None:
    """Take the steps of a priority. rule : the priority, and the most copies of a step; looked_at : int64[1], counted up"""
    least = float(r.least[rule[0]])
    threshold, taken = max(least, _largest_gain(s, r, rule[0])), np.zeros(1, np.int64)

    def every(take: Callable[..., int]) -> bool:
        following, before = np.array([0, _START], np.int64), int(taken[0])
        in_turns(s, lambda: take(s, r, (*rule, threshold), following, taken, looked_at))
        return bool(taken[0] > before and looked_at[0] < MOST)

    while looked_at[0] < MOST:
        before = int(taken[0])
        while every(_move):
            pass
        # Where many moves gain, the next ones do more for a band than swaps, which take longer to find.
        many = bool(r.banded[rule[0]]) and threshold > least and taken[0] - before >= len(s.loads)
        more = not many and every(swap)
        if threshold > least:  # what is left is found with the next threshold
            threshold = max(least, threshold / 4)
        elif not more:
            return


@kernel
def _largest_gain(s: ReplicaSets, r: Resources, priority: int) -> float:
    most = 0.0
    for a in range(len(s.loads)):
        if s.first[a] != NONE:
            for b in range(len(s.loads)):
                if s.usable[b] and b != a:
                    most = max(most, most_gained(r, priority, a, b))
    return most


@kernel
def _move(s: ReplicaSets, r: Resources, rule: tuple[int, int, float], following: Int64s, taken: Int64s, looked_at: Int64s) -> int:
    """Take the best step of each replica and each leader, broker by broker. DONE or MORE.

    rule : priority, most copies, threshold; following : int64[2], the broker and the place on it that come next
    taken, looked_at : int64[1], counted up
    """
    targets, flattest = np.empty(len(s.loads), np.int32), np.empty(len(r.step))
    while following[0] < len(s.loads):
        a, place = following[0], following[1]
        if place == _START:
            place = s.first[a]
        count = 0
        s.work[0] += len(s.loads) * (1 + GAIN * len(r.step))
        flattest[:] = np.inf
        for b in range(len(s.loads)):
            if s.usable[b] and b != a and most_gained(r, rule[0], a, b) >= rule[2] * FREE:
                targets[count] = b
                count += 1
                for k in range(r.columns[rule[0], 0], r.columns[rule[0], 1]):
                    flattest[k] = min(flattest[k], slope(r, rule[0], b, k))
        while place != NONE and count > 0:
            if s.work[0] > TURN:
                following[1] = place
                looked_at[0] += s.work[0]
                return MORE
            partition, after = s.row_of[place], s.after[place]
            s.work[0] += GAIN * len(r.step)
            role = int(r.leaders[partition] == a)
            moved = led = 0.0  # the most that the replica, and the leader alone, could gain anywhere
            for k in range(r.columns[rule[0], 0], r.columns[rule[0], 1] if rule[0] == 0 else 0):
                fall = slope(r, rule[0], a, k) - flattest[k]
                moved += fall * r.parts[role, partition, k]
                led += fall * (r.parts[1, partition, k] - r.parts[0, partition, k])
            if rule[0] > 0 or max(moved, led if role == 1 else 0.0) >= rule[2] * FREE:
                taken[0] += _best_step(s, r, rule, partition, a, targets[:count])
            place = after
        following[0], following[1] = a + 1, _START
    looked_at[0] += s.work[0]
    return DONE


@borrowing_kernel
def _best_step(s: ReplicaSets, r: Resources, rule: tuple[int, int, float], partition: int, a: int, targets: Int32s) -> bool:  # noqa: C901, PLR0912 (a kernel)
    """Move the partition's replica on a, or its leader, to where that gains most; False if it gains nowhere."""
    best, cost, best_level, best_gain, moves = NONE, 0, rule[0] + 1, 0.0, False
    if r.leaders[partition] == a:
        set_step(r, partition, 1, partition, 0)
        for place in range(s.offsets[partition], s.offsets[partition + 1]):
            b = int(s.members[place])
            s.work[0] += GAIN * len(r.step)
            if b == a or not can_lead(s, r, partition, a, b):
                continue
            level, gain = gain_of(r, rule[0], a, b)
            if worth(rule, level, gain, 0) and (level < best_level or (level == best_level and gain > best_gain)):
                best, best_level, best_gain = b, level, gain
    if r.free[0]:
        set_step(r, partition, int(r.leaders[partition] == a), NONE, 0)
        for target in targets:
            s.work[0] += GAIN * len(r.step)
            level, gain = gain_of(r, rule[0], a, target)
            if level > best_level or gain <= 0.0 or (level == best_level and gain <= best_gain):
                continue
            if not can_move(s, r, partition, a, target):
                continue
            copies = copies_of(s, partition, a, target)
            if copies == IMPOSSIBLE or not worth(rule, level, gain, copies):
                continue
            if within_limits(r, copies, copies * r.sizes[partition]):
                best, cost, best_level, best_gain, moves = int(target), copies, level, gain, True
    if best == NONE:
        return False
    if moves:
        replace_replica(s, r, partition, a, best, cost)
    else:
        set_step(r, partition, 1, partition, 0)
        hand_over(r, partition, best)
    shift(r, a, best)
    return True


@kernel
def _save(s: ReplicaSets, r: Resources, priority: int, following: Int64s, saved: Int64s) -> int:
    """Move replicas home and give leaders back where that raises no sum. DONE or MORE.

    following : int64[1], the partition that comes next; saved : int64[1], counted up
    """
    for partition in range(following[0], len(s.offsets) - 1):
        if s.work[0] > TURN:
            following[0] = partition
            return MORE
        leader, now = r.leaders[partition], r.now[partition]
        for place in range(s.offsets[partition], s.offsets[partition + 1]):
            member = int(s.members[place])
            if member == now and leader != now and can_lead(s, r, partition, leader, now):
                set_step(r, partition, 1, partition, 0)
                level, gain = gain_of(r, priority, leader, now)
                if level > priority or gain > 0.0:
                    hand_over(r, partition, now)
                    shift(r, leader, now)
                    saved[0] += 1
        for i in range(s.home_offsets[partition], s.home_offsets[partition + 1]):
            home = int(s.homes[i])
            for place in range(s.offsets[partition], s.offsets[partition + 1]):
                member = int(s.members[place])
                if not r.free[0] or copies_of(s, partition, member, home) != -1:
                    continue
                set_step(r, partition, int(r.leaders[partition] == member), NONE, 0)
                level, gain = gain_of(r, priority, member, home)
                if (level > priority or gain > 0.0) and can_move(s, r, partition, member, home):
                    replace_replica(s, r, partition, member, home, -1)
                    shift(r, member, home)
                    saved[0] += 1
    return DONE


_LEAST: Final = 1e-5
"""What a step that copies gains at least, as a share of the sum of one broker if all is even; less if half a replica is less."""

_NEAR: Final = 1e-9
"""A load this near to a band, as a share, is within it."""


def even_out_replicas(
    brokers: Brokers, placements: Placements, goal: Goal, chosen: Int32s, state: ReplicaSets
) -> tuple[Ragged, Bools]:
    """Even out the sets, which keep the rules, and choose leaders. The replicas, leaders first, and who is outside the tolerance.

    chosen : int32[partitions of the state]
    """
    before = elect(brokers, placements, in_order(brokers, placements, chosen, state), "keep")
    loads = Loads.of(brokers, placements, goal, before)
    resources = _resources(brokers, placements, goal, chosen, state, before, loads)
    priorities = len(goal.resources)
    copies = ANY_COPIES if goal.objective == "even" else 0
    even_out_resources(state, resources, range(priorities), copies)
    if goal.tolerance is not None:
        even_out_resources(state, resources, range(priorities, 2 * priorities), 0)

    def now() -> tuple[Ragged, Int32s, Bools]:
        above, below = resources.loads > resources.high[0] * (1 + _NEAR), resources.loads < resources.low[0] * (1 - _NEAR)
        outside = ((above | below) & (resources.shares[0] > 0)).any(axis=1) & brokers.usable & (goal.tolerance is not None)
        return in_order(brokers, placements, chosen, state), resources.leaders.copy(), outside

    after, led, outside = now()
    if stay_on_racks(state, resources, brokers.listed):
        on_racks = now()
        if has_room(brokers, placements, on_racks[0]):
            after, led, outside = on_racks
    leaders = before.firsts().copy()
    leaders[chosen] = led
    return with_leaders(brokers, placements, after, leaders, goal.leaders), outside


def even_out_leaders(brokers: Brokers, placements: Placements, goal: Goal) -> Ragged:
    """The replicas where they are, with the leaders that even out the resources."""
    chosen = placements.chosen()
    state, _ = replica_state(brokers, placements, chosen, "none", hold=False)
    state.members[:] = taken(placements.replicas, chosen).values
    state.loads[:] = np.bincount(placements.replicas.values, minlength=len(brokers))
    link(state)
    return even_out_replicas(brokers, placements, goal, chosen, state)[0]


def _resources(
    brokers: Brokers, placements: Placements, goal: Goal, chosen: Int32s, state: ReplicaSets, replicas: Ragged, loads: Loads
) -> Resources:
    """replicas, loads : of the sets, with leaders first"""
    scales, count = loads.scales(brokers), len(brokers)
    weights = np.array([weight for level in goal.resources for _, weight in level])
    factors = np.divide(weights, scales, out=np.zeros(len(scales)), where=scales > 0)
    of_one = np.where(np.isin(loads.names, COUNTS) & (factors > 0), factors, np.inf) / brokers.weights.max(initial=1.0)
    ends = np.cumsum([len(level) for level in goal.resources])
    columns = np.stack([np.concatenate([[0], ends[:-1]]), ends], axis=1)
    least = np.array(
        [
            min(_LEAST / max(1, int(np.count_nonzero(brokers.usable))), float(of_one[first:end].min()) / 2)
            for first, end in columns.tolist()
        ]
    )
    banded = np.zeros(len(columns), np.bool_)
    low, high = np.zeros((2, count, len(scales)))
    if goal.tolerance is not None:
        bands = [band_of(brokers, name, loads.totals[:, i], goal.tolerance) for i, name in enumerate(loads.names)]
        low, high = (np.stack([each[i] for each in bands], axis=1) for i in (0, 1))
        columns, least = np.concatenate([columns, columns]), np.concatenate([least, least])
        banded = np.concatenate([~banded, banded])
    of_each = (len(columns), count, len(scales))
    leaders = replicas.firsts()[chosen]
    may_lead = brokers.usable & ~brokers.demoted
    now = placements.replicas.firsts()[chosen]
    copies = copied(placements, replicas)
    sizes = placements.bytes_of_each()
    return Resources(
        leaders.astype(np.int32),
        np.stack([np.stack([each.follower[chosen], each.leader[chosen]]) for each in loads.parts], axis=2),
        loads.totals.copy(),
        columns.astype(np.int64),
        banded,
        np.broadcast_to(factors / brokers.weights[:, None], of_each).copy(),
        np.broadcast_to(low, of_each).copy(),
        np.broadcast_to(high, of_each).copy(),
        least,
        sizes[chosen],
        bytes_of_brokers(brokers, placements, chosen, state),
        brokers.capacity_bytes.astype(np.int64),
        may_lead,
        np.where(may_lead[now], now, NONE).astype(np.int32),
        *spare_leaders(brokers, placements, chosen, replicas),
        np.array([not goal.only_leaders, goal.leaders != "keep"]),
        np.array([copies.sum(), copies @ sizes], np.int64),
        goal.limits(),
        np.zeros(len(loads.names)),
    )
