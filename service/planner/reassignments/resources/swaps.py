"""The state of a search that evens out several resources (``search``), and its swaps of two replicas."""

from typing import Final, NamedTuple

import numpy as np

from service.core.kernels import borrowing_kernel, inner_kernel, kernel
from service.core.model import NONE, Bools, Float64s, Int32s, Int64s
from service.planner.reassignments.search.exchanges import (
    DONE,
    IMPOSSIBLE,
    MORE,
    TURN,
    ReplicaSets,
    breadth,
    exchange_cost,
    is_member,
    replace_broker,
)
from service.planner.reassignments.search.same_rack import look_at_strays, more_than_now, strays

# The state of a search that evens out several resources, and what a step changes. See ``balance``.

_ROUNDING: Final = 1e-9
"""What a step gains at least, as a share of what it changes on both brokers: so rounding makes no step go back and forth."""

_BELOW_ROUNDING: Final = 1e-6
"""Times _ROUNDING, the share of a load that may be lost where a distance is subtracted."""

GAIN: Final = 4
"""What looking at a resource of a step counts in ``work``."""

FREE: Final = 1 / 16
"""The share of the threshold that a step gains at least if it copies nothing."""


class Resources(NamedTuple):
    """The resources to even out.

    leaders : int32[partitions of the state], the broker that leads each
    parts : float64[2, partitions of the state, resources]   what a replica takes, of a follower (0) and of a leader (1)
    loads : float64[brokers, resources]
    columns : int64[priorities, 2], the first resource of each and the one after its last; banded : bool[priorities]
    shares : float64[priorities, brokers, resources], factor ÷ weight
    low, high : float64[priorities, brokers, resources], the band
    least : float64[priorities], what a step that copies has to gain
    sizes : int64[partitions of the state]; used, capacities : int64[brokers]   bytes
    may_lead : bool[brokers]
    now : int32[partitions of the state], the current leader if it may lead, or NONE
    topics : int32[partitions of the state]; spare : int64[topics, brokers], how many of its leaders of a topic each may lose;
        where that is not limited, topics are all 0
    free : bool[2]   may replicas move; may a leader change although it can stay?
    copied, limits : int64[2], the replicas and bytes that are copied, and may be
    step : float64[resources], for kernels: what the step in question takes from one broker to another
    """

    leaders: Int32s
    parts: Float64s
    loads: Float64s
    columns: Int64s
    banded: Bools
    shares: Float64s
    low: Float64s
    high: Float64s
    least: Float64s
    sizes: Int64s
    used: Int64s
    capacities: Int64s
    may_lead: Bools
    now: Int32s
    topics: Int32s
    spare: Int64s
    free: Bools
    copied: Int64s
    limits: Int64s
    step: Float64s


@borrowing_kernel
def distance(r: Resources, priority: int, broker: int, k: int, load: float) -> float:
    """How far from the band this load is."""
    return float(max(load - r.high[priority, broker, k], r.low[priority, broker, k] - load, 0.0))


@borrowing_kernel
def gain_of(r: Resources, priority: int, a: int, b: int) -> tuple[int, float]:
    """By how much the sum falls if ``step`` goes from a to b: the first priority whose sum changes, and by how much it falls.

    The one after ``priority`` if none changes.
    """
    for level in range(priority + 1):
        gain = changed = 0.0
        for k in range(r.columns[level, 0], r.columns[level, 1]):
            amount = r.step[k]
            if r.banded[level]:
                for broker, change in ((a, -amount), (b, amount)):
                    load = r.loads[broker, k]
                    before, after = distance(r, level, broker, k, load), distance(r, level, broker, k, load + change)
                    weighted = r.shares[level, broker, k] * (before + after)
                    gain += weighted * (before - after)
                    changed += weighted * (abs(before - after) + _BELOW_ROUNDING * load)
            else:
                left = r.shares[level, a, k] * amount * (2.0 * r.loads[a, k] - amount)
                came = r.shares[level, b, k] * amount * (2.0 * r.loads[b, k] + amount)
                gain, changed = gain + left - came, changed + abs(left) + abs(came)
        if abs(gain) > _ROUNDING * changed:
            return level, gain
    return priority + 1, 0.0


