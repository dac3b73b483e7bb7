"""Who has what so far: what the steps of the general sticky algorithm (sticky_general) hand to each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from numba import njit

if TYPE_CHECKING:
    from service.core.model import Bools, Int32s, Int64s


class State(NamedTuple):
    """The group, and who has what so far.

    first : int32[topics + 1]        the first partition of each topic
    topics : int32[topics]           the topics in the assignor's order
    readers_of, readers              topic → its subscribers, in the leader's order
    racks : int32[members]           each member's rack
    racks_of, partition_racks        partition → racks of its replicas
    places : int32[members]          where each member stands in the map of assignments
    possible : int32[members]        how many partitions each member's topics have in all
    former : int32[partitions]       the member of an older generation that claims each partition, or NONE
    peculiar : bool                  do members perhaps hold what they do not subscribe to, what does not exist, or the same?

    free : bool[partitions]          was it unassigned after step 1?
    holders, twice : int32[partitions]   as in ``General`` (sticky_general)
    counts : int32[members]          how many partitions each member has
    keys : int64[members]            (count, rank by member_id) as one number: members in the assignor's order
    taking_part : bool[members]      False for members set aside
    """

    first: Int32s
    topics: Int32s
    readers_of: Int32s
    readers: Int32s
    racks: Int32s
    racks_of: Int32s
    partition_racks: Int32s
    places: Int32s
    possible: Int32s
    former: Int32s
    peculiar: bool
    free: Bools
    holders: Int32s
    twice: Int32s
    counts: Int32s
    keys: Int64s
    taking_part: Bools


@njit(nogil=True, cache=True)
def give(state: State, partition: int, member: int) -> None:
    """Give the partition to the member."""
    state.holders[partition] = member
    state.counts[member] += 1
    state.keys[member] += len(state.counts)
