"""The group coordinator's UniformAssignor, the default of consumer groups (KIP-848): as even as can be, then as few moves.

Where all members subscribe to the same topics, homogeneous.py answers, else heterogeneous.py. Racks play no part.

Source: org.apache.kafka.coordinator.group.assignor.UniformAssignor.
"""

from typing import Any

from service.core.assignors.consumer.uniform import heterogeneous, homogeneous
from service.core.assignors.coordinator import is_homogeneous
from service.core.model import Assignment, Group


def assign(group: Group) -> Assignment:
    """Ragged member → partitions. Raises what the two cases raise."""
    return homogeneous.assign(group) if is_homogeneous(group) else heterogeneous.assign(group)


def assign_until_4_0_0(group: Group) -> Assignment:
    """As Kafka 4.0.0 did: in a homogeneous group the first members in order get the extra partitions (KAFKA-18688)."""
    return homogeneous.assign(group, extra_stays=False) if is_homogeneous(group) else heterogeneous.assign(group)


def explain(group: Group, assignment: Assignment, limit: int) -> dict[str, Any]:
    """Which algorithm was used and why, the order of the members, quotas, and what each phase moved."""
    if is_homogeneous(group):
        return homogeneous.explain(group, assignment, limit)
    return heterogeneous.explain(group, assignment, limit)


def explain_until_4_0_0(group: Group, assignment: Assignment, limit: int) -> dict[str, Any]:
    """``explain`` for ``assign_until_4_0_0``."""
    if is_homogeneous(group):
        return homogeneous.explain(group, assignment, limit, extra_stays=False)
    return heterogeneous.explain(group, assignment, limit)
