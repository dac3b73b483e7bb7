"""The order of members in franz-go: Java's, but texts are compared by their bytes.

Source: sortJoinMembers in group_balancer.go (franz-go 1.22.2).
"""

import numpy as np

from service.core.model import Group, Int32s


def static_first(group: Group) -> Int32s:
    """int32[members], the members in order: static ones by instance_id, then dynamic ones by member_id."""

    def key(member: int) -> tuple[bool, str]:
        instance_id = group.instance_ids[member]
        return instance_id is None, group.member_ids[member] if instance_id is None else instance_id

    return np.array(sorted(range(len(group)), key=key), np.int32)
