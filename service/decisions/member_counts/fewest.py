"""The fewest members that a group needs, as one number: for metrics, and for a fleet of groups."""

from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa

from service.decisions.budget import Budget
from service.decisions.groups.question import GroupQuestion
from service.decisions.groups.rows import TOPIC, partitions_total, read_group
from service.decisions.member_counts.answer import answer
from service.decisions.member_counts.question import MOST_PLANS, Limits, MemberCountsQuestion
from service.decisions.rows.arrays import with_columns
from service.planner.member_counts import load_of, useful_counts

EACH: Final = 64
"""Partitions up to which every number of members is planned; of more, those with which the share of a member falls."""


@dataclass(frozen=True)
class Need:
    """What members must do. rate : the records that one works off per second; max_lag_seconds : in how long it must"""

    rate: float
    max_lag_seconds: float


def fewest_members(group: GroupQuestion, need: Need | None, budget: Budget) -> int | None:
    """The fewest members that work off the group's lag in time; without a need, those of whom none has more partitions than now.

    group : its members own what they own now; its topics have ``lag`` if there is a need
    None if no number is enough, or no member owns anything. Raises as ``answer``.
    """
    if need is not None:
        limits = Limits(max_lag_seconds=need.max_lag_seconds)
    else:  # each partition is a load of 1
        without = {name: pa.nulls(len(group.topics), TOPIC.field(name).type) for name in ("partition_weights", "lag")}
        group = replace(group, topics=with_columns(group.topics, without))
        now = read_group(group.topics, group.members)
        limits = Limits(float(load_of(now, now.owned).most_partitions))
    if limits.max_load == 0:
        return None
    partitions = partitions_total(group.topics)
    counts = range(1, partitions + 1) if partitions <= EACH else useful_counts(partitions)
    question = MemberCountsQuestion(
        group,
        tuple(counts)[:MOST_PLANS] or (1,),
        None if need is None else need.rate,
        limits,
        standstill=False,
        beside_balanced=False,
    )
    return answer(question, budget).own.recommended
