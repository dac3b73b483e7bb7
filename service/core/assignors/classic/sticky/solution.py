"""What the sticky assignors work out: the assignment, and how it came about."""

from dataclasses import dataclass

from service.core.assignors.classic.sticky.claims import Claims
from service.core.assignors.classic.sticky.constrained import Constrained
from service.core.assignors.classic.sticky.general import General
from service.core.model import Int32s


@dataclass(frozen=True)
class Solution:
    """A sticky assignment, and how it came about.

    claims : what the members said
    phases : what each phase of the algorithm did
    kept : int32[partitions]         the member that keeps each partition, or NONE
    new_owners : int32[partitions]   the member that each partition is assigned to, or NONE
    duplicates : int32[partitions]   another member that keeps it too (an error of Kafka's if members claim partitions that do
                                     not exist), or NONE; empty if there is none
    """

    claims: Claims
    phases: Constrained | General
    kept: Int32s
    new_owners: Int32s
    duplicates: Int32s
