"""The question: a group, and the numbers of members that come into question."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa

from service.core.errors import InvalidQuestion
from service.core.model import Bools, Group
from service.decisions.groups.question import GroupQuestion
from service.decisions.groups.rows import has_lag
from service.decisions.rebalances.question import RebalancesQuestion, timing_faults
from service.decisions.rows import duplicates_in_list
from service.planner.member_counts import LoadBounds, Scaling, Trigger
from service.strategies import GROUP_PROTOCOLS, KAFKAS


@dataclass(frozen=True)
class Lags:
    """The loads of partitions, and why some are not known: bool[partitions] each.

    uncommitted : the group has committed nothing, and ``auto.offset.reset`` decides whether it reads the log or only what comes
    endless : the end of the log is not known
    negative : the committed offset is beyond the end
    """

    loads: LoadBounds
    uncommitted: Bools
    endless: Bools
    negative: Bools


def lags_of(group: Group, policy: str | None) -> Lags:
    """The loads of a group's partitions. policy : ``latest`` or ``earliest``, of partitions without an offset; None: not known

    Without a log start, a log is taken to begin at 0 at the earliest.
    """
    if group.topics.offsets is None:
        nothing = np.zeros(group.topics.partitions_count, np.bool_)
        return Lags(LoadBounds.of(group), nothing, nothing, nothing)
    committed, ends, starts = group.topics.offsets
    endless = ends < 0
    whole = np.where(endless, 0, ends - np.maximum(starts, 0)).astype(np.float64)
    uncommitted = (committed < 0) & (whole > 0)
    loads = LoadBounds.of(group)
    least = np.where(uncommitted, whole, loads.least) if policy == "earliest" else loads.least
    most = loads.least if policy == "latest" else np.where(uncommitted, whole, loads.least)
    known = replace(loads, least=least, most=most, is_unbounded=bool(endless.any()))
    return Lags(known, uncommitted, endless, ~endless & (committed > ends))


MOST_MEMBERS: Final = 100_000
"""The largest number of members that is planned."""

MOST_PLANS: Final = 1_000
"""Numbers of members that are planned where the question does not list them."""


@dataclass(frozen=True)
class Limits:
    """What every member must keep. max_load : in the unit of its load; max_lag_seconds : to work off its lag"""

    max_load: float | None = None
    max_lag_seconds: float | None = None


@dataclass(frozen=True)
class MemberCountsQuestion:
    """A group as it is now, and what it must keep.

    group : topics, members with what they own, assignor. If no member owns anything, what the assignor would give them counts
    members_counts : None: from 1 to the number of partitions, as far as ``MOST_PLANS`` allows
    consumption_rate : the load that a member works off per second; the load is then a lag
    threads_per_pod : members that run in one pod
    timing : fields of ``Timing`` and ``min_session_timeout_ms``; absent or None: Kafka's default
    price_per_gb : of what crosses zones; None: not known
    beside_balanced : plan under ``balanced`` too, where the protocol has it?
    standstill : simulate how long partitions have no reader until the group has each number of members?
    trigger, scaling : of KEDA's ScaledObject
    offset_reset_policy : what members read of partitions without a committed offset: ``latest``, ``earliest``; None: not known
    """

    group: GroupQuestion
    members_counts: tuple[int, ...] | None = None
    consumption_rate: float | None = None
    limits: Limits = Limits()
    threads_per_pod: int = 1
    timing: Mapping[str, Any] = field(default_factory=dict)
    price_per_gb: float | None = None
    standstill: bool = True
    beside_balanced: bool = True
    trigger: Trigger = field(default_factory=Trigger)
    scaling: Scaling = field(default_factory=Scaling)
    offset_reset_policy: str | None = None

    @property
    def assignors_count(self) -> int:
        """Under how many assignors the numbers are planned: share groups have no ``balanced``."""
        return 2 if self.beside_balanced and self.group.protocol != "share" else 1

    @property
    def has_lag(self) -> bool:
        """Is the load a lag, which members work off, and no rate?"""
        return self.consumption_rate is not None or has_lag(self.group.topics)

    @property
    def is_weighted(self) -> bool:
        """Have partitions a load of their own?"""
        topics = self.group.topics
        return has_lag(topics) or bool(topics.field("partition_weights").null_count < len(topics))


def as_it_is(question: MemberCountsQuestion, members: pa.StructArray, assignor: str | None) -> RebalancesQuestion:
    """The question about the rebalances of the group to which nothing happens yet. members : with what they own"""
    group = question.group
    timing = {name: value for name, value in question.timing.items() if value is not None}
    return RebalancesQuestion(
        group.topics,
        members,
        timing=timing,
        group_protocol=group.group_protocol,
        assignor=assignor,
        kafka_version=group.version,
    )


def faults(question: MemberCountsQuestion) -> Iterator[InvalidQuestion]:
    """What is wrong between the fields beside the group."""
    yield from duplicates_in_list(question.members_counts or (), "members_counts")
    if question.limits.max_lag_seconds is not None and question.consumption_rate is None:
        yield InvalidQuestion("Requires consumption_rate.", "limits", "max_lag_seconds")
    if question.consumption_rate is not None and not question.is_weighted:
        yield InvalidQuestion(
            "Requires the lag of each partition: topics[].lag or topics[].partition_weights. kafka-consumer-groups --describe "
            "prints it.",
            "consumption_rate",
        )
    if question.group.protocol in KAFKAS:
        yield from timing_faults(as_it_is(question, question.group.members, question.group.assignor))
    elif question.group.protocol in GROUP_PROTOCOLS:
        yield InvalidQuestion(f"Member counts are planned only for groups that rebalance: {', '.join(KAFKAS)}.", "group_protocol")
    if question.scaling.min_replica_count > question.scaling.max_replica_count:
        yield InvalidQuestion("Must be at most max_replica_count.", "keda", "min_replica_count")
