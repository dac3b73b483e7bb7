"""The state of a search that evens out several resources, and what a step changes. See ``balance``."""

from typing import Final, NamedTuple

from service.core.kernels import borrowing_kernel
from service.core.model import NONE, Bools, Float64s, Int32s, Int64s
from service.planner.reassignments.search.exchanges import ReplicaSets, breadth, exchange_cost, is_member, replace_broker

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
