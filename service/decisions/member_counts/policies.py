"""What KEDA would choose for the lags of a question, with each of its options that change the number of replicas."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from service.decisions.groups.rows import has_lag, lag_offsets
from service.planner.member_counts.keda import INT64, Trigger, metric, partition_lags, replicas

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from service.core.model import Int64s
    from service.decisions.member_counts.question import MemberCountsQuestion

OPTIONS: Final[Mapping[str | None, Callable[[Trigger], Trigger]]] = {
    None: lambda trigger: trigger,
    "limitToPartitionsWithLag": lambda trigger: replace(trigger, limit_to_partitions_with_lag=True),
    "ensureEvenDistributionOfPartitions": lambda trigger: replace(trigger, ensure_even_distribution_of_partitions=True),
    "allowIdleConsumers": lambda trigger: replace(trigger, allow_idle_consumers=True),
}
"""KEDA's name of an option → the trigger with it. KEDA refuses the first two together, and the first with the last."""

NEED_A_TOPIC: Final = ("limitToPartitionsWithLag", "ensureEvenDistributionOfPartitions")
"""Options that the scaler ``kafka`` takes only with a topic; a group of several topics then has a trigger for each."""


MOST_LAG: Final = 2**62
"""A larger weight counts as this lag."""


@dataclass(frozen=True)
class Policy:
    """A choice of KEDA's.

    option : of the trigger, by KEDA's name; None: its defaults
    triggers : how many there are, one for all topics or one for each
    total_lag : what they report, of all together, as the nearest int64
    replicas : pods; members_count : in them
    """

    option: str | None
    triggers: int
    total_lag: int
    is_active: bool
    replicas: int
    members_count: int


def policies(question: MemberCountsQuestion) -> tuple[Policy, ...]:
    """What KEDA chooses with each option, for the topics' lag, or else for their weights, rounded down."""
    lags = _lags(question)
    return tuple(_policy(question, lags, option) for option in OPTIONS)


def _lags(question: MemberCountsQuestion) -> list[Int64s]:
    """int64[...] of each topic, the lags of its partitions."""
    topics = question.group.topics
    first = np.cumsum(topics.field("partitions_count"))[:-1]
    if has_lag(topics):
        committed, ends, _ = lag_offsets(topics)
        of_topics = zip(np.split(committed, first), np.split(ends, first), strict=True)
        return [partition_lags(*each, question.trigger) for each in of_topics]
    weights = topics.field("partition_weights").flatten().to_numpy(zero_copy_only=False)
    return np.split(np.minimum(weights, float(MOST_LAG)).astype(np.int64), first)


def _policy(question: MemberCountsQuestion, lags: list[Int64s], option: str | None) -> Policy:
    trigger = OPTIONS[option](question.trigger)
    several = lags if option in NEED_A_TOPIC else [np.concatenate(lags)]
    metrics = [metric(each, trigger) for each in several]
    threads = question.threads_per_pod
    pods = replicas(metrics, trigger.lag_threshold, -(-len(question.group.members) // threads), question.scaling)
    return Policy(
        option,
        len(metrics),
        max(-INT64 - 1, min(sum(each.total_lag for each in metrics), INT64)),
        any(each.is_active for each in metrics),
        pods,
        pods * threads,
    )