@borrowing_kernel
def most_gained(r: Resources, priority: int, a: int, b: int) -> float:
    """No step between a and b gains more at this priority."""
    most = 0.0
    for k in range(r.columns[priority, 0], r.columns[priority, 1]):
        of_a, of_b = r.shares[priority, a, k], r.shares[priority, b, k]
        if r.banded[priority]:
            most += of_a * distance(r, priority, a, k, r.loads[a, k]) ** 2
            most += of_b * distance(r, priority, b, k, r.loads[b, k]) ** 2
        elif of_a > 0.0:
            most += (of_a * r.loads[a, k] - of_b * r.loads[b, k]) ** 2 / (of_a + of_b)
    return most


@borrowing_kernel
def slope(r: Resources, priority: int, broker: int, k: int) -> float:
    """What a unit less of a resource on a broker gains, to first order."""
    load = r.loads[broker, k]
    if r.banded[priority]:
        high, low = r.high[priority, broker, k], r.low[priority, broker, k]
        load = load - high if load > high else min(0.0, load - low)
    return float(2.0 * r.shares[priority, broker, k] * load)


@borrowing_kernel
def worth(rule: tuple[int, int, float], level: int, gain: float, cost: int) -> bool:
    """May a step with this gain add this number of copies? rule : priority, most copies, threshold"""
    if level > rule[0] or gain <= 0.0 or cost > rule[1]:
        return False
    return level < rule[0] or gain >= rule[2] * (cost if cost > 0 else FREE)


@borrowing_kernel
def within_limits(r: Resources, copies: int, amount: int) -> bool:
    """May so much more be copied? What saves copies always may."""
    return (copies <= 0 or r.copied[0] + copies <= r.limits[0]) and (amount <= 0 or r.copied[1] + amount <= r.limits[1])


@borrowing_kernel
def shift(r: Resources, a: int, b: int) -> None:
    """Take ``step`` from a to b."""
    for k in range(len(r.step)):
        r.loads[a, k] -= r.step[k]
        r.loads[b, k] += r.step[k]


@borrowing_kernel
def replace_replica(s: ReplicaSets, r: Resources, partition: int, a: int, b: int, cost: int) -> None:
    """Have b take the place of a in a partition, as its leader too. ``loads`` stay as they are."""
    replace_broker(s, partition, a, b)
    if r.leaders[partition] == a:
        hand_over(r, partition, b)
    r.used[a] -= r.sizes[partition]
    r.used[b] += r.sizes[partition]
    r.copied[0] += cost
    r.copied[1] += cost * r.sizes[partition]


@borrowing_kernel
def hand_over(r: Resources, partition: int, b: int) -> None:
    """Have b lead the partition. ``loads`` stay as they are."""
    r.spare[r.topics[partition], r.leaders[partition]] -= 1
    r.spare[r.topics[partition], b] += 1
    r.leaders[partition] = b


@borrowing_kernel
def copies_of(s: ReplicaSets, partition: int, a: int, b: int) -> int:
    """As ``exchange_cost``, which is inlined wherever it is called and takes long to compile."""
    s.work[0] += breadth(s, partition)
    return exchange_cost(s, partition, a, b)


@borrowing_kernel
def can_move(s: ReplicaSets, r: Resources, partition: int, a: int, b: int) -> bool:
    """Do limits of b allow it to replace a, as far as ``exchange_cost`` does not say so?"""
    leads = r.leaders[partition] == a
    return (
        s.loads[b] < s.most[b]
        and r.used[b] + r.sizes[partition] <= r.capacities[b]
        and (not leads or ((r.may_lead[b] or not r.may_lead[a]) and r.spare[r.topics[partition], a] > 0))
    )


@borrowing_kernel
def can_lead(s: ReplicaSets, r: Resources, partition: int, a: int, b: int) -> bool:
    """May the partition's leader a hand over to its other replica b?"""
    if not (s.usable[b] and (r.may_lead[b] or not r.may_lead[a])) or r.spare[r.topics[partition], a] <= 0:
        return False
    return r.free[1] or r.now[partition] in (NONE, b) or not is_member(s, partition, r.now[partition])


@borrowing_kernel
def set_step(r: Resources, partition: int, role: int, other: int, its_role: int) -> None:
    """``step`` : what the partition takes of its leader (role 1) or a follower (0), less that of the other, unless it is NONE."""
    for k in range(len(r.step)):
        r.step[k] = r.parts[role, partition, k] - (r.parts[its_role, other, k] if other != NONE else 0.0)


_NEAREST: Final = 2
"""Partners of a swap that are tried to either side of the one that would even out best."""

