"""The group coordinator's UniformAssignor, the default of consumer groups (KIP-848): as even as can be, then as few moves.

Where all members subscribe to the same topics, homogeneous.py answers, else heterogeneous.py. Racks play no part.

Source: org.apache.kafka.coordinator.group.assignor.UniformAssignor.
"""

from typing import Any

from service.core.assignors.consumer.uniform import heterogeneous, homogeneous
from service.core.assignors.coordinator import is_homogeneous
from service.core.model import Assignment, Group


def assign(group: Group, *, extra_stays: bool = True) -> Assignment:
    """Ragged member → partitions. Raises what the two cases raise.

    extra_stays : False: in a homogeneous group the first members in order get the extra partitions (4.0.0; KAFKA-18688)
    """
    return homogeneous.assign(group, extra_stays=extra_stays) if is_homogeneous(group) else heterogeneous.assign(group)


def explain(group: Group, assignment: Assignment, limit: int, *, extra_stays: bool = True) -> dict[str, Any]:
    """Which algorithm was used and why, the order of the members, quotas, and what each phase moved."""
    if is_homogeneous(group):
        return homogeneous.explain(group, assignment, limit, extra_stays=extra_stays)
    return heterogeneous.explain(group, assignment, limit)
