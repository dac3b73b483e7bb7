"""What the sticky assignors work out: the assignment, and how it came about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from service.core.assignors.classic.sticky.claims import Claims
    from service.core.assignors.classic.sticky.constrained import Constrained
    from service.core.assignors.classic.sticky.general import General
    from service.core.model import Int32s


@dataclass(frozen=True)
class Solution:
    """A sticky assignment, and how it came about.

    claims : what the members said
    course : what the algorithm did, by the algorithm's name
    kept : int32[partitions]      the member that keeps each partition, or NONE
    holders : int32[partitions]   the member that has each partition, or NONE
    twice : int32[partitions]     another member that keeps it too (an error of Kafka's, when somebody owns what does not exist),
                                  or NONE; empty when there is none
    """

    claims: Claims
    course: Constrained | General
    kept: Int32s
    holders: Int32s
    twice: Int32s
