"""Members in the order in which sticky assignors of C and Go give partitions to them: those with the fewest first."""

from bisect import bisect_left, insort
from collections.abc import Container, Iterable

from service.core.model import NONE


class Standings:
    """Members by the number of partitions that each has, of equals by the place of their member_id.

    counts : how many each member has, in order or not
    order : (count, place, member) of those that stand in it, ascending
    """

    def __init__(self, counts: list[int], id_rank: list[int], members: Iterable[int]) -> None:
        self.counts, self._id_rank = counts, id_rank
        self.order: list[tuple[int, int, int]] = []
        self.members: set[int] = set()
        self.only(members)

    def only(self, members: Iterable[int]) -> None:
        """Let these members stand in the order, and no others."""
        self.order = sorted((self.counts[member], self._id_rank[member], member) for member in members)
        self.members = {member for _, _, member in self.order}

    def add(self, member: int, more: int) -> None:
        """The member has so many more, and takes its place in the order."""
        if member in self.members:
            del self.order[bisect_left(self.order, (self.counts[member], self._id_rank[member], member))]
            insort(self.order, (self.counts[member] + more, self._id_rank[member], member))
        self.counts[member] += more

    def fewest(self, among: Container[int]) -> int:
        """The first in order of some members, or NONE."""
        return next((member for _, _, member in self.order if member in among), NONE)
