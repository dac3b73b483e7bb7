"""Kafka's StickyAssignor: as even as possible, with as little moved as possible.

*Goals*: first, counts that differ as little as subscriptions allow; then, that members keep what they own.

*Algorithm*: read what the members say they own (claims.py). If all subscribe to the same topics, the result's counts are
known beforehand, and a few passes do it (constrained.py). Otherwise partitions are moved one by one as long as somebody has
two more than somebody who could have one of them (general.py).

Racks (KIP-881) count, if they matter for any partition: owned partitions are given up for the sake of the rack.

Source: org.apache.kafka.clients.consumer.StickyAssignor, internals.AbstractStickyAssignor.
"""

from typing import Any

import numpy as np

from service.core.assignors.classic.sticky import general
from service.core.assignors.classic.sticky.claims import Claims
from service.core.assignors.classic.sticky.constrained import Constrained
from service.core.assignors.classic.sticky.explanation import explained
from service.core.assignors.classic.sticky.general import General
from service.core.assignors.classic.sticky.rules import PRESENT, Rules
from service.core.model import NONE, Assignment, Group, Int32s, Ragged
from service.core.ragged import grouped


def assign(group: Group, rules: Rules = PRESENT) -> Assignment:
    """Ragged member → partitions. Raises KafkaAssignorFails where Kafka throws, or moves partitions for ever."""
    _, phases = solve(group, rules)
    return Assignment(rows_of(phases.new_owners, phases.duplicates, len(group)))


def explain(group: Group, assignment: Assignment, limit: int, rules: Rules = PRESENT) -> dict[str, Any]:
    """Which algorithm and why, racks, claims, what each phase kept and gave, why a member has one more (explanation.py)."""
    return explained(group, *solve(group, rules), assignment, limit)


def solve(group: Group, rules: Rules) -> tuple[Claims, Constrained | General]:
    """What the members said, and what each phase did, of both sticky assignors.

    Raises KafkaAssignorFails where Kafka throws, or moves partitions for ever.
    """
    claims = rules.read(group)
    if rules.constrained is not None and claims.first_differing == NONE:
        return claims, rules.constrained(group, claims)
    return claims, general.solve(group, claims, rules.tolerance)


def rows_of(new_owners: Int32s, duplicates: Int32s, members: int) -> Ragged:
    """Ragged member → partitions, from the arrays that ``General`` describes."""
    if len(duplicates) == 0:
        return grouped(new_owners, members)
    rows = grouped(np.concatenate([new_owners, duplicates]), members)
    return Ragged(rows.offsets, rows.values % np.int32(len(new_owners)))
