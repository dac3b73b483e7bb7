"""The same group under other assignors: how even each is, what it moves, what crosses zones, and what it costs."""

from dataclasses import dataclass
from typing import Self

from service.core.assignors import Assignor
from service.core.certificate import Certificate
from service.core.clock import looking
from service.core.errors import AllocatorError, InvalidQuestion, KafkaError, LimitExceeded, PluginError
from service.core.measures import Spread, ZoneTraffic, spread, weighted_load, zone_traffic
from service.core.model import Float64s, Group, Int32s, Ragged
from service.core.ragged import transposed
from service.decisions.groups.question import GroupQuestion, strategy, variations
from service.planner.rebalances import Movement, Rebalance, final_rows, follow_up, movement, rebalance


@dataclass(frozen=True)
class Settled:
    """A group once it is at rest: after the second rebalance, where a cooperative assignor needs one.

    counts : int32[members], the partitions of each; load : how even they are
    weighted_load : float64[members], the weight of each member's partitions; None without weights
    movement : from what members owned before the first rebalance
    fewest_possible_moves, certificate : of the first rebalance
    traffic : None without racks
    """

    counts: Int32s
    load: Spread
    weighted_load: Float64s | None
    movement: Movement
    fewest_possible_moves: int | None
    certificate: Certificate | None
    traffic: ZoneTraffic | None

    @classmethod
    def of(cls, group: Group, first: Rebalance, second: Rebalance | None) -> Self:
        """The group after one rebalance or two."""
        rows: Ragged = final_rows((second or first).assignment)
        owners = transposed(rows, group.total_partitions)
        weights = group.topics.weights
        return cls(
            rows.lengths(),
            spread(rows.lengths()),
            None if weights is None else weighted_load(rows, weights),
            movement(group, owners),
            first.fewest_possible_moves,
            first.assignment.certificate,
            zone_traffic(group, owners),
        )


@dataclass(frozen=True)
class Costs:
    """What another assignor costs beside the one that is asked for.

    largest_load : by how much it is above that one's, as a share of it: of the weights, where partitions have some
    moves : partitions that move only under it; local_share : share that is read on the own rack only under the one asked for
    """

    largest_load: float | None
    moves: int
    local_share: float | None


@dataclass(frozen=True)
class Alternative:
    """Another assignor. settled : None if it cannot assign the group, as ``failure`` says"""

    question: GroupQuestion
    assignor: Assignor
    settled: Settled | None = None
    failure: AllocatorError | None = None


def costs(its: Settled, asked: Settled) -> Costs:
    """What an assignor costs beside the one that is asked for."""
    most, least = (_largest_load(each) for each in (its, asked))
    ours, theirs = (None if each.traffic is None else each.traffic.local_share for each in (asked, its))
    return Costs(
        most / least - 1 if least else None,
        its.movement.moved - asked.movement.moved,
        None if ours is None or theirs is None else ours - theirs,
    )


def _largest_load(settled: Settled) -> float:
    loads = settled.counts if settled.weighted_load is None else settled.weighted_load
    return float(loads.max(initial=0))


def alternatives(question: GroupQuestion, group: Group) -> tuple[Alternative, ...]:
    """The group under each assignor of ``compare``. Raises what the budget raises."""
    return tuple(_alternative(variation, group, strategy(variation)) for variation in looking(variations(question), 1))


def _alternative(variation: GroupQuestion, group: Group, assignor: Assignor) -> Alternative:
    try:
        first = rebalance(group, assignor)
        second = follow_up(group, first, assignor)[1] if first.assignment.follow_up_rebalance else None
    except LimitExceeded:
        raise
    except (KafkaError, PluginError, InvalidQuestion) as failure:
        return Alternative(variation, assignor, failure=failure)
    return Alternative(variation, assignor, Settled.of(group, first, second))