_MOST_SWAPPED: Final = 100_000
"""Replicas of a broker of which swaps are tried: sorting more takes too long."""


@kernel
def swap(s: ReplicaSets, r: Resources, rule: tuple[int, int, float], following: Int64s, taken: Int64s, looked_at: Int64s) -> int:
    """Have replicas of two brokers change places, pair by pair. As ``_move``; following : int64[2], the pair that comes next"""
    brokers = len(s.loads)
    while following[0] < brokers and r.free[0]:
        a, b = following[0], max(following[1], following[0] + 1)
        if s.work[0] > TURN:
            looked_at[0] += s.work[0]
            return MORE
        s.work[0] += 1
        following[1] = b + 1
        if b >= brokers:
            following[0], following[1] = a + 1, NONE
        elif s.first[a] != NONE and s.first[b] != NONE and most_gained(r, rule[0], a, b) >= rule[2]:
            taken[0] += _swap_pair(s, r, rule, a, b)
    looked_at[0] += s.work[0]
    return DONE


@inner_kernel
def _swap_pair(s: ReplicaSets, r: Resources, rule: tuple[int, int, float], a: int, b: int) -> int:
    """The swaps made between a and b.

    A replica's *pull* is what it gains, to first order, if it goes from a to b. What two that swap should differ by is known.
    """
    on_a, on_b = _partitions_on(s, a), _partitions_on(s, b)
    if max(len(on_a), len(on_b)) > _MOST_SWAPPED:
        return 0
    slopes = np.zeros(len(r.step))
    for k in range(r.columns[rule[0], 0], r.columns[rule[0], 1]):
        slopes[k] = slope(r, rule[0], a, k) - slope(r, rule[0], b, k)
    roles = np.array([r.leaders[partition] == b for partition in on_b])
    pulls = np.array([_pull(r, slopes, partition, b) for partition in on_b])
    s.work[0] += len(on_b) * (GAIN * len(slopes) + 40)
    order = np.argsort(pulls, kind="mergesort")
    taken, swaps = np.zeros(len(on_b), np.bool_), 0
    wanted = 2.0 * most_gained(r, rule[0], a, b)
    for role in (False, True):
        partners = np.array([i for i in order if roles[i] == role], np.int64)
        sorted_pulls = pulls[partners]
        for p in range(len(on_a)):
            partition = on_a[p]
            if partition == NONE:
                continue
            s.work[0] += GAIN * len(slopes) + 40
            pull = _pull(r, slopes, partition, a)
            middle = np.searchsorted(sorted_pulls, pull - wanted)
            partner = _best_partner(s, r, rule, (partition, a, b), on_b, partners, taken, int(middle))
            if partner == NONE:
                continue
            other = on_b[partner]
            costs = copies_of(s, partition, a, b), copies_of(s, other, b, a)
            set_step(r, partition, int(r.leaders[partition] == a), other, int(r.leaders[other] == b))
            replace_replica(s, r, partition, a, b, costs[0])
            replace_replica(s, r, other, b, a, costs[1])
            shift(r, a, b)
            taken[partner], on_a[p] = True, NONE
            swaps += 1
            wanted = 2.0 * most_gained(r, rule[0], a, b)
    return swaps


@borrowing_kernel
def _best_partner(
    s: ReplicaSets,
    r: Resources,
    rule: tuple[int, int, float],
    mover: tuple[int, int, int],
    on_b: Int32s,
    partners: Int64s,
    taken: Bools,
    middle: int,
) -> int:
    """Which of b's partitions, an index into ``on_b``, gains most if it changes places with the mover: (partition, a, b)."""
    partition, a, b = mover
    best, best_level, best_gain = NONE, rule[0] + 1, 0.0
    for at in range(max(0, middle - _NEAREST), min(len(partners), middle + _NEAREST)):
        partner = partners[at]
        other = on_b[partner]
        s.work[0] += GAIN * len(r.step)
        if taken[partner]:
            continue
        set_step(r, partition, int(r.leaders[partition] == a), other, int(r.leaders[other] == b))
        level, gain = gain_of(r, rule[0], a, b)
        if level > best_level or gain <= 0.0 or (level == best_level and gain <= best_gain):
            continue
        if not may_swap(r, partition, other, a, b):
            continue
        first, second = copies_of(s, partition, a, b), copies_of(s, other, b, a)
        if IMPOSSIBLE in (first, second) or not worth(rule, level, gain, first + second):
            continue
        if within_limits(r, first + second, first * r.sizes[partition] + second * r.sizes[other]):
            best, best_level, best_gain = int(partner), level, gain
    return best


