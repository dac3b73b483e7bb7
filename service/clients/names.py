"""The order of names, and of members, in languages that compare bytes, or code points: C, Go, Rust, Python; and Standings."""

from bisect import bisect_left, insort
from collections.abc import Container, Iterable, Sequence
from functools import partial

import numpy as np

from service.core import model
from service.core.model import NONE, Group, Int32s, Ragged, ranks_of

# Members in the order in which sticky assignors of C and Go give partitions to them: those with the fewest first.


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


def circles_of(subscribers: Ragged) -> list[frozenset[int]]:
    """The subscribers of each topic; equal sets are one."""
    rows = [row.tobytes() for row in map(subscribers.row, range(len(subscribers)))]
    sets = {row: frozenset(np.frombuffer(row, np.int32).tolist()) for row in rows}
    return [sets[row] for row in rows]


def by_bytes(names: Sequence[str]) -> Int32s:
    """int32[names], the positions of ``names`` in ascending order of their bytes in UTF-8, as memcmp has it."""
    return np.array(sorted(range(len(names)), key=names.__getitem__), np.int32)  # code points sort as their bytes do


def by_member_id(group: Group) -> Int32s:
    """int32[members], the members in the order of their member_ids, static or not."""
    return by_bytes(group.member_ids)


def byte_ranks(names: Sequence[str]) -> Int32s:
    """int32[names], the place of each in that order."""
    return ranks_of(by_bytes(names))


static_first = partial(model.static_first, in_order=by_bytes)
"""int32[members], the members in order: static ones by instance_id, then dynamic ones by member_id."""
