"""How many replicas KEDA would have for a group's lag: its Kafka scalers, and the HorizontalPodAutoscaler that they feed.

KEDA reports one number, the *total lag*, already cut down by its options; Kubernetes divides it by ``lagThreshold``.

Source: KEDA's pkg/scalers/kafka_scaler.go and apache_kafka_scaler.go, which compute alike: getLagForPartition, getTotalLag,
getNextFactorThatBalancesConsumersToTopicPartitions, FindFactors; Kubernetes' pkg/controller/podautoscaler/replica_calculator.go:
GetExternalPerPodMetricReplicas. ``excludePersistentLag`` compares two polls; it changes nothing at the first, which this is.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from service.core.model import Int64s

RELEASE: Final = "2.20.2"
"""The release of KEDA that is reproduced."""

UNKNOWN: Final = -1
"""The committed offset of a partition without one, and the end of a log that brokers do not tell."""

INT64: Final = 2**63 - 1


@dataclass(frozen=True)
class Trigger:
    """A trigger of type ``kafka`` or ``apache-kafka``, its options and their defaults."""

    lag_threshold: int = 10
    activation_lag_threshold: int = 0
    offset_reset_policy: str = "latest"
    scale_to_zero_on_invalid_offset: bool = False
    allow_idle_consumers: bool = False
    limit_to_partitions_with_lag: bool = False
    ensure_even_distribution_of_partitions: bool = False


@dataclass(frozen=True)
class Scaling:
    """What the ScaledObject says beside its triggers. tolerance : of the HorizontalPodAutoscaler, up and down"""

    min_replica_count: int = 0
    max_replica_count: int = 100
    tolerance: float = 0.1


@dataclass(frozen=True)
class Metric:
    """What a trigger reports. total_lag : after its options; is_active : does it keep the workload from scaling to zero?"""

    total_lag: int
    is_active: bool


def partition_lags(committed: Int64s, ends: Int64s, trigger: Trigger) -> Int64s:
    """int64[...], the lag of each partition that has an end, the only ones which KEDA counts: getLagForPartition, getTotalLag.

    committed, ends : int64[partitions], committed and log end offsets, or UNKNOWN
    """
    known = ends != UNKNOWN
    committed, ends = committed[known], ends[known]
    if trigger.scale_to_zero_on_invalid_offset:
        uncommitted = np.zeros_like(ends)
    else:
        uncommitted = ends if trigger.offset_reset_policy == "earliest" else np.ones_like(ends)
    return np.where(committed == UNKNOWN, uncommitted, ends - committed)


def metric(lags: Int64s, trigger: Trigger) -> Metric:
    """What the trigger reports for these lags, int64[...]: getTotalLag, GetMetricsAndActivity."""
    total = (int((lags >> 32).sum()) << 32) + int((lags & 0xFFFFFFFF).sum())  # which may be beyond 64 bits
    is_active = total > trigger.activation_lag_threshold
    even, limited = trigger.ensure_even_distribution_of_partitions, trigger.limit_to_partitions_with_lag
    if not trigger.allow_idle_consumers or limited or even:
        if even:
            enough = (factor for factor in factors(len(lags)) if factor * trigger.lag_threshold >= total)
            total = next(enough, len(lags)) * trigger.lag_threshold  # getNextFactorThatBalancesConsumersToTopicPartitions
        most = int(np.count_nonzero(lags > 0)) if limited else len(lags)
        total = min(total, most * trigger.lag_threshold) if total // trigger.lag_threshold > most else total
    return Metric(total, is_active)


def factors(number: int) -> list[int]:
    """All factors of a number, ascending; none of 0: FindFactors."""
    low = [factor for factor in range(1, math.isqrt(number) + 1) if number % factor == 0]
    return low + [number // factor for factor in reversed(low) if factor * factor != number]


def replicas(metrics: list[Metric], threshold: int, current: int, scaling: Scaling) -> int:
    """The replicas that a workload comes to, as if it could scale there in one step.

    metrics : of each trigger, all with this lagThreshold; the HorizontalPodAutoscaler takes the most that one asks for
    current : the replicas now. From none KEDA goes to one, or ``min_replica_count``, before the HorizontalPodAutoscaler decides

    Reproduces GetExternalPerPodMetricReplicas for a target of type AverageValue, KEDA's default.
    """
    least = max(1, scaling.min_replica_count)
    if scaling.min_replica_count == 0 and not any(each.is_active for each in metrics):
        return 0
    present = current or least
    wanted = max(_replicas(each.total_lag, threshold, present, scaling.tolerance) for each in metrics)
    return max(least, min(wanted, scaling.max_replica_count))


def _replicas(total_lag: int, threshold: int, current: int, tolerance: float) -> int:
    """For one metric, in thousandths as Kubernetes has it; a negative one is 0 (GenerateMetricInMili)."""
    usage, target = min(max(0, total_lag) * 1000, INT64), threshold * 1000
    ratio = float(usage) / (float(target) * float(current))
    if 1.0 - tolerance <= ratio <= 1.0 + tolerance:
        return current
    return math.ceil(float(usage) / float(target))