@borrowing_kernel
def may_swap(r: Resources, partition: int, other: int, a: int, b: int) -> bool:
    """May the partition go from a to b, and the other from b to a, as far as ``exchange_cost`` does not say so?"""
    more = r.sizes[partition] - r.sizes[other]
    if (more > 0 and r.used[b] + more > r.capacities[b]) or (more < 0 and r.used[a] - more > r.capacities[a]):
        return False
    leads, led = r.leaders[partition] == a, r.leaders[other] == b
    if r.may_lead[a] != r.may_lead[b] and (leads or led):
        return False
    same = leads and led and r.topics[partition] == r.topics[other]
    lacking = (leads and r.spare[r.topics[partition], a] <= 0) or (led and r.spare[r.topics[other], b] <= 0)
    return bool(same or not lacking)


@inner_kernel
def _partitions_on(s: ReplicaSets, broker: int) -> Int32s:
    """int32[...], in order, so that they do not depend on the steps before."""
    count = 0
    place = s.first[broker]
    while place != NONE:
        count += 1
        place = s.after[place]
    partitions = np.empty(count, np.int32)
    place = s.first[broker]
    for i in range(count):
        partitions[i] = s.row_of[place]
        place = s.after[place]
    partitions.sort()
    return partitions


@borrowing_kernel
def _pull(r: Resources, slopes: Float64s, partition: int, broker: int) -> float:
    role, pull = int(r.leaders[partition] == broker), 0.0
    for k in range(len(slopes)):
        pull += slopes[k] * r.parts[role, partition, k]
    return pull


def stay_on_racks(s: ReplicaSets, r: Resources, on_rack: Bools) -> bool:
    """Have replicas stay on their rack; returns whether anything has changed. on_rack : see ``look_at_strays``"""
    return bool(r.free[0]) and look_at_strays(s, on_rack, lambda *guests: _stay_each(s, r, on_rack, *guests))


@kernel
def _stay_each(s: ReplicaSets, r: Resources, on_rack: Bools, offsets: Int32s, guests: Int32s, progress: Int64s) -> int:
    """Look once at each stray, as in ``search.same_rack``. DONE or MORE."""
    while progress[0] < len(guests):
        if s.work[0] > TURN:
            return MORE
        progress[1] += _stay(s, r, on_rack, (offsets, guests), guests[progress[0]])
        progress[0] += 1
    return DONE


@borrowing_kernel
def _stay(s: ReplicaSets, r: Resources, on_rack: Bools, guests: tuple[Int32s, Int32s], place: int) -> bool:
    """Have the replica at this place go back to its rack, alone or for another stray; False if that raises a sum."""
    partition, a = s.row_of[place], int(s.members[place])
    if not strays(s, on_rack, partition, a):
        return False
    for b in range(len(s.loads)):
        s.work[0] += 1
        if s.racks[b] == s.racks[a] or more_than_now(s, on_rack, partition, s.racks[b]) >= 0:
            continue
        if copies_of(s, partition, a, b) != 0:
            continue
        set_step(r, partition, int(r.leaders[partition] == a), NONE, 0)
        if can_move(s, r, partition, a, b) and _as_even(s, r, a, b):
            replace_replica(s, r, partition, a, b, 0)
            shift(r, a, b)
            return True
        for i in range(guests[0][b], guests[0][b + 1]):
            guest = guests[1][i]
            other = s.row_of[guest]
            s.work[0] += 1
            if s.members[guest] != b or other == partition or not strays(s, on_rack, other, b):
                continue
            set_step(r, partition, int(r.leaders[partition] == a), other, int(r.leaders[other] == b))
            if _as_even(s, r, a, b) and may_swap(r, partition, other, a, b) and copies_of(s, other, b, a) == 0:
                replace_replica(s, r, partition, a, b, 0)
                replace_replica(s, r, other, b, a, 0)
                shift(r, a, b)
                return True
    return False


@borrowing_kernel
def _as_even(s: ReplicaSets, r: Resources, a: int, b: int) -> bool:
    """Does no sum rise, in the order of priorities, if ``step`` goes from a to b?"""
    s.work[0] += GAIN * len(r.step)
    return gain_of(r, len(r.columns) - 1, a, b)[1] >= 0.0
